"""Exhaustive search: all pages that contain words or match a regular expression."""

from __future__ import annotations

import hashlib
import threading
import time
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from hybrid_core.errors import NotFoundError, UsageError
from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.store.words import Rows, Segment, WordStore
from hybrid_core.text.exact_words import QueryWord, WordQuery
from hybrid_core.text.misspellings import alike
from hybrid_core.text.tokens import fold
from hybrid_core.types.documents import place_of
from hybrid_core.types.exhaustive import MAX_LIMIT, GrepRequest
from hybrid_core.types.libraries import Library
from hybrid_pageindex.engine.search.matching import (
    Member,
    Regex,
    Scan,
    SearchedPages,
    context_lines,
    count_matches,
    narrow,
    rows_in_scope,
)
from retrievers.candidates import documents as select

_PLACES = 5  # matches shown of a page
_CHUNK = 1024  # pages searched between two checks of the time limit
_MAX_SCANS = 16  # interrupted searches that are remembered to be continued


@dataclass(frozen=True, slots=True)
class GrepPlace:
    """A match at the characters ``start`` to ``end`` of a page's text, on ``line`` (from 1).

    ``text`` is the line with the lines around it. ``place`` is the position within a file that has no pages.
    """

    start: int
    end: int
    line: int
    text: str
    place: str


@dataclass(frozen=True, slots=True)
class GrepPage:
    """A page with matches. ``places`` lists at most five matches; ``matches`` counts all."""

    doc_id: str
    document: str
    library: str
    page: int
    label: str
    matches: int
    places: tuple[GrepPlace, ...]


