"""Ended jobs fold away: first their events, then their rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, and_, delete, or_, select

from hybrid_core.store.jobs.clock import db_now
from hybrid_core.store.jobs.control import drop
from hybrid_core.store.jobs.store import JobStore
from hybrid_core.store.jobs.tables import IS_ENDED, job_events, job_waiters, jobs
from hybrid_core.store.jobs.turns import forget_turns

_DAY = 86_400_000
_AT_ONCE = 2_000  # rows in one transaction: others write in between


@dataclass(frozen=True, slots=True)
class Keep:
    """Of the newest ended jobs, how many keep their rows and how many their events; and both for how long."""

    rows: int = 10_000
    events: int = 1_000
    days: int = 90


def fold(store: JobStore, keep: Keep = Keep()) -> int:
    """Forget what is too old or too much, unless somebody waits for it; how many rows went."""
    gone = 0
    with store.writing() as connection:
        forget_turns(connection)
    while True:
        with store.reading() as connection:
            found = connection.execute(_beyond(connection, keep.rows, keep.days)).scalars().all()
        if not found:
            break
        with store.writing() as connection:
            drop(connection, list(found))
        gone += len(found)
    with store.reading() as connection:
        silent = _beyond(connection, keep.events, keep.days, with_events=True)
        found = connection.execute(silent).scalars().all()
    if found:
        with store.writing() as connection:
            connection.execute(delete(job_events).where(job_events.c.job_id.in_(found)))
    return gone


def _beyond(connection: Connection, number: int, days: int, *, with_events: bool = False) -> Select[Any]:
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
