"""The tables of jobs. Small indexes over what waits and what runs keep them quick however many rows have ended."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ColumnElement,
    FromClause,
    Index,
    Integer,
    Select,
    Table,
    literal_column,
    select,
)

from hybrid_core.store.partial_index import partial_index
from hybrid_core.store.tables import metadata
from hybrid_core.store.text import CleanString as String
from hybrid_core.store.text import CleanText as Text

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
    Column("key", Text, nullable=False),  # one job of it waits or runs
    Column("version", Text, nullable=False),
    Column("priority", Integer, nullable=False),
    Column("turn", Integer, nullable=False, server_default="0"),
    Column("status", String, nullable=False),
    Column("stage", String, nullable=False),
    Column("done", Integer, nullable=False, server_default="0"),
    Column("total", Integer, nullable=False, server_default="0"),
    Column("attempts", Integer, nullable=False, server_default="0"),
    Column("not_before", BigInteger, nullable=False, server_default="0"),
    Column("worker", String, nullable=False, server_default=""),  # who has the lease
    Column("claim", Integer, nullable=False, server_default="0"),
    Column("lease_until", BigInteger, nullable=False, server_default="0"),
    Column("heartbeat_at", BigInteger, nullable=False, server_default="0"),
    Column("cancel_requested", Boolean, nullable=False, server_default="0"),
    Column("detached", Boolean, nullable=False, server_default="0"),  # goes on where nobody waits for it
    Column("again", Text, nullable=False, server_default=""),  # JSON: what was asked while it ran
    Column("cause", Text, nullable=False, server_default=""),
    Column("result", Text, nullable=False, server_default="{}"),  # JSON object
    Column("created_at", BigInteger, nullable=False),
    Column("started_at", BigInteger, nullable=False, server_default="0"),
    Column("finished_at", BigInteger, nullable=False, server_default="0"),
    sqlite_autoincrement=True,  # an id that somebody was told never means another job
)  # fmt: skip


# Written out, not bound: only so is it seen that an index over such rows serves.
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
    Column("served", BigInteger, nullable=False),  # numbers rise with each claim
)  # fmt: skip

pauses = Table(
    "pauses", metadata,
    Column("scope", String, primary_key=True),  # «all», «library» or «job»
    Column("id", String, primary_key=True),  # of the library or the job, "" for all
    Column("at", BigInteger, nullable=False),
)  # fmt: skip


def awaited_by(worker: str) -> Select[tuple[int]]:
    """The jobs that a worker waits for."""
    return select(job_waiters.c.job_id).where(job_waiters.c.worker_id == worker)
