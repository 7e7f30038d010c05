"""A node of a real Qdrant server for tests, on free ports, gone at the end."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

VARIABLE = "PAGEINDEX_QDRANT_BINARY"
REASON = f"there is no Qdrant server: {VARIABLE} names no program, and none lies in ../shared/bin"
_BESIDE = Path(__file__).resolve().parents[2] / "shared" / "bin" / "qdrant"
_SECONDS = 60
_ENVIRONMENT = dict(os.environ)  # before tests change it: the program may unpack itself below the home


def program() -> Path | None:
    """None where there is none. A program that is named and is not there is an error, so that nothing is skipped."""
    named = os.environ.get(VARIABLE)
    if named and not Path(named).is_file():
        raise FileNotFoundError(f"{VARIABLE}={named} is no file.")
    return Path(named) if named else _BESIDE if _BESIDE.is_file() else None


@contextmanager
def node(api_key: str = "") -> Iterator[str]:
    """The URL of a node that answers."""
    found = program()
    assert found is not None, REASON
    folder = Path(tempfile.mkdtemp(prefix="qdrant-"))
    http, grpc = _free(), _free()
    own = {
        "SERVICE__HOST": "127.0.0.1", "SERVICE__HTTP_PORT": http, "SERVICE__GRPC_PORT": grpc,
        "SERVICE__API_KEY": api_key, "STORAGE__STORAGE_PATH": folder / "storage",
        "STORAGE__SNAPSHOTS_PATH": folder / "snapshots", "TELEMETRY_DISABLED": "true", "LOG_LEVEL": "WARN",
    }  # fmt: skip
    settings = {f"QDRANT__{name}": str(value) for name, value in own.items() if value}
    running = subprocess.Popen(
        [found], env=_ENVIRONMENT | settings, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        url = f"http://127.0.0.1:{http}"
        _reached(url, running)
        yield url
    finally:
        running.terminate()
        running.wait(_SECONDS)
        shutil.rmtree(folder, ignore_errors=True)


def _reached(url: str, running: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + _SECONDS
    while True:
        try:
            with urllib.request.urlopen(url, timeout=_SECONDS) as answer:
                json.load(answer)
                return
        except (urllib.error.URLError, OSError):
            if running.poll() is not None or time.monotonic() > until:
                raise
            time.sleep(0.05)


def _free() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port
