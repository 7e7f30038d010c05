"""Operations on jobs by users (pause, resume, cancel, retry, forget), and the deletion of old jobs."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal

from sqlalchemy import ColumnElement, Connection, Row, Select, and_, delete, or_, select, update

from hybrid_core.store.database import TransactionalStore, parts
from hybrid_core.store.jobs.claims import forget_served
from hybrid_core.store.jobs.outcomes import NewEvent, end, log, waiting_values
from hybrid_core.store.jobs.queue import lock_queue
from hybrid_core.store.jobs.tables import IS_ACTIVE, IS_ENDED, job_events, job_turns, job_waiters, jobs, pauses
from hybrid_core.store.leases import db_now
from hybrid_core.store.tables import insert_into, take, to_json
from hybrid_core.types.jobs import CANCELLED
from hybrid_core.types.notes import stored_form

Scope = Literal["all", "library", "job"]
FORGOTTEN = "forgotten jobs"
"""The counter of forgotten jobs, by which listeners notice that jobs were deleted."""

_DAY = 86_400_000
_AT_ONCE = 2_000  # rows in one transaction: others write in between


class JobControl:
    """Operations on jobs. Jobs are selected by ids, a library or subjects; without these, all jobs are selected."""

    def __init__(self, store: TransactionalStore) -> None:
        self._store = store

    def pause(self, scope: Scope, name: str = "") -> None:
        """Pause jobs: those of a library, a single job, or all jobs. ``name`` is the id of the library or job.

        Waiting jobs are not claimed until ``resume`` is called. Running jobs stop after their current range of pages.
        """
        with self._store.writing() as connection:
            connection.execute(
                insert_into(connection, pauses).values(scope=scope, id=name, at=db_now()).on_conflict_do_nothing()
            )

    def resume(self, scope: Scope, name: str = "") -> bool:
        """End the pause of a library or a job. Return whether it was paused.

        A pause of all jobs, or of a job's library, stays. Scope "all" ends every pause.
        """
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
        cause: str = CANCELLED,
    ) -> list[int]:
        """Cancel waiting jobs, and ask the workers of running ones to stop. Return the ids of all these jobs.

        Published documents stay.
        """
        with self._store.writing() as connection:
            lock_queue(connection)
            rows = _active_rows(connection, ids, library, subjects)
            log(connection, cancel(connection, rows, cause))
        return [row.id for row in rows]

    def revoke(self, *, library: str, subjects: Sequence[str] | None = None, cause: str) -> list[int]:
        """End jobs at once, including running ones, whose workers lose the right to write. Return their ids."""
        with self._store.writing() as connection:
            lock_queue(connection)
            rows = _active_rows(connection, None, library, subjects)
            log(connection, [event for row in rows for event in _end_cancelled(connection, row, cause)])
        return [row.id for row in rows]

    def erase(self, library: str) -> None:
        """Delete all jobs of a library in any state, and its pause."""
        with self._store.writing() as connection:
            delete_jobs(connection, connection.scalars(select(jobs.c.id).where(jobs.c.library == library)).all())
            connection.execute(delete(pauses).where(pauses.c.scope == "library", pauses.c.id == library))
            connection.execute(delete(job_turns).where(job_turns.c.library == library))

    def retry(
        self,
        ids: Sequence[int] | None = None,
        *,
        library: str | None = None,
        options: Mapping[str, Any] = MappingProxyType({}),
    ) -> list[int]:
        """Queue failed jobs again; with ``ids`` also cancelled ones. Return the ids of the queued jobs.

        ``options`` replace those of the jobs. A job stays unchanged if another job with the same key is active.
        """
        with self._store.writing() as connection:
            lock_queue(connection)
            query = select(jobs).where(IS_ENDED).order_by(jobs.c.id).with_for_update()
            query = query.where(jobs.c.status.in_(["failed"] if ids is None else ["failed", "cancelled"]))
            if library is not None:
                query = query.where(jobs.c.library == library)
            rows = _select_rows(connection, query, ids)
            happened, revived = [], []
            for row in {row.key: row for row in rows}.values():  # the newest job of each key
                busy = connection.scalar(select(jobs.c.id).where(jobs.c.key == row.key, IS_ACTIVE))
                if busy is not None:
                    continue
                values = waiting_values(not_before=0) | {
                    "attempts": 0, "turn": 0, "done": 0, "total": 0, "cause": "", "finished_at": 0,
                    "cancel_requested": False, "detached": True,
                    "options": to_json(json.loads(row.options) | options),
                }  # fmt: skip
                connection.execute(update(jobs).where(jobs.c.id == row.id).values(**values))
                happened.append(NewEvent(row.id, row.library, "retry", {"asked": True}))
                revived.append(row.id)
            log(connection, happened)
        return revived

    def forget(
        self, ids: Sequence[int] | None = None, *, library: str | None = None, subjects: Sequence[str] | None = None
    ) -> int:
        """Delete ended jobs with their events. Return their number. Waiting and running jobs stay."""
        with self._store.writing() as connection:
            query = select(jobs.c.id).where(IS_ENDED)
            if library is not None:
                query = query.where(jobs.c.library == library)
            queries = [query]
            if subjects is not None:
                queries = [query.where(jobs.c.subject.in_(batch)) for batch in parts(subjects)]
            found_ids = [row.id for each in queries for row in _select_rows(connection, each, ids)]
            delete_jobs(connection, found_ids)
            if found_ids:
                take(connection, FORGOTTEN, len(found_ids))
        return len(found_ids)


def cancel(connection: Connection, rows: Sequence[Row[Any]], cause: str) -> list[NewEvent]:
    """Cancel active jobs and requests to repeat them: end waiting jobs, ask workers to stop running ones.

    Return the events to log.
    """
    happened, cause = [], stored_form(cause)
    for row in rows:
        if row.status == "waiting":
            happened += _end_cancelled(connection, row, cause)
            continue
        values = {"again": "", "cancel_requested": True, "cause": cause}
        connection.execute(update(jobs).where(jobs.c.id == row.id).values(**values))
        happened.append(NewEvent(row.id, row.library, "cancel", {"cause": cause}))
    return happened


def _end_cancelled(connection: Connection, row: Row[Any], cause: str) -> list[NewEvent]:
    return end(connection, row, "cancelled", cause, {"cancel_requested": True}, again=False)


def delete_jobs(connection: Connection, ids: Sequence[int]) -> None:
    for batch in parts(ids):
        for column in (job_events.c.job_id, job_waiters.c.job_id, jobs.c.id):
            connection.execute(delete(column.table).where(column.in_(batch)))


def _active_rows(
    connection: Connection, ids: Sequence[int] | None, library: str | None, subjects: Sequence[str] | None
) -> list[Row[Any]]:
    query = select(jobs).where(IS_ACTIVE).with_for_update()
    if library is not None:
        query = query.where(jobs.c.library == library)
    if subjects is None:
        return _select_rows(connection, query, ids)
    rows: list[Row[Any]] = []
    for batch in parts(subjects):
        rows += _select_rows(connection, query.where(jobs.c.subject.in_(batch)), ids)
    return rows


def _select_rows(connection: Connection, query: Any, ids: Sequence[int] | None) -> list[Row[Any]]:
    if ids is None:
        return list(connection.execute(query))
    rows: list[Row[Any]] = []
    for batch in parts(ids):
        rows += connection.execute(query.where(jobs.c.id.in_(batch)))
    return rows


@dataclass(frozen=True, slots=True)
class Keep:
    """Limits for ended jobs. The newest ``rows`` jobs are kept, the newest ``events`` of them with their events.

    Jobs that ended more than ``days`` days ago are deleted.
    """

    rows: int = 10_000
    events: int = 1_000
    days: int = 90


def fold(store: TransactionalStore, keep: Keep = Keep()) -> int:
    """Delete ended jobs beyond the limits, unless a process waits for them. Return the number of deleted jobs.

    Events are deleted too, by their own limit.
    """
    gone = 0
    with store.writing() as connection:
        forget_served(connection)
    while True:
        with store.reading() as connection:
            ids = connection.execute(_expired_ids(connection, keep.rows, keep.days)).scalars().all()
        if not ids:
            break
        with store.writing() as connection:
            delete_jobs(connection, list(ids))
        gone += len(ids)
    with store.reading() as connection:
        with_events = _expired_ids(connection, keep.events, keep.days, with_events=True)
        ids = connection.execute(with_events).scalars().all()
    if ids:
        with store.writing() as connection:
            connection.execute(delete(job_events).where(job_events.c.job_id.in_(ids)))
    return gone


def _expired_ids(connection: Connection, number: int, days: int, *, with_events: bool = False) -> Select[Any]:
    edge = connection.execute(
        select(jobs.c.finished_at, jobs.c.id)
        .where(IS_ENDED)
        .order_by(jobs.c.finished_at.desc(), jobs.c.id.desc())
        .offset(number)
        .limit(1)
    ).one_or_none()
    past: ColumnElement[bool] = jobs.c.finished_at < db_now() - days * _DAY
    if edge is not None:
        same = and_(jobs.c.finished_at == edge.finished_at, jobs.c.id <= edge.id)
        past = or_(past, jobs.c.finished_at < edge.finished_at, same)
    query = select(jobs.c.id).where(IS_ENDED, past, jobs.c.id.not_in(select(job_waiters.c.job_id)))
    if with_events:
        query = query.where(jobs.c.id.in_(select(job_events.c.job_id)))
    return query.order_by(jobs.c.finished_at, jobs.c.id).limit(_AT_ONCE)
