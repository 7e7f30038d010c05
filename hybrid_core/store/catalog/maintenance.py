"""Operations on the whole catalog: read its state, copy it to another database, and clear it.

A copy is made table by table; each is verified by a hash of its rows.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import uuid
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, Row, Table, delete, func, insert, select, text, update

from hybrid_core.errors import StoreError, UsageError
from hybrid_core.store.access import grants, tokens
from hybrid_core.store.catalog.documents import COUNTER
from hybrid_core.store.catalog.libraries import BINNED, REMOVALS, outside_bin
from hybrid_core.store.catalog.schema import COPYING, EPOCH, libraries, meta, whole
from hybrid_core.store.database import parts
from hybrid_core.store.home import CATALOG, FOLDERS, ORIGINALS, sweep
from hybrid_core.store.jobs.control import FORGOTTEN
from hybrid_core.store.jobs.outcomes import last_event
from hybrid_core.store.jobs.tables import pauses
from hybrid_core.store.tables import STAYS, counters, insert_into
from hybrid_core.store.usage import model_usage

if TYPE_CHECKING:
    from hybrid_core.store.database import TransactionalStore

_ROWS_AT_ONCE = 500  # rows per read and write
HOME = ""
"""The key for changes that do not belong to a single library."""


def forget_everything(connection: Connection, session: str = "") -> None:
    """Empty every table, including tokens, users and sessions.

    The catalog gets a new id, so that its logs are not mistaken for the old ones. The numbering of job events
    continues, and model usage stays as sums without names. ``session`` is the hash of a session's secret; this session
    is not deleted. "" stands for none.
    """
    session_row = (tokens.c.hash == session) & (tokens.c.kind == "session")
    for table in reversed(whole().sorted_tables):
        if table is counters:
            counted = counters.c.name.startswith(COUNTER) | (counters.c.name == REMOVALS)
            connection.execute(delete(counters).where(counted))
        elif table is grants:
            connection.execute(delete(grants).where(grants.c.token.not_in(select(tokens.c.id).where(session_row))))
        elif table is tokens:
            connection.execute(delete(tokens).where(~session_row))
        elif table is not meta and not table.info.get(STAYS):
            connection.execute(delete(table))
    _forget_names_of_usage(connection)
    connection.execute(delete(meta).where((meta.c.key == EPOCH) | meta.c.key.startswith(BINNED)))
    connection.execute(update(meta).where(meta.c.key == "catalog").values(value=uuid.uuid4().hex))


def _forget_names_of_usage(connection: Connection) -> None:
    """Replace model usage by sums per day and model without names.

    Clearing the home must not reset a monthly limit.
    """
    usage = model_usage.c
    sums = ("calls", "input_tokens", "output_tokens", "unpriced", "cost", "seconds")
    query = select(usage.day, usage.model, *(func.sum(usage[name]).label(name) for name in sums))
    rows = [dict(row._mapping) for row in connection.execute(query.group_by(usage.day, usage.model))]
    connection.execute(delete(model_usage))
    if rows:
        connection.execute(insert(model_usage), [{**row, "library": "", "who": ""} for row in rows])


def copy_catalog(
    source: TransactionalStore, target: TransactionalStore, done: Callable[[str, int], None], *, changing: bool = False
) -> int:
    """Copy a catalog with its id and change log, so that existing search indexes fit the copy.

    Return the number of rows.

    ``done`` is called with each copied table and its number of rows. An interrupted copy continues after the last
    complete table; until the end no other process can open the target. Raise UsageError if the target contains other
    data. Raise StoreError if the copy differs at the end or the source was written meanwhile; repeat the call then.
    With ``changing``, the source may be written; the copy has its state at the beginning.
    """
    tables = [table for table in whole().sorted_tables if table is not meta]
    with source.reading() as read:
        names = {row.key: row.value for row in read.execute(select(meta.c.key, meta.c.value))}
        _claim(target, names["catalog"], tables)
        hashes = {}
        complete, rows = True, 0
        for at, table in enumerate(tables):
            number, hashes[table.name] = _digest(read, table)
            if complete and not _has_digest(target, table, hashes[table.name]):
                complete = False
                with target.writing() as write:
                    for later in reversed(tables[at:]):
                        write.execute(delete(later))
            if not complete:
                with target.writing() as write:
                    for some in _batches(read, table):
                        write.execute(insert(table), [dict(row._mapping) for row in some])
                    _continue_ids(write, table)
                if not _has_digest(target, table, hashes[table.name]):
                    raise StoreError(
                        f"The copy of the table {table.name} differs from the original.",
                        "Run the same command again.",
                    )
            rows += number
            done(table.name, number)
    with source.reading() as read:
        for table in tables if not changing else ():
            if _digest(read, table)[1] != hashes[table.name]:
                advice = "Stop all processes that index there, and run the same command again. It copies only changes."
                raise StoreError("The catalog changed while it was copied.", advice)
    with target.writing() as write:
        write.execute(delete(meta))
        write.execute(insert(meta), [{"key": key, "value": value} for key, value in names.items()])
    return rows


TableDigests = dict[str, tuple[int, str]]


def table_digests(catalog: TransactionalStore) -> TableDigests:
    """Return the number of rows and a hash of the rows of every table but ``meta``."""
    with catalog.reading() as read:
        return {table.name: _digest(read, table) for table in whole().sorted_tables if table is not meta}


def _claim(target: TransactionalStore, catalog: str, tables: Sequence[Table]) -> None:
    with target.writing() as write:
        copied = write.scalar(select(meta.c.value).where(meta.c.key == COPYING))
        filled = copied is None and any(write.scalar(select(func.count()).select_from(table)) for table in tables)
        if filled or copied not in (None, catalog):
            raise UsageError(
                "The catalog cannot be copied, because the target database already contains another catalog.",
                "Name an empty database as the target.",
            )
        write.execute(insert_into(write, meta).values(key=COPYING, value=catalog).on_conflict_do_nothing())


def _has_digest(catalog: TransactionalStore, table: Table, digest: str) -> bool:
    with catalog.reading() as read:
        return _digest(read, table)[1] == digest


def _digest(read: Connection, table: Table) -> tuple[int, str]:
    """Return the number of rows of a table, and a hash of the rows in the order of their key.

    Equal rows in SQLite and PostgreSQL give the same hash.
    """
    number, digest = 0, hashlib.sha256()
    for some in _batches(read, table):
        for row in some:
            digest.update(
                json.dumps(
                    [bytes(value).hex() if isinstance(value, bytes | memoryview) else value for value in row],
                    ensure_ascii=False,
                ).encode()
                + b"\n"
            )
            number += 1
    return number, digest.hexdigest()


def _batches(read: Connection, table: Table) -> Iterator[list[Row[Any]]]:
    result = read.execution_options(yield_per=_ROWS_AT_ONCE).execute(select(table).order_by(*table.primary_key.columns))
    return parts(result, _ROWS_AT_ONCE)


def _continue_ids(write: Connection, table: Table) -> None:
    """Let the id sequence of a table continue after the copied ids. PostgreSQL stores it apart from the rows."""
    column = table.autoincrement_column
    if column is None or write.dialect.name != "postgresql" or column.autoincrement is not True:
        return
    newest = write.scalar(select(func.max(column)))
    if newest:
        counted = text("SELECT setval(pg_get_serial_sequence(:table, :column), :newest)")
        write.execute(counted, {"table": table.name, "column": column.name, "newest": newest})


@dataclass(frozen=True, slots=True)
class HomeState:
    """The state of a home (the folder of all stored data), to be compared with a later state.

    ``event`` is the number of the newest job event. ``parts`` has a value for each library id, which changes with the
    library's names and documents. The value for ``HOME`` stands for the catalog's id, the bin, pauses and deleted jobs.
    """

    event: int
    parts: Mapping[str, Hashable]

    def changed(self, before: HomeState) -> list[str]:
        """Return the ids of libraries added, changed or removed since ``before``, and ``HOME`` if its value differs."""
        ids = self.parts.keys() | before.parts.keys()
        return sorted(id for id in ids if self.parts.get(id) != before.parts.get(id))


def read_state(connection: Connection) -> HomeState:
    """Read the state of the home within the transaction of ``connection``."""
    numbers = {row.name: row.n for row in connection.execute(select(counters))}
    columns = libraries.c
    query = select(columns.id, columns.name, columns.alias, columns.embedder).where(outside_bin(columns.id))
    parts: dict[str, Hashable] = {
        row.id: (*row, numbers.get(f"{COUNTER}{row.id}", 0)) for row in connection.execute(query)
    }
    catalog = connection.scalar(select(meta.c.value).where(meta.c.key == "catalog"))
    binned = frozenset(connection.scalars(select(meta.c.key).where(meta.c.key.startswith(BINNED))))
    paused = frozenset((row.scope, row.id) for row in connection.execute(select(pauses)))
    counted = numbers.get(FORGOTTEN, 0), numbers.get(REMOVALS, 0)
    return HomeState(last_event(connection), parts | {HOME: (catalog, binned, paused, counted)})


def forget_files(home: Path) -> None:
    """Delete the folders of a home, except stored originals in use and working files of live processes."""
    for name in FOLDERS - {ORIGINALS, "tmp"}:
        shutil.rmtree(home / name, ignore_errors=True)
    for file in home.glob(f"{CATALOG}.damaged-*"):  # damaged catalogs that a recovery moved beside the new one
        file.unlink(missing_ok=True)
    sweep(home / "tmp")
    for folder in (*(home / ORIGINALS).glob("*"), home / ORIGINALS, home / "tmp"):
        with suppress(OSError):  # the folder is not empty, or does not exist
            folder.rmdir()
