"""What happened to jobs, numbered in the order in which it can be seen."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, func, insert, select

from hybrid_core.store.counters import counters, take
from hybrid_core.store.jobs import rows
from hybrid_core.store.jobs.clock import db_now
from hybrid_core.store.jobs.tables import awaited_by, job_events
from hybrid_core.store.text import to_json
from hybrid_core.types.jobs import JobEvent

_COUNTER = "job events"
_NOW, _INSERT = select(db_now()), insert(job_events)


@dataclass(frozen=True, slots=True)
class Happening:
    """An event that has no number yet."""

    job: int
    library: str
    kind: str
    detail: Mapping[str, Any] = field(default_factory=dict)


def log(connection: Connection, happenings: Sequence[Happening]) -> None:
    """The last statements of a transaction: its numbers are everybody's, and held until the commit."""
    if not happenings:
        return
    at = connection.scalar(_NOW)
    first = take(connection, _COUNTER, len(happenings))
    values = [
        {"number": first + n, "job_id": one.job, "library": one.library, "at": at, "kind": one.kind,
         "detail": to_json(one.detail)}
        for n, one in enumerate(happenings)
    ]  # fmt: skip
    connection.execute(_INSERT, values)


def events(
    connection: Connection,
    after: int = 0,
    *,
    job: int | None = None,
    library: str | Collection[str] | None = None,
    waiter: str | None = None,
    most: int = 1000,
) -> list[JobEvent]:
    """In order, of one library or several. ``waiter`` is the worker whose awaited jobs they are of."""
    query = select(job_events).where(job_events.c.number > after).order_by(job_events.c.number).limit(most)
    if job is not None:
        query = query.where(job_events.c.job_id == job)
    if library is not None:
        query = query.where(job_events.c.library.in_([library] if isinstance(library, str) else library))
    if waiter is not None:
        query = query.where(job_events.c.job_id.in_(awaited_by(waiter)))
    return [rows.to_event(row) for row in connection.execute(query)]


def last_event(connection: Connection) -> int:
    """The number of the newest event; 0 where there was none."""
    return connection.scalar(select(counters.c.n).where(counters.c.name == _COUNTER)) or 0


def oldest_event(connection: Connection) -> int:
    """The number of the oldest event that is still kept; 0 where none is."""
    return connection.scalar(select(func.min(job_events.c.number))) or 0
