"""Steps from version 22 on are written once: SQLite and PostgreSQL have the same tables after them as new catalogs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, create_engine, inspect, text

from hybrid_core.errors import SchemaError
from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.store.catalog.libraries import all_sources
from hybrid_core.store.catalog.schema import SCHEMA_VERSION
from hybrid_core.store.conversations.conversations import ConversationReader
from hybrid_core.store.jobs.reader import JobReader
from hybrid_core.types.documents import Section
from hybrid_core.types.notes import TEXT, Note
from tests import postgres

ROWS = """
INSERT INTO meta (key, value) VALUES ('schema', '22'), ('catalog', 'c');
INSERT INTO libraries (id, name, alias, created_at) VALUES ('default', 'default', '', '2026-01-01');
INSERT INTO sources (library, path, kind) VALUES ('default', '/a', 'folder');
INSERT INTO contents (content_id, sha256, format, pages, sections, title, description, metadata, warnings)
VALUES ('c1', 'a', 'pdf', 9, 2, 't', '', '{}', '[
"an old sentence", "2 of 9 pages have no readable text (scanned?): 4-5", "1 of 9 pages shows no text that OCR saw: 7",
"2 of 9 pages show no text that OCR could read: 6, 8", "2 of 9 pages were read by OCR: 1-2"]'),
('c2', 'b', 'pdf', 1, 1, 't', '', '{}', '["2 of 9 pages have no readable text (scanned?): 4-5"]');
INSERT INTO pages (content_id, number, label, width, height, text, summary, boxes, needs_ocr, ocr) VALUES
('c1', 1, '', 1, 1, 'tides', '', '', false, true), ('c1', 4, '', 1, 1, '', '', '', true, false),
('c1', 5, '', 1, 1, '', '', '', true, false), ('c1', 6, '', 1, 1, '', '', '', false, true),
('c1', 8, '', 1, 1, '', '', '', false, true), ('c1', 9, '', 1, 1, '', '', '', false, false);
INSERT INTO documents (doc_id, library, path, name, content_id, card, size, mtime, indexed_at, error) VALUES
('d1', 'default', '/a/1.pdf', '1.pdf', 'c1', '{}', 1, 1, '2026-01-01', ''),
('d2', 'default', '/a/2.pdf', '2.pdf', 'c2', '{}', 1, 1, '2026-01-01', 'An old error.');
INSERT INTO jobs (id, library, kind, subject, options, needs, "key", version, priority, status, stage, cause, result,
created_at, finished_at) VALUES (1, 'default', 'index', '/a/2.pdf', '{}', '', 'k', '', 0, 'failed', 'parse',
'An old cause.', '{}', 1, 2);
INSERT INTO conversations (id, created_at, updated_at) VALUES ('talk', 1, 2);
INSERT INTO messages (id, conversation, parent, role, status, text, result, created_at, finished_at) VALUES
(1, 'talk', 0, 'user', 'complete', 'Which?', '{}', 1, 1), (2, 'talk', 1, 'assistant', 'complete', '118',
'{"outcome": "answered", "why": "an old reason", "notes": ["an old note"], "unsupported": [["118", "on no page"]]}',
1, 2);
INSERT INTO sections (content_id, position, parent, level, title, start_page, end_page, anchor, end_anchor, anchor_y,
source, synthetic, summary, flags, gaps) VALUES
('c1', 2, 1, 2, '第二章 Cash', 3, 9, 17, NULL, 0.1, 'bookmarks', false, 'Of cash.', 'has_table big', '["Annex 1"]'),
('c1', 1, 0, 1, 'Front', 1, 9, 0, NULL, 0.0, 'layout', true, '', '', '[]'),
('c2', 1, 0, 1, '', 1, 1, 0, 40, 12.5, 'layout', false, '', '', '[]');
"""
SECTIONS = {
    "c1": (
        Section("0001", None, 1, "Front", 1, 9, synthetic=True),
        Section(
            "0002", "0001", 2, "第二章 Cash", 3, 9, 17, None, 0.1, "bookmarks", False, "Of cash.",
            ("has_table", "big"), ("Annex 1",),
        ),
    ),
    "c2": (Section("0001", None, 1, "", 1, 1, 0, 40, 12.5),),
}  # fmt: skip
WARNINGS = [
    ("an old sentence", TEXT),
    ("2 of 9 pages have no readable text (scanned?): 4-5", "warning.unread"),
    ("1 of 9 pages shows no text that OCR saw: 7", TEXT),
    ("2 of 9 pages show no text that OCR could read: 6, 8", "warning.ocr-empty"),
    ("2 of 9 pages were read by OCR: 1-2", TEXT),
]


def described(engine: Engine) -> dict[str, Any]:
    """Everything that the database tells of its tables, but for the order of columns."""
    found = inspect(engine)
    return {
        table: (
            {column["name"]: {key: str(value) for key, value in column.items()} for column in found.get_columns(table)},
            sorted(
                (
                    one["name"] or "",
                    one["unique"],
                    one["column_names"],
                    sorted(map(str, one["dialect_options"].values())),
                )
                for one in found.get_indexes(table)
            ),
            found.get_pk_constraint(table)["constrained_columns"],
            sorted(map(str, found.get_foreign_keys(table))),
        )
        for table in found.get_table_names()
    }


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_a_catalog_of_version_22_becomes_what_a_new_one_is(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    server = request.getfixturevalue("postgres_url") if kind == "postgresql" else ""
    old, new = (tmp_path / name / "catalog.sqlite" for name in ("old", "new"))
    old_url, new_url = (postgres.new_database(server) if server else "" for _ in range(2))
    for path in (old, new):
        path.parent.mkdir()
    engines = [create_engine(url or f"sqlite:///{path}") for path, url in ((old, old_url), (new, new_url))]
    schema = Path(__file__).with_name(f"schema_22.{kind}.sql").read_text()
    with engines[0].begin() as connection:
        for statement in (schema + ROWS).split(";\n"):
            if statement.strip():
                connection.execute(text(statement))
    opened = [Catalog(old, old_url), Catalog(new, new_url), Catalog(old, old_url)]
    assert [(one.path, one.machine) for one in all_sources(opened[0])] == [("/a", "")]
    with opened[0].snapshot() as snapshot:
        assert {content: snapshot.sections(content) for content in ("c1", "c2")} == SECTIONS
        documents = snapshot.documents("default")
    assert [(str(one), one.code) for one in documents[0].warnings] == WARNINGS and documents[0].unread == 4
    [other] = documents[1].warnings  # of no page of this content
    assert (other.code, documents[1].error, documents[1].error.code) == (TEXT, "An old error.", TEXT)
    [job] = JobReader(opened[0]).listed()
    assert (str(Note.of(job.cause)), Note.of(job.cause).code) == ("An old cause.", TEXT)
    result = ConversationReader(opened[0]).message(2).result
    assert (result.why, result.notes, result.unsupported) == (
        "an old reason",
        ("an old note",),
        (("118", "on no page"),),
    )
    upgraded, made = map(described, engines)
    assert {table: (upgraded[table], made[table]) for table in made if upgraded.get(table) != made[table]} == {}
    with engines[0].begin() as connection:
        assert connection.scalar(text("SELECT value FROM meta WHERE key = 'schema'")) == str(SCHEMA_VERSION)
        connection.execute(text(f"UPDATE meta SET value = '{SCHEMA_VERSION + 1}' WHERE key = 'schema'"))
    with pytest.raises(SchemaError, match="a newer version wrote this catalog"):
        Catalog(old, old_url)
    for catalog in opened:
        catalog.close()
    for engine in engines:
        engine.dispose()
