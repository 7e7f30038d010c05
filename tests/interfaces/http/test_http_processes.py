"""Servers as processes: killed, ended under load, started again, two of one home."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from tests.doubles.replies import FakeReply
from tests.doubles.scripted_server import scripted_server
from tests.interfaces.http.conftest import START, Serving, serving, until, upload, wait_for_jobs

pytestmark = pytest.mark.slow

MILL = "# The mill\n\nThe mill was sold to the town in 1987.\n"


def begun_upload(served: Serving, library: str) -> socket.socket:
    """Half of a file, of a client that goes on sending."""
    connection = socket.create_connection(("127.0.0.1", urlsplit(served.url).port or 0))
    head = (
        f"POST /api/v1/libraries/{library}/documents?name=half.md HTTP/1.1\r\nHost: 127.0.0.1\r\n"
        f"Authorization: Bearer {START}\r\nContent-Type: application/octet-stream\r\nContent-Length: 2000000\r\n\r\n"
    )
    connection.sendall(head.encode() + b"x" * 1_000_000)
    return connection


def test_a_server_killed_in_an_upload_leaves_nothing_half_done(tmp_path: Path) -> None:
    with serving(tmp_path) as served:
        with served.client() as client:
            client.post("/libraries", json={"name": "kept"})
            upload(client, "kept", mill=MILL)
        with begun_upload(served, "kept"):
            until(lambda: list(tmp_path.glob("tmp/*/*.part")))
            served.process.kill()
            served.process.wait()
    with serving(tmp_path) as served, served.client() as client:
        assert [one["name"] for one in client.get("/libraries/kept/documents").json()["documents"]] == ["mill.md"]
        upload(client, "kept", half="# Half\n\nnow all of it")
        assert client.get("/libraries/kept/documents").json()["total"] == 2
        assert not list(tmp_path.glob("tmp/*/*.part")), "what was half written went"


def test_a_browser_stays_signed_in_over_a_restart_and_not_over_another_token(tmp_path: Path) -> None:
    port = free_port()
    for token, status in ((START, 200), (START, 200), ("another-token-of-32-characters..", 401)):
        with serving(tmp_path, "--port", str(port), token=token) as served, served.bare() as browser:
            if status == 200 and token == START and not (tmp_path / "cookie").exists():
                signed = browser.post("/session", json={"token": token}, headers={"Origin": served.url})
                (tmp_path / "cookie").write_text(signed.headers["set-cookie"].partition(";")[0])
            kept = {"Cookie": (tmp_path / "cookie").read_text()}
            assert httpx.get(f"{served.api}/libraries", headers=kept).status_code == status


def test_two_servers_of_one_home_tell_of_the_same_jobs(tmp_path: Path) -> None:
    with serving(tmp_path) as one, serving(tmp_path) as other, one.client() as here, other.client() as there:
        here.post("/libraries", json={"name": "shared"})
        answered = here.post("/libraries/shared/documents", files=[("file", ("mill.md", MILL))]).json()
        [job] = wait_for_jobs(there, [answered["files"][0]["job"]])
        assert job["status"] == "done"
        asked = {"question": "When was the mill sold?", "libraries": ["shared"]}
        for client in (here, there):
            assert client.post("/search", json=asked).json()["results"][0]["doc_name"] == "mill.md"
        secret = here.post("/tokens", json={"name": "t"}).json()["secret"]
        with other.client(secret) as program:
            assert program.get("/libraries").status_code == 200
            here.delete("/tokens/t")
            until(lambda: program.get("/libraries").status_code == 401)


def test_folders_are_watched_while_it_serves(tmp_path: Path) -> None:
    (folder := tmp_path / "watched").mkdir()
    with serving(tmp_path / "home", "--root", str(tmp_path)) as served, served.client() as client:
        client.post("/libraries", json={"name": "kept"})
        assert client.post("/libraries/kept/sources", json={"folder": str(folder)}).status_code == 201
        (folder / "mill.md").write_text(MILL)
        until(lambda: client.get("/libraries/kept/documents").json()["total"])
        until(lambda: client.get("/libraries/kept/documents").json()["documents"][0]["published"])


def test_a_server_killed_in_a_turn_leaves_it_to_the_next(tmp_path: Path) -> None:
    with scripted_server(lambda _: "The mill was sold in 1987 [[source:1]].") as model:
        settings = {"LLM_MODEL": "m", "LLM_BASE_URL": model.url, "EFFORT": "fast", "ENRICH": "never"}
        said = {f"PAGEINDEX_{name}": value for name, value in settings.items()}
        with serving(tmp_path, **said) as served, served.client() as client:
            client.post("/libraries", json={"name": "default"})
            upload(client, "default", mill=MILL)
            path = f"/conversations/{client.post('/conversations', json={}).json()['id']}"
            model.replies.append(FakeReply("The mill was sold. " * 200, wait=0.2))
            begun = client.post(f"{path}/messages", json={"question": "When was the mill sold?"}).json()
            events = f"{path}/messages/{begun['id']}/events"
            with pytest.raises(httpx.TransportError), client.stream("GET", events) as response:
                for piece in response.iter_text():
                    if "event: text" in piece:
                        served.process.kill()
        with serving(tmp_path, **said) as served, served.client() as client:
            with client.stream("GET", events) as response:  # until whoever had it is known to be gone
                assert "event: text" in "".join(response.iter_text())
            left = client.get(path).json()["messages"][-1]
            assert left["status"] == "interrupted" and left["text"].startswith("The")
            client.post(f"{path}/messages/{left['id']}/again", json={})
            with client.stream("GET", events) as response:
                assert "event: ended" in "".join(response.iter_text())
            done = client.get(path).json()["messages"][-1]
            assert (done["status"], done["text"]) == ("complete", "The mill was sold in 1987 [[source:1]].")


def test_sigterm_under_load_ends_in_time_and_tells_streams(tmp_path: Path) -> None:
    with serving(tmp_path) as served, served.client() as client:
        client.post("/libraries", json={"name": "busy"})
        upload(client, "busy", mill=MILL)
        over, wrong, heard, listening = threading.Event(), list[str](), list[str](), list[int]()

        def search() -> None:
            with served.client() as mine:
                while not over.is_set():
                    try:
                        answered = mine.post("/search", json={"question": "mill", "libraries": ["busy"]})
                    except httpx.TransportError:
                        return  # it has ended
                    if answered.status_code not in (200, 503):
                        wrong.append(answered.text)

        def listen() -> None:
            with served.client() as mine, mine.stream("GET", "/jobs/events") as events:
                listening.append(events.status_code)
                heard.append("".join(events.iter_text()))

        threads = [threading.Thread(target=work) for work in (*[search] * 8, *[listen] * 3)]
        for thread in threads:
            thread.start()
        with begun_upload(served, "busy"):
            until(lambda: list(tmp_path.glob("tmp/*/*.part")))
            until(lambda: len(listening) == 3)
            served.process.send_signal(signal.SIGTERM)
            served.process.wait(600)  # the half of a file and the streams would keep it for good
        over.set()
        for thread in threads:
            thread.join(600)
        assert not wrong and len(heard) == 3 and all("event: end\n" in text for text in heard)
        assert not [line for line in served.said if "Traceback" in line], "".join(served.said)


def test_slow_clients_keep_nobody_waiting(served: Serving) -> None:
    """Half a request head each: others are answered."""
    port = urlsplit(served.url).port or 0
    idle = [socket.create_connection(("127.0.0.1", port)) for _ in range(50)]
    try:
        for connection in idle:
            connection.sendall(b"GET /api/v1/health HTTP/1.1\r\nHost: 127")
        with served.client() as client:
            assert client.get("/health").status_code == 200
    finally:
        for connection in idle:
            connection.close()


def test_who_asks_too_often_is_told_when_to_come_back(tmp_path: Path) -> None:
    with serving(tmp_path, PAGEINDEX_HTTP_REQUESTS_PER_MINUTE="60") as served, served.client() as client:
        answers = [client.get("/libraries") for _ in range(15)]
        assert [one.status_code for one in answers[:10]] == [200] * 10 and answers[-1].status_code == 429
        assert int(answers[-1].headers["retry-after"]) >= 1
        assert answers[-1].json()["error"]["code"] == "too_many_requests"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def test_a_home_that_cannot_be_opened_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "catalog.sqlite").mkdir()
    command = [sys.executable, "-m", "hybrid_pageindex", "serve", "--home", str(tmp_path), "--port", "0"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    [line] = done.stderr.splitlines()
    assert done.returncode and "catalog.sqlite: cannot be opened" in line
