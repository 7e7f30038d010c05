"""The processes that do jobs or wait for them: who is there, and what happens to what a process leaves behind."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, delete, insert, or_, select, update

from hybrid_core.store.jobs import rows
from hybrid_core.store.jobs.clock import db_now
from hybrid_core.store.jobs.control import cancel
from hybrid_core.store.jobs.enqueue import take_turn
from hybrid_core.store.jobs.events import log
from hybrid_core.store.jobs.fencing import Retries, end
from hybrid_core.store.jobs.queue import LEASE_MS, abandoned, release
from hybrid_core.store.jobs.store import JobStore
from hybrid_core.store.jobs.tables import IS_ACTIVE, IS_RUNNING, IS_WAITING, awaited_by, job_waiters, jobs, workers
from hybrid_core.store.parts import parts
from hybrid_core.types.jobs import Worker

SESSION = "password:"
"""Begins a need that only the process that holds a password can meet."""
MACHINE = "machine:"
"""Begins a need that only those meet who find the file at its path."""


class Workers:
    def __init__(self, store: JobStore, lease_ms: int = LEASE_MS, retries: Retries = Retries()) -> None:
        self._store, self._lease_ms, self._retries = store, lease_ms, retries

    def register(self, worker: Worker) -> Worker:
        """As it is known from now on."""
        with self._store.writing() as connection:
            now = connection.scalar(select(db_now())) or 0
            made = replace(worker, started_at=now, heartbeat_at=now)
            connection.execute(delete(workers).where(workers.c.id == worker.id))
            connection.execute(
                insert(workers).values(
                    id=made.id, host=made.host, pid=made.pid, kind=made.kind,
                    abilities=rows.joined(made.abilities), started_at=now, heartbeat_at=now,
                )
            )  # fmt: skip
        return made

    def beat(self, worker: str) -> bool:
        """Give a sign of life; False where it had been given up: it must register and wait for its jobs again."""
        with self._store.writing() as connection:
            beaten = connection.execute(
                update(workers).where(workers.c.id == worker).values(heartbeat_at=db_now()).returning(workers.c.id)
            )
            return beaten.one_or_none() is not None

    def all(self) -> list[Worker]:
        """Those that live, the oldest first."""
        with self._store.reading() as connection:
            found = connection.execute(
                select(workers).where(~self._dead()).order_by(workers.c.started_at, workers.c.id)
            )
            return [rows.to_worker(row) for row in found]

    def leave(self, worker: str, cause: str = "") -> None:
        """A process ends: what it has waits again, and it waits for nothing; the jobs that it waited for stay."""
        with self._store.writing() as connection:
            log(connection, release(connection, self._forget(connection, [worker]), cause))

    def abandon(self, worker: str) -> list[int]:
        """Stop waiting, and cancel what only this one waits for and nobody asked for without waiting; their ids."""
        with self._store.writing() as connection:
            take_turn(connection)
            others = select(job_waiters.c.job_id).where(job_waiters.c.worker_id != worker)
            mine = awaited_by(worker)
            alone = connection.execute(
                select(jobs).where(
                    jobs.c.id.in_(mine), jobs.c.id.not_in(others), jobs.c.detached.is_(False), IS_ACTIVE
                ).with_for_update()
            ).all()  # fmt: skip
            connection.execute(delete(job_waiters).where(job_waiters.c.worker_id == worker))
            log(connection, cancel(connection, alone, "Whoever waited for it stopped."))
        return [row.id for row in alone]

    def detach(self, worker: str) -> None:
        """Stop waiting; the jobs go on."""
        with self._store.writing() as connection:
            mine = awaited_by(worker)
            connection.execute(update(jobs).where(jobs.c.id.in_(mine), IS_ACTIVE).values(detached=True))
            connection.execute(delete(job_waiters).where(job_waiters.c.worker_id == worker))

    def sweep(self, worker: str = "") -> None:
        """Forget processes that are gone, but for the one that asks, and end what only they could have done. What they
        had is one try the worse, as where its lease ran out."""
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
            log(connection, abandoned(connection, left, self._retries))
            self._end_forgotten(connection)

    def _forget(self, connection: Connection, gone: Sequence[str]) -> Sequence[Row[Any]]:
        """The jobs that they have."""
        had: list[Row[Any]] = []
        for some in parts(gone):
            connection.execute(delete(job_waiters).where(job_waiters.c.worker_id.in_(some)))
            connection.execute(delete(workers).where(workers.c.id.in_(some)))
            had += connection.execute(select(jobs).where(IS_RUNNING, jobs.c.worker.in_(some)).with_for_update())
        return had

    def _end_forgotten(self, connection: Connection) -> None:
        """Jobs whose password no process has any more would wait for ever."""
        known = {word for text in connection.execute(select(workers.c.abilities)).scalars() for word in text.split()}
        found = connection.execute(select(jobs).where(IS_WAITING, jobs.c.needs.contains(SESSION)).with_for_update())
        cause = "The command that had its password is gone: ask again with the password."
        for row in found.all():
            if any(word.startswith(SESSION) and word not in known for word in row.needs.split()):
                log(connection, end(connection, row, "failed", cause))

    def _dead(self) -> ColumnElement[bool]:
        """Also those of before the clock was put back."""
        return or_(
            workers.c.heartbeat_at < db_now() - self._lease_ms, workers.c.heartbeat_at > db_now() + self._lease_ms
        )
