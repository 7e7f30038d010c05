"""A PostgreSQL server for tests: a private cluster of this machine's programs, gone at the end."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from sqlalchemy import Connection, Engine, create_engine, text
from sqlalchemy.exc import OperationalError

from hybrid_core.store.catalog import schema
from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.store.conversations import tables as conversations  # noqa: F401
from hybrid_core.store.home import CATALOG
from hybrid_core.store.jobs import tables  # noqa: F401

_SECONDS = 60


def program(name: str) -> Path | None:
    versions = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"), key=lambda path: int(path.parts[4]))
    found = shutil.which(name)
    return versions[-1] if versions else Path(found) if found else None


def unprivileged() -> str | None:
    """Whom to be: the server refuses to run as root."""
    if os.getuid():
        return None
    names = {one.pw_name for one in pwd.getpwall()}
    return "postgres" if "postgres" in names else "nobody"


class Server:
    """A server of this machine's programs, which can be killed and started again."""

    def __init__(self, folder: Path, initdb: Path, postgres: Path, user: str | None, slow: float = 0) -> None:
        self.folder = folder
        self._quiet = {"user": user, "cwd": folder, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        data = folder / "data"
        made = [initdb, "-D", data, "-U", "tests", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"]
        subprocess.run(made, check=True, timeout=_SECONDS, **self._quiet)  # type: ignore[call-overload]
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        options = [
            "-clisten_addresses=127.0.0.1",
            f"-cport={port}",
            f"-cunix_socket_directories={folder}",
            *([] if slow else ["-F"]),
        ]
        self._command = [postgres, "-D", data, *options]
        self._slow = held_up(slow)
        self.url = f"postgresql+psycopg://tests@127.0.0.1:{port}/postgres"
        self.start()

    def start(self) -> None:
        self._running = subprocess.Popen([*self._slow, *self._command], **self._quiet)  # type: ignore[call-overload]
        reached(self.url)

    def mend(self) -> None:
        """From the next start on its disk is as quick as any."""
        self._slow = []

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """Not waiting for clients; SIGQUIT: as where its machine dies."""
        self._running.send_signal(how)
        self._running.wait(_SECONDS)

    @property
    def pid(self) -> int:
        return self._running.pid


def held_up(seconds: float) -> list[str]:
    """What runs a program as on a disk that takes so long for each write that must last; skips where that cannot be."""
    if not seconds:
        return []
    strace = shutil.which("strace")
    if strace is None:
        pytest.skip("strace is not installed")
    calls = "fsync,fdatasync"
    delay = f"inject={calls}:delay_exit={round(seconds * 1e6)}"
    # -D: the traced program is what was started, so that signals reach it.
    return [strace, "-D", "-f", "-qq", "-e", f"trace={calls}", "-e", delay, "-o", os.devnull]


@contextmanager
def server(slow: float = 0) -> Iterator[Server]:
    """Skips where PostgreSQL is not installed. ``slow``: seconds that its disk takes for each write that must last."""
    initdb, postgres = program("initdb"), program("postgres")
    if initdb is None or postgres is None:
        pytest.skip("PostgreSQL is not installed (Debian: apt-get install postgresql)")
    user = unprivileged()
    folder = Path(tempfile.mkdtemp(prefix="postgres-"))
    try:
        if user is not None:
            shutil.chown(folder, user)
        made = Server(folder, initdb, postgres, user, slow)
        try:
            yield made
        finally:
            made.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def reached(url: str) -> None:
    engine = create_engine(url)
    until = time.monotonic() + _SECONDS
    while True:
        try:
            engine.connect().close()
        except OperationalError:
            if time.monotonic() > until:
                raise
            time.sleep(0.05)
        else:
            engine.dispose()
            return


def new_database(url: str, options: str = "") -> str:
    """The URL of an empty database on a server."""
    admin = create_engine(url, isolation_level="AUTOCOMMIT")
    name = f"t{time.monotonic_ns()}"
    with admin.connect() as connection:
        connection.execute(text(f"CREATE DATABASE {name} {options}"))
    admin.dispose()
    return url.rpartition("/")[0] + "/" + name


def ordered(url: str, statement: str) -> None:
    """Carries out a statement of its own."""
    engine = create_engine(url, isolation_level="AUTOCOMMIT")
    with engine.connect() as admin:
        admin.execute(text(statement))
    engine.dispose()


def plain(url: str) -> str:
    """As PostgreSQL's own programs read it."""
    return url.replace("postgresql+psycopg:", "postgresql:")


def catalog_of(home: Path) -> Catalog:
    """The catalog of a home: its file where it has one, else in whatever database the tests' option has them."""
    file = home / CATALOG
    return Catalog(file, "" if file.exists() else os.environ.get("PAGEINDEX_POSTGRES_URL", ""))


class PostgresStore:
    """The tables of a catalog in a database of their own, whose writers do not take turns."""

    def __init__(self, url: str) -> None:
        self.engine: Engine = create_engine(new_database(url), pool_size=20)
        schema.metadata.create_all(self.engine)

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        with self.engine.connect().execution_options(isolation_level="REPEATABLE READ") as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        with self.engine.begin() as connection:
            yield connection

    def close(self) -> None:
        self.engine.dispose()
