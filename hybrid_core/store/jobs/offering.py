"""Which jobs are offered to workers that are told a job's number and cannot look for another one."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from sqlalchemy import Connection, Select, bindparam, func, select

from hybrid_core.store.jobs import rows
from hybrid_core.store.jobs.fencing import Retries
from hybrid_core.store.jobs.limits import JobLimits, open_now, open_values
from hybrid_core.store.jobs.queue import JobQueue
from hybrid_core.store.jobs.store import JobStore
from hybrid_core.store.jobs.tables import jobs
from hybrid_core.store.jobs.workers import SESSION, Workers

_TOGETHER = 20  # jobs that need the same: who cannot do them is past so many before it comes to others


@dataclass(frozen=True, slots=True)
class Offer:
    job: int
    kind: str


class JobOffers:
    """Of what waits, what a worker may take now. Who takes an offer claims the job as all do."""

    def __init__(self, store: JobStore, retries: Retries = Retries(), limits: JobLimits = JobLimits()) -> None:
        self._store, self._longest, self._limits = store, 2 * retries.most_ms, limits
        self._queue, self._workers = JobQueue(store, retries, limits=limits), Workers(store, retries=retries)

    def all(self, most: int) -> list[Offer]:
        """Up to ``most`` of each kind, and of a library no more than may run at once; the most urgent first among the
        first 20 of all that need the same, then among the next. Libraries take turns, and in them those who asked.
        Where more wait, those that need different things have the same part: so neither a library nor an ability that
        nobody has keeps others waiting. What dead workers had is offered too."""
        self._workers.sweep()
        self._queue.expire()
        with self._store.reading() as connection:
            paused = rows.Paused(connection)
            if paused.all:
                return []
            values = self._values(connection, paused) | {"most": most, "share": self._limits.library_jobs or most}
            found = connection.execute(_offers(), values).all()
        found = sorted(
            found, key=lambda row: ((row.of_needs - 1) // _TOGETHER, -row.priority, row.turn, row.of_turn, row.id)
        )
        return [Offer(row.id, row.kind) for row in found]

    def open(self, job: int, abilities: Collection[str]) -> bool:
        """Whether who has these abilities may take a job now."""
        with self._store.reading() as connection:
            paused = rows.Paused(connection)
            if paused.all:
                return False
            needs = connection.scalar(_needs(), self._values(connection, paused) | {"job": job})
            return needs is not None and rows.words(needs) <= set(abilities)

    def _values(self, connection: Connection, paused: rows.Paused) -> dict[str, Any]:
        return open_values(connection, paused, self._longest, self._limits)


@cache
def _needs() -> Select[Any]:
    return select(jobs.c.needs).where(jobs.c.id == bindparam("job"), *open_now())


@cache
def _offers() -> Select[Any]:
    """Jobs are numbered by their turns: within a library, then among those that need the same, then among all."""
    sorted_by = [jobs.c[name] for name in ("id", "kind", "library", "owner", "needs", "priority", "turn")]
    chosen: Any = select(*sorted_by).where(*open_now(), ~jobs.c.needs.contains(SESSION)).subquery()
    alike = ["kind", "needs"]
    same = [*alike, "priority", "turn", "library"]
    chosen = _numbered(chosen, "of_owner", [*same, "owner"], "most", [chosen.c.id])
    chosen = _numbered(chosen, "of_turn", same, "most", [chosen.c.of_owner, chosen.c.id])
    for name, within, limit in (("of_library", [*alike, "library"], "share"), ("of_needs", alike, "most")):
        chosen = _numbered(chosen, name, within, limit, _order(chosen.c))
    chosen = _numbered(chosen, "of_kind", alike[:1], "most", [chosen.c.of_needs, *_order(chosen.c)])
    return select(chosen)


def _numbered(chosen: Any, name: str, within: Sequence[str], limit: str, order: Sequence[Any]) -> Any:
    """Return these jobs with their numbers among those that are the same ``within``, up to ``limit``."""
    place = func.row_number().over(partition_by=[chosen.c[column] for column in within], order_by=order)
    numbered = select(chosen, place.label(name)).subquery()
    return select(numbered).where(numbered.c[name] <= bindparam(limit)).subquery()


def _order(of: Any) -> list[Any]:
    return [of.priority.desc(), of.turn, of.of_turn, of.id]
