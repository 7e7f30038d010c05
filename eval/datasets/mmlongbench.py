"""MMLongBench-Doc: questions on slides, reports, papers and scans, some without an answer (Ma et al. 2024, arXiv
2407.01523)."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from eval.datasets.files import documents, entries, lines, physical, words
from eval.records.questions import Dataset, EvalQuestion, Gold

_KINDS = {
    "Pure-text (Plain-text)": "text", "Generalized-text (Layout)": "layout", "Table": "table", "Chart": "chart",
    "Figure": "figure",
}  # fmt: skip
NOT_ANSWERABLE = "Not answerable"


def read(root: Path) -> Dataset:
    """The public repository (data/samples.json and data/documents/), or questions.jsonl beside pdfs/.

    A question's kind is where its evidence stands: one of text, layout, table, chart and figure, "mixed" for several,
    "unknown" where the set does not say, and "unanswerable". Evidence without pages names the document alone.
    """
    public = root / "data" / "samples.json"
    asked: Iterator[EvalQuestion]
    left_out: list[str] = []
    if public.is_file():
        folder, asked = root / "data" / "documents", entries(public, _question, left_out)
    else:
        folder, asked = root / "pdfs", lines(root / "questions.jsonl", _question, left_out)
    return Dataset("mmlongbench", documents(folder, ".pdf"), tuple(asked), left_out=tuple(left_out))


def _question(entry: Mapping[str, Any], number: int) -> EvalQuestion:
    document = words(entry.get("doc") or entry["doc_id"], "doc")
    answerable = entry["answer"] != NOT_ANSWERABLE
    pages = [physical(page) for page in _list(entry["evidence_pages"])]
    gold = tuple(Gold(document, page) for page in dict.fromkeys(pages)) or (Gold(document),)
    return EvalQuestion(
        f"mmlongbench-{number}",
        words(entry["question"], "question"),
        gold if answerable else (),
        answer=str(entry["answer"]),
        kind=_kind(_list(entry["evidence_sources"])) if answerable else "unanswerable",
        group=document,
        answerable=answerable,
        given=(document,),
    )


def _kind(sources: list[str]) -> str:
    if not sources:
        return "unknown"
    if unknown := [source for source in sources if source not in _KINDS]:
        raise ValueError(f"'{unknown[0]}' is no known source of evidence")
    return _KINDS[sources[0]] if len(set(sources)) == 1 else "mixed"


def _list(written: object) -> list[Any]:
    """A list, or one written as Python text, as the set has them."""
    found = ast.literal_eval(written) if isinstance(written, str) else written
    if not isinstance(found, list):
        raise ValueError(f"'{written}' is no list")
    return found
