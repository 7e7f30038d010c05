"""What a worker may take now, and how it takes it. The statements are put together once: that takes longer than to run
them. They go along the queue's order and stop where they have enough, so what is sought is written such that no other
index than that of the order serves."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Connection,
    Row,
    Select,
    Update,
    bindparam,
    case,
    cast,
    exists,
    or_,
    select,
    update,
)

from hybrid_core.store.jobs import rows
from hybrid_core.store.jobs.clock import db_now
from hybrid_core.store.jobs.events import take_turns
from hybrid_core.store.jobs.limits import JobLimits
from hybrid_core.store.jobs.tables import IS_WAITING, job_waiters, jobs, pauses
from hybrid_core.types.jobs import JobStage

_NEEDS = select(jobs.c.needs).where(IS_WAITING).order_by(jobs.c.needs).limit(1)
_PAUSED = select(cast(pauses.c.id, BigInteger)).where(pauses.c.scope == "job")  # may be more than a list takes
_NEXT_NEEDS = _NEEDS.where(jobs.c.needs > bindparam("after"))


@dataclass(frozen=True, slots=True)
class Due:
    """``values`` are those of the statements; of what is paused after they were read, whoever takes it hears then."""

    of_stages: bool
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
            "who": worker, "stages": list(stages), **open_values(connection, paused, longest_ms, limits),
        }  # fmt: skip
        found = cls(bool(stages), only_awaited, values, limits)
        if not values["able"] or connection.scalar(_due(bool(stages), only_awaited), {**values, "most": 1}) is None:
            return None
        return found

    def take(self, connection: Connection, most: int, lease_ms: int) -> list[Row[Any]]:
        """In the order of their urgency; fewer where another worker was quicker."""
        if not self.limits:
            return self._taken(connection, self.values, most, lease_ms)
        take_turns(connection)  # so that what others have taken counts
        taken: list[Row[Any]] = []
        while len(taken) < most:
            one = self._taken(connection, {**self.values, **self.limits.busy(connection)}, 1, lease_ms)
            if not one:
                break
            taken += one
        return taken

    def _taken(self, connection: Connection, values: Mapping[str, Any], most: int, lease_ms: int) -> list[Row[Any]]:
        taken = connection.execute(
            _taking(self.of_stages, self.only_awaited), {**values, "most": most, "lease": lease_ms}
        )
        return sorted(taken, key=lambda row: (-row.priority, row.turn, row.id))


def open_now() -> list[ColumnElement[bool]]:
    """What is true of a job that may be taken now, whoever is able to; its values are ``open_values``."""
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
    return {
        "paused_libraries": paused.libraries, "longest": longest_ms, **limits.busy(connection),
    }  # fmt: skip


@cache
def _due(of_stages: bool, only_awaited: bool) -> Select[Any]:
    query = (
        select(jobs.c.id)
        .where(*open_now(), (jobs.c.needs + "").in_(bindparam("able", expanding=True)))
        .order_by(jobs.c.priority.desc(), jobs.c.turn, jobs.c.id)
        .limit(bindparam("most"))
    )
    if of_stages:
        query = query.where(jobs.c.stage.in_(bindparam("stages", expanding=True)))
    if only_awaited:
        waiters = job_waiters.c
        query = query.where(exists().where(waiters.worker_id == bindparam("who"), waiters.job_id == jobs.c.id))
    return query


@cache
def _taking(of_stages: bool, only_awaited: bool) -> Update:
    """Chosen once: PostgreSQL may run a subquery again for each row, and passes over what it has locked by then."""
    found = _due(of_stages, only_awaited).with_for_update(skip_locked=True).cte("chosen")
    chosen = found.prefix_with("MATERIALIZED", dialect="postgresql")
    now = db_now()
    return (
        update(jobs)
        .where(jobs.c.id.in_(select(chosen.c.id)))
        .values(
            status="running", worker=bindparam("who"), claim=jobs.c.claim + 1, lease_until=now + bindparam("lease"),
            heartbeat_at=now, cause="", started_at=case((jobs.c.started_at == 0, now), else_=jobs.c.started_at),
        )
        .returning(*jobs.c, now.label("read_at"))
    )  # fmt: skip


def _needs_waiting(connection: Connection) -> list[str]:
    """What waiting jobs need, each kind once: looked up one by one in the index, however many wait."""
    found: list[str] = []
    needs = connection.scalar(_NEEDS)
    while needs is not None:
        found.append(needs)
        needs = connection.scalar(_NEXT_NEEDS, {"after": needs})
    return found
