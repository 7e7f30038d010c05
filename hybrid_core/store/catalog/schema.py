"""The tables of a catalog, and their creation in a database."""

from __future__ import annotations

import uuid
from contextlib import suppress
from dataclasses import fields
from pathlib import Path

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Connection,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    UniqueConstraint,
    delete,
    insert,
    inspect,
    select,
    text,
    update,
)  # fmt: skip

from hybrid_core.errors import Advice, SchemaError, StoreError
from hybrid_core.store.catalog.upgrades import upgrade
from hybrid_core.store.database import DAMAGED, Database
from hybrid_core.store.home import check_not_recovering, open_home
from hybrid_core.store.postgres import PostgresDatabase
from hybrid_core.store.sqlite import SqliteFile
from hybrid_core.store.tables import CleanString as String
from hybrid_core.store.tables import CleanText as Text
from hybrid_core.store.tables import metadata, partial_index
from hybrid_core.types.files import ContentVersion

SCHEMA_VERSION = 32
PROGRAM = "program"
"""The key in ``meta`` of the oldest version of the program that surely reads the catalog."""

VERSION = tuple(field.name for field in fields(ContentVersion))

meta = Table("meta", metadata, Column("key", String, primary_key=True), Column("value", String, nullable=False))

embedders = Table(
    "embedders", metadata,
    Column("fingerprint", String, primary_key=True),  # hash of everything that determines the vectors
    Column("name", Text, nullable=False),
    Column("dimension", Integer, nullable=False),
    Column("sparse", Boolean, nullable=False, server_default="0"),  # whether it also computes term weights
)  # fmt: skip

libraries = Table(
    "libraries", metadata,
    Column("id", String, primary_key=True),  # stays when the name changes; index folders and documents refer to it
    Column("name", String, nullable=False, server_default=""),
    Column("alias", String, nullable=False, server_default=""),
    Column("created_at", String, nullable=False),
    Column("embedder", String, ForeignKey("embedders.fingerprint")),  # the embedder that searches use; NULL: none
    # the embedder whose vectors are being computed; searches use it when they are complete
    Column("next_embedder", String, ForeignKey("embedders.fingerprint")),
)  # fmt: skip

embeddings = Table(
    "embeddings", metadata,  # can be recomputed, at a cost; stored as long as a library uses the embedder
    Column("fingerprint", String, primary_key=True),
    Column("text_key", String, primary_key=True),
    Column("vector", LargeBinary, nullable=False),  # float16 (dimension,), unit length
    Column("weights", LargeBinary),  # term weights as uint32 (n,), float16 (n,); NULL if the embedder computes none
    sqlite_with_rowid=False,
)  # fmt: skip

embedded = Table(
    "embedded", metadata,  # contents whose pages all have vectors
    Column("content_id", String, primary_key=True),
    Column("fingerprint", String, primary_key=True),
    Column("vectors", Integer, nullable=False),
    Column("chunks", Boolean, nullable=False, server_default="0"),  # whether all chunks have vectors too
    sqlite_with_rowid=False,
)  # fmt: skip

contents = Table(
    "contents", metadata,  # the result of indexing one file's bytes; never changed once written
    Column("content_id", String, primary_key=True),
    Column("sha256", String, nullable=False, index=True),
    Column("format", String, nullable=False),
    Column("parser", String, nullable=False, server_default=""),
    Column("chunks", String, nullable=False, server_default=""),
    Column("build", String, nullable=False, server_default=""),
    Column("ocr", String, nullable=False, server_default=""),
    Column("ocr_pages", String, nullable=False, server_default=""),
    Column("llm", String, nullable=False, server_default=""),
    Column("vlm", String, nullable=False, server_default=""),
    Column("models_partly", String, nullable=False, server_default=""),
    Column("outline", String, nullable=False, server_default=""),
    Column("pages", Integer, nullable=False),
    Column("sections", Integer, nullable=False),
    Column("title", Text, nullable=False),
    Column("description", Text, nullable=False),
    Column("metadata", Text, nullable=False),  # JSON object of strings
    Column("warnings", Text, nullable=False),  # JSON list of strings
    # JSON object: the models that improved it, and their usage
    Column("models", Text, nullable=False, server_default="{}"),
    Index("contents_by_version", *VERSION, unique=True),
)  # fmt: skip

