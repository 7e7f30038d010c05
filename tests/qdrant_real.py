"""Nodes of a real Qdrant server for tests, one alone or three together, on free ports, gone at the end."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

VARIABLE = "PAGEINDEX_QDRANT_BINARY"
VERSION = "1.19.0"  # with which the tests run, and which the compose files name
REASON = f"there is no Qdrant server: {VARIABLE} names no program, and none lies in ../shared/bin"
_BESIDE = Path(__file__).resolve().parents[2] / "shared" / "bin" / "qdrant"
_SECONDS = 60
_MEMORY = "/dev/shm"  # a node makes hundreds of files for each collection
_ENVIRONMENT = dict(os.environ)  # before tests change it: the program may unpack itself below the home


def program() -> Path | None:
    """None where there is none. A program that is named and is not there is an error, so that nothing is skipped."""
    named = os.environ.get(VARIABLE)
    if named and not Path(named).is_file():
        raise FileNotFoundError(f"{VARIABLE}={named} is no file.")
    return Path(named) if named else _BESIDE if _BESIDE.is_file() else None


class Node:
    """One server process with a folder of its own, which can be killed, stopped and started again."""

    def __init__(self, folder: Path, api_key: str = "", first: Node | None = None, *, clustered: bool = False) -> None:
        self.folder, self.api_key = folder, api_key
        http, grpc, self._p2p = free_port(), free_port(), free_port()
        self.url = f"http://127.0.0.1:{http}"
        self._to: list[str] = []
        self._alone = ["--uri", f"http://127.0.0.1:{self._p2p}"] if clustered else []
        own = {
            "SERVICE__HOST": "127.0.0.1", "SERVICE__HTTP_PORT": http, "SERVICE__GRPC_PORT": grpc,
            "SERVICE__API_KEY": api_key, "STORAGE__STORAGE_PATH": folder / "storage",
            "STORAGE__SNAPSHOTS_PATH": folder / "snapshots", "STORAGE__WAL__WAL_CAPACITY_MB": 1,
            "TELEMETRY_DISABLED": "true", "LOG_LEVEL": "WARN",
        }  # fmt: skip
        if clustered:
            own |= {"CLUSTER__ENABLED": "true", "CLUSTER__P2P__PORT": self._p2p}
        self._settings = {f"QDRANT__{name}": str(value) for name, value in own.items() if value}
        self.start(first)

    def start(self, first: Node | None = None) -> None:
        """Begin, or begin again after ``kill``; it may not answer yet. ``first`` is of the cluster that it comes to."""
        self._to = self._to if first is None else ["--bootstrap", f"http://127.0.0.1:{first._p2p}"]
        self.folder.mkdir(parents=True, exist_ok=True)
        self._running = subprocess.Popen(
            [program() or "", *self._alone, *self._to], env=_ENVIRONMENT | self._settings, cwd=self.folder,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip

    def kill(self) -> None:
        self._running.kill()
        self._running.wait(_SECONDS)

    @property
    def pid(self) -> int:
        return self._running.pid

    def wipe(self) -> None:
        """Killed, and nothing is left of what it held."""
        self.kill()
        shutil.rmtree(self.folder)

    def pause(self) -> None:
        """From now on it takes connections, as its kernel does, and answers none."""
        self._running.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        self._running.send_signal(signal.SIGCONT)

    def asked(self, path: str, method: str = "GET", body: Any = None) -> Any:
        headers = {"api-key": self.api_key} if self.api_key else {}
        given = None if body is None else json.dumps(body).encode()
        headers |= {"content-type": "application/json"} if given else {}
        request = urllib.request.Request(self.url + path, given, headers, method=method)
        with urllib.request.urlopen(request, timeout=_SECONDS) as answer:
            return json.load(answer)

    def wait_for(self, ready: Callable[[], bool]) -> None:
        """Return when it answers and is ``ready``."""
        until = time.monotonic() + _SECONDS
        while True:
            try:
                if ready():
                    return
            except (urllib.error.URLError, OSError):
                if self._running.poll() is not None:
                    raise
            if time.monotonic() > until:
                raise TimeoutError(f"The Qdrant node {self.url} is not ready.")
            time.sleep(0.05)

    def answers(self) -> bool:
        return bool(self.asked("/"))


@contextmanager
def cluster(nodes: int = 1, api_key: str = "") -> Iterator[list[Node]]:
    """So many nodes that answer and, of several, know each other."""
    assert program() is not None, REASON
    folder = Path(tempfile.mkdtemp(prefix="qdrant-", dir=_MEMORY if os.access(_MEMORY, os.W_OK) else None))
    running: list[Node] = []
    try:
        for number in range(nodes):
            first = running[0] if running else None
            running.append(Node(folder / str(number), api_key, first, clustered=nodes > 1))
            running[-1].wait_for(running[-1].answers)
        for node in running if nodes > 1 else ():
            node.wait_for(lambda node=node: len(node.asked("/cluster")["result"]["peers"]) == nodes)  # type: ignore[misc]
        yield running
    finally:
        for node in running:
            node.kill()
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def node(api_key: str = "") -> Iterator[str]:
    """The address of one node that answers."""
    with cluster(1, api_key) as [running]:
        yield running.url


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port
