"""Printed contents that a model reads: with page labels, whose offset the titles vote on, and without."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import BaseModel

from hybrid_core.llm.session import Session
from hybrid_core.llm.token_estimate import cut
from indexers.enrich.tree.marks import Counts, in_order, mark_at
from indexers.enrich.tree.placing import TitleSearch, ask_places
from indexers.outline.locate import LinePrefixIndex, find_title
from indexers.outline.numbering import compact
from indexers.outline.toc_pages import ContentsPages, find_contents
from indexers.outline.toc_rows import label_value
from indexers.outline.tree import HeadingMark
from indexers.outline.view import DocumentView

_ROWS = 3500  # tokens of rows in one call
_INDENT = 8.0  # points that one more space stands for
_LABELLED = 0.5  # of the entries; with fewer the labels are not used
_LEAST_VOTES = 2
_LEAST_ENTRIES = 3
_MOST = 600
Place = tuple[int, int]


class ContentsEntry(BaseModel):
    title: str
    level: int
    label: str = ""


class ContentsEntries(BaseModel):
    is_contents: bool
    entries: list[ContentsEntry]


@dataclass(frozen=True, slots=True)
class PrintedEntries:
    """Entries as they are printed, and the pages that hold them and nothing else."""

    entries: tuple[ContentsEntry, ...]
    pages: frozenset[int]

    @property
    def labelled(self) -> bool:
        values = [entry for entry in self.entries if label_value(entry.label.strip())]
        return len(values) >= max(_LEAST_ENTRIES, _LABELLED * len(self.entries))


def read_contents(session: Session, doc: DocumentView, search: int, counts: Counts) -> PrintedEntries | None:
    """The entries of the longest printed contents in the first ``search`` pages, None where there are none.

    Raises ChatError.
    """
    best = max(find_contents(doc, search), key=lambda contents: len(contents.rows), default=None)
    if best is None or len(best.rows) < _LEAST_ENTRIES:
        return None
    entries: list[ContentsEntry] = []
    for rows in _parts(_lines(best)):
        if session.scope.spent:
            break
        reply = session.ask("headings-contents", ContentsEntries, {"rows": rows}, tokens=6000)
        shown = compact(rows)
        for entry in reply.entries if reply.is_contents else ():
            counts.named += 1
            if compact(entry.title) and compact(entry.title) in shown and len(entries) < _MOST:
                entries.append(entry)
            else:
                counts.missing += 1
    return PrintedEntries(tuple(entries), frozenset(best.full)) if len(entries) >= _LEAST_ENTRIES else None


def _lines(contents: ContentsPages) -> list[str]:
    left = min(row.x0 for row in contents.rows)
    return [
        cut(f"{' ' * min(12, int((row.x0 - left) / _INDENT))}{row.title}  {row.label}".rstrip(), 100)
        for row in contents.rows
    ]


def _parts(lines: Sequence[str]) -> list[str]:
    """Rows in as many texts as it takes."""
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
    """Each entry at its label plus the offset that most of the titles found in the text have.

    What does not stand there, two pages to either side included, is looked for between its neighbours.
    """
    index = LinePrefixIndex(doc, printed.pages)
    places = [index.places(entry.title) for entry in printed.entries]
    offsets = _offsets(printed.entries, places)
    found: list[Place | None] = []
    for entry, anywhere in zip(printed.entries, places, strict=True):
        value, offset = _value(entry.label)
        expected = value + offsets[offset] if value and offset in offsets else 0
        place = None
        if 1 <= expected <= len(doc.pages):
            place = find_title(entry.title, doc, expected, slack=2, least=0.5, skip=printed.pages)
            if place is None and not doc[expected].units:
                place = (expected, -1)
        found.append(place or (anywhere[0] if len(anywhere) == 1 else None))
    return _settled(session, doc, printed, found, counts)


def without_labels(session: Session, doc: DocumentView, printed: PrintedEntries, counts: Counts) -> list[HeadingMark]:
    """Each entry where its title stands alone in the text, in order; what is left, the model places."""
    index = LinePrefixIndex(doc, printed.pages)
    places = [index.places(entry.title) for entry in printed.entries]
    found = in_order([anywhere[0] if len(anywhere) == 1 else None for anywhere in places])
    last = (0, 0)
    for i, anywhere in enumerate(places):
        if found[i] is None:
            until = next((place for place in found[i + 1 :] if place), (len(doc.pages) + 1, 0))
            inside = [place for place in anywhere if last < place < until]
            found[i] = inside[0] if len(inside) == 1 else None
        last = found[i] or last
    return _settled(session, doc, printed, found, counts)


def _offsets(entries: Sequence[ContentsEntry], places: Sequence[Sequence[Place]]) -> dict[bool, int]:
    """For Arabic labels (True) and Roman ones what most titles' pages differ from their labels by."""
    votes: dict[bool, Counter[int]] = {True: Counter(), False: Counter()}
    for entry, anywhere in zip(entries, places, strict=True):
        value, kind = _value(entry.label)
        for page, _ in anywhere if value else ():
            votes[kind][page - value] += 12 // len(anywhere) + 1
    best = {kind: vote.most_common(1)[0] for kind, vote in votes.items() if vote}
    return {kind: offset for kind, (offset, count) in best.items() if count >= 12 * _LEAST_VOTES}


def _value(label: str) -> tuple[int, bool]:
    return label_value(label.strip()), label.strip().isdigit()


def _settled(
    session: Session, doc: DocumentView, printed: PrintedEntries, found: Sequence[Place | None], counts: Counts
) -> list[HeadingMark]:
    """Entries in order; those without a place between their neighbours are asked for. Raises ChatError."""
    settled = in_order(found)
    wanted = []
    for i, entry in enumerate(printed.entries):
        if settled[i] is None:
            after = next((place[0] for place in reversed(settled[:i]) if place), 1)
            until = next((place[0] for place in settled[i + 1 :] if place), len(doc.pages))
            wanted.append(TitleSearch(i, entry.title, after, until))
    for i, place in ask_places(session, doc, wanted, printed.pages, counts).items():
        settled[i] = place
    places = in_order(settled)
    counts.unplaced = places.count(None)
    return [
        mark_at(doc, entry.title, entry.level, *place)
        for entry, place in zip(printed.entries, places, strict=True)
        if place is not None
    ]
