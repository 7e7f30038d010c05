"""HiPS: legal books with outlines written by people (Wehnert et al. 2025, arXiv 2509.00909). No questions."""

from __future__ import annotations

import re
from pathlib import Path

from eval.datasets.files import documents, kept, text
from eval.records.questions import Dataset
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
    left_out: list[str] = []
    read = {path.name: _outline(outlines[path.stem], left_out) for path in files}
    files = tuple(path for path in files if read[path.name])
    return Dataset("hips", files, (), outlines={p.name: read[p.name] for p in files}, left_out=tuple(left_out))


def _outline(path: Path, left_out: list[str]) -> tuple[Row, ...]:
    rows = enumerate(text(path).splitlines(), 1)
    named = ((f"{path.name}, line {number}", row) for number, row in rows if row.strip())
    found = tuple(made for place, row in named for made in kept(place, left_out, _row, row))
    if not found:
        left_out.append(f"{path.name}: no row can be used, so {path.stem}.pdf is not measured.")
    return found


def _row(written: str) -> Row:
    found = _ROW.fullmatch(written)
    if not found:
        raise ValueError(f"'{written}' is not level,heading,page")
    return int(found[1]), found[2].strip('" '), int(found[3])
