"""A document prepared for heading detection: text units, body style, running heads, space and tables."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from hybrid_core.text.identifiers import roman
from hybrid_core.types.documents import Line, ParsedPage
from indexers.outline.numbering import STRONG, bare_number, compact, numbering, split_number

_FRAGMENT = re.compile(
    r"(?:\d{1,2}(?:\.\d{1,2}){0,4}|[IVXLC]{1,6}|[ivxlc]{1,5}|[A-Za-z]|[a-z]{2})[.)]?|\([a-z0-9]{1,3}\)|\d{1,2}"
)
_PAGE_OF_TEXT = 150  # letters from which the font size of a page's text is known
_FIGURES_ON_PAGE = 0.3  # minimum share of lines with numbers on a page that is a financial statement
_SMALLER = 0.9  # share of the body size below which a page's own size counts
_NEARBY = 6  # pages within which a line is repeated as a running head
_DIGITS = re.compile(r"\d+|\b[ivxlc]+\b")


@dataclass(frozen=True, slots=True)
class Unit:
    """A line in reading order. A number that is stored as a separate line is joined to the words beside it.

    ``line`` is the index of the first stored line.
    """

    text: str
    line: int
    x0: float
    y0: float
    x1: float
    y1: float
    size: float
    bold: bool
    italic: bool
    font: str


@dataclass(slots=True)
class PageView:
    page: ParsedPage
    units: tuple[Unit, ...]
    running: frozenset[int]  # indexes of lines that are running heads, feet or page numbers
    body: Line | None = None  # the document's body text, in this page's size if the whole page is set smaller
    _compact: list[str] | None = field(default=None)
    _beginning: dict[str, list[int]] | None = field(default=None)

    @property
    def compact(self) -> list[str]:
        """Return for each line of the page its letters and digits only."""
        if self._compact is None:
            self._compact = [compact(unit.text) for unit in self.units]
        return self._compact

    def beginning(self, letters: str) -> list[int]:
        """Return the indexes of the lines that begin with the first three letters of a title.

        The lines may also have a number before these letters.
        """
        if self._beginning is None:
            self._beginning = {}
            for i, unit in enumerate(self.units):
                number = numbering(unit.text)
                rest = compact(unit.text[number.end : number.end + 12]) if number else ""
                for begin in {self.compact[i][:3], rest[:3]}:
                    self._beginning.setdefault(begin, []).append(i)
        return self._beginning.get(letters[:3], [])

    def offset(self, unit: int) -> int:
        """Return the offset in the page's text at which the section of a heading begins.

        ``unit`` is the index of the heading's line. The offset is usually that of this line. If the file draws text of
        the section before its heading, it is that of the first such line. It is 0 if only running heads come before.
        """
        heading, lines = self.units[unit], self.page.lines
        first = heading.line
        while first > 0:
            before = lines[first - 1]
            below = before.y0 >= heading.y1 - 1 and before.x0 < heading.x1 and before.x1 > heading.x0
            if not (below or first - 1 in self.running):
                break
            first -= 1
        while first < heading.line and first in self.running:
            first += 1
        if all(index in self.running for index in range(first)):
            return 0
        return sum(len(lines[index].text) + 1 for index in range(first))

    def unit_at(self, y: float) -> int:
        """Return the index of the nearest line below a height on the page, -1 if there is none."""
        under = [(unit.y0, index) for index, unit in enumerate(self.units) if unit.y1 > y + 2]
        return min(under)[1] if under and y > 0 else -1


@dataclass(frozen=True, slots=True)
class DocumentView:
    pages: tuple[PageView, ...]
    body: Line | None  # a line in the style of most text
    gap: float  # usual distance between the tops of neighbouring body lines

    def __getitem__(self, number: int) -> PageView:
        """Return a page by its number, from 1."""
        return self.pages[number - 1]


def view(pages: Sequence[ParsedPage]) -> DocumentView:
    body, gap = _body(pages)
    bodies = [_page_body(page, body) for page in pages]
    running = running_lines(pages, body, bodies)
    views = tuple(
        PageView(page, tuple(_units(page.lines, skip | _unseen(page.lines))), skip, own)
        for page, skip, own in zip(pages, running, bodies, strict=True)
    )
    return DocumentView(views, body, gap)


def _unseen(lines: tuple[Line, ...]) -> frozenset[int]:
    """Return the indexes of lines that are not visible on a page: hidden text, readers' comments."""
    return frozenset(i for i, line in enumerate(lines) if line.role in ("hidden", "comment"))


