"""A database in a SQLite file: opening, exclusive writers, and error translation."""

from __future__ import annotations

import contextlib
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import Connection
from sqlalchemy.exc import DatabaseError, DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from hybrid_core.errors import Advice, BrokenReadError, BusyError, DamageError, DiskFullError, ReadOnlyError, StoreError
from hybrid_core.store.database import BUSY_SECONDS, CONNECTIONS, DEFECTS, UNREADABLE, nothing
from hybrid_core.store.home import is_there, make_file, open_home, space_advice, unwritable
from hybrid_core.store.sqlite_engine import ReadOnlyFile, open_read_only, writable_engine

_DAMAGE = ("not a database", "malformed", "decode")
# the file may still be readable if a write fails with one of these
_REFUSALS = ("unable to open", "disk I/O error", "is full", "readonly")
_OTHER_HOME = Advice(
    "Choose another home with PAGEINDEX_STORAGE_PATH.", "Choose another home with --home or PAGEINDEX_STORAGE_PATH."
)
_ELSEWHERE = "Copy the home to a writable folder, or mount its disk as writable."


class SqliteFile:
    """A SQLite file in WAL mode, created if it is missing. Safe for several threads and processes.

    ``kind`` names the expected content in error messages, such as "a catalog". ``mend`` is the advice for a file that
    is damaged or has other content. A file that cannot be written is opened for reading; ``read_only`` is the reason,
    "" for a writable file.
    """

    def __init__(self, path: Path, kind: str, mend: str, prepare: Callable[[Connection], None]) -> None:
        """Open the file, and let ``prepare`` create or upgrade its tables.

        Raise StoreError if the folder cannot be written or the file has other content, and the errors of ``prepare``.
        """
        self.path, self._kind, self._mend, self._prepare = path, kind, mend, prepare
        self.read_only = ""
        self._writer, self._opening = threading.Lock(), threading.Lock()
        self._view: ReadOnlyFile | None = None
        open_home(path.parent)
        self._open()

    def __str__(self) -> str:
        return str(self.path)

    def close(self) -> None:
        self.engine.dispose()
        if self._view is not None:
            self._view.close()

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Begin a read transaction, in which all reads see the same state.

        Raise BusyError if no connection becomes free, and StoreError if the file cannot be read. Raise BrokenReadError
        if a file that this process cannot lock changes while it is read.
        """
        with self._unchanged(), self._translated(), self.engine.connect() as connection, connection.begin():
            yield connection

    @contextmanager
    def writing(self, before: Callable[[Connection], None] = nothing) -> Iterator[Connection]:
        """Begin a write transaction.

        SQLite allows one writer at a time. Threads wait for each other before they take a connection, so that waiting
        writers leave connections for readers. Raise BusyError if another process writes too long, ReadOnlyError or
        DiskFullError if the file cannot be written, and StoreError for other failures.
        """
        if self.read_only:
            self._open_again()
        with (
            self._writer,
            self._translated(),
            self.engine.connect().execution_options(writing=True) as connection,
            connection.begin(),
        ):
            before(connection)
            yield connection

    def shrink(self) -> None:
        if self.read_only:
            return
        raised = (StoreError, sqlite3.OperationalError)
        with contextlib.suppress(*raised), self._translated(), self.engine.connect() as connection:
            raw = connection.connection.cursor()
            raw.execute("VACUUM")
            raw.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def wipe(self) -> None:
        """Write the write-ahead log into the file and truncate the log, because it still contains deleted rows.

        Wait for readers. If another process reads for too long, the log stays until the next call, or until the last
        process closes the file.
        """
        if self.read_only:
            return
        raised = (StoreError, sqlite3.OperationalError)
        with contextlib.suppress(*raised), self._translated(), self.engine.connect() as connection:
            connection.connection.cursor().execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def check(self) -> None:
        with self.reading() as connection:
            verdict = connection.exec_driver_sql("PRAGMA quick_check(1)").scalar()
        if verdict != "ok":
            raise DamageError(f"{self.path}: this file is damaged ({verdict}).", self._mend)

    def size_bytes(self) -> int:
        files = (self.path.with_name(f"{self.path.name}{more}") for more in ("", "-wal", "-shm"))
        return sum(file.stat().st_size for file in files if file.exists())

    def _open(self) -> None:
        """Open the file for writing or, if it cannot be written, for reading. Raise the errors of ``__init__``."""
        reason = unwritable(self.path) or unwritable(self.path.parent)
        if not reason:
            try:
                self._open_writable()
            except StoreError as error:
                reason = str(error.__cause__.orig) if isinstance(error.__cause__, DBAPIError) else ""
                if not any(sign in reason for sign in _REFUSALS):
                    raise
                try:
                    self._open_view(f"the disk is full: {reason}" if isinstance(error, DiskFullError) else reason)
                except ReadOnlyError:
                    raise error  # noqa: B904 - it says why the file cannot be written
            return
        if not is_there(self.path):
            raise ReadOnlyError(f"{self.path}: this file cannot be opened or created ({reason}).", _OTHER_HOME)
        self._open_view(reason)

    def _open_writable(self) -> None:
        with contextlib.suppress(OSError):  # SQLite's error is more detailed
            make_file(self.path)  # SQLite would create it and its log files with the rights of the umask
        engine = writable_engine(self.path)
        try:
            with engine.connect() as connection:
                self._prepare(connection)
        except (DBAPIError, *UNREADABLE) as error:
            engine.dispose()
            raise self._unopened(error) from error
        except BaseException:
            engine.dispose()
            raise
        self.engine, self._view, self.read_only = engine, None, ""

    def _open_view(self, reason: str) -> None:
        """Open the file for reading. Raise ReadOnlyError if it is empty or needs an upgrade."""
        try:
            view = open_read_only(self.path)
        except DBAPIError as error:
            if not self.path.is_file() or not self.path.stat().st_size:
                raise ReadOnlyError(f"{self.path}: this file cannot be created ({reason}).", _OTHER_HOME) from error
            raise self._unopened(error) from error
        try:
            with view.engine.connect() as connection:
                self._prepare(connection)
        except (DBAPIError, *UNREADABLE) as error:
            view.close()
            raise self._unopened(error) from error
        except ReadOnlyError as error:
            view.close()
            message = f"{self.path}: the catalog must be upgraded to this version, but it cannot be written ({reason})."
            raise ReadOnlyError(message, _ELSEWHERE) from error
        except BaseException:
            view.close()
            raise
        self.engine, self._view, self.read_only = view.engine, view, reason

    def _open_again(self) -> None:
        """Reopen a read-only file for writing if that is possible now. Raise ReadOnlyError or DiskFullError."""
        with self._opening:
            view, reason = self._view, unwritable(self.path) or unwritable(self.path.parent)
            if view is None:
                return
            if reason:
                raise ReadOnlyError(f"{self.path.parent}: this home folder cannot be written ({reason}).", _ELSEWHERE)
            self._open_writable()
            view.close()

    @contextmanager
    def _unchanged(self) -> Iterator[None]:
        """Reopen a file that this process cannot lock, if it has changed since it was opened.

        Raise BrokenReadError if it changes within the context.
        """
        view = self._view
        if view is not None and view.stale:
            with self._opening:
                if self._view is view:
                    self._open()
                    view.close()
            view = self._view
        try:
            yield
        finally:
            if view is not None and view.stale:
                raise BrokenReadError(f"{self.path}: another process changed the file while it was read.", "Try again.")

    @contextmanager
    def _translated(self) -> Iterator[None]:
        """Translate errors of SQLite into BusyError if a retry may help, else into StoreError."""
        try:
            yield
        except PoolTimeoutError as error:
            raise BusyError(
                f"{self.path}: all {CONNECTIONS} database connections of this process were busy for more than "
                f"{BUSY_SECONDS} s.",
                "Try again with fewer requests at once.",
            ) from error
        except UNREADABLE as error:
            raise self._damaged(str(error)) from error
        except DatabaseError as error:
            if isinstance(error, DEFECTS):
                raise
            reason = str(error.orig)
            if "locked" in reason or "busy" in reason:
                raise BusyError(
                    f"{self.path}: another process has been writing to the catalog for more than {BUSY_SECONDS} s.",
                    "Try again.",
                ) from error
            if any(sign in reason for sign in _DAMAGE):
                raise self._damaged(reason) from error
            message = f"{self.path}: this file cannot be read or written ({reason})."
            raise self._failure(message, reason, "Check the folder's permissions and the disk.") from error

    def _unopened(self, error: Exception) -> StoreError:
        reason = str(error.orig) if isinstance(error, DBAPIError) else str(error)
        if not isinstance(error, DBAPIError) or any(sign in reason for sign in _DAMAGE):
            return self._damaged(reason)
        other = Advice(
            "Check the folder's permissions, or choose another home.",
            "Check the folder's permissions, or choose another --home.",
        )
        return self._failure(f"{self.path}: cannot be opened ({reason}).", reason, other)

    def _damaged(self, reason: str) -> DamageError:
        return DamageError(f"{self.path}: this file is not {self._kind}, or it is damaged ({reason}).", self._mend)

    def _failure(self, message: str, reason: str, advice: str) -> StoreError:
        space = space_advice(reason, self.path.parent)
        return DiskFullError(message, space) if space else StoreError(message, advice)
