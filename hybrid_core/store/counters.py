"""Numbers that rise in the order of commits: one row a counter.

A sequence of PostgreSQL gives numbers before the commit, so that who has read up to 2 never sees a 1 that is committed
later. The row of a counter is held until the commit: the next writer waits. So take a number last in a transaction.
"""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Connection, Table, bindparam, update

from hybrid_core.store.tables import insert_into, metadata
from hybrid_core.store.text import CleanString as String

counters = Table(
    "counters", metadata,
    Column("name", String, primary_key=True),
    Column("n", BigInteger, nullable=False),  # the last number that was given; never goes back
)  # fmt: skip


_TAKE = (
    update(counters)
    .where(counters.c.name == bindparam("counter"))
    .values(n=counters.c.n + bindparam("more"))
    .returning(counters.c.n)
)


def hold(connection: Connection, name: str) -> None:
    """Let no other transaction that takes of this counter go on before this one is committed."""
    take(connection, name, 0)


def take(connection: Connection, name: str, count: int = 1) -> int:
    """The first of ``count`` new numbers, from 1 on without gaps; given back if the transaction is not committed."""
    last = connection.scalar(_TAKE, {"counter": name, "more": count})
    if last is None:
        connection.execute(insert_into(connection, counters).values(name=name, n=0).on_conflict_do_nothing())
        last = connection.scalar(_TAKE, {"counter": name, "more": count})
    return int(last or count) - count + 1
