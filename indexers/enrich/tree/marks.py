"""The headings of a tree with their positions, and the stored pages as a model sees them.

A heading that a model names is used only if it is on the page that the model states.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from hybrid_core.llm.budget import cut, estimate, shares
from hybrid_core.types.documents import HeadingSource, Line, Page, ParsedPage, Section
from hybrid_core.types.notes import Note
from indexers.outline.heading import find_on_page
from indexers.outline.numbering import bare, compact
from indexers.outline.tree import HeadingMark
from indexers.outline.view import DocumentView, PageView, Unit, view

SURE: frozenset[HeadingSource] = frozenset({"bookmark", "printed_toc", "markup", "clause", "model"})
_LEAST = 0.55  # minimum similarity of a title named by a model and a line
_DEEPEST = 6


@dataclass(slots=True)
class Counts:
    """Counts of headings that a model named: how many there are, and what was done with them."""

    named: int = 0
    elsewhere: int = 0  # on a page that was not shown
    missing: int = 0  # not found at the named place
    unplaced: int = 0  # entries of printed contents without a place, on the path tried last
    dropped: int = 0  # headings of the old tree that were removed as wrong
    moved: int = 0

    def notes(self) -> list[Note]:
        lost = self.elsewhere + self.missing
        lines = []
        if lost:
            lines.append(Note("tree.headings-unknown", lost=lost, named=self.named))
        if self.unplaced:
            lines.append(Note("tree.entries-unplaced", entries=self.unplaced))
        if self.dropped or self.moved:
            lines.append(Note("tree.headings-changed", dropped=self.dropped, moved=self.moved))
        return lines


def marks_of(sections: Sequence[Section]) -> list[HeadingMark]:
    """Return a tree's headings. Sections without a heading of their own (page groups) add no level."""
    depth: dict[str | None, int] = {None: 0}
    marks = []
    for section in sections:
        depth[section.node_id] = depth[section.parent_id] + (not section.synthetic)
        if not section.synthetic:
            place = (section.start_page, section.anchor, section.anchor_y)
            marks.append(HeadingMark(section.title, depth[section.node_id], *place, section.source))
    return marks


def mark_at(doc: DocumentView, title: str, level: int, page: int, unit: int) -> HeadingMark:
    """Return the heading at a line (``unit``) that a model named. ``unit`` -1 is the top of a page without text."""
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


def find(doc: DocumentView, title: str, page: int, min_score: float = _LEAST) -> int | None:
    """Return the line of a page that contains a title, or None if no line matches well enough."""
    return find_on_page(compact(title), bare(title), doc[page], None, min_score)


def unit_of(page: PageView, mark: HeadingMark) -> int | None:
    """Return the line of a heading's title near its stored position, or None if the title is not there."""
    position = find_on_page(compact(mark.title), bare(mark.title), page, mark.y or None, 0.0)
    if position is not None:
        return position
    # the order of the title's words may differ, or the title may combine two lines
    words = compact(mark.title)
    at = next((i for i, unit in enumerate(page.units) if page.offset(i) >= mark.anchor and unit.text), None)
    if at is None:
        return None
    near = "".join(page.compact[at : at + 6])
    return at if len(words) > 3 and words in near else None


def in_order(places: Sequence[tuple[int, int] | None]) -> list[tuple[int, int] | None]:
    """Keep the longest run of positions in ascending order, and replace the other positions by None."""
    placed = [i for i, place in enumerate(places) if place is not None]
    best: dict[int, tuple[int, int]] = {}  # length of the longest run that ends here, and the index before it
    for at, i in enumerate(placed):
        best[i] = (1, -1)
        for j in placed[max(0, at - 400) : at]:
            before, current = places[j], places[i]
            if before is not None and current is not None and before <= current and best[j][0] + 1 > best[i][0]:
                best[i] = (best[j][0] + 1, j)
    chain = set()
    i = max(best, key=lambda i: best[i][0], default=-1)
    while i >= 0:
        chain.add(i)
        i = best[i][1]
    return [place if i in chain else None for i, place in enumerate(places)]


def in_places(marks: Sequence[HeadingMark]) -> list[HeadingMark]:
    """Sort headings in reading order. Headings at the same position keep their order."""
    return sorted(marks, key=lambda mark: (mark.page, mark.anchor))


def graft(frame: Sequence[HeadingMark], finer: Sequence[HeadingMark]) -> list[HeadingMark]:
    """Return the new headings (``frame``) with the old headings (``finer``) nested below them.

    Old headings that repeat a new one are left out.
    """
    places = {(mark.page, mark.anchor) for mark in frame}
    titles = {(mark.page + d, bare(mark.title)) for mark in frame for d in (-1, 0, 1)}
    joined = list(frame)
    joined += [
        mark for mark in finer if (mark.page, mark.anchor) not in places and (mark.page, bare(mark.title)) not in titles
    ]
    new = set(map(id, frame))
    marks_out: list[HeadingMark] = []
    holder, top = 0, 0  # level of the current frame section, and the highest level of old headings in it
    for mark in in_places(joined):
        if id(mark) in new:
            holder, top = mark.level, 0
        else:
            top = min(top or mark.level, mark.level)
            mark = replace(mark, level=holder + 1 + mark.level - top)
        marks_out.append(mark)
    return marks_out


