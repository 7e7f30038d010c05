"""No wording of the sets' questions in what the engine tells models, or strips from questions."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import hybrid_core.llm.prompts as prompts
import hybrid_pageindex
import retrievers.query.question as question_reading
from eval.datasets import load

DATA = os.environ.get("PAGEINDEX_EVAL_DATA")
SETS = ("financebench", "mmlongbench", "cuad", "sec10q")
PROMPTS = sorted(Path(prompts.__file__).parent.glob("*.md"))
PACKS = sorted((Path(hybrid_pageindex.__file__).parent / "packs").glob("*.yaml"))
TERMS = """
property plant and equipment | statement of cash flows | cost of goods sold | percent of net sales | covenant not to sue
liquidity and capital resources | net income attributable to | investing and financing activities | of the u s
impact of foreign exchange | right of first refusal right of first | right of first offer | right of first negotiation
of all or substantially all
"""  # names of statements, measures and clauses, which every company and contract calls so


def rows(text: str) -> Iterator[tuple[str, ...]]:
    """Four words in a row."""
    words = re.findall(r"[a-z0-9]+(?:['’][a-z]+)?", text.lower())
    return zip(*(words[at:] for at in range(4)), strict=False)


@pytest.fixture(scope="module")
def asked() -> set[tuple[str, ...]]:
    if DATA is None:
        pytest.skip("PAGEINDEX_EVAL_DATA is not set")
    return {row for name in SETS for question in load(name, Path(DATA)).questions for row in rows(question.text)}


def test_no_prompt_and_no_instruction_has_four_words_in_a_row_of_a_question(asked: set[tuple[str, ...]]) -> None:
    files = [*PROMPTS, Path(question_reading.__file__)]
    assert len(files) > 10
    found = {
        path.name: [" ".join(row) for row in rows(path.read_text(encoding="utf-8")) if row in asked] for path in files
    }
    assert {name: said for name, said in found.items() if said} == {}


def test_packs_share_no_more_than_terms_with_questions(asked: set[tuple[str, ...]]) -> None:
    known = {row for line in re.split(r"[|\n]", TERMS) for row in rows(line)}
    assert len(PACKS) > 3
    found = {row for path in PACKS for row in rows(path.read_text(encoding="utf-8")) if row in asked}
    assert found <= known
