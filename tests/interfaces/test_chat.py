"""Conversations at the command line, in processes that are killed too."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from hybrid_pageindex import Engine, run
from hybrid_pageindex.cli import main
from tests import pdfs
from tests.doubles.replies import FakeReply
from tests.doubles.scripted_server import ScriptedServer, scripted_server
from tests.models_over_http import engine_with

pytest.importorskip("openai", reason="the extra openai is not installed")

SALES = "What were the net sales of Corvane Optics in fiscal 2023?"
GOOD = "Net sales were $418.2 million [[source:1]]."


@pytest.fixture
def home(tmp_path: Path) -> Path:
    engine = Engine(tmp_path / "home")
    run(engine.index(pdfs.fiscal_reports(tmp_path)[:2], workers=1))
    engine.close()
    return tmp_path / "home"


def chatting(home: Path, model: ScriptedServer, *arguments: str) -> subprocess.Popen[str]:
    said = {"LLM_MODEL": "scripted", "LLM_BASE_URL": model.url, "EFFORT": "fast"}
    environment = {**os.environ, **{f"PAGEINDEX_{name}": value for name, value in said.items()}}
    command = [sys.executable, "-m", "hybrid_pageindex", "--home", str(home), "chat", *arguments]
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(command, env=environment, text=True, **pipes)


def call(capsys: pytest.CaptureFixture[str], home: Path, *arguments: str) -> str:
    assert main(["--home", str(home), "chat", *arguments]) == 0
    return capsys.readouterr().out


def test_questions_from_a_pipe_are_kept_and_shown_again(
    home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with scripted_server(lambda request: {"question": SALES} if request.title else GOOD) as model:
        with chatting(home, model, "--json") as talking:
            out, err = talking.communicate(f"{SALES}\n\nAnd its net sales?\n", timeout=600)
        assert talking.returncode == 0, err
        first, second = map(json.loads, out.splitlines())
        assert first["text"] == GOOD and second["searched"] == SALES and first["conversation"] == second["conversation"]
        with chatting(home, model, "--continue", first["conversation"][:8]) as talking:
            out, err = talking.communicate("How large were the inventories of Corvane Optics in 2023?", timeout=600)
        assert GOOD in out, err
    id = first["conversation"]
    assert "What were the net sales" in call(capsys, home, "list") and json.loads(call(capsys, home, "list", "--json"))
    shown = call(capsys, home, "show", id[:6])
    assert f"> {SALES}" in shown and "source 1: corvane-optics-2023-10k.pdf, page 3" in shown
    assert call(capsys, home, "export", id).startswith("# What were the net sales")
    call(capsys, home, "export", id, "--format", "json", "--to", str(tmp_path / "said.json"))
    for format, head in (("docx", b"PK"), ("pdf", b"%PDF")):
        call(capsys, home, "export", id, "--format", format, "--to", str(tmp_path / "talk"))
        assert (tmp_path / "talk").read_bytes().startswith(head)
    assert len(json.loads((tmp_path / "said.json").read_text())["messages"]) == 6
    assert json.loads(call(capsys, home, "remove", id, "--json"))[0]["id"] == id
    assert json.loads(call(capsys, home, "list", "--json")) == []
    assert main(["--home", str(home), "chat", "show", "nobody's"]) == 1


def test_a_turn_that_is_killed_loses_nothing_and_is_made_again(home: Path) -> None:
    with scripted_server(lambda _: FakeReply(GOOD * 50, wait=0.1)) as model, chatting(home, model) as talking:
        assert talking.stdin is not None and talking.stdout is not None
        talking.stdin.write(f"{SALES}\n")
        talking.stdin.flush()
        assert talking.stdout.read(4) == "Net "
        talking.send_signal(signal.SIGKILL)
        talking.wait(600)
        with engine_with(home, lambda _: GOOD, effort="fast") as (engine, _):
            chats = engine.conversations
            [made] = run(chats.listed())
            asked, left = run(chats.messages(made.id))
            assert left.status == "running" and left.text.startswith("Net ") and left.citations
            with engine._catalog().writing() as direct:  # its lease runs out
                direct.exec_driver_sql("UPDATE messages SET lease_until = 1 WHERE status = 'running'")
            assert run(chats.message(left.id)).status == "interrupted"

            async def again() -> list[str]:
                heard = [event.kind async for event in chats.stream(left.id)]
                begun = await chats.again(left.id)
                assert (await chats.wait(begun.id)).text == GOOD
                return heard

            assert run(again())[-1] == "ended", "whoever listens hears that it was interrupted"
            assert [one.id for one in run(chats.messages(made.id))] == [asked.id, left.id]


def test_ctrl_c_ends_the_answer_as_interrupted(home: Path) -> None:
    with scripted_server(lambda _: FakeReply(GOOD * 50, wait=0.1)) as model, chatting(home, model) as talking:
        assert talking.stdin is not None and talking.stdout is not None
        talking.stdin.write(f"{SALES}\n")
        talking.stdin.flush()
        assert talking.stdout.read(4) == "Net "
        talking.send_signal(signal.SIGINT)
        assert talking.wait(600) == 1
    engine = Engine(home)
    [made] = run(engine.conversations.listed())
    left = run(engine.conversations.messages(made.id))[-1]
    engine.close()
    assert left.status == "interrupted" and left.text.startswith("Net ")
