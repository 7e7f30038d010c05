"""What of a home differs once something came, changed or went: to be compared, and cheap to read."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass

from sqlalchemy import Connection, select

from hybrid_core.store.catalog.changes import COUNTER
from hybrid_core.store.catalog.libraries import outside_bin
from hybrid_core.store.catalog.schema import libraries, meta
from hybrid_core.store.counters import counters
from hybrid_core.store.jobs.control import FORGOTTEN
from hybrid_core.store.jobs.events import last_event
from hybrid_core.store.jobs.tables import pauses

HOME = ""
"""The key of what concerns no library alone."""


@dataclass(frozen=True, slots=True)
class HomeState:
    """``event`` is the number of the newest job event.

    ``parts`` has a value for each library, by its id, that differs after its names or documents changed, and one under
    ``HOME`` for the catalog's id, pauses and forgotten jobs.
    """

    event: int
    parts: Mapping[str, Hashable]

    def changed(self, before: HomeState) -> list[str]:
        """Return the libraries (ids) that came, changed or went, and ``HOME``."""
        ids = self.parts.keys() | before.parts.keys()
        return sorted(id for id in ids if self.parts.get(id) != before.parts.get(id))


def read_state(connection: Connection) -> HomeState:
    """Read the state of the home as one transaction sees it."""
    numbers = {row.name: row.n for row in connection.execute(select(counters))}
    columns = libraries.c
    query = select(columns.id, columns.name, columns.alias, columns.embedder).where(outside_bin(columns.id))
    parts: dict[str, Hashable] = {
        row.id: (*row, numbers.get(f"{COUNTER}{row.id}", 0)) for row in connection.execute(query)
    }
    catalog = connection.scalar(select(meta.c.value).where(meta.c.key == "catalog"))
    paused = frozenset((row.scope, row.id) for row in connection.execute(select(pauses)))
    return HomeState(last_event(connection), parts | {HOME: (catalog, paused, numbers.get(FORGOTTEN, 0))})
