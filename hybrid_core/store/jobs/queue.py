"""The queue: what waits is taken by one worker at a time, kept by a lease, and ends or goes back."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from sqlalchemy import BigInteger, Connection, Row, bindparam, or_, select, update

from hybrid_core.store.jobs import rows
from hybrid_core.store.jobs.clock import db_now
from hybrid_core.store.jobs.due import Due
from hybrid_core.store.jobs.enqueue import enqueue, wait_for
from hybrid_core.store.jobs.events import Happening, log
from hybrid_core.store.jobs.fencing import Retries, advance_job, end, fail_job, held, waiting
from hybrid_core.store.jobs.limits import JobLimits
from hybrid_core.store.jobs.store import JobStore
from hybrid_core.store.jobs.tables import IS_RUNNING, job_waiters, jobs
from hybrid_core.types.jobs import Advance, Enqueued, Fence, Job, JobProgress, JobRequest, JobStage, Lease

LEASE_MS = 60_000

# Also what reaches further than a lease can: it was written before the clock was put back.
_LAPSED = or_(jobs.c.lease_until < db_now(), jobs.c.lease_until > db_now() + 2 * bindparam("lease", type_=BigInteger))
_LATE = select(jobs.c.id).where(IS_RUNNING, _LAPSED).limit(1)
_LATE_ROWS = select(jobs).where(IS_RUNNING, _LAPSED).with_for_update(skip_locked=True)  # if sorted, it would read all
_HELD = select(jobs).where(IS_RUNNING, jobs.c.worker == bindparam("who"))


class JobQueue:
    """Any number of processes may have one over the same database. Times are those of the database's clock alone."""

    def __init__(
        self,
        store: JobStore,
        retries: Retries = Retries(),
        lease_ms: int = LEASE_MS,
        limits: JobLimits = JobLimits(),
    ) -> None:
        self._store, self._retries, self._lease_ms, self._limits = store, retries, lease_ms, limits

    def enqueue(self, requests: Sequence[JobRequest], *, waiter: str = "") -> list[Enqueued]:
        """One for each request, in one transaction. ``waiter`` is the id of the worker that waits for them: they are
        cancelled when it stops waiting and nobody else has asked; "" where nobody waits."""
        if not requests:
            return []
        with self._store.writing() as connection:
            found, happened = enqueue(connection, requests, waiter)
            log(connection, happened)
        return found

    def enqueue_beside(self, job: Job, requests: Sequence[JobRequest]) -> None:
        """What comes of a job, for whoever waits for it; where nobody does, or not only they have asked, for itself."""
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
        most: int = 1,
    ) -> list[Job]:
        """Take up to ``most`` jobs that these abilities suffice for, the most urgent first; none where none is due.

        ``stages``: only of these. ``only_awaited``: of those that this worker waits for. Leases that have expired are
        seen to before.
        """
        longest = 2 * self._retries.most_ms
        with self._store.reading() as connection:
            paused = rows.Paused(connection)
            late = connection.scalar(_LATE, {"lease": self._lease_ms}) is not None
            due = Due.read(connection, paused, worker, abilities, stages, only_awaited, longest, self._limits)
        if not late and due is None:
            return []
        with self._store.writing() as connection:
            happened = self._expire(connection) if late else []
            taken = [] if due is None else due.take(connection, most, self._lease_ms)
            happened += [
                Happening(row.id, row.library, "claimed", {"worker": worker, "stage": row.stage, "claim": row.claim})
                for row in taken
            ]
            log(connection, happened)
            return [rows.to_job(row, paused) for row in taken]

    def waits(self, worker: str, abilities: Collection[str], stages: Collection[JobStage]) -> bool:
        """Whether there is a job of these stages that a worker with these abilities could take."""
        with self._store.reading() as connection:
            paused = rows.Paused(connection)
            longest = 2 * self._retries.most_ms
            return Due.read(connection, paused, worker, abilities, stages, False, longest, self._limits) is not None

    def leases(self, worker: str) -> list[Lease]:
        """What a worker has, read without writing; what is missing from it was taken away or has ended."""
        with self._store.reading() as connection:
            paused = rows.Paused(connection)
            found = connection.execute(_HELD, {"who": worker}).all()
        return [rows.to_lease(row, paused) for row in found]

    def renew(self, worker: str) -> list[Lease]:
        """Keep what a worker has for another lease, also what has run out and nobody has taken yet."""
        with self._store.writing() as connection:
            paused = rows.Paused(connection)
            now = db_now()
            found = connection.execute(
                update(jobs)
                .where(IS_RUNNING, jobs.c.worker == worker)
                .values(lease_until=now + self._lease_ms, heartbeat_at=now)
                .returning(*jobs.c)
            ).all()
        return [rows.to_lease(row, paused) for row in found]

    def progress(self, reports: Sequence[JobProgress]) -> None:
        """How far jobs are, in one transaction; that of a job which was taken away is dropped. Call it about once a
        second, not for each page."""
        if not reports:
            return
        with self._store.writing() as connection:
            happened = []
            for report in reports:
                fence = report.fence
                row = connection.execute(
                    update(jobs)
                    .where(jobs.c.id == fence.job, jobs.c.worker == fence.worker, jobs.c.claim == fence.claim)
                    .where(IS_RUNNING)
                    .values(done=report.done, total=report.total)
                    .returning(jobs.c.library, jobs.c.stage)
                ).one_or_none()
                if row is not None:
                    detail = {"stage": row.stage, "done": report.done, "total": report.total}
                    happened.append(Happening(fence.job, row.library, "progress", detail))
            log(connection, happened)

    def advance(self, fence: Fence, advance: Advance) -> None:
        """Write what becomes of a running job. Raises LeaseLostError. See ``Catalog.publish`` for both at once."""
        with self._store.writing() as connection:
            log(connection, advance_job(connection, fence, advance))

    def fail(self, fence: Fence, cause: str, *, final: bool = False, passing: bool = False) -> None:
        """A try failed: the job waits to be tried again, or fails where that is ``final`` or was its last one.

        What is ``passing`` (a full disk) is tried again until it has passed, however often.

        Raises LeaseLostError.
        """
        with self._store.writing() as connection:
            row = held(connection, fence)
            log(connection, fail_job(connection, row, cause, self._retries, final=final, passing=passing))

    def release(self, fence: Fence, cause: str = "") -> None:
        """Give a job back as it was taken: for a pause, or by a worker that ends. Raises LeaseLostError."""
        with self._store.writing() as connection:
            row = held(connection, fence)
            log(connection, release(connection, [row], cause))

    def expire(self) -> int:
        """Give what nobody keeps any more to the others; how many jobs that were."""
        with self._store.reading() as connection:
            if connection.scalar(_LATE, {"lease": self._lease_ms}) is None:
                return 0
        with self._store.writing() as connection:
            happened = self._expire(connection)
            log(connection, happened)
        return len({one.job for one in happened})

    def lapse(self, gone: Collection[str]) -> None:
        """End the leases of workers that are known to have died: nobody has to wait until they run out."""
        with self._store.writing() as connection:
            mine = (IS_RUNNING, jobs.c.worker.in_(gone))
            connection.execute(update(jobs).where(*mine).values(lease_until=0))
            log(connection, self._expire(connection))

    def _expire(self, connection: Connection) -> list[Happening]:
        late = connection.execute(_LATE_ROWS, {"lease": self._lease_ms}).all()
        return abandoned(connection, late, self._retries)


def abandoned(connection: Connection, found: Sequence[Row[Any]], retries: Retries) -> list[Happening]:
    """Running jobs whose worker died are one try the worse: one of them may have killed it."""
    happened = []
    for row in sorted(found, key=lambda row: row.id):
        happened.append(Happening(row.id, row.library, "expired", {"worker": row.worker, "stage": row.stage}))
        cause = f"The worker {row.worker} gave no sign of life while it had it."
        happened += fail_job(connection, row, cause, retries, final=False)
    return happened


def release(connection: Connection, found: Sequence[Row[Any]], cause: str) -> list[Happening]:
    """Running jobs wait again, no try the worse; those that were cancelled meanwhile end."""
    happened = []
    for row in found:
        if row.cancel_requested:
            happened += end(connection, row, "cancelled", row.cause)
            continue
        connection.execute(update(jobs).where(jobs.c.id == row.id).values(**waiting(not_before=0), cause=cause))
        happened.append(Happening(row.id, row.library, "released", {"cause": cause} if cause else {}))
    return happened
