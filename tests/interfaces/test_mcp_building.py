"""Indexing through the MCP server: what may be read, one build per document, cancelling, killing, several servers."""

from __future__ import annotations

import json
import os
import re
import signal
import time
from pathlib import Path

import psutil
import pytest

from hybrid_core.errors import StoreError
from hybrid_pageindex import Engine, run
from hybrid_pageindex.mcp.builds import Build, Builds
from tests import pdfs
from tests.doubles.gated import PAGES
from tests.interfaces.conftest import LongFile
from tests.interfaces.mcp_client import Stdio, answer, refusal, stdio

pytestmark = pytest.mark.slow


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "root"
    folder.mkdir()
    return folder


def indexed(home: Path, file: Path) -> None:
    engine = Engine(home)
    run(engine.index(file))
    engine.close()


def test_get_index_builds_once_with_progress_and_again_after_a_change(root: Path, tmp_path: Path) -> None:
    file = pdfs.numbered(root / "a.pdf", 3, "reeds")
    with stdio(tmp_path / "home", "--root", root) as client:
        call = {"name": "get_index", "arguments": {"file_path": str(file)}, "_meta": {"progressToken": "t"}}
        first, second = (client.send("tools/call", call) for _ in range(2))
        results = {message["id"]: message["result"] for message in [client.answer(first)]}
        results[second] = client.answer(second)["result"]
        one, two = answer(results[first]), answer(results[second])
        assert one == two and one["total_pages"] == 3
        told = [m["params"] for m in client.notified if m["method"] == "notifications/progress"]
        assert told and all(p["progressToken"] == "t" and p["message"] for p in told)
        values = [p["progress"] for p in told]
        assert len(set(values)) >= len(values) // 2 and max(values) > 0
        assert "1 of 1 file, 3 pages" in {p["message"] for p in told}, "the end"
        pdfs.numbered(root / "a.pdf", 5, "reeds")
        assert answer(client.call("get_index", file_path="a.pdf"))["total_pages"] == 5, "relative to the root"
        code, error = client.close()
        assert (code, error) == (0, "")


