"""Answers that people have labelled, and the words that sets use for it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from eval.datasets.files import lines, words
from eval.records.answers import Verdict
from eval.records.questions import LabelledAnswer

LABELS: Mapping[str, Verdict] = {
    "right": "right", "partly": "partly", "wrong": "wrong",
    "correct answer": "right", "incorrect answer": "wrong", "failed to answer": "wrong", "refusal": "wrong",
}  # fmt: skip


def label(written: object) -> Verdict:
    """Raises ValueError for a word that is no label."""
    known = LABELS.get(str(written).strip().lower())
    if known is None:
        raise ValueError(f"'{written}' is no label; known are {', '.join(LABELS)}")
    return known


def published_results(folder: Path, left_out: list[str]) -> Iterator[LabelledAnswer]:
    """FinanceBench's results/*.jsonl: answers of models to its questions, labelled by its authors; none without it."""
    for path in sorted(folder.glob("*.jsonl")):

        def answer(entry: Mapping[str, Any], _: int, run: str = path.stem) -> LabelledAnswer:
            said = "" if entry["model_answer"] is None else str(entry["model_answer"])
            return LabelledAnswer(
                f"{run}/{entry['financebench_id']}", words(entry["question"], "question"), str(entry["gold_answer"]),
                said, label(entry["label"]),
            )  # fmt: skip

        yield from lines(path, answer, left_out)


def own(entry: Mapping[str, Any], id: str) -> Iterator[LabelledAnswer]:
    """What ``custom`` may say of a question: "labelled": [{"answer", "label"}], beside its own "answer"."""
    for number, one in enumerate(entry.get("labelled", ()), 1):
        reference = words(entry.get("answer"), "answer")
        yield LabelledAnswer(f"{id}/{number}", entry["question"], reference, str(one["answer"]), label(one["label"]))
