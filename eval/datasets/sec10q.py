"""SEC 10-Q: questions on quarterly reports, a third over several reports (Docugami's KG-RAG data sets)."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from fnmatch import fnmatchcase
from pathlib import Path

from eval.datasets.files import documents, kept, text, words
from eval.records.questions import Dataset, EvalQuestion, Gold


def read(root: Path) -> Dataset:
    """qna_data.csv beside docs/. Gold names documents, not pages; the group is the company's ticker."""
    files = documents(root / "docs", ".pdf")
    names = [path.name for path in files]
    source = root / "qna_data.csv"
    rows = csv.DictReader(io.StringIO(text(source), newline=""))
    left_out: list[str] = []
    asked = tuple(
        question
        for number, row in enumerate(rows, 1)
        for question in kept(f"{source.name}, row {number}", left_out, _question, row, number, names)
    )
    return Dataset("sec10q", files, asked, left_out=tuple(left_out))


def _question(row: Mapping[str, str], number: int, names: list[str]) -> EvalQuestion:
    found = expand(words(row["Source Docs"], "Source Docs"), names)
    return EvalQuestion(
        f"sec10q-{number}",
        words(row["Question"], "Question"),
        tuple(map(Gold, found)),
        answer=row["Answer"],
        kind=row["Question Type"],
        group=Path(found[0]).stem.split()[-1],
    )


def expand(patterns: str, names: list[str]) -> tuple[str, ...]:
    """The file names that glob patterns, separated by commas, stand for. Raises ValueError for one that fits none."""
    found: dict[str, None] = {}
    for pattern in (part.strip() for part in patterns.split(",")):
        fitting = [name for name in names if fnmatchcase(name, pattern) or fnmatchcase(Path(name).stem, pattern)]
        if not fitting:
            raise ValueError(f"no document fits '{pattern}'")
        found |= dict.fromkeys(fitting)
    return tuple(found)
