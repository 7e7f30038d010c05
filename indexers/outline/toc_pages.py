"""Which pages carry a printed table of contents, and their rows."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from itertools import pairwise

from hybrid_core.types import Line
from indexers.outline.numbering import PARTS, Numbering, compact, numbering, roman
from indexers.outline.view import DocumentView, PageView

HEADS = frozenset(
    [
        "contents",
        "tableofcontents",
        "tableofcontent",
        "contentsoverview",
        "contentoverview",
        "overviewofcontents",
        "briefcontents",
        "detailedcontents",
        "summaryofcontents",
        "index",
        "tableofcontentspage",
        "outline",
        "agenda",
        "inhalt",
        "inhaltsverzeichnis",
        "inhaltsübersicht",
        "inhaltsubersicht",
        "tabledesmatières",
        "tabledesmatieres",
        "sommaire",
        "índice",
        "indice",
        "contenido",
        "sumario",
        "sommario",
        "inhoud",
        "содержание",
        "оглавление",
        "目录",
        "目錄",
        "目次",
        "目",
        "المحتويات",
        "الفهرس",
        "תוכןהעניינים",
        "תוכןעניינים",
    ]
)
LISTS = re.compile(
    r"(?:list\s+of\s+|index\s+(?:of|to)\s+)?(?:tables|figures|illustrations|maps|charts|boxes|plates|exhibits|graphs|diagrams)"
    r"(?:\s+and\s+\w+)?$|(?:list|table|index)\s+of\s+\w+|abbildungs\w*|tabellen\w*|插图|图目录|表目录",
    re.IGNORECASE,
)
_LABEL = re.compile(
    r"(?:^|(?<=[\s.·…_|/]))(?:p(?:p|age|g)?\.?\s*)?"
    r"(?P<label>\d{1,4}|[ivxlc]{1,7}|[IVXLC]{1,7}|[A-Z]{1,2}-\d{1,3})(?:\s*[-–]\s*\d{1,4})?$"
)
_OPEN_END = re.compile(r"(?:\b(?:of|in|the|and|to|with|under|for|by|on|or|from|a|an|against|between|vs\.?)|[,–—-])$")
_LEADER_END = re.compile(r"[.·…_]{3,}[\s.·…_]*$")
_LEADERS = " \t.·…_|/"


@dataclass(frozen=True, slots=True)
class Row:
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


@dataclass(frozen=True, slots=True)
class Contents:
    """A printed table of contents: its pages and its rows. ``labelled``: most rows carry page labels."""

    pages: tuple[int, ...]
    rows: tuple[Row, ...]
    labelled: bool


def page_rows(page: PageView) -> list[Row]:
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
    rows: list[Row] = []
    texts: list[str] = []
    for group in groups:
        parts = sorted((lines[i] for i in group), key=lambda line: line.x0)
        text = "  ".join(cell for _, cell in sorted(_cells(parts), key=lambda cell: cell[0]))
        main = max(parts, key=lambda part: len(part.text))
        title, label, firm = _split_label(text)
        rows.append(
            Row(" ".join(title.split()), label, parts[0].x0, max(p.x1 for p in parts), min(p.y0 for p in parts),
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


def opens_contents(title: str) -> bool:
    """Whether a title is the head of printed contents or of a list of figures."""
    return compact(title) in HEADS or LISTS.match(title) is not None


def find_contents(doc: DocumentView, search: int) -> tuple[list[Contents], frozenset[int]]:
    """The printed contents at the front, and all front pages that are contents or lists of figures.

    A page counts only by its own rows, never by its neighbours alone, so that one page wrongly taken
    costs nothing but the headings on it.
    """
    found: list[Contents] = []
    skip: set[int] = set()
    group: list[int] = []
    rows: list[Row] = []
    listing = False
    last = min(len(doc.pages), search)
    number = 0
    while number < min(len(doc.pages), last):
        number += 1
        page = doc[number]
        own = page_rows(page) if page.units else []
        opens = _opens(own)
        continuing = bool(group) and group[-1] >= number - (2 if not page.units else 1)
        if own and _is_contents(own, opens is not None, continuing, len(doc.pages)):
            if group and (not continuing or (opens is not None and rows)):
                found += _finish(group, rows)
                group, rows = [], []
                listing = False
            group.append(number)
            if opens is not None or continuing or sum(bool(row.label) for row in own) >= 0.85 * len(own):
                skip.add(number)
            last = max(last, number + 2)
            for row in own:
                if compact(row.title) in HEADS and not row.label:
                    listing = False
                elif LISTS.match(row.title) and not row.label:
                    listing = True
                elif not listing:
                    rows.append(row)
        elif group and page.units:
            found += _finish(group, rows)
            group, rows, listing = [], [], False
    found += _finish(group, rows)
    return found, frozenset(skip)


def _opens(rows: list[Row]) -> int | None:
    """The row that says "Contents", among the first or (drawn last, or at the foot) any short one."""
    for i, row in enumerate(rows[:8]):
        if compact(row.title) in HEADS and (not row.label or len(rows) > 3):
            return i
    return None


def _is_contents(rows: list[Row], opens: bool, continuing: bool, pages: int) -> bool:
    labelled = [row for row in rows if row.label and row.title and label_value(row.label) <= pages + 200]
    firm = sum(row.firm for row in labelled)
    long = sum(len(row.title) > 140 for row in rows)
    if long > 0.3 * len(rows):
        return False
    values = [label_value(row.label) for row in labelled if row.label.isdigit()]
    rising = sum(a <= b for a, b in pairwise(values))
    ordered = len(values) < 3 or rising >= 0.75 * (len(values) - 1)
    spread = len(values) < 4 or len(set(values)) > 0.4 * len(values)
    words = sum(bool(compact(row.title)) and not compact(row.title).isdigit() for row in labelled)
    if not ordered or words < 0.7 * len(labelled) or not spread:
        return False
    if opens:
        return len(labelled) >= 2 or 3 <= len(rows) <= 60
    if continuing:
        return firm >= 2 and len(labelled) >= 0.25 * len(rows)
    return firm >= 5 and firm >= 0.5 * len(rows)


def _finish(group: list[int], rows: list[Row]) -> list[Contents]:
    if not group or not rows:
        return []
    labelled = sum(bool(row.label) for row in rows)
    return [Contents(tuple(group), tuple(rows), labelled >= 3 and labelled >= 0.2 * len(rows))]


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry: its first row, its label, and how its title may read, best first (which one the body tells)."""

    row: Row
    label: str
    titles: tuple[str, ...]


