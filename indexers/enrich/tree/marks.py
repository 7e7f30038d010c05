"""Headings of a tree in their places: those it has, and those a model names, which count only where they stand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from hybrid_core.types.documents import HeadingSource, Section
from indexers.outline.locate import find_on_page
from indexers.outline.numbering import bare, compact
from indexers.outline.tree import HeadingMark
from indexers.outline.view import DocumentView, PageView

SURE: frozenset[HeadingSource] = frozenset({"bookmark", "printed_toc", "markup", "clause", "model"})
_LEAST = 0.55  # how well a title that a model names must match a line
_DEEPEST = 6


@dataclass(slots=True)
class Counts:
    """What became of the headings that a model named."""

    named: int = 0
    elsewhere: int = 0  # on a page that was not shown
    missing: int = 0  # not to be found where they were said to be
    unplaced: int = 0  # entries of printed contents that stand nowhere, on the path tried last
    dropped: int = 0  # of those that the tree had, found wrong
    moved: int = 0

    def told(self) -> list[str]:
        lost = self.elsewhere + self.missing
        said = []
        if lost:
            said.append(f"tree: {lost} of {self.named} headings that the model named stand on no page it was shown")
        if self.unplaced:
            said.append(f"tree: {self.unplaced} entries of the printed contents were found on no page")
        if self.dropped or self.moved:
            said.append(f"tree: {self.dropped} headings were taken out and {self.moved} moved, as the model found")
        return said


def marks_of(sections: Sequence[Section]) -> list[HeadingMark]:
    """A tree's headings, levels counted without what stands for no heading."""
    depth: dict[str | None, int] = {None: 0}
    marks = []
    for section in sections:
        depth[section.node_id] = depth[section.parent_id] + (not section.synthetic)
        if not section.synthetic:
            place = (section.start_page, section.anchor, section.anchor_y)
            marks.append(HeadingMark(section.title, depth[section.node_id], *place, section.source))
    return marks


def mark_at(doc: DocumentView, title: str, level: int, page: int, unit: int) -> HeadingMark:
    """A heading that a model named, at a line; ``unit`` -1 is the top of a page that has no text."""
    shown = doc[page]
    y = shown.units[unit].y0 if unit >= 0 else 0.0
    anchor = shown.offset(unit) if unit >= 0 else 0
    return HeadingMark(
        " ".join(title.split()).removesuffix("…").strip(),
        max(1, min(_DEEPEST, level)),
        page,
        anchor,
        max(0.0, y),
        "model",
    )


def find(doc: DocumentView, title: str, page: int, least: float = _LEAST) -> int | None:
    """The line of a page on which a title stands; None where it does not."""
    return find_on_page(compact(title), bare(title), doc[page], None, least)


def unit_of(page: PageView, mark: HeadingMark) -> int | None:
    """The line of a mark's title near its anchor; None where it is not there."""
    found = find_on_page(compact(mark.title), bare(mark.title), page, mark.y or None, 0.0)
    if found is not None:
        return found
    # a title may stand above or below others of its words, or be put together from two lines
    words = compact(mark.title)
    at = next((i for i, unit in enumerate(page.units) if page.offset(i) >= mark.anchor and unit.text), None)
    if at is None:
        return None
    near = "".join(page.compact[at : at + 6])
    return at if len(words) > 3 and words in near else None


def in_order(places: Sequence[tuple[int, int] | None]) -> list[tuple[int, int] | None]:
    """The places that make the longest run without going back; None for the others."""
    known = [i for i, place in enumerate(places) if place is not None]
    best: dict[int, tuple[int, int]] = {}  # length of the longest run that ends here, and what comes before
    for at, i in enumerate(known):
        best[i] = (1, -1)
        for j in known[max(0, at - 400) : at]:
            before, here = places[j], places[i]
            if before is not None and here is not None and before <= here and best[j][0] + 1 > best[i][0]:
                best[i] = (best[j][0] + 1, j)
    kept = set()
    i = max(best, key=lambda i: best[i][0], default=-1)
    while i >= 0:
        kept.add(i)
        i = best[i][1]
    return [place if i in kept else None for i, place in enumerate(places)]


def in_places(marks: Sequence[HeadingMark]) -> list[HeadingMark]:
    """In reading order; those at one place in the order that they have."""
    return sorted(marks, key=lambda mark: (mark.page, mark.anchor))


def graft(frame: Sequence[HeadingMark], finer: Sequence[HeadingMark]) -> list[HeadingMark]:
    """A new frame with what the tree had inside its sections, one level or more below them."""
    places = {(mark.page, mark.anchor) for mark in frame}
    titles = {(mark.page + d, bare(mark.title)) for mark in frame for d in (-1, 0, 1)}
    joined = list(frame)
    joined += [
        mark for mark in finer if (mark.page, mark.anchor) not in places and (mark.page, bare(mark.title)) not in titles
    ]
    new = set(map(id, frame))
    made: list[HeadingMark] = []
    holder, top = 0, 0  # level of the section of the frame, and the highest of the old ones in it
    for mark in in_places(joined):
        if id(mark) in new:
            holder, top = mark.level, 0
        else:
            top = min(top or mark.level, mark.level)
            mark = replace(mark, level=holder + 1 + mark.level - top)
        made.append(mark)
    return made
