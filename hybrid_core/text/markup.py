"""Structure in the text of a page: Markdown links, rows of tables, and lists of contents.

Cells of a table row are separated by two spaces, or by bars in Markdown. The rules are independent of the language: a
row ends in numbers; the column headings above it do not, or only in years.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Collection, Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple, TypeVar

_TITLE = r"""(?:[ \t]+(?:"[^"\n]{0,500}"|'[^'\n]{0,500}'|\([^()\n]{0,500}\)))"""
_TARGET = r"(?:<[^<>\n]{0,2000}>|[^\s()<>]{0,2000}(?:\([^\s()<>]{0,500}\)[^\s()<>]{0,2000}){0,4})"
_TEXT = (
    r"[^\[\]]{0,500}(?:\[[^\[\]]{0,500}\](?:\([^\s()]{0,2000}\))?[^\[\]]{0,500}){0,3}"  # may contain links or pictures
)
_LINK = re.compile(rf"(?<![\w)\]])(!?\[)(?={_TEXT}(\]\([ \t]*{_TARGET}{_TITLE}?[ \t]*\)))")
_END = re.compile(  # end of a link whose text contains brackets; code such as table[key](event) does not match
    rf"\]\((?:(?=[^\s()]{{0,2000}}(?:[/#:]|\.[^\W\d_]{{2,5}}\b))|(?=<)){_TARGET}{_TITLE}?[ \t]*\)"
)
_DEFINITION = re.compile(
    rf"^[ \t]{{0,3}}\[[^\]\[^\n][^\]\[\n]{{0,300}}\]:[ \t]*(?:<[^<>\n]{{0,2000}}>|(?=\S*[/#.:])\S{{1,2000}})"
    rf"{_TITLE}?[ \t]*$",
    re.MULTILINE,
)
Spans = Sequence[tuple[int, int]]


def has_links(text: str) -> bool:
    """Return whether a text may contain Markdown links. This cheap test is True for some texts without links."""
    return "](" in text or "]:" in text


def hidden(text: str) -> list[tuple[int, int]]:
    """Return the spans (start, end) of the markup and the targets of all Markdown links, in order.

    Without them, only the texts of the links remain. A span contains no line end.
    """
    if not has_links(text):
        return []
    spans = [match.span() for match in _DEFINITION.finditer(text)]
    for match in _LINK.finditer(text):
        spans += [match.span(1), match.span(2)]
    spans += [match.span() for match in _END.finditer(text)]
    apart: list[tuple[int, int]] = []
    for start, end in sorted(set(spans)):
        if not apart or start >= apart[-1][1]:
            apart.append((start, end))
    return apart


def visible(text: str, spans: Spans | None = None) -> str:
    """Return a text without the markup and targets of its Markdown links. The number of lines stays the same.

    ``spans`` are the result of ``hidden``, None to compute it.
    """
    spans = hidden(text) if spans is None else spans
    if not spans:
        return text
    edges = [0, *(edge for span in spans for edge in span), len(text)]
    return "".join(text[start:end] for start, end in list(pairwise(edges))[::2])


class Offsets:
    """A map from offsets in the result of ``visible`` to offsets in its source text.

    ``spans`` are the result of ``hidden`` for the source text.
    """

    def __init__(self, spans: Spans) -> None:
        gone = [0, *accumulate(end - start for start, end in spans)]
        self._starts = [start - before for (start, _), before in zip(spans, gone, strict=False)]
        self._gone = gone

    def source(self, place: int) -> int:
        """Return the offset in the source text of an offset in the visible text.

        If a hidden span lies at this place, the offset before it is returned.
        """
        return place + self._gone[bisect_left(self._starts, place)]


_FIGURE = re.compile(r"[($€£¥+\-–−]*\s?\d[\d,.]*\s?[)%]*")
_FILLER = re.compile(r"[—–\-$€£¥%()]+|NM|N/A|n/a|\([a-z0-9]\)|\*+")
_YEAR = re.compile(r"(?:19|20)\d\d")
_YEARS = re.compile(r"(?:19|20)\d\d(?: (?:19|20)\d\d)*")
_RULE = re.compile(r"\|[\s:|-]+\|")
GAP = "  "
_MOST_CAPTIONS = 3  # maximum lines of a caption
_CELL = 30  # maximum characters of a column heading on a separate line
_PROSE, _PROSE_LINES = 70, 3  # a table ends at this many consecutive lines of this many characters
_BAR = "|"
_STARTS = ("|", "1", "2")  # first characters of Markdown rows and of years


class TableRow(NamedTuple):
    """A table row, described by line numbers.

    ``heads`` are the lines of the column headings, and ``captions`` the lines above these. ``label`` is the line before
    the row if it contains the beginning of the row's name, else -1.
    """

    heads: tuple[int, ...]
    captions: tuple[int, ...]
    label: int


def table_rows(lines: Sequence[str], numbers: Collection[int]) -> dict[int, TableRow]:
    """Return the lines of a page that are table rows, by line number. Only lines in ``numbers`` are returned."""
    kinds = [_line_kind(line) if GAP in line or line[:1] in _STARTS else "other" for line in lines]
    rows: dict[int, TableRow] = {}
    heads: tuple[int, ...] = ()
    captions: tuple[int, ...] = ()
    before = 0  # the last line of a table
    for at, kind in enumerate(kinds):
        if kind == "other":
            continue
        if heads and at - before > _PROSE_LINES and _prose(lines[before + 1 : at]):
            heads = captions = ()
        if kind == "rule":
            heads = (at - 1,) if at else ()
            captions = _captions(lines, kinds, at - 1)
            rows.pop(at - 1, None)
        elif kind == "head":
            goes_on = heads and all(kinds[i] == "other" and len(lines[i]) <= _CELL for i in range(heads[-1] + 1, at))
            start = heads[-1] + 1 if goes_on else at - _unfinished(lines, kinds, at)
            if not goes_on:
                heads, captions = (), _captions(lines, kinds, start)
            heads = (*heads, *range(start, at + 1))
        elif kind == "row":
            if lines[at][:1] == _BAR and lines[at - 1][:1] != _BAR:
                heads = captions = ()  # the table continues from the previous page
            if at in numbers:
                rows[at] = TableRow(heads, captions, at - 1 if _continues(lines, kinds, at) else -1)
        before = at
    return rows


def _prose(lines: Sequence[str]) -> bool:
    """Return whether several long lines follow each other, which shows that a table has ended and prose begun."""
    run = 0
    for line in lines:
        run = run + 1 if len(line) > _PROSE else 0
        if run == _PROSE_LINES:
            return True
    return False


def _line_kind(line: str) -> str:
    """Return the kind of a line.

    ``row`` ends in numbers. ``head`` has cells that are not numbers, or only years. ``rule`` separates headings and
    rows in Markdown. All other lines are ``other``.
    """
    if line[:1] == _BAR:
        return "rule" if _RULE.fullmatch(line) else "row"
    if GAP not in line:
        return "head" if _YEARS.fullmatch(line) else "other"
    last = line[line.rindex(GAP) + len(GAP) :]
    if _FIGURE.fullmatch(last) and not _YEAR.fullmatch(last):
        return "row"
    cells = [cell for cell in line.split(GAP) if cell]
    figures = [cell for cell in cells if _FIGURE.fullmatch(cell)]
    if any(not _YEAR.fullmatch(cell) for cell in figures):
        return "row"
    filled = not figures and all(map(_FILLER.fullmatch, cells[1:]))
    return "row" if filled and len(cells) > 1 else "head" if cells else "other"


def _captions(lines: Sequence[str], kinds: Sequence[str], head: int) -> tuple[int, ...]:
    captions = []
    for at in range(head - 1, max(-1, head - 1 - _MOST_CAPTIONS), -1):
        if kinds[at] != "other":
            break
        captions.append(at)
    return tuple(reversed(captions))


def _unfinished(lines: Sequence[str], kinds: Sequence[str], head: int) -> int:
    """Return 1 if the line above a line of years is the beginning of their dates ("December 31,"), else 0."""
    above = head > 0 and kinds[head - 1] == "other" and len(lines[head - 1]) <= _CELL
    return int(above and lines[head - 1].rstrip().endswith(","))


def _continues(lines: Sequence[str], kinds: Sequence[str], at: int) -> bool:
    """Return whether the name of the table row at line ``at`` begins on the line before."""
    first = lines[at].split(GAP)[0]
    named = any(map(str.isalpha, first))
    above = at > 0 and kinds[at - 1] == "other" and not lines[at - 1].rstrip().endswith(":")
    return above and (not named or first[0].islower())


_Value = TypeVar("_Value", int, str)
_LABEL = re.compile(r"(?<=[\s.·…_])\d{1,4}$")
_INDEX_PAGES = re.compile(r"(?:(?:,|,?\s)\s?\d{1,4}(?:[-–]\d{1,4})?)+$")
_SEVERAL = re.compile(r"\d,\s\d{1,4}(?:[-–]\d{1,4})?$", re.MULTILINE)
_LEADERS = " .·…_"
_TAIL = 60  # characters at the end of an index line that may be page numbers
_FEWEST, _SHARE = 5, 0.5  # minimum entries of a contents page, and their minimum share of the lines
_ORDERED_SHARE = 0.8  # minimum share of entries in the order of pages, or in alphabetical order
_BEYOND = 200  # a printed page number may exceed the number of pages by this much


def lists_pages(text: str, pages: int) -> bool:
    """Return whether a page is a printed table of contents or an index. ``pages`` is the document's number of pages."""
    lines = [line for line in map(str.strip, text.split("\n")) if line]
    minimum = max(_FEWEST, _SHARE * len(lines))
    listing = [line for line in lines if line[-1].isdigit()]
    if len(listing) < minimum:
        return False  # true for most pages, without further tests
    numbers = [number for line in listing if (number := _entry(line))]
    if len(numbers) >= minimum and max(numbers) <= pages + _BEYOND and len(set(numbers)) > 2 and _ordered(numbers):
        return True
    if len(_SEVERAL.findall(text)) < 2:
        return False  # an index lists several pages for some of its entries
    heads = [head for line in listing if (head := _index_head(line, pages + _BEYOND))]
    return len(heads) >= max(minimum, 2 * _FEWEST) and len({head[0] for head in heads}) > 2 and _ordered(heads)


def _entry(line: str) -> int:
    """Return the page number at the end of a line of contents, after dots or a gap; 0 if there is none."""
    label = _LABEL.search(line, max(0, len(line) - 8))
    if label is None:
        return 0
    before = line[: label.start()]
    title = before.rstrip(_LEADERS)
    firm = len(before) - len(title) > 1 and not title[-1:].isdigit() and any(map(str.isalpha, title))
    return int(label[0]) if firm else 0


def _index_head(line: str, limit: int) -> str:
    """Return the first two letters of a line of an index, "" for other lines.

    They serve to check whether the lines are in alphabetical order. ``limit`` is the highest possible page number.
    """
    match = _INDEX_PAGES.search(line, max(0, len(line) - _TAIL))
    if match is None or not line[0].isalpha() or any(int(n) > limit for n in re.findall(r"\d+", match[0])):
        return ""
    return line[:2].casefold()


def _ordered(values: Sequence[_Value]) -> bool:
    return sum(before <= after for before, after in pairwise(values)) >= _ORDERED_SHARE * (len(values) - 1)
