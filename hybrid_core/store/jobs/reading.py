"""Jobs as they are: listed, counted, and what happened to them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from sqlalchemy import func, select

from hybrid_core.errors import Advice, NotFoundError
from hybrid_core.store.jobs import events, rows, turns
from hybrid_core.store.jobs.store import JobStore
from hybrid_core.store.jobs.tables import IS_ACTIVE, IS_WAITING, awaited_by, jobs
from hybrid_core.store.parts import parts
from hybrid_core.types.jobs import Job, JobCounts, JobEvent, JobStage, JobStatus


class JobReader:
    def __init__(self, store: JobStore) -> None:
        self._store = store

    def job(self, id: int) -> Job:
        """Raises NotFoundError."""
        found = self.jobs([id])
        if not found:
            raise NotFoundError(
                f"No job {id}.",
                Advice("Old jobs are forgotten.", "See: hybrid-pageindex jobs list. Old ones are forgotten."),
            )
        return found[0]

    def jobs(self, ids: Collection[int]) -> list[Job]:
        """Those of these that are known, by id."""
        with self._store.reading() as connection:
            paused = rows.Paused(connection)
            return [
                rows.to_job(row, paused)
                for some in parts(sorted(set(ids)))
                for row in connection.execute(rows.JOBS.where(jobs.c.id.in_(some)).order_by(jobs.c.id))
            ]

    def listed(
        self,
        *,
        library: str | None = None,
        status: Collection[JobStatus] | None = None,
        waiter: str | None = None,
        subjects: Sequence[str] | None = None,
        most: int = 100,
    ) -> list[Job]:
        """What runs first, then what waits in its order, then what has ended, the newest first."""
        found: list[Job] = []
        with self._store.reading() as connection:
            paused = rows.Paused(connection)
            wanted = ("running", "waiting", "done", "failed", "cancelled") if status is None else tuple(status)
            for part in (("running",), ("waiting",), ("done", "failed", "cancelled")):
                which = [one for one in part if one in wanted]
                if not which or len(found) >= most:
                    continue
                query: Any = rows.JOBS.where(jobs.c.status.in_(which)).limit(most - len(found))
                if part == ("running",):
                    query = query.where(IS_ACTIVE).order_by(jobs.c.started_at, jobs.c.id)
                elif part == ("waiting",):
                    query = query.where(IS_WAITING).order_by(jobs.c.priority.desc(), jobs.c.turn, jobs.c.id)
                else:
                    query = query.where(jobs.c.finished_at > 0).order_by(jobs.c.finished_at.desc(), jobs.c.id.desc())
                if library is not None:
                    query = query.where(jobs.c.library == library)
                if subjects is not None:
                    query = query.where(jobs.c.subject.in_(subjects))
                if waiter is not None:
                    query = query.where(jobs.c.id.in_(awaited_by(waiter)))
                found += [rows.to_job(row, paused) for row in connection.execute(query)]
        return found

    def waiting_stages(self, library: str, abilities: Collection[str]) -> dict[str, JobStage]:
        """Return the stage that waits for each file (subject) of a library that was indexed in part.

        Jobs that are paused, or need more than these abilities, are left out.
        """
        query = select(jobs.c.id, jobs.c.library, jobs.c.subject, jobs.c.stage, jobs.c.needs)
        query = query.where(jobs.c.library == library, jobs.c.kind == "index", IS_WAITING)
        able = set(abilities)
        with self._store.reading() as connection:
            paused = rows.Paused(connection)
            waiting = connection.execute(query).all()
        return {row.subject: row.stage for row in waiting if rows.words(row.needs) <= able and not paused.holds(row)}

    def ahead(self, ids: Collection[int]) -> dict[int, int]:
        """Of those of these that wait, how many wait before each: libraries take turns, and in them those who asked."""
        with self._store.reading() as connection:
            return turns.ahead(connection, list(ids))

    def counts(self, *, library: str | None = None, waiter: str | None = None) -> JobCounts:
        query = select(jobs.c.status, func.count().label("n")).group_by(jobs.c.status)
        stages = select(jobs.c.stage, func.count().label("n")).where(IS_ACTIVE).group_by(jobs.c.stage)
        if library is not None:
            query, stages = (one.where(jobs.c.library == library) for one in (query, stages))
        if waiter is not None:
            query, stages = (one.where(jobs.c.id.in_(awaited_by(waiter))) for one in (query, stages))
        with self._store.reading() as connection:
            statuses: dict[str, int] = {row.status: row.n for row in connection.execute(query)}
            return JobCounts(**statuses, stages={row.stage: row.n for row in connection.execute(stages)})

    def events(
        self,
        after: int = 0,
        *,
        job: int | None = None,
        library: str | Collection[str] | None = None,
        waiter: str | None = None,
        most: int = 1000,
    ) -> list[JobEvent]:
        """What happened after an event's number, in order. Ended jobs keep no progress, old ones no events."""
        with self._store.reading() as connection:
            return events.events(connection, after, job=job, library=library, waiter=waiter, most=most)

    def last_event(self) -> int:
        with self._store.reading() as connection:
            return events.last_event(connection)

    def oldest_event(self) -> int:
        with self._store.reading() as connection:
            return events.oldest_event(connection)
