"""The questions that this project wrote, on documents of the other sets."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from eval.datasets import load
from eval.datasets.custom import FILE, HELD_OUT
from hybrid_core.errors import NotFoundError


def entries() -> list[dict[str, object]]:
    return [json.loads(line) for line in FILE.read_text(encoding="utf-8").splitlines()]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    for entry in entries():
        if "path" in entry:
            path = tmp_path / str(entry["path"])
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(b"")
    return tmp_path


def test_all_questions_are_read_with_their_gold(data: Path) -> None:
    people = load("people", data)
    assert not people.left_out
    assert len(people.questions) == sum("question" in entry for entry in entries())
    assert {question.kind.removesuffix(HELD_OUT) for question in people.questions} == {
        "page", "reference", "section", "about", "about, asked later", "about, in other words", "two",
        "two of one time", "which",
    }  # fmt: skip
    printed = next(q for q in people.questions if q.text == "page 55 of the Walmart 2020 10-K")
    assert [gold.page for gold in printed.evidence] == [55, 58]


def test_what_is_absent_is_left_out_and_named(data: Path) -> None:
    (data / "financebench" / "pdfs" / "WALMART_2020_10K.pdf").unlink()
    people = load("people", data)
    assert "WALMART_2020_10K.pdf is missing" in people.left_out[0]
    assert len(people.left_out) > 1  # and the questions that mean it
    assert not any("Walmart 2020" in question.text for question in people.questions)


def test_without_any_of_the_documents(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="none of the documents"):
        load("people", tmp_path)
