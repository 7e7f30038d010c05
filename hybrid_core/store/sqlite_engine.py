"""Engines for SQLite files: for writing, or for reading without any change on the disk.

SQLite reads a file in WAL mode with the help of a shared-memory file, which it creates. If this cannot be created, only
another machine or user can write the database. So the database is read without it, and reopened when it has changed.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote
from weakref import WeakSet

from sqlalchemy import (
    Boolean,
    Column,
    Connection,
    Engine,
    Float,
    Integer,
    LargeBinary,
    QueuePool,
    String,
    create_engine,
    event,
)
from sqlalchemy.dialects.sqlite.base import SQLiteExecutionContext
from sqlalchemy.exc import DBAPIError
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.selectable import Join
from sqlalchemy.sql.visitors import iterate
from sqlalchemy.types import TypeEngine

from hybrid_core.errors import BusyError, DiskFullError, ReadOnlyError
from hybrid_core.store.database import BUSY_SECONDS, CONNECTIONS, StrangeValueError
from hybrid_core.store.home import scratch_folder, temporary_folder
from hybrid_core.store.tables import CleanString, CleanText

_MAP_BYTES = 268435456
_COPIES = 3  # attempts, since the file may change while it is copied
_SPARE = 1 << 20  # bytes on the disk of a copy for the files that SQLite creates
_STORED_TYPES: tuple[tuple[tuple[type[Any], ...], tuple[type, ...]], ...] = (
    ((Boolean, Integer), (int,)),
    ((Float,), (float, int)),
    ((String, CleanText, CleanString), (str,)),
    ((LargeBinary,), (bytes,)),
)
"""The types that SQLite stores for a column, by the type of the column."""

Stamp = tuple[tuple[int, int, int] | None, ...]


@dataclass(frozen=True, slots=True)
class ReadOnlyFile:
    """A SQLite file opened for reading only.

    ``seen`` is the result of ``stamp`` when it was opened, () if SQLite itself detects changes.
    """

    engine: Engine
    path: Path
    seen: Stamp = ()
    _removing: ExitStack = field(default_factory=ExitStack)

    @property
    def stale(self) -> bool:
        """Return whether the file has changed since it was opened."""
        return bool(self.seen) and stamp(self.path) != self.seen

    def close(self) -> None:
        """Close the file, and delete its temporary copy if there is one."""
        self.engine.dispose()
        self._removing.close()


class _Connection(sqlite3.Connection):
    """A connection that ends all its statements when it is closed, so that SQLite releases the file and its locks.

    Without this, the file stays open until the last statement ends. After a failed read, the traceback of the error
    would keep a statement alive.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._cursors = WeakSet[sqlite3.Cursor]()

    def cursor(self, factory: Any = sqlite3.Cursor) -> Any:
        cursor = super().cursor(factory)
        self._cursors.add(cursor)
        return cursor

    def close(self) -> None:
        for cursor in list(self._cursors):
            with suppress(sqlite3.Error):
                cursor.close()
        super().close()


class _CheckedResults(SQLiteExecutionContext):
    """The execution of a statement that checks whether result values have the types of their columns.

    SQLite stores the type of each value in the row, so a flipped bit can turn a text into bytes or NULL.
    """

    def get_result_processor(self, type_: TypeEngine[Any], colname: str, coltype: Any) -> Any:
        convert = super().get_result_processor(type_, colname, coltype)
        expected = next((stored for kind, stored in _STORED_TYPES if isinstance(type_, kind)), None)
        if expected is None:
            return convert
        types = expected if self._is_filled(colname) else (*expected, type(None))

        def check(value: Any) -> Any:
            if type(value) not in types:
                raise StrangeValueError(f"a value in the column {colname} has the wrong type ({type(value).__name__})")
            return value if convert is None or value is None else convert(value)

        return check

    def _is_filled(self, name: str) -> bool:
        """Return whether a result column can never be NULL.

        It is declared NOT NULL in its table, and its table is not the optional side of an outer join.
        """
        compiled = self.compiled
        if not isinstance(compiled, SQLCompiler) or compiled.statement is None:
            return False
        joins = [part for part in iterate(compiled.statement) if isinstance(part, Join) and part.isouter]
        optional = {table for join in joins for table in iterate(join.right if not join.full else join)}
        columns = [
            part
            for entry in compiled._result_columns
            if entry.keyname == name
            for part in entry.objects
            if isinstance(part, Column)
        ]
        return bool(columns) and not any(column.nullable or column.table in optional for column in columns)


def writable_engine(path: Path) -> Engine:
    # secure_delete: a deleted row is overwritten, so that no word of a deleted document stays in a free page
    durable = ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", "secure_delete=ON")
    return _engine(path, "mode=rwc", (*durable, f"mmap_size={_MAP_BYTES}"))


