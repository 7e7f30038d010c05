"""Answers of a model that fails now and then: several questions at once, once more, again, and counted."""

from __future__ import annotations

import json
import threading
from collections import Counter
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from eval.cli import main
from eval.datasets.registry import load
from eval.records.runs import QUESTIONS_FILE, RUN_FILE, degraded, read_run
from eval.runs.models import patient
from hybrid_core.llm.chat import Request
from hybrid_core.llm.client.client import Retries
from hybrid_pageindex import Settings
from tests.doubles.replies import FakeReply
from tests.doubles.scripted_server import scripted_server
from tests.eval.answering import answered_set, checked, literal_judge, oracle_of, shown

pytestmark = pytest.mark.slow
pytest.importorskip("openai", reason="the extra openai is not installed")
pytest.importorskip("ir_measures", reason="the extra eval is not installed")


class Moody:
    """Answers as the oracle, but refuses each question the first ``times``; notes how many it answers at once."""

    def __init__(self, oracle: Any, times: int) -> None:
        self.times, self.most, self._now = times, 0, 0
        self._oracle, self._seen, self._lock = oracle, dict[str, int](), threading.Lock()
        self._together = threading.Barrier(2, timeout=300)

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


def test_a_busy_endpoint_is_waited_for_and_a_stopped_run_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It breaks off at each question once and is busy twice, and is never left alone for that."""
    monkeypatch.setattr(Retries.__init__, "__defaults__", (5, 0.01, 0.01, 1.0))
    docs, questions = answered_set(tmp_path, hidden=False)
    oracle = oracle_of(list(load("custom", docs=docs, questions=questions).questions))
    tried: Counter[str] = Counter()

    def busy(request: Request) -> Any:
        if "colour" in request.messages[-1].text:
            return {"word": "red"}
        if request.title == "JudgeReply":
            return literal_judge(request)
        tried[asked := shown(request, "Question")] += 1
        if tried[asked] == 1:
            return FakeReply("too", break_after=0)
        return FakeReply(status=503, body={"error": {"message": "busy"}}) if tried[asked] < 4 else oracle(request)

    for name in ("LLM", "VLM"):
        monkeypatch.setenv(f"PAGEINDEX_{name}_MODEL", uuid4().hex)
    out = tmp_path / "run"
    arguments = ["run", "custom", "--docs", str(docs), "--questions", str(questions), "--answers", "--parallel", "4"]
    arguments += ["--home", str(tmp_path / "home"), "--vision", "always", "--out", str(out)]
    with scripted_server(checked(busy)) as server:
        monkeypatch.setenv("PAGEINDEX_LLM_BASE_URL", server.url)
        assert main(arguments) == 0
        first = read_run(out)
        assert not any(map(degraded, first.questions)) and set(tried.values()) == {4}, "none was refused unasked"
        assert all(request.messages[-1].images for request in server.requests if not request.title)
        lines = (out / QUESTIONS_FILE).read_bytes().splitlines(keepends=True)
        (out / QUESTIONS_FILE).write_bytes(lines[0] + lines[1][:40])  # killed while it wrote the second
        head = json.loads((out / RUN_FILE).read_text(encoding="utf-8"))
        (out / RUN_FILE).write_text(json.dumps(head | {"finished": "", "measures": {}}), encoding="utf-8")
        kept, before = first.questions[0], len([one for one in server.requests if not one.title])
        assert main(arguments) == 0
        assert len([one for one in server.requests if not one.title]) - before <= len(lines) - 1
    again = read_run(out)
    assert again.questions[0] == kept and len({one.id for one in again.questions}) == len(lines)
    assert again.head.measures["all"]["answers-rules"] == 1 and "Degraded" not in capsys.readouterr().out


def test_a_call_may_take_minutes_where_nobody_said_how_long() -> None:
    assert patient(Settings()).model_timeout == 600 and patient(Settings(model_timeout=7)).model_timeout == 7
