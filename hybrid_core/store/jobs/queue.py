"""The job queue: requests become jobs, workers claim them with leases, and jobs end or wait again."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from sqlalchemy import BigInteger, Connection, Row, bindparam, select, update

from hybrid_core.errors import BusyError
from hybrid_core.store.database import TransactionalStore, parts
from hybrid_core.store.jobs import tables
from hybrid_core.store.jobs.claims import Due, JobLimits
from hybrid_core.store.jobs.outcomes import (
    LEASED,
    JobRetries,
    NewEvent,
    advance_job,
    end,
    fail_job,
    lock_job,
    lock_jobs,
    log,
    waiting_values,
)
from hybrid_core.store.jobs.tables import IS_ACTIVE, IS_RUNNING, IS_WAITING, job_waiters, jobs
from hybrid_core.store.leases import db_now
from hybrid_core.store.tables import clean, insert_into, take, to_json
from hybrid_core.types.jobs import ASKED, Enqueued, Fence, Job, JobProgress, JobRequest, JobStage, JobUpdate, Lease
from hybrid_core.types.notes import Note, stored_form

_COUNTER = "enqueue"
_ROUNDS = 5  # others may end jobs of the same keys between two statements

JOB_LEASE_MS = 60_000

_LEASE_EXPIRED = LEASED.expired(bindparam("lease", type_=BigInteger))
_LATE = select(jobs.c.id).where(IS_RUNNING, _LEASE_EXPIRED).limit(1)
_LATE_ROWS = (
    select(jobs).where(IS_RUNNING, _LEASE_EXPIRED).with_for_update(skip_locked=True)
)  # if sorted, it would read all
_LEASED_TO = select(jobs).where(IS_RUNNING, jobs.c.worker == bindparam("who"))


def enqueue(
    connection: Connection, requests: Sequence[JobRequest], waiter: str
) -> tuple[list[Enqueued], list[NewEvent]]:
    """Turn each request into a job, or join it to an active job with the same key.

    Return an outcome per request, and the events to log. ``waiter`` is the worker that waits for the jobs; "" means
    that they continue without a waiting worker.
    """
    lock_queue(connection)
    by_key: dict[str, JobRequest] = {}
    for request in requests:
        by_key.setdefault(_dedupe_key(request), request)
    outcome: dict[str, Enqueued] = {}
    happened: list[NewEvent] = []
    for _ in range(_ROUNDS):
        left = [key for key in by_key if key not in outcome]
        if not left:
            break
        for keys in parts(left):
            query = select(jobs).where(jobs.c.key.in_(keys), IS_ACTIVE).order_by(jobs.c.id).with_for_update()
            active = {row.key: row for row in connection.execute(query)}
            for key, row in active.items():
                outcome[key], events = _join(connection, row, by_key[key], detached=not waiter)
                happened += events
            new = [by_key[key] for key in keys if key not in active]
            for key, job in _insert(connection, new, detached=not waiter).items():
                outcome[key] = Enqueued(job, "new")
                detail = {"subject": by_key[key].subject, "stage": by_key[key].stage}
                happened.append(NewEvent(job, by_key[key].library, "enqueued", detail))
    else:
        raise BusyError(
            "Other processes keep adding and finishing the same jobs, so this request was not queued.", "Try again."
        )
    if waiter and outcome:
        wait_for(connection, waiter, [entry.job for entry in outcome.values()])
    first = {id(request) for request in by_key.values()}
    enqueued = []
    for request in requests:
        entry = outcome[_dedupe_key(request)]
        enqueued.append(entry if id(request) in first else Enqueued(entry.job, "joined"))
    return enqueued, happened


def lock_queue(connection: Connection) -> None:
    """Lock the queue for this transaction, after all others that activate or lock many jobs. It prevents deadlocks."""
    take(connection, _COUNTER)


def wait_for(connection: Connection, waiter: str, jobs_awaited: Sequence[int]) -> None:
    values = [{"worker_id": waiter, "job_id": job} for job in jobs_awaited]
    if values:
        connection.execute(insert_into(connection, job_waiters).on_conflict_do_nothing(), values)


def _insert(connection: Connection, requests: Sequence[JobRequest], *, detached: bool) -> Mapping[str, int]:
    """Insert a job for each request. Return the job ids by key, without keys that another transaction has inserted."""
    if not requests:
        return {}
    now = connection.scalar(select(db_now()))
    values = [
        _request_values(request)
        | {
            "library": request.library, "owner": request.owner, "kind": request.kind, "subject": request.subject,
            "key": _dedupe_key(request), "status": "waiting", "detached": detached, "created_at": now,
        }
        for request in requests
    ]  # fmt: skip
    insertion = insert_into(connection, jobs).on_conflict_do_nothing().returning(jobs.c.key, jobs.c.id)
    return {row.key: row.id for row in sorted(connection.execute(insertion, values), key=lambda row: row.id)}


def _dedupe_key(request: JobRequest) -> str:
    return clean(request.dedupe_key)  # as it comes back


def _request_values(request: JobRequest) -> dict[str, Any]:
    return {
        "stage": request.stage, "options": to_json(request.options), "needs": tables.joined(request.needs),
        "version": request.version, "priority": request.priority, "request_id": clean(request.request_id),
    }  # fmt: skip


def _join(
    connection: Connection, row: Row[Any], request: JobRequest, *, detached: bool
) -> tuple[Enqueued, list[NewEvent]]:
    """Join a request to a waiting or running job. Return the outcome and the events to log.

    The request with the higher priority determines the job's options. A running job with other options runs again.
    """
    values_asked = _request_values(request)
    if request.priority < row.priority:
        values_asked |= {"options": row.options, "needs": row.needs, "priority": row.priority}
    same = json.loads(values_asked["options"]) == json.loads(row.options) and values_asked["version"] == row.version
    values: dict[str, Any] = {}
    if detached and not row.detached:
        values["detached"] = True
    if values_asked["priority"] != row.priority:
        values["priority"] = values_asked["priority"]
    outcome = Enqueued(row.id, "joined")
    if row.status == "waiting":
        if not same:
            values |= values_asked | {"turn": 0, "attempts": 0, "done": 0, "total": 0}
        if request.priority >= row.priority and row.not_before:
            values["not_before"] = 0
    elif not same or row.cancel_requested:
        if row.again and request.priority < json.loads(row.again)["priority"]:
            values_asked |= {name: json.loads(row.again)[name] for name in ("options", "needs", "priority")}
        values["again"] = to_json(values_asked)
        outcome = Enqueued(row.id, "again")
    if not values:
        return outcome, []
    connection.execute(update(jobs).where(jobs.c.id == row.id).values(**values))
    return outcome, [NewEvent(row.id, row.library, "joined", {"outcome": outcome.outcome})]


class JobQueue:
    """The job queue in the catalog.

    Several processes may use the same database. Only the database clock decides when a lease expires.
    """

    def __init__(
        self,
        store: TransactionalStore,
        retries: JobRetries = JobRetries(),
        lease_ms: int = JOB_LEASE_MS,
        limits: JobLimits = JobLimits(),
    ) -> None:
        self._store, self._retries, self._lease_ms, self._limits = store, retries, lease_ms, limits

    def enqueue(self, requests: Sequence[JobRequest], *, waiter: str = "") -> list[Enqueued]:
        """Enqueue requests in one transaction. Return an outcome for each.

        ``waiter`` is the id of the worker that waits for them, "" for none. When it stops waiting, jobs that no one
        else requested are cancelled.
        """
        if not requests:
            return []
        with self._store.writing() as connection:
            enqueued, happened = enqueue(connection, requests, waiter)
            log(connection, happened)
        return enqueued

    def enqueue_beside(self, job: Job, requests: Sequence[JobRequest]) -> None:
        """Enqueue the follow-up jobs of ``job``. The workers that wait for it also wait for the new jobs.

        If ``job`` continues without a waiting worker, so do the new jobs.
        """
        if not requests:
            return
        with self._store.writing() as connection:
            waiters = list(connection.scalars(select(job_waiters.c.worker_id).where(job_waiters.c.job_id == job.id)))
            detached = connection.scalar(select(jobs.c.detached).where(jobs.c.id == job.id))
            for waiter in ["", *waiters] if detached else waiters or [""]:
                _, happened = enqueue(connection, requests, waiter)
                log(connection, happened)

    def wait_for(self, waiter: str, jobs_awaited: Sequence[int]) -> None:
        with self._store.writing() as connection:
            wait_for(connection, waiter, jobs_awaited)

    def claim(
        self,
        worker: str,
        abilities: Collection[str],
        *,
        stages: Collection[JobStage] = (),
        only_awaited: bool = False,
        limit: int = 1,
    ) -> list[Job]:
        """Claim up to ``limit`` jobs whose needs these abilities meet, the most urgent first. Return the jobs.

        ``stages`` limits the jobs to these stages, ``only_awaited`` to those that this worker waits for. Before, jobs
        with expired leases return to the queue.
        """
        longest_wait = 2 * self._retries.most_ms
        with self._store.reading() as connection:
            paused = tables.Paused(connection)
            late = connection.scalar(_LATE, {"lease": self._lease_ms}) is not None
            due = Due.read(connection, paused, worker, abilities, stages, only_awaited, longest_wait, self._limits)
        if not late and due is None:
            return []
        with self._store.writing() as connection:
            happened = self._expire(connection) if late else []
            taken = [] if due is None else due.take(connection, limit, self._lease_ms)
            happened += [
                NewEvent(row.id, row.library, "claimed", {"worker": worker, "stage": row.stage, "claim": row.claim})
                for row in taken
            ]
            log(connection, happened)
            return [tables.to_job(row, paused) for row in taken]

    def waits(self, worker: str, abilities: Collection[str], stages: Collection[JobStage]) -> bool:
        """Return whether a worker with these abilities could claim a job of these stages."""
        with self._store.reading() as connection:
            paused = tables.Paused(connection)
            longest_wait = 2 * self._retries.most_ms
            return (
                Due.read(connection, paused, worker, abilities, stages, False, longest_wait, self._limits) is not None
            )

    def leases(self, worker: str) -> list[Lease]:
        """Return a worker's leases without renewing them. A lease that was lost, or whose job has ended, is missing."""
        with self._store.reading() as connection:
            paused = tables.Paused(connection)
            rows = connection.execute(_LEASED_TO, {"who": worker}).all()
        return [tables.to_lease(row, paused) for row in rows]

    def renew(self, worker: str) -> list[Lease]:
        """Renew a worker's leases, including expired ones that no worker has taken over. Return them."""
        with self._store.writing() as connection:
            paused = tables.Paused(connection)
            now = db_now()
            rows = connection.execute(
                update(jobs)
                .where(IS_RUNNING, jobs.c.worker == worker)
                .values(lease_until=now + self._lease_ms, heartbeat_at=now)
                .returning(*jobs.c)
            ).all()
        return [tables.to_lease(row, paused) for row in rows]

    def progress(self, reports: Sequence[JobProgress]) -> None:
        """Store the progress of running jobs in one transaction. Reports for jobs with a lost lease are ignored.

        Call it about once a second, not for each page.
        """
        if not reports:
            return
        with self._store.writing() as connection:
            happened = []
            for report in reports:
                fence = report.fence
                row = connection.execute(
                    update(jobs)
                    .where(*LEASED.fence(fence.job, fence.worker, fence.claim))
                    .values(done=report.done, total=report.total)
                    .returning(jobs.c.library, jobs.c.stage)
                ).one_or_none()
                if row is not None:
                    detail = {"stage": row.stage, "done": report.done, "total": report.total}
                    happened.append(NewEvent(fence.job, row.library, "progress", detail))
            log(connection, happened)

    def advance(self, fence: Fence, advance: JobUpdate) -> None:
        """Write the next state of a running job. Raise LeaseLostError if another worker has taken it over.

        To publish a document in the same transaction, call ``Catalog.publish`` instead.
        """
        with self._store.writing() as connection:
            log(connection, advance_job(connection, fence, advance))

    def fail(self, fence: Fence, cause: str, *, final: bool = False, passing: bool = False) -> None:
        """Count a failed attempt: the job waits for the next one, or fails if ``final`` or if no attempts are left.

        After a ``passing`` failure, such as a full disk, the job never runs out of attempts. Raise LeaseLostError if
        another worker has taken over the job.
        """
        with self._store.writing() as connection:
            row = lock_job(connection, fence)
            log(connection, fail_job(connection, row, cause, self._retries, final=final, passing=passing))

    def release(self, fence: Fence, cause: str = "") -> None:
        """Return a running job to the queue without counting an attempt, for a pause or when a worker ends.

        Raise LeaseLostError if another worker has taken it over.
        """
        with self._store.writing() as connection:
            row = lock_job(connection, fence)
            log(connection, release(connection, [row], cause))

    def give_back(self, fences: Sequence[Fence]) -> None:
        """Return several running jobs to the queue without counting an attempt, in one transaction.

        Jobs that another worker has taken over are skipped.
        """
        if not fences:
            return
        with self._store.writing() as connection:
            log(connection, release(connection, list(lock_jobs(connection, fences).values()), ""))

    def expire(self) -> int:
        """Return jobs with expired leases to the queue, and count a failed attempt for each. Return their number."""
        with self._store.reading() as connection:
            if connection.scalar(_LATE, {"lease": self._lease_ms}) is None:
                return 0
        with self._store.writing() as connection:
            happened = self._expire(connection)
            log(connection, happened)
        return len({event.job for event in happened})

    def lapse(self, gone: Collection[str]) -> None:
        """Return the jobs of dead workers to the queue now, without waiting for their leases to expire."""
        with self._store.writing() as connection:
            mine = (IS_RUNNING, jobs.c.worker.in_(gone))
            connection.execute(update(jobs).where(*mine).values(lease_until=0))
            log(connection, self._expire(connection))

    def _expire(self, connection: Connection) -> list[NewEvent]:
        late = connection.execute(_LATE_ROWS, {"lease": self._lease_ms}).all()
        return retry_expired(connection, late, self._retries)


