"""Tables in XML: HTML, CALS (``tgroup``), and simple tables of rows and cells."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from lxml import etree

from indexers.formats.flow.blocks import Table
from indexers.formats.xml.vocabularies import children, tag

_WIDEST = 100  # maximum of columns or rows that a cell spans
_HEADS = frozenset(("sthead", "prophead", "chhead"))
_NAMES = ("namest", "nameend", "colname", "spanname")


def tables_of(element: etree._Element, is_row: Callable[[etree._Element], bool],
              words: Callable[[etree._Element], str]) -> Iterator[Table]:  # fmt: skip
    """Yield the tables of an element, one for each ``tgroup``.

    A merged cell appears in each of its rows.
    """
    for group in _groups(element):
        rows = list(_rows(group, is_row))
        if cells := _cells(rows, _columns(group), words):
            heads = sum(1 for _ in _leading_heads(rows))
            yield Table(cells, heads=max(1, heads))


def rows_of(element: etree._Element, is_row: Callable[[etree._Element], bool]) -> set[etree._Element]:
    """Return the rows that ``tables_of`` reads."""
    return {row for group in _groups(element) for row in _rows(group, is_row)}


def _groups(element: etree._Element) -> list[etree._Element]:
    return [child for child in children(element) if tag(child) == "tgroup"] or [element]


def _rows(group: etree._Element, is_row: Callable[[etree._Element], bool], deep: int = 0) -> Iterator[etree._Element]:
    """Yield the rows of a table in display order, without those of nested tables."""
    last: list[etree._Element] = []
    for child in children(group):
        if is_row(child):
            yield child
        elif tag(child) == "tfoot":
            last.append(child)
        elif deep < 3 and tag(child) not in ("table", "tgroup"):
            yield from _rows(child, is_row, deep + 1)
    for foot in last:
        yield from _rows(foot, is_row, deep + 1)


def _leading_heads(rows: list[etree._Element]) -> Iterator[etree._Element]:
    for row in rows:
        parent, cells = row.getparent(), list(children(row))
        head = (
            (parent is not None and tag(parent) == "thead") or tag(row) in _HEADS or row.get("role") == "label"
            or (bool(cells) and all(tag(cell) == "th" or cell.get("role") == "label" for cell in cells))
        )  # fmt: skip
        if not head:
            return
        yield row


def _columns(group: etree._Element) -> dict[str, tuple[int, int]]:
    """Return the first and last column (from 0) for each column name of a CALS table."""
    columns: dict[str, tuple[int, int]] = {}
    at = 0
    for child in children(group):
        if tag(child) == "colspec":
            number = child.get("colnum") or ""
            at = int(number) - 1 if number.isdecimal() and 0 < int(number) <= _WIDEST else at
            columns[child.get("colname") or f"col{at + 1}"] = (at, at)
            at += 1
        elif tag(child) == "spanspec":
            first, last = (columns.get(child.get(name) or "", (0, 0)) for name in ("namest", "nameend"))
            columns[child.get("spanname") or ""] = (first[0], last[1])
    return columns


def _cells(rows: list[etree._Element], columns: dict[str, tuple[int, int]],
           words: Callable[[etree._Element], str]) -> tuple[tuple[str, ...], ...]:  # fmt: skip
    table: list[tuple[str, ...]] = []
    below: dict[int, tuple[int, str]] = {}  # by column: number of rows that a cell above still spans, and its words
    for row in rows:
        cells: list[str] = []
        for cell in children(row):
            first, across = _cell_span(cell, columns, len(cells))
            while len(cells) in below or len(cells) < first:
                cells.append(_reach(below, len(cells)))
            text, down = words(cell), _span_number(cell, "rowspan", "rows") or _span_number(cell, "morerows") + 1
            for at in range(across):
                if down > 1:
                    below[len(cells)] = (down - 1, text if not at else "")
                cells.append("" if at else text)
        while len(cells) in below:
            cells.append(_reach(below, len(cells)))
        table.append(tuple(cells))
    return tuple(table)


def _reach(below: dict[int, tuple[int, str]], column: int) -> str:
    """Return the words of a cell in a row above that extends down to this row, "" if there is none."""
    rows, text = below.pop(column, (0, ""))
    if rows > 1:
        below[column] = (rows - 1, text)
    return text


def _cell_span(cell: etree._Element, columns: dict[str, tuple[int, int]], at: int) -> tuple[int, int]:
    """Return the first column that a cell may have, and the number of columns that it spans."""
    start, end, name, span = (columns.get(cell.get(attribute) or "") for attribute in _NAMES)
    if (both := span or ((start[0], end[1]) if start and end else None)) is not None and both[1] >= both[0]:
        return both[0], min(_WIDEST, both[1] - both[0] + 1)
    first = (start or name or (at, at))[0]
    return first, _span_number(cell, "colspan", "cols") or 1


def _span_number(cell: etree._Element, *names: str) -> int:
    value = next(filter(None, map(cell.get, names)), "")
    return min(_WIDEST, int(value[:4])) if value.isascii() and value.isdigit() else 0
