"""Prompts: one file each in this folder, versioned by content.

``NAME.md`` holds turns that begin with a line ``=== system``, ``=== user`` or ``=== assistant``; ``NAME.zh.md`` is
the same in another language. ``{{value}}`` is replaced as it is, ``{{data:value}}`` put between fences as data.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import cast, get_args

from hybrid_core.errors import UsageError
from hybrid_core.llm.chat import Message, Role
from hybrid_core.llm.prompts.fence import RULE, fence

_TURN = re.compile(r"^=== *(\w+) *$\n?", re.MULTILINE)
_PLACE = re.compile(r"\{\{(data:)?(\w+)\}\}")


@dataclass(frozen=True, slots=True)
class Prompt:
    """``id`` is "name@version": the version changes with every change of the file, and of the rule about data."""

    name: str
    id: str
    turns: tuple[tuple[Role, str], ...]

    def messages(self, values: Mapping[str, str], before: Sequence[Message] = ()) -> list[Message]:
        """The turns with their values. ``before`` is what was asked before about the same, whose fence serves again.

        Where there is data, the first turn ends by saying what that means: what all calls have in common stands before
        it, so that endpoints can keep it.

        Equal values give equal messages, so that replies can be cached. Raises UsageError where a value is missing or
        is asked for nowhere.
        """
        places = [match for _, text in self.turns for match in _PLACE.finditer(text)]
        wanted = {match[2] for match in places}
        if wanted != set(values):
            wrong = ", ".join(sorted(wanted ^ set(values)))
            raise UsageError(f"The prompt '{self.name}' wants other values: {wrong}.", "Each is given exactly once.")
        data = {match[2] for match in places if match[1]}
        open_, close = fence([values[name] for name in sorted(data)], before[0].text if before else "")

        def put(match: re.Match[str]) -> str:
            value = values[match[2]]
            return f"{open_}\n{value}\n{close}" if match[1] else value

        made = [Message(role, _PLACE.sub(put, text)) for role, text in self.turns]
        if data:
            made[0] = Message(made[0].role, f"{made[0].text}\n\n{RULE.format(open=open_, close=close)}")
        return made


@cache
def prompt(name: str, language: str = "") -> Prompt:
    """A prompt by name, in a language where there is one. Raises UsageError where there is no such prompt."""
    folder = resources.files(__name__)
    files = [folder / f"{name}.{language}.md", folder / f"{name}.md"]
    found = next((file for file in files if file.is_file()), None)
    if found is None:
        raise UsageError(f"There is no prompt '{name}'.", "Prompts are the .md files of hybrid_core/prompts.")
    text = found.read_text(encoding="utf-8")
    version = hashlib.sha256((RULE + text).encode()).hexdigest()[:10]
    parts = _TURN.split(text)
    turns = tuple((role, said.strip()) for role, said in zip(parts[1::2], parts[2::2], strict=True))
    if parts[0].strip() or not turns or not {role for role, _ in turns} <= set(get_args(Role)):
        raise UsageError(f"The prompt '{name}' is not made of turns.", "Each begins with a line like: === user")
    return Prompt(name, f"{found.name.removesuffix('.md')}@{version}", cast("tuple[tuple[Role, str], ...]", turns))