@dataclass(frozen=True, slots=True)
class GrepDocument:
    """A document with matches. ``first_pages`` lists at most ten matching pages; ``pages`` counts all matching
    pages.
    """

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
    """The totals of an exhaustive search, and one batch of its matches.

    ``complete`` is True if all ``pages_in_scope`` were searched; else the totals cover ``pages_searched`` pages, and
    ``note`` says so. ``cursor`` requests the next batch, "" after the last one.
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


class Grep:
    """Exhaustive search of libraries for words or regular expressions. Safe for several threads."""

    def __init__(self, catalog: Catalog, words: WordStore) -> None:
        self._catalog, self._words = catalog, words
        self._lock = threading.Lock()
        self._scopes: dict[tuple[Any, ...], SearchedPages] = {}
        self._scans: dict[tuple[Any, ...], Scan] = {}

    def search(
        self, libraries: Sequence[Library], request: GrepRequest, stop: threading.Event | None = None
    ) -> GrepResult:
        """Search for a pattern, and return the totals and one batch of matches.

        Raise UsageError for an invalid pattern or cursor, NotFoundError for an unknown document or section.
        """
        ends = None if request.seconds is None else time.monotonic() + request.seconds
        regex = Regex(request.pattern) if request.regex else None
        words = None if regex else WordQuery(request.pattern)
        spans = (regex or words).spans  # type: ignore[union-attr]
        key, scope = self._scope(libraries, request)
        if words is not None and words.exact:
            rows, counts = self._with_words(scope, words)
            done = scope.rows
        else:
            matching = regex.counts if regex else partial(count_matches, spans)
            scan = self._scan((*key, request.pattern, request.regex), lambda: self._candidates(scope, words, regex))
            with scan.lock:
                self._advance(scope, scan, matching, ends, stop)
                rows, counts = np.array(scan.rows, np.int64), np.array(scan.counts, np.int64)
                done = scope.rows if scan.done == len(scan.candidates) else int(scan.candidates[scan.done])
        return self._result(request, scope, rows, counts, done, spans)

    def documents(
        self, libraries: Sequence[Library], request: GrepRequest, stop: threading.Event | None = None
    ) -> tuple[GrepResult, tuple[GrepDocument, ...]]:
        """Search for a pattern, and return the totals and all matching documents. Raise the errors of ``search``."""
        request = replace(request, listed="documents", limit=MAX_LIMIT)
        first = result = self.search(libraries, request, stop)
        listed = list(result.documents)
        while result.cursor and result.complete:
            result = self.search(libraries, replace(request, cursor=result.cursor), stop)
            listed += result.documents
        return first, tuple(listed)

    def spellings(self, libraries: Sequence[Library], request: GrepRequest, word: str) -> list[str]:
        """Return words of the documents with a spelling similar to ``word``, most likely first, in normalised form."""
        _, scope = self._scope(libraries, request)
        counts: dict[str, int] = {}
        for segment, _ in self._words.parts(scope.contents):
            for other, pages in segment.words(fold(word)[:1]):
                counts[other] = counts.get(other, 0) + pages
        return alike(word, counts)

    def _scope(self, libraries: Sequence[Library], request: GrepRequest) -> tuple[tuple[Any, ...], SearchedPages]:
        with self._catalog.snapshot() as snapshot:
            at = [(library, snapshot.position(library.id)) for library in libraries]
            states = tuple(
                (library.id, library.name, position, snapshot.mark(library.id, position)) for library, position in at
            )
            key = (states, request.documents, request.where, request.node)
            with self._lock:
                cached = self._scopes.get(key)
            if cached is not None:
                return key, cached
            members: list[Member] = []
            filtered = request.documents is not None or request.where
            missing = []
            for library in libraries:
                rows: Iterable[Any] = snapshot.document_rows(library.id)
                if filtered:
                    documents = [document for document in snapshot.documents(library.id) if document.published]
                    if request.documents is not None:
                        try:
                            documents = select.select_by_name(documents, request.documents)
                        except NotFoundError as error:
                            missing.append(error)
                            continue
                    doc_ids = {document.doc_id for document in select.select_where(documents, request.where)}
                    rows = (row for row in rows if row.doc_id in doc_ids)
                members += [
                    Member(
                        row.doc_id, row.content_id, row.name, row.path, library.name, row.pages, 1, row.pages, row.title
                    )
                    for row in rows
                    if row.content_id
                ]
            if missing and len(missing) == len(libraries):
                raise missing[0]
            if request.node:
                members = [narrow(snapshot, member, request.node) for member in members]
            published = [snapshot.published(library.id).values() for library in snapshot.named_libraries()]
        self._words.sweep(frozenset().union(*published))
        scope = SearchedPages(members)
        with self._lock:
            self._scopes = dict([*self._scopes.items(), (key, scope)][-_MAX_SCANS:])
        return key, scope

    def _with_words(self, scope: SearchedPages, words: WordQuery) -> tuple[Rows, Rows]:
        """Return the rows (numbers of pages) that contain all words, ascending, and their numbers of matches.

        Only matches of the first word are counted.
        """

        def pages_with(segment: Segment, word: QueryWord) -> tuple[Rows, Rows]:
            return segment.pages_with(word.text, prefix=word.prefix, addresses=words.address)

        found_rows: list[Rows] = []
        counted: list[Rows] = []
        for part in self._words.parts(scope.contents):
            rows, counts = pages_with(part.segment, words.words[0])
            for more in words.words[1:]:
                other_rows, _ = pages_with(part.segment, more)
                in_both = np.isin(rows, other_rows, assume_unique=True)
                rows, counts = rows[in_both], counts[in_both]
            for taken, placed in rows_in_scope(scope, part.segment, part.contents, rows):
                found_rows.append(placed)
                counted.append(counts[taken])
        rows, counts = (np.concatenate([np.zeros(0, np.int64), *some]) for some in (found_rows, counted))
        order = np.argsort(rows)
        return rows[order], counts[order]

    def _candidates(self, scope: SearchedPages, words: WordQuery | None, regex: Regex | None) -> Rows:
        """Return the rows (numbers of pages) whose texts must be read, ascending.

        The index of words excludes all other pages.
        """
        if words is not None:
            return self._with_words(scope, words)[0] if words.words else np.arange(scope.rows)
        parts = regex.parts if regex else ()
        if not parts:
            return np.arange(scope.rows)
        row_parts = [np.zeros(0, np.int64)]
        for segment, contents in self._words.parts(scope.contents):
            rows = segment.pages_with_part(parts[0])
            for more in parts[1:]:
                rows = np.intersect1d(rows, segment.pages_with_part(more), assume_unique=True)
            row_parts += [placed for _, placed in rows_in_scope(scope, segment, contents, rows)]
        return np.sort(np.concatenate(row_parts))

    def _scan(self, key: tuple[Any, ...], find_candidates: Callable[[], Rows]) -> Scan:
        with self._lock:
            cached = self._scans.get(key)
        scan = cached or Scan(find_candidates())
        with self._lock:
            scan = self._scans.pop(key, scan)
            self._scans = dict([*self._scans.items(), (key, scan)][-_MAX_SCANS:])
        return scan

    def _advance(
        self, scope: SearchedPages, scan: Scan, matching: Callable[[list[str]], list[int]], ends: float | None,
        stop: threading.Event | None,
    ) -> None:  # fmt: skip
        while scan.done < len(scan.candidates):
            if stop is not None and stop.is_set():
                return
            rows = scan.candidates[scan.done : scan.done + _CHUNK]
            for row, count in zip(rows.tolist(), matching(self._texts(scope, rows)), strict=True):
                if count:
                    scan.rows.append(row)
                    scan.counts.append(count)
            scan.done += len(rows)
            if ends is not None and time.monotonic() >= ends:
                return

    def _texts(self, scope: SearchedPages, rows: Rows) -> list[str]:
        texts_of: dict[tuple[str, int], str] = {}
        single: list[tuple[str, int]] = []
        keys: list[tuple[str, int]] = []
        members = scope.members_of(rows)
        with self._catalog.snapshot() as snapshot:
            for at in np.unique(members).tolist():
                member, own = scope.members[at], rows[members == at] - scope.starts[at]
                numbers = [member.first + offset for offset in own.tolist()]
                keys += [(member.content_id, number) for number in numbers]
                if numbers[-1] - numbers[0] < 2 * len(numbers):
                    texts = snapshot.texts(member.content_id, numbers[0], numbers[-1])
                    texts_of |= {(member.content_id, number): text for number, text in texts}
                else:
                    single += [(member.content_id, number) for number in numbers]
            texts_of |= snapshot.some_texts(single) if single else {}
        return [texts_of.get(key, "") for key in keys]

    def _result(
        self, request: GrepRequest, scope: SearchedPages, rows: Rows, counts: Rows, done: int,
        spans: Callable[[str], Iterator[tuple[int, int]]],
    ) -> GrepResult:  # fmt: skip
        members = scope.members_of(rows)
        which, firsts, pages = np.unique(members, return_index=True, return_counts=True)
        matches = np.add.reduceat(counts, firsts) if len(firsts) else np.zeros(0, np.int64)
        listed: tuple[GrepPage, ...] = ()
        documents: tuple[GrepDocument, ...] = ()
        mark = _mark(request)
        if request.listed == "pages":
            first = _resumed(request.cursor, mark, scope, rows)
            shown = rows[first : first + request.limit]
            listed = self._pages(scope, shown, counts[first : first + request.limit], spans, request.context)
            more = first + len(shown) < len(rows) or done < scope.rows
            last = listed[-1] if listed else None
            cursor = f"{mark}.{last.doc_id}.{last.page}" if more and last else request.cursor if more else ""
        else:
            first = _resumed(request.cursor, mark, scope, None)
            chosen = range(
                int(which.searchsorted(first)), min(int(which.searchsorted(first)) + request.limit, len(which))
            )
            documents = tuple(
                _document(
                    scope.members[which[at]], pages[at], matches[at], scope, rows[firsts[at] :][: min(10, pages[at])]
                )
                for at in chosen
            )
            more = (chosen.stop if chosen else 0) < len(which) and bool(chosen)
            cursor = f"{mark}.{documents[-1].doc_id}.0" if more else ""
        note = "" if done >= scope.rows else (
            f"The time limit was reached after {done} of {scope.rows} pages, and the totals count only these. "
            "Repeat the same search to continue."
        )  # fmt: skip
        return GrepResult(
            request.pattern, request.regex, len(rows), len(which), int(counts.sum()),
            done >= scope.rows, done, scope.rows, listed, documents, cursor, note,
        )  # fmt: skip

    def _pages(
        self,
        scope: SearchedPages,
        rows: Rows,
        counts: Rows,
        spans: Callable[[str], Iterator[tuple[int, int]]],
        context: int,
    ) -> tuple[GrepPage, ...]:
        named = [scope.page(row) for row in rows.tolist()]
        with self._catalog.snapshot() as snapshot:
            texts = snapshot.page_texts([(member.content_id, number) for member, number in named])
        pages = []
        for (member, number), count in zip(named, counts.tolist(), strict=True):
            page_text = texts.get((member.content_id, number))
            places = []
            for start, end in spans(page_text.text) if page_text else ():
                line = page_text.text.count("\n", 0, start)  # type: ignore[union-attr]
                place = place_of(page_text.label, page_text.places, line)  # type: ignore[union-attr]
                lines = context_lines(page_text.text, start, end, context)  # type: ignore[union-attr]
                places.append(GrepPlace(start, end, line + 1, lines, place))
                if len(places) == _PLACES:
                    break
            label = page_text.label if page_text else ""
            pages.append(GrepPage(member.doc_id, member.name, member.library, number, label, count, tuple(places)))
        return tuple(pages)


def _document(member: Member, pages: int, matches: int, scope: SearchedPages, rows: Rows) -> GrepDocument:
    first_pages = tuple(scope.page(row)[1] for row in rows.tolist())
    return GrepDocument(
        member.doc_id, member.name, member.path, member.library, int(pages), int(matches), first_pages, member.title
    )


def _mark(request: GrepRequest) -> str:
    written = repr((request.pattern, request.regex, request.documents, request.where, request.node, request.listed))
    return hashlib.sha256(written.encode("utf-8", "replace")).hexdigest()[:8]


def _resumed(cursor: str, mark: str, scope: SearchedPages, rows: Rows | None) -> int:
    """Return the index in ``rows`` at which the batch after a cursor begins, 0 without a cursor.

    Rows are the numbers of matching pages. If ``rows`` is None, documents are listed, and the index is a document's.
    Raise UsageError if the cursor belongs to another request.
    """
    if not cursor:
        return 0
    own, doc_id, page = (*cursor[:200].split("."), "", "")[:3]
    at = next((at for at, member in enumerate(scope.members) if member.doc_id == doc_id), None)
    if own != mark or at is None or not (page.isascii() and page.isdecimal()):
        raise UsageError(
            "The cursor comes from a call with other arguments.",
            "Repeat that call with the same arguments, and add only the cursor.",
        )
    if rows is None:
        return at + 1
    row = int(scope.starts[at]) + int(page[:9]) - scope.members[at].first
    return bisect_left(rows.tolist(), row + 1)
