"""Progress of MCP calls: never silent for long whatever they wait for, numbers that grow, and ends by signals."""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import signal
import subprocess
import sys
import termios
import time
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from typing import IO, Any

import pytest
from fastmcp import Client

from hybrid_core.types.jobs import JobRequest
from hybrid_pageindex import Engine, run
from hybrid_pageindex.engine.libraries.libraries import LibrarySize
from hybrid_pageindex.mcp.access import Access
from hybrid_pageindex.mcp.server import build_server
from indexers.jobs.runner import workplace
from tests import pdfs
from tests.doubles.gated import PAGES
from tests.doubles.replies import FakeReply
from tests.doubles.scripted_server import ScriptedServer, scripted_server
from tests.interfaces.conftest import LongFile
from tests.interfaces.mcp_client import QUESTION, REVISION, Stdio, answer, program, refusal, stdio
from tests.models_over_http import engine_with

pytestmark = pytest.mark.slow

SLOW = 60.0  # seconds that the model takes at most; it answers as soon as enough was told meanwhile
TOLD = 3


def _listened(
    client: Stdio, model: ScriptedServer, tool: str, **arguments: Any
) -> tuple[dict[str, Any], list[dict[str, Any]], int]:
    """(the answer, what was told meanwhile, how much of it while the model thought). Asserts that the numbers grow."""
    call = {"name": tool, "arguments": arguments, "_meta": {"progressToken": 0}}
    model.requests.clear()
    model.released.clear()
    told, thinking = [], 0
    number = client.send("tools/call", call)
    while (message := client.receive()).get("id") != number:
        told.append(message["params"])
        if model.requests and not model.released.is_set():
            thinking += 1
        if thinking == TOLD:
            model.released.set()
    values = [each["progress"] for each in told]
    assert values == sorted(set(values)), "the protocol wants every number to be larger than the last"
    assert all(each["progress"] <= each.get("total", each["progress"]) for each in told)
    return answer(message["result"]), told, thinking


@pytest.mark.usefixtures("default_outlines")
def test_no_call_is_silent_while_a_model_thinks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = pdfs.numbered(tmp_path / "a.pdf", 12, "reeds")
    with scripted_server(lambda _: FakeReply("nothing of use", wait=SLOW)) as model:
        for name, value in (("MODEL", "slow"), ("BASE_URL", model.url)):
            monkeypatch.setenv(f"PAGEINDEX_LLM_{name}", value)
        monkeypatch.setenv("PAGEINDEX_ENRICH", "never")
        monkeypatch.setenv("PAGEINDEX_EFFORT", "deep")
        with stdio(tmp_path / "home", "--root", tmp_path) as client:
            asked = {"file_path": str(file), "query": "what of the reeds?"}
            found, told, thinking = _listened(client, model, "get_index", **asked)
            assert found["status"] == "search" and thinking == TOLD
            messages = [each["message"] for each in told]
            assert any(message.startswith("asked: ") for message in messages), messages
            read = [message for message in messages if message.startswith("1 of 1 file, 12 pages")]
            assert read, messages  # an outline may be improved, too, before the first line is sent
            asked = {"question": "which page speaks of reeds?", "effort": "deep"}
            _, told, thinking = _listened(client, model, "search", **asked)
            assert thinking == TOLD and not any("total" in each for each in told)


async def test_progress_reaches_clients_of_every_revision_and_nobody_else(tmp_path: Path) -> None:
    with engine_with(tmp_path / "home", lambda _: FakeReply("nothing of use", wait=SLOW), enrich="never") as (
        engine,
        model,
    ):
        await engine.index(pdfs.numbered(tmp_path / "a.pdf", 12, "reeds"))
        server = build_server(engine, Access())
        for mode in ("auto", "legacy"):
            told: list[tuple[float, float | None, str | None]] = []
            model.released.clear()

            async def listen(*report: Any, told: list[Any] = told) -> None:
                told.append(report)
                if len(told) == TOLD:
                    model.released.set()

            async with Client(server, mode=mode) as client:  # type: ignore[arg-type]
                asked = {"question": f"which page of {mode} speaks of reeds?", "effort": "deep"}
                call = client.call_tool("search", asked, progress_handler=listen)
                others = [client.call_tool("list_documents", {}) for _ in range(3)]
                await asyncio.gather(call, *others)
            assert len(told) >= TOLD and all(b[0] > a[0] for a, b in pairwise(told)), told
        model.released.set()


def test_waiting_for_another_process_is_told_and_ends_with_it(tmp_path: Path) -> None:
    file = pdfs.numbered(tmp_path / "a.pdf", 2, "reeds")
    catalog = Engine(tmp_path / "home")._catalog()
    asked = JobRequest("default", "index", str(file), "parse")
    with (
        workplace(catalog, tmp_path / "home" / "tmp", "command", (), 1) as place,
        stdio(tmp_path / "home", "--root", tmp_path) as client,
    ):
        place.queue.enqueue([asked])
        (job,) = place.queue.claim(place.worker.id, ())
        call = {"name": "build_index", "arguments": {"file_path": str(file)}, "_meta": {"progressToken": "t"}}
        number = client.send("tools/call", call)
        for _ in range(4):
            message = client.receive()
            assert message.get("id") != number
        assert "waiting for its turn" in message["params"]["message"]
        place.queue.release(job.fence)
        assert answer(client.answer(number)["result"])["total_pages"] == 2
    catalog.close()