def _units(lines: tuple[Line, ...], skip: frozenset[int]) -> list[Unit]:
    alone = [
        i for i, line in enumerate(lines) if i not in skip and len(line.text) <= 10 and _FRAGMENT.fullmatch(line.text)
    ]
    joined: dict[int, int] = {}
    if alone:
        by_top = sorted((line.y0, i) for i, line in enumerate(lines) if i not in skip)
        tops = [top for top, _ in by_top]
        taken: set[int] = set()
        for i in alone:
            number = lines[i]
            best: tuple[float, int] | None = None
            for at in range(bisect_left(tops, number.y0 - 6), bisect_right(tops, number.y0 + 6)):
                j = by_top[at][1]
                right = lines[j]
                distance = right.x0 - number.x1
                level = min(right.y1, number.y1) - max(right.y0, number.y0) > 0.5 * (number.y1 - number.y0)
                if i != j and level and -1 <= distance < 60 and j not in taken and any(map(str.isalpha, right.text)):
                    best = min(best or (distance, j), (distance, j))
            if best:
                joined[best[1]] = i
                taken.update((i, best[1]))
    numbers = set(joined.values())
    units = []
    for i, line in enumerate(lines):
        if i in skip or i in numbers:
            continue
        text, first, x0 = line.text, i, line.x0
        if (number_at := joined.get(i)) is not None:
            text, x0 = f"{lines[number_at].text} {text}", lines[number_at].x0
            first = number_at if number_at == i - 1 else i
        units.append(Unit(text, first, x0, line.y0, line.x1, line.y1, line.size, line.bold, line.italic, line.font))
    return units


def _body(pages: Sequence[ParsedPage]) -> tuple[Line | None, float]:
    weights: Counter[tuple[float, bool, bool, str]] = Counter()
    examples: dict[tuple[float, bool, bool, str], Line] = {}
    gaps: Counter[float] = Counter()
    for page in pages:
        last: Line | None = None
        for line in page.lines:
            style = (line.size, line.bold, line.italic, line.font)
            weights[style] += len(line.text)
            examples.setdefault(style, line)
            if last is not None and last.size == line.size and 0 < line.y0 - last.y0 < 3 * line.size:
                gaps[round((line.y0 - last.y0) / line.size, 1)] += 1
            last = line
    if not weights:
        return None, 14.0
    best = examples[max(weights, key=lambda style: weights[style])]
    return best, (gaps.most_common(1)[0][0] if gaps else 1.2) * best.size


def _page_body(page: ParsedPage, body: Line | None) -> Line | None:
    """Return a line that has the style of a page's body text.

    This is the document's body text, except on a page with many numbers: if nearly all of its text is smaller, the body
    text has this size.
    """
    if body is None:
        return None
    if sum(bool(_FIGURES.search(line.text)) for line in page.lines) < _FIGURES_ON_PAGE * len(page.lines):
        return body
    letters: Counter[float] = Counter()
    for line in page.lines:
        letters[line.size] += len(line.text)
    if letters.total() < _PAGE_OF_TEXT:
        return body
    usual = letters.most_common(1)[0][0]
    larger = sum(count for size, count in letters.items() if size > _SMALLER * body.size)
    return replace(body, size=usual) if 0 < usual < _SMALLER * body.size and larger < 0.1 * letters.total() else body


