"""A Redis server for tests: this machine's program on a free port, gone at the end."""

from __future__ import annotations

import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

_SECONDS = 60


class Server:
    """A server of this machine's program, which can be killed and started again: it keeps nothing."""

    def __init__(self, program: str, folder: Path) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self._port = free.getsockname()[1]
        self.url = f"redis://127.0.0.1:{self._port}/0"
        port = ["--port", str(self._port), "--bind", "127.0.0.1"]
        self._command = [program, *port, "--save", "", "--appendonly", "no", "--dir", str(folder)]
        self.start()

    def start(self) -> None:
        self.running = subprocess.Popen(self._command, stdout=subprocess.DEVNULL)
        until = time.monotonic() + _SECONDS
        while True:
            try:
                socket.create_connection(("127.0.0.1", self._port), 1).close()
                return
            except OSError:
                assert time.monotonic() < until and self.running.poll() is None
                time.sleep(0.05)

    def kill(self) -> None:
        self.running.kill()
        self.running.wait(_SECONDS)


@contextmanager
def running() -> Iterator[Server]:
    """Skips where Redis is not installed."""
    program = shutil.which("redis-server")
    if program is None:
        pytest.skip("Redis is not installed (Debian: apt-get install redis-server)")
    folder = Path(tempfile.mkdtemp(prefix="redis-"))
    try:
        made = Server(program, folder)
        try:
            yield made
        finally:
            made.kill()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def server() -> Iterator[str]:
    """Its URL. Skips where Redis is not installed."""
    with running() as made:
        yield made.url
