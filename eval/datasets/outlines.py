"""Data sets of outlines without questions: written by hand, by authors, or from bookmarks.

HiPS contains legal books with outlines written by people (Wehnert et al. 2025, arXiv 2509.00909).
"""

from __future__ import annotations

import csv
import re
from dataclasses import replace
from pathlib import Path

from eval.datasets.files import documents, kind_of, text, usable_entries
from eval.records.questions import Dataset, HumanOutline, Row
from hybrid_core.errors import NotFoundError

_ROW = re.compile(r"\s*(\d+),(.*),(\d+)[\s,]*")


def outline_rows(path: Path, left_out: list[str]) -> tuple[Row, ...]:
    """Read the rows of an outline file. Invalid rows are left out and reported in ``left_out``.

    Raise NotFoundError and DocumentError.
    """
    rows = enumerate(text(path).splitlines(), 1)
    named = ((f"{path.name}, line {number}", row) for number, row in rows if row.strip())
    return tuple(parsed for place, row in named for parsed in usable_entries(place, left_out, _parse_row, row))


def _parse_row(written: str) -> Row:
    match = _ROW.fullmatch(written)
    if not match:
        raise ValueError(f"'{written}' does not have the form level,heading,page")
    return int(match[1]), match[2].strip('" '), int(match[3])


_SCOPE = "SCOPE.csv"


def read_outlines(root: Path) -> Dataset:
    """Read the set ``outlines``: ``NAME.toc`` for each document, and the optional files beside it.

    ``NAME.maybe`` contains headings that count as no error. ``NAME.doubt`` and ``NAME.notext`` contain headings that
    need not be found. ``SCOPE.csv`` contains the pages that are scored. The documents are PDFs anywhere in the data
    folder that contains the set's folder; missing ones are left out.
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
            left_out.append(f"{toc.name}: no row is valid, so {toc.stem}.pdf is not measured.")
            continue
        first, last = scopes.get(toc.stem, (1, None))
        optional = _rows_of_toc(toc, ".maybe", left_out)
        doubtful = _rows_of_toc(toc, ".doubt", left_out) + _rows_of_toc(toc, ".notext", left_out)
        files.append(pdfs[toc.stem])
        outlines[files[-1].name] = HumanOutline(
            rows, optional, doubtful, first, last, kind_of(pdfs[toc.stem].relative_to(root.parent).parts[0])
        )
    return Dataset("outlines", tuple(files), (), outlines=outlines, left_out=tuple(left_out))


def _rows_of_toc(toc: Path, suffix: str, left_out: list[str]) -> tuple[Row, ...]:
    path = toc.with_name(toc.stem + suffix)
    return outline_rows(path, left_out) if path.exists() else ()


def _scopes(path: Path, left_out: list[str]) -> dict[str, tuple[int, int | None]]:
    """Return the range of scored pages of each document, by the document's name."""
    if not path.exists():
        return {}
    rows = enumerate(csv.reader(text(path).splitlines()), 1)
    return dict(
        scope
        for number, row in rows
        for scope in usable_entries(f"{path.name}, line {number}", left_out, _scope, row)
        if row
    )


def _scope(row: list[str]) -> tuple[str, tuple[int, int | None]]:
    name, first, last = row
    return name, (int(first), int(last))


def read_hips(root: Path) -> Dataset:
    """Read PDFs, each with an outline ``.toc`` of the same name.

    The rows of an outline are ``level,heading,page``, with pages from 1.
    """
    files = documents(root, ".pdf")
    outlines = {path.stem: path for path in documents(root, ".toc")}
    missing = [path for path in files if path.stem not in outlines]
    if missing:
        raise NotFoundError(f"{missing[0]} has no outline file.", f"Put {missing[0].stem}.toc into the same folder.")
    left_out: list[str] = []
    read = {}
    for path in files:
        rows = outline_rows(outlines[path.stem], left_out)
        if rows:
            read[path] = HumanOutline(rows, kind=kind_of("hips"))
        else:
            left_out.append(f"{path.stem}.toc: no row is valid, so {path.name} is not measured.")
    outlined = {path.name: outline for path, outline in read.items()}
    return Dataset("hips", tuple(read), (), outlines=outlined, left_out=tuple(left_out))


_MANUALS = "manual"


def read_bookmarks(root: Path) -> Dataset:
    """Read PDFs with ``.toc`` files as of ``read_hips``, and ``index.csv``.

    The index contains the kind, language and source of each PDF. Manuals are by many makers, so each source is a
    separate kind.
    """
    dataset = read_hips(root)
    index = root / "index.csv"
    rows = {row["name"]: row for row in csv.DictReader(text(index).splitlines())} if index.exists() else {}
    outlines = {}
    for name, outline in dataset.outlines.items():
        row = rows.get(Path(name).stem, {})
        kind = row.get("kind", "")
        kind = f"{kind}, {row.get('source', '')}" if kind == _MANUALS else kind.removesuffix(" sample")
        outlines[name] = replace(outline, kind=kind, language=row.get("lang", ""))
    return replace(dataset, name="bookmarks", outlines=outlines)
