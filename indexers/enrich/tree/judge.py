"""How far the tree that rules made can be trusted, before any model is asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from hybrid_core.types.documents import Page, Section
from indexers.enrich.tree.marks import SURE, marks_of, unit_of
from indexers.outline.toc_pages import find_contents
from indexers.outline.tree import HeadingMark
from indexers.outline.view import DocumentView

Action = Literal["leave", "keep", "check", "contents", "rebuild"]

_SMALL_PAGES, _SMALL_CHARACTERS = 3, 4000  # documents below both need no finer tree
_PAGES_PER_SECTION = 15  # with more pages than that to a section there are too few of them
_SMALLEST_FRAME = 3
_PRINTED = 5  # rows with page labels that make printed contents worth reading
_LOOK_ALONE = 0.25  # share of the headings: with more a sample is checked
_LOCATED, _UNLOCATED = 0.9, 0.5  # shares of the frame's titles that stand where they should


@dataclass(frozen=True, slots=True)
class TreeAssessment:
    """``action``: ask nothing at all; leave the headings as they are; have a sample of them checked; read the printed
    contents, of which the tree knows nothing; look for headings anew. ``reason`` is why, in words.
    """

    action: Action
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Stretch:
    """Pages over the limits without headings in them. ``title`` and ``level`` are of the section that holds them, ""
    and 0 before the first one.
    """

    title: str
    level: int
    first: int
    last: int


def judge(doc: DocumentView, pages: Sequence[Page], sections: Sequence[Section], search: int) -> TreeAssessment:
    """``search``: pages at the front in which contents may be printed."""
    marks = marks_of(sections)
    small = len(pages) <= _SMALL_PAGES and sum(len(page.text) for page in pages) <= _SMALL_CHARACTERS
    if small:
        return TreeAssessment("leave")
    if any(mark.source in ("markup", "clause") for mark in marks):
        return TreeAssessment("keep")
    frame = [mark for mark in marks if mark.source in SURE]
    share = located(doc, frame)
    if len(pages) > _PAGES_PER_SECTION * len(marks):
        return TreeAssessment("rebuild", f"there are {len(marks)} headings in {len(pages)} pages")
    if len(frame) < _SMALLEST_FRAME:
        labelled = max((sum(bool(row.label) for row in found.rows) for found in find_contents(doc, search)), default=0)
        return TreeAssessment("contents" if labelled >= _PRINTED else "check", "headings are told by their look alone")
    if share < _LOCATED:
        action: Action = "rebuild" if share < _UNLOCATED else "check"
        return TreeAssessment(action, f"{share:.0%} of the outline's titles stand on their pages")
    if len(marks) - len(frame) > _LOOK_ALONE * len(marks):
        return TreeAssessment("check", "many headings are told by their look alone")
    return TreeAssessment("keep")


def located(doc: DocumentView, marks: Sequence[HeadingMark]) -> float:
    """The share of headings whose titles stand on their pages, of those whose pages have text; 1 where none has."""
    tried = [mark for mark in marks if doc[mark.page].units]
    return sum(unit_of(doc[mark.page], mark) is not None for mark in tried) / len(tried) if tried else 1.0


def stretches(sections: Sequence[Section]) -> list[Stretch]:
    """The page groups that were made where text without headings is over the limits, put together per section."""
    named = {section.node_id: section for section in sections}
    found: dict[str | None, tuple[int, int]] = {}
    holders = {section.parent_id for section in sections}
    for section in sections:
        parent = section.parent_id
        group = section.synthetic and section.node_id not in holders and (parent is not None or _grouped(sections))
        if group:
            first = found.get(parent, (section.start_page, 0))[0]
            found[parent] = (first, section.end_page)
    made = []
    for parent, (first, last) in found.items():
        holder = named[parent] if parent is not None else None
        level = _level(holder, named)
        title = holder.title if holder is not None and not holder.synthetic else ""
        made.append(Stretch(title, level, first, last))
    return made


def _grouped(sections: Sequence[Section]) -> bool:
    """Whether a tree is page groups and nothing else."""
    return all(section.synthetic for section in sections)


def _level(section: Section | None, named: dict[str, Section]) -> int:
    """How many headings hold what stands in a section, itself included."""
    level = 0
    while section is not None:
        level += not section.synthetic
        section = named[section.parent_id] if section.parent_id is not None else None
    return level
