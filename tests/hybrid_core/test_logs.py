"""Log lines: what they are about, their formats, and what they hide."""

from __future__ import annotations

import contextvars
import json
import logging
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from hybrid_core import logs
from hybrid_core.logs import JsonFormatter, PlainFormatter, TextFormatter, about, current_request, hide_question

_log = logging.getLogger("hybrid_core.test")


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    root, levels = logging.getLogger(), {room: logging.getLogger(room).level for room in logs._ROOMS}
    handlers = list(root.handlers)
    yield
    root.handlers = handlers
    logging.captureWarnings(False)
    sys.excepthook, threading.excepthook = sys.__excepthook__, threading.__excepthook__
    for room, level in levels.items():
        logging.getLogger(room).setLevel(level)


def lines(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in capsys.readouterr().err.splitlines()]


def test_a_line_names_what_it_is_about(capsys: pytest.CaptureFixture[str]) -> None:
    logs.set_up(JsonFormatter(), "info")
    with about(request_id="r1", library="default"), about(job=7, document="/a\nb.pdf", stage=""):
        _log.info("Reading %s.", "page 3")
    _log.warning("Later.")
    first, second = lines(capsys)
    assert {name: first[name] for name in first if name != "time"} == {
        "level": "info", "logger": "hybrid_core.test", "message": "Reading page 3.", "request_id": "r1", "job": 7,
        "library": "default", "document": "/a\nb.pdf",
    }  # fmt: skip
    assert first["time"].endswith("Z") and "T" in first["time"]
    assert set(second) == {"time", "level", "logger", "message"}


def test_threads_with_a_copied_context_log_the_same_request(capsys: pytest.CaptureFixture[str]) -> None:
    logs.set_up(JsonFormatter(), "warning")
    with about(request_id="r2"):
        thread = threading.Thread(target=contextvars.copy_context().run, args=(_log.warning, "Far away."))
        assert current_request() == "r2"
    thread.start()
    thread.join()
    assert [line["request_id"] for line in lines(capsys)] == ["r2"]
    assert current_request() == ""


def test_an_exception_is_fields_of_the_line(capsys: pytest.CaptureFixture[str]) -> None:
    logs.set_up(JsonFormatter(), "warning")
    try:
        raise ValueError("two\nlines")
    except ValueError:
        _log.exception("It failed.")
    [line] = lines(capsys)
    assert line["exception"]["type"] == "ValueError" and line["exception"]["message"] == "two\nlines"
    assert 'raise ValueError("two\\nlines")' in line["exception"]["traceback"]


@pytest.mark.parametrize("formatter", [JsonFormatter, TextFormatter, PlainFormatter])
def test_secrets_and_questions_are_hidden(
    formatter: type[logs.LogFormatter], capsys: pytest.CaptureFixture[str]
) -> None:
    logs.set_up(formatter(["sk-secret-1"]), "info")
    with about(request_id="r3"):
        with about(library="default"):
            hide_question("who pays the toll")
        try:
            raise RuntimeError("the model refused 'who pays the toll' with sk-secret-1")
        except RuntimeError:  # logged further out than the question was asked
            _log.exception("sk-secret-1: who pays the toll", extra={"question": "who pays the toll"})
    written = capsys.readouterr().err
    assert "RuntimeError" in written and "***" in written
    assert "sk-secret-1" not in written and "toll" not in written


def test_questions_are_written_where_the_setup_allows_it(capsys: pytest.CaptureFixture[str]) -> None:
    logs.set_up(JsonFormatter(questions=True), "info")
    with about(request_id="r4"):
        hide_question("who pays the toll")
        _log.info("Searched.", extra={"question": "who pays the toll"})
    assert [line["question"] for line in lines(capsys)] == ["who pays the toll"]


def test_many_questions_of_one_task_keep_little_memory() -> None:
    def ask() -> int:
        for number in range(1000):
            hide_question(f"question {number}")
        context = logs._context.get()
        assert context is not None
        return len(context.questions)

    assert contextvars.Context().run(ask) == logs._QUESTIONS


def test_debug_lines_of_other_packages_are_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    logs.set_up(TextFormatter(), "debug")
    logging.getLogger("openai").debug("a prompt")
    _log.debug("our own")
    logs.set_up(TextFormatter(), "error")  # replaces the first setup
    _log.warning("no more")
    [line] = capsys.readouterr().err.splitlines()
    assert line.endswith("DEBUG hybrid_core.test: our own")


def test_an_uncaught_error_is_one_line() -> None:
    code = (
        "import threading; from hybrid_core import logs; logs.set_up(logs.JsonFormatter(), 'warning')\n"
        "thread = threading.Thread(target=lambda: 1 / 0); thread.start(); thread.join()\n"
        "import warnings; warnings.warn('old')\n"
        "raise KeyError('end')"
    )
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    levels = [
        (line["level"], line.get("exception", {}).get("type")) for line in map(json.loads, process.stderr.splitlines())
    ]
    assert process.returncode == 1
    assert levels == [("error", "ZeroDivisionError"), ("warning", None), ("critical", "KeyError")]
