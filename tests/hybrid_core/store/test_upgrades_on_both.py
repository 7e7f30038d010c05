"""Steps from version 22 on are written once: SQLite and PostgreSQL have the same tables after them as new catalogs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, create_engine, inspect, text

from hybrid_core.errors import SchemaError
from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.store.catalog.schema import SCHEMA_VERSION
from hybrid_core.store.catalog.sources import all_sources
from tests import postgres

ROWS = """
INSERT INTO meta (key, value) VALUES ('schema', '22'), ('catalog', 'c');
INSERT INTO libraries (id, name, alias, created_at) VALUES ('default', 'default', '', '2026-01-01');
INSERT INTO sources (library, path, kind) VALUES ('default', '/a', 'folder');
"""


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
    upgraded, made = map(described, engines)
    assert {table: (upgraded[table], made[table]) for table in made if upgraded.get(table) != made[table]} == {}
    with engines[0].begin() as connection:
        assert connection.scalar(text("SELECT value FROM meta WHERE key = 'schema'")) == str(SCHEMA_VERSION)
        connection.execute(text(f"UPDATE meta SET value = '{SCHEMA_VERSION + 1}' WHERE key = 'schema'"))
    with pytest.raises(SchemaError, match="written by a newer version"):
        Catalog(old, old_url)
    for catalog in opened:
        catalog.close()
    for engine in engines:
        engine.dispose()
