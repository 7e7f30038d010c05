"""Every write of a running job: only by who has it, and together with what was made of it."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any

from sqlalchemy import Connection, Row, bindparam, delete, select, update

from hybrid_core.errors import LeaseLostError
from hybrid_core.store.jobs import rows
from hybrid_core.store.jobs.clock import db_now
from hybrid_core.store.jobs.events import Happening
from hybrid_core.store.jobs.tables import IS_RUNNING, job_events, jobs, pauses
from hybrid_core.store.text import to_json
from hybrid_core.types.jobs import Advance, Fence, JobStatus

# Put together once: that takes longer than to run them.
_HELD = (
    select(jobs)
    .where(jobs.c.id == bindparam("job"), jobs.c.worker == bindparam("worker"), jobs.c.claim == bindparam("claim"))
    .where(IS_RUNNING)
    .with_for_update()
)
_FORGET_PROGRESS = delete(job_events).where(job_events.c.job_id == bindparam("job"), job_events.c.kind == "progress")
_FORGET_PAUSE = delete(pauses).where(pauses.c.scope == "job", pauses.c.id == bindparam("job"))


@dataclass(frozen=True, slots=True)
class Retries:
    """How often a stage is tried, and how long a job waits after each failure: ``first_ms``, times ``factor`` each."""

    attempts: int = 5
    first_ms: int = 1_000
    factor: int = 4
    most_ms: int = 300_000

    def wait_ms(self, attempts: int) -> int:
        return int(min(self.first_ms * self.factor ** max(attempts - 1, 0), self.most_ms))


def held(connection: Connection, fence: Fence) -> Row[Any]:
    """The row of a running job, kept from others until the transaction ends. Raises LeaseLostError."""
    row = connection.execute(_HELD, asdict(fence)).one_or_none()
    if row is None:
        raise LeaseLostError(f"Job {fence.job} is no longer this worker's.", "Whoever has it now goes on with it.")
    return row


def advance_job(connection: Connection, fence: Fence, advance: Advance) -> list[Happening]:
    """Write what becomes of a running job; what is to be logged at the end of the transaction.

    A job that was cancelled meanwhile does not go back to the queue. Raises LeaseLostError.
    """
    row = held(connection, fence)
    values: dict[str, Any] = {"heartbeat_at": db_now()}
    if advance.stage is not None and advance.stage != row.stage:
        values |= {"stage": advance.stage, "done": 0, "total": 0, "attempts": 0}
    for name in ("done", "total"):
        if (count := getattr(advance, name)) is not None:
            values[name] = count
    if advance.needs is not None:
        values["needs"] = rows.joined(advance.needs)
    for name in ("options", "result"):
        if (value := getattr(advance, name)) is not None:
            values[name] = to_json(value)
    status: JobStatus = advance.status
    if status == "waiting" and row.cancel_requested:
        status = "cancelled"
    stage = values.get("stage", row.stage)
    if status == "running":
        _write(connection, row.id, values)
        return [Happening(row.id, row.library, "stage", {"stage": stage})] if "stage" in values else []
    if status == "waiting":
        values |= waiting(not_before=0) | {"turn": row.turn + 1, "attempts": 0, "cause": advance.cause}
        _write(connection, row.id, values)
        return [Happening(row.id, row.library, "stage", {"stage": stage, "turn": row.turn + 1})]
    return end(connection, row, status, advance.cause, values)


def fail_job(
    connection: Connection, row: Row[Any], cause: str, retries: Retries, *, final: bool, passing: bool = False
) -> list[Happening]:
    """One more try of a job failed: it waits and is tried again, unless that is ``final`` or was the last one.

    What is ``passing`` lies with the machine and not with the job: its last try is never used up.
    """
    attempts = row.attempts + 1
    if passing:
        attempts = min(attempts, max(retries.attempts - 1, row.attempts))
    if row.cancel_requested:
        return end(connection, row, "cancelled", row.cause or cause, {"attempts": attempts})
    if not passing and (final or attempts >= retries.attempts):
        return end(connection, row, "failed", cause, {"attempts": attempts})
    wait = retries.wait_ms(attempts)
    _write(connection, row.id, waiting(not_before=db_now() + wait) | {"attempts": attempts, "cause": cause})
    return [Happening(row.id, row.library, "retry", {"attempts": attempts, "cause": cause, "wait_ms": wait})]


def end(
    connection: Connection,
    row: Row[Any],
    status: JobStatus,
    cause: str,
    values: dict[str, Any] | None = None,
    *,
    again: bool = True,
) -> list[Happening]:
    """End a job, or let it begin anew where it was asked for again while it ran, unless that is not to be."""
    told = Happening(row.id, row.library, status, {"cause": cause} if cause else {})
    connection.execute(_FORGET_PROGRESS, {"job": row.id})
    if row.again and again:
        asked = json.loads(row.again)
        anew = waiting(not_before=0) | asked | {"again": "", "turn": 0, "attempts": 0, "done": 0, "total": 0}
        _write(connection, row.id, (values or {}) | anew | {"cancel_requested": False, "cause": ""})
        return [told, Happening(row.id, row.library, "again", {"stage": asked["stage"]})]
    ended = {"status": status, "cause": cause, "finished_at": db_now(), "lease_until": 0, "again": ""}
    _write(connection, row.id, (values or {}) | ended)
    connection.execute(_FORGET_PAUSE, {"job": str(row.id)})
    return [told]


def waiting(*, not_before: Any) -> dict[str, Any]:
    """What a job is that nobody has."""
    return {"status": "waiting", "worker": "", "lease_until": 0, "not_before": not_before}


def _write(connection: Connection, job: int, values: dict[str, Any]) -> None:
    connection.execute(update(jobs).where(jobs.c.id == job).values(**values))
