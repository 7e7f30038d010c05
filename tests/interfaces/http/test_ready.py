"""Whether a server says which of its parts is missing, and answers whom it cuts off when it ends."""

from __future__ import annotations

import asyncio
import json
import shutil
import signal
import socket
import time
from collections import namedtuple
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import urlsplit

import pytest

from hybrid_core.errors import StoreError
from hybrid_pageindex import Engine, run
from hybrid_pageindex.engine.search.indexes import Indexes
from hybrid_pageindex.http.server import Server
from tests import buckets
from tests.interfaces.http.conftest import START, serving, until
from tests.qdrant_real import free_port
from tests.relay import Relay


def test_nothing_is_missing_of_a_whole_one(engine: Engine) -> None:
    assert run(engine.admin.missing()) == {}


def test_a_full_disk_is_named(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    run(engine.admin.missing())
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage(10**9, 10**9, 1000))
    assert run(engine.admin.missing()) == {"disk": "The disk is full."}
    monkeypatch.setattr("os.access", lambda *_: False)
    assert run(engine.admin.missing()) == {"disk": "The home cannot be written."}


def test_a_catalog_that_cannot_be_read_is_named(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(_: object) -> int:
        raise StoreError("It is away.")

    monkeypatch.setattr("hybrid_pageindex.engine.health.JobReader.last_event", refused)
    assert list(run(engine.admin.missing())) == ["catalog"]


def test_a_qdrant_server_that_is_away_is_named(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(_: object) -> str:
        raise StoreError("http://10.0.0.1:6333 cannot be reached.")

    monkeypatch.setattr(Indexes, "check", refused)
    missing = run(engine.admin.missing())
    assert list(missing) == ["search"] and "10.0.0.1" not in str(missing)


def test_a_bucket_that_is_away_is_named_until_it_is_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with buckets.bucket() as address:
        host = urlsplit(address.endpoint)
        relay = Relay((str(host.hostname), int(host.port or 80)))
        named = buckets.variables(address) | {"PAGEINDEX_OBJECTS_ENDPOINT": f"http://127.0.0.1:{relay.port}"}
        for name, value in named.items():
            monkeypatch.setenv(name, value)
        with closing(Engine(tmp_path)) as engine:
            assert run(engine.admin.missing()) == {}
            relay.kill()
            missing = run(engine.admin.missing())
            assert list(missing) == ["originals"] and "127.0.0.1" not in str(missing)
            failed = [check for check in run(engine.admin.doctor()).checks if not check.ok]
            assert [check.name for check in failed] == ["originals"]
            relay.start()
            assert run(engine.admin.missing()) == {}
        relay.kill()


def test_a_server_says_what_is_missing(tmp_path: Path) -> None:
    with serving(tmp_path, PAGEINDEX_QDRANT_URL=f"http://127.0.0.1:{free_port()}") as made, made.client() as client:
        answer = client.get("/ready")
        assert answer.status_code == 503
        assert answer.json()["ready"] is False and list(answer.json()["missing"]) == ["search"]


async def test_a_server_looks_for_what_is_missing_once_for_many(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[int] = []

    class Looking:
        async def missing(self) -> dict[str, str]:
            looked.append(1)
            await asyncio.sleep(0)
            return {"disk": "The disk is full."}

    server = Server(SimpleNamespace(admin=Looking()), *[None] * 9)  # type: ignore[arg-type]
    now = [5.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    answers = await asyncio.gather(*(server.missing() for _ in range(20)))
    answers[0]["server"] = "It ends."
    assert len(looked) == 1 and answers[1] == await server.missing() == {"disk": "The disk is full."}
    now[0] += 2
    await server.missing()
    assert len(looked) == 2


def test_health_is_told_whatever_token_is_shown(tmp_path: Path) -> None:
    with serving(tmp_path) as made, made.client("hpi_an-old-one") as client:
        assert [client.get(path).status_code for path in ("/health", "/ready", "/libraries")] == [200, 200, 401]


def test_an_upload_that_the_end_cuts_off_is_told_so(tmp_path: Path) -> None:
    with serving(tmp_path) as made, made.client() as client:
        client.post("/libraries", json={"name": "mills"}).raise_for_status()
        where = urlsplit(str(client.base_url))
        with socket.create_connection((where.hostname or "", where.port or 0), timeout=600) as wire:
            head = (
                f"POST /api/v1/libraries/mills/documents?name=a.md HTTP/1.1\r\nHost: {where.netloc}\r\n"
                f"Authorization: Bearer {START}\r\nContent-Type: application/octet-stream\r\n"
                "Content-Length: 1000000\r\n\r\nthe first"
            )
            wire.sendall(head.encode())
            until(lambda: list(tmp_path.glob("tmp/*/*.part")))
            made.process.send_signal(signal.SIGTERM)
            got = b""
            while chunk := wire.recv(65536):
                got += chunk
    headers, _, body = got.partition(b"\r\n\r\n")
    assert b" 503 " in headers.split(b"\r\n")[0], got
    assert json.loads(body)["error"]["code"] == "server_ending"
