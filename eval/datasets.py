"""Question sets on disk. Nothing is downloaded: a set that is absent is an error that says where to get it."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path

from hybrid_core.errors import NotFoundError

VARIABLE = "PAGEINDEX_EVAL_DATA"


@dataclass(frozen=True, slots=True)
class Gold:
    """A page that answers: the document's file name and its physical page, from 1."""

    document: str
    page: int


@dataclass(frozen=True, slots=True)
class EvalQuestion:
    id: str
    text: str
    evidence: tuple[Gold, ...]


@dataclass(frozen=True, slots=True)
class Dataset:
    name: str
    files: tuple[Path, ...]
    questions: tuple[EvalQuestion, ...]


def data_folder(given: str | Path | None = None) -> Path:
    """``given``, else the folder in PAGEINDEX_EVAL_DATA. Raises NotFoundError where there is none."""
    folder = given or os.environ.get(VARIABLE)
    if not folder or not Path(folder).is_dir():
        raise NotFoundError("No evaluation data.", f"Name its folder with --data or {VARIABLE}.")
    return Path(folder)


def financebench(folder: Path) -> Dataset:
    """FinanceBench (Islam et al. 2023): filings and questions with the pages that answer them.

    Reads ``financebench/questions.jsonl`` and ``financebench/pdfs``. Raises NotFoundError where they are
    absent and ValueError, naming the line, where the questions are malformed.
    """
    root = folder / "financebench"
    source = root / "questions.jsonl"
    if not source.is_file():
        raise NotFoundError(f"{source} is missing.", "See https://github.com/patronus-ai/financebench.")
    questions = []
    for number, line in enumerate(source.read_text(encoding="utf-8").splitlines(), 1):
        try:
            entry = json.loads(line)
            gold = tuple(Gold(f"{e['doc']}.pdf", int(e["page"])) for e in entry["evidence"])
            questions.append(EvalQuestion(str(entry["id"]), str(entry["question"]), gold))
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(f"{source}, line {number}: {error!r}") from error
    files = tuple(sorted(root.glob("pdfs/*.pdf")))
    return Dataset("financebench", files, tuple(questions))
