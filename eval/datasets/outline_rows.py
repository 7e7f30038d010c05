"""Files of headings, a row ``level,heading,page`` each, pages from 1."""

from __future__ import annotations

import re
from pathlib import Path

from eval.datasets.files import kept, text
from eval.records.outlines import Row

_ROW = re.compile(r"\s*(\d+),(.*),(\d+)[\s,]*")


def outline_rows(path: Path, left_out: list[str]) -> tuple[Row, ...]:
    """The rows of a file; bad ones are left out and named. Raises NotFoundError and DocumentError."""
    rows = enumerate(text(path).splitlines(), 1)
    named = ((f"{path.name}, line {number}", row) for number, row in rows if row.strip())
    return tuple(made for place, row in named for made in kept(place, left_out, _row, row))


def _row(written: str) -> Row:
    found = _ROW.fullmatch(written)
    if not found:
        raise ValueError(f"'{written}' is not level,heading,page")
    return int(found[1]), found[2].strip('" '), int(found[3])
