"""Headings that a model reads from the pages themselves, group by group, each going on from what is known so far."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import BaseModel

from hybrid_core.llm.session import Session
from indexers.enrich.tree.judge import Stretch
from indexers.enrich.tree.marks import Counts, find, mark_at
from indexers.enrich.tree.shown import Group, groups
from indexers.outline.numbering import compact
from indexers.outline.tree import HeadingMark
from indexers.outline.view import DocumentView

GROUP = 7000  # tokens of pages in one call
_OVERLAP = 1  # pages that two groups share, so that none begins in the dark
_KNOWN = 14  # headings before a group that it is told
_MOST = 8  # headings a page has, on average over a group: with more they are not headings


class FoundHeading(BaseModel):
    page: int
    level: int
    title: str


class FoundHeadings(BaseModel):
    headings: list[FoundHeading]


def read_pages(session: Session, doc: DocumentView, title: str, counts: Counts) -> list[HeadingMark]:
    """The headings of all pages. Raises ChatError."""
    numbers = [page.page.number for page in doc.pages]
    found: list[HeadingMark] = []
    for group in groups(doc, numbers, GROUP, _OVERLAP):
        if session.scope.spent:
            break
        known = "\n".join(f"{mark.level} {mark.title}" for mark in found[-_KNOWN:]) or "none"
        found = _joined(found, _read(session, doc, group, title, known, counts))
    return found


def split(
    session: Session,
    doc: DocumentView,
    title: str,
    large: Sequence[Stretch],
    marks: Sequence[HeadingMark],
    counts: Counts,
) -> list[HeadingMark]:
    """Headings within stretches of pages that have none, as levels below their sections. Raises ChatError."""
    inside = {number: stretch for stretch in large for number in range(stretch.first, stretch.last + 1)}
    taken = {(mark.page, compact(mark.title)) for mark in marks}

    def head(number: int) -> str:
        return f" of section: {inside[number].title}" if inside[number].title else ""

    found: list[HeadingMark] = []
    for group in groups(doc, sorted(inside), GROUP, 0, head):
        if session.scope.spent:
            break
        known = "Each page names the section that it belongs to; level 1 is what stands directly below that section."
        found = _joined(found, _read(session, doc, group, title, known, counts))
    own = {(stretch.first, compact(stretch.title)) for stretch in large}
    return [
        HeadingMark(m.title, inside[m.page].level + m.level, m.page, m.anchor, m.y, m.source)
        for m in found
        if m.page in inside and not {(m.page, compact(m.title))} & (taken | own)
    ]


def _read(
    session: Session, doc: DocumentView, group: Group, title: str, known: str, counts: Counts
) -> list[HeadingMark]:
    values = {"title": title, "known": known, "pages": group.text}
    said = session.ask("headings-read", FoundHeadings, values).headings
    counts.named += len(said)
    most = _MOST * len(group.numbers)
    counts.missing += max(0, len(said) - most)
    made: dict[tuple[int, int], HeadingMark] = {}
    for one in said[:most]:
        page = group.page(one.page)
        if not page:
            counts.elsewhere += 1
            continue
        unit = find(doc, one.title, page)
        if unit is None:
            counts.missing += 1
        else:
            made.setdefault((page, unit), mark_at(doc, one.title, one.level, page, unit))
    return [made[place] for place in sorted(made)]


def _joined(before: Sequence[HeadingMark], found: Sequence[HeadingMark]) -> list[HeadingMark]:
    """Both, what stands on a page that two groups share once."""
    places = {(mark.page, mark.anchor) for mark in before}
    return [*before, *(mark for mark in found if (mark.page, mark.anchor) not in places)]
