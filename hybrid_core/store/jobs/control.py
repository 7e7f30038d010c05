"""What somebody decides about jobs: pause, resume, cancel, try again, forget."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from sqlalchemy import Connection, Row, delete, select, update

from hybrid_core.store.counters import take
from hybrid_core.store.jobs.clock import db_now
from hybrid_core.store.jobs.enqueue import take_turn
from hybrid_core.store.jobs.events import Happening, log
from hybrid_core.store.jobs.fencing import end, waiting
from hybrid_core.store.jobs.store import JobStore
from hybrid_core.store.jobs.tables import IS_ACTIVE, IS_ENDED, job_events, job_turns, job_waiters, jobs, pauses
from hybrid_core.store.parts import parts
from hybrid_core.store.tables import insert_into

Scope = Literal["all", "library", "job"]
FORGOTTEN = "forgotten jobs"
"""The counter of jobs that somebody forgot: nothing else tells those who list jobs."""


class JobControl:
    """Jobs are chosen by their ids, a library, subjects, or not at all: then all are meant."""

    def __init__(self, store: JobStore) -> None:
        self._store = store

    def pause(self, scope: Scope, name: str = "") -> None:
        """Nothing of it is taken until it is resumed; what runs is given back at its next page range."""
        with self._store.writing() as connection:
            connection.execute(
                insert_into(connection, pauses).values(scope=scope, id=name, at=db_now()).on_conflict_do_nothing()
            )

    def resume(self, scope: Scope, name: str = "") -> bool:
        """Whether it was paused. What a wider scope pauses stays paused; with all, everything goes on."""
        query = delete(pauses).returning(pauses.c.id)
        if scope != "all":
            query = query.where(pauses.c.scope == scope, pauses.c.id == name)
        with self._store.writing() as connection:
            return bool(connection.execute(query).all())

    def pauses(self) -> list[tuple[Scope, str]]:
        with self._store.reading() as connection:
            return [(row.scope, row.id) for row in connection.execute(select(pauses).order_by(pauses.c.at))]

    def cancel(
        self,
        ids: Sequence[int] | None = None,
        *,
        library: str | None = None,
        subjects: Sequence[str] | None = None,
        cause: str = "It was cancelled.",
    ) -> list[int]:
        """End what waits, and ask for the end of what runs; the ids of both. What was published stays."""
        with self._store.writing() as connection:
            take_turn(connection)
            found = _active(connection, ids, library, subjects)
            log(connection, cancel(connection, found, cause))
        return [row.id for row in found]

    def revoke(self, *, library: str, subjects: Sequence[str] | None = None, cause: str) -> list[int]:
        """End jobs at once, also those that run: whoever has one can write nothing of it from now on."""
        with self._store.writing() as connection:
            take_turn(connection)
            found = _active(connection, None, library, subjects)
            log(connection, [told for row in found for told in _ended(connection, row, cause)])
        return [row.id for row in found]

    def erase(self, library: str) -> None:
        """Forget all jobs of a library, whatever they are doing, and whether it is paused."""
        with self._store.writing() as connection:
            drop(connection, connection.scalars(select(jobs.c.id).where(jobs.c.library == library)).all())
            connection.execute(delete(pauses).where(pauses.c.scope == "library", pauses.c.id == library))
            connection.execute(delete(job_turns).where(job_turns.c.library == library))

    def retry(self, ids: Sequence[int] | None = None, *, library: str | None = None) -> list[int]:
        """Let failed jobs, or these that failed or were cancelled, wait again; the ids of those that do.

        One of which another that does the same waits or runs by now stays as it is.
        """
        with self._store.writing() as connection:
            take_turn(connection)
            query = select(jobs).where(IS_ENDED).order_by(jobs.c.id).with_for_update()
            query = query.where(jobs.c.status.in_(["failed"] if ids is None else ["failed", "cancelled"]))
            if library is not None:
                query = query.where(jobs.c.library == library)
            found = _of_ids(connection, query, ids)
            happened, revived = [], []
            for row in {row.key: row for row in found}.values():  # of one key the newest
                busy = connection.scalar(select(jobs.c.id).where(jobs.c.key == row.key, IS_ACTIVE))
                if busy is not None:
                    continue
                values = waiting(not_before=0) | {
                    "attempts": 0, "turn": 0, "done": 0, "total": 0, "cause": "", "finished_at": 0,
                    "cancel_requested": False, "detached": True,
                }  # fmt: skip
                connection.execute(update(jobs).where(jobs.c.id == row.id).values(**values))
                happened.append(Happening(row.id, row.library, "retry", {"asked": True}))
                revived.append(row.id)
            log(connection, happened)
        return revived

    def forget(self, ids: Sequence[int] | None = None, *, library: str | None = None) -> int:
        """Delete ended jobs with their events; how many. What waits or runs stays."""
        with self._store.writing() as connection:
            query = select(jobs.c.id).where(IS_ENDED)
            if library is not None:
                query = query.where(jobs.c.library == library)
            found = [row.id for row in _of_ids(connection, query, ids)]
            drop(connection, found)
            if found:
                take(connection, FORGOTTEN, len(found))
        return len(found)


def cancel(connection: Connection, found: Sequence[Row[Any]], cause: str) -> list[Happening]:
    """These rows of active jobs; what was asked again of them meanwhile is cancelled too."""
    happened = []
    for row in found:
        if row.status == "waiting":
            happened += _ended(connection, row, cause)
            continue
        values = {"again": "", "cancel_requested": True, "cause": cause}
        connection.execute(update(jobs).where(jobs.c.id == row.id).values(**values))
        happened.append(Happening(row.id, row.library, "cancel", {"cause": cause}))
    return happened


def _ended(connection: Connection, row: Row[Any], cause: str) -> list[Happening]:
    return end(connection, row, "cancelled", cause, {"cancel_requested": True}, again=False)


def drop(connection: Connection, ids: Sequence[int]) -> None:
    for some in parts(ids):
        for column in (job_events.c.job_id, job_waiters.c.job_id, jobs.c.id):
            connection.execute(delete(column.table).where(column.in_(some)))


def _active(
    connection: Connection, ids: Sequence[int] | None, library: str | None, subjects: Sequence[str] | None
) -> list[Row[Any]]:
    query = select(jobs).where(IS_ACTIVE).with_for_update()
    if library is not None:
        query = query.where(jobs.c.library == library)
    if subjects is None:
        return _of_ids(connection, query, ids)
    found: list[Row[Any]] = []
    for some in parts(subjects):
        found += _of_ids(connection, query.where(jobs.c.subject.in_(some)), ids)
    return found


def _of_ids(connection: Connection, query: Any, ids: Sequence[int] | None) -> list[Row[Any]]:
    if ids is None:
        return list(connection.execute(query))
    found: list[Row[Any]] = []
    for some in parts(ids):
        found += connection.execute(query.where(jobs.c.id.in_(some)))
    return found
