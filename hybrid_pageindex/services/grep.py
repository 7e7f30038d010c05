"""Exhaustive search: every page that holds words or a regular expression, from the index of words or the texts."""

from __future__ import annotations

import hashlib
import re
import threading
import time
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from importlib import import_module
from itertools import accumulate
from typing import Any, Literal

import numpy as np

from hybrid_core.errors import NotFoundError, UsageError
from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.store.words.segment import Rows
from hybrid_core.store.words.store import WordStore
from hybrid_core.text.exact_words import LONGEST, WordQuery
from hybrid_core.text.slips import alike
from hybrid_core.text.tokens import fold
from hybrid_core.types.documents import place_of
from hybrid_core.types.libraries import Library
from hybrid_core.types.requests import one_of
from retrievers.documents import select

Listed = Literal["pages", "documents"]
MOST, MOST_CONTEXT = 1000, 10
_PLACES = 5  # of a page that are shown
_WIDTH = 300  # characters of a context line, about its match
_CHUNK = 256  # pages between two looks at the clock
_REMEMBERED = 16  # searches that go on where they stopped
_MEMORY = 64 * 2**20  # of a regular expression while it matches


@dataclass(frozen=True, slots=True)
class GrepPlace:
    """Characters ``start`` to ``end`` of the page's text, on ``line`` (from 1). ``text``: that line with its context.

    ``place`` is as in search results.
    """

    start: int
    end: int
    line: int
    text: str
    place: str


@dataclass(frozen=True, slots=True)
class GrepPage:
    """A page that matches. ``places`` are its first five, ``matches`` counts all."""

    doc_id: str
    document: str
    library: str
    page: int
    label: str
    matches: int
    places: tuple[GrepPlace, ...]


@dataclass(frozen=True, slots=True)
class GrepDocument:
    """A document that matches; ``first_pages`` are ten at most, ``pages`` counts all."""

    doc_id: str
    document: str
    path: str
    library: str
    pages: int
    matches: int
    first_pages: tuple[int, ...]
    title: str = ""


@dataclass(frozen=True, slots=True)
class GrepResult:
    """What was counted, and a part of it. ``complete``: all ``pages_in_scope`` were looked at; else the totals are of
    ``pages_searched``, and ``note`` says so. ``cursor`` goes on behind what is listed, "" at the end.
    """

    pattern: str
    regex: bool
    total_pages: int
    total_documents: int
    total_matches: int
    complete: bool
    pages_searched: int
    pages_in_scope: int
    pages: tuple[GrepPage, ...] = ()
    documents: tuple[GrepDocument, ...] = ()
    cursor: str = ""
    note: str = ""

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class GrepRequest:
    """``libraries`` are those of the search, by name. ``listed``: whether pages or documents are listed, and counted
    either way. ``seconds`` bounds the time; None: until it is done.
    """

    pattern: str
    regex: bool = False
    documents: tuple[str, ...] | None = None
    where: tuple[str, ...] = ()
    node: str = ""
    listed: Listed = "pages"
    most: int = 20
    context: int = 0
    cursor: str = ""
    seconds: float | None = None

    def __post_init__(self) -> None:
        one_of("listed", self.listed, "pages", "documents")
        if not 1 <= self.most <= MOST:
            raise UsageError(f"most is {self.most}.", f"Choose 1 to {MOST}.")
        if not 0 <= self.context <= MOST_CONTEXT:
            raise UsageError(f"context is {self.context}.", f"Choose 0 to {MOST_CONTEXT} lines.")
        if self.documents is not None and not self.documents:
            raise UsageError("documents is an empty list.", "Leave it out to search all documents.")
        if self.node and (self.documents is None or len(self.documents) != 1):
            raise UsageError("A section needs its document.", "Name one document.")
        if not self.pattern.strip():
            raise UsageError("There is nothing to look for.", "Write a word, a phrase or a regular expression.")
        if len(self.pattern) > LONGEST:
            raise UsageError(f"The pattern has {len(self.pattern)} characters.", f"Use at most {LONGEST}.")


