"""A set's questions in other words: whether an engine answers a question or its wording."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from eval.datasets.files import lines, words
from eval.records.questions import Dataset
from hybrid_core.errors import DocumentError


def reworded(dataset: Dataset, path: Path) -> Dataset:
    """The questions that ``path`` words anew, with their gold and in the set's order; the others are left out.

    ``path`` holds {"id", "question"} on each line. A line that is malformed, whose id is not of the set or comes a
    second time is left out and named. Raises DocumentError where none can be used.
    """
    known, written = {question.id for question in dataset.questions}, dict[str, str]()

    def add(entry: Mapping[str, Any], _: int) -> None:
        number = words(entry["id"], "id")
        if number not in known:
            raise ValueError(f"{dataset.name} has no question {number}")
        if number in written:
            raise ValueError(f"question {number} is worded a second time")
        written[number] = words(entry["question"], "question")

    left_out: list[str] = []
    for _ in lines(path, add, left_out):
        pass
    if not written:
        first = f" The first line left out: {left_out[0]}." if left_out else ""
        raise DocumentError(
            f"{path} holds no questions that can be used.{first}", 'Write {"id", "question"} on each line.'
        )
    asked = (replace(q, text=written[q.id]) for q in dataset.questions if q.id in written)
    return replace(dataset, questions=tuple(asked), left_out=(*dataset.left_out, *left_out))
