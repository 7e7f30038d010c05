"""Selection and claiming of the jobs that a worker may run.

Libraries take turns, however many jobs each has. Within a library, its owners (the callers who queued jobs) take turns.
Jobs with the same stage, library, owner and needed abilities are a group. An index returns the first job of each group,
so a claim costs one look-up per group. The SQL statements are built once, since building them takes longer than running
them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_args

from sqlalchemy import (
    BigInteger,
    BindParameter,
    ColumnElement,
    Connection,
    Row,
    Select,
    bindparam,
    case,
    cast,
    delete,
    exists,
    func,
    or_,
    select,
    update,
)

from hybrid_core.store.database import parts
from hybrid_core.store.jobs import tables
from hybrid_core.store.jobs.tables import IS_RUNNING, IS_WAITING, is_waiting, job_turns, job_waiters, jobs, pauses
from hybrid_core.store.leases import db_now
from hybrid_core.store.tables import hold, insert_into, take
from hybrid_core.types.jobs import JobStage

_BY_LIBRARY = (
    select(jobs.c.library).where(IS_RUNNING).group_by(jobs.c.library).having(func.count() >= bindparam("most"))
)
_BY_KIND = select(jobs.c.kind, func.count().label("running")).where(IS_RUNNING).group_by(jobs.c.kind)
# a subquery, since there may be too many for a list
_PAUSED_JOBS = select(cast(pauses.c.id, BigInteger)).where(pauses.c.scope == "job")


@dataclass(frozen=True, slots=True)
class JobLimits:
    """Maximum numbers of jobs that run at once in all processes: per library, for indexing, and for embedding.

    0 means no limit.
    """

    library_jobs: int = 0
    index_jobs: int = 0
    embed_jobs: int = 0

    def __bool__(self) -> bool:
        return bool(self.library_jobs or self.index_jobs or self.embed_jobs)

    def busy(self, connection: Connection) -> dict[str, list[str]]:
        """Return the libraries and the kinds of jobs that have reached their limits, as parameters of ``open_now``."""
        libraries = connection.scalars(_BY_LIBRARY, {"most": self.library_jobs}) if self.library_jobs else ()
        limits = {kind: limit for kind, limit in (("index", self.index_jobs), ("embed", self.embed_jobs)) if limit}
        kinds = connection.execute(_BY_KIND) if limits else ()
        return {
            "busy_libraries": list(libraries),
            "busy_kinds": [row.kind for row in kinds if row.kind in limits and row.running >= limits[row.kind]],
        }


def open_now() -> list[ColumnElement[bool]]:
    """Return the SQL conditions of a job that a worker with the needed abilities may claim now.

    ``open_values`` returns their parameters.
    """
    now = db_now()
    return [
        IS_WAITING,
        or_(jobs.c.not_before <= now, jobs.c.not_before > now + bindparam("longest")),  # or the clock was set back
        jobs.c.library.not_in(bindparam("paused_libraries", expanding=True)),
        jobs.c.library.not_in(bindparam("busy_libraries", expanding=True)),
        jobs.c.kind.not_in(bindparam("busy_kinds", expanding=True)),
        jobs.c.id.not_in(_PAUSED_JOBS),
    ]


def open_values(connection: Connection, paused: tables.Paused, longest_ms: int, limits: JobLimits) -> dict[str, Any]:
    """Return the parameters of the conditions of ``open_now``.

    ``longest_ms`` is more than a job waits after a failure. A longer wait means that the clock was set back.
    """
    return {
        "paused_libraries": paused.libraries, "paused_jobs": paused.jobs, "longest": longest_ms,
        **limits.busy(connection),
    }  # fmt: skip


_QueueLength = tuple[int, int]  # number of jobs, and the id of the first
_COUNTER = "job turns"
_SERVED_MEMORY = 10_000  # number of claims after which it is forgotten who was served
_GROUP = ("stage", "needs", "library", "owner")
_COLUMNS = (*_GROUP, "priority", "turn", "id", "kind", "not_before")

_SAME = ("stage", "priority", "turn", "library", "owner")
_PLACES = select(jobs.c.id, *(jobs.c[name] for name in _SAME)).where(
    IS_WAITING, jobs.c.id.in_(bindparam("ids", expanding=True))
)
_IN_INDEX = (*_GROUP, "priority", "turn")
_COUNTS = (
    select(*(jobs.c[name] for name in _IN_INDEX), func.count().label("size"), func.min(jobs.c.id).label("first"))
    .where(IS_WAITING)
    .group_by(*(jobs.c[name] for name in _IN_INDEX))
)
_EARLIER = (
    select(func.count())
    .select_from(jobs)
    .where(IS_WAITING, *(jobs.c[name] == bindparam(name) for name in _IN_INDEX), jobs.c.id < bindparam("id"))
)
_SELECT_SERVED = select(job_turns).where(job_turns.c.stage.in_(bindparam("stages", expanding=True)))


def block_claims(connection: Connection) -> None:
    """Block other transactions from claiming jobs until this one is committed."""
    hold(connection, _COUNTER)


def note_served(connection: Connection, taken: Sequence[Row[Any]]) -> None:
    """Record that the libraries and owners of claimed jobs have had a turn, in the order of ``taken``."""
    if not taken:
        return
    first = take(connection, _COUNTER, len(taken))
    served = {(row.stage, row.library, row.owner): first + n for n, row in enumerate(taken)}
    values = [dict(zip(("stage", "library", "owner", "served"), (*key, n), strict=True)) for key, n in served.items()]
    insert = insert_into(connection, job_turns)
    key = [job_turns.c.stage, job_turns.c.library, job_turns.c.owner]
    connection.execute(
        insert.on_conflict_do_update(index_elements=key, set_={"served": insert.excluded.served}), values
    )


def forget_served(connection: Connection) -> None:
    """Delete old records of which libraries and owners were served."""
    connection.execute(
        delete(job_turns).where(job_turns.c.served <= take(connection, _COUNTER, 0) - 1 - _SERVED_MEMORY)
    )


def choose(connection: Connection, values: Mapping[str, Any]) -> list[int]:
    """Return the ids of jobs that a worker may claim, the most urgent first.

    At equal urgency, the library whose last turn is longest ago comes first, and within it the owner whose last turn is
    longest ago. ``values`` are the parameters of ``open_now`` and "stages", "able" (the needs that the worker meets),
    "passed" (ids to leave out) and "most" (the maximum number of ids).
    """
    heads = _heads(connection, values)
    if not heads:
        return []
    served = sorted(connection.execute(_SELECT_SERVED, values), key=lambda row: row.served)
    of_owner = {(row.library, row.owner): row.served for row in served}
    of_library = {row.library: row.served for row in served}
    now, chosen = max(of_owner.values(), default=0), list[int]()

    def order(row: Row[Any]) -> tuple[int, ...]:
        last_served = of_library.get(row.library, 0), of_owner.get((row.library, row.owner), 0)
        return -row.priority, row.turn, *last_served, row.id

    while heads and len(chosen) < values["most"]:
        head = min(heads, key=order)
        heads.remove(head)
        chosen.append(head.id)
        now += 1
        of_library[head.library] = of_owner[head.library, head.owner] = now
        if len(chosen) < values["most"]:
            passed = {"passed": [*values["passed"], *chosen]}
            heads += connection.execute(_FIRST_OPEN, {**values, **_group(head), **passed})
    return chosen


def ahead(connection: Connection, ids: Sequence[int]) -> dict[int, int]:
    """Return how many waiting jobs come before each of these, by id, if all libraries and owners take turns from now.

    In each round of turns, the library whose first job was queued first comes first.
    """
    places = {row.id: row for some in parts(ids) for row in connection.execute(_PLACES, {"ids": list(some)})}
    if not places:
        return {}
    waiting = connection.execute(_COUNTS).all()
    groups: dict[tuple[Any, ...], list[str]] = {}
    libraries: dict[Any, dict[str, _QueueLength]] = {}  # by stage and urgency
    owners: dict[Any, dict[str, _QueueLength]] = {}  # by stage, urgency and library
    urgent: dict[tuple[int, int], int] = {}
    for row in waiting:
        groups.setdefault(_peer_key(row), []).append(row.needs)
        level = row.stage, row.priority, row.turn
        _add(libraries.setdefault(level, {}), row.library, row)
        _add(owners.setdefault((*level, row.library), {}), row.owner, row)
        urgent[-row.priority, row.turn] = urgent.get((-row.priority, row.turn), 0) + row.size
    ranked: dict[int, int] = {}
    for job in places.values():
        values = {name: getattr(job, name) for name in (*_SAME, "id")}
        earlier = (connection.scalar(_EARLIER, {**values, "needs": needs}) or 0 for needs in groups[_peer_key(job)])
        level = job.stage, job.priority, job.turn
        in_library = _before(owners[*level, job.library], job.owner, 1 + sum(earlier))
        before = sum(size for urgency, size in urgent.items() if urgency < (-job.priority, job.turn))
        ranked[job.id] = before + _before(libraries[level], job.library, 1 + in_library)
    return ranked


def _peer_key(row: Any) -> tuple[Any, ...]:
    return tuple(getattr(row, name) for name in _SAME)


def _add(counts: dict[str, _QueueLength], name: str, row: Any) -> None:
    size, first = counts.get(name, (0, row.first))
    counts[name] = size + row.size, min(first, row.first)


def _before(counts: Mapping[str, _QueueLength], name: str, rank: int) -> int:
    """Return how many turns come before the turn of ``name`` with the number ``rank``, from 1.

    ``counts`` has the number of turns of each name, and the id of its first job, which decides the order in a round.
    """
    first = counts[name][1]
    return sum(min(count, rank - 1) + (count >= rank and begin < first) for count, begin in counts.values())


def _heads(connection: Connection, values: Mapping[str, Any]) -> list[Row[Any]]:
    """Return the first job that may be claimed of each group of jobs, for groups whose needs the worker meets."""
    needs, closed = set(values["able"]), {*values["paused_libraries"], *values["busy_libraries"]}
    passed, busy = {*values["paused_jobs"], *values["passed"]}, set(values["busy_kinds"])
    heads: list[Row[Any]] = []
    for stage in values["stages"]:
        for row in connection.execute(_FIRSTS, {"stage": stage}).all():
            if row.needs not in needs or row.library in closed:
                continue
            if row.not_before or row.id in passed or row.kind in busy:
                heads += connection.execute(_FIRST_OPEN, {**values, **_group(row)})
            else:
                heads.append(row)
    return heads


def _group(row: Row[Any]) -> dict[str, str]:
    return {name: getattr(row, name) for name in _GROUP}


def _order_columns(table: Any) -> list[Any]:
    return [*(table.c[name] for name in _GROUP[1:]), table.c.priority.desc(), table.c.turn, table.c.id]


def _firsts() -> Select[Any]:
    """Build the statement that finds the first job of each group of a stage, one group after the other."""
    stage: BindParameter[str] = bindparam("stage")
    first = select(*(jobs.c[name] for name in _COLUMNS)).where(IS_WAITING, jobs.c.stage == stage)
    firsts = select(first.order_by(*_order_columns(jobs)).limit(1).subquery()).cte("firsts", recursive=True)
    later, job = jobs.alias("later"), jobs.alias("job")

    def next_id(last: int) -> Any:
        """Return the first job of the next group that differs first in the group's column ``last``."""
        same = [later.c[name] == firsts.c[name] for name in _GROUP[1:last]]
        behind = later.c[_GROUP[last]] > firsts.c[_GROUP[last]]
        query = select(later.c.id).where(is_waiting(later), later.c.stage == stage, *same, behind)
        return query.order_by(*_order_columns(later)).limit(1).correlate(firsts).scalar_subquery()

    following = func.coalesce(*(next_id(last) for last in (3, 2, 1)))
    further = select(*(job.c[name] for name in _COLUMNS)).select_from(firsts.join(job, job.c.id == following))
    return select(firsts.union_all(further))