def test_only_roots_and_indexed_documents_can_be_read(root: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    secret = pdfs.numbered(outside / "secret.pdf", 1, "reeds")
    pdfs.numbered(root / "inside.pdf", 1, "marsh")
    (root / "link.pdf").symlink_to(secret)
    (root / "folder").symlink_to(outside)
    (root / "loop.pdf").symlink_to(root / "loop.pdf")
    os.mkfifo(root / "pipe.pdf")
    (root / "words.pdf").write_text("no PDF at all")
    with stdio(tmp_path / "home", "--root", root) as client:
        for tool in ("get_index", "build_index", "get_detail"):
            for path in (
                secret, root / "link.pdf", root / "folder" / "secret.pdf", root / ".." / "outside" / "secret.pdf",
                outside / "none.pdf", "~/.ssh/id_rsa", "/dev/zero", "..", "../outside/secret.pdf",
            ):  # fmt: skip
                more = {"page": 1} if tool == "get_detail" else {}
                assert "that the server may read" in refusal(client.call(tool, file_path=str(path), **more)), path
        assert "that the server may read" in refusal(client.call("add_documents", paths=[str(root / "folder")]))
        assert "not a regular file" in refusal(client.call("build_index", file_path=str(root / "pipe.pdf")))
        assert "not a PDF" in refusal(client.call("build_index", file_path=str(root / "words.pdf")))
        assert "no such file" in refusal(client.call("build_index", file_path=str(root / "none.pdf")))
        assert "not a PDF" in refusal(client.call("get_detail", file_path=str(root / "words.pdf"), page=1))
        (root / "letter.dwg").write_bytes(b"PK")
        added = answer(client.call("add_documents", paths=[str(root)], library="books"))
        assert ["1 file was left out" in note and "1 .dwg" in note for note in added["notes"]] == [True]
        assert "this kind of file is not supported" in refusal(
            client.call("build_index", file_path=str(root / "letter.dwg"))
        )
        failed = {Path(file["path"]).name: file["error"] for file in added["failed"]}
        assert added["indexed"] == 1 and failed.keys() == {"link.pdf", "loop.pdf", "pipe.pdf", "words.pdf"}
        assert "outside the folders" in failed["link.pdf"] and "not a PDF" in failed["words.pdf"]
        status = answer(client.call("index_status", library="books"))
        assert status["building"] == [] and status["roots"] == [str(root)]
    indexed(tmp_path / "home", secret)
    with stdio(tmp_path / "home") as client:
        assert answer(client.call("get_detail", file_path=str(secret), page=1))["text"]
        assert answer(client.call("get_index", file_path=str(secret)))["total_pages"] == 1


def test_a_file_is_not_taken_for_another_of_its_name(root: Path, tmp_path: Path) -> None:
    indexed(tmp_path / "home", pdfs.numbered(tmp_path / "report.pdf", 3, "reeds"))
    pdfs.numbered(root / "report.pdf", 6, "marsh")
    with stdio(tmp_path / "home", "--root", root) as client:
        assert "is not indexed" in refusal(client.call("get_detail", file_path="report.pdf", page=1))
        found = [answer(client.call("get_index", file_path="report.pdf", query="marsh", top_k=2)) for _ in range(2)]
        assert found[0] == found[1] and found[0]["file_path"] == str(root / "report.pdf")
        more = client.call("get_index", file_path="report.pdf", query="marsh", top_k=2, cursor=found[0]["cursor"])
        assert len(answer(more)["results"]) == 2
        hint = found[0]["next"][0]
        followed = answer(client.call(hint["tool"], **hint["arguments"]))
        page = found[0]["results"][0]["page"]
        assert followed == answer(client.call("get_detail", file_path="report.pdf", page=page))
        assert followed["file_path"] == str(root / "report.pdf")


def test_a_client_that_vanishes_ends_the_server_without_a_word(root: Path, tmp_path: Path, long_file: LongFile) -> None:
    file = long_file(root / "long.gated")
    client = Stdio(tmp_path / "home", "--root", root)
    client.begin()
    _building(client, file)
    with client.process as process:
        workers = psutil.Process(process.pid).children()
        assert workers and process.stdin and process.stdout and process.stderr
        process.stdout.close()
        process.stdin.close()
        assert (process.wait(600), process.stderr.read()) == (0, "")
        assert psutil.wait_procs(workers, timeout=600)[1] == []


def _building(client: Stdio, file: Path) -> int:
    """Ask for a build and wait until it has read pages."""
    call = {"name": "build_index", "arguments": {"file_path": str(file)}, "_meta": {"progressToken": 1}}
    number = client.send("tools/call", call)
    while True:
        message = client.receive()
        assert message.get("id") != number, message
        if re.search(r"[1-9]\d* pages", message["params"].get("message", "")):
            return number


def test_a_server_killed_while_it_builds_leaves_nothing_and_the_next_goes_on(
    root: Path, tmp_path: Path, long_file: LongFile
) -> None:
    file = long_file(root / "long.gated")
    home = tmp_path / "home"
    with stdio(home, "--root", root) as client:
        _building(client, file)
        client.process.kill()
        client.process.wait()
    engine = Engine(home)
    assert run(engine.documents.list()) == [], "nothing half-done is visible"
    engine.close()
    long_file.opened()
    with stdio(home, "--root", root) as client:
        assert answer(client.call("get_index", file_path=str(file), query="reeds"))["total_pages"] == PAGES


def test_cancelling_stops_the_work_and_closing_does_too(root: Path, tmp_path: Path, long_file: LongFile) -> None:
    file = long_file(root / "long.gated")
    with stdio(tmp_path / "home", "--root", root) as client:
        number = _building(client, file)
        cancel = {"requestId": number, "reason": "test"}
        client.write({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": cancel})
        end = time.monotonic() + 600
        while answer(client.call("index_status"))["building"]:
            assert time.monotonic() < end
            time.sleep(0.1)
        assert "is not indexed" in refusal(client.call("get_detail", file_path=str(file), page=1))
        _building(client, file)
        code, error = client.close()
        assert code == 0 and "Traceback" not in error
    engine = Engine(tmp_path / "home")
    assert run(engine.documents.list()) == []
    engine.close()


def test_a_server_does_what_another_left_behind(root: Path, tmp_path: Path, long_file: LongFile) -> None:
    file = long_file(root / "long.gated")
    with stdio(tmp_path / "home", "--root", root) as client:
        _building(client, file)
        assert client.close()[0] == 0
    long_file.opened()
    with stdio(tmp_path / "home", "--root", root) as client:
        end = time.monotonic() + 600
        while not answer(client.call("list_documents"))["total"]:
            assert time.monotonic() < end
            time.sleep(0.2)


@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_a_server_its_build_and_its_workers(
    ending: signal.Signals, root: Path, tmp_path: Path, long_file: LongFile
) -> None:
    file = long_file(root / "long.gated")
    with stdio(tmp_path / "home", "--root", root) as client:
        _building(client, file)
        workers = psutil.Process(client.process.pid).children()
        assert workers
        client.process.send_signal(ending)
        out, error = client.process.communicate(timeout=600)
        assert (client.process.returncode, error) == (0, "")
        assert all(json.loads(line)["jsonrpc"] == "2.0" for line in out.splitlines())
        assert psutil.wait_procs(workers, timeout=600)[1] == []
    engine = Engine(tmp_path / "home")
    assert run(engine.documents.list()) == []
    engine.close()


def test_calls_that_wait_for_a_build_keep_nobody_from_reading(root: Path, tmp_path: Path, long_file: LongFile) -> None:
    file = long_file(root / "long.gated")
    with stdio(tmp_path / "home", "--root", root) as client:
        for _ in range(20):  # more than the tool calls that may work at once
            client.send("tools/call", {"name": "get_index", "arguments": {"file_path": str(file)}})
        _building(client, file)
        assert answer(client.call("list_documents"))["total"] == 0, "answered while the file is being built"
        assert len(answer(client.call("index_status"))["building"]) == 1


def test_two_servers_on_one_home_build_a_document_once(root: Path, tmp_path: Path) -> None:
    file = pdfs.numbered(root / "a.pdf", 200, "reeds")
    home = tmp_path / "home"
    with stdio(home, "--root", root) as one, stdio(home, "--root", root) as two:
        call = {"name": "build_index", "arguments": {"file_path": str(file)}}
        numbers = [(client, client.send("tools/call", call)) for client in (one, two)]
        first, second = (answer(client.answer(number)["result"]) for client, number in numbers)
        assert first == second, "indexed_at, too: the second found it unchanged"
        found = [answer(client.call("search", question=pdfs.landmark("reeds", 150))) for client in (one, two)]
        assert [f["results"][0]["page"] for f in found] == [150, 150]
        answer(one.call("remove_documents", documents=["a.pdf"]))
        assert "has no document" in refusal(two.call("read", document="a.pdf", pages="1"))


async def test_a_document_is_built_once_whichever_calls_ask_for_it(
    root: Path, tmp_path: Path, long_file: LongFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One call for a folder and one for a file of it, at the same time."""
    monkeypatch.setenv("PAGEINDEX_WORKERS", "2")  # the one that is held keeps no file from the other
    small, long = pdfs.numbered(root / "a.pdf", 3, "reeds"), long_file(root / "b.gated")
    engine = Engine(tmp_path / "home")
    builds = Builds(engine)

    async def tell(build: Build) -> None:
        pass

    async def leave() -> bool:
        return False

    folder = builds.start((small, long), None)
    file = builds.start((small,), None)
    assert builds.start((small,), None) is file, "the same call joins"
    second = await file.watch(tell, leave)
    long_file.opened()
    first = await folder.watch(tell, leave)
    assert first is not None and {result.status for result in first} == {"indexed"} and len(first) == 2
    assert second == first[:1], "one job, for both"
    await builds.close()
    with pytest.raises(StoreError, match="shutting down"):
        builds.start((small,), None)
    engine.close()


def test_a_document_can_be_read_as_soon_as_it_is_published(
    root: Path, tmp_path: Path, long_file: LongFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PAGEINDEX_WORKERS", "2")
    small = pdfs.numbered(root / "a.pdf", 3, "reeds")
    long_file(root / "b.gated")
    with stdio(tmp_path / "home", "--root", root) as one, stdio(tmp_path / "home", "--root", root) as two:
        folder = one.send("tools/call", {"name": "add_documents", "arguments": {"paths": [str(root)]}})
        while not answer(one.call("index_status"))["building"]:
            time.sleep(0.05)
        for client in (one, two):  # the same server's, and another's
            assert answer(client.call("get_index", file_path=str(small)))["total_pages"] == 3
            assert answer(one.call("index_status"))["building"], "the other file is still being built"
        long_file.opened()
        one.answer(folder)  # what was indexed, or after twenty seconds that it goes on
        while answer(one.call("index_status"))["building"]:
            time.sleep(0.1)
        assert answer(one.call("list_documents"))["total"] == 2


def test_servers_share_the_work_of_overlapping_calls(root: Path, tmp_path: Path) -> None:
    for name in ("a.pdf", "b.pdf"):
        pdfs.numbered(root / name, 200, name[0])
    home = tmp_path / "home"
    with stdio(home, "--root", root) as one, stdio(home, "--root", root) as two:
        both = one.send("tools/call", {"name": "add_documents", "arguments": {"paths": [str(root)]}})
        single = two.send("tools/call", {"name": "add_documents", "arguments": {"paths": [str(root / "b.pdf")]}})
        found = [answer(one.answer(both)["result"]), answer(two.answer(single)["result"])]
        assert [f["indexed"] + f["unchanged"] for f in found] == [2, 1] and found[0]["indexed"] == 2
