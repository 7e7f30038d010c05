"""How much of the gold a model is shown: read off prompts as they are written, and measured through the engine."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from eval.records.progress import Progress
from eval.runs.studies import judged, measure_shown
from hybrid_pageindex.cli import main
from tests.eval.sets import own_set, plan

PROMPT = """Question:
<<<data 0f>>>
Who?
<<<end 0f>>>

Outline:
<<<data 0f>>>
D1 · report.pdf · annual report, 2023 · 90 pages
 D1.0007 Liquidity · pages 43-49 · 4 not shown
  page 46 · Cash flows
D2 · notes.md · 3 pages
<<<end 0f>>>

Passages, opened and read so far:
<<<data 0f>>>
D2 page 3, a passage: the lease ends
<<<end 0f>>>
"""


@pytest.mark.parametrize(
    ("gold", "shown", "every"),
    [
        ([("notes.md", 3)], "text", True),
        ([("report.pdf", 46)], "line", True),
        ([("report.pdf", 44)], "section", False),
        ([("report.pdf", 2), ("report.pdf", 46)], "line", True),
        ([("report.pdf", 2), ("notes.md", 3)], "text", False),
        ([("notes.md", 1)], "document", False),
        ([("other.md", 1)], "listed nowhere", False),
        ([("strange.md", 1)], "no candidate", False),
    ],
)
def test_what_a_prompt_shows_of_a_page_is_read_off_it(gold: list[tuple[str, int]], shown: str, every: bool) -> None:
    assert judged(PROMPT, gold, ["report.pdf", "notes.md", "other.md"]) == (shown, every)


def test_the_share_is_measured_without_a_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    docs, questions = own_set(tmp_path)
    found = measure_shown(plan(tmp_path / "run", docs, questions, home=tmp_path / "home"), Progress(quiet=True))
    assert len(found.questions) == 4 and found.share("text", "line") == 1.0
    assert all(one.prompt > 100 and one.rank for one in found.questions) and found.tokens > 100
    typed = [
        "eval",
        "shown",
        "custom",
        "--docs",
        docs,
        "--questions",
        questions,
        "--homes",
        tmp_path / "homes",
        "--json",
    ]
    assert main([str(word) for word in typed]) == 0
    (printed,) = json.loads(capsys.readouterr().out)["sets"]
    assert [one["shown"] for one in printed["questions"]] == [one.shown for one in found.questions]
