"""Headings that a model reads from printed contents or pages, and the search for given titles.

Each printed page label plus an offset gives a page; most of the titles found in the text determine the offset. Pages
are read in groups; each reply continues the previous one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from pydantic import BaseModel

from hybrid_core.llm.budget import cut
from hybrid_core.llm.client.chat_model import Session
from indexers.enrich.tree.marks import Counts, Group, abridged, find, groups, in_order, mark_at
from indexers.enrich.tree.trust import Stretch
from indexers.outline.heading import LinePrefixIndex, find_title
from indexers.outline.numbering import compact
from indexers.outline.toc import ContentsPages, find_contents, label_value, opens_contents
from indexers.outline.tree import HeadingMark
from indexers.outline.view import DocumentView

_GROUP = 5000  # tokens of pages in one call
_TITLES = 60
_NOWHERE = "-"  # cached for a title that the model found on none of its pages


class Place(BaseModel):
    entry: int
    page: int


class Places(BaseModel):
    places: list[Place]


@dataclass(frozen=True, slots=True)
class TitleSearch:
    """A title to find, and the range of pages in which its section must begin.

    ``entry`` is a number by which the caller identifies the title.
    """

    entry: int
    title: str
    first: int
    last: int


def ask_places(
    session: Session, doc: DocumentView, searches: Sequence[TitleSearch], skip: Collection[int], counts: Counts
) -> dict[int, tuple[int, int]]:
    """Ask a model for the page and line of each title.

    Only pages in the range of a title are shown. ``skip`` are pages of printed contents, which are not searched because
    they contain the titles of all sections.
    """
    places = {search.entry: _title_lines(doc, search, skip) for search in searches}
    keys = {
        search.entry: _cache_key(session, doc, search, places[search.entry])
        for search in searches
        if places[search.entry]
    }
    positions: dict[int, tuple[int, int]] = {}
    left: list[TitleSearch] = []
    for search in searches:
        if search.entry in keys:
            cached = session.get(keys[search.entry])
            if cached is None:
                left.append(search)
            elif cached != _NOWHERE:
                positions[search.entry] = list(places[search.entry].items())[int(cached)]
    unasked: set[int] = set()
    for group in groups(doc, sorted({n for search in left for n in places[search.entry]}), _GROUP):
        shown = frozenset(group.numbers)
        fitting = [search for search in left if search.entry not in positions and places[search.entry].keys() & shown]
        batch = fitting[:_TITLES] if not session.scope.spent else []
        unasked.update(search.entry for search in fitting[len(batch) :])
        if not batch:
            continue
        titles = "\n".join(f"{number}. {search.title}" for number, search in enumerate(batch, 1))
        values = {"titles": titles, "pages": group.text}
        for reply in session.ask("headings-place", Places, values).places:
            if not 1 <= reply.entry <= len(batch) or reply.page <= 0:
                continue
            counts.named += 1
            search, page = batch[reply.entry - 1], group.page(reply.page)
            if page in places[search.entry]:
                positions.setdefault(search.entry, (page, places[search.entry][page]))
            elif page:
                counts.missing += 1
            else:
                counts.elsewhere += 1
    for search in left:
        if search.entry in positions:
            session.put(keys[search.entry], str(list(places[search.entry]).index(positions[search.entry][0])))
        elif search.entry not in unasked:
            session.put(keys[search.entry], _NOWHERE)
    return positions


def _cache_key(session: Session, doc: DocumentView, search: TitleSearch, places: Iterable[int]) -> str:
    return session.key("headings-place", search.title, *(abridged(doc[number]) for number in places))


def _title_lines(doc: DocumentView, search: TitleSearch, skip: Collection[int]) -> dict[int, int]:
    """Return ``{page: line}`` for the pages that have a line similar to a title, in order.

    Pages in ``skip`` are not searched.
    """
    skipped = () if opens_contents(search.title) else skip  # the heading of printed contents is on their own pages
    numbers = (number for number in range(search.first, search.last + 1) if number not in skipped)
    return {number: unit for number in numbers if (unit := find(doc, search.title, number)) is not None}


_ROWS = 3500  # tokens of rows in one call
_INDENT = 8.0  # points of indentation for one space
_LABEL_SHARE = 0.5  # minimum share of entries with labels; with fewer, labels are ignored
_LEAST_VOTES = 2
_LEAST_ENTRIES = 3
_MAX_ENTRIES = 600
Position = tuple[int, int]


class ContentsEntry(BaseModel):
    title: str
    level: int
    label: str = ""


class ContentsEntries(BaseModel):
    is_contents: bool
    entries: list[ContentsEntry]


@dataclass(frozen=True, slots=True)
class PrintedEntries:
    """The entries of a printed table of contents, and the pages that contain nothing but contents."""

    entries: tuple[ContentsEntry, ...]
    pages: frozenset[int]

    @property
    def labelled(self) -> bool:
        values = [entry for entry in self.entries if label_value(entry.label.strip())]
        return len(values) >= max(_LEAST_ENTRIES, _LABEL_SHARE * len(self.entries))


def read_contents(session: Session, doc: DocumentView, search: int, counts: Counts) -> PrintedEntries | None:
    """Return the longest printed table of contents in the first ``search`` pages, None if there is none.

    A model reads its entries. Raise ChatError.
    """
    best = max(find_contents(doc, search), key=lambda contents: len(contents.rows), default=None)
    if best is None or len(best.rows) < _LEAST_ENTRIES:
        return None
    entries: list[ContentsEntry] = []
    for rows in _split_lines(_contents_lines(best)):
        if session.scope.spent:
            break
        reply = session.ask("headings-contents", ContentsEntries, {"rows": rows}, tokens=6000)
        shown = compact(rows)
        for entry in reply.entries if reply.is_contents else ():
            counts.named += 1
            if compact(entry.title) and compact(entry.title) in shown and len(entries) < _MAX_ENTRIES:
                entries.append(entry)
            else:
                counts.missing += 1
    return PrintedEntries(tuple(entries), frozenset(best.full)) if len(entries) >= _LEAST_ENTRIES else None


def _contents_lines(contents: ContentsPages) -> list[str]:
    left = min(row.x0 for row in contents.rows)
    return [
        cut(f"{' ' * min(12, int((row.x0 - left) / _INDENT))}{row.title}  {row.label}".rstrip(), 100)
        for row in contents.rows
    ]


def _split_lines(lines: Sequence[str]) -> list[str]:
    """Join lines into texts of limited size."""
    parts: list[list[str]] = [[]]
    size = 0
    for line in lines:
        if size + len(line.encode()) // 3 + 1 > _ROWS:
            parts.append([])
            size = 0
        parts[-1].append(line)
        size += len(line.encode()) // 3 + 1
    return ["\n".join(part) for part in parts]


def with_labels(session: Session, doc: DocumentView, printed: PrintedEntries, counts: Counts) -> list[HeadingMark]:
    """Return the headings of printed contents with page labels.

    Each entry is expected at its page label plus the offset that most titles confirm. A title that is not within two
    pages of there is searched for between its neighbours.
    """
    index = LinePrefixIndex(doc, printed.pages)
    places = [index.places(entry.title) for entry in printed.entries]
    offsets = _offsets(printed.entries, places)
    positions: list[Position | None] = []
    for entry, anywhere in zip(printed.entries, places, strict=True):
        value, offset = _value_of_label(entry.label)
        expected = value + offsets[offset] if value and offset in offsets else 0
        place = None
        if 1 <= expected <= len(doc.pages):
            place = find_title(entry.title, doc, expected, slack=2, min_score=0.5, skip=printed.pages)
            if place is None and not doc[expected].units:
                place = (expected, -1)
        positions.append(place or (anywhere[0] if len(anywhere) == 1 else None))
    return _settled(session, doc, printed, positions, counts)


def without_labels(session: Session, doc: DocumentView, printed: PrintedEntries, counts: Counts) -> list[HeadingMark]:
    """Return the headings of printed contents without page numbers.

    An entry is located by the only line that matches its title, in the order of the entries. The model locates the
    others.
    """
    index = LinePrefixIndex(doc, printed.pages)
    places = [index.places(entry.title) for entry in printed.entries]
    positions = in_order([anywhere[0] if len(anywhere) == 1 else None for anywhere in places])
    last = (0, 0)
    for i, anywhere in enumerate(places):
        if positions[i] is None:
            until = next((place for place in positions[i + 1 :] if place), (len(doc.pages) + 1, 0))
            inside = [place for place in anywhere if last < place < until]
            positions[i] = inside[0] if len(inside) == 1 else None
        last = positions[i] or last
    return _settled(session, doc, printed, positions, counts)


def _offsets(entries: Sequence[ContentsEntry], places: Sequence[Sequence[Position]]) -> dict[bool, int]:
    """Return the most common difference between an entry's page and its printed page label.

    The keys are True for Arabic labels and False for Roman ones.
    """
    votes: dict[bool, Counter[int]] = {True: Counter(), False: Counter()}
    for entry, anywhere in zip(entries, places, strict=True):
        value, kind = _value_of_label(entry.label)
        for page, _ in anywhere if value else ():
            votes[kind][page - value] += 12 // len(anywhere) + 1
    best = {kind: vote.most_common(1)[0] for kind, vote in votes.items() if vote}
    return {kind: offset for kind, (offset, count) in best.items() if count >= 12 * _LEAST_VOTES}


def _value_of_label(label: str) -> tuple[int, bool]:
    return label_value(label.strip()), label.strip().isdigit()


def _settled(
    session: Session, doc: DocumentView, printed: PrintedEntries, positions: Sequence[Position | None], counts: Counts
) -> list[HeadingMark]:
    """Return the entries of printed contents as headings, in order.

    The model is asked for the positions of entries without one. Raise ChatError.
    """
    settled = in_order(positions)
    searches = []
    for i, entry in enumerate(printed.entries):
        if settled[i] is None:
            after = next((place[0] for place in reversed(settled[:i]) if place), 1)
            until = next((place[0] for place in settled[i + 1 :] if place), len(doc.pages))
            searches.append(TitleSearch(i, entry.title, after, until))
    for i, place in ask_places(session, doc, searches, printed.pages, counts).items():
        settled[i] = place
    places = in_order(settled)
    counts.unplaced = places.count(None)
    return [
        mark_at(doc, entry.title, entry.level, *place)
        for entry, place in zip(printed.entries, places, strict=True)
        if place is not None
    ]


GROUP = 7000  # tokens of pages in one call
_OVERLAP = 1  # pages that two groups share, so that each group but the first has context
_CONTEXT_HEADINGS = 14  # headings before a group that are shown with it
_MAX_HEADINGS = 8  # maximum average of headings per page in a group; more cannot be headings


class FoundHeading(BaseModel):
    page: int
    level: int
    title: str


class FoundHeadings(BaseModel):
    headings: list[FoundHeading]


def read_pages(session: Session, doc: DocumentView, title: str, counts: Counts) -> list[HeadingMark]:
    """Let a model read all pages, and return their headings. Raise ChatError."""
    numbers = [page.page.number for page in doc.pages]
    marks: list[HeadingMark] = []
    for group in groups(doc, numbers, GROUP, _OVERLAP):
        if session.scope.spent:
            break
        context = "\n".join(f"{mark.level} {mark.title}" for mark in marks[-_CONTEXT_HEADINGS:]) or "none"
        marks = _add_marks(marks, _read_headings(session, doc, group, title, context, counts))
    return marks


def split(
    session: Session,
    doc: DocumentView,
    title: str,
    large: Sequence[Stretch],
    marks: Sequence[HeadingMark],
    counts: Counts,
) -> list[HeadingMark]:
    """Let a model find headings in long page ranges that have none (``large``). Raise ChatError.

    Their levels are below the sections that contain the ranges.
    """
    inside = {number: stretch for stretch in large for number in range(stretch.first, stretch.last + 1)}
    taken = {(mark.page, compact(mark.title)) for mark in marks}

    def head(number: int) -> str:
        return f" of section: {inside[number].title}" if inside[number].title else ""

    marks_found: list[HeadingMark] = []
    for group in groups(doc, sorted(inside), GROUP, 0, head):
        if session.scope.spent:
            break
        context = "Each page names the section that it belongs to; level 1 is what stands directly below that section."
        marks_found = _add_marks(marks_found, _read_headings(session, doc, group, title, context, counts))
    own = {(stretch.first, compact(stretch.title)) for stretch in large}
    return [
        HeadingMark(m.title, inside[m.page].level + m.level, m.page, m.anchor, m.y, m.source)
        for m in marks_found
        if m.page in inside and not {(m.page, compact(m.title))} & (taken | own)
    ]


def _read_headings(
    session: Session, doc: DocumentView, group: Group, title: str, context: str, counts: Counts
) -> list[HeadingMark]:
    values = {"title": title, "known": context, "pages": group.text}
    replies = session.ask("headings-read", FoundHeadings, values).headings
    counts.named += len(replies)
    limit = _MAX_HEADINGS * len(group.numbers)
    counts.missing += max(0, len(replies) - limit)
    by_place: dict[tuple[int, int], HeadingMark] = {}
    for reply in replies[:limit]:
        page = group.page(reply.page)
        if not page:
            counts.elsewhere += 1
            continue
        unit = find(doc, reply.title, page)
        if unit is None:
            counts.missing += 1
        else:
            by_place.setdefault((page, unit), mark_at(doc, reply.title, reply.level, page, unit))
    return [by_place[place] for place in sorted(by_place)]


def _add_marks(before: Sequence[HeadingMark], marks: Sequence[HeadingMark]) -> list[HeadingMark]:
    """Return both lists of headings as one. Headings of a page that two groups share are not repeated."""
    places = {(mark.page, mark.anchor) for mark in before}
    return [*before, *(mark for mark in marks if (mark.page, mark.anchor) not in places)]
