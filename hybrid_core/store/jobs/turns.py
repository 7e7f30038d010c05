"""Fair turns: libraries take turns, and within a library those who asked, however many jobs each of them has waiting.

Jobs of one stage that need the same, of one library and one owner, are a group. An index finds the first job of each,
so a claim costs a look-up for each group and not for each job.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import BindParameter, Connection, Row, Select, bindparam, delete, func, select

from hybrid_core.store.counters import hold, take
from hybrid_core.store.jobs.limits import open_now
from hybrid_core.store.jobs.tables import IS_WAITING, is_waiting, job_turns, jobs
from hybrid_core.store.parts import parts
from hybrid_core.store.tables import insert_into

_Waiting = tuple[int, int]  # how many jobs, and the id of the first
_COUNTER = "job turns"
_KEPT = 10_000  # claims after which it makes no difference when a library or an owner had a turn
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
_SERVED = select(job_turns).where(job_turns.c.stage.in_(bindparam("stages", expanding=True)))


def hold_turns(connection: Connection) -> None:
    """Let no other transaction take a job before this one is committed."""
    hold(connection, _COUNTER)


def note_turns(connection: Connection, taken: Sequence[Row[Any]]) -> None:
    """Write that the libraries and owners of these jobs have had a turn, in this order."""
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


def forget_turns(connection: Connection) -> None:
    """Delete the turns of long ago."""
    connection.execute(delete(job_turns).where(job_turns.c.served <= take(connection, _COUNTER, 0) - 1 - _KEPT))


def choose(connection: Connection, values: Mapping[str, Any]) -> list[int]:
    """Return the ids of up to ``most`` open jobs, the most urgent first. Of those as urgent as each other, the library
    that was served least recently comes first, and in that the owner.

    ``values`` are those of ``open_now``, and "stages", "able" (what the jobs may need), "passed" (ids to leave out).
    """
    heads = _heads(connection, values)
    if not heads:
        return []
    served = sorted(connection.execute(_SERVED, values), key=lambda row: row.served)
    of_owner = {(row.library, row.owner): row.served for row in served}
    of_library = {row.library: row.served for row in served}
    now, chosen = max(of_owner.values(), default=0), list[int]()

    def order(row: Row[Any]) -> tuple[int, ...]:
        turns = of_library.get(row.library, 0), of_owner.get((row.library, row.owner), 0)
        return -row.priority, row.turn, *turns, row.id

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
    """Return how many jobs wait before each of these that wait, if every library and owner takes its turns from now on.

    Of jobs whose turns come in the same round, those of the library that has waited longest count as the first.
    """
    places = {row.id: row for some in parts(ids) for row in connection.execute(_PLACES, {"ids": list(some)})}
    if not places:
        return {}
    waiting = connection.execute(_COUNTS).all()
    groups: dict[tuple[Any, ...], list[str]] = {}
    libraries: dict[Any, dict[str, _Waiting]] = {}  # of each stage and urgency
    owners: dict[Any, dict[str, _Waiting]] = {}  # of these in each library
    urgent: dict[tuple[int, int], int] = {}
    for row in waiting:
        groups.setdefault(_same(row), []).append(row.needs)
        level = row.stage, row.priority, row.turn
        _add(libraries.setdefault(level, {}), row.library, row)
        _add(owners.setdefault((*level, row.library), {}), row.owner, row)
        urgent[-row.priority, row.turn] = urgent.get((-row.priority, row.turn), 0) + row.size
    ranked: dict[int, int] = {}
    for job in places.values():
        values = {name: getattr(job, name) for name in (*_SAME, "id")}
        earlier = (connection.scalar(_EARLIER, {**values, "needs": needs}) or 0 for needs in groups[_same(job)])
        level = job.stage, job.priority, job.turn
        in_library = _before(owners[*level, job.library], job.owner, 1 + sum(earlier))
        before = sum(size for urgency, size in urgent.items() if urgency < (-job.priority, job.turn))
        ranked[job.id] = before + _before(libraries[level], job.library, 1 + in_library)
    return ranked


def _same(row: Any) -> tuple[Any, ...]:
    return tuple(getattr(row, name) for name in _SAME)


def _add(counts: dict[str, _Waiting], name: str, row: Any) -> None:
    size, first = counts.get(name, (0, row.first))
    counts[name] = size + row.size, min(first, row.first)


def _before(counts: Mapping[str, _Waiting], name: str, rank: int) -> int:
    """Return how many turns come before the one of this rank of ``name``, where all of these take turns."""
    first = counts[name][1]
    return sum(min(count, rank - 1) + (count >= rank and begin < first) for count, begin in counts.values())


def _heads(connection: Connection, values: Mapping[str, Any]) -> list[Row[Any]]:
    """The first open job of each group that these needs suffice for."""
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


def _in_order(table: Any) -> list[Any]:
    return [*(table.c[name] for name in _GROUP[1:]), table.c.priority.desc(), table.c.turn, table.c.id]


def _firsts() -> Select[Any]:
    """The first job of each group of a stage: each is looked up behind the group before it."""
    stage: BindParameter[str] = bindparam("stage")
    first = select(*(jobs.c[name] for name in _COLUMNS)).where(IS_WAITING, jobs.c.stage == stage)
    firsts = select(first.order_by(*_in_order(jobs)).limit(1).subquery()).cte("firsts", recursive=True)
    later, job = jobs.alias("later"), jobs.alias("job")

    def next_id(last: int) -> Any:
        """Return the first job of the next group that has the same columns before ``last``."""
        same = [later.c[name] == firsts.c[name] for name in _GROUP[1:last]]
        behind = later.c[_GROUP[last]] > firsts.c[_GROUP[last]]
        query = select(later.c.id).where(is_waiting(later), later.c.stage == stage, *same, behind)
        return query.order_by(*_in_order(later)).limit(1).correlate(firsts).scalar_subquery()

    following = func.coalesce(*(next_id(last) for last in (3, 2, 1)))
    further = select(*(job.c[name] for name in _COLUMNS)).select_from(firsts.join(job, job.c.id == following))
    return select(firsts.union_all(further))


def _first_open() -> Select[Any]:
    group = [jobs.c[name] == bindparam(name) for name in _GROUP]
    return (
        select(*(jobs.c[name] for name in _COLUMNS))
        .where(*open_now(), *group, jobs.c.id.not_in(bindparam("passed", expanding=True)))
        .order_by(*_in_order(jobs))
        .limit(1)
    )


_FIRSTS, _FIRST_OPEN = _firsts(), _first_open()
