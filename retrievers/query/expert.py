"""Expert knowledge: a YAML file with terms of a field, written by a user or part of an expert pack.

documents: [annual report]     # the document types to which the file applies; default: all (used only by `auto`)
expand:                        # if a question matches …
  - when: capital expenditures?|capex
    phrases: [purchases of property plant and equipment]     # … also search for these words
    headings: [statement of cash flows]                      # … and for these words in headings
    roles: [cash flow statement]                             # … and prefer pages with this role
    weight: 0.5                # weight of each added word (less if there are many); a word of the question weighs 1
roles:                         # the role of a page, recognised by the title of its section
  cash flow statement: statements? of cash flows?
primary: [cash flow statement]    # roles whose pages a model is shown whenever a rule of this file matches
aliases:                       # nicknames of organisations or other subjects
  International Business Machines: [Big Blue]
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, reduce
from itertools import combinations
from operator import add
from pathlib import Path
from typing import Any

import yaml

from hybrid_core.errors import UsageError
from hybrid_core.text.names import has_cjk
from hybrid_core.text.tokens import tokenise
from retrievers.query.words import without_names

# Letters of words in scripts with spaces (Latin, Greek and Cyrillic with marks) as ranges. Every pattern contains two
# of these, and they compile a hundred times as fast as scripts by name.
_LETTER = r"0-9A-Za-z_\x{c0}-\x{52f}\x{1e00}-\x{1fff}"
_BEGINS = rf"(?-i:^|[^{_LETTER}]|[0-9A-Za-z_]\b)"
_ENDS = rf"(?-i:$|[^{_LETTER}]|\b[0-9A-Za-z_])"


@dataclass(frozen=True, slots=True)
class Pattern:
    """A case-insensitive regular expression over whole words. ``whole`` is the compiled form of ``written``."""

    written: str
    whole: str = field(repr=False, compare=False)

    def search(self, text: str) -> bool:
        """Return whether the pattern matches somewhere in the text."""
        return _compiled(self.whole).search(_bytes(text)) is not None

    def covers(self, text: str) -> bool:
        """Return whether the pattern matches the whole text."""
        return _compiled(self.whole).fullmatch(_bytes(text)) is not None


def pattern(written: str, place: str) -> Pattern:
    """Compile a regular expression. If RE2 refuses it, raise UsageError that begins with ``place``."""
    import re2

    try:
        re2.compile(written, _options())  # compiled alone first, so that brackets and errors are those of the text
    except re2.error as error:
        reason = error.args[0].decode() if isinstance(error.args[0], bytes) else error
        raise UsageError(
            f"{place} has an invalid regular expression ({reason}).",
            "Write the regular expression without look-around and back-references.",
        ) from error
    return Pattern(written, f"{_BEGINS}(?:{written}){_ENDS}")


def matching(patterns: Sequence[Pattern], text: str) -> list[int]:
    """Return the indexes of the patterns that match somewhere in the text, in order."""
    if not patterns:
        return []
    return sorted(_together(tuple(regex.whole for regex in patterns)).Match(_bytes(text)) or [])


@lru_cache(maxsize=16)
def _together(written: tuple[str, ...]) -> Any:
    import re2

    together, options = re2.Filter(), _options()
    for source in written:
        together.Add(source, options)
    together.Compile()
    return together


@lru_cache(maxsize=2_000)  # most patterns are only tried together with others
def _compiled(whole: str) -> Any:
    import re2

    return re2.compile(whole, _options())


@lru_cache(maxsize=1)
def _options() -> Any:
    import re2

    options = re2.Options()
    options.case_sensitive = False
    options.log_errors = False
    return options


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "replace")


_KEYS = {"documents", "expand", "roles", "primary", "aliases"}
_ENTRY_KEYS = {"when", "phrases", "headings", "roles", "weight"}
_WORD = re.compile(r"[^\W\d_]{4,}")
_WEIGHT = 0.5  # weight of an entry without its own


@dataclass(frozen=True, slots=True)
class Role:
    """A role that a page can have ("cash flow statement"): its name, and a pattern for section titles."""

    name: str
    title: Pattern


@dataclass(frozen=True, slots=True)
class ExpansionRule:
    """A rule of expert knowledge: if ``when`` matches a question, phrases, headings and roles are added.

    ``documents`` are the document types to which the rule applies, () for all. ``source`` is its pack or file.
    """

    when: Pattern
    phrases: tuple[str, ...]
    headings: tuple[str, ...]
    roles: tuple[str, ...]
    weight: float
    source: str = ""
    documents: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Expansion:
    """The terms, headings and page roles that expert knowledge adds to a question, with weights.

    ``sources`` are the packs and files with matching rules. ``phrases`` and ``titles`` are the original wording,
    phrases with weights. ``primary`` are roles that are relevant to any question of these fields.
    """

    terms: Mapping[str, float] = field(default_factory=dict)
    headings: Mapping[str, float] = field(default_factory=dict)
    roles: tuple[Role, ...] = ()
    sources: tuple[str, ...] = ()
    phrases: Mapping[str, float] = field(default_factory=dict)
    titles: tuple[str, ...] = ()
    primary: tuple[Role, ...] = ()

    def __add__(self, other: Expansion) -> Expansion:
        """Return an expansion with the terms and roles of both expansions."""
        if not self.sources or self is other:
            return other
        if not other.sources:
            return self
        return Expansion(
            _greatest(self.terms, other.terms),
            _greatest(self.headings, other.headings),
            tuple(dict.fromkeys((*self.roles, *other.roles))),
            tuple(dict.fromkeys((*self.sources, *other.sources))),
            _greatest(self.phrases, other.phrases),
            tuple(dict.fromkeys((*self.titles, *other.titles))),
            tuple(dict.fromkeys((*self.primary, *other.primary))),
        )


NO_EXPANSION = Expansion()


def together(expansions: Iterable[Expansion]) -> Expansion:
    """Return one expansion with the terms and roles of several expansions."""
    return reduce(add, {id(expansion): expansion for expansion in expansions}.values(), NO_EXPANSION)


@dataclass(frozen=True, slots=True)
class Expert:
    """The content of an expert file, empty by default.

    ``together`` contains each pair of terms that occur in one phrase or heading. ``primary`` maps a pack or file to the
    names of roles.
    """

    expansions: tuple[ExpansionRule, ...] = ()
    roles: tuple[Role, ...] = ()
    aliases: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    together: frozenset[frozenset[str]] = frozenset()
    primary: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def expand(
        self, question: str, types: Collection[str], names: Collection[str] = (), full_terms: int = 16
    ) -> dict[str, Expansion]:
        """Return the terms that matching rules add to a question, for each document type.

        Types without a matching rule are left out. ``names`` are words of the question that name documents; patterns do
        not match them. The words of a rule together weigh at most as much as ``full_terms`` words.
        """
        heard = [e for e in self.expansions if not e.documents or not e.documents.isdisjoint(types)]
        patterns = [expansion.when for expansion in heard]

        def of_field(words: str) -> bool:
            return frozenset(_terms(words)) in self.together or any(
                patterns[place].covers(words) for place in matching(patterns, words)
            )

        plain = without_names(question, names, of_field)
        meant = [heard[place] for place in matching(patterns, plain)]
        by_entries: dict[tuple[int, ...], Expansion] = {}
        expansions = {}
        for kind in sorted(types):  # sorted, because the first expansion is applied first
            key = tuple(at for at, e in enumerate(meant) if not e.documents or kind in e.documents)
            if key:
                if key not in by_entries:
                    by_entries[key] = self._expansion_by([meant[at] for at in key], full_terms)
                expansions[kind] = by_entries[key]
        return expansions

    def knows(self, word: str) -> bool:
        """Return whether a rule contains the word, or the word is a nickname."""
        folded = word.casefold()
        return folded in _trigger_words(self.expansions) or any(
            folded in map(str.casefold, names) for names in self.aliases.values()
        )

    def _expansion_by(self, meant: Sequence[ExpansionRule], full_terms: int) -> Expansion:
        """Return the expansion that these rules add. A term of several rules keeps its highest weight."""
        terms: dict[str, float] = {}
        headings: dict[str, float] = {}
        for expansion in meant:
            _add(terms, expansion.phrases, expansion.weight, full_terms)
            _add(headings, expansion.headings, expansion.weight, full_terms)
        names = [name for expansion in meant for name in expansion.roles]
        sources = tuple(dict.fromkeys(expansion.source for expansion in meant))
        phrases: dict[str, float] = {}
        for expansion in meant:
            phrases |= {p: max(expansion.weight, phrases.get(p, 0.0)) for p in expansion.phrases}
        titles = tuple(dict.fromkeys(title for expansion in meant for title in expansion.headings))
        primary = _roles_named((name for source in sources for name in self.primary.get(source, ())), self.roles)
        roles = _roles_named(names, self.roles)
        return Expansion(terms, headings, tuple(roles), sources, phrases, titles, tuple(primary))

    def everywhere(self) -> Expert:
        """Return a copy in which all rules apply to all document types."""
        return replace(self, expansions=tuple(replace(e, documents=frozenset()) for e in self.expansions))

    def __add__(self, other: Expert) -> Expert:
        """Return the combined knowledge. Roles and subjects of ``other`` replace those with equal names."""
        roles = {role.name: role for role in (*self.roles, *other.roles)}
        return Expert(
            (*self.expansions, *other.expansions),
            tuple(roles.values()),
            {**self.aliases, **other.aliases},
            self.together | other.together,
            {**self.primary, **other.primary},
        )


def _greatest(first: Mapping[str, float], second: Mapping[str, float]) -> dict[str, float]:
    return {key: max(first.get(key, 0.0), second.get(key, 0.0)) for key in (*first, *second)}


def _add(terms: dict[str, float], phrases: Sequence[str], weight: float, full_terms: int) -> None:
    words = dict.fromkeys(term for phrase in phrases for term in _terms(phrase))
    weight *= min(1.0, full_terms / max(1, len(words)))
    for term in words:
        terms[term] = max(terms.get(term, 0.0), weight)


@lru_cache(maxsize=8)
def _trigger_words(expansions: tuple[ExpansionRule, ...]) -> frozenset[str]:
    return frozenset(word for rule in expansions for word in _WORD.findall(rule.when.written.lower()))


@lru_cache(maxsize=10_000)
def _terms(phrase: str) -> tuple[str, ...]:
    return tuple(tokenise(phrase))


def load_expert(path: Path) -> Expert:
    """Return the content of an expert file. Raise UsageError that names the file and the wrong entry."""
    try:
        written = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(
            f"{path}: the expert file cannot be read ({error}).", "Name an existing expert file, a pack, or none."
        ) from error
    return read_expert(written, str(path))


def read_expert(written: str, name: str) -> Expert:
    """Return expert knowledge from YAML text. ``name`` is the text's name in error messages.

    Raise UsageError for an invalid entry.
    """
    try:
        data = yaml.load(written, getattr(yaml, "CSafeLoader", yaml.SafeLoader)) or {}  # in C ten times as fast
    except yaml.YAMLError as error:
        raise UsageError(f"{name}: the expert file is not valid YAML ({' '.join(str(error).split())}).") from error
    if not isinstance(data, dict) or not data.keys() <= _KEYS:
        wrong = sorted(map(str, data.keys() - _KEYS)) if isinstance(data, dict) else ["no mapping"]
        raise UsageError(
            f"{name}: the expert file contains unknown entries {wrong}.",
            f"The entries of an expert file are: {', '.join(sorted(_KEYS))}.",
        )
    role_data = data.get("roles") or {}
    if not isinstance(role_data, dict):
        raise UsageError(f"{name}: 'roles' must map the name of each role to a regular expression for section titles.")
    roles = tuple(Role(str(role), pattern(str(title), f"{name}: role '{role}'")) for role, title in role_data.items())
    role_names = {role.name for role in roles}
    primary = data.get("primary") or []
    if not isinstance(primary, list) or not set(primary) <= role_names:
        raise UsageError(f"{name}: 'primary' must be a list of the roles that are described under 'roles'.")
    documents = data.get("documents") or []
    if not isinstance(documents, list):
        raise UsageError(f"{name}: 'documents' must be a list of document types.")
    kinds = frozenset(map(str, documents))
    expansions = tuple(
        replace(_expansion(name, at, entry, role_names), source=name, documents=kinds)
        for at, entry in enumerate(data.get("expand") or [], 1)
    )
    aliases = data.get("aliases") or {}
    if not isinstance(aliases, dict) or not all(isinstance(names, list) for names in aliases.values()):
        raise UsageError(f"{name}: 'aliases' must map each name to a list of nicknames.")
    phrases = {phrase for e in expansions for phrase in (*e.phrases, *e.headings) if not has_cjk(phrase)}
    pairs = {frozenset(pair) for phrase in phrases for pair in combinations(_terms(phrase), 2)}
    known_as = {str(who): tuple(map(str, names)) for who, names in aliases.items()}
    return Expert(expansions, roles, known_as, frozenset(pairs), {name: tuple(primary)} if primary else {})


def _expansion(name: str, number: int, entry: Any, known_roles: set[str]) -> ExpansionRule:
    place = f"expand entry {number}"
    if not isinstance(entry, dict) or "when" not in entry or len(entry) < 2:
        raise UsageError(
            f"{name}: {place} needs the key 'when', and one of the keys 'phrases', 'headings' and 'roles'."
        )
    if wrong := sorted(map(str, entry.keys() - _ENTRY_KEYS)):
        raise UsageError(
            f"{name}: {place} contains unknown keys {wrong}.",
            f"The keys of an expand entry are: {', '.join(sorted(_ENTRY_KEYS))}.",
        )
    listed: dict[str, tuple[str, ...]] = {}
    for key in ("phrases", "headings", "roles"):
        value = entry.get(key) or []
        if not isinstance(value, list):
            raise UsageError(f"{name}: {place}: '{key}' must be a list.")
        listed[key] = tuple(map(str, value))
    if unknown := [role for role in listed["roles"] if role not in known_roles]:
        raise UsageError(
            f"{name}: {place} refers to the unknown role '{unknown[0]}'.", "Describe the role under 'roles'."
        )
    try:
        weight = float(entry.get("weight", _WEIGHT))
    except (TypeError, ValueError) as error:
        raise UsageError(f"{name}: {place}: 'weight' must be a number.") from error
    if not 0 <= weight < math.inf:
        raise UsageError(
            f"{name}: {place}: the weight is {weight:g}.",
            "Choose a weight of 0 or more. A word of the question has the weight 1.",
        )
    return ExpansionRule(
        pattern(str(entry["when"]), f"{name}: {place}"), listed["phrases"], listed["headings"], listed["roles"], weight
    )


def _roles_named(names: Iterable[str], roles: Sequence[Role]) -> list[Role]:
    """Return the roles with these names, in the order of the names, without duplicates."""
    by_name = {role.name: role for role in roles}
    return [by_name[name] for name in dict.fromkeys(names)]
