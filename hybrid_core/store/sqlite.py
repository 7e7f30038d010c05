"""A file of SQLite: how it is opened, the turns of those who write, and what goes wrong with it as errors of ours."""

from __future__ import annotations

import contextlib
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.exc import DatabaseError, DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from hybrid_core.errors import BusyError, StoreError
from hybrid_core.store.database import BUSY_SECONDS, CONNECTIONS, DEFECTS, UNREADABLE, nothing
from hybrid_core.store.home import advice_of, make_file, open_home

_DAMAGE = ("not a database", "malformed", "decode")


class SqliteFile:
    """One file in WAL mode, created where there is none. Safe for several threads and processes.

    ``kind`` is what it should be in words, and ``mend`` what to do where it is not that or damaged.
    """

    def __init__(self, path: Path, kind: str, mend: str, prepare: Callable[[Connection], None]) -> None:
        """``prepare`` brings what was found, or nothing, to what this version works with.

        Raises StoreError where the folder cannot be written or the file is not of its kind, and what ``prepare`` does.
        """
        self.path, self._kind, self._mend = path, kind, mend
        self._writer = threading.Lock()
        open_home(path.parent)
        with contextlib.suppress(OSError):  # SQLite says more of what is wrong
            make_file(path)  # SQLite would make it, and the two beside it, as the umask lets it
        self.engine = _engine(path)
        try:
            with self.engine.connect() as connection:
                prepare(connection)
        except (DBAPIError, *UNREADABLE) as error:
            self.engine.dispose()
            raise self._unopened(error) from error
        except BaseException:
            self.engine.dispose()
            raise

    def __str__(self) -> str:
        return str(self.path)

    def close(self) -> None:
        self.engine.dispose()

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """One consistent view. Raises BusyError where no connection gets free, StoreError where it cannot be read."""
        with self._told(), self.engine.connect() as connection, connection.begin():
            yield connection

    @contextmanager
    def writing(self, before: Callable[[Connection], None] = nothing) -> Iterator[Connection]:
        """One write transaction. Raises BusyError where another process writes too long, StoreError otherwise.

        Threads take turns before they take a connection: SQLite lets one write at a time, and those that wait for
        another process to finish must not leave none to readers.
        """
        with (
            self._writer,
            self._told(),
            self.engine.connect().execution_options(writing=True) as connection,
            connection.begin(),
        ):
            before(connection)
            yield connection

    def shrink(self) -> None:
        raised = (StoreError, sqlite3.OperationalError)
        with contextlib.suppress(*raised), self._told(), self.engine.connect() as connection:
            raw = connection.connection.cursor()
            raw.execute("VACUUM")
            raw.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def check(self) -> None:
        with self.reading() as connection:
            found = connection.exec_driver_sql("PRAGMA quick_check(1)").scalar()
        if found != "ok":
            raise StoreError(f"{self.path}: damaged ({found}).", self._mend)

    def size_bytes(self) -> int:
        files = (self.path.with_name(f"{self.path.name}{more}") for more in ("", "-wal", "-shm"))
        return sum(file.stat().st_size for file in files if file.exists())

    @contextmanager
    def _told(self) -> Iterator[None]:
        """What SQLite and its connections raise as errors of ours: BusyError where waiting helps, else StoreError."""
        try:
            yield
        except PoolTimeoutError as error:
            raise BusyError(
                f"{self.path}: all {CONNECTIONS} connections of this process were in use for over {BUSY_SECONDS} s.",
                "Try again, with less at once.",
            ) from error
        except UNREADABLE as error:
            raise self._damaged(str(error)) from error
        except DatabaseError as error:
            if isinstance(error, DEFECTS):
                raise
            reason = str(error.orig)
            if "locked" in reason or "busy" in reason:
                raise BusyError(
                    f"{self.path}: another process has been writing for over {BUSY_SECONDS} s.", "Try again."
                ) from error
            if any(sign in reason for sign in _DAMAGE):
                raise self._damaged(reason) from error
            advice = advice_of(reason, self.path.parent, "Check the folder's permissions and the disk.")
            raise StoreError(f"{self.path}: cannot be read or written ({reason}).", advice) from error

    def _unopened(self, error: Exception) -> StoreError:
        reason = str(error.orig) if isinstance(error, DBAPIError) else str(error)
        if not isinstance(error, DBAPIError) or any(sign in reason for sign in _DAMAGE):
            return self._damaged(reason)
        advice = advice_of(reason, self.path.parent, "Check the folder's permissions, or choose another --home.")
        return StoreError(f"{self.path}: cannot be opened ({reason}).", advice)

    def _damaged(self, reason: str) -> StoreError:
        return StoreError(f"{self.path}: not {self._kind}, or damaged ({reason}).", self._mend)


def _engine(path: Path) -> Engine:
    engine = create_engine(
        f"sqlite:///{path}",
        connect_args={"timeout": BUSY_SECONDS, "check_same_thread": False},
        pool_size=CONNECTIONS,
        max_overflow=0,
        pool_timeout=BUSY_SECONDS,
        pool_use_lifo=True,  # the one used last has the most pages in memory
    )
    event.listen(engine, "connect", _on_connect)
    event.listen(engine, "begin", _on_begin)
    return engine


def _on_connect(connection: sqlite3.Connection, _record: Any) -> None:
    connection.isolation_level = None  # we say BEGIN ourselves: sqlite3's own way breaks read snapshots
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute("PRAGMA foreign_keys=ON")
    connection.execute("PRAGMA mmap_size=268435456")


def _on_begin(connection: Connection) -> None:
    writing = connection.get_execution_options().get("writing", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writing else "BEGIN")
