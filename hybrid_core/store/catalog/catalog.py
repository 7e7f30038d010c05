"""The catalog: the single source of truth. Reads happen in snapshots, writes in one transaction each."""

from __future__ import annotations

import contextlib
import datetime
import json
import re
import sqlite3
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import Connection, delete, func, insert, select, update
from sqlalchemy.dialects.sqlite import insert as upsert

from hybrid_core.cards.card import card_to_json
from hybrid_core.errors import NotFoundError, StoreError, UsageError
from hybrid_core.store.catalog import rows, schema
from hybrid_core.store.catalog.snapshot import Snapshot
from hybrid_core.types.documents import Card, IndexedContent

_SECONDS_BETWEEN_USES = 60.0  # a value that is read again sooner is not noted again: reading should not mean writing
_LIBRARY_NAME = re.compile(r"[^\W_][\w.\- ]{0,63}")


class Catalog:
    """One catalog file. Safe to use from several threads, and by several processes at once."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._engine = schema.open_engine(path)
        self._writer = threading.Lock()
        self._cache_room: dict[int, int] = {}  # by limit: bytes that may be written before the cache is measured again

    def close(self) -> None:
        self._engine.dispose()

    @contextmanager
    def snapshot(self) -> Iterator[Snapshot]:
        """A consistent view: nothing that is published meanwhile is seen.

        For a short read only: it holds one of ``schema.CONNECTIONS``, and while it is open the write-ahead log
        cannot be folded back. Raises BusyError where none gets free, StoreError where the catalog cannot be read.
        """
        with self._read() as connection:
            yield Snapshot(connection)

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """One write transaction. Raises BusyError where another process writes too long, StoreError otherwise.

        Threads take turns before they take a connection: SQLite lets one write at a time, and those that wait for
        another process to finish must not leave none to readers.
        """
        with (
            self._writer,
            schema.told(self.path),
            self._engine.connect().execution_options(writing=True) as connection,
            connection.begin(),
        ):
            yield connection

    @contextmanager
    def _read(self) -> Iterator[Connection]:
        with schema.told(self.path), self._engine.connect() as connection, connection.begin():
            yield connection

    def ensure_library(self, name: str) -> None:
        """Create a library unless it exists. Raises UsageError for a name that cannot be one."""
        if not _LIBRARY_NAME.fullmatch(name):
            raise UsageError(
                f"'{name}' cannot be a library's name.",
                "Use up to 64 letters, digits, spaces, dots and hyphens.",
            )
        with self.snapshot() as snapshot:
            if name in snapshot.libraries():
                return
        with self.writing() as connection:
            connection.execute(upsert(schema.libraries).values(name=name, created_at=now()).on_conflict_do_nothing())

    def publish(
        self,
        *,
        library: str,
        doc_id: str,
        path: str,
        content_id: str,
        content: IndexedContent | None,
        card: Card,
        size: int,
        mtime: float,
    ) -> None:
        """Switch a document to a version, in one transaction.

        ``content`` is None where the catalog is known to hold that content already; raises
        NotFoundError where it meanwhile does not.
        """
        with self.writing() as connection:
            known = connection.scalar(select(func.count()).where(schema.contents.c.content_id == content_id))
            if not known and content is None:
                raise NotFoundError(f"{path}: its shared content was removed meanwhile.", "Index it again.")
            if not known and content is not None:
                rows.insert_content(connection, content_id, content)
            before = connection.scalar(select(schema.documents.c.content_id).where(schema.documents.c.doc_id == doc_id))
            values = {
                "library": library, "path": path, "name": Path(path).name, "content_id": content_id,
                "card": json.dumps(card_to_json(card), ensure_ascii=False), "size": size, "mtime": mtime,
                "indexed_at": now(), "error": "",
            }  # fmt: skip
            connection.execute(
                upsert(schema.documents).values(doc_id=doc_id, **values).on_conflict_do_update(
                    index_elements=["doc_id"], set_=values
                )
            )  # fmt: skip
            connection.execute(insert(schema.changes).values(library=library, doc_id=doc_id, content_id=content_id))
            if before and before != content_id:
                _drop_unreferenced(connection, [before])

    def touch(self, doc_id: str, *, path: str, size: int, mtime: float, card: Card | None = None) -> None:
        """Record where an unchanged file now lies (moved, or its time stamp changed)."""
        values: dict[str, object] = {
            "path": path,
            "name": Path(path).name,
            "size": size,
            "mtime": mtime,
            "error": "",
        }
        if card is not None:
            values["card"] = json.dumps(card_to_json(card), ensure_ascii=False)
        with self.writing() as connection:
            connection.execute(update(schema.documents).where(schema.documents.c.doc_id == doc_id).values(**values))
            moved = connection.execute(
                select(schema.documents.c.library, schema.documents.c.content_id).where(
                    schema.documents.c.doc_id == doc_id
                )
            ).one_or_none()
            if card is not None and moved is not None:  # readers refresh names and cards when the log moves
                connection.execute(
                    insert(schema.changes).values(library=moved.library, doc_id=doc_id, content_id=moved.content_id)
                )

    def record_failure(self, *, library: str, doc_id: str, path: str, size: int, mtime: float, error: str) -> None:
        """Remember why a file could not be indexed; a version published earlier stays."""
        new = {
            "library": library, "path": path, "name": Path(path).name, "content_id": None, "card": "{}",
            "size": size, "mtime": mtime, "indexed_at": now(), "error": error,
        }  # fmt: skip
        with self.writing() as connection:
            connection.execute(
                upsert(schema.documents).values(doc_id=doc_id, **new).on_conflict_do_update(
                    index_elements=["doc_id"], set_={"error": error}
                )
            )  # fmt: skip

    def discard(self, content_ids: Sequence[str], error: str) -> None:
        """Take out contents that are wrong: their documents stay with ``error``, not published, until they are indexed
        again. What the cache keeps of the same bytes goes too.
        """
        documents, contents = schema.documents.c, schema.contents.c
        with self.writing() as connection:
            for content_id in content_ids:
                sha256 = connection.scalar(select(contents.sha256).where(contents.content_id == content_id))
                users = connection.execute(
                    select(documents.library, documents.doc_id).where(documents.content_id == content_id)
                ).all()
                values = {"content_id": None, "error": error}
                connection.execute(update(schema.documents).where(documents.content_id == content_id).values(**values))
                for user in users:
                    connection.execute(
                        insert(schema.changes).values(library=user.library, doc_id=user.doc_id, content_id=None)
                    )
                rows.delete_content(connection, content_id)
                for kind in ("ocr", "image"):
                    key = schema.cache.c.key
                    connection.execute(delete(schema.cache).where(key.startswith(f"{kind}/{sha256}/", autoescape=True)))

    def remove(self, doc_ids: Sequence[str]) -> None:
        """Remove documents, in one transaction; content that nothing else uses goes with them."""
        with self.writing() as connection:
            contents = []
            for doc_id in doc_ids:
                row = connection.execute(
                    select(schema.documents.c.library, schema.documents.c.content_id).where(
                        schema.documents.c.doc_id == doc_id
                    )
                ).one_or_none()
                if row is None:
                    continue
                connection.execute(delete(schema.documents).where(schema.documents.c.doc_id == doc_id))
                connection.execute(insert(schema.changes).values(library=row.library, doc_id=doc_id, content_id=None))
                if row.content_id:
                    contents.append(row.content_id)
            _drop_unreferenced(connection, contents)

    def remove_library(self, name: str) -> None:
        """Remove a library with all its documents."""
        with self.snapshot() as snapshot:
            doc_ids = [document.doc_id for document in snapshot.documents(name)]
        self.remove(doc_ids)
        with self.writing() as connection:
            connection.execute(delete(schema.libraries).where(schema.libraries.c.name == name))
            rows.drop_unused_vectors(connection)

    def cached(self, key: str) -> bytes | None:
        """A cached value, or None. One that is read stays longer in the cache."""
        with self._read() as connection:
            held = connection.execute(
                select(schema.cache.c.value, schema.cache.c.used_at).where(schema.cache.c.key == key)
            ).one_or_none()
        if held is None:
            return None
        if time.time() - held.used_at > _SECONDS_BETWEEN_USES:
            with contextlib.suppress(StoreError), self.writing() as connection:  # without it only the order suffers
                connection.execute(update(schema.cache).where(schema.cache.c.key == key).values(used_at=time.time()))
        value: bytes = held.value
        return value

    def put_cache(self, key: str, value: bytes, limit: int) -> None:
        """Keep a value that can be made again; the longest unused go while the cache is over ``limit`` bytes."""
        self.put_caches({key: value}, limit)

    def put_caches(self, values: Mapping[str, bytes], limit: int) -> None:
        """``put_cache`` for several values, in one transaction.

        The cache is measured when this process has written an eighth of what was free when it was last measured: that
        takes longer the more it holds. So it may be over ``limit`` for a while where several processes write.
        """
        with self.writing() as connection:
            for key, value in values.items():
                new = {"value": value, "used_at": time.time()}
                connection.execute(
                    upsert(schema.cache).values(key=key, **new).on_conflict_do_update(index_elements=["key"], set_=new)
                )
            room = self._cache_room.get(limit, 0) - sum(map(len, values.values()))
            if room > 0:
                self._cache_room = {limit: room}
                return
            total = connection.scalar(select(func.coalesce(func.sum(func.length(schema.cache.c.value)), 0))) or 0
            self._cache_room = {limit: max(0, limit - total) // 8}
            if total <= limit:
                return
            for old in connection.execute(
                select(schema.cache.c.key, func.length(schema.cache.c.value).label("size")).order_by(
                    schema.cache.c.used_at
                )
            ).all():
                if total <= limit:
                    break
                connection.execute(delete(schema.cache).where(schema.cache.c.key == old.key))
                total -= old.size

    def clear_cache(self, prefix: str = "") -> None:
        """Forget what is kept, or of it that whose keys begin so."""
        with self.writing() as connection:
            connection.execute(delete(schema.cache).where(schema.cache.c.key.startswith(prefix, autoescape=True)))

    def shrink(self) -> None:
        """Give deleted rows' space back to the disk. Skipped silently while another process is writing."""
        raised = (StoreError, sqlite3.OperationalError)
        with contextlib.suppress(*raised), schema.told(self.path), self._engine.connect() as connection:
            raw = connection.connection.cursor()
            raw.execute("VACUUM")
            raw.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def check(self) -> str:
        """Schema version and SQLite's own quick check. Raises StoreError where that finds damage."""
        with self._read() as connection:
            found = connection.exec_driver_sql("PRAGMA quick_check(1)").scalar()
        if found != "ok":
            raise StoreError(f"{self.path}: damaged ({found}).", "Move it away and index again.")
        return f"schema {schema.SCHEMA_VERSION}, {self.path.stat().st_size / 1e6:.1f} MB"


def now() -> str:
    """The time as it is stored: ISO 8601, UTC, whole seconds."""
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")


def _drop_unreferenced(connection: Connection, content_ids: Sequence[str]) -> None:
    for content_id in set(content_ids):
        used = select(func.count()).where(schema.documents.c.content_id == content_id)
        if not connection.scalar(used):
            rows.delete_content(connection, content_id)