def entries(contents: Contents) -> list[Entry]:
    """Rows put together into entries: a title may wrap before or after its label, an author may stand between."""
    out: list[Entry] = []
    held: list[Row] = []
    last_integer = 0
    for row in contents.rows:
        if (compact(row.title) in HEADS and not row.label) or not (row.title or row.label):
            continue
        number = numbering(row.title)
        integer = number is not None and number.kind.startswith("integer")
        begins = _begins(row, number, last_integer) and not (held and _OPEN_END.search(held[-1].title))
        if integer and begins and number is not None:
            last_integer = number.value[0]
        if held and (begins or not (_near(held[-1], row) or _goes_on(held[-1], row, number))):
            out += _alone(held)
            held = []
        if not row.label and contents.labelled:
            last = out[-1] if out and not held else None
            if (
                last
                and last.label
                and not begins
                and _near(last.row, row)
                and _set_alike(last.row, row)
                and row.x0 > last.row.x0 - 3
            ):
                out[-1] = Entry(
                    replace(last.row, y1=row.y1), last.label, (f"{last.titles[0]} {row.title}", *last.titles)
                )
            held.append(row)
            continue
        before = len(held)
        while before and _like(held[before - 1], row):
            before -= 1
        wrapped = [*held[before:], row]
        titles = [_join(wrapped)]
        if len(wrapped) > 1 and not _set_alike(wrapped[-2], row):
            titles.append(_join(wrapped[:-1]))
        first = wrapped[0]
        if before:
            others = held[:before]
            opening = numbering(others[0].title)
            if opening and opening.kind in PARTS and len(others[0].title) <= opening.end + 1:
                titles, first = [_join([*others, *wrapped])], others[0]
            else:
                titles = [_join([*others, *wrapped]), *titles, _join(others)]
                out += _alone(others)
        out.append(Entry(replace(first, y1=row.y1), row.label, tuple(titles)))
        held = []
    out += _alone(held)
    return [entry for entry in out if compact(entry.titles[0])]


def _alone(held: list[Row]) -> list[Entry]:
    """Rows without a label as entries of their own, wrapped ones put together."""
    out: list[Entry] = []
    at = 0
    while at < len(held):
        end = at + 1
        while end < len(held) and _set_alike(held[end - 1], held[end]):
            end += 1
        titles = (_join(held[at:end]), held[at].title) if end > at + 1 else (held[at].title,)
        out.append(Entry(held[at], "", titles))
        at = end
    return out


def _join(rows: list[Row]) -> str:
    return " ".join(row.title for row in rows).strip()


def _near(above: Row, row: Row) -> bool:
    return row.page == above.page and row.y0 - above.y1 < 0.6 * max(above.size, 8)


def _goes_on(above: Row, row: Row, number: Numbering | None) -> bool:
    """Whether a row set at a distance still ends a numbered title that has no label yet."""
    opening = numbering(above.title)
    if number is not None or opening is None or opening.kind in PARTS or opening.end >= len(above.title):
        return False
    return row.page == above.page and row.y0 - above.y1 < 1.5 * max(above.size, 8) and _set_alike(above, row)


def _set_alike(above: Row, row: Row) -> bool:
    return abs(row.size - above.size) < 0.6 and row.font == above.font


def _like(above: Row, row: Row) -> bool:
    """Whether a row may continue the one above it."""
    same = abs(row.size - above.size) < 0.6 and (row.font == above.font or row.x0 > above.x0 + 3)
    return same and row.x0 > above.x0 - 3


def _begins(row: Row, number: Numbering | None, last_integer: int) -> bool:
    """Whether a row's numbering shows that it is no continuation of the row above."""
    if number is None:
        return False
    if number.kind.startswith("integer") and row.title[: number.end].strip().isdigit():
        return number.value[0] in (1, last_integer + 1)
    return True
