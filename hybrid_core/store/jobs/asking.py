"""Documents that are asked about come first among those whose trees are still to be refined."""

from __future__ import annotations

from collections.abc import Collection

from sqlalchemy import update

from hybrid_core.store.jobs.store import JobStore
from hybrid_core.store.jobs.tables import IS_WAITING, jobs
from hybrid_core.types.priorities import ASKED


def refine_first(store: JobStore, subjects: Collection[tuple[str, str]]) -> None:
    """``subjects`` are libraries' ids and paths."""
    with store.writing() as connection:
        for library, path in subjects:
            connection.execute(
                update(jobs)
                .where(IS_WAITING, jobs.c.stage == "refine", jobs.c.library == library, jobs.c.subject == path)
                .values(priority=ASKED)
            )
