"""Rows of jobs to values."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from sqlalchemy import Connection, Row, Select, select

from hybrid_core.store.damage import Decoding
from hybrid_core.store.jobs.clock import db_now
from hybrid_core.store.jobs.tables import jobs, pauses
from hybrid_core.types.jobs import Fence, Job, JobEvent, Lease, Worker

_PAUSES = select(pauses.c.scope, pauses.c.id)
JOBS: Select[Any] = select(*jobs.c, db_now().label("read_at"))


def words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def joined(some: Iterable[str]) -> str:
    return " ".join(sorted(some))


class Paused:
    """What is paused now."""

    def __init__(self, connection: Connection) -> None:
        found = connection.execute(_PAUSES).all()
        self.all = any(row.scope == "all" for row in found)
        self.libraries = [row.id for row in found if row.scope == "library"]
        self.jobs = {int(row.id) for row in found if row.scope == "job"}

    def holds(self, row: Any) -> bool:
        return self.all or row.library in self.libraries or row.id in self.jobs


@Decoding("a job")
def to_job(row: Row[Any], paused: Paused) -> Job:
    return Job(
        id=row.id, library=row.library, owner=row.owner, kind=row.kind, subject=row.subject,
        options=json.loads(row.options), needs=words(row.needs), priority=row.priority, turn=row.turn,
        status=row.status, stage=row.stage, done=row.done, total=row.total, attempts=row.attempts,
        not_before=row.not_before, worker=row.worker, claim=row.claim, lease_until=row.lease_until,
        heartbeat_at=row.heartbeat_at, cancel_requested=bool(row.cancel_requested), again=bool(row.again),
        version=row.version, cause=row.cause, result=json.loads(row.result), created_at=row.created_at,
        started_at=row.started_at, finished_at=row.finished_at, read_at=row.read_at,
        paused=not row.finished_at and paused.holds(row),
    )  # fmt: skip


def to_lease(row: Row[Any], paused: Paused) -> Lease:
    return Lease(Fence(row.id, row.worker, row.claim), bool(row.cancel_requested), paused.holds(row))


@Decoding("an event of a job")
def to_event(row: Row[Any]) -> JobEvent:
    return JobEvent(row.number, row.job_id, row.library, row.at, row.kind, json.loads(row.detail))


def to_worker(row: Row[Any]) -> Worker:
    return Worker(row.id, row.host, row.pid, row.kind, words(row.abilities), row.started_at, row.heartbeat_at)