def retry_expired(connection: Connection, rows: Sequence[Row[Any]], retries: JobRetries) -> list[NewEvent]:
    """Count a failed attempt for expired jobs: running jobs whose worker is dead. They wait again, or fail.

    The attempt counts because one of the jobs may have caused the death of the worker. Return the events to log.
    """
    happened = []
    for row in sorted(rows, key=lambda row: row.id):
        happened.append(NewEvent(row.id, row.library, "expired", {"worker": row.worker, "stage": row.stage}))
        cause = Note("job.worker-silent", worker=row.worker)
        happened += fail_job(connection, row, cause, retries, final=False)
    return happened


def release(connection: Connection, rows: Sequence[Row[Any]], cause: str) -> list[NewEvent]:
    """Return running jobs to the queue without counting an attempt, or end them if they were cancelled meanwhile.

    Return the events to log.
    """
    happened, cause = [], stored_form(cause)
    for row in rows:
        if row.cancel_requested:
            happened += end(connection, row, "cancelled", row.cause)
            continue
        connection.execute(update(jobs).where(jobs.c.id == row.id).values(**waiting_values(not_before=0), cause=cause))
        happened.append(NewEvent(row.id, row.library, "released", {"cause": cause} if cause else {}))
    return happened


def refine_first(store: TransactionalStore, subjects: Collection[tuple[str, str]]) -> None:
    """Raise the priority of waiting refinement jobs of documents. ``subjects`` are pairs of library id and path."""
    with store.writing() as connection:
        for library, path in subjects:
            connection.execute(
                update(jobs)
                .where(IS_WAITING, jobs.c.stage == "refine", jobs.c.library == library, jobs.c.subject == path)
                .values(priority=ASKED)
            )
