"""The catalog's tables, and how it is opened: SQLite in WAL mode, one schema version."""

from __future__ import annotations

import contextlib
import json
import sqlite3
import uuid
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import (
    Boolean,
    Column,
    Connection,
    Engine,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
    create_engine,
    event,
    insert,
    inspect,
    select,
    update,
)  # fmt: skip
from sqlalchemy.exc import DatabaseError, DataError, DBAPIError, IntegrityError, NotSupportedError, ProgrammingError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from hybrid_core.errors import BusyError, SchemaError, StoreError
from hybrid_core.store.home import advice_of, make_file, open_home

SCHEMA_VERSION = 4
BUSY_SECONDS = 60
CONNECTIONS = 10  # of one process to one catalog; whoever finds none free waits, and each is held for one short read

_DEFECTS = (DataError, IntegrityError, NotSupportedError, ProgrammingError)  # of our statements, not of the store

metadata = MetaData()

meta = Table("meta", metadata, Column("key", String, primary_key=True), Column("value", String, nullable=False))

embedders = Table(
    "embedders", metadata,
    Column("fingerprint", String, primary_key=True),  # of whatever decides the vectors
    Column("name", Text, nullable=False),
    Column("dimension", Integer, nullable=False),
    Column("sparse", Boolean, nullable=False, server_default="0"),  # whether it gives term weights too
)  # fmt: skip

libraries = Table(
    "libraries", metadata,
    Column("name", String, primary_key=True),
    Column("created_at", String, nullable=False),
    Column("embedder", String, ForeignKey("embedders.fingerprint")),  # whose vectors serve; NULL: none
    Column("next_embedder", String, ForeignKey("embedders.fingerprint")),  # being made, serves when complete
)  # fmt: skip

embeddings = Table(
    "embeddings", metadata,  # can be made again, at a price; kept while a library uses the embedder
    Column("fingerprint", String, primary_key=True),
    Column("text_key", String, primary_key=True),
    Column("vector", LargeBinary, nullable=False),  # float16 (dimension,), unit length
    Column("weights", LargeBinary),  # term weights as uint32 (n,), float16 (n,); NULL where the embedder gives none
    sqlite_with_rowid=False,
)  # fmt: skip

embedded = Table(
    "embedded", metadata,  # contents of which every text has its vector
    Column("content_id", String, primary_key=True),
    Column("fingerprint", String, primary_key=True),
    Column("vectors", Integer, nullable=False),
    sqlite_with_rowid=False,
)  # fmt: skip

contents = Table(
    "contents", metadata,  # what was made of one file's bytes by one pipeline; never changed once written
    Column("content_id", String, primary_key=True),
    Column("sha256", String, nullable=False, index=True),
    Column("format", String, nullable=False),
    Column("pages", Integer, nullable=False),
    Column("sections", Integer, nullable=False),
    Column("title", Text, nullable=False),
    Column("description", Text, nullable=False),
    Column("metadata", Text, nullable=False),  # JSON object of strings
    Column("warnings", Text, nullable=False),  # JSON list of strings
    Column("models", Text, nullable=False, server_default="{}"),  # JSON object: which ones improved it, at what cost
)  # fmt: skip

