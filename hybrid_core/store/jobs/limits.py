"""How many jobs run at once, of one library and of one kind, whoever does them."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection, bindparam, func, select

from hybrid_core.store.jobs.tables import IS_RUNNING, jobs

_BY_LIBRARY = (
    select(jobs.c.library).where(IS_RUNNING).group_by(jobs.c.library).having(func.count() >= bindparam("most"))
)
_BY_KIND = select(jobs.c.kind, func.count().label("running")).where(IS_RUNNING).group_by(jobs.c.kind)


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
