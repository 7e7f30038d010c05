"""What a cluster consists of, each part of which can be killed, or stand still, at any moment."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from tests import postgres, qdrant_real, redis_real

TOKEN = "a-start-token-that-nobody-guesses"
DISPATCHER = "hybrid_pageindex.dispatcher"


@dataclass
class Part:
    """``pids`` are its processes' ids."""

    name: str
    start: Callable[[], object]
    kill: Callable[[], object]
    pids: Callable[[], list[int]]

    def pause(self) -> None:
        """As where its machine cannot be reached: it answers nothing, and refuses nothing."""
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        self._signal(signal.SIGCONT)

    def _signal(self, what: signal.Signals) -> None:
        for pid in self.pids():
            with suppress(ProcessLookupError):
                os.kill(pid, what)


class Program:
    """A command that is started again and again."""

    def __init__(self, command: list[str], environment: Mapping[str, str], log: Path) -> None:
        self._command, self._environment, self._log = command, environment, log
        self.start()

    def start(self) -> None:
        with self._log.open("ab") as log:
            self.running = subprocess.Popen(self._command, env=self._environment, stdout=log, stderr=log)

    def kill(self) -> None:
        """It and what it started."""
        for pid in tree(self.running.pid):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.running.wait(60)

    def end(self) -> int:
        self.running.terminate()
        return self.running.wait(60)


class Machines:
    """PostgreSQL, Redis, three nodes of Qdrant, two workers, one of Celery with its beat, and a server."""

    def __init__(
        self,
        folder: Path,
        database: postgres.Server,
        nodes: list[qdrant_real.Node],
        redis: redis_real.Server,
        variables: Mapping[str, str] = {},
    ):
        self.redis, self.nodes, self.logs = redis, nodes, folder / "logs"
        self.logs.mkdir()
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{port}/api/v1"
        self.variables = {
            "PAGEINDEX_POSTGRES_URL": postgres.plain(database.url), "PAGEINDEX_REDIS_URL": redis.url,
            "PAGEINDEX_QDRANT_URL": ",".join(node.url for node in nodes), "PAGEINDEX_QDRANT_SHARDS": "2",
            "PAGEINDEX_QDRANT_REPLICAS": "2", "PAGEINDEX_STORAGE_PATH": str(folder / "home"),
            "PAGEINDEX_HTTP_TOKEN": TOKEN, "PAGEINDEX_WORKERS": "1", "PAGEINDEX_OCR": "never",
            "PAGEINDEX_HTTP_REQUESTS_PER_MINUTE": "0", "PAGEINDEX_LIBRARY_JOBS": "3",
            **variables,
        }  # fmt: skip
        own = [sys.executable, "-m", "hybrid_pageindex"]
        celery = [sys.executable, "-m", "celery", "-A", DISPATCHER]
        commands = {
            "server": [*own, "serve", "--port", str(port)], "worker 1": [*own, "worker"], "worker 2": [*own, "worker"],
            "celery": [*celery, "worker", "--concurrency", "1"],
            "beat": [*celery, "beat"],
        }  # fmt: skip
        environment = {**os.environ, **self.variables}
        self.programs = {
            name: Program(command, environment, self.logs / name.replace(" ", "-"))
            for name, command in commands.items()
        }
        self.parts = [_of(name, program) for name, program in self.programs.items()]
        kill_database = lambda: database.stop(signal.SIGQUIT)  # noqa: E731
        self.parts.append(Part("PostgreSQL", database.start, kill_database, lambda: tree(database.pid)))
        self.parts.append(Part("Redis", redis.start, redis.kill, lambda: [redis.running.pid]))
        for number, node in enumerate(nodes):
            self.parts.append(_node(f"Qdrant {number}", node))

    def close(self) -> None:
        for program in self.programs.values():
            program.kill()


@contextmanager
def machines(folder: Path, variables: Mapping[str, str] = {}) -> Iterator[Machines]:
    """``variables`` are settings of all programs beside those that name the servers."""
    with postgres.server() as database, redis_real.running() as redis, qdrant_real.cluster(3) as nodes:
        made = Machines(folder, database, nodes, redis, variables)
        try:
            yield made
        finally:
            for part in made.parts:
                part.resume()
            made.close()


def tree(pid: int) -> list[int]:
    """A process and all that it started, which end with it here."""
    found = [pid]
    for parent in found:  # which grows meanwhile
        with suppress(OSError):
            for task in Path(f"/proc/{parent}/task").iterdir():
                found += [int(one) for one in (task / "children").read_text().split()]
    return found


def _of(name: str, program: Program) -> Part:
    return Part(name, program.start, program.kill, lambda: tree(program.running.pid))


def _node(name: str, node: qdrant_real.Node) -> Part:
    def start() -> None:
        node.start()
        node.wait_for(node.answers)

    return Part(name, start, node.kill, lambda: [node.pid])
