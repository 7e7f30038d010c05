"""The clock of a database, as the tests move it."""

from __future__ import annotations

import sqlite3
import time
from typing import Any

from sqlalchemy import event

from hybrid_core.store.catalog.catalog import Catalog


class Clock:
    """``seconds`` is how far the database's clock is from the machine's; or it stands still at ``at``."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.at: float | None = None

    def rules(self, catalog: Catalog) -> None:
        """From now on this is the clock of a catalog's connections."""
        engine = catalog._file.engine
        engine.dispose()
        event.listen(engine, "connect", self._connected)

    def _connected(self, connection: sqlite3.Connection, _record: Any) -> None:
        connection.create_function("julianday", 1, lambda _: self._now() / 86400 + 2440587.5)

    def _now(self) -> float:
        return (time.time() if self.at is None else self.at) + self.seconds
