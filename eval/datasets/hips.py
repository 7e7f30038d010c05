"""HiPS: legal books with outlines written by people (Wehnert et al. 2025, arXiv 2509.00909). No questions."""

from __future__ import annotations

import re
from pathlib import Path

from eval.datasets.reading import at, documents, text
from eval.questions import Dataset
from hybrid_core.errors import NotFoundError

Row = tuple[int, str, int]
_ROW = re.compile(r"\s*(\d+),(.*),(\d+)[\s,]*")


def read(root: Path) -> Dataset:
    """PDFs, each with an outline of its name: ``.toc`` with rows ``level,heading,page``, pages from 1."""
    files = documents(root, ".pdf")
    outlines = {path.stem: path for path in documents(root, ".toc")}
    missing = [path for path in files if path.stem not in outlines]
    if missing:
        raise NotFoundError(f"{missing[0]} has no outline.", f"Put {missing[0].stem}.toc beside it.")
    return Dataset("hips", files, (), outlines={path.name: _outline(outlines[path.stem]) for path in files})


def _outline(path: Path) -> tuple[Row, ...]:
    rows = enumerate(text(path).splitlines(), 1)
    return tuple(at(f"{path}, line {number}", _row, row) for number, row in rows if row.strip())


def _row(written: str) -> Row:
    found = _ROW.fullmatch(written)
    if not found:
        raise ValueError(f"'{written}' is not level,heading,page")
    return int(found[1]), found[2].strip('" '), int(found[3])
