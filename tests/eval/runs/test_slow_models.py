"""Answers of a model that fails now and then: several questions at once, once more, again, and counted."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from eval.cli import main
from eval.datasets.registry import load
from eval.records.degraded import degraded
from eval.records.runs import read_run
from eval.runs.models import patient
from hybrid_pageindex import Settings
from tests.doubles.replies import FakeReply
from tests.doubles.scripted_server import scripted_server
from tests.eval.answering import answered_set, checked, literal_judge, oracle_of

pytestmark = pytest.mark.slow
pytest.importorskip("openai", reason="the extra openai is not installed")
pytest.importorskip("ir_measures", reason="the extra eval is not installed")


class Moody:
    """Answers as the oracle, but refuses each question the first ``times``; notes how many it answers at once."""

    def __init__(self, oracle: Any, times: int) -> None:
        self.times, self.most, self._now = times, 0, 0
        self._oracle, self._seen, self._lock = oracle, dict[str, int](), threading.Lock()
        self._together = threading.Barrier(2, timeout=20)

    def __call__(self, request: Any) -> Any:
        if request.title == "JudgeReply":
            return literal_judge(request)
        asked = request.messages[-1].text.split(">>>")[1].split("<<<")[0]
        with self._lock:
            count = self._seen[asked] = self._seen.get(asked, 0) + 1
        if count == 1 and len(self._seen) <= 2:
            self._together.wait()  # two questions are under way at once, or this breaks
            self.most = 2
        if count <= self.times:
            return FakeReply(status=400, body={"error": {"message": "not now"}})
        return self._oracle(request)


def test_what_a_model_failed_at_is_asked_once_more_and_what_is_left_is_counted_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    docs, questions = answered_set(tmp_path, hidden=False)
    oracle = oracle_of(list(load("custom", docs=docs, questions=questions).questions))
    monkeypatch.setenv("PAGEINDEX_LLM_MODEL", uuid4().hex)
    arguments = ["run", "custom", "--docs", str(docs), "--questions", str(questions), "--answers", "--parallel", "2"]
    arguments += ["--home", str(tmp_path / "home"), "--vision", "never", "--out"]
    moody = Moody(oracle, times=1)
    with scripted_server(checked(moody)) as server:
        monkeypatch.setenv("PAGEINDEX_LLM_BASE_URL", server.url)
        assert main([*arguments, str(tmp_path / "mended")]) == 0
    run = read_run(tmp_path / "mended")
    assert moody.most == 2 and "Degraded" not in capsys.readouterr().out
    assert len(run.questions) == 4 == len({record.id for record in run.questions})
    assert not any(map(degraded, run.questions)) and run.head.measures["all"]["answers-rules"] == 1

    moody = Moody(oracle, times=2)
    with scripted_server(checked(moody)) as server:
        monkeypatch.setenv("PAGEINDEX_LLM_BASE_URL", server.url)
        assert main([*arguments, str(tmp_path / "left")]) == 0
        shown = capsys.readouterr().out
        assert shown.index("Degraded records") < shown.index("Where questions were lost")
        assert all(degraded(record).answer for record in read_run(tmp_path / "left").questions)
        assert main([*arguments, str(tmp_path / "left")]) == 0, "the same command asks those again"
    assert not any(map(degraded, read_run(tmp_path / "left").questions))


def test_a_call_may_take_minutes_where_nobody_said_how_long() -> None:
    assert patient(Settings()).model_timeout == 600 and patient(Settings(model_timeout=7)).model_timeout == 7
