"""The ceiling and the floor of the tree reasoning: runs with a model that knows the gold, and one that guesses."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from eval.records.progress import Progress
from eval.runs.run import measure
from eval.runs.scripted import Oracle, stands
from hybrid_core.errors import UsageError
from hybrid_core.llm.chat import Request
from hybrid_core.llm.prompts import prompt
from hybrid_core.types.documents import Strategy
from tests import pdfs
from tests.eval.sets import own_set, plan

QUIET = Progress(quiet=True)
HARD = {
    "id": "hard", "question": "In which document does Corvane Optics describe what it is active in for 2024?",
    "evidence": [{"doc": "corvane-optics-2024-10k.pdf", "page": 4}],
}  # fmt: skip


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, Path]:
    folder = tmp_path_factory.mktemp("scripted")
    return folder, *own_set(folder, more=[HARD])


@pytest.mark.parametrize("strategy", ["outline", "mcts"])
def test_an_oracle_is_the_ceiling_and_a_guess_the_floor(made: tuple[Path, Path, Path], strategy: Strategy) -> None:
    folder, docs, questions = made
    runs = {
        name: measure(
            plan(
                folder / f"{name or 'fast'}-{strategy}", docs, questions, model=name and f"scripted:{name}",
                effort="deep" if name else "fast", strategy=strategy,
            ),
            QUIET,
        )
        for name in ("", "oracle", "random")
    }  # fmt: skip
    hits = {name: run.head.measures["all"]["hit@1"] for name, run in runs.items()}
    assert hits["oracle"] == 1 > hits[""] > hits["random"]
    assert all(record.tokens > 0 for record in runs["oracle"].questions)
    assert {record.tokens for record in runs[""].questions} == {0}
    assert (
        runs["oracle"].head.settings["ranker"]["effort"] == "deep"
        and runs["oracle"].head.options["strategy"] == strategy
    )
    assert len(runs["random"].questions) == len(pdfs.FISCAL_QUESTIONS) + 1


def test_an_unknown_model_is_refused(made: tuple[Path, Path, Path]) -> None:
    folder, docs, questions = made
    with pytest.raises(UsageError, match="--model cannot be 'gpt'"):
        plan(folder / "gpt", docs, questions, model="gpt")


def test_the_scripted_models_need_nothing_of_the_tests(tmp_path: Path) -> None:
    code = "import sys, eval.runs.run, eval.runs.scripted as q; q.scripted('scripted:oracle', {}).close()"
    code += "; sys.exit(any(name.partition('.')[0] == 'tests' for name in sys.modules))"
    subprocess.run([sys.executable, "-P", "-c", code], cwd=tmp_path, check=True)


def asked_from(sources: str, reading: str) -> Request:
    values = {
        "sources": sources,
        "documents": "",
        "question": "How long?",
        "evidence": "weak",
        "now": "",
        "reading": reading,
    }
    return Request(tuple(prompt("answer").messages(values)), 100)


def test_a_reader_answers_what_its_sources_hold_once_it_has_read_all_of_those_that_are_cut() -> None:
    model = Oracle({"How long?": {("a.pdf", 3)}}, {"How long?": "1,250.50 m and 7 cm"}, reads=True)
    cut, whole = "Source 1: a.pdf, page 3, All\n7 cm\n…", "Source 1: a.pdf, page 3, All\n7 cm by $1250.5"
    other = "\n\nSource 2: b.pdf, page 3, All\n1,250.50 m and 7 cm\n…"
    assert model(asked_from(cut + other, "You may read more once.")) == "READ source 1"
    assert model(asked_from(cut + other, "You cannot read more: answer now.")) == "NOT IN THE SOURCES"
    assert model(asked_from("Source 1: a.pdf, page 3, All\n7 cm", "You may read more once.")) == "NOT IN THE SOURCES"
    assert model(asked_from(whole + other, "You may read more once.")) == "1,250.50 m and 7 cm [[source:1]]."
    assert stands("Not so long.", "It is\nnot so long, they say") and not stands("so short", "not so long")
