"""A catalog forgets everything."""

from __future__ import annotations

import uuid

from sqlalchemy import Connection, delete, update

from hybrid_core.store.access.tokens import forget_grants
from hybrid_core.store.catalog.changes import COUNTER
from hybrid_core.store.catalog.schema import meta, whole
from hybrid_core.store.counters import counters
from hybrid_core.store.tables import STAYS


def forget_everything(connection: Connection) -> None:
    """Empty every table but those that say who may call. It is another catalog from now on, by its id, so that nobody
    takes its logs for those of before. Only what happens to jobs is numbered on, for those who wait for the next.
    """
    for table in reversed(whole().sorted_tables):
        if table is counters:
            connection.execute(delete(counters).where(counters.c.name.startswith(COUNTER)))
        elif table is not meta and not table.info.get(STAYS):
            connection.execute(delete(table))
    forget_grants(connection)
    connection.execute(update(meta).where(meta.c.key == "catalog").values(value=uuid.uuid4().hex))
