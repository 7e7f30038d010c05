"""HiPS: legal books with outlines written by people (Wehnert et al. 2025, arXiv 2509.00909). No questions."""

from __future__ import annotations

from pathlib import Path

from eval.datasets.files import documents
from eval.datasets.kinds import kind_of
from eval.datasets.outline_rows import outline_rows
from eval.records.outlines import HumanOutline
from eval.records.questions import Dataset
from hybrid_core.errors import NotFoundError


def read(root: Path) -> Dataset:
    """PDFs, each with an outline of its name: ``.toc`` with rows ``level,heading,page``, pages from 1."""
    files = documents(root, ".pdf")
    outlines = {path.stem: path for path in documents(root, ".toc")}
    missing = [path for path in files if path.stem not in outlines]
    if missing:
        raise NotFoundError(f"{missing[0]} has no outline.", f"Put {missing[0].stem}.toc beside it.")
    left_out: list[str] = []
    read = {}
    for path in files:
        rows = outline_rows(outlines[path.stem], left_out)
        if rows:
            read[path] = HumanOutline(rows, kind=kind_of("hips"))
        else:
            left_out.append(f"{path.stem}.toc: no row can be used, so {path.name} is not measured.")
    outlined = {path.name: outline for path, outline in read.items()}
    return Dataset("hips", tuple(read), (), outlines=outlined, left_out=tuple(left_out))