@dataclass(frozen=True, slots=True)
class _Member:
    """A document of the scope; its pages ``first`` to ``last`` are rows from ``row`` on."""

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
class _Scan:
    """Matching rows so far, of ``wanted`` rows in order; ``wanted`` up to ``done`` were looked at."""

    wanted: Rows
    done: int = 0
    rows: list[int] = field(default_factory=list)
    counts: list[int] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)


class _Scope:
    """Documents in the order in which they are listed: by library, then by path."""

    def __init__(self, members: Sequence[_Member]) -> None:
        self.members = members
        self.starts = np.array([0, *accumulate(one.last - one.first + 1 for one in members)], np.int64)
        self.contents = {one.content_id: one.pages for one in members}
        self.of_content: dict[str, list[int]] = {}
        for at, one in enumerate(members):
            self.of_content.setdefault(one.content_id, []).append(at)

    @property
    def rows(self) -> int:
        return int(self.starts[-1])

    def members_of(self, rows: Rows) -> Rows:
        return np.asarray(self.starts.searchsorted(rows, "right") - 1, np.int64)

    def page(self, row: int) -> tuple[_Member, int]:
        at = int(self.starts.searchsorted(row, "right")) - 1
        one = self.members[at]
        return one, one.first + row - int(self.starts[at])


