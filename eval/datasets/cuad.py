"""CUAD: contracts and the text of 41 kinds of clauses in them (Hendrycks et al. 2021, arXiv 2103.06268)."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from eval.datasets.files import documents, lines, words
from eval.records.questions import Dataset, EvalQuestion, Gold

WORDINGS = ("official", "short")
_OFFICIAL = (
    'Highlight the parts (if any) of this contract related to "{}" that should be reviewed by a lawyer. Details: {}'
)
_OMITTED = "<omitted>"  # stands in a span where the clause skips text


def read(root: Path, wording: str = "official") -> Dataset:
    """clauses.jsonl ({doc, clause, spans}) beside pdfs/. Gold is text: its page is looked up once the contract is read.

    ``wording`` is "official" (the set's own question) or "short" (the clause's name alone). A question's kind is the
    clause, its group the contract.
    """

    def question(entry: Mapping[str, Any], number: int) -> EvalQuestion:
        clause, document = words(entry["clause"], "clause"), words(entry["doc"], "doc")
        if clause not in descriptions():
            raise ValueError(f"'{clause}' is none of the set's clauses")
        asked = _OFFICIAL.format(clause, descriptions()[clause]) if wording == "official" else clause
        spans = ast.literal_eval(entry["spans"]) if isinstance(entry["spans"], str) else entry["spans"]
        pieces = [piece.strip() for span in spans for piece in span.split(_OMITTED)]
        gold = tuple(Gold(document, text=piece) for piece in dict.fromkeys(pieces) if piece)
        return EvalQuestion(
            f"cuad-{number}", asked, gold, kind=clause, group=document, answerable=bool(gold), given=(document,)
        )

    files = documents(root / "pdfs", ".pdf")
    left_out: list[str] = []
    asked = tuple(lines(root / "clauses.jsonl", question, left_out))
    return Dataset("cuad", files, asked, left_out=tuple(left_out))


@cache
def descriptions() -> dict[str, str]:
    """What the set's authors ask of each clause."""
    held = yaml.safe_load(Path(__file__).with_name("cuad_clauses.yaml").read_text(encoding="utf-8"))
    return dict(held)
