"""A set's questions in other words: whether an engine answers a question or its wording."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from eval.datasets.reading import lines, words
from eval.questions import Dataset
from hybrid_core.errors import DocumentError


def reworded(dataset: Dataset, path: Path) -> Dataset:
    """The questions that ``path`` words anew, with their gold and in the set's order; the others are left out.

    ``path`` holds {"id", "question"} on each line. Raises DocumentError, naming file and line, where one is malformed,
    and where an id is not of the set or comes twice, or there is none.
    """
    known, written = {question.id for question in dataset.questions}, dict[str, str]()

    def add(entry: Mapping[str, Any], _: int) -> None:
        number = words(entry["id"], "id")
        if number not in known:
            raise ValueError(f"{dataset.name} has no question {number}")
        if number in written:
            raise ValueError(f"question {number} is worded a second time")
        written[number] = words(entry["question"], "question")

    for _ in lines(path, add):
        pass
    if not written:
        raise DocumentError(f"{path} holds no questions.", 'Write {"id", "question"} on each line.')
    asked = (replace(q, text=written[q.id]) for q in dataset.questions if q.id in written)
    return replace(dataset, questions=tuple(asked))
