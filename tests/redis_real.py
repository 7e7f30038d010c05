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


@contextmanager
def server() -> Iterator[str]:
    """Its URL. Skips where Redis is not installed."""
    program = shutil.which("redis-server")
    if program is None:
        pytest.skip("Redis is not installed (Debian: apt-get install redis-server)")
    folder = Path(tempfile.mkdtemp(prefix="redis-"))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [program, "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]
    running = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL)
    try:
        until = time.monotonic() + _SECONDS
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                break
            except OSError:
                assert time.monotonic() < until and running.poll() is None
                time.sleep(0.05)
        yield f"redis://127.0.0.1:{port}/0"
    finally:
        running.terminate()
        running.wait(_SECONDS)
        shutil.rmtree(folder, ignore_errors=True)