class Grep:
    """Looks for patterns in libraries. Safe for several threads."""

    def __init__(self, catalog: Catalog, words: WordStore) -> None:
        self._catalog, self._words = catalog, words
        self._lock = threading.Lock()
        self._scopes: dict[tuple[Any, ...], _Scope] = {}
        self._scans: dict[tuple[Any, ...], _Scan] = {}

    def search(
        self, libraries: Sequence[Library], asked: GrepRequest, stop: threading.Event | None = None
    ) -> GrepResult:
        """Raise UsageError for a bad pattern or cursor, NotFoundError for an unknown document or section."""
        ends = None if asked.seconds is None else time.monotonic() + asked.seconds
        regex = _Regex(asked.pattern) if asked.regex else None
        words = None if regex else WordQuery(asked.pattern)
        spans = (regex or words).spans  # type: ignore[union-attr]
        key, scope = self._scope(libraries, asked)
        if words is not None and words.exact:
            rows, counts = self._with_words(scope, words)
            done = scope.rows
        else:
            matching = regex.counts if regex else partial(_counts, spans)
            scan = self._scan((*key, asked.pattern, asked.regex), lambda: self._candidates(scope, words, regex))
            with scan.lock:
                self._advance(scope, scan, matching, ends, stop)
                rows, counts = np.array(scan.rows, np.int64), np.array(scan.counts, np.int64)
                done = scope.rows if scan.done == len(scan.wanted) else int(scan.wanted[scan.done])
        return self._result(asked, scope, rows, counts, done, spans)

    def documents(
        self, libraries: Sequence[Library], asked: GrepRequest, stop: threading.Event | None = None
    ) -> tuple[GrepResult, tuple[GrepDocument, ...]]:
        """Return the totals of a search, and every document that matches. Raise as ``search`` does."""
        asked = replace(asked, listed="documents", most=MOST)
        first = found = self.search(libraries, asked, stop)
        listed = list(found.documents)
        while found.cursor and found.complete:
            found = self.search(libraries, replace(asked, cursor=found.cursor), stop)
            listed += found.documents
        return first, tuple(listed)

    def spellings(self, libraries: Sequence[Library], asked: GrepRequest, word: str) -> list[str]:
        """Return the words of the documents that are spelled most like one, as they are folded, the likeliest first."""
        _, scope = self._scope(libraries, asked)
        counts: dict[str, int] = {}
        for segment, _ in self._words.parts(scope.contents):
            for other, pages in segment.words(fold(word)[:1]):
                counts[other] = counts.get(other, 0) + pages
        return alike(word, counts)

    def _scope(self, libraries: Sequence[Library], asked: GrepRequest) -> tuple[tuple[Any, ...], _Scope]:
        with self._catalog.snapshot() as snapshot:
            at = [(one, snapshot.position(one.id)) for one in libraries]
            states = tuple((one.id, one.name, position, snapshot.mark(one.id, position)) for one, position in at)
            key = (states, asked.documents, asked.where, asked.node)
            with self._lock:
                known = self._scopes.get(key)
            if known is not None:
                return key, known
            members: list[_Member] = []
            filtered = asked.documents is not None or asked.where
            missing = []
            for one in libraries:
                rows: Iterable[Any] = snapshot.document_rows(one.id)
                if filtered:
                    documents = [document for document in snapshot.documents(one.id) if document.published]
                    if asked.documents is not None:
                        try:
                            documents = select.by_name(documents, asked.documents)
                        except NotFoundError as error:
                            missing.append(error)
                            continue
                    kept = {document.doc_id for document in select.where(documents, asked.where)}
                    rows = (row for row in rows if row.doc_id in kept)
                members += [
                    _Member(
                        row.doc_id, row.content_id, row.name, row.path, one.name, row.pages, 1, row.pages, row.title
                    )
                    for row in rows
                    if row.content_id
                ]
            if missing and len(missing) == len(libraries):
                raise missing[0]
            if asked.node:
                members = [_narrowed(snapshot, one, asked.node) for one in members]
            published = [snapshot.published(one.id).values() for one in snapshot.named_libraries()]
        self._words.sweep(frozenset().union(*published))
        made = _Scope(members)
        with self._lock:
            self._scopes = dict([*self._scopes.items(), (key, made)][-_REMEMBERED:])
        return key, made

    def _with_words(self, scope: _Scope, words: WordQuery) -> tuple[Rows, Rows]:
        """Return the rows that hold all words, ascending, and how often each holds the first."""
        found: list[Rows] = []
        counted: list[Rows] = []
        for part in self._words.parts(scope.contents):
            rows, counts = part.segment.pages_with(words.words[0].text, prefix=words.words[0].prefix)
            for more in words.words[1:]:
                held, _ = part.segment.pages_with(more.text, prefix=more.prefix)
                kept = np.isin(rows, held, assume_unique=True)
                rows, counts = rows[kept], counts[kept]
            for taken, placed in _placed(scope, part.segment, part.contents, rows):
                found.append(placed)
                counted.append(counts[taken])
        rows, counts = (np.concatenate([np.zeros(0, np.int64), *some]) for some in (found, counted))
        order = np.argsort(rows)
        return rows[order], counts[order]

    def _candidates(self, scope: _Scope, words: WordQuery | None, regex: _Regex | None) -> Rows:
        """Return the rows whose texts must be read, ascending."""
        if words is not None:
            return self._with_words(scope, words)[0] if words.words else np.arange(scope.rows)
        parts = regex.parts if regex else ()
        if not parts:
            return np.arange(scope.rows)
        found = [np.zeros(0, np.int64)]
        for segment, contents in self._words.parts(scope.contents):
            rows = segment.pages_with_part(parts[0])
            for more in parts[1:]:
                rows = np.intersect1d(rows, segment.pages_with_part(more), assume_unique=True)
            found += [placed for _, placed in _placed(scope, segment, contents, rows)]
        return np.sort(np.concatenate(found))

    def _scan(self, key: tuple[Any, ...], wanted: Callable[[], Rows]) -> _Scan:
        with self._lock:
            known = self._scans.get(key)
        made = known or _Scan(wanted())
        with self._lock:
            made = self._scans.pop(key, made)
            self._scans = dict([*self._scans.items(), (key, made)][-_REMEMBERED:])
        return made

    def _advance(
        self, scope: _Scope, scan: _Scan, matching: Callable[[list[str]], list[int]], ends: float | None,
        stop: threading.Event | None,
    ) -> None:  # fmt: skip
        while scan.done < len(scan.wanted):
            if stop is not None and stop.is_set():
                return
            rows = scan.wanted[scan.done : scan.done + _CHUNK]
            for row, count in zip(rows.tolist(), matching(self._texts(scope, rows)), strict=True):
                if count:
                    scan.rows.append(row)
                    scan.counts.append(count)
            scan.done += len(rows)
            if ends is not None and time.monotonic() >= ends:
                return

    def _texts(self, scope: _Scope, rows: Rows) -> list[str]:
        held: dict[tuple[str, int], str] = {}
        single: list[tuple[str, int]] = []
        wanted: list[tuple[str, int]] = []
        members = scope.members_of(rows)
        with self._catalog.snapshot() as snapshot:
            for at in np.unique(members).tolist():
                one, own = scope.members[at], rows[members == at] - scope.starts[at]
                numbers = [one.first + offset for offset in own.tolist()]
                wanted += [(one.content_id, number) for number in numbers]
                if numbers[-1] - numbers[0] < 2 * len(numbers):
                    texts = snapshot.texts(one.content_id, numbers[0], numbers[-1])
                    held |= {(one.content_id, number): text for number, text in texts}
                else:
                    single += [(one.content_id, number) for number in numbers]
            held |= snapshot.some_texts(single) if single else {}
        return [held.get(key, "") for key in wanted]

    def _result(
        self, asked: GrepRequest, scope: _Scope, rows: Rows, counts: Rows, done: int,
        spans: Callable[[str], Iterator[tuple[int, int]]],
    ) -> GrepResult:  # fmt: skip
        members = scope.members_of(rows)
        which, firsts, pages = np.unique(members, return_index=True, return_counts=True)
        matches = np.add.reduceat(counts, firsts) if len(firsts) else np.zeros(0, np.int64)
        listed: tuple[GrepPage, ...] = ()
        documents: tuple[GrepDocument, ...] = ()
        mark = _mark(asked)
        if asked.listed == "pages":
            first = _resumed(asked.cursor, mark, scope, rows)
            shown = rows[first : first + asked.most]
            listed = self._pages(scope, shown, counts[first : first + asked.most], spans, asked.context)
            more = first + len(shown) < len(rows) or done < scope.rows
            last = listed[-1] if listed else None
            cursor = f"{mark}.{last.doc_id}.{last.page}" if more and last else asked.cursor if more else ""
        else:
            first = _resumed(asked.cursor, mark, scope, None)
            chosen = range(int(which.searchsorted(first)), min(int(which.searchsorted(first)) + asked.most, len(which)))
            documents = tuple(
                _document(
                    scope.members[which[at]], pages[at], matches[at], scope, rows[firsts[at] :][: min(10, pages[at])]
                )
                for at in chosen
            )
            more = (chosen.stop if chosen else 0) < len(which) and bool(chosen)
            cursor = f"{mark}.{documents[-1].doc_id}.0" if more else ""
        note = "" if done >= scope.rows else (
            f"The time was over after {done} of {scope.rows} pages: the totals are of these. "
            "Ask the same again, and it goes on from there."
        )  # fmt: skip
        return GrepResult(
            asked.pattern, asked.regex, len(rows), len(which), int(counts.sum()), done >= scope.rows, done, scope.rows,
            listed, documents, cursor, note,
        )  # fmt: skip

    def _pages(
        self, scope: _Scope, rows: Rows, counts: Rows, spans: Callable[[str], Iterator[tuple[int, int]]], context: int
    ) -> tuple[GrepPage, ...]:
        named = [scope.page(row) for row in rows.tolist()]
        with self._catalog.snapshot() as snapshot:
            texts = snapshot.page_texts([(one.content_id, number) for one, number in named])
        found = []
        for (one, number), count in zip(named, counts.tolist(), strict=True):
            held = texts.get((one.content_id, number))
            places = []
            for start, end in spans(held.text) if held else ():
                line = held.text.count("\n", 0, start)  # type: ignore[union-attr]
                place = place_of(held.label, held.places, line)  # type: ignore[union-attr]
                places.append(GrepPlace(start, end, line + 1, _context(held.text, start, end, context), place))  # type: ignore[union-attr]
                if len(places) == _PLACES:
                    break
            label = held.label if held else ""
            found.append(GrepPage(one.doc_id, one.name, one.library, number, label, count, tuple(places)))
        return tuple(found)


