"""Writes for a running job, which only the holder of its lease may make, and the events about them."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import BindParameter, Connection, Row, bindparam, delete, func, insert, select, update

from hybrid_core.errors import LeaseLostError
from hybrid_core.store.database import parts
from hybrid_core.store.jobs import tables
from hybrid_core.store.jobs.tables import IS_RUNNING, awaited_by, job_events, jobs, pauses
from hybrid_core.store.leases import LeasedRows, db_now
from hybrid_core.store.tables import counters, take, to_json
from hybrid_core.types.jobs import Fence, JobEvent, JobStatus, JobUpdate
from hybrid_core.types.notes import stored_form

_COUNTER = "job events"
_NOW, _INSERT = select(db_now()), insert(job_events)

# Put together once: that takes longer than to run them.
LEASED = LeasedRows(jobs, IS_RUNNING)
_FORGET_PROGRESS = delete(job_events).where(job_events.c.job_id == bindparam("job"), job_events.c.kind == "progress")
_FORGET_PAUSE = delete(pauses).where(pauses.c.scope == "job", pauses.c.id == bindparam("job"))
_IDS: BindParameter[Any] = bindparam("ids", expanding=True)
_LOCKED = select(jobs).where(jobs.c.id.in_(_IDS), IS_RUNNING).order_by(jobs.c.id).with_for_update()
_FINISH = (
    update(jobs)
    .where(jobs.c.id == bindparam("job"))
    .values(
        status="done", cause="", again="", lease_until=0, result=bindparam("outcome"), heartbeat_at=db_now(),
        finished_at=db_now(),
    )
)  # fmt: skip
_FORGET_PROGRESS_OF = delete(job_events).where(job_events.c.job_id.in_(_IDS), job_events.c.kind == "progress")
_FORGET_PAUSES_OF = delete(pauses).where(pauses.c.scope == "job", pauses.c.id.in_(_IDS))


@dataclass(frozen=True, slots=True)
class NewEvent:
    """An event of a job that is not stored yet, and so has no number."""

    job: int
    library: str
    kind: str
    detail: Mapping[str, Any] = field(default_factory=dict)


def log(connection: Connection, new_events: Sequence[NewEvent]) -> None:
    """Number events and store them. Call it last in a transaction: the counter is locked until the commit."""
    if not new_events:
        return
    at = connection.scalar(_NOW)
    first = take(connection, _COUNTER, len(new_events))
    values = [
        {"number": first + n, "job_id": event.job, "library": event.library, "at": at, "kind": event.kind,
         "detail": to_json(event.detail)}
        for n, event in enumerate(new_events)
    ]  # fmt: skip
    connection.execute(_INSERT, values)


def events(
    connection: Connection,
    after: int = 0,
    *,
    job: int | None = None,
    library: str | Collection[str] | None = None,
    waiter: str | None = None,
    limit: int = 1000,
) -> list[JobEvent]:
    """Return the events with numbers above ``after``, in order.

    ``job`` and ``library`` (one id or several) select events; ``waiter`` selects those of jobs that this worker waits
    for.
    """
    query = select(job_events).where(job_events.c.number > after).order_by(job_events.c.number).limit(limit)
    if job is not None:
        query = query.where(job_events.c.job_id == job)
    if library is not None:
        query = query.where(job_events.c.library.in_([library] if isinstance(library, str) else library))
    if waiter is not None:
        query = query.where(job_events.c.job_id.in_(awaited_by(waiter)))
    return [tables.to_event(row) for row in connection.execute(query)]


def last_event(connection: Connection) -> int:
    """Return the number of the newest event, 0 if there was none."""
    return connection.scalar(select(counters.c.n).where(counters.c.name == _COUNTER)) or 0


def oldest_event(connection: Connection) -> int:
    """Return the number of the oldest stored event, 0 if there is none."""
    return connection.scalar(select(func.min(job_events.c.number))) or 0


@dataclass(frozen=True, slots=True)
class JobRetries:
    """Limits of attempts: how often a stage is tried, and how long a job waits after each failure.

    The wait is ``first_ms``, times ``factor`` after each further failure, and ``most_ms`` at most.
    """

    attempts: int = 5
    first_ms: int = 1_000
    factor: int = 4
    most_ms: int = 300_000

    def wait_ms(self, attempts: int) -> int:
        return int(min(self.first_ms * self.factor ** max(attempts - 1, 0), self.most_ms))


def lock_job(connection: Connection, fence: Fence) -> Row[Any]:
    """Lock the row of a running job until the transaction ends, and return it.

    Raise LeaseLostError if the job has ended or belongs to another worker.
    """
    row = LEASED.lock(connection, fence.job, fence.worker, fence.claim)
    if row is None:
        raise LeaseLostError(
            f"Another worker process has taken over job {fence.job}.",
            "You need not do anything: the other worker continues the job.",
        )
    return row


def lock_jobs(connection: Connection, fences: Sequence[Fence]) -> dict[int, Row[Any]]:
    """Lock the rows of running jobs, and return them by id. Jobs whose leases are lost are left out."""
    claims = {fence.job: (fence.worker, fence.claim) for fence in fences}
    locked = (row for some in parts(sorted(claims)) for row in connection.execute(_LOCKED, {"ids": some}))
    return {row.id: row for row in locked if (row.worker, row.claim) == claims[row.id]}


def advance_job(connection: Connection, fence: Fence, advance: JobUpdate) -> list[NewEvent]:
    """Write the next state of a running job. Return the events to log at the end of the transaction.

    A job that was cancelled meanwhile does not return to the queue. Raise LeaseLostError if the job has ended or
    belongs to another worker.
    """
    return _advance_row(connection, lock_job(connection, fence), advance)


def advance_jobs(
    connection: Connection, advances: Sequence[tuple[Fence, JobUpdate]]
) -> tuple[list[NewEvent], frozenset[int]]:
    """Write the next states of running jobs with few statements.

    Return the events to log, and the ids of jobs whose lease is lost, which stay unchanged.
    """
    rows = lock_jobs(connection, [fence for fence, _ in advances])
    happened: list[NewEvent] = []
    finished: list[dict[str, Any]] = []
    for fence, advance in advances:
        row = rows.get(fence.job)
        if row is None:
            continue
        if row.again or advance != JobUpdate("done", result=advance.result) or advance.result is None:
            happened += _advance_row(connection, row, advance)
        else:
            finished.append({"job": row.id, "outcome": to_json(advance.result)})
            happened.append(NewEvent(row.id, row.library, "done"))
    if finished:
        connection.execute(_FINISH, finished)
        for some in parts([values["job"] for values in finished]):
            connection.execute(_FORGET_PROGRESS_OF, {"ids": some})
            connection.execute(_FORGET_PAUSES_OF, {"ids": [str(job) for job in some]})
    return happened, frozenset(fence.job for fence, _ in advances if fence.job not in rows)


def _advance_row(connection: Connection, row: Row[Any], advance: JobUpdate) -> list[NewEvent]:
    """Write the next state of a running job whose row is locked. Return the events to log."""
    values: dict[str, Any] = {"heartbeat_at": db_now()}
    if advance.stage is not None and advance.stage != row.stage:
        values |= {"stage": advance.stage, "done": 0, "total": 0, "attempts": 0}
    for name in ("done", "total"):
        if (count := getattr(advance, name)) is not None:
            values[name] = count
    if advance.needs is not None:
        values["needs"] = tables.joined(advance.needs)
    for name in ("options", "result"):
        if (value := getattr(advance, name)) is not None:
            values[name] = to_json(value)
    status: JobStatus = advance.status
    if status == "waiting" and row.cancel_requested:
        status = "cancelled"
    stage = values.get("stage", row.stage)
    if status == "running":
        _update_job(connection, row.id, values)
        return [NewEvent(row.id, row.library, "stage", {"stage": stage})] if "stage" in values else []
    if status == "waiting":
        values |= waiting_values(not_before=0) | {
            "turn": row.turn + 1,
            "attempts": 0,
            "cause": stored_form(advance.cause),
        }
        _update_job(connection, row.id, values)
        return [NewEvent(row.id, row.library, "stage", {"stage": stage, "turn": row.turn + 1})]
    return end(connection, row, status, advance.cause, values)


def fail_job(
    connection: Connection, row: Row[Any], cause: str, retries: JobRetries, *, final: bool, passing: bool = False
) -> list[NewEvent]:
    """Count a failed attempt of a job. Return the events to log.

    The job waits for the next attempt. If the failure is ``final`` or no attempts are left, the job fails. A
    ``passing`` failure, such as a full disk, is not the job's fault: it never makes the job fail.
    """
    attempts, cause = row.attempts + 1, stored_form(cause)
    if passing:
        attempts = min(attempts, max(retries.attempts - 1, row.attempts))
    if row.cancel_requested:
        return end(connection, row, "cancelled", row.cause or cause, {"attempts": attempts})
    if not passing and (final or attempts >= retries.attempts):
        return end(connection, row, "failed", cause, {"attempts": attempts})
    wait = retries.wait_ms(attempts)
    _update_job(connection, row.id, waiting_values(not_before=db_now() + wait) | {"attempts": attempts, "cause": cause})
    return [NewEvent(row.id, row.library, "retry", {"attempts": attempts, "cause": cause, "wait_ms": wait})]


def end(
    connection: Connection,
    row: Row[Any],
    status: JobStatus,
    cause: str,
    values: dict[str, Any] | None = None,
    *,
    again: bool = True,
) -> list[NewEvent]:
    """End a job with a status. Return the events to log.

    If it was requested again while it ran, and ``again`` is True, put it back into the queue instead.
    """
    cause = stored_form(cause)
    ending = NewEvent(row.id, row.library, status, {"cause": cause} if cause else {})
    connection.execute(_FORGET_PROGRESS, {"job": row.id})
    if row.again and again:
        request = json.loads(row.again)
        restart = (
            waiting_values(not_before=0) | request | {"again": "", "turn": 0, "attempts": 0, "done": 0, "total": 0}
        )
        _update_job(connection, row.id, (values or {}) | restart | {"cancel_requested": False, "cause": ""})
        return [ending, NewEvent(row.id, row.library, "again", {"stage": request["stage"]})]
    ended = {"status": status, "cause": cause, "finished_at": db_now(), "lease_until": 0, "again": ""}
    _update_job(connection, row.id, (values or {}) | ended)
    connection.execute(_FORGET_PAUSE, {"job": str(row.id)})
    return [ending]


def waiting_values(*, not_before: Any) -> dict[str, Any]:
    """Return the column values that make a job wait, without a worker, until the time ``not_before``."""
    return {"status": "waiting", "worker": "", "lease_until": 0, "not_before": not_before}


def _update_job(connection: Connection, job: int, values: dict[str, Any]) -> None:
    connection.execute(update(jobs).where(jobs.c.id == job).values(**values))
