"""The processes that run jobs or wait for them, and offers of jobs to workers."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, Select, bindparam, delete, func, insert, or_, select, update

from hybrid_core.store.database import TransactionalStore, parts
from hybrid_core.store.jobs import tables
from hybrid_core.store.jobs.claims import JobLimits, open_now, open_values
from hybrid_core.store.jobs.control import cancel
from hybrid_core.store.jobs.outcomes import JobRetries, end, log
from hybrid_core.store.jobs.queue import JOB_LEASE_MS, JobQueue, lock_queue, release, retry_expired
from hybrid_core.store.jobs.tables import IS_ACTIVE, IS_RUNNING, IS_WAITING, awaited_by, job_waiters, jobs, workers
from hybrid_core.store.leases import db_now
from hybrid_core.types.jobs import Worker
from hybrid_core.types.notes import Note

SESSION = "password:"
"""The prefix of a need that only the process with the password meets."""
MACHINE = "machine:"
"""The prefix of a need that only machines with the file at its path meet."""

_TOGETHER = 20  # jobs with the same needs in a row: a worker that cannot run them skips only this many


class Workers:
    def __init__(
        self, store: TransactionalStore, lease_ms: int = JOB_LEASE_MS, retries: JobRetries = JobRetries()
    ) -> None:
        self._store, self._lease_ms, self._retries = store, lease_ms, retries

    def register(self, worker: Worker) -> Worker:
        """Register a process as a worker. Return the worker with its start time by the database clock."""
        with self._store.writing() as connection:
            now = connection.scalar(select(db_now())) or 0
            registered = replace(worker, started_at=now, heartbeat_at=now)
            connection.execute(delete(workers).where(workers.c.id == worker.id))
            connection.execute(
                insert(workers).values(
                    id=registered.id, host=registered.host, pid=registered.pid, kind=registered.kind,
                    abilities=tables.joined(registered.abilities), started_at=now, heartbeat_at=now,
                )
            )  # fmt: skip
        return registered

    def beat(self, worker: str) -> bool:
        """Record a heartbeat of a process. Return False if it was removed and must register again."""
        with self._store.writing() as connection:
            beaten = connection.execute(
                update(workers).where(workers.c.id == worker).values(heartbeat_at=db_now()).returning(workers.c.id)
            )
            return beaten.one_or_none() is not None

    def all(self) -> list[Worker]:
        """Return the registered processes that are alive, the oldest first."""
        with self._store.reading() as connection:
            rows = connection.execute(select(workers).where(~self._dead()).order_by(workers.c.started_at, workers.c.id))
            return [tables.to_worker(row) for row in rows]

    def leave(self, worker: str, cause: str = "") -> None:
        """Remove an ending process. Its running jobs return to the queue; jobs that it waited for continue."""
        with self._store.writing() as connection:
            log(connection, release(connection, self._forget(connection, [worker]), cause))

    def cancel_awaited(self, worker: str) -> list[int]:
        """Cancel the jobs that only this process waits for, and return their ids. It then waits for no job."""
        with self._store.writing() as connection:
            lock_queue(connection)
            others = select(job_waiters.c.job_id).where(job_waiters.c.worker_id != worker)
            mine = awaited_by(worker)
            alone = connection.execute(
                select(jobs).where(
                    jobs.c.id.in_(mine), jobs.c.id.not_in(others), jobs.c.detached.is_(False), IS_ACTIVE
                ).with_for_update()
            ).all()  # fmt: skip
            connection.execute(delete(job_waiters).where(job_waiters.c.worker_id == worker))
            log(connection, cancel(connection, alone, "The command that waited for this job has ended."))
        return [row.id for row in alone]

    def detach(self, worker: str) -> None:
        """Let the jobs that a process waits for continue without it. It then waits for no job."""
        with self._store.writing() as connection:
            mine = awaited_by(worker)
            connection.execute(update(jobs).where(jobs.c.id.in_(mine), IS_ACTIVE).values(detached=True))
            connection.execute(delete(job_waiters).where(job_waiters.c.worker_id == worker))

    def sweep(self, worker: str = "") -> None:
        """Remove dead processes other than ``worker``, and end waiting jobs that only they could have run.

        Running jobs of dead processes return to the queue, with a failed attempt counted.
        """
        with self._store.reading() as connection:
            dead = connection.execute(select(workers.c.id).where(self._dead(), workers.c.id != worker)).scalars().all()
            secret = connection.execute(
                select(jobs.c.id).where(IS_WAITING, jobs.c.needs.contains(SESSION)).limit(1)
            ).first()
        if not dead and secret is None:
            return
        with self._store.writing() as connection:
            gone = select(workers.c.id).where(self._dead(), workers.c.id != worker)
            left = self._forget(connection, connection.execute(gone).scalars().all())
            log(connection, retry_expired(connection, left, self._retries))
            self._end_forgotten(connection)

    def _forget(self, connection: Connection, gone: Sequence[str]) -> Sequence[Row[Any]]:
        """Delete the records of processes that have ended. Return their running jobs."""
        rows: list[Row[Any]] = []
        for batch in parts(gone):
            connection.execute(delete(job_waiters).where(job_waiters.c.worker_id.in_(batch)))
            connection.execute(delete(workers).where(workers.c.id.in_(batch)))
            rows += connection.execute(select(jobs).where(IS_RUNNING, jobs.c.worker.in_(batch)).with_for_update())
        return rows

    def _end_forgotten(self, connection: Connection) -> None:
        """End waiting jobs that need a password which no process has any more. They would wait forever."""
        abilities = {
            word for text in connection.execute(select(workers.c.abilities)).scalars() for word in text.split()
        }
        rows = connection.execute(select(jobs).where(IS_WAITING, jobs.c.needs.contains(SESSION)).with_for_update())
        cause = Note("job.password-gone")
        for row in rows.all():
            if any(word.startswith(SESSION) and word not in abilities for word in row.needs.split()):
                log(connection, end(connection, row, "failed", cause))

    def _dead(self) -> ColumnElement[bool]:
        """Return the SQL condition of a dead process: its last heartbeat is too long ago.

        A heartbeat far in the future was recorded before the clock was set back, so it counts as old.
        """
        return or_(
            workers.c.heartbeat_at < db_now() - self._lease_ms, workers.c.heartbeat_at > db_now() + self._lease_ms
        )


@dataclass(frozen=True, slots=True)
class Offer:
    job: int
    kind: str


class JobOffers:
    """Lists of waiting jobs that workers may claim now. An offer reserves nothing: a worker must claim the job."""

    def __init__(
        self, store: TransactionalStore, retries: JobRetries = JobRetries(), limits: JobLimits = JobLimits()
    ) -> None:
        self._store, self._longest, self._limits = store, 2 * retries.most_ms, limits
        self._queue, self._workers = JobQueue(store, retries, limits=limits), Workers(store, retries=retries)

    def all(self, limit: int) -> list[Offer]:
        """Return up to ``limit`` offers of each kind, and per library at most as many as may run at once.

        Jobs with the same needs come in blocks of 20; within a block the most urgent come first. Libraries and their
        owners take turns. Jobs of different needs share the offers equally, so neither a library nor a missing ability
        blocks others. Jobs of dead workers are offered too.
        """
        self._workers.sweep()
        self._queue.expire()
        with self._store.reading() as connection:
            paused = tables.Paused(connection)
            if paused.all:
                return []
            values = self._values(connection, paused) | {"most": limit, "share": self._limits.library_jobs or limit}
            rows = connection.execute(_offers(), values).all()
        rows = sorted(
            rows, key=lambda row: ((row.of_needs - 1) // _TOGETHER, -row.priority, row.turn, row.of_round, row.id)
        )
        return [Offer(row.id, row.kind) for row in rows]

    def open(self, job: int, abilities: Collection[str]) -> bool:
        """Return whether a worker with these abilities may claim a job now."""
        with self._store.reading() as connection:
            paused = tables.Paused(connection)
            if paused.all:
                return False
            needs = connection.scalar(_needs(), self._values(connection, paused) | {"job": job})
            return needs is not None and tables.words(needs) <= set(abilities)

    def _values(self, connection: Connection, paused: tables.Paused) -> dict[str, Any]:
        return open_values(connection, paused, self._longest, self._limits)


@cache
def _needs() -> Select[Any]:
    return select(jobs.c.needs).where(jobs.c.id == bindparam("job"), *open_now())


@cache
def _offers() -> Select[Any]:
    """Build the statement that selects the jobs to offer.

    Jobs are numbered by turn in their library, then among jobs of equal needs, then among all jobs of their kind.
    """
    sorted_by = [jobs.c[name] for name in ("id", "kind", "library", "owner", "needs", "priority", "turn")]
    chosen: Any = select(*sorted_by).where(*open_now(), ~jobs.c.needs.contains(SESSION)).subquery()
    alike = ["kind", "needs"]
    same = [*alike, "priority", "turn", "library"]
    chosen = _number_jobs(chosen, "of_owner", [*same, "owner"], "most", [chosen.c.id])
    chosen = _number_jobs(chosen, "of_round", same, "most", [chosen.c.of_owner, chosen.c.id])
    for name, within, limit in (("of_library", [*alike, "library"], "share"), ("of_needs", alike, "most")):
        chosen = _number_jobs(chosen, name, within, limit, _order(chosen.c))
    chosen = _number_jobs(chosen, "of_kind", alike[:1], "most", [chosen.c.of_needs, *_order(chosen.c)])
    return select(chosen)


def _number_jobs(chosen: Any, name: str, within: Sequence[str], limit: str, order: Sequence[Any]) -> Any:
    """Number the jobs of each group in the given order, and select those with numbers up to ``limit``.

    A group are the jobs with equal values in the columns ``within``. ``name`` is the column of the numbers.
    """
    place = func.row_number().over(partition_by=[chosen.c[column] for column in within], order_by=order)
    numbered = select(chosen, place.label(name)).subquery()
    return select(numbered).where(numbered.c[name] <= bindparam(limit)).subquery()


def _order(of: Any) -> list[Any]:
    return [of.priority.desc(), of.turn, of.of_round, of.id]