def running_lines(
    pages: Sequence[ParsedPage], body: Line | None, bodies: Sequence[Line | None] = ()
) -> list[frozenset[int]]:
    """Return the indexes of the running heads and feet of each page, including page numbers.

    They are near the top or bottom. A line is running if its words, without numbers, are at the same height on a page
    nearby. It is also running if it has the height and style of such lines in the document. In this case it must not be
    larger than ``body`` text, or than the page's own body text in ``bodies``. Larger lines at this position may be
    titles.
    """
    bodies = bodies or [body] * len(pages)
    edges: list[list[tuple[int, Line]]] = []
    seen: defaultdict[tuple[str, int], list[int]] = defaultdict(list)
    labelled: dict[tuple[str, str], int] = {}  # the last page with a chapter's word and number in two lines
    for at, page in enumerate(pages):
        edge = []
        if page.lines:
            height = page.height or 1.0
            ranked = sorted(range(len(page.lines)), key=lambda i: page.lines[i].y0)
            labels: set[int] = set()
            for pair in pairwise(ranked[:4]):
                label = page.lines[pair[0]].text, page.lines[pair[1]].text
                if split_number(*label):
                    if at - labelled.get(label, -_NEARBY - 1) > _NEARBY:
                        labels.update(pair)
                    labelled[label] = at
            for i in {*ranked[:4], *ranked[-4:]}:
                line = page.lines[i]
                if line.y0 < 0.14 * height or line.y1 > 0.86 * height:
                    if i not in labels:
                        edge.append((i, line))
                    for slot in (int(line.y0 // 4), int(line.y0 // 4) + 1):
                        seen[_running_key(line, at, body), slot].append(at)
        edges.append(edge)
    styles: Counter[tuple[int, float, str]] = Counter()
    running: list[set[int]] = []
    for at, edge in enumerate(edges):
        lines_of = set()
        for i, line in edge:
            words = _running_key(line, at, body)
            slot = int(line.y0 // 4)
            near = max(_near(seen[words, slot + d], at - _NEARBY, at + _NEARBY) for d in (0, 1))
            again = any(_near(seen[words, slot + d], at - _NEARBY, at - 1) for d in (0, 1))
            first = _prominent(line, bodies[at]) and not again and bare_number(line.text) is None
            if near == 2 and _prominent(line, bodies[at]):  # the same title on two pages further apart
                near = max(_near(seen[words, slot + d], at - 2, at + 2) for d in (0, 1))
            if near >= (2 if len(line.text) < 80 else 3) and len(pages) > 2 and not first:
                lines_of.add(i)
                styles[int(line.y0 // 4), line.size, line.font] += 1
        running.append(lines_of)
    for at, edge in enumerate(edges):
        for i, line in edge:
            if _prominent(line, bodies[at]):
                continue
            count = max(styles.get((int(line.y0 // 4) + d, line.size, line.font), 0) for d in (-1, 0, 1))
            if count >= max(4, 0.08 * len(pages)):
                running[at].add(i)
    return [frozenset(lines_of) for lines_of in running]


def _prominent(line: Line, body: Line | None) -> bool:
    """Return whether a line is larger or bolder than body text, like a heading."""
    if body is None:
        return False
    return line.size > 1.15 * body.size or (line.bold and not body.bold and line.size >= 0.98 * body.size)


def _running_key(line: Line, at: int, body: Line | None) -> str:
    """Return the part of a running line that stays the same from page to page.

    It is the words or, for a page number, its difference from the page's index. In lines set like headings numbers
    belong to the words: "Note 1" and "Note 2" differ.
    """
    text = line.text
    if len(text) <= 6:
        value = int(text) if text.isdecimal() else roman(text)
        if value:
            return f"#{value - at}"
    number = numbering(text) if _prominent(line, body) else None
    if (body is not None and line.size > 1.15 * body.size) or (number is not None and number.kind in STRONG):
        return text.lower()
    return _DIGITS.sub("", text.lower()).strip(" |-–—.·•/")


def _near(places: list[int], first: int, last: int) -> int:
    """Return how many of the sorted page indexes ``places`` are between ``first`` and ``last``, both included."""
    return bisect_left(places, last + 1) - bisect_left(places, first)


CELL = re.compile(r" {2}")  # separator that the parser writes between cells of a row
_GAP = "  "
_FIGURES = re.compile(r" {2}.*\d")
_SHORT = 28  # maximum characters of a cell; lines in text columns are longer
_FAR = 1e3


def tabular(units: tuple[Unit, ...]) -> list[bool]:
    """Return for each line whether it is a row, cell or label of a table.

    Such a line has numbers in cells, or short text beside it that is not the other column of the page. Lines between
    such lines count too.
    """
    rows = [_GAP in unit.text and bool(_FIGURES.search(unit.text)) for unit in units]
    out = list(rows)
    lefts = Counter(round(unit.x0 / 5) for unit in units if len(unit.text) > 30)
    columns = {left + d for left, count in lefts.items() if count >= 5 for d in (-1, 0, 1)}
    order = sorted(range(len(units)), key=lambda i: units[i].y0 + units[i].y1)
    for at, i in enumerate(order):
        unit = units[i]
        for j in order[at + 1 : at + 5]:
            other = units[j]
            if min(unit.y1, other.y1) - max(unit.y0, other.y0) < 0.5 * min(unit.y1 - unit.y0, other.y1 - other.y0):
                break
            if not (other.x0 > unit.x1 + 2 or unit.x0 > other.x1 + 2):
                continue
            in_columns = round(unit.x0 / 5) in columns and round(other.x0 / 5) in columns
            if in_columns and not (rows[i] or rows[j]):
                continue
            small, other_small = len(unit.text) < _SHORT, len(other.text) < _SHORT
            if (other_small or _GAP in other.text) and (len(unit.text) < 60 or _GAP in unit.text):
                out[i] = out[j] = True
            elif small:
                out[i] = True
            elif other_small:
                out[j] = True
    for before, i, after in zip(order, order[1:], order[2:], strict=False):
        unit = units[i]
        close = units[after].y0 - unit.y1 < 1.5 * unit.size and unit.y0 - units[before].y1 < 1.5 * unit.size
        if close and out[before] and (out[after] or len(units[after].text) < 40):
            out[i] = True
    return out


def spacing(units: tuple[Unit, ...]) -> tuple[list[float], list[float]]:
    """Return two lists with the white space above and below each line, in points.

    It is measured to the nearest line in the same column.
    """
    above, below = [_FAR] * len(units), [_FAR] * len(units)
    order = sorted(range(len(units)), key=lambda i: units[i].y0)
    for at, i in enumerate(order):
        unit = units[i]
        for j in reversed(order[max(0, at - 6) : at]):
            other = units[j]
            if other.x0 < unit.x1 and other.x1 > unit.x0:
                space = unit.y0 - other.y1
                above[i] = min(above[i], space)
                below[j] = min(below[j], space)
                break
    return above, below