documents = Table(
    "documents", metadata,
    Column("doc_id", String, primary_key=True),
    Column("library", String, ForeignKey("libraries.name"), nullable=False),
    Column("path", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("content_id", String, ForeignKey("contents.content_id"), index=True),  # NULL: nothing published
    Column("card", Text, nullable=False),  # JSON object
    Column("size", Integer, nullable=False),
    Column("mtime", Float, nullable=False),
    Column("indexed_at", String, nullable=False),
    Column("error", Text, nullable=False),
    UniqueConstraint("library", "path"),
)  # fmt: skip

pages = Table(
    "pages", metadata,
    Column("content_id", String, primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("label", String, nullable=False),
    Column("width", Float, nullable=False),
    Column("height", Float, nullable=False),
    Column("text", Text, nullable=False),
    Column("summary", Text, nullable=False),
    Column("boxes", LargeBinary, nullable=False),  # zlib of int16 (lines, 4)
    Column("needs_ocr", Boolean, nullable=False),
    Column("ocr", Boolean, nullable=False, server_default="0"),  # whether the text was read from the page's picture
    Column("described", Text, nullable=False, server_default=""),
    sqlite_with_rowid=False,
)  # fmt: skip

sections = Table(
    "sections", metadata,
    Column("content_id", String, primary_key=True),
    Column("position", Integer, primary_key=True),  # preorder, from 1; the node_id is its four-digit form
    Column("parent", Integer, nullable=False),  # 0 at the top
    Column("level", Integer, nullable=False),
    Column("title", Text, nullable=False),
    Column("start_page", Integer, nullable=False),
    Column("end_page", Integer, nullable=False),
    Column("anchor", Integer, nullable=False),
    Column("end_anchor", Integer),
    Column("anchor_y", Float, nullable=False),
    Column("source", String, nullable=False),
    Column("synthetic", Boolean, nullable=False),
    Column("summary", Text, nullable=False),
    Column("flags", String, nullable=False),  # space separated
    Column("gaps", Text, nullable=False, server_default="[]"),  # JSON list of strings
    sqlite_with_rowid=False,
)  # fmt: skip

chunks = Table(
    "chunks", metadata,
    Column("content_id", String, primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("section", Integer, nullable=False),  # position in sections
    Column("page", Integer, nullable=False),
    Column("start", Integer, nullable=False),
    Column("end", Integer, nullable=False),
    sqlite_with_rowid=False,
)  # fmt: skip

terms = Table(
    "terms", metadata,
    Column("content_id", String, primary_key=True),
    Column("body", LargeBinary, nullable=False),  # TermCounts of the pages' text
    Column("headings", LargeBinary, nullable=False),  # TermCounts of the headings beginning on each page
)  # fmt: skip

changes = Table(
    "changes", metadata,
    Column("seq", Integer, primary_key=True, autoincrement=True),
    Column("library", String, nullable=False),
    Column("doc_id", String, nullable=False),
    Column("content_id", String),  # NULL: removed
    Index("changes_by_library", "library", "seq"),
    sqlite_autoincrement=True,  # a position must never be used twice, even after the newest row is deleted
)  # fmt: skip

cache = Table(
    "cache", metadata,  # what can be made again: page images, later model replies
    Column("key", String, primary_key=True),  # begins with its kind, then the hashes it depends on
    Column("value", LargeBinary, nullable=False),
    Column("used_at", Float, nullable=False),
    Index("cache_by_use", "used_at"),
)  # fmt: skip


_UNREADABLE = (zlib.error, UnicodeDecodeError, json.JSONDecodeError)  # not what was written comes back
_UPGRADES = {
    1: (
        "ALTER TABLE embedders ADD COLUMN sparse BOOLEAN NOT NULL DEFAULT '0'",
        "ALTER TABLE embeddings ADD COLUMN weights BLOB",
    ),
    2: ("ALTER TABLE pages ADD COLUMN ocr BOOLEAN NOT NULL DEFAULT '0'",),
    3: (
        "ALTER TABLE contents ADD COLUMN models TEXT NOT NULL DEFAULT '{}'",
        "ALTER TABLE pages ADD COLUMN described TEXT NOT NULL DEFAULT ''",
        "ALTER TABLE sections ADD COLUMN gaps TEXT NOT NULL DEFAULT '[]'",
    ),
}
"""What makes a catalog of one version into one of the next."""


def open_engine(path: Path) -> Engine:
    """Open (or create) the catalog file; one of an older version is brought up to this one.

    Raises StoreError where the folder cannot be written or the file is no catalog, SchemaError where
    a newer version wrote it.
    """
    open_home(path.parent)
    with contextlib.suppress(OSError):  # SQLite says more of what is wrong
        make_file(path)  # SQLite would make it, and the two beside it, as the umask lets it
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
    try:
        with engine.connect() as connection:
            _ensure_schema(connection, path)
    except (DBAPIError, *_UNREADABLE) as error:
        engine.dispose()
        raise _unopened(error, path) from error
    return engine


@contextmanager
def told(path: Path) -> Iterator[None]:
    """What SQLite and its connections raise as errors of ours: BusyError where waiting helps, else StoreError."""
    try:
        yield
    except PoolTimeoutError as error:
        raise BusyError(
            f"{path}: all {CONNECTIONS} connections of this process were in use for over {BUSY_SECONDS} s.",
            "Try again, with less at once.",
        ) from error
    except _UNREADABLE as error:
        raise _damaged(path, str(error)) from error
    except DatabaseError as error:
        if isinstance(error, _DEFECTS):
            raise
        reason = str(error.orig)
        if "locked" in reason or "busy" in reason:
            raise BusyError(
                f"{path}: another process has been writing for over {BUSY_SECONDS} s.", "Try again."
            ) from error
        if _says_damage(reason):
            raise _damaged(path, reason) from error
        advice = advice_of(reason, path.parent, "Check the folder's permissions and the disk.")
        raise StoreError(f"{path}: cannot be read or written ({reason}).", advice) from error


def _on_connect(connection: sqlite3.Connection, _record: Any) -> None:
    connection.isolation_level = None  # we say BEGIN ourselves: sqlite3's own way breaks read snapshots
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute("PRAGMA foreign_keys=ON")
    connection.execute("PRAGMA mmap_size=268435456")


def _on_begin(connection: Connection) -> None:
    writing = connection.get_execution_options().get("writing", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writing else "BEGIN")


def _ensure_schema(connection: Connection, path: Path) -> None:
    if not inspect(connection).has_table("meta"):
        connection.rollback()
        connection = connection.execution_options(writing=True)
        with connection.begin():
            metadata.create_all(connection)
            if connection.scalar(select(meta.c.value).where(meta.c.key == "schema")) is None:
                connection.execute(insert(meta).values(key="schema", value=str(SCHEMA_VERSION)))
                connection.execute(insert(meta).values(key="catalog", value=uuid.uuid4().hex))
        return
    found = int(connection.scalar(select(meta.c.value).where(meta.c.key == "schema")) or 0)
    if found > SCHEMA_VERSION:
        raise SchemaError(
            f"{path}: written by a newer version (schema {found}, this one knows {SCHEMA_VERSION}).",
            "Upgrade hybrid-pageindex, or use another --home.",
        )
    if found < SCHEMA_VERSION:
        connection.rollback()
        _upgrade(connection.execution_options(writing=True))


def _upgrade(connection: Connection) -> None:
    """In one transaction, so that a kill leaves the catalog as it was; another process may have done it meanwhile."""
    version = meta.c.key == "schema"
    with connection.begin():
        found = int(connection.scalar(select(meta.c.value).where(version)) or 0)
        for step in range(found, SCHEMA_VERSION):
            for statement in _UPGRADES[step]:
                connection.exec_driver_sql(statement)
        connection.execute(update(meta).where(version).values(value=str(SCHEMA_VERSION)))


def _unopened(error: Exception, path: Path) -> StoreError:
    reason = str(error.orig) if isinstance(error, DBAPIError) else str(error)
    if not isinstance(error, DBAPIError) or _says_damage(reason):
        return _damaged(path, reason)
    advice = advice_of(reason, path.parent, "Check the folder's permissions, or choose another --home.")
    return StoreError(f"{path}: cannot be opened ({reason}).", advice)


def _says_damage(reason: str) -> bool:
    return any(sign in reason for sign in ("not a database", "malformed", "decode"))


def _damaged(path: Path, reason: str) -> StoreError:
    return StoreError(f"{path}: not a catalog, or damaged ({reason}).", "Move it away and index again.")
