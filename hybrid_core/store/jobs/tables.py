"""The tables of jobs, and conversion of their rows.

Partial indexes over waiting and running jobs keep queries fast, however many jobs have ended.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ColumnElement,
    Connection,
    FromClause,
    Index,
    Integer,
    Row,
    Select,
    Table,
    literal_column,
    select,
)

from hybrid_core.store.database import Decoding
from hybrid_core.store.leases import db_now
from hybrid_core.store.tables import CleanString as String
from hybrid_core.store.tables import CleanText as Text
from hybrid_core.store.tables import metadata, partial_index
from hybrid_core.types.jobs import Fence, Job, JobEvent, Lease, Worker
from hybrid_core.types.notes import Note

_Id = BigInteger().with_variant(Integer, "sqlite")

jobs = Table(
    "jobs", metadata,
    Column("id", _Id, primary_key=True, autoincrement=True),
    Column("library", String, nullable=False),
    Column("owner", String, nullable=False, server_default=""),
    Column("kind", String, nullable=False),
    Column("subject", Text, nullable=False),
    Column("options", Text, nullable=False),  # JSON object
    Column("needs", Text, nullable=False),  # sorted words, space separated
    Column("key", Text, nullable=False),  # unique among waiting and running jobs
    Column("version", Text, nullable=False),
    Column("priority", Integer, nullable=False),
    Column("turn", Integer, nullable=False, server_default="0"),
    Column("status", String, nullable=False),
    Column("stage", String, nullable=False),
    Column("done", Integer, nullable=False, server_default="0"),
    Column("total", Integer, nullable=False, server_default="0"),
    Column("attempts", Integer, nullable=False, server_default="0"),
    Column("not_before", BigInteger, nullable=False, server_default="0"),
    Column("worker", String, nullable=False, server_default=""),  # id of the worker that has the lease
    Column("claim", Integer, nullable=False, server_default="0"),
    Column("lease_until", BigInteger, nullable=False, server_default="0"),
    Column("heartbeat_at", BigInteger, nullable=False, server_default="0"),
    Column("cancel_requested", Boolean, nullable=False, server_default="0"),
    Column("detached", Boolean, nullable=False, server_default="0"),  # continues if no worker waits for it
    Column("again", Text, nullable=False, server_default=""),  # JSON: a request that arrived while it ran
    Column("cause", Text, nullable=False, server_default=""),
    Column("result", Text, nullable=False, server_default="{}"),  # JSON object
    Column("created_at", BigInteger, nullable=False),
    Column("started_at", BigInteger, nullable=False, server_default="0"),
    Column("finished_at", BigInteger, nullable=False, server_default="0"),
    Column("request_id", String, nullable=False, server_default=""),
    sqlite_autoincrement=True,  # ids are never reused
)  # fmt: skip


# A literal, not a bound parameter: otherwise the database would not use the partial index.
def is_waiting(table: FromClause) -> ColumnElement[bool]:
    return table.c.status == literal_column("'waiting'")


IS_WAITING = is_waiting(jobs)
IS_RUNNING = jobs.c.status == literal_column("'running'")
IS_ACTIVE = jobs.c.status.in_([literal_column("'waiting'"), literal_column("'running'")])
IS_ENDED = jobs.c.finished_at > literal_column("0")

partial_index("jobs_active_key", jobs.c.key, unique=True, where=IS_ACTIVE)
partial_index(
    "jobs_in_order", jobs.c.priority.desc(), jobs.c.turn, jobs.c.id, jobs.c.needs,
    where=IS_WAITING,
)  # fmt: skip
partial_index(
    "jobs_by_group", jobs.c.stage, jobs.c.needs, jobs.c.library, jobs.c.owner, jobs.c.priority.desc(), jobs.c.turn,
    jobs.c.id, where=IS_WAITING,
)  # fmt: skip
partial_index("jobs_by_needs", jobs.c.needs, where=IS_WAITING)
partial_index("jobs_by_lease", jobs.c.lease_until, where=IS_RUNNING)
partial_index("jobs_by_end", jobs.c.finished_at, jobs.c.id, where=IS_ENDED)
Index("jobs_by_library", jobs.c.library, jobs.c.status)

job_events = Table(
    "job_events", metadata,
    Column("number", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=False),
    Column("job_id", _Id, nullable=False, index=True),
    Column("library", String, nullable=False),
    Column("at", BigInteger, nullable=False),
    Column("kind", String, nullable=False),
    Column("detail", Text, nullable=False),  # JSON object
)  # fmt: skip

workers = Table(
    "workers", metadata,
    Column("id", String, primary_key=True),
    Column("host", String, nullable=False),
    Column("pid", Integer, nullable=False),
    Column("kind", String, nullable=False),
    Column("abilities", Text, nullable=False),  # sorted words, space separated
    Column("started_at", BigInteger, nullable=False),
    Column("heartbeat_at", BigInteger, nullable=False),
)  # fmt: skip

job_waiters = Table(
    "job_waiters", metadata,
    Column("worker_id", String, primary_key=True),
    Column("job_id", _Id, primary_key=True, index=True),
    sqlite_with_rowid=False,
)  # fmt: skip

job_turns = Table(
    "job_turns", metadata,
    Column("stage", String, primary_key=True),
    Column("library", String, primary_key=True),
    Column("owner", String, primary_key=True),
    Column("served", BigInteger, nullable=False),  # increases with each claim
)  # fmt: skip

pauses = Table(
    "pauses", metadata,
    Column("scope", String, primary_key=True),  # "all", "library" or "job"
    Column("id", String, primary_key=True),  # id of the library or the job, "" for all
    Column("at", BigInteger, nullable=False),
)  # fmt: skip


def awaited_by(worker: str) -> Select[tuple[int]]:
    """Return the SQL statement that selects the ids of the jobs that a worker waits for."""
    return select(job_waiters.c.job_id).where(job_waiters.c.worker_id == worker)


_PAUSES = select(pauses.c.scope, pauses.c.id)
JOBS: Select[Any] = select(*jobs.c, db_now().label("read_at"))


def words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def joined(words: Iterable[str]) -> str:
    return " ".join(sorted(words))


class Paused:
    """The libraries and jobs that are paused now."""

    def __init__(self, connection: Connection) -> None:
        rows = connection.execute(_PAUSES).all()
        self.all = any(row.scope == "all" for row in rows)
        self.libraries = [row.id for row in rows if row.scope == "library"]
        self.jobs = {int(row.id) for row in rows if row.scope == "job"}

    def holds(self, row: Any) -> bool:
        return self.all or row.library in self.libraries or row.id in self.jobs


@Decoding("a job")
def to_job(row: Row[Any], paused: Paused) -> Job:
    return Job(
        id=row.id, library=row.library, owner=row.owner, kind=row.kind, subject=row.subject,
        options=json.loads(row.options), needs=words(row.needs), priority=row.priority, returns=row.turn,
        status=row.status, stage=row.stage, done=row.done, total=row.total, attempts=row.attempts,
        not_before=row.not_before, worker=row.worker, claim=row.claim, lease_until=row.lease_until,
        heartbeat_at=row.heartbeat_at, cancel_requested=bool(row.cancel_requested), again=bool(row.again),
        version=row.version, cause=Note.read(row.cause), result=json.loads(row.result), created_at=row.created_at,
        started_at=row.started_at, finished_at=row.finished_at, read_at=row.read_at,
        paused=not row.finished_at and paused.holds(row), request_id=row.request_id,
    )  # fmt: skip


def to_lease(row: Row[Any], paused: Paused) -> Lease:
    return Lease(Fence(row.id, row.worker, row.claim), bool(row.cancel_requested), paused.holds(row))


@Decoding("an event of a job")
def to_event(row: Row[Any]) -> JobEvent:
    detail = json.loads(row.detail)
    if "cause" in detail:
        detail["cause"] = Note.read(detail["cause"])
    return JobEvent(row.number, row.job_id, row.library, row.at, row.kind, detail)


def to_worker(row: Row[Any]) -> Worker:
    return Worker(row.id, row.host, row.pid, row.kind, words(row.abilities), row.started_at, row.heartbeat_at)