documents = Table(
    "documents", metadata,
    Column("doc_id", String, primary_key=True),
    Column("library", String, ForeignKey("libraries.id"), nullable=False),
    Column("path", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("content_id", String, ForeignKey("contents.content_id"), index=True),  # NULL: not published
    Column("card", Text, nullable=False),  # JSON object: the facts that were extracted from the file
    Column("corrections", Text, nullable=False, server_default="{}"),  # JSON object: values that users entered instead
    Column("size", BigInteger().with_variant(Integer, "sqlite"), nullable=False),  # bytes
    Column("mtime", Float, nullable=False),
    Column("ctime", Float, nullable=False, server_default="0"),
    Column("inode", String, nullable=False, server_default=""),
    # time at which these four values were read: FileStamp
    Column("read_at", Float, nullable=False, server_default="0"),
    Column("indexed_at", String, nullable=False),
    Column("error", Text, nullable=False),
    UniqueConstraint("library", "path"),
)  # fmt: skip

originals = Table(
    "originals", metadata,  # documents whose original file is in the home; a row may precede the row of its document
    Column("library", String, primary_key=True),
    Column("path", Text, primary_key=True),  # address of the document
    Column("container", Text, nullable=False),  # path of its container, "" for none
    Column("file", String, nullable=False, index=True),
    Index("originals_by_container", "library", "container"),
    sqlite_with_rowid=False,
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
    Column("ocr", Boolean, nullable=False, server_default="0"),  # whether OCR read the text
    Column("described", Text, nullable=False, server_default=""),
    Column("places", Text, nullable=False, server_default="[]"),  # JSON
    # number of pictures on the page that OCR has not read
    Column("pictures", Integer, nullable=False, server_default="0"),
    Column("engine", String, nullable=False, server_default=""),  # OCR engine that read the page
    Column("sure", Integer, nullable=False, server_default="0"),  # confidence of the OCR engine, 0 to 100
    sqlite_with_rowid=False,
)  # fmt: skip

orders = Table(
    "orders", metadata,
    Column("content_id", String, primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("terms", LargeBinary, nullable=False),  # TermOrder of the page's text
    sqlite_with_rowid=False,
)  # fmt: skip

UNREAD = text("(needs_ocr OR pictures > 0)")
"""The condition for pages that show something but were not read. It is text, so that the database uses the index."""

partial_index("pages_unread", pages.c.content_id, where=UNREAD)

trees = Table(
    "trees", metadata,
    Column("content_id", String, primary_key=True),
    Column("sections", LargeBinary, nullable=False),  # in preorder, as trees.py packs them
    Column("titles", LargeBinary, nullable=False),  # TermCounts of their titles
)  # fmt: skip

chunks = Table(
    "chunks", metadata,
    Column("content_id", String, primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("section", Integer, nullable=False),  # position in preorder, from 1
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

sources = Table(
    "sources", metadata,
    Column("library", String, ForeignKey("libraries.id"), primary_key=True),
    Column("path", Text, primary_key=True),  # absolute
    Column("kind", String, nullable=False),  # file, folder, glob
    Column("options", Text, nullable=False, server_default="{}"),  # JSON object: the options of indexing
    Column("watch", String, nullable=False, server_default=""),  # "", auto, poll
    Column("mounts", Text, nullable=False, server_default="{}"),  # JSON object: file systems by mount point
    # the machine on which the path exists, if several share the catalog
    Column("machine", String, nullable=False, server_default=""),
    sqlite_with_rowid=False,
)  # fmt: skip

exclusions = Table(
    "exclusions", metadata,  # files that users removed from a library: no source adds them again
    Column("library", String, ForeignKey("libraries.id"), primary_key=True),
    Column("path", Text, primary_key=True),
    sqlite_with_rowid=False,
)  # fmt: skip

changes = Table(
    "changes", metadata,
    Column("library", String, primary_key=True),
    Column("seq", BigInteger, primary_key=True, autoincrement=False),  # position from the library's counter
    Column("doc_id", String, nullable=False),
    Column("content_id", String),  # NULL: removed
    Column("mark", BigInteger, nullable=False, server_default="0"),  # random number, never used twice, unlike seq
    sqlite_with_rowid=False,
)  # fmt: skip


COPYING = "copying"  # key in meta: the catalog of which this one is an unfinished copy
# key in meta: identifies the Qdrant collections of this catalog, which a copy of the catalog must not use
EPOCH = "epoch"


def open_catalog(path: Path, url: str = "", *, copying: bool = False) -> Database:
    """Open or create the catalog in a file, or in the PostgreSQL database at ``url``.

    A catalog of an older version is upgraded. An unfinished copy is opened only with ``copying``. Raise StoreError if
    the folder cannot be written, the file is not a catalog, the catalog is an unfinished copy, or the server cannot be
    reached. Raise SchemaError if a newer version wrote the catalog.
    """
    if url:
        open_home(path.parent)  # the home of caches and other data that can be recomputed
        database: Database = PostgresDatabase(
            url, lambda opened: _ready(opened, path), lambda opened: _prepare(opened, path)
        )
    else:
        check_not_recovering(path.parent)
        database = SqliteFile(path, "a catalog", DAMAGED, lambda opened: _prepare_file(opened, path))
    with database.reading() as connection:
        half = connection.scalar(select(meta.c.value).where(meta.c.key == COPYING)) is not None
    if half and not copying:
        database.close()
        raise StoreError(
            "The copy of this catalog was interrupted, so it is incomplete.",
            Advice(
                "Start the copy again: it continues where it stopped.",
                "Run 'migrate --catalog' again to continue the copy.",
            ),
        )
    return database


def whole() -> MetaData:
    """Return all tables of the catalog, including those that searches do not need."""
    from hybrid_core.store import (
        access,  # noqa: F401
        notes,  # noqa: F401
        usage,  # noqa: F401
    )
    from hybrid_core.store.conversations import tables as conversations  # noqa: F401
    from hybrid_core.store.jobs import tables  # noqa: F401

    return metadata


def _prepare_file(connection: Connection, path: Path) -> None:
    """Create or upgrade the tables of a SQLite file in a write transaction, unless they are up to date.

    Without a write transaction, a process that only reads need not wait for writers.
    """
    if _ready(connection, path):
        return
    connection.rollback()
    connection = connection.execution_options(writing=True)
    with connection.begin():
        _prepare(connection, path)


def _ready(connection: Connection, path: Path) -> bool:
    return inspect(connection).has_table("meta") and _schema_version(connection, path) == SCHEMA_VERSION


def _prepare(connection: Connection, path: Path) -> None:
    if not inspect(connection).has_table("meta"):
        whole().create_all(connection)
        connection.execute(insert(meta).values(key="schema", value=str(SCHEMA_VERSION)))
        connection.execute(insert(meta).values(key="catalog", value=uuid.uuid4().hex))
        _note_program(connection)
    elif (number := _schema_version(connection, path)) < SCHEMA_VERSION:
        upgrade(connection, path, number, SCHEMA_VERSION)
        connection.execute(update(meta).where(meta.c.key == "schema").values(value=str(SCHEMA_VERSION)))
        _note_program(connection)


def _note_program(connection: Connection) -> None:
    """Record this program's version in the catalog. Older programs name it when they refuse the newer schema."""
    from importlib.metadata import PackageNotFoundError, version  # few starts need it

    with suppress(PackageNotFoundError):
        program = version("hybrid-pageindex")
        connection.execute(delete(meta).where(meta.c.key == PROGRAM))
        connection.execute(insert(meta).values(key=PROGRAM, value=program))


def _schema_version(connection: Connection, path: Path) -> int:
    number = int(connection.scalar(select(meta.c.value).where(meta.c.key == "schema")) or 0)
    if number > SCHEMA_VERSION:
        program = connection.scalar(select(meta.c.value).where(meta.c.key == PROGRAM))
        upgrade_to = f"Upgrade hybrid-pageindex to {program} or newer" if program else "Upgrade hybrid-pageindex"
        raise SchemaError(
            f"{path}: a newer version wrote this catalog (schema version {number}; this program reads up to "
            f"{SCHEMA_VERSION}).",
            Advice(f"{upgrade_to}, or use another home.", f"{upgrade_to}, or use another --home."),
        )
    return number
