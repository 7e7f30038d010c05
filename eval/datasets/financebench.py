"""FinanceBench: questions on filings and the pages that answer them (Islam et al. 2023, arXiv 2311.11944)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from eval.datasets.files import documents, lines, physical, words
from eval.datasets.labels import published_results
from eval.records.questions import Dataset, EvalQuestion, Gold

_COMPANY = re.compile(r"(.+?)_\d{4}")


def read(root: Path) -> Dataset:
    """The public repository (data/ and pdfs/, pages from 0), or questions.jsonl beside pdfs/ with pages from 1.

    The repository's results/ are answers of models that the set's authors have labelled.
    """
    public = root / "data" / "financebench_open_source.jsonl"
    files = documents(root / "pdfs", ".pdf")
    left_out: list[str] = []
    source, make = (public, _published) if public.is_file() else (root / "questions.jsonl", _plain)
    asked = tuple(lines(source, make, left_out))
    labelled = tuple(published_results(root / "results", left_out))
    return Dataset("financebench", files, asked, labelled=labelled, left_out=tuple(left_out))


def _published(entry: Mapping[str, Any], _: int) -> EvalQuestion:
    gold = tuple(
        Gold(f"{e.get('doc_name') or entry['doc_name']}.pdf", physical(e["evidence_page_num"] + 1), e["evidence_text"])
        for e in entry["evidence"]
    )
    return _question(entry, entry["financebench_id"], entry["question_type"], gold)


def _plain(entry: Mapping[str, Any], _: int) -> EvalQuestion:
    gold = tuple(Gold(f"{e['doc']}.pdf", physical(e["page"])) for e in entry["evidence"])
    return _question(entry, entry["id"], entry["type"], gold)


def _question(entry: Mapping[str, Any], number: str, kind: str, gold: tuple[Gold, ...]) -> EvalQuestion:
    """Its group is the company: what stands before the year in the document's name."""
    if not gold:
        raise ValueError("no evidence")
    company = _COMPANY.match(gold[0].document)
    group = company[1].upper() if company else Path(gold[0].document).stem
    return EvalQuestion(
        number, words(entry["question"], "question"), gold, answer=str(entry["answer"]), kind=kind, group=group
    )
