"""Expert knowledge: a user's YAML file that says how a field speaks.

expand:                       # when a question matches, look for these phrases too
  - when: capital expenditures?|capex
    phrases: [purchases of property plant and equipment]
    weight: 0.5               # beside the question's own words, which weigh 1
aliases:                      # nicknames of organisations or other subjects
  International Business Machines: [Big Blue]
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from hybrid_core.errors import UsageError
from hybrid_core.text import tokenise

_KEYS = {"expand", "aliases"}


@dataclass(frozen=True, slots=True)
class Expansion:
    when: re.Pattern[str]
    phrases: tuple[str, ...]
    weight: float


@dataclass(frozen=True, slots=True)
class Expert:
    """What an expert file says; the default knows nothing."""

    expansions: tuple[Expansion, ...] = ()
    aliases: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def expand(self, question: str) -> dict[str, float]:
        """Extra terms with their weights for a question."""
        terms: dict[str, float] = {}
        for expansion in self.expansions:
            if expansion.when.search(question):
                for term in (t for phrase in expansion.phrases for t in tokenise(phrase)):
                    terms[term] = max(terms.get(term, 0.0), expansion.weight)
        return terms


def load_expert(path: Path) -> Expert:
    """Read an expert file. Raises UsageError that names the file and the entry that is wrong."""
    try:
        data = yaml.safe_load(path.read_text(encoding="utf-8")) or {}
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror}).", "Name an expert file, or none.") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: not a YAML file ({' '.join(str(error).split())}).") from error
    if not isinstance(data, dict) or not data.keys() <= _KEYS:
        wrong = sorted(map(str, data.keys() - _KEYS)) if isinstance(data, dict) else ["no mapping"]
        raise UsageError(f"{path}: unknown entries {wrong}.", f"Known: {', '.join(sorted(_KEYS))}.")
    expansions = tuple(_expansion(path, number, entry) for number, entry in enumerate(data.get("expand") or [], 1))
    aliases = data.get("aliases") or {}
    if not isinstance(aliases, dict) or not all(isinstance(names, list) for names in aliases.values()):
        raise UsageError(f"{path}: aliases must map a name to a list of nicknames.")
    return Expert(expansions, {str(name): tuple(map(str, names)) for name, names in aliases.items()})


def _expansion(path: Path, number: int, entry: Any) -> Expansion:
    try:
        when = re.compile(entry["when"], re.IGNORECASE)
        phrases = tuple(str(phrase) for phrase in entry["phrases"])
        return Expansion(when, phrases, float(entry.get("weight", 0.5)))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise UsageError(f"{path}: expand entry {number} needs 'when' and 'phrases' ({error}).") from error
    except re.error as error:
        raise UsageError(f"{path}: expand entry {number} has a bad pattern ({error}).") from error
