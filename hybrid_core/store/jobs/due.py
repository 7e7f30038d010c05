"""What a worker may take now, and how it takes it. The statements are put together once: that takes longer than to run
them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_args

from sqlalchemy import Connection, Row, Select, bindparam, case, exists, select, update

from hybrid_core.store.jobs import rows, turns
from hybrid_core.store.jobs.clock import db_now
from hybrid_core.store.jobs.limits import JobLimits, open_now, open_values
from hybrid_core.store.jobs.tables import IS_WAITING, job_waiters, jobs
from hybrid_core.types.jobs import JobStage

_NEEDS = select(jobs.c.needs).where(IS_WAITING).order_by(jobs.c.needs).limit(1)
_NEXT_NEEDS = _NEEDS.where(jobs.c.needs > bindparam("after"))


@dataclass(frozen=True, slots=True)
class Due:
    """``values`` are those of the statements; of what is paused after they were read, whoever takes it hears then."""

    only_awaited: bool
    values: Mapping[str, Any]
    limits: JobLimits

    @classmethod
    def read(
        cls,
        connection: Connection,
        paused: rows.Paused,
        worker: str,
        abilities: Collection[str],
        stages: Collection[JobStage],
        only_awaited: bool,
        longest_ms: int,
        limits: JobLimits = JobLimits(),
    ) -> Due | None:
        """None where there is nothing. ``longest_ms`` is more than any job waits after a failure."""
        if paused.all:
            return None
        able = set(abilities)
        values = {
            "able": [needs for needs in _needs_waiting(connection) if rows.words(needs) <= able],
            "who": worker, "stages": list(stages or get_args(JobStage)),
            **open_values(connection, paused, longest_ms, limits),
        }  # fmt: skip
        due = cls(only_awaited, values, limits)
        return due if values["able"] and due._choose(connection, values, 1, ()) else None

    def take(self, connection: Connection, most: int, lease_ms: int) -> list[Row[Any]]:
        """In the order of their urgency and turns. Workers take one after the other, so that what others have counts;
        jobs that another transaction holds are passed over."""
        turns.hold_turns(connection)
        taken: list[Row[Any]] = []
        passed: list[int] = []
        while len(taken) < most:
            values, count = self.values, most - len(taken)
            if self.limits:
                values, count = {**values, **self.limits.busy(connection)}, 1
            chosen = self._choose(connection, values, count, passed)
            if not chosen:
                break
            free = connection.execute(_TAKE, {"chosen": chosen, "who": values["who"], "lease": lease_ms})
            in_turn = sorted(free, key=lambda row: chosen.index(row.id))
            if not self.only_awaited:
                turns.note_turns(connection, in_turn)
            taken += in_turn
            passed += chosen
        return taken

    def _choose(
        self, connection: Connection, values: Mapping[str, Any], count: int, passed: Sequence[int]
    ) -> Sequence[int]:
        values = {**values, "passed": list(passed), "most": count}
        if self.only_awaited:
            return connection.scalars(_AWAITED, values).all()
        return turns.choose(connection, values)


def _awaited() -> Select[Any]:
    """Along the queue's order, stopping where there are enough: written such that no other index serves."""
    waiters = job_waiters.c
    return (
        select(jobs.c.id)
        .where(*open_now(), jobs.c.id.not_in(bindparam("passed", expanding=True)))
        .where((jobs.c.needs + "").in_(bindparam("able", expanding=True)))
        .where((jobs.c.stage + "").in_(bindparam("stages", expanding=True)))
        .where(exists().where(waiters.worker_id == bindparam("who"), waiters.job_id == jobs.c.id))
        .order_by(jobs.c.priority.desc(), jobs.c.turn, jobs.c.id)
        .limit(bindparam("most"))
    )


_AWAITED = _awaited()
_FREE = select(jobs.c.id).where(IS_WAITING, jobs.c.id.in_(bindparam("chosen", expanding=True)))
_TAKE = (
    update(jobs)
    .where(jobs.c.id.in_(_FREE.with_for_update(skip_locked=True).scalar_subquery()))
    .values(
        status="running", worker=bindparam("who"), claim=jobs.c.claim + 1, lease_until=db_now() + bindparam("lease"),
        heartbeat_at=db_now(), cause="", started_at=case((jobs.c.started_at == 0, db_now()), else_=jobs.c.started_at),
    )
    .returning(*jobs.c, db_now().label("read_at"))
)  # fmt: skip


def _needs_waiting(connection: Connection) -> list[str]:
    """What waiting jobs need, each kind once: looked up one by one in the index, however many wait."""
    found: list[str] = []
    needs = connection.scalar(_NEEDS)
    while needs is not None:
        found.append(needs)
        needs = connection.scalar(_NEXT_NEEDS, {"after": needs})
    return found
