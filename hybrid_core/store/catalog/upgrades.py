"""Upgrades of a catalog from one schema version to the next, without indexing anything again."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sqlalchemy import BigInteger, Column, Connection, Integer, LargeBinary, MetaData, Row, Table, text
from sqlalchemy.schema import CreateColumn
from sqlalchemy.types import TypeEngine

from hybrid_core.store.cache import Cache
from hybrid_core.store.catalog.trees import node_id, packed
from hybrid_core.store.home import CACHE
from hybrid_core.store.tables import CleanString, CleanText, to_json
from hybrid_core.text.prose import ranges
from hybrid_core.text.terms import HEADER, TermCounts, TermOrder
from hybrid_core.types.documents import Section
from hybrid_core.types.notes import Note, read

Change = Callable[[Connection, Path], None]


def add_column(table: str, name: str, kind: type[TypeEngine[Any]], default: str | None) -> Change:
    """Return a change that adds a column. Existing rows get ``default``; None makes the column nullable."""

    def change(connection: Connection, _: Path) -> None:
        column = Column(name, kind, nullable=default is None, server_default=default)
        Table(table, MetaData(), column)
        written = CreateColumn(column).compile(dialect=connection.dialect)
        connection.exec_driver_sql(f"ALTER TABLE {table} ADD COLUMN {written}")

    return change


_AT_ONCE = 16 * 2**20  # bytes of the cache that are moved in one transaction


def upgrade(connection: Connection, path: Path, current: int, version: int) -> None:
    """Upgrade a catalog from schema version ``current`` to ``version``, within the caller's transaction.

    An aborted upgrade leaves the catalog unchanged.
    """
    for step in range(current, version):
        for change in _STEPS[step]:
            if isinstance(change, str):
                connection.exec_driver_sql(change)
            else:
                change(connection, path)


def _move_cache(connection: Connection, path: Path) -> None:
    """Move the cached replies of models from the catalog to the cache file beside it."""
    cache = Cache(path.with_name(CACHE), limit=2**63 - 1)  # the next write deletes what exceeds the usual limit
    together: dict[str, bytes] = {}
    size = 0
    for key, value in connection.exec_driver_sql("SELECT key, value FROM cache ORDER BY used_at"):
        together[key] = value
        size += len(value)
        if size >= _AT_ONCE:
            cache.put(together)
            together, size = {}, 0
    if together:
        cache.put(together)
    cache.close()
    connection.exec_driver_sql("DROP TABLE cache")


def _know_chunks_by_their_own_text(connection: Connection, _: Path) -> None:
    """Change the keys of chunk vectors from a hash of text and section summary to a hash of the text.

    The old hash changed whenever another page of the document changed.
    """
    fingerprints = connection.exec_driver_sql("SELECT DISTINCT fingerprint FROM embedded").scalars().all()
    if not fingerprints:
        return
    chunks = connection.exec_driver_sql(
        'SELECT s.title, s.summary, v.llm, p.text, c.start, c."end" FROM chunks c '
        "JOIN contents v ON v.content_id = c.content_id "
        "JOIN sections s ON s.content_id = c.content_id AND s.position = c.section "
        "JOIN pages p ON p.content_id = c.content_id AND p.number = c.page "
        "WHERE NOT s.synthetic AND c.content_id IN (SELECT content_id FROM embedded)"
    ).all()
    for title, summary, llm, page, start, end in chunks:
        body = page[start:end].strip()
        connection.exec_driver_sql(
            "INSERT OR IGNORE INTO embeddings (fingerprint, text_key, vector, weights) "
            "SELECT fingerprint, ?, vector, weights FROM embeddings WHERE text_key = ? "
            f"AND fingerprint IN ({', '.join('?' * len(fingerprints))})",
            (_hashed("\0".join((llm, title, body))), _hashed(f"{title}\n{summary[:160]}\n{body}"), *fingerprints),
        )


def _hashed(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _read_versions(connection: Connection, _: Path) -> None:
    """Derive the versions of parsed documents from their ids.

    An id was CONTENT, CONTENT-OCR or CONTENT-OCR-PAGES, followed by ``-mLLM.VLM`` and ``.PARTLY`` if models improved
    the document. CONTENT is a hash of the bytes and the rules. Documents parsed by older rules get distinct versions,
    which match nothing.
    """
    select = "SELECT content_id, sha256, format FROM contents"
    for content_id, sha256, format in connection.exec_driver_sql(select).all():
        identity, _, models = content_id.partition("-m")
        content, ocr, ocr_pages = (*identity.split("-"), "", "")[:3]
        llm, vlm, partly = (*models.split("."), "", "")[:3]
        parser, chunks = _PARSERS.get(format, ""), "chunks-1"
        rules = f"{sha256}|{parser}+{_BUILD[0]}+{chunks}+{_BUILD[1]}"
        current = hashlib.sha256(rules.encode()).hexdigest()[:24] == content
        by = (parser, chunks, "+".join(_BUILD)) if current else ("", "", f"earlier {content}")
        connection.exec_driver_sql(
            "UPDATE contents SET parser = ?, chunks = ?, build = ?, ocr = ?, ocr_pages = ?, llm = ?, vlm = ?, "
            "models_partly = ? WHERE content_id = ?",
            (*by, ocr, ocr_pages, *("" if model == "0" else model for model in (llm, vlm)), partly, content_id),
        )


_PARSERS = {"pdf": "pdf-1", "markdown": "markdown-1"}
_BUILD = "tree-1", "summaries-1+cards-3+titles-1+flags-1+snowball-en+bigrams-1"  # chunks stood between them

_VERSION = ("parser", "chunks", "build", "ocr", "ocr_pages", "llm", "vlm", "models_partly")


def _count_frequencies(connection: Connection, _: Path) -> None:
    """Compute the document frequencies from the header of every document's stored term counts.

    The header contains the number of pages, the number of terms, their hashes, and the number of pages with each term.
    """
    rowid = " WITHOUT ROWID" if connection.dialect.name == "sqlite" else ""
    connection.exec_driver_sql(
        "CREATE TABLE IF NOT EXISTS frequencies (library VARCHAR NOT NULL, term BIGINT NOT NULL, pages INTEGER NOT "
        f"NULL, PRIMARY KEY (library, term)){rowid}"
    )
    connection.exec_driver_sql("DELETE FROM frequencies")
    published = text("SELECT content_id FROM documents WHERE library = :library AND content_id IS NOT NULL")
    counts = text("SELECT body FROM terms WHERE content_id = :content")
    row = text("INSERT INTO frequencies (library, term, pages) VALUES (:library, :term, :pages)")
    for library in connection.execute(text("SELECT id FROM libraries")).scalars().all():
        counted = Counter[int]()
        for content in connection.execute(published, {"library": library}).scalars().all():
            body = connection.execute(counts, {"content": content}).scalar_one()
            pages, terms = TermCounts.stored(body[:HEADER])
            both = np.frombuffer(body, "<u4", 2 * terms, HEADER).tolist()
            counted.update({-1: pages} | dict(zip(both[:terms], both[terms:], strict=True)))
        if counted:
            values = [{"library": library, "term": term, "pages": pages} for term, pages in counted.items()]
            connection.execute(row, values)


def _pack_trees(connection: Connection, _: Path) -> None:
    """Replace the rows of sections by one stored section tree per parsed document."""
    values = (Column(name, LargeBinary, nullable=False) for name in ("sections", "titles"))
    Table("trees", MetaData(), Column("content_id", CleanString, primary_key=True), *values).create(connection)
    written = text("SELECT * FROM sections WHERE content_id = :content ORDER BY position")
    row = text("INSERT INTO trees (content_id, sections, titles) VALUES (:content, :sections, :titles)")
    for content in connection.execute(text("SELECT content_id FROM contents ORDER BY content_id")).scalars().all():
        rows = connection.execute(written, {"content": content}).all()
        sections, titles = packed([_section(section) for section in rows])
        connection.execute(row, {"content": content, "sections": sections, "titles": titles})
    connection.exec_driver_sql("DROP TABLE sections")


def _widen_sizes(connection: Connection, _: Path) -> None:
    """Widen file sizes beyond 2 GB in PostgreSQL. The integers of SQLite are wide enough."""
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql("ALTER TABLE documents ALTER COLUMN size TYPE BIGINT")


def _add_turns(connection: Connection, _: Path) -> None:
    key = [Column(name, CleanString, primary_key=True) for name in ("stage", "library", "owner")]
    Table("job_turns", MetaData(), *key, Column("served", BigInteger, nullable=False)).create(connection)


def _order_terms(connection: Connection, _: Path) -> None:
    """Create the table of ordered terms and compute it from the text of every page."""
    orders = Table(
        "orders", MetaData(), Column("content_id", CleanString, primary_key=True),
        Column("number", Integer, primary_key=True), Column("terms", LargeBinary, nullable=False),
        sqlite_with_rowid=False,
    )  # fmt: skip
    orders.create(connection, checkfirst=True)
    fill_orders(connection)


def fill_orders(connection: Connection) -> None:
    """Recompute the ordered terms of every page from its text."""
    written = text("SELECT number, text FROM pages WHERE content_id = :content ORDER BY number")
    row = text("INSERT INTO orders (content_id, number, terms) VALUES (:content, :number, :terms)")
    connection.execute(text("DELETE FROM orders"))
    for content in connection.execute(text("SELECT content_id FROM contents ORDER BY content_id")).scalars().all():
        pages = connection.execute(written, {"content": content}).all()
        values = [
            {"content": content, "number": page.number, "terms": TermOrder.of_text(page.text).to_bytes()}
            for page in pages
        ]
        if values:
            connection.execute(row, values)


def _code_warnings(connection: Connection, _: Path) -> None:
    """Convert stored warnings that count pages without text to notes with a code. Leave other warnings unchanged.

    A stored text is converted if it equals the warning that the pages of the document give.
    """
    lacking = text(
        "SELECT number, needs_ocr, ocr, text = '' AS empty FROM pages WHERE content_id = :content "
        "AND (needs_ocr OR ocr) ORDER BY number"
    )
    row = text("UPDATE contents SET warnings = :warnings WHERE content_id = :content")
    contents = text("SELECT content_id, pages, warnings FROM contents WHERE warnings <> '[]' ORDER BY content_id")
    for content, count, written in connection.execute(contents).all():
        pages = connection.execute(lacking, {"content": content}).all()
        unread = [page.number for page in pages if page.needs_ocr]
        empty = [page.number for page in pages if page.ocr and page.empty]
        notes = (
            Note(code, unread=len(numbers), pages=count, which=ranges(numbers))
            for code, numbers in (("warning.unread", unread), ("warning.ocr-empty", empty))
        )
        coded = {str(note): note.stored for note in notes}
        before = json.loads(written)
        warnings = [coded.get(warning, warning) for warning in before]
        if warnings != before:
            connection.execute(row, {"content": content, "warnings": to_json(warnings)})


def _section(row: Row[Any]) -> Section:
    return Section(
        node_id=node_id(row.position), parent_id=node_id(row.parent) if row.parent else None, level=row.level,
        title=row.title, start_page=row.start_page, end_page=row.end_page, anchor=row.anchor,
        end_anchor=row.end_anchor, anchor_y=row.anchor_y, source=row.source, synthetic=bool(row.synthetic),
        summary=row.summary, flags=tuple(row.flags.split()), gaps=read(json.loads(row.gaps)),
    )  # fmt: skip


_STEPS: dict[int, Sequence[str | Callable[[Connection, Path], None]]] = {
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
    4: (_move_cache,),
    5: (
        "ALTER TABLE documents ADD COLUMN ctime FLOAT NOT NULL DEFAULT '0'",
        "ALTER TABLE documents ADD COLUMN inode VARCHAR NOT NULL DEFAULT ''",
        "ALTER TABLE documents ADD COLUMN read_at FLOAT NOT NULL DEFAULT '0'",
    ),
    6: (
        *(f"ALTER TABLE contents ADD COLUMN {name} VARCHAR NOT NULL DEFAULT ''" for name in _VERSION),
        _read_versions,
        f"CREATE UNIQUE INDEX contents_by_version ON contents (sha256, format, {', '.join(_VERSION)})",
    ),
    7: (
        "ALTER TABLE libraries RENAME COLUMN name TO id",
        "ALTER TABLE libraries ADD COLUMN name VARCHAR NOT NULL DEFAULT ''",
        "ALTER TABLE libraries ADD COLUMN alias VARCHAR NOT NULL DEFAULT ''",
        "UPDATE libraries SET name = id",
    ),
    8: ("ALTER TABLE pages ADD COLUMN places TEXT NOT NULL DEFAULT '[]'",),
    9: (
        "CREATE TABLE counters (name VARCHAR NOT NULL, n BIGINT NOT NULL, PRIMARY KEY (name))",
        "CREATE TABLE jobs (id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, library VARCHAR NOT NULL, owner "
        "VARCHAR DEFAULT '' NOT NULL, kind VARCHAR NOT NULL, subject TEXT NOT NULL, options TEXT NOT NULL, needs "
        'TEXT NOT NULL, "key" TEXT NOT NULL, version TEXT NOT NULL, priority INTEGER NOT NULL, turn INTEGER '
        "DEFAULT '0' NOT NULL, status VARCHAR NOT NULL, stage VARCHAR NOT NULL, done INTEGER DEFAULT '0' NOT "
        "NULL, total INTEGER DEFAULT '0' NOT NULL, attempts INTEGER DEFAULT '0' NOT NULL, not_before BIGINT "
        "DEFAULT '0' NOT NULL, worker VARCHAR DEFAULT '' NOT NULL, claim INTEGER DEFAULT '0' NOT NULL, "
        "lease_until BIGINT DEFAULT '0' NOT NULL, heartbeat_at BIGINT DEFAULT '0' NOT NULL, cancel_requested "
        "BOOLEAN DEFAULT '0' NOT NULL, detached BOOLEAN DEFAULT '0' NOT NULL, again TEXT DEFAULT '' NOT NULL, "
        "cause TEXT DEFAULT '' NOT NULL, result TEXT DEFAULT '{}' NOT NULL, created_at BIGINT NOT NULL, "
        "started_at BIGINT DEFAULT '0' NOT NULL, finished_at BIGINT DEFAULT '0' NOT NULL)",
        "CREATE UNIQUE INDEX jobs_active_key ON jobs (\"key\") WHERE status IN ('waiting', 'running')",
        "CREATE INDEX jobs_by_end ON jobs (finished_at, id) WHERE finished_at > 0",
        "CREATE INDEX jobs_by_lease ON jobs (lease_until) WHERE status = 'running'",
        "CREATE INDEX jobs_by_library ON jobs (library, status)",
        "CREATE INDEX jobs_by_needs ON jobs (needs) WHERE status = 'waiting'",
        "CREATE INDEX jobs_in_order ON jobs (priority DESC, turn, id, needs) WHERE status = 'waiting'",
        "CREATE TABLE job_events (number INTEGER NOT NULL, job_id INTEGER NOT NULL, library VARCHAR NOT NULL, at "
        "BIGINT NOT NULL, kind VARCHAR NOT NULL, detail TEXT NOT NULL, PRIMARY KEY (number))",
        "CREATE INDEX ix_job_events_job_id ON job_events (job_id)",
        "CREATE TABLE workers (id VARCHAR NOT NULL, host VARCHAR NOT NULL, pid INTEGER NOT NULL, kind VARCHAR "
        "NOT NULL, abilities TEXT NOT NULL, started_at BIGINT NOT NULL, heartbeat_at BIGINT NOT NULL, PRIMARY "
        "KEY (id))",
        "CREATE TABLE job_waiters (worker_id VARCHAR NOT NULL, job_id INTEGER NOT NULL, PRIMARY KEY (worker_id, "
        "job_id)) WITHOUT ROWID",
        "CREATE INDEX ix_job_waiters_job_id ON job_waiters (job_id)",
        "CREATE TABLE pauses (scope VARCHAR NOT NULL, id VARCHAR NOT NULL, at BIGINT NOT NULL, PRIMARY KEY "
        "(scope, id))",
    ),
    10: (
        "CREATE TABLE originals (library VARCHAR NOT NULL, path TEXT NOT NULL, container TEXT NOT NULL, "
        "file VARCHAR NOT NULL, PRIMARY KEY (library, path)) WITHOUT ROWID",
        "CREATE INDEX originals_by_container ON originals (library, container)",
        "CREATE INDEX ix_originals_file ON originals (file)",
    ),
    11: (
        "CREATE TABLE sources (library VARCHAR NOT NULL REFERENCES libraries (id), path TEXT NOT NULL, "
        "kind VARCHAR NOT NULL, options TEXT DEFAULT '{}' NOT NULL, watch VARCHAR DEFAULT '' NOT NULL, "
        "mounts TEXT DEFAULT '{}' NOT NULL, PRIMARY KEY (library, path)) WITHOUT ROWID",
        "CREATE TABLE exclusions (library VARCHAR NOT NULL REFERENCES libraries (id), path TEXT NOT NULL, "
        "PRIMARY KEY (library, path)) WITHOUT ROWID",
        "INSERT INTO sources (library, path, kind) SELECT library, path, 'file' FROM documents",
    ),
    12: (
        "ALTER TABLE changes RENAME TO changes_before",
        "CREATE TABLE changes (library VARCHAR NOT NULL, seq BIGINT NOT NULL, doc_id VARCHAR NOT NULL, "
        "content_id VARCHAR, PRIMARY KEY (library, seq)) WITHOUT ROWID",
        "INSERT INTO changes SELECT library, seq, doc_id, content_id FROM changes_before",
        "INSERT INTO counters SELECT 'changes of ' || library, MAX(seq) FROM changes_before GROUP BY library",
        "DROP TABLE changes_before",
    ),
    13: (_know_chunks_by_their_own_text,),
    14: (
        "ALTER TABLE pages ADD COLUMN pictures INTEGER NOT NULL DEFAULT '0'",
        "ALTER TABLE pages ADD COLUMN engine VARCHAR NOT NULL DEFAULT ''",
        "ALTER TABLE pages ADD COLUMN sure INTEGER NOT NULL DEFAULT '0'",
        "CREATE INDEX pages_unread ON pages (content_id) WHERE (needs_ocr OR pictures > 0)",
    ),
    15: (
        "CREATE TABLE IF NOT EXISTS conversations (id VARCHAR NOT NULL, owner VARCHAR DEFAULT '' NOT NULL, title "
        "TEXT DEFAULT '' NOT NULL, title_from VARCHAR DEFAULT 'rule' NOT NULL, documents TEXT DEFAULT '[]' NOT "
        "NULL, leaf INTEGER DEFAULT '0' NOT NULL, created_at BIGINT NOT NULL, updated_at BIGINT NOT NULL, PRIMARY "
        "KEY (id))",
        "CREATE INDEX IF NOT EXISTS conversations_by_owner ON conversations (owner, updated_at)",
        "CREATE TABLE IF NOT EXISTS conversation_libraries (conversation VARCHAR NOT NULL, library VARCHAR NOT "
        "NULL, position INTEGER NOT NULL, PRIMARY KEY (conversation, library), FOREIGN KEY(conversation) "
        "REFERENCES conversations (id) ON DELETE CASCADE) WITHOUT ROWID",
        "CREATE INDEX IF NOT EXISTS ix_conversation_libraries_library ON conversation_libraries (library)",
        "CREATE TABLE IF NOT EXISTS messages (id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, conversation VARCHAR "
        "NOT NULL, parent INTEGER NOT NULL, role VARCHAR NOT NULL, text TEXT DEFAULT '' NOT NULL, status VARCHAR "
        "NOT NULL, searched TEXT DEFAULT '' NOT NULL, searched_from VARCHAR DEFAULT 'as asked' NOT NULL, cause "
        "TEXT DEFAULT '' NOT NULL, result TEXT DEFAULT '{}' NOT NULL, worker VARCHAR DEFAULT '' NOT NULL, claim "
        "INTEGER DEFAULT '0' NOT NULL, lease_until BIGINT DEFAULT '0' NOT NULL, cancel_requested BOOLEAN DEFAULT "
        "'0' NOT NULL, last_event INTEGER DEFAULT '0' NOT NULL, created_at BIGINT NOT NULL, finished_at BIGINT "
        "DEFAULT '0' NOT NULL, FOREIGN KEY(conversation) REFERENCES conversations (id) ON DELETE CASCADE)",
        "CREATE INDEX IF NOT EXISTS ix_messages_conversation ON messages (conversation)",
        "CREATE INDEX IF NOT EXISTS messages_by_end ON messages (finished_at)",
        "CREATE UNIQUE INDEX IF NOT EXISTS messages_running ON messages (conversation) WHERE status = 'running'",
        "CREATE TABLE IF NOT EXISTS citations (message INTEGER NOT NULL, number INTEGER NOT NULL, library VARCHAR "
        "NOT NULL, doc_id VARCHAR NOT NULL, doc_name TEXT NOT NULL, content_id VARCHAR NOT NULL, sha256 VARCHAR "
        "NOT NULL, page INTEGER NOT NULL, label VARCHAR NOT NULL, section_path TEXT NOT NULL, quote TEXT NOT NULL, "
        "cited BOOLEAN NOT NULL, boxes TEXT DEFAULT '' NOT NULL, PRIMARY KEY (message, number), FOREIGN "
        "KEY(message) REFERENCES messages (id) ON DELETE CASCADE) WITHOUT ROWID",
        "CREATE TABLE IF NOT EXISTS message_events (message INTEGER NOT NULL, number INTEGER NOT NULL, kind "
        "VARCHAR NOT NULL, detail TEXT NOT NULL, PRIMARY KEY (message, number), FOREIGN KEY(message) REFERENCES "
        "messages (id) ON DELETE CASCADE) WITHOUT ROWID",
        "CREATE TABLE IF NOT EXISTS conversation_summaries (message INTEGER NOT NULL, text TEXT NOT NULL, version "
        "VARCHAR NOT NULL, PRIMARY KEY (message), FOREIGN KEY(message) REFERENCES messages (id) ON DELETE CASCADE) "
        "WITHOUT ROWID",
    ),
    16: (
        "CREATE TABLE IF NOT EXISTS tokens (id VARCHAR NOT NULL, name VARCHAR NOT NULL, kind VARCHAR NOT "
        "NULL, hash VARCHAR NOT NULL, parent VARCHAR NOT NULL, created_at BIGINT NOT NULL, expires_at BIGINT "
        "NOT NULL, used_at BIGINT DEFAULT '0' NOT NULL, PRIMARY KEY (id), UNIQUE (hash))",
        "CREATE INDEX IF NOT EXISTS ix_tokens_parent ON tokens (parent)",
        "CREATE TABLE IF NOT EXISTS grants (token VARCHAR NOT NULL, library VARCHAR NOT NULL, role VARCHAR "
        "NOT NULL, PRIMARY KEY (token, library), FOREIGN KEY(token) REFERENCES tokens (id) ON DELETE CASCADE) "
        "WITHOUT ROWID",
        "CREATE TABLE IF NOT EXISTS audit (number INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, at BIGINT NOT "
        "NULL, caller VARCHAR NOT NULL, action VARCHAR NOT NULL, library VARCHAR NOT NULL, subject TEXT NOT "
        "NULL, outcome INTEGER NOT NULL)",
        "CREATE INDEX IF NOT EXISTS audit_by_library ON audit (library, number)",
        'CREATE TABLE IF NOT EXISTS replies (caller VARCHAR NOT NULL, "key" VARCHAR NOT NULL, asked VARCHAR '
        "NOT NULL, at BIGINT NOT NULL, status INTEGER NOT NULL, headers TEXT NOT NULL, body BLOB NOT NULL, "
        'PRIMARY KEY (caller, "key")) WITHOUT ROWID',
        "CREATE INDEX IF NOT EXISTS ix_replies_at ON replies (at)",
        "CREATE TABLE IF NOT EXISTS notes (id VARCHAR NOT NULL, library VARCHAR NOT NULL, author VARCHAR NOT "
        "NULL, title TEXT NOT NULL, text TEXT NOT NULL, doc_id VARCHAR NOT NULL, page INTEGER NOT NULL, "
        "created_at BIGINT NOT NULL, changed_at BIGINT NOT NULL, PRIMARY KEY (id), FOREIGN KEY(library) "
        "REFERENCES libraries (id) ON DELETE CASCADE)",
        "CREATE INDEX IF NOT EXISTS notes_by_library ON notes (library, changed_at)",
        "CREATE TABLE IF NOT EXISTS feedback (id VARCHAR NOT NULL, library VARCHAR NOT NULL, author VARCHAR "
        "NOT NULL, question TEXT NOT NULL, answer TEXT NOT NULL, document TEXT NOT NULL, page INTEGER NOT "
        'NULL, "right" INTEGER NOT NULL, at BIGINT NOT NULL, PRIMARY KEY (id), FOREIGN KEY(library) '
        "REFERENCES libraries (id) ON DELETE CASCADE)",
        "CREATE INDEX IF NOT EXISTS feedback_by_library ON feedback (library, at)",
    ),
    17: ("ALTER TABLE documents ADD COLUMN corrections TEXT NOT NULL DEFAULT '{}'",),
    18: (
        "ALTER TABLE contents ADD COLUMN outline VARCHAR NOT NULL DEFAULT ''",
        "DROP INDEX contents_by_version",
        "CREATE UNIQUE INDEX contents_by_version ON contents (sha256, format, parser, chunks, build, ocr, ocr_pages, "
        "llm, vlm, models_partly, outline)",
    ),
    19: (
        "ALTER TABLE embedded ADD COLUMN chunks BOOLEAN NOT NULL DEFAULT '0'",
        "DELETE FROM embedded",  # another text stands for a page now; the vectors of chunks stay
    ),
    20: (
        "CREATE TABLE IF NOT EXISTS model_usage (day VARCHAR NOT NULL, model VARCHAR NOT NULL, library VARCHAR NOT "
        "NULL, who VARCHAR NOT NULL, calls BIGINT NOT NULL, input_tokens BIGINT NOT NULL, output_tokens BIGINT NOT "
        "NULL, unpriced BIGINT NOT NULL, cost FLOAT NOT NULL, seconds FLOAT NOT NULL, PRIMARY KEY (day, model, "
        "library, who))",
    ),
    21: (_count_frequencies,),
    # From here on catalogs are in PostgreSQL too: a step is of functions that work on both.
    22: (add_column("sources", "machine", CleanString, ""),),
    23: (_pack_trees,),
    24: (_widen_sizes,),
    25: (add_column("changes", "mark", BigInteger, "0"),),
    26: (
        _add_turns,
        "CREATE INDEX jobs_by_group ON jobs (stage, needs, library, owner, priority DESC, turn, id) "
        "WHERE status = 'waiting'",
    ),
    27: (_order_terms,),
    28: (lambda connection, _: fill_orders(connection),),  # stop words are in the order too
    29: (_code_warnings,),
    30: (
        add_column("notes", "quote", CleanText, ""),
        add_column("notes", "occurrence", Integer, "0"),
        add_column("notes", "content_id", CleanString, ""),
    ),
    31: (add_column("jobs", "request_id", CleanString, ""),),
}
