"""Outlines that authors made: PDFs whose own bookmarks were taken out and kept beside them. No questions."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path

from eval.datasets import hips
from eval.datasets.files import text
from eval.records.questions import Dataset

_MANUALS = "manual"


def read(root: Path) -> Dataset:
    """PDFs with ``.toc`` files as hips has them, and ``index.csv`` with their kind, language and source.

    Manuals are of many makers, so that each source is a kind of its own.
    """
    dataset = hips.read(root)
    index = root / "index.csv"
    rows = {row["name"]: row for row in csv.DictReader(text(index).splitlines())} if index.exists() else {}
    outlines = {}
    for name, outline in dataset.outlines.items():
        row = rows.get(Path(name).stem, {})
        kind = row.get("kind", "")
        kind = f"{kind}, {row.get('source', '')}" if kind == _MANUALS else kind.removesuffix(" sample")
        outlines[name] = replace(outline, kind=kind, language=row.get("lang", ""))
    return replace(dataset, name="bookmarks", outlines=outlines)
