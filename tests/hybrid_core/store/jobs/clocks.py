"""The clock of a database, as the tests move it."""

from __future__ import annotations

import sqlite3
import time
from typing import Any

from sqlalchemy import event, text

from hybrid_core.store.catalog.catalog import Catalog
from tests.postgres import PostgresStore


class Clock:
    """``seconds`` is how far the database's clock is from the machine's, or from ``at``, where it stands still."""

    def __init__(self, at: float | None = None) -> None:
        self.at = at
        self._seconds = 0.0
        self._servers: list[PostgresStore] = []

    def rules(self, store: Catalog | PostgresStore) -> None:
        """From now on this is the clock of a store's connections."""
        if isinstance(store, Catalog):
            engine = store._database.engine
            engine.dispose()
            event.listen(engine, "connect", self._connected)
            return
        event.listen(store.engine, "begin", lambda on: on.exec_driver_sql("SET search_path = public, pg_catalog"))
        self._servers.append(store)
        self.seconds = self._seconds

    @property
    def seconds(self) -> float:
        return self._seconds

    @seconds.setter
    def seconds(self, seconds: float) -> None:
        self._seconds = seconds
        at = "pg_catalog.clock_timestamp()" if self.at is None else f"to_timestamp({self.at})"
        made = f"SELECT {at} + interval '{seconds} seconds'"
        for store in self._servers:
            with store.writing() as connection:
                connection.execute(
                    text(
                        "CREATE OR REPLACE FUNCTION public.clock_timestamp() RETURNS timestamptz "
                        f"LANGUAGE sql VOLATILE AS $$ {made} $$"
                    )
                )

    def stop(self) -> None:
        """It stands still from now on but for what ``seconds`` says, however long a step of the test takes."""
        self.at = time.time()
        self.seconds = self._seconds

    def _connected(self, connection: sqlite3.Connection, _record: Any) -> None:
        connection.create_function("julianday", 1, lambda _: self._now() / 86400 + 2440587.5)

    def _now(self) -> float:
        return (time.time() if self.at is None else self.at) + self.seconds
