"""Stored pages as headings are looked for in them, and what a model is shown of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from hybrid_core.llm.token_estimate import cut, estimate, shares
from hybrid_core.types.documents import Line, Page, ParsedPage
from indexers.outline.view import DocumentView, PageView, Unit, view

_SIZE = 10.0  # of all type, in points; boxes are as high as their letters and tell little
_STEP = 20.0  # points from line to line where a format has no places on pages
_LINE, _PASSAGE = 160, 110  # characters shown of a line of a page, and of one in a passage
_BEFORE, _AFTER = 2, 5  # lines around a heading that is checked
_CELL = "  "
_GROUP_STEP = 4


def seen(pages: Sequence[Page]) -> DocumentView:
    """The pages' lines with the places that are stored. Type is not: all of it counts as of one face and size."""
    return view([_parsed(page) for page in pages])


def _parsed(page: Page) -> ParsedPage:
    texts = page.visible.split("\n") if page.text else []
    if len(page.boxes) == len(texts):
        placed = [(*map(float, box),) for box in page.boxes]
        height = page.height
    else:  # in the middle of a page, where no line is taken for a running head
        height = _STEP * len(texts) / 0.6
        placed = [(72.0, 0.2 * height + _STEP * at, 500.0, 0.2 * height + _STEP * at + 12) for at in range(len(texts))]
    lines = [
        Line(text, x0, y0, x1, y1, _SIZE, False, False, str(y1 - y0))  # letters' height tells running heads apart
        for text, (x0, y0, x1, y1) in zip(texts, placed, strict=True)
    ]
    return ParsedPage(page.number, page.label, page.width, height, tuple(lines), 0, page.needs_ocr, page.ocr)


@dataclass(frozen=True, slots=True)
class Group:
    """Pages shown together, numbered from 1 within the group, so that pages before them may come and go."""

    numbers: tuple[int, ...]
    text: str

    def page(self, shown: int) -> int:
        """The document's page of a number in the text, 0 where the text shows no such page."""
        return self.numbers[shown - 1] if 1 <= shown <= len(self.numbers) else 0


def groups(
    doc: DocumentView, numbers: Sequence[int], tokens: int, overlap: int = 0, head: Callable[[int], str] = lambda n: ""
) -> list[Group]:
    """Runs of the given pages of at most ``tokens``, each beginning with the last ``overlap`` pages of the one before.

    How many pages make a group depends on the whole only roughly, so that a small change leaves the other groups as
    they were. ``head`` says what stands beside a page's number.
    """
    if not numbers:
        return []
    texts = {number: abridged(doc[number]) for number in numbers}
    mean = max(1, sum(map(estimate, texts.values())) // len(numbers))
    size = max(_GROUP_STEP, tokens // mean // _GROUP_STEP * _GROUP_STEP)
    made = []
    for start in range(0, max(1, len(numbers) - overlap), size - overlap):
        inside = tuple(numbers[start : start + size])
        given = shares([estimate(texts[number]) for number in inside], tokens)
        parts = [
            f"[page {at}]{head(number)}\n{cut(texts[number], room)}"
            for at, (number, room) in enumerate(zip(inside, given, strict=True), 1)
        ]
        made.append(Group(inside, "\n".join(parts)))
    return made


def abridged(page: PageView) -> str:
    """The lines of a page that may be headings or begin a paragraph; "…" for what is left out."""
    if not page.units:
        return ""
    widest = sorted(unit.x1 - unit.x0 for unit in page.units)[-1 - len(page.units) // 10]
    shown: list[str] = []
    before: Unit | None = None
    for unit in page.units:
        goes_on = before is not None and _full(before, widest) and unit.y0 - before.y0 < 2 * (before.y1 - before.y0 + 2)
        follows = goes_on and (_full(unit, widest) or not unit.text[:1].isupper())
        if follows or _figures(unit.text):
            if shown and not shown[-1].endswith("…"):
                shown[-1] += " …"
        else:
            shown.append(unit.text[:_LINE])
        before = unit
    return "\n".join(shown)


def _full(unit: Unit, widest: float) -> bool:
    return unit.x1 - unit.x0 > 0.8 * widest and len(unit.text) > 40


def _figures(text: str) -> bool:
    """A row of a table, or a line without words."""
    return sum(map(str.isalpha, text)) < 0.5 * len(re.sub(r"\s+", "", text)) or (
        _CELL in text and any(map(str.isdigit, text.rsplit(_CELL, 1)[-1]))
    )


def passage(page: PageView, unit: int) -> str:
    """A few lines around one."""
    lines = [one.text[:_PASSAGE] for one in page.units[max(0, unit - _BEFORE) : unit + _AFTER + 1]]
    return "\n".join(lines)
