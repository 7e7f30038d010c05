"""Outlines written by hand for filings, releases, papers, slides and manuals. No questions."""

from __future__ import annotations

import csv
from pathlib import Path

from eval.datasets.files import documents, kept, text
from eval.datasets.kinds import kind_of
from eval.datasets.outline_rows import outline_rows
from eval.records.outlines import HumanOutline, Row
from eval.records.questions import Dataset

_SCOPE = "SCOPE.csv"


def read(root: Path) -> Dataset:
    """``NAME.toc`` of each document, with ``NAME.maybe`` (optional headings), ``NAME.doubt`` and ``NAME.notext``
    (headings that need not be found) where there are such, and ``SCOPE.csv`` with the pages that are judged. The
    documents are PDFs anywhere in the data folder that holds the set's; those that are not there are left out.
    """
    left_out: list[str] = []
    pdfs = {path.stem: path for path in documents(root.parent, ".pdf")}
    scopes = _scopes(root / _SCOPE, left_out)
    files: list[Path] = []
    outlines: dict[str, HumanOutline] = {}
    for toc in documents(root, ".toc"):
        if toc.stem not in pdfs:
            left_out.append(f"{toc.name}: there is no {toc.stem}.pdf below {root.parent}.")
            continue
        rows = outline_rows(toc, left_out)
        if not rows:
            left_out.append(f"{toc.name}: no row can be used, so {toc.stem}.pdf is not measured.")
            continue
        first, last = scopes.get(toc.stem, (1, None))
        optional = _beside(toc, ".maybe", left_out)
        doubtful = _beside(toc, ".doubt", left_out) + _beside(toc, ".notext", left_out)
        files.append(pdfs[toc.stem])
        outlines[files[-1].name] = HumanOutline(
            rows, optional, doubtful, first, last, kind_of(pdfs[toc.stem].relative_to(root.parent).parts[0])
        )
    return Dataset("outlines", tuple(files), (), outlines=outlines, left_out=tuple(left_out))


def _beside(toc: Path, suffix: str, left_out: list[str]) -> tuple[Row, ...]:
    path = toc.with_name(toc.stem + suffix)
    return outline_rows(path, left_out) if path.exists() else ()


def _scopes(path: Path, left_out: list[str]) -> dict[str, tuple[int, int | None]]:
    """The pages that are judged of each document, by its name."""
    if not path.exists():
        return {}
    rows = enumerate(csv.reader(text(path).splitlines()), 1)
    return dict(
        made for number, row in rows for made in kept(f"{path.name}, line {number}", left_out, _scope, row) if row
    )


def _scope(row: list[str]) -> tuple[str, tuple[int, int | None]]:
    name, first, last = row
    return name, (int(first), int(last))
