"""Sentences that a question quotes, through the engine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from hybrid_core.types.scoring import ScoringConfig
from hybrid_pageindex import Engine, run
from tests.pdfs import prose

GAIN = ScoringConfig().rerank.quotations
SAID = "The harbour master weighs every crate twice"
FILES = {
    "said.md": f"# Port\n\n{prose('harbour', 1)} It is said: the harbour\nmaster weighs every crate twice, and so on.",
    "words.md": "# Crates\n\nEvery crate is weighed by the master. The harbour master weighs twice; every crate weighs "
    "less, and the harbour weighs the master's crate.",
    "master.md": "# Harbour master\n\nThe harbour master is a man of sixty.",  # titles that the words name
    "crate.md": "# Every crate\n\nEvery crate is of wood.",
    "法.md": "# 供货条款\n\n买受人应当在八日内通知供货方,逾期未通知的,视为验收合格。",
    "律.md": "# 验收\n\n供货方应当通知买受人,八日内未通知的,视为逾期;买受人应当在验收合格时通知。",
}


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    folder = tmp_path_factory.mktemp("quotations")
    for name, text in FILES.items():
        (folder / name).write_text(text, encoding="utf-8")
    engine = Engine(folder / "home")
    run(engine.index([folder / name for name in FILES]))
    yield engine
    engine.close()


def gains(library: Engine, question: str) -> dict[str, float | None]:
    """What wording adds to each result, best first."""
    found = run(library.search(question, effort="fast")).results
    return {Path(one.doc_name).name: one.receipt.wording for one in found}


@pytest.mark.parametrize(
    ("question", "file"),
    [
        (SAID, "said.md"),
        (f"What is meant by “{SAID.upper()}”?", "said.md"),
        ("买受人应当在八日内通知供货方", "法.md"),
    ],
)
def test_the_page_that_says_it_comes_before_one_that_has_its_words(library: Engine, question: str, file: str) -> None:
    found = gains(library, question)
    assert next(iter(found)) == file
    assert found.pop(file) == pytest.approx(GAIN, abs=1e-4)
    assert not any(found.values())


@pytest.mark.parametrize(
    "question",
    ["harbour master weighs", 'Who is the "harbour master"?', "Why does the harbour master weigh every crate twice?"],
)
def test_few_words_and_questions_are_no_quotations(library: Engine, question: str) -> None:
    assert not any(gains(library, question).values())


def test_each_of_several_quotations_counts(library: Engine) -> None:
    found = gains(library, f'Where stand "{SAID}" and "every crate was weighed"?')
    assert found["said.md"] == pytest.approx(GAIN / 2, abs=1e-4)
