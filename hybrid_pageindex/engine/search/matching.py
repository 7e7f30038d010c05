"""Match words and regular expressions on the pages of an exhaustive search."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from itertools import accumulate
from typing import Any

import numpy as np

from hybrid_core.errors import NotFoundError, UsageError
from hybrid_core.store.words import Rows
from hybrid_core.text.tokens import fold

_WIDTH = 300  # maximum characters of a context line, around its match
_MEMORY = 64 * 2**20  # maximum memory of a regular expression while it matches, in bytes


@dataclass(frozen=True, slots=True)
class Member:
    """A document in the scope of a search. Its pages ``first`` to ``last`` are searched."""

    doc_id: str
    content_id: str
    name: str
    path: str
    library: str
    pages: int
    first: int
    last: int
    title: str


@dataclass(slots=True)
class Scan:
    """The progress of an exhaustive search. Rows are the numbers of its pages, from 0.

    ``candidates`` are the rows to check, ascending; those before index ``done`` were checked. ``rows`` are the matching
    rows and ``counts`` their numbers of matches.
    """

    candidates: Rows
    done: int = 0
    rows: list[int] = field(default_factory=list)
    counts: list[int] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)


class SearchedPages:
    """The documents of an exhaustive search, ordered by library and path.

    All their pages are numbered consecutively from 0; these numbers are called rows.
    """

    def __init__(self, members: Sequence[Member]) -> None:
        self.members = members
        self.starts = np.array([0, *accumulate(member.last - member.first + 1 for member in members)], np.int64)
        self.contents = {member.content_id: member.pages for member in members}
        self.of_content: dict[str, list[int]] = {}
        for at, member in enumerate(members):
            self.of_content.setdefault(member.content_id, []).append(at)

    @property
    def rows(self) -> int:
        return int(self.starts[-1])

    def members_of(self, rows: Rows) -> Rows:
        return np.asarray(self.starts.searchsorted(rows, "right") - 1, np.int64)

    def page(self, row: int) -> tuple[Member, int]:
        at = int(self.starts.searchsorted(row, "right")) - 1
        member = self.members[at]
        return member, member.first + row - int(self.starts[at])


def count_matches(spans: Callable[[str], Iterator[tuple[int, int]]], texts: list[str]) -> list[int]:
    return [sum(1 for _ in spans(text)) for text in texts]


class Regex:
    """A regular expression of RE2, which matches in time linear in the text.

    It ignores case unless it contains ``(?-i)``.
    """

    def __init__(self, written: str) -> None:
        import re2

        options = re2.Options()
        options.case_sensitive, options.log_errors, options.max_mem = False, False, _MEMORY
        try:
            self._compiled = re2.compile(f"(?m){written}", options)
        except re2.error as error:
            reason = error.args[0].decode() if isinstance(error.args[0], bytes) else error
            raise UsageError(
                f"The regular expression is not valid ({reason}).",
                "Write the regular expression without look-around and back-references.",
            ) from error
        if self._compiled.search(b"") is not None:
            raise UsageError(
                "The regular expression matches every text, because it also matches an empty text.",
                "Write a pattern that needs at least one character.",
            )
        self.parts = _required_parts(written)

    def counts(self, texts: list[str]) -> list[int]:
        """Return the number of matches in each text."""
        search = self._compiled.search
        encoded = [text.encode("utf-8", "replace") for text in texts]
        return [sum(1 for _ in self._compiled.finditer(text)) if search(text) is not None else 0 for text in encoded]

    def spans(self, text: str) -> Iterator[tuple[int, int]]:
        encoded = text.encode("utf-8", "replace")
        for match in self._compiled.finditer(encoded):
            start, end = match.span()
            first = len(encoded[:start].decode("utf-8", "replace"))
            yield first, first + len(encoded[start:end].decode("utf-8", "replace"))


def _required_parts(written: str) -> tuple[str, ...]:
    """Return up to three strings of letters and digits that each match of a regular expression contains.

    Return () if no such string is certain.
    """
    if "[:" in written or "(?-i)" in written or not written.isascii():
        return ()
    try:
        tree = import_module("re._parser").parse(written)
    except (re.error, RecursionError, OverflowError, ValueError, ImportError):
        return ()
    runs = [""]
    _collect(tree, runs)
    parts = {part for run in runs for part in re.findall("[a-z0-9]+", fold(run)) if len(part) > 2}
    return tuple(sorted(parts, key=len, reverse=True)[:3])


def _collect(tree: Any, runs: list[str]) -> None:
    for op, value in tree:
        name = str(op)
        if name == "LITERAL":
            runs[-1] += chr(value)
            continue
        runs.append("")
        if name == "SUBPATTERN":
            _collect(value[3], runs)
        elif name in ("MAX_REPEAT", "MIN_REPEAT") and value[0] > 0:
            _collect(value[2], runs)
        runs.append("")


def rows_in_scope(
    scope: SearchedPages, segment: Any, contents: frozenset[str], rows: Rows
) -> Iterator[tuple[Rows, Rows]]:
    """Yield which pages of an index segment are in the scope of a search, as two arrays.

    The first contains indexes into ``rows`` (matching pages of the segment), the second the page numbers in the scope.
    """
    layers: list[dict[int, int]] = []
    for at, (content_id, _) in enumerate(segment.contents):
        if content_id in contents:
            for layer, member in enumerate(scope.of_content[content_id]):
                layers += [{}] if len(layers) <= layer else []
                layers[layer][at] = member
    holding = segment.firsts.searchsorted(rows, "right") - 1
    for layer_of in layers:
        members = np.full(len(segment.contents), -1, np.int64)
        members[list(layer_of)] = list(layer_of.values())
        own = members[holding]
        pages = rows - segment.firsts[holding] + 1
        firsts = np.array([each.first for each in scope.members], np.int64)
        lasts = np.array([each.last for each in scope.members], np.int64)
        taken = np.flatnonzero((own >= 0) & (pages >= firsts[own]) & (pages <= lasts[own]))
        yield taken, scope.starts[own[taken]] + pages[taken] - firsts[own[taken]]


def narrow(snapshot: Any, member: Member, node: str) -> Member:
    section = next((section for section in snapshot.sections(member.content_id) if section.node_id == node), None)
    if section is None:
        raise NotFoundError(f"{member.name} has no section {node}.", "Take a section from the outline of the document.")
    return replace(member, first=section.start_page, last=section.end_page)


def context_lines(text: str, start: int, end: int, about: int) -> str:
    """Return the lines of a match with ``about`` lines before and after it. Long lines are cut around the match."""
    lines = text.split("\n")
    first, last = text.count("\n", 0, start), text.count("\n", 0, end)
    shown = []
    for at in range(max(0, first - about), min(len(lines), last + about + 1)):
        line, left = lines[at], 0
        if at == first and len(line) > _WIDTH:
            column = start - (text.rfind("\n", 0, start) + 1)
            left = max(0, min(column - _WIDTH // 2, len(line) - _WIDTH))
        cut = line[left : left + max(_WIDTH, min(end - start, 2 * _WIDTH))]
        shown.append(f"{'…' if left else ''}{cut}{'…' if left + len(cut) < len(line) else ''}")
    return "\n".join(shown)
