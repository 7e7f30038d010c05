"""The rows of a page as contents have them: a title, leaders or a gap, a page label."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from hybrid_core.text.numerals import roman
from hybrid_core.types.documents import Line
from indexers.outline.view import PageView

_LABEL = re.compile(
    r"(?:^|(?<=[\s.·…_|/]))(?:p(?:p|age|g)?\.?\s*)?"
    r"(?P<label>\d{1,4}|[ivxlc]{1,7}|[IVXLC]{1,7}|[A-Z]{1,2}-\d{1,3})(?:\s*[-–]\s*\d{1,4})?$"
)
_LEADER_END = re.compile(r"[.·…_]{3,}[\s.·…_]*$")
_LEADERS = " \t.·…_|/"


@dataclass(frozen=True, slots=True)
class TocRow:
    """One printed row of a contents page: its words, its page label ("" where none), where and how it stands."""

    title: str
    label: str
    x0: float
    x1: float
    y0: float
    y1: float
    size: float
    bold: bool
    italic: bool
    font: str
    firm: bool  # leaders or a wide gap before the label: nothing but a contents row looks so
    page: int


def page_rows(page: PageView) -> list[TocRow]:
    """The page's lines put together row by row, whatever order the file draws them in."""
    lines = sorted(
        (line for i, line in enumerate(page.page.lines) if i not in page.running), key=lambda line: line.y0 + line.y1
    )
    groups: list[list[int]] = []
    bottom = top = -1e9
    for i, line in enumerate(lines):
        middle = (line.y0 + line.y1) / 2
        if groups and top < middle < bottom:
            groups[-1].append(i)
        else:
            groups.append([i])
            top, bottom = line.y0, line.y1
    rows: list[TocRow] = []
    texts: list[str] = []
    for group in groups:
        parts = sorted((lines[i] for i in group), key=lambda line: line.x0)
        text = "  ".join(cell for _, cell in sorted(_cells(parts), key=lambda cell: cell[0]))
        main = max(parts, key=lambda part: len(part.text))
        title, label, firm = _split_label(text)
        rows.append(
            TocRow(" ".join(title.split()), label, parts[0].x0, max(p.x1 for p in parts), min(p.y0 for p in parts),
                max(p.y1 for p in parts), main.size, all(p.bold for p in parts), main.italic, main.font, firm,
                page.page.number)
        )  # fmt: skip
        texts.append(text)
    labelled = [row for row in rows if row.label]
    if sum(row.firm for row in labelled) >= 0.6 * len(labelled):  # then a number without them is part of its title
        right = max((row.x1 for row in labelled), default=0.0) - 4
        for i, row in enumerate(rows):
            if row.label and row.title and not row.firm and row.x1 < right:
                rows[i] = replace(row, title=" ".join(texts[i].split()), label="")
    return rows


def _split_label(text: str) -> tuple[str, str, bool]:
    """A row's title and label, and whether leaders or a wide gap part them; the label "" where there is none."""
    start = max(0, len(text) - 20)
    match = _LABEL.search(text, start)
    if match is None or (match.start() and match.start() == start):
        return _LEADER_END.sub("", text), "", False
    before = text[: match.start()]
    title = before.rstrip(_LEADERS)
    gap = before[len(title) :]
    firm = len(gap) > 1 and bool(title)
    label = match["label"]
    if title and not firm and not label.isdigit():
        return text, "", False
    return title, label, firm


def _cells(parts: list[Line]) -> list[tuple[float, str]]:
    """Every cell with about where it begins: a line may hold a number and a label with another line between them."""
    cells = []
    for line in parts:
        pieces = line.text.split("  ") if len(parts) > 1 else [line.text]
        for i, piece in enumerate(pieces):
            if i == 0:
                left = line.x0
            elif i == len(pieces) - 1:
                left = max(line.x0 + line.size, line.x1 - 0.5 * line.size * len(piece))
            else:
                left = line.x0 + (line.x1 - line.x0) * i / len(pieces)
            cells.append((left, piece))
    return cells


def label_value(label: str) -> int:
    """The number a label stands for; Roman numerals by their value, 0 where it is neither."""
    return int(label) if label.isdigit() else roman(label)