def test_a_file_of_a_running_call_is_not_waited_for_longer_than_it_takes(
    tmp_path: Path, long_file: LongFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether it was indexed or refused, and whichever server asks: the files after it are nobody's business."""
    monkeypatch.setenv("PAGEINDEX_WORKERS", "2")
    root = tmp_path / "root"
    root.mkdir()
    small = pdfs.numbered(root / "a.pdf", 3, "reeds")
    broken = root / "b.pdf"
    broken.write_text("no PDF at all")
    long = long_file(root / "c.gated")
    home = tmp_path / "home"
    with stdio(home, "--root", root) as one, stdio(home, "--root", root) as two:
        call = {"name": "add_documents", "arguments": {"paths": [str(root)]}, "_meta": {"progressToken": "t"}}
        folder = one.send("tools/call", call)
        while "page" not in one.receive()["params"]["message"]:
            pass
        waiting = one.send(
            "tools/call", {"name": "get_index", "arguments": {"file_path": str(long)}, "_meta": {"progressToken": "u"}}
        )
        for client in (one, two):
            assert answer(client.call("build_index", file_path=str(small)))["total_pages"] == 3
            assert "not a PDF" in refusal(client.call("build_index", file_path=str(broken)))
        building = answer(two.call("index_status")), answer(one.call("index_status"))["building"]
        assert building[0]["building"] == [] and len(building[1]) == 2, "the long one is still being built"
        long_file.opened()
        assert answer(one.answer(waiting)["result"])["total_pages"] == PAGES
        added = answer(one.answer(folder)["result"])
        if added["status"] == "success":  # else it said after twenty seconds that it goes on
            assert added["indexed"] == 2 and [Path(each["path"]).name for each in added["failed"]] == ["b.pdf"]
        assert any(m["params"]["progressToken"] == "u" for m in one.notified), "whoever waits is told so"


async def test_a_build_that_ends_during_a_status_is_told(
    tmp_path: Path, long_file: LongFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is being built, or its document is there: whichever of the two is looked at first."""
    file = long_file(tmp_path / "long.gated")
    with closing(Engine(tmp_path / "home")) as engine:
        async with Client(build_server(engine, Access((tmp_path,)))) as client:
            building = asyncio.ensure_future(client.call_tool("build_index", {"file_path": str(file)}))
            while not (await client.call_tool("index_status", {})).structured_content["building"]:
                await asyncio.sleep(0.05)
            kind = type(engine.libraries)
            listed = kind.list

            async def list_slowly(libraries: Any, part: str = "") -> list[LibrarySize]:
                sizes = await listed(libraries, part)
                long_file.opened()
                await building
                return sizes

            monkeypatch.setattr(kind, "list", list_slowly)
            status = (await client.call_tool("index_status", {})).structured_content
            assert building.done()
            assert status["building"] or status["libraries"][0]["documents"], status


@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("busy", [False, True])
def test_a_signal_ends_a_server_whose_client_stays(
    ending: signal.Signals, busy: bool, library: Engine, tmp_path: Path
) -> None:
    with stdio(library.home, "--read-only") as client:
        assert client.process.stderr
        if busy:
            for _ in range(3):
                client.send("tools/call", {"name": "search", "arguments": {"question": QUESTION}})
        client.process.send_signal(ending)
        assert (client.process.wait(600), client.process.stderr.read()) == (0, "")


def _unread(pipe: IO[bytes]) -> int:
    """How many bytes wait in it."""
    return int.from_bytes(fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)), sys.byteorder)


def test_a_signal_ends_a_server_whose_client_reads_nothing(library: Engine) -> None:
    sooner = "import sys; from hybrid_pageindex.mcp import transports; transports._END_SECONDS = 1.0"
    start = f"{sooner}; from hybrid_pageindex.cli.main import main; sys.exit(main())"
    with subprocess.Popen(
        [sys.executable, "-c", start, *program(library.home, "--read-only")[3:]],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    ) as process:  # fmt: skip
        assert process.stdin and process.stdout
        hello = {"protocolVersion": REVISION, "capabilities": {}, "clientInfo": {"name": "tests", "version": "0"}}
        asked = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello}
        process.stdin.write(json.dumps(asked).encode() + b"\n")
        process.stdin.flush()
        process.stdout.readline()
        process.stdin.write(b'{"jsonrpc": "2.0", "method": "notifications/initialized"}\n')
        process.stdin.flush()
        os.set_blocking(process.stdin.fileno(), False)
        answered, since = 0, time.monotonic()
        while not answered or time.monotonic() - since < 1.5:  # until nothing more fits into its pipe
            try:
                os.write(process.stdin.fileno(), b'{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}\n')
            except BlockingIOError:
                time.sleep(0.05)
            if (now := _unread(process.stdout)) != answered:
                answered, since = now, time.monotonic()
        process.terminate()
        assert process.wait(600) == 1
        process.kill()


def test_a_run_says_once_of_every_file_that_nothing_is_left_to_do_for_it(tmp_path: Path) -> None:
    """After what models and OCR add, where there are any."""
    folder = tmp_path / "files"
    folder.mkdir()
    pdfs.numbered(folder / "a.pdf", 3, "reeds")
    pdfs.scanned(folder / "b.pdf", 2, dpi=150)
    (folder / "c.pdf").write_text("no PDF at all")
    seen: list[tuple[str, str]] = []
    with engine_with(tmp_path / "home", lambda _: "nothing of use") as (engine, _):
        for _ in range(2):
            seen.clear()
            run(
                engine.index(folder, on_progress=lambda p: seen.append((p.over, p.finished.path if p.finished else "")))
            )
            over = [path for path, _ in seen if path]
            assert sorted(Path(path).name for path in over) == ["a.pdf", "b.pdf", "c.pdf"]
            for path in over:
                place = next(at for at, (done, _) in enumerate(seen) if done == path)
                assert path in {file for _, file in seen[:place]} and path not in {file for _, file in seen[place:]}
