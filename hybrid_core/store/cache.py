"""A bounded cache of page images, OCR results and model replies, which are slow or costly to recompute.

It is a separate file, so that cache writes and publications never wait for each other. The file may be deleted while no
process runs.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import TypeVar

from sqlalchemy import (
    Column,
    Connection,
    Float,
    Index,
    LargeBinary,
    MetaData,
    String,
    Table,
    delete,
    func,
    select,
    update,
)
from sqlalchemy.dialects.sqlite import insert as upsert

from hybrid_core.errors import DamageError, DiskFullError, ReadOnlyError, SchemaError, StoreError
from hybrid_core.store.database import parts
from hybrid_core.store.home import UNWRITABLE
from hybrid_core.store.sqlite import SqliteFile

_log = logging.getLogger(__name__)

_VERSION = 1
_REPLIES = ("reply/", "part/")  # the keys of replies of models begin with these
_SECONDS_BETWEEN_USES = 60.0  # interval between two updates of the time of last use, so that reads rarely write

T = TypeVar("T")

_metadata = MetaData()
_entries = Table(
    "entries", _metadata,
    Column("key", String, primary_key=True),  # the kind of the value, followed by the hashes that it depends on
    Column("value", LargeBinary, nullable=False),
    Column("used_at", Float, nullable=False),
    Index("entries_by_use", "used_at"),
)  # fmt: skip


class Cache:
    """A cache of at most ``limit`` bytes, which evicts the least recently used values. The first use opens the file.

    Safe for several threads and processes. Methods raise StoreError if the file cannot be used. Reads continue to work
    if the file cannot be written. A damaged file is replaced by an empty one.
    """

    def __init__(self, path: Path, limit: int) -> None:
        self.path, self._limit = path, limit
        self._opened: SqliteFile | None = None
        self._lock = threading.Lock()
        self._refused = False  # whether a write failure has been logged
        self._room = 0  # bytes that may be written before the size of the cache is measured again

    def close(self) -> None:
        with self._lock:
            if self._opened is not None:
                self._opened.close()
                self._opened = None

    def get(self, key: str) -> bytes | None:
        """Return a cached value, None if it is missing. The read updates the time of last use."""

        def read(file: SqliteFile) -> bytes | None:
            with file.reading() as connection:
                row = connection.execute(
                    select(_entries.c.value, _entries.c.used_at).where(_entries.c.key == key)
                ).one_or_none()
            if row is None:
                return None
            if time.time() - row.used_at > _SECONDS_BETWEEN_USES:
                # a failure affects only the order of eviction
                with contextlib.suppress(StoreError), file.writing() as connection:
                    connection.execute(update(_entries).where(_entries.c.key == key).values(used_at=time.time()))
            value: bytes = row.value
            return value

        try:
            return self._whole(read)
        except (ReadOnlyError, DiskFullError):  # the file does not exist and cannot be created
            return None

    def put(self, values: Mapping[str, bytes]) -> None:
        """Store values in one transaction. They are durable when this returns.

        The total size is measured only after this process has written an eighth of the free space, because measuring a
        large cache is slow. So several writers may exceed the limit for a while.
        """
        now = time.time()

        def write(file: SqliteFile) -> None:
            with file.writing() as connection:
                for key, value in values.items():
                    new = {"value": value, "used_at": now}
                    connection.execute(
                        upsert(_entries).values(key=key, **new).on_conflict_do_update(index_elements=["key"], set_=new)
                    )
                self._room -= sum(map(len, values.values()))
                if self._room <= 0:
                    self._room = max(0, self._limit - self._drop_oldest(connection)) // 8

        self._whole(write)

    def offer(self, values: Mapping[str, bytes]) -> None:
        """Store values, but do nothing if the home cannot be written. A full disk is logged once."""
        try:
            self.put(values)
        except ReadOnlyError:  # logged when the home was opened
            return
        except DiskFullError as error:
            if not self._refused:
                _log.warning("the cache cannot store page images and OCR texts: %s", error)
            self._refused = True

    def _drop_oldest(self, connection: Connection) -> int:
        """Delete the least recently used entries until the limit is met. Return the total size before, in bytes."""
        length = func.length(_entries.c.value)
        total = size = connection.scalar(select(func.coalesce(func.sum(length), 0))) or 0
        if total > self._limit:
            for entry in connection.execute(
                select(_entries.c.key, length.label("size")).order_by(_entries.c.used_at)
            ).all():
                if total <= self._limit:
                    break
                connection.execute(delete(_entries).where(_entries.c.key == entry.key))
                total -= entry.size
        return size

    def clear(self, prefix: str = "") -> None:
        """Delete all entries, or those whose keys begin with ``prefix``."""
        if not self.path.exists():
            return

        def forget(file: SqliteFile) -> None:
            with file.writing() as connection:
                connection.execute(delete(_entries).where(_entries.c.key.startswith(prefix, autoescape=True)))
            if not prefix:
                file.shrink()

        self._whole(forget)

    def forget_files(self, hashes: Collection[str]) -> None:
        """Delete the entries that were derived from files with these hashes, and all replies of models.

        The keys of replies name no file, so no reply can be kept.
        """
        if not self.path.exists():
            return

        def forget(file: SqliteFile) -> None:
            with file.reading() as connection:
                keys = connection.scalars(select(_entries.c.key)).all()
            chosen = [key for key in keys if key.startswith(_REPLIES) or any(part in hashes for part in key.split("/"))]
            for some in parts(chosen):
                with file.writing() as connection:
                    connection.execute(delete(_entries).where(_entries.c.key.in_(some)))
            file.wipe()

        self._whole(forget)

    def check(self) -> str:
        """Return the number of entries and the size as text, or that the file was damaged and has been deleted."""
        if not self.path.exists():
            return "empty"
        try:
            self._file().check()
            with self._file().reading() as connection:
                entries = connection.scalar(select(func.count()).select_from(_entries))
        except DamageError as error:
            self._delete(error)
            return "empty: the file was damaged, so it was deleted; the engine fills it again"
        return f"{entries:,} entries, {self.path.stat().st_size / 1e6:.1f} MB"

    def _whole(self, use: Callable[[SqliteFile], T]) -> T:
        """Use the file. If it is damaged, replace it by an empty one, and use that."""
        try:
            return use(self._file())
        except DamageError as error:
            self._delete(error)
            return use(self._file())

    def _delete(self, error: DamageError) -> None:
        self.close()
        try:
            for name in ("", "-wal", "-shm"):
                self.path.with_name(self.path.name + name).unlink(missing_ok=True)
        except OSError as refused:
            raise (ReadOnlyError(error.message, error.advice) if refused.errno in UNWRITABLE else error) from refused
        _log.warning("the cache was damaged, so it was deleted; the engine fills it again: %s", error.message)

    def _file(self) -> SqliteFile:
        with self._lock:
            if self._opened is None:
                mend = "Delete the file: it is a cache, and the engine fills it again."
                self._opened = SqliteFile(self.path, "a cache", mend, self._prepare)
            return self._opened

    def _prepare(self, connection: Connection) -> None:
        version = connection.exec_driver_sql("PRAGMA user_version").scalar() or 0
        connection.rollback()
        if version > _VERSION:
            raise SchemaError(
                f"{self.path}: a newer version wrote this file (format version {version}; this program reads up to "
                f"{_VERSION}).",
                "Upgrade hybrid-pageindex, or delete the file. It is only a cache, which the engine fills again.",
            )
        if version < _VERSION:
            with connection.execution_options(writing=True).begin():
                _metadata.create_all(connection)
                connection.exec_driver_sql(f"PRAGMA user_version = {_VERSION}")