def open_read_only(path: Path) -> ReadOnlyFile:
    """Open a SQLite file that this process cannot write, including the changes in its write-ahead log.

    If SQLite cannot read the log there, open a temporary copy. Raise DBAPIError if the file cannot be read, BusyError
    if it changes whenever it is copied, and DiskFullError if no disk has space for a copy.
    """
    live = _reading_engine(path, "mode=ro", (f"mmap_size={_MAP_BYTES}",))
    try:
        _read_once(live)
    except DBAPIError:
        live.dispose()
    else:
        return ReadOnlyFile(live, path)
    seen = stamp(path)
    if any(seen[1:]):
        return _open_copy(path)
    # not memory-mapped: if another process truncated the file, this process would crash
    still = _reading_engine(path, "mode=ro&immutable=1")
    try:
        _read_once(still)
    except DBAPIError:
        still.dispose()
        raise
    return ReadOnlyFile(still, path, seen)


def stamp(path: Path) -> Stamp:
    """Return (inode, size, time) of a file and of each of its logs, None in place of an empty or missing log.

    Two equal stamps mean that the content has not changed.
    """
    return tuple(_stamp(file) for file in _file_and_logs(path))


def _stamp(file: Path) -> tuple[int, int, int] | None:
    try:
        status = file.stat()
    except OSError:
        return None
    return (status.st_ino, status.st_size, status.st_mtime_ns) if status.st_size else None


def _file_and_logs(path: Path) -> list[Path]:
    """Return the paths of a file, its write-ahead log and its rollback journal.

    A copy that ``VACUUM INTO`` made has a rollback journal.
    """
    return [path, *(path.with_name(f"{path.name}-{log}") for log in ("wal", "journal"))]


def _open_copy(path: Path) -> ReadOnlyFile:
    logs = " and ".join(file.name for file in _file_and_logs(path)[1:] if _stamp(file))
    purpose = (
        f"{path}: this database must be copied before it can be read, because {logs} contains its latest changes. "
        "The copy"
    )
    for _ in range(_COPIES):
        seen = stamp(path)
        size = sum(state[1] for state in seen if state is not None)
        parent = temporary_folder(size + _SPARE, purpose)
        with ExitStack() as removing:
            copy = removing.enter_context(scratch_folder(parent)) / path.name
            try:
                for source, target in zip(_file_and_logs(path), _file_and_logs(copy), strict=True):
                    if _stamp(source):
                        shutil.copyfile(source, target)
            except OSError as error:
                if stamp(path) != seen:
                    continue
                raise DiskFullError(
                    f"{purpose} failed ({error.strerror}).",
                    "Set the environment variable TMPDIR to a folder with enough free space.",
                ) from error
            if stamp(path) != seen:
                continue
            engine = _reading_engine(copy, "mode=rw", ("query_only=ON", f"mmap_size={_MAP_BYTES}"))
            removing.callback(engine.dispose)
            _read_once(engine)
            return ReadOnlyFile(engine, path, seen, removing.pop_all())
    raise BusyError(
        f"{path}: every attempt to copy this file failed, because another process kept changing it.", "Try again."
    )


def _read_once(engine: Engine) -> None:
    with engine.connect() as connection:
        connection.exec_driver_sql("SELECT 1 FROM sqlite_master LIMIT 1")


def _engine(path: Path, how: str, pragmas: tuple[str, ...] = ()) -> Engine:
    address = f"file:{quote(os.fsencode(path))}?{how}"

    def connect() -> sqlite3.Connection:
        return sqlite3.connect(address, timeout=BUSY_SECONDS, check_same_thread=False, uri=True, factory=_Connection)

    def prepare(connection: sqlite3.Connection, _record: Any) -> None:
        connection.isolation_level = None  # BEGIN is explicit: the implicit one of sqlite3 breaks read snapshots
        for pragma in pragmas:
            connection.execute(f"PRAGMA {pragma}")

    engine = create_engine(
        "sqlite://",
        creator=connect,
        poolclass=QueuePool,
        pool_size=CONNECTIONS,
        max_overflow=0,
        pool_timeout=BUSY_SECONDS,
        pool_use_lifo=True,  # the connection used last has the most pages in memory
    )
    engine.dialect.execution_ctx_cls = _CheckedResults
    event.listen(engine, "connect", prepare)
    event.listen(engine, "begin", _on_begin)
    _close_what_comes_back(engine)
    return engine


def _close_what_comes_back(engine: Engine) -> None:
    """Close connections that are returned to the pool after the engine was disposed of.

    Without this, the pool would keep them open.
    """
    disposals = 0

    def count(_engine: Engine) -> None:
        nonlocal disposals
        disposals += 1

    def note(_connection: object, record: Any, _proxy: object) -> None:
        record.info["disposals"] = disposals

    def check(_connection: object, record: Any) -> None:
        if record.info.get("disposals") != disposals:
            record.invalidate()

    event.listen(engine, "engine_disposed", count)
    event.listen(engine, "checkout", note)
    event.listen(engine, "checkin", check)


def _reading_engine(path: Path, how: str, pragmas: tuple[str, ...] = ()) -> Engine:
    engine = _engine(path, how, pragmas)
    event.listen(engine, "begin", _refuse_to_write)
    return engine


def _refuse_to_write(connection: Connection) -> None:
    """Raise ReadOnlyError when a write transaction begins, before a statement fails with a less clear error."""
    if connection.get_execution_options().get("writing", False):
        raise ReadOnlyError("The catalog is open for reading only, so it cannot be written.")


def _on_begin(connection: Connection) -> None:
    writing = connection.get_execution_options().get("writing", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writing else "BEGIN")
