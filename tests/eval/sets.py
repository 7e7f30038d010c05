"""A question set of one's own, made on the spot from the invented filings."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from eval.runs.plan import Plan
from tests import pdfs


def own_set(folder: Path, *, more: Iterable[Mapping[str, Any]] = (), repeat: int = 1) -> tuple[Path, Path]:
    """(documents, questions): four filings, and the questions that each have one right page, ``repeat`` times."""
    docs = folder / "docs"
    docs.mkdir(parents=True)
    pdfs.fiscal_reports(docs)
    entries: list[Mapping[str, Any]] = [
        {
            "id": f"{number}-{again}",
            "question": question,
            "evidence": [{"doc": name, "page": page}],
            "kind": f"k{again}",
        }
        for again in range(repeat)
        for number, (question, name, page) in enumerate(pdfs.FISCAL_QUESTIONS)
    ]
    questions = folder / "questions.jsonl"
    questions.write_text("".join(json.dumps(entry) + "\n" for entry in [*entries, *more]), encoding="utf-8")
    return docs, questions


def plan(folder: Path, docs: Path, questions: Path, **more: Any) -> Plan:
    return Plan("custom", docs=docs, questions=questions, out=folder, **more)
