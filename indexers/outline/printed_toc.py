"""The printed table of contents of a document, with the page in the body for each of its entries."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import median

from indexers.outline.heading import Heading, LinePrefixIndex, find_title
from indexers.outline.numbering import ATTACHED, PARTS, Numbering, as_letter, compact, numbering
from indexers.outline.toc import ContentsPages, TocEntry, TocRow, entries, find_contents, label_value
from indexers.outline.view import DocumentView

_LEAST_LOCATED = 0.4  # minimum share of entries that are found; otherwise it is not the contents of this document
_NEIGHBOURS = 4  # entries on each side that vote on an entry's offset


@dataclass(frozen=True, slots=True)
class PrintedToc:
    """The headings of a printed table of contents. ``pages`` contain only contents or lists of figures."""

    headings: tuple[Heading, ...]
    pages: frozenset[int]
    located: float  # share of entries whose title was found
    finer: tuple[Heading, ...] = ()  # from contents of chapters, with levels relative to the chapter
    names: frozenset[str] = frozenset()  # rows that are not entries (authors), letters and digits only


def from_printed_toc(doc: DocumentView, search: int) -> PrintedToc:
    """Return the best printed table of contents in the first ``search`` pages.

    Each entry gets the number of the page in the file.
    """
    contents_pages = find_contents(doc, search)
    if not contents_pages:
        return PrintedToc((), frozenset(), 0.0)
    skip = frozenset[int]().union(*(contents.full for contents in contents_pages))
    index = LinePrefixIndex(doc, skip)
    labels = {page.page.label: page.page.number for page in reversed(doc.pages) if page.page.label}
    if all(label == str(number) for label, number in labels.items()):
        labels = {}  # default labels of the PDF writer say nothing about printed page numbers
    tocs: list[PrintedToc] = []
    pages: set[int] = set()
    for contents in contents_pages:
        toc = _locate_entries(contents, doc, index, labels, skip)
        if toc.located >= _LEAST_LOCATED:
            tocs.append(toc)
        if toc.located >= _LEAST_LOCATED or contents.labelled or not contents.rows:
            pages |= contents.full
    best = max(tocs, key=lambda toc: (len(toc.headings) ** 0.5) * toc.located * _span(toc), default=None)
    if best is None:
        return PrintedToc((), frozenset(pages), 0.0)
    taken = {(h.page, h.unit) for h in best.headings}
    finer = [h for toc in tocs if toc is not best and _span(toc) < 0.5 * _span(best) for h in toc.headings]
    return replace(
        best,
        pages=frozenset(pages),
        finer=tuple(h for h in finer if h.unit >= 0 and (h.page, h.unit) not in taken),
        names=frozenset[str]().union(*(toc.names for toc in tocs)),
    )


def _span(toc: PrintedToc) -> int:
    return toc.headings[-1].page - toc.headings[0].page + 1 if toc.headings else 0


def _locate_entries(
    contents: ContentsPages, doc: DocumentView, index: LinePrefixIndex, labels: dict[str, int], skip: frozenset[int]
) -> PrintedToc:
    rows = _add_unlettered_titles(entries(contents.rows, labelled=contents.labelled))
    places = [next((places_of for title in row.titles if (places_of := index.places(title))), []) for row in rows]
    if not contents.labelled:
        return _locate_unlabelled(rows, places, skip)
    offsets = _offsets(rows, places, labels)
    headings: list[Heading] = []
    depth = _depths(rows)
    tried = hits = 0
    for i, row in enumerate(rows):
        if not row.label:
            continue
        tried += 1
        offset = offsets[i]
        expected = label_value(row.label) + offset if offset is not None else labels.get(row.label, 0)
        inside = 1 <= expected <= len(doc.pages)
        title, place = row.titles[0], None
        for min_score in (0.9, 0.0) if inside else ():
            tries = [(t, find_title(t, doc, expected, slack=2, min_score=min_score, skip=skip)) for t in row.titles]
            hit = max(((t, at) for t, at in tries if at), key=lambda pair: _size(doc, pair[1]), default=None)
            if hit is not None:  # an author's name is also found, but in a smaller size
                title, place = hit
                break
        if place is None and len(places[i]) == 1 and offset is None:
            place = places[i][0]
        if place is not None:
            hits += 1
            title = row.titles[0] if _without_letter(row) == title else title
            headings.append(Heading(title, *place, depth[i], "printed_toc"))
        elif inside and expected not in skip:
            headings.append(Heading(row.titles[0], expected, -1, depth[i], "printed_toc"))
    parts, names = _unlabelled(rows, places, headings, depth, doc)
    headings += parts
    headings.sort(key=lambda h: (h.page, h.unit))
    return PrintedToc(tuple(headings), skip, hits / tried if tried else 0.0, (), names)


def _add_unlettered_titles(rows: list[TocEntry]) -> list[TocEntry]:
    """Add to the entries of appendices, "A Proofs", "B Data", their titles without the letter.

    At least two letters must follow each other. The body of the document may say "Appendix A" instead.
    """
    letters = [(at, row.titles[0][0]) for at, row in enumerate(rows) if _without_letter(row)]
    consecutive = {
        at for first, second in pairwise(letters) if ord(second[1]) == ord(first[1]) + 1 for at in (first[0], second[0])
    }
    return [
        replace(row, titles=(*row.titles, _without_letter(row))) if at in consecutive else row
        for at, row in enumerate(rows)
    ]


def _without_letter(row: TocEntry) -> str:
    """Return the title of an entry such as "A Proofs" without its letter, "" for other entries."""
    letter, _, rest = row.titles[0].partition(" ")
    return rest.strip() if len(letter) == 1 and letter.isascii() and letter.isupper() and len(rest.strip()) > 2 else ""


def _size(doc: DocumentView, place: tuple[int, int]) -> int:
    return round(doc[place[0]].units[place[1]].size)


def _offsets(rows: list[TocEntry], places: list[list[tuple[int, int]]], labels: dict[str, int]) -> list[int | None]:
    """Return for each entry the difference of the page in the file and the printed page label; None if unknown.

    Titles found in the body vote for their difference. The votes of the nearest entries with the same kind of label
    (Roman, Arabic) decide, so that front matter and restarted labels have their own.
    """
    votes: list[Counter[int]] = []
    for row, places_of in zip(rows, places, strict=True):
        vote: Counter[int] = Counter()
        if value := label_value(row.label):
            for page, _ in places_of:
                vote[page - value] += 12 // len(places_of) + 1
            if row.label in labels:
                vote[labels[row.label] - value] += 4
        votes.append(vote)
    whole: dict[bool, Counter[int]] = {True: Counter(), False: Counter()}
    for row, vote in zip(rows, votes, strict=True):
        whole[row.label.isdigit()].update(vote)
    out: list[int | None] = []
    for i, row in enumerate(rows):
        kind = row.label.isdigit()
        near = Counter({offset: count * 0.1 for offset, count in whole[kind].most_common(3)})
        for j in range(max(0, i - _NEIGHBOURS), min(len(rows), i + _NEIGHBOURS + 1)):
            if rows[j].label and rows[j].label.isdigit() == kind:
                for offset, count in votes[j].items():
                    near[offset] += count
        out.append(
            max(near, key=lambda offset: (near[offset], -abs(offset))) if near and label_value(row.label) else None
        )
    return out


def _locate_unlabelled(rows: list[TocEntry], places: list[list[tuple[int, int]]], skip: frozenset[int]) -> PrintedToc:
    """Locate entries of contents without page numbers: each title at its first occurrence after the previous title."""
    headings = []
    last = (0, 0)
    depth = _depths(rows)
    for i, places_of in enumerate(places):
        if after := [place for place in places_of if place > last]:
            last = after[0]
            headings.append(Heading(rows[i].titles[0], *last, depth[i], "printed_toc"))
    share = len(headings) / len(rows) if rows else 0.0
    if len(headings) < 3 or share < 0.6:
        return PrintedToc((), skip, 0.0)
    return PrintedToc(tuple(headings), skip, share)


def _stands(rows: list[TocEntry]) -> list[bool]:
    """Return for each entry of printed contents whether it is a heading, and not the name of an author.

    Headings have a page label, or are titles of parts.
    """
    labelled = [entry.row for entry in rows if entry.label]
    if not labelled:
        return [True] * len(rows)
    size = median(row.size for row in labelled)
    bold = sum(row.bold for row in labelled) > 0.5 * len(labelled)
    upper = sum(row.title.isupper() for row in labelled) > 0.5 * len(labelled)
    out = []
    for entry in rows:
        row = entry.row
        set_off = (
            row.size > size + 0.4
            or (row.bold and not bold)
            or (row.title.isupper() and not upper and row.size > size - 0.6)
        )
        out.append(bool(entry.label or numbering(row.title) or set_off))
    return out


def _unlabelled(
    rows: list[TocEntry],
    places: list[list[tuple[int, int]]],
    placed: list[Heading],
    depth: list[int],
    doc: DocumentView,
) -> tuple[list[Heading], frozenset[str]]:
    """Return the entries without a page label: headings of parts, and the other texts, such as names of authors.

    The title of a part is searched for in the body before the next entry.
    """
    parts: list[Heading] = []
    names: set[str] = set()
    by_title = {compact(h.title): h.page for h in placed}
    taken = {(h.page, h.unit) for h in placed}
    at = [next((by_title[k] for title in row.titles if (k := compact(title)) in by_title), 0) for row in rows]
    for i, (entry, stands) in enumerate(zip(rows, _stands(rows), strict=True)):
        if entry.label:
            continue
        if not stands:
            names.update(map(compact, entry.titles))
            continue
        before = next((at[j] for j in range(i - 1, -1, -1) if at[j]), 1)
        after = next((at[j] for j in range(i + 1, len(rows)) if at[j]), 0)
        for page, unit in places[i]:
            if (page, unit) in taken:
                break
            if max(before, after - 4, entry.row.page + 1) <= page <= (after or len(doc.pages)):
                title = next(
                    (t for t in entry.titles if find_title(t, doc, page, slack=0, min_score=0.9)), entry.titles[-1]
                )
                parts.append(Heading(title, page, unit, depth[i], "printed_toc"))
                break
    return parts, frozenset(names)


def _depths(entries: list[TocEntry]) -> list[int]:
    """Return the level of each entry by numbering, indentation and font; 1 for entries that are not headings."""
    shift = _shifts([entry.row for entry in entries])
    stack: list[tuple[TocRow, Numbering | None]] = []
    out = []
    for entry, stands in zip(entries, _stands(entries), strict=True):
        if not stands:
            out.append(1)
            continue
        title = entry.titles[0]
        number = numbering(title)
        letter = as_letter(title)
        if letter and any(n and n.kind == letter.kind and n.value[0] == letter.value[0] - 1 for _, n in stack):
            number = letter
        row = replace(entry.row, x0=entry.row.x0 - shift[entry.row.page], label=entry.label)
        follows = [at for at, (_, n) in enumerate(stack) if number and n and _next(n, number)]
        if follows:
            del stack[follows[-1] :]
        while stack and not follows and not _is_below(row, number, *stack[-1]):
            stack.pop()
        stack.append((row, number))
        out.append(len(stack))
    return out


def _shifts(rows: list[TocRow]) -> dict[int, float]:
    """Return ``{page: shift}``: how far the rows of each contents page are shifted to the right, in points.

    It is measured at the right-aligned page numbers.
    """
    right: dict[int, float] = {}
    for row in rows:
        if row.label:
            right[row.page] = max(right.get(row.page, 0.0), row.x1)
    typical = median(right.values()) if right else 0.0
    return {row.page: right[row.page] - typical if row.page in right else 0.0 for row in rows}


def _next(before: Numbering, number: Numbering) -> bool:
    """Return whether ``number`` is the next number after ``before`` in the same scheme."""
    same = before.kind == number.kind and len(before.value) == len(number.value)
    return same and before.value[:-1] == number.value[:-1] and number.value[-1] == before.value[-1] + 1


_CHAPTER = frozenset(["chapter", "item", "article"])


def _is_below(row: TocRow, number: Numbering | None, top: TocRow, top_number: Numbering | None) -> bool:
    """Return whether an entry of contents is below the last open entry ``top``."""
    if number and number.kind in PARTS and not row.label:
        return False
    if not top.label and top_number and top_number.kind in PARTS:
        return True
    if row.label and not top.label:
        return not (number and top_number and number.kind == top_number.kind)
    if number and top_number:
        if number.kind == top_number.kind:
            return False
        if ("decimal" in number.kind or "decimal" in top_number.kind) and len(number.value) != len(top_number.value):
            return len(number.value) > len(top_number.value)
        if number.kind in ATTACHED and top_number.kind.startswith(("integer", "chapter")):
            return False
        if top_number.kind in PARTS and row.x0 >= top.x0 - 4:
            return True
        if number.kind in PARTS and row.x0 <= top.x0 + 4:
            return False
        if top_number.kind in _CHAPTER:
            return not number.kind.startswith("integer") or row.x0 > top.x0 + 4
        if number.kind in _CHAPTER:
            return False
    if not row.label and not top.label and abs(row.size - top.size) > 0.6:
        return row.size < top.size
    if abs(row.x0 - top.x0) > 4:
        return row.x0 > top.x0
    if number and top_number:
        return number.value == (1,)
    if abs(row.size - top.size) > 0.6:
        return row.size < top.size
    return top.bold and not row.bold