def _first_open() -> Select[Any]:
    group = [jobs.c[name] == bindparam(name) for name in _GROUP]
    return (
        select(*(jobs.c[name] for name in _COLUMNS))
        .where(*open_now(), *group, jobs.c.id.not_in(bindparam("passed", expanding=True)))
        .order_by(*_order_columns(jobs))
        .limit(1)
    )


_FIRSTS, _FIRST_OPEN = _firsts(), _first_open()


_NEEDS = select(jobs.c.needs).where(IS_WAITING).order_by(jobs.c.needs).limit(1)
_NEXT_NEEDS = _NEEDS.where(jobs.c.needs > bindparam("after"))


@dataclass(frozen=True, slots=True)
class Due:
    """The jobs that a worker may claim at one time. ``values`` are the parameters of the statements that claim them.

    If jobs are paused between ``read`` and ``take``, the worker notices it when it next checks its leases.
    """

    only_awaited: bool
    values: Mapping[str, Any]
    limits: JobLimits

    @classmethod
    def read(
        cls,
        connection: Connection,
        paused: tables.Paused,
        worker: str,
        abilities: Collection[str],
        stages: Collection[JobStage],
        only_awaited: bool,
        longest_ms: int,
        limits: JobLimits = JobLimits(),
    ) -> Due | None:
        """Return the jobs that a worker may claim now, None if there are none.

        ``longest_ms`` is more than a job waits after a failure.
        """
        if paused.all:
            return None
        able = set(abilities)
        values = {
            "able": [needs for needs in _waiting_needs(connection) if tables.words(needs) <= able],
            "who": worker, "stages": list(stages or get_args(JobStage)),
            **open_values(connection, paused, longest_ms, limits),
        }  # fmt: skip
        due = cls(only_awaited, values, limits)
        return due if values["able"] and due._choose(connection, values, 1, ()) else None

    def take(self, connection: Connection, limit: int, lease_ms: int) -> list[Row[Any]]:
        """Claim up to ``limit`` jobs in the order of urgency and turns. Return their rows.

        Only one worker claims at a time, so that the limits of running jobs hold. Jobs that another transaction has
        locked are skipped.
        """
        block_claims(connection)
        taken: list[Row[Any]] = []
        passed: list[int] = []
        while len(taken) < limit:
            values, count = self.values, limit - len(taken)
            if self.limits:
                values, count = {**values, **self.limits.busy(connection)}, 1
            chosen = self._choose(connection, values, count, passed)
            if not chosen:
                break
            free = connection.execute(_TAKE, {"chosen": chosen, "who": values["who"], "lease": lease_ms})
            in_order = sorted(free, key=lambda row: chosen.index(row.id))
            if not self.only_awaited:
                note_served(connection, in_order)
            taken += in_order
            passed += chosen
        return taken

    def _choose(
        self, connection: Connection, values: Mapping[str, Any], count: int, passed: Sequence[int]
    ) -> Sequence[int]:
        values = {**values, "passed": list(passed), "most": count}
        if self.only_awaited:
            return connection.scalars(_SELECT_AWAITED, values).all()
        return choose(connection, values)


def _select_awaited() -> Select[Any]:
    """Build the statement that selects jobs that a worker both waits for and may claim.

    It reads jobs in the order of the queue until there are enough. The ``+ ""`` prevents the database from using an
    index of another order.
    """
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


_SELECT_AWAITED = _select_awaited()
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


def _waiting_needs(connection: Connection) -> list[str]:
    """Return each combination of needed abilities among the waiting jobs, with one index look-up per combination."""
    kinds: list[str] = []
    needs = connection.scalar(_NEEDS)
    while needs is not None:
        kinds.append(needs)
        needs = connection.scalar(_NEXT_NEEDS, {"after": needs})
    return kinds
