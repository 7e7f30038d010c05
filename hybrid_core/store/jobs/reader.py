"""Reads of jobs, their counts and their events."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from sqlalchemy import func, select

from hybrid_core.errors import Advice, NotFoundError
from hybrid_core.store.database import TransactionalStore, parts
from hybrid_core.store.jobs import claims, outcomes, tables
from hybrid_core.store.jobs.tables import IS_ACTIVE, IS_WAITING, awaited_by, job_waiters, jobs
from hybrid_core.store.tables import clean
from hybrid_core.types.jobs import Job, JobCounts, JobEvent, JobRequest, JobStage, JobStatus


class JobReader:
    def __init__(self, store: TransactionalStore) -> None:
        self._store = store

    def job(self, id: int) -> Job:
        """Return the job with an id. Raise NotFoundError if there is none."""
        jobs = self.jobs([id])
        if not jobs:
            raise NotFoundError(
                f"Job {id} does not exist.",
                Advice(
                    "List the jobs. Ended jobs are deleted after some time.",
                    "List the jobs with: hybrid-pageindex jobs list. Ended jobs are deleted after some time.",
                ),
            )
        return jobs[0]

    def jobs(self, ids: Collection[int]) -> list[Job]:
        """Return the existing jobs among these ids, ordered by id."""
        with self._store.reading() as connection:
            paused = tables.Paused(connection)
            return [
                tables.to_job(row, paused)
                for batch in parts(sorted(set(ids)))
                for row in connection.execute(tables.JOBS.where(jobs.c.id.in_(batch)).order_by(jobs.c.id))
            ]

    def listed(
        self,
        *,
        library: str | None = None,
        status: Collection[JobStatus] | None = None,
        waiter: str | None = None,
        subjects: Sequence[str] | None = None,
        limit: int = 100,
    ) -> list[Job]:
        """Return jobs: running ones, then waiting ones in the order of the queue, then ended ones, the newest first."""
        listed: list[Job] = []
        with self._store.reading() as connection:
            paused = tables.Paused(connection)
            shown = ("running", "waiting", "done", "failed", "cancelled") if status is None else tuple(status)
            for group in (("running",), ("waiting",), ("done", "failed", "cancelled")):
                statuses = [state for state in group if state in shown]
                if not statuses or len(listed) >= limit:
                    continue
                query: Any = tables.JOBS.where(jobs.c.status.in_(statuses)).limit(limit - len(listed))
                if group == ("running",):
                    query = query.where(IS_ACTIVE).order_by(jobs.c.started_at, jobs.c.id)
                elif group == ("waiting",):
                    query = query.where(IS_WAITING).order_by(jobs.c.priority.desc(), jobs.c.turn, jobs.c.id)
                else:
                    query = query.where(jobs.c.finished_at > 0).order_by(jobs.c.finished_at.desc(), jobs.c.id.desc())
                if library is not None:
                    query = query.where(jobs.c.library == library)
                if subjects is not None:
                    query = query.where(jobs.c.subject.in_(subjects))
                if waiter is not None:
                    query = query.where(jobs.c.id.in_(awaited_by(waiter)))
                listed += [tables.to_job(row, paused) for row in connection.execute(query)]
        return listed

    def active_subjects(self, library: str) -> list[str]:
        """Return the subjects (paths of files, for example) of all waiting and running jobs of a library."""
        query = select(jobs.c.subject).where(jobs.c.library == library, IS_ACTIVE)
        with self._store.reading() as connection:
            return list(connection.scalars(query))

    def waiting_stages(self, library: str, abilities: Collection[str]) -> dict[str, JobStage]:
        """Return the stages of the waiting indexing jobs of a library, by subject (the file's path).

        Jobs that are paused, or need more than these abilities, are left out.
        """
        query = select(jobs.c.id, jobs.c.library, jobs.c.subject, jobs.c.stage, jobs.c.needs)
        query = query.where(jobs.c.library == library, jobs.c.kind == "index", IS_WAITING)
        able = set(abilities)
        with self._store.reading() as connection:
            paused = tables.Paused(connection)
            waiting = connection.execute(query).all()
        return {row.subject: row.stage for row in waiting if tables.words(row.needs) <= able and not paused.holds(row)}

    def stage(self, library: str, subject: str) -> JobStage | None:
        """Return the stage of the waiting or running indexing job of a file, None if it has no such job."""
        key = clean(JobRequest(library, "index", subject, "refine").dedupe_key)
        with self._store.reading() as connection:
            stage: JobStage | None = connection.scalar(select(jobs.c.stage).where(jobs.c.key == key, IS_ACTIVE))
        return stage

    def ahead(self, ids: Collection[int]) -> dict[int, int]:
        """Return how many jobs come before each of these waiting jobs, by id, if libraries and owners take turns."""
        with self._store.reading() as connection:
            return claims.ahead(connection, list(ids))

    def awaited(self, waiter: str) -> int:
        """Return the number of jobs that a worker waits for, including ended ones."""
        with self._store.reading() as connection:
            return connection.scalar(select(func.count()).where(job_waiters.c.worker_id == waiter)) or 0

    def active_awaited(self, waiter: str) -> tuple[frozenset[int], bool]:
        """Return the active jobs that a worker waits for, and whether any of them is paused."""
        query = select(jobs.c.id, jobs.c.library).where(IS_ACTIVE, jobs.c.id.in_(awaited_by(waiter)))
        with self._store.reading() as connection:
            paused = tables.Paused(connection)
            rows = connection.execute(query).all()
        return frozenset(row.id for row in rows), any(map(paused.holds, rows))

    def has_files_left(self, library: str) -> bool:
        """Return whether a library has waiting or running jobs other than embedding."""
        query = select(jobs.c.id).where(IS_ACTIVE, jobs.c.library == library, jobs.c.stage != "embed").limit(1)
        with self._store.reading() as connection:
            return connection.scalar(query) is not None

    def counts(self, *, library: str | None = None, waiter: str | None = None) -> JobCounts:
        query = select(jobs.c.status, func.count().label("n")).group_by(jobs.c.status)
        stages = select(jobs.c.stage, func.count().label("n")).where(IS_ACTIVE).group_by(jobs.c.stage)
        if library is not None:
            query, stages = (statement.where(jobs.c.library == library) for statement in (query, stages))
        if waiter is not None:
            query, stages = (statement.where(jobs.c.id.in_(awaited_by(waiter))) for statement in (query, stages))
        with self._store.reading() as connection:
            statuses: dict[str, int] = {row.status: row.n for row in connection.execute(query)}
            return JobCounts(**statuses, stages={row.stage: row.n for row in connection.execute(stages)})

    def active(self) -> dict[str, int]:
        """Return the number of waiting and running jobs of each library that has any."""
        query = select(jobs.c.library, func.count().label("n")).where(IS_ACTIVE).group_by(jobs.c.library)
        with self._store.reading() as connection:
            return {row.library: row.n for row in connection.execute(query)}

    def events(
        self,
        after: int = 0,
        *,
        job: int | None = None,
        library: str | Collection[str] | None = None,
        waiter: str | None = None,
        limit: int = 1000,
    ) -> list[JobEvent]:
        """Return the events with numbers above ``after``, in order. ``waiter`` selects jobs that this worker awaits.

        The progress events of ended jobs, and all events of old jobs, have been deleted.
        """
        with self._store.reading() as connection:
            return outcomes.events(connection, after, job=job, library=library, waiter=waiter, limit=limit)

    def last_event(self) -> int:
        with self._store.reading() as connection:
            return outcomes.last_event(connection)

    def oldest_event(self) -> int:
        with self._store.reading() as connection:
            return outcomes.oldest_event(connection)
