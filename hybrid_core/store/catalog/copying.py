"""A catalog copied into another database, table by table, each verified by a hash of its rows."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from sqlalchemy import Connection, Row, Table, delete, func, insert, select, text

from hybrid_core.errors import StoreError, UsageError
from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.store.catalog.schema import COPYING, meta, whole
from hybrid_core.store.parts import parts
from hybrid_core.store.tables import insert_into

_ROWS = 500  # read and written at once


def copy_catalog(source: Catalog, target: Catalog, done: Callable[[str, int], None]) -> int:
    """Make ``target`` what ``source`` is, id and change log included, so that the same indexes serve it. Calls ``done``
    with each table and its rows; returns how many rows there are.

    A copy that was stopped goes on after the last whole table, and until it ends nobody else opens the target. Raises
    UsageError where the target holds something else, StoreError where it differs at the end, or the source was
    written meanwhile: then run it again.
    """
    tables = [table for table in whole().sorted_tables if table is not meta]
    with source.reading() as read:
        names = {row.key: row.value for row in read.execute(select(meta.c.key, meta.c.value))}
        _claim(target, names["catalog"], tables)
        hashes = {}
        complete, rows = True, 0
        for at, table in enumerate(tables):
            number, hashes[table.name] = _digest(read, table)
            if complete and not _is(target, table, hashes[table.name]):
                complete = False
                with target.writing() as write:
                    for later in reversed(tables[at:]):
                        write.execute(delete(later))
            if not complete:
                with target.writing() as write:
                    for some in _batches(read, table):
                        write.execute(insert(table), [dict(row._mapping) for row in some])
                    _number_on(write, table)
                if not _is(target, table, hashes[table.name]):
                    raise StoreError(f"The copy of {table.name} is not what was copied.", "Run the same command again.")
            rows += number
            done(table.name, number)
    with source.reading() as read:
        for table in tables:
            if _digest(read, table)[1] != hashes[table.name]:
                advice = "Stop what indexes there, and run the same command again: it copies what changed."
                raise StoreError("The catalog was written while it was copied.", advice)
    with target.writing() as write:
        write.execute(delete(meta))
        write.execute(insert(meta), [{"key": key, "value": value} for key, value in names.items()])
    return rows


def _claim(target: Catalog, catalog: str, tables: Sequence[Table]) -> None:
    with target.writing() as write:
        copied = write.scalar(select(meta.c.value).where(meta.c.key == COPYING))
        held = copied is None and any(write.scalar(select(func.count()).select_from(table)) for table in tables)
        if held or copied not in (None, catalog):
            raise UsageError("The catalog to copy to holds something else.", "Name an empty one.")
        write.execute(insert_into(write, meta).values(key=COPYING, value=catalog).on_conflict_do_nothing())


def _is(catalog: Catalog, table: Table, digest: str) -> bool:
    with catalog.reading() as read:
        return _digest(read, table)[1] == digest


def _digest(read: Connection, table: Table) -> tuple[int, str]:
    """How many rows, and a hash of them in the order of their key: the same for the same rows in any database."""
    number, found = 0, hashlib.sha256()
    for some in _batches(read, table):
        for row in some:
            found.update(json.dumps([_plain(value) for value in row], ensure_ascii=False).encode() + b"\n")
            number += 1
    return number, found.hexdigest()


def _plain(value: Any) -> Any:
    return bytes(value).hex() if isinstance(value, bytes | memoryview) else value


def _batches(read: Connection, table: Table) -> Iterator[list[Row[Any]]]:
    result = read.execution_options(yield_per=_ROWS).execute(select(table).order_by(*table.primary_key.columns))
    return parts(result, _ROWS)


def _number_on(write: Connection, table: Table) -> None:
    """PostgreSQL counts ids apart from the rows that hold them."""
    column = table.autoincrement_column
    if column is None or write.dialect.name != "postgresql" or column.autoincrement is not True:
        return
    newest = write.scalar(select(func.max(column)))
    if newest:
        counted = text("SELECT setval(pg_get_serial_sequence(:table, :column), :newest)")
        write.execute(counted, {"table": table.name, "column": column.name, "newest": newest})
