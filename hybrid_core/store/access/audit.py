"""The log of what callers changed: only added to, and cut at its old end. Who is refused pushes out nothing done."""

from __future__ import annotations

import time

from sqlalchemy import delete, func, insert, select

from hybrid_core.store.access.tables import audit
from hybrid_core.store.jobs.store import JobStore as Store
from hybrid_core.types.access import AuditEntry

_KEPT, _REFUSED = 1_000_000, 100_000  # the newest, and of these the newest that were refused


class AuditLog:
    def __init__(self, store: Store) -> None:
        self._store = store

    def add(self, caller: str, action: str, library: str, subject: str, outcome: int) -> None:
        values = {"caller": caller, "action": action, "library": library, "subject": subject, "outcome": outcome}
        with self._store.writing() as connection:
            connection.execute(insert(audit).values(at=time.time_ns() // 1_000_000, **values))
            last = connection.scalar(select(func.max(audit.c.number))) or 0
            if last % 1000 == 0:
                connection.execute(delete(audit).where(audit.c.number <= last - _KEPT))
                old = audit.c.number <= last - _REFUSED
                connection.execute(delete(audit).where(old, audit.c.outcome >= 400))

    def entries(self, *, before: int = 0, library: str | None = None, most: int = 100) -> list[AuditEntry]:
        """The newest first, older than the number ``before`` (0: all)."""
        query = select(audit).order_by(audit.c.number.desc()).limit(most)
        if before:
            query = query.where(audit.c.number < before)
        if library is not None:
            query = query.where(audit.c.library == library)
        with self._store.reading() as connection:
            return [AuditEntry(*row) for row in connection.execute(query)]
