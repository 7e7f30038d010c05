"""Uploads that only hold connections: they are ended, and leave room for other requests."""

from __future__ import annotations

import select
import socket
import time
from collections.abc import AsyncIterator
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from hybrid_pageindex.http.errors import Refusal
from hybrid_pageindex.http.uploads import received_files
from tests.interfaces.http.conftest import START, serving, until


class Trickle:
    """A request whose body has a piece every ``seconds`` of a clock that nobody waits for."""

    headers = {"content-type": "application/octet-stream"}  # noqa: RUF012

    def __init__(self, monkeypatch: pytest.MonkeyPatch, piece: bytes, seconds: float) -> None:
        self._piece, self._seconds, self._now = piece, seconds, 0.0
        monkeypatch.setattr(time, "monotonic", lambda: self._now)

    async def stream(self) -> AsyncIterator[bytes]:
        for _ in range(20):
            self._now += self._seconds
            yield self._piece


async def test_an_upload_that_only_trickles_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(Refusal) as refused:
        async with received_files(Trickle(monkeypatch, b"x", 20.0), tmp_path, "a.md", 10**6):  # type: ignore[arg-type]
            pass
    assert refused.value.code == "too_slow"
    async with received_files(Trickle(monkeypatch, b"x" * 30_000, 20.0), tmp_path, "a.md", 10**6) as whole:  # type: ignore[arg-type]
        assert len(whole) == 1, "a slow line is no trickle"


def test_uploads_that_are_held_open_leave_a_server_to_others(tmp_path: Path) -> None:
    with serving(tmp_path) as made, made.client() as client, ExitStack() as stack:
        client.post("/libraries", json={"name": "mills"}).raise_for_status()
        where = urlsplit(str(client.base_url))
        head = (
            f"POST /api/v1/libraries/mills/documents?name=a.md HTTP/1.1\r\nHost: {where.netloc}\r\n"
            f"Authorization: Bearer {START}\r\nContent-Type: application/octet-stream\r\n"
            "Content-Length: 100000\r\n\r\nx"
        )
        wires = [
            stack.enter_context(socket.create_connection((where.hostname or "", where.port or 0), timeout=600))
            for _ in range(120)
        ]
        for wire in wires:
            wire.sendall(head.encode())
        until(lambda: len(select.select(wires, [], [], 0)[0]) >= 20)
        refused = select.select(wires, [], [], 0)[0]
        assert len(refused) == 20 and {wire.recv(200).split(b" ")[1] for wire in refused} == {b"503"}
        assert client.get("/libraries").status_code == 200
        for wire in wires:
            wire.close()
        file = {"file": ("a.md", b"# The mill")}
        until(lambda: client.post("/libraries/mills/documents", files=file).status_code == 202)