def _counts(spans: Callable[[str], Iterator[tuple[int, int]]], texts: list[str]) -> list[int]:
    return [sum(1 for _ in spans(text)) for text in texts]


class _Regex:
    """A regular expression of RE2, which takes time in proportion to the text. Case is ignored but after ``(?-i)``."""

    def __init__(self, written: str) -> None:
        import re2

        options = re2.Options()
        options.case_sensitive, options.log_errors, options.max_mem = False, False, _MEMORY
        try:
            self._compiled = re2.compile(f"(?m){written}", options)
        except re2.error as error:
            said = error.args[0].decode() if isinstance(error.args[0], bytes) else error
            raise UsageError(
                f"The regular expression is bad ({said}).", "Write it without look-around and back-references."
            ) from error
        if self._compiled.search(b"") is not None:
            raise UsageError("The regular expression matches nothing at all, too.", "Write what must be on the page.")
        self.parts = _required_parts(written)

    def counts(self, texts: list[str]) -> list[int]:
        """Return how often it matches in each text."""
        found = self._compiled.search
        encoded = [text.encode("utf-8", "replace") for text in texts]
        return [sum(1 for _ in self._compiled.finditer(text)) if found(text) is not None else 0 for text in encoded]

    def spans(self, text: str) -> Iterator[tuple[int, int]]:
        encoded = text.encode("utf-8", "replace")
        for match in self._compiled.finditer(encoded):
            start, end = match.span()
            first = len(encoded[:start].decode("utf-8", "replace"))
            yield first, first + len(encoded[start:end].decode("utf-8", "replace"))


