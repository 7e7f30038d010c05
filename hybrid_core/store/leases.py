"""Leases on rows of a table. A lease gives a row to one worker until a time, by the database clock.

After that time another worker may take over the row. Until one does, the first worker may still write.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import BigInteger, ColumnElement, Connection, Row, Table, bindparam, or_, select
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement


class db_now(FunctionElement[int]):  # noqa: N801 - written like SQL's own functions
    """The current time of the database clock as an SQL expression, in milliseconds since 1970.

    Only this clock decides when a lease expires, since the clocks of machines differ.
    """

    type = BigInteger()
    inherit_cache = True


@compiles(db_now, "sqlite")
def _compile_for_sqlite(element: db_now, compiler: Any, **_: Any) -> str:
    return "CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)"


@compiles(db_now, "postgresql")
def _compile_for_postgresql(element: db_now, compiler: Any, **_: Any) -> str:
    return "CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT)"


class LeasedRows:
    """The running rows of a table, each leased to one worker.

    The table has the columns ``id``, ``worker``, ``claim`` (how often the row was claimed) and ``lease_until``.
    ``running`` is the SQL condition of a leased row.
    """

    def __init__(self, table: Table, running: ColumnElement[bool]) -> None:
        self._columns = table.c
        self.running = running
        # Built once, since building takes longer than running.
        self._locked = select(table).where(*self.fence(*map(bindparam, ("row", "worker", "claim")))).with_for_update()

    def fence(self, row: Any, worker: Any, claim: Any) -> tuple[ColumnElement[bool], ...]:
        """Return the SQL conditions that hold for a row while a worker's claim is valid."""
        columns = self._columns
        return columns.id == row, columns.worker == worker, columns.claim == claim, self.running

    def lock(self, connection: Connection, row: int, worker: str, claim: int) -> Row[Any] | None:
        """Lock a row until the transaction ends, and return it. Return None if the lease is lost."""
        return connection.execute(self._locked, {"row": row, "worker": worker, "claim": claim}).one_or_none()

    def expired(self, lease_ms: Any) -> ColumnElement[bool]:
        """Return the SQL condition of an expired lease. ``lease_ms`` is the full length of a lease.

        A lease that ends later than two full lengths from now counts as expired too: the clock was set back since.
        """
        until = self._columns.lease_until
        return or_(until < db_now(), until > db_now() + 2 * lease_ms)