_SIZE = 10.0  # points, for all text: heights of boxes say little about font sizes
_STEP = 20.0  # distance of lines in points for formats without positions on pages
_LINE, _PASSAGE = 160, 110  # maximum characters of a line of a page, and of a line of a passage
_BEFORE, _AFTER = 2, 5  # lines around a heading that is checked
_CELL = "  "
_GROUP_STEP = 4


def seen(pages: Sequence[Page]) -> DocumentView:
    """Return the pages' lines with their stored positions.

    Fonts are not stored, so all lines have the same font and size.
    """
    return view([_parsed(page) for page in pages])


def _parsed(page: Page) -> ParsedPage:
    texts = page.visible.split("\n") if page.text else []
    if len(page.boxes) == len(texts):
        placed = [(*map(float, box),) for box in page.boxes]
        height = page.height
    else:  # in the middle of a page, so that no line is taken for a running head
        height = _STEP * len(texts) / 0.6
        placed = [(72.0, 0.2 * height + _STEP * at, 500.0, 0.2 * height + _STEP * at + 12) for at in range(len(texts))]
    lines = [
        # running heads are distinguished by the height of letters
        Line(text, x0, y0, x1, y1, _SIZE, False, False, str(y1 - y0))
        for text, (x0, y0, x1, y1) in zip(texts, placed, strict=True)
    ]
    return ParsedPage(page.number, page.label, page.width, height, tuple(lines), 0, page.needs_ocr, page.ocr)


@dataclass(frozen=True, slots=True)
class Group:
    """Pages that a model is shown together, numbered from 1 within the group.

    The numbers, and so the cached reply, do not change if pages are inserted or removed before the group.
    """

    numbers: tuple[int, ...]
    text: str

    def page(self, shown: int) -> int:
        """Return the document's page for a page number that a model used for this group, 0 if the number is invalid."""
        return self.numbers[shown - 1] if 1 <= shown <= len(self.numbers) else 0


def groups(
    doc: DocumentView, numbers: Sequence[int], tokens: int, overlap: int = 0, head: Callable[[int], str] = lambda n: ""
) -> list[Group]:
    """Return groups of the given pages with at most ``tokens`` each, overlapping by ``overlap`` pages.

    Group boundaries change little if a page changes, so that cached replies stay valid. ``head`` returns the text
    beside a page's number.
    """
    if not numbers:
        return []
    texts = {number: abridged(doc[number]) for number in numbers}
    mean = max(1, sum(map(estimate, texts.values())) // len(numbers))
    size = max(_GROUP_STEP, tokens // mean // _GROUP_STEP * _GROUP_STEP)
    group_list = []
    for start in range(0, max(1, len(numbers) - overlap), size - overlap):
        inside = tuple(numbers[start : start + size])
        budgets = shares([estimate(texts[number]) for number in inside], tokens)
        parts = [
            f"[page {at}]{head(number)}\n{cut(texts[number], room)}"
            for at, (number, room) in enumerate(zip(inside, budgets, strict=True), 1)
        ]
        group_list.append(Group(inside, "\n".join(parts)))
    return group_list


def abridged(page: PageView) -> str:
    """Return a shortened text of a page: the lines that may be headings or begin a paragraph, with "…" for the
    others.
    """
    if not page.units:
        return ""
    widest = sorted(unit.x1 - unit.x0 for unit in page.units)[-1 - len(page.units) // 10]
    shown: list[str] = []
    before: Unit | None = None
    for unit in page.units:
        goes_on = before is not None and _full(before, widest) and unit.y0 - before.y0 < 2 * (before.y1 - before.y0 + 2)
        follows = goes_on and (_full(unit, widest) or not unit.text[:1].isupper())
        if follows or _is_table_row(unit.text):
            if shown and not shown[-1].endswith("…"):
                shown[-1] += " …"
        else:
            shown.append(unit.text[:_LINE])
        before = unit
    return "\n".join(shown)


def _full(unit: Unit, widest: float) -> bool:
    return unit.x1 - unit.x0 > 0.8 * widest and len(unit.text) > 40


def _is_table_row(text: str) -> bool:
    """Return whether a text is a table row, or a line without words."""
    return sum(map(str.isalpha, text)) < 0.5 * len(re.sub(r"\s+", "", text)) or (
        _CELL in text and any(map(str.isdigit, text.rsplit(_CELL, 1)[-1]))
    )


def passage(page: PageView, unit: int) -> str:
    """Return a few lines around one line of a page."""
    lines = [line_unit.text[:_PASSAGE] for line_unit in page.units[max(0, unit - _BEFORE) : unit + _AFTER + 1]]
    return "\n".join(lines)
