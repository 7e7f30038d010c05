"""Shared parts of all catalog tables: metadata, storable text, partial indexes and counters."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from typing import Any

from sqlalchemy import (
    BigInteger,
    Column,
    ColumnElement,
    Connection,
    Dialect,
    Index,
    MetaData,
    String,
    Table,
    Text,
    TextClause,
    TypeDecorator,
    bindparam,
    update,
)
from sqlalchemy.dialects import sqlite
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.schema import CreateIndex
from sqlalchemy.types import TypeEngine

metadata = MetaData()
STAYS = "stays"
"""The key in a table's ``info`` for tables that are kept when the home is cleared."""
_UNSTORABLE = re.compile("[\0\ud800-\udfff]")
_ESCAPED_NUL = re.compile(r"(?<!\\)((?:\\\\)*)\\u0000")


def insert_into(connection: Connection, table: Table) -> Any:
    """Return an INSERT statement that supports ON CONFLICT, in the dialect of the database."""
    insert: Callable[[Table], Any] = sqlite.insert
    if connection.dialect.name == "postgresql":
        from sqlalchemy.dialects import postgresql

        insert = postgresql.insert
    return insert(table)


def clean(text: str) -> str:
    """Replace each character that databases cannot store by U+FFFD. The positions of characters do not change."""
    return _UNSTORABLE.sub("\ufffd", text)


def to_json(value: object) -> str:
    """Return a value as JSON. Replace characters and escapes that databases cannot store; do not sort keys."""
    return _ESCAPED_NUL.sub("\\1\ufffd", clean(json.dumps(value, ensure_ascii=False)))


class _Clean(TypeDecorator[str]):
    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        """Make every database sort texts by code points, like SQLite, whatever its locale."""
        return dialect.type_descriptor(String(collation="C")) if dialect.name == "postgresql" else self.impl_instance

    def process_bind_param(self, value: str | None, dialect: Dialect) -> Any:
        return value if value is None else clean(value)


class CleanText(_Clean):
    impl, cache_ok = Text, True


class CleanString(_Clean):
    impl, cache_ok = String, True


def partial_index(
    name: str, *columns: ColumnElement[Any], where: ColumnElement[bool] | TextClause, **options: Any
) -> Index:
    """Return an index over the rows that ``where`` selects, for SQLite and PostgreSQL.

    ``options`` are other options of ``Index``. The option ``postgresql_where`` of SQLAlchemy is not used, since it
    imports the whole dialect. That takes a tenth of a second on each start, even with SQLite.
    """
    return Index(name, *columns, sqlite_where=where, **options)


@compiles(CreateIndex, "postgresql")
def _of_postgresql(element: CreateIndex, compiler: Any, **options: Any) -> Any:
    index = element.element
    index.dialect_options["postgresql"]["where"] = index.dialect_options["sqlite"]["where"]
    return compiler.visit_create_index(element, **options)


counters = Table(
    "counters", metadata,
    Column("name", CleanString, primary_key=True),
    Column("n", BigInteger, nullable=False),  # the last number taken; never decreases
)  # fmt: skip


_TAKE = (
    update(counters)
    .where(counters.c.name == bindparam("counter"))
    .values(n=counters.c.n + bindparam("more"))
    .returning(counters.c.n)
)


def hold(connection: Connection, name: str) -> None:
    """Block other transactions from taking numbers of this counter until this transaction is committed."""
    take(connection, name, 0)


def now_ms() -> int:
    """Return the current time of this machine in milliseconds since 1970, UTC."""
    return time.time_ns() // 1_000_000


def take(connection: Connection, name: str, count: int = 1) -> int:
    """Return the first of ``count`` new numbers; numbers start at 1 and have no gaps.

    If the transaction is rolled back, the numbers are assigned again. The counter is locked until the commit, and other
    writers wait, so call this function last. A PostgreSQL sequence would assign numbers before the commit: a reader
    could see 2, and 1 would appear only later.
    """
    last = connection.scalar(_TAKE, {"counter": name, "more": count})
    if last is None:
        connection.execute(insert_into(connection, counters).values(name=name, n=0).on_conflict_do_nothing())
        last = connection.scalar(_TAKE, {"counter": name, "more": count})
    return int(last or count) - count + 1
