"""Which waiting jobs may be taken now, whoever is able to: none that is paused, none before its time, and no more of
one library and of one kind than may run at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import BigInteger, ColumnElement, Connection, bindparam, cast, func, or_, select

from hybrid_core.store.jobs import rows
from hybrid_core.store.jobs.clock import db_now
from hybrid_core.store.jobs.tables import IS_RUNNING, IS_WAITING, jobs, pauses

_BY_LIBRARY = (
    select(jobs.c.library).where(IS_RUNNING).group_by(jobs.c.library).having(func.count() >= bindparam("most"))
)
_BY_KIND = select(jobs.c.kind, func.count().label("running")).where(IS_RUNNING).group_by(jobs.c.kind)
_PAUSED = select(cast(pauses.c.id, BigInteger)).where(pauses.c.scope == "job")  # may be more than a list takes


@dataclass(frozen=True, slots=True)
class JobLimits:
    """Of all processes together: jobs of one library, files indexed, libraries embedded. 0: any number."""

    library_jobs: int = 0
    index_jobs: int = 0
    embed_jobs: int = 0

    def __bool__(self) -> bool:
        return bool(self.library_jobs or self.index_jobs or self.embed_jobs)

    def busy(self, connection: Connection) -> dict[str, list[str]]:
        """The libraries and the kinds of which no more may be taken now."""
        libraries = connection.scalars(_BY_LIBRARY, {"most": self.library_jobs}) if self.library_jobs else ()
        most = {kind: limit for kind, limit in (("index", self.index_jobs), ("embed", self.embed_jobs)) if limit}
        kinds = connection.execute(_BY_KIND) if most else ()
        return {
            "busy_libraries": list(libraries),
            "busy_kinds": [row.kind for row in kinds if row.kind in most and row.running >= most[row.kind]],
        }


def open_now() -> list[ColumnElement[bool]]:
    """Return the conditions of a job that may be taken now, whoever is able to; their values are ``open_values``."""
    now = db_now()
    return [
        IS_WAITING,
        or_(jobs.c.not_before <= now, jobs.c.not_before > now + bindparam("longest")),  # the clock was put back
        jobs.c.library.not_in(bindparam("paused_libraries", expanding=True)),
        jobs.c.library.not_in(bindparam("busy_libraries", expanding=True)),
        jobs.c.kind.not_in(bindparam("busy_kinds", expanding=True)),
        jobs.c.id.not_in(_PAUSED),
    ]


def open_values(connection: Connection, paused: rows.Paused, longest_ms: int, limits: JobLimits) -> dict[str, Any]:
    """``longest_ms`` is more than any job waits after a failure."""
    return {
        "paused_libraries": paused.libraries, "paused_jobs": paused.jobs, "longest": longest_ms,
        **limits.busy(connection),
    }  # fmt: skip
