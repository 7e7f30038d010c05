"""Printed tables of contents: detection of their pages, rows and entries."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from hybrid_core.text.identifiers import roman
from hybrid_core.types.documents import Line
from indexers.outline.numbering import PARTS, Numbering, compact, numbering
from indexers.outline.view import DocumentView, PageView

_LABEL = re.compile(
    r"(?:^|(?<=[\s.·…_|/]))(?:p(?:p|age|g)?\.?\s*)?"
    r"(?P<label>\d{1,4}|[ivxlc]{1,7}|[IVXLC]{1,7}|[A-Z]{1,2}-\d{1,3})(?:\s*[-–]\s*\d{1,4})?$"
)
_LEADER_END = re.compile(r"[.·…_]{3,}[\s.·…_]*$")
_LEADERS = " \t.·…_|/"


@dataclass(frozen=True, slots=True)
class TocRow:
    """A printed row of a table of contents: its words, page label ("" if none), position and style."""

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
    firm: bool  # has leaders or a wide gap before the label, as only rows of contents have
    page: int


def page_rows(page: PageView) -> list[TocRow]:
    """Return the lines of a contents page joined into rows, independent of their order in the file."""
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
    if sum(row.firm for row in labelled) >= 0.6 * len(labelled):  # then a number without leaders is part of its title
        right = max((row.x1 for row in labelled), default=0.0) - 4
        for i, row in enumerate(rows):
            if row.label and row.title and not row.firm and row.x1 < right:
                rows[i] = replace(row, title=" ".join(texts[i].split()), label="")
    return rows


def _split_label(text: str) -> tuple[str, str, bool]:
    """Return (title, page label, separated) of a row of contents. The label is "" if there is none.

    ``separated`` is True if dot leaders or a wide gap are between title and label.
    """
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
    """Return (approximate left edge, text) of the cells in one row.

    ``parts`` are the row's stored lines, each of which may contain several cells.
    """
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
    """Return the value of an Arabic or Roman page label, 0 for any other text."""
    return int(label) if label.isdigit() else roman(label)


_HEADS = (
    "contents tableofcontents tableofcontent contentsoverview contentoverview overviewofcontents briefcontents "
    "detailedcontents summaryofcontents index tableofcontentspage outline agenda "
    "inhalt inhaltsverzeichnis inhaltsübersicht tabledesmatières sommaire "
    "índice contenido sumario sommario inhoud содержание оглавление 目录 目錄 目次 "
    "المحتويات الفهرس תוכןהעניינים תוכןעניינים "
    "tabladecontenidos tabladecontenido índicegeneral índicedecontenidos contenidos conteúdo tabeladeconteúdos "
    "indicegenerale indicedeicontenuti contenuti inhoudsopgave innehåll innehållsförteckning indhold "
    "indholdsfortegnelse innhold innholdsfortegnelse sisällys sisällysluettelo spistreści obsah içindekiler "
    "tartalomjegyzék cuprins περιεχόμενα зміст съдържание mụclục daftarisi 목차 차례 もくじ विषयसूची"
)
HEADS = frozenset(map(compact, _HEADS.split()))
"""The titles of printed contents, as ``compact`` returns them."""
LISTS = re.compile(
    r"(?:list\s+of\s+|index\s+(?:of|to)\s+)?(?:tables|figures|illustrations|maps|charts|boxes|plates|exhibits|graphs|diagrams)"
    r"(?:\s+and\s+\w+)?$|(?:list|table|index)\s+of\s+\w+|abbildungs\w*|tabellen\w*|verzeichnis\s+der\s+\w+"
    r"|(?:liste|table|index)\s+des\s+\w+|(?:elenco|indice|lista)\s+(?:delle|degli|dei)\s+\w+"
    r"|(?:índice|indice|lista|relación|relação)\s+de\s+(?:\w+\s+)?(?:figur|tabl|tabel|cuadr|gráfic|grafic|ilustra|mapa|quadr|siglas|abrevia)\w*"
    r"|lijst\s+van\s+\w+|spis\s+(?:rysunków|tabel|tablic|ilustracji)|seznam\s+(?:použitých\s+)?(?:obrázků|tabulek|zkratek|symbolů)"
    r"|(?:figur|tabell|bild)(?:förteckning|liste|oversikt)\w*|(?:şekil|tablo|çizelge)\w*\s+(?:listesi|dizini)"
    r"|(?:список|перечень|перелік)\s+(?:рисунков|таблиц|иллюстраций|рисунків|сокращений)"
    r"|插图|(?:图片|图表|表格)(?:目录|清单|索引)|[图圖図表]\s*目\s*[录錄次]|(?:그림|표)\s*(?:목차|차례)",
    re.IGNORECASE,
)


_ONLY = 0.7  # minimum share of rows with labels on a page that contains only contents
_LIST_SHARE = 0.6  # minimum share of firm rows on a page of listings, anywhere in the document


@dataclass(slots=True)
class ContentsPages:
    """The rows of a printed table of contents. Its own title and lists of figures are left out.

    ``full`` are its pages that contain nothing else.
    """

    pages: list[int] = field(default_factory=list)
    full: set[int] = field(default_factory=set)
    rows: list[TocRow] = field(default_factory=list)

    @property
    def labelled(self) -> bool:
        """Return whether its entries have page labels."""
        labelled = sum(bool(row.label) for row in self.rows)
        return labelled >= 3 and labelled >= 0.2 * len(self.rows)


def opens_contents(title: str) -> bool:
    """Return whether a title is that of printed contents or of a list of figures."""
    return compact(title) in HEADS or LISTS.match(title) is not None


def find_contents(doc: DocumentView, search: int) -> list[ContentsPages]:
    """Return the tables of contents that begin in the first ``search`` pages.

    Each page is judged only by its own rows, not by its neighbours, so a wrongly detected page only loses its own
    headings.
    """
    contents_pages: list[ContentsPages] = []
    listing = False
    last, number = min(len(doc.pages), search), 0
    while number < min(len(doc.pages), last):
        number += 1
        rows = page_rows(doc[number]) if doc[number].units else []
        opens = any(compact(row.title) in HEADS and (not row.label or len(rows) > 3) for row in rows[:8])
        continuing = bool(contents_pages) and contents_pages[-1].pages[-1] == number - 1
        if not rows or not _is_contents(rows, opens, continuing, len(doc.pages)):
            continue
        if not continuing or (opens and contents_pages[-1].rows):
            contents_pages.append(ContentsPages())
            listing = False
        contents = contents_pages[-1]
        contents.pages.append(number)
        if opens or continuing or sum(bool(row.label) for row in rows) >= _ONLY * len(rows):
            contents.full.add(number)
        last = max(last, number + 2)
        for row in rows:
            if not row.label and opens_contents(row.title):
                listing = compact(row.title) not in HEADS
            elif not listing:
                contents.rows.append(row)
    return contents_pages


def find_listings(doc: DocumentView) -> frozenset[int]:
    """Return the pages that mainly list other pages, such as contents of a part or indexes of statements."""
    pages = set()
    for page in doc.pages:
        if sum(unit.text[-1:].isdigit() for unit in page.units) < max(5, 0.4 * len(page.units)):
            continue  # fast exit for most pages
        rows = page_rows(page)
        firm = sum(row.firm and row.label.isdigit() for row in rows)
        if firm >= _LIST_SHARE * len(rows) and _is_contents(rows, False, False, len(doc.pages)):
            pages.add(page.page.number)
    return frozenset(pages)


def _is_contents(rows: list[TocRow], opens: bool, continuing: bool, pages: int) -> bool:
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


OPEN_END = re.compile(r"(?:\b(?:of|in|the|and|to|with|under|for|by|on|or|from|a|an|against|between|vs\.?)|[,–—-])$")


@dataclass(frozen=True, slots=True)
class TocEntry:
    """An entry of printed contents: its first row, its page label, and its possible titles, best first.

    The right title is the one that the body of the document shows.
    """

    row: TocRow
    label: str
    titles: tuple[str, ...]


def entries(rows: Sequence[TocRow], *, labelled: bool) -> list[TocEntry]:
    """Return the entries of a table of contents, each made of one or several rows.

    A title may wrap before or after its page label, or have an author below. ``labelled`` tells whether the contents
    have page numbers. Without them, only rows of a wrapped title are joined.
    """
    out: list[TocEntry] = []
    pending: list[TocRow] = []
    last_integer = 0
    for row in rows:
        if not (row.title or row.label):
            continue
        number = numbering(row.title)
        integer = number is not None and number.kind.startswith("integer")
        begins = _begins(row, number, last_integer) and not (pending and OPEN_END.search(pending[-1].title))
        if integer and begins and number is not None:
            last_integer = number.value[0]
        if pending and (begins or not (_near(pending[-1], row) or _goes_on(pending[-1], row, number))):
            out += _alone(pending)
            pending = []
        if not row.label and labelled:
            last = out[-1] if out and not pending else None
            if (
                last
                and last.label
                and not begins
                and _near(last.row, row)
                and _set_alike(last.row, row)
                and row.x0 > last.row.x0 - 3
            ):
                out[-1] = TocEntry(
                    replace(last.row, y1=row.y1), last.label, (f"{last.titles[0]} {row.title}", *last.titles)
                )
            pending.append(row)
            continue
        before = len(pending)
        while before and _like(pending[before - 1], row):
            before -= 1
        wrapped = [*pending[before:], row]
        titles = [_join(wrapped)]
        if len(wrapped) > 1 and not _set_alike(wrapped[-2], row):
            titles.append(_join(wrapped[:-1]))
        first = wrapped[0]
        if before:
            others = pending[:before]
            opening = numbering(others[0].title)
            if opening and opening.kind in PARTS and len(others[0].title) <= opening.end + 1:
                titles, first = [_join([*others, *wrapped])], others[0]
            else:
                titles = [_join([*others, *wrapped]), *titles, _join(others)]
                out += _alone(others)
        out.append(TocEntry(replace(first, y1=row.y1), row.label, tuple(titles)))
        pending = []
    out += _alone(pending)
    return [entry for entry in out if compact(entry.titles[0])]


def _alone(rows: list[TocRow]) -> list[TocEntry]:
    """Return rows of contents without page numbers as entries. Rows of one wrapped title are joined."""
    out: list[TocEntry] = []
    at = 0
    while at < len(rows):
        end = at + 1
        while end < len(rows) and _set_alike(rows[end - 1], rows[end]):
            end += 1
        titles = (_join(rows[at:end]), rows[at].title) if end > at + 1 else (rows[at].title,)
        out.append(TocEntry(rows[at], "", titles))
        at = end
    return out


def _join(rows: list[TocRow]) -> str:
    return " ".join(row.title for row in rows).strip()


def _near(above: TocRow, row: TocRow) -> bool:
    return row.page == above.page and row.y0 - above.y1 < 0.6 * max(above.size, 8)


def _goes_on(above: TocRow, row: TocRow, number: Numbering | None) -> bool:
    """Return whether a row at some distance below another one is the end of its numbered title."""
    opening = numbering(above.title)
    if number is not None or opening is None or opening.kind in PARTS or opening.end >= len(above.title):
        return False
    return row.page == above.page and row.y0 - above.y1 < 1.5 * max(above.size, 8) and _set_alike(above, row)


def _set_alike(above: TocRow, row: TocRow) -> bool:
    return abs(row.size - above.size) < 0.6 and row.font == above.font


def _like(above: TocRow, row: TocRow) -> bool:
    """Return whether the style and position of a row allow it to continue the row above."""
    same = abs(row.size - above.size) < 0.6 and (row.font == above.font or row.x0 > above.x0 + 3)
    return same and row.x0 > above.x0 - 3


def _begins(row: TocRow, number: Numbering | None, last_integer: int) -> bool:
    """Return whether the numbering of a row shows that it begins a new entry."""
    if number is None:
        return False
    if number.kind.startswith("integer") and row.title[: number.end].strip().isdigit():
        return number.value[0] in (1, last_integer + 1)
    return True
