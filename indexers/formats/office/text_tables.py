"""Rows of text tables (CSV, TSV): detection of the delimiter, and handling of unclosed quotes."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterator
from itertools import islice

_SEPARATOR = re.compile(r'"?sep=(.)"?\s*', re.I | re.S)
_FORMULA = re.compile(r'="([^"]*)"')
_DELIMITERS = "\t;|,^\x1f"  # of equally good delimiters the first one is chosen
_NO_SIGN = "\x1e"  # occurs in no file, so the table has one column
_SAMPLE = 64 * 1024
_MOST_LINES = 1_000  # maximum lines of a quoted cell
_FEW = 3  # rows at the end of a sample that identify the delimiter of a table below titles


def table_rows(text: str) -> Iterator[list[str]]:
    """Yield the rows of a text table as lists of cells. A row that only declares the delimiter is empty.

    Raise csv.Error if the rows cannot be separated.
    """
    text = text.removeprefix("\ufeff")
    delimiter = find_delimiter(text[:_SAMPLE])
    csv.field_size_limit(2**31 - 1)
    lines = io.StringIO(text, newline="")
    if _SEPARATOR.fullmatch(text[:8].split("\n")[0].rstrip("\r")):
        next(lines)
        yield []
    escapes = '""' not in text and re.search(rf'\\"(?!\s*(?:{re.escape(delimiter)}|$))', text, re.M) is not None
    if escapes:
        rows: Iterator[list[str]] = csv.reader(
            lines, delimiter=delimiter, skipinitialspace=True, escapechar="\\", doublequote=False
        )
    elif any(line.count('"') % 2 for line in io.StringIO(text, newline="")):
        rows = _careful_rows(lines, delimiter)
    else:
        rows = csv.reader(lines, delimiter=delimiter, skipinitialspace=True)
    for row in rows:
        yield [shown[1] if (shown := _FORMULA.fullmatch(cell.strip())) else cell.strip() for cell in row]


def find_delimiter(text: str) -> str:
    """Return the delimiter that splits most of the first lines into the same number of cells."""
    lines = list(islice(io.StringIO(text, newline=""), 50))
    if lines and (named := _SEPARATOR.fullmatch(lines[0].rstrip("\r\n"))):
        return named[1]
    for quoting in (csv.QUOTE_MINIMAL, csv.QUOTE_NONE):
        best, highest = "", 0.0
        for sign in _DELIMITERS:
            rows = csv.reader(lines, delimiter=sign, quoting=quoting, skipinitialspace=True)
            value = _evenness([len(row) for row in rows if row])
            if value > highest:
                best, highest = sign, value
        if best:
            return best
    return _usual_sign(lines) if len(lines) > 1 else ","


def _usual_sign(lines: list[str]) -> str:
    """Return the sign that divides most lines of an uneven table. Signs before a space are punctuation."""
    filled = [line for line in lines if line.strip()]
    counts = {sign: sum(re.search(rf"{re.escape(sign)}(?! )", line) is not None for line in filled) for sign in ",;\t"}
    sign = max(counts, key=lambda sign: counts[sign])
    return sign if 2 * counts[sign] > len(filled) else _NO_SIGN


def _evenness(widths: list[int]) -> float:
    """Return the share of rows with the most frequent number of cells (``widths``), slightly more for wider tables.

    Return 0 if the rows are not a table.
    """
    common, times = max(Counter(widths).items(), key=lambda pair: (pair[1], pair[0]), default=(0, 0))
    below_titles = len(widths) > _FEW and set(widths[-_FEW:]) == {common}
    is_table = common > 1 and (2 * times > len(widths) or below_titles or min(widths) > 1)
    return times / len(widths) + common / 1000 if is_table else 0.0


def _careful_rows(lines: io.StringIO, delimiter: str) -> Iterator[list[str]]:
    """Yield the rows of lines with an odd number of quotes: cells over several lines, or with an unclosed quote."""
    waiting: list[str] = []
    width = 0
    while line := waiting.pop(0) if waiting else lines.readline():
        joined = [line]
        count = line.count('"')
        while count % 2 and len(joined) < _MOST_LINES and (more := waiting.pop(0) if waiting else lines.readline()):
            joined.append(more)
            count += more.count('"')
        plain = [_plain_row(part, delimiter) for part in joined] if len(joined) > 1 or count % 2 else []
        torn = width > 1 and all(len(row) == width for row in plain) and not _is_one_row(joined, delimiter, width)
        if plain and (count % 2 or torn):
            yield plain[0]
            waiting[:0] = joined[1:]
            continue
        for row in csv.reader(joined, delimiter=delimiter, skipinitialspace=True):
            width = width or len(row)
            yield row


def _is_one_row(lines: list[str], delimiter: str, width: int) -> bool:
    """Return whether lines are one row whose quotes begin and end at the borders of cells.

    With tabs as delimiter it is always False: a cell of such a row would contain tabs, which is rare.
    """
    if delimiter == "\t":
        return False
    try:
        rows = list(csv.reader(lines, delimiter=delimiter, skipinitialspace=True, strict=True))
    except csv.Error:
        return False
    return len(rows) == 1 and len(rows[0]) == width


def _plain_row(line: str, delimiter: str) -> list[str]:
    return next(csv.reader([line], delimiter=delimiter, quoting=csv.QUOTE_NONE), [])