def _required_parts(written: str) -> tuple[str, ...]:
    """Return runs of letters and digits that every match holds; () where none is sure."""
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


def _placed(scope: _Scope, segment: Any, contents: frozenset[str], rows: Rows) -> Iterator[tuple[Rows, Rows]]:
    """Yield where rows of a segment are in a scope: which of them, and their rows there."""
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
        firsts = np.array([one.first for one in scope.members], np.int64)
        lasts = np.array([one.last for one in scope.members], np.int64)
        taken = np.flatnonzero((own >= 0) & (pages >= firsts[own]) & (pages <= lasts[own]))
        yield taken, scope.starts[own[taken]] + pages[taken] - firsts[own[taken]]


def _narrowed(snapshot: Any, one: _Member, node: str) -> _Member:
    section = next((section for section in snapshot.sections(one.content_id) if section.node_id == node), None)
    if section is None:
        raise NotFoundError(f"{one.name} has no section {node}.", "See its outline.")
    return replace(one, first=section.start_page, last=section.end_page)


def _document(one: _Member, pages: int, matches: int, scope: _Scope, rows: Rows) -> GrepDocument:
    first_pages = tuple(scope.page(row)[1] for row in rows.tolist())
    return GrepDocument(one.doc_id, one.name, one.path, one.library, int(pages), int(matches), first_pages, one.title)


def _context(text: str, start: int, end: int, about: int) -> str:
    """Return the lines of a match with some before and after; long lines are cut, those of the match about it."""
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


def _mark(asked: GrepRequest) -> str:
    written = repr((asked.pattern, asked.regex, asked.documents, asked.where, asked.node, asked.listed))
    return hashlib.sha256(written.encode("utf-8", "replace")).hexdigest()[:8]


def _resumed(cursor: str, mark: str, scope: _Scope, rows: Rows | None) -> int:
    """Return the place in ``rows`` behind a cursor, or of a member where ``rows`` is None."""
    if not cursor:
        return 0
    own, doc_id, page = (*cursor[:200].split("."), "", "")[:3]
    at = next((at for at, one in enumerate(scope.members) if one.doc_id == doc_id), None)
    if own != mark or at is None or not (page.isascii() and page.isdecimal()):
        raise UsageError("The cursor does not belong to this call.", "Repeat the call exactly, adding only its cursor.")
    if rows is None:
        return at + 1
    row = int(scope.starts[at]) + int(page[:9]) - scope.members[at].first
    return bisect_left(rows.tolist(), row + 1)
