"""A catalog forgets everything."""

from __future__ import annotations

import uuid

from sqlalchemy import Connection, delete, func, insert, select, update

from hybrid_core.store.access.tables import grants, tokens
from hybrid_core.store.catalog.changes import COUNTER
from hybrid_core.store.catalog.libraries import BINNED
from hybrid_core.store.catalog.schema import EPOCH, meta, whole
from hybrid_core.store.counters import counters
from hybrid_core.store.tables import STAYS
from hybrid_core.store.usage.tables import model_usage


def forget_everything(connection: Connection, session: str = "") -> None:
    """Empty every table, those of tokens, users and sessions too: no word of a document and no right is left.

    It is another catalog from now on, by its id, so that nobody takes its logs for those of before. Only what happens
    to jobs is numbered on, for those who wait for the next, and what models took stays as sums without names.
    ``session`` is the hash of a browser's secret whose session stays, "" for none.
    """
    session_row = (tokens.c.hash == session) & (tokens.c.kind == "session")
    for table in reversed(whole().sorted_tables):
        if table is counters:
            connection.execute(delete(counters).where(counters.c.name.startswith(COUNTER)))
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
    """Sums by day and model stay: a month's limit is not to be had anew by clearing the home."""
    known = model_usage.c
    sums = ("calls", "input_tokens", "output_tokens", "unpriced", "cost", "seconds")
    query = select(known.day, known.model, *(func.sum(known[name]).label(name) for name in sums))
    rows = [dict(row._mapping) for row in connection.execute(query.group_by(known.day, known.model))]
    connection.execute(delete(model_usage))
    if rows:
        connection.execute(insert(model_usage), [{**row, "library": "", "who": ""} for row in rows])
