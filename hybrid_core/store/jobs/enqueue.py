"""Requests become jobs, or join the jobs that do the same already."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, Row, select, update

from hybrid_core.errors import BusyError
from hybrid_core.store.counters import take
from hybrid_core.store.jobs import rows
from hybrid_core.store.jobs.clock import db_now
from hybrid_core.store.jobs.events import Happening
from hybrid_core.store.jobs.tables import IS_ACTIVE, job_waiters, jobs
from hybrid_core.store.parts import parts
from hybrid_core.store.tables import insert_into
from hybrid_core.store.text import clean, to_json
from hybrid_core.types.jobs import Enqueued, JobRequest

_TURN = "enqueue"
_ROUNDS = 5  # others may end jobs of the same keys between two statements


def enqueue(
    connection: Connection, requests: Sequence[JobRequest], waiter: str
) -> tuple[list[Enqueued], list[Happening]]:
    """One for each request, in their order; "" waits for none: the job goes on whoever stops waiting for it."""
    take_turn(connection)
    asked: dict[str, JobRequest] = {}
    for request in requests:
        asked.setdefault(_key(request), request)
    outcome: dict[str, Enqueued] = {}
    happened: list[Happening] = []
    for _ in range(_ROUNDS):
        left = [key for key in asked if key not in outcome]
        if not left:
            break
        for keys in parts(left):
            known = _active(connection, keys)
            for key, row in known.items():
                outcome[key], told = _met(connection, row, asked[key], detached=not waiter)
                happened += told
            new = [asked[key] for key in keys if key not in known]
            for key, job in _insert(connection, new, detached=not waiter).items():
                outcome[key] = Enqueued(job, "new")
                detail = {"subject": asked[key].subject, "stage": asked[key].stage}
                happened.append(Happening(job, asked[key].library, "enqueued", detail))
    else:
        raise BusyError("Others keep enqueueing and ending the same jobs.", "Try again.")
    if waiter and outcome:
        wait_for(connection, waiter, [one.job for one in outcome.values()])
    first = {id(request) for request in asked.values()}
    found = []
    for request in requests:
        one = outcome[_key(request)]
        found.append(one if id(request) in first else Enqueued(one.job, "joined"))
    return found, happened


def take_turn(connection: Connection) -> None:
    """Whoever makes jobs active or locks many does so one after the other: no two can wait for each other."""
    take(connection, _TURN)


def wait_for(connection: Connection, waiter: str, jobs_awaited: Sequence[int]) -> None:
    values = [{"worker_id": waiter, "job_id": job} for job in jobs_awaited]
    if values:
        connection.execute(insert_into(connection, job_waiters).on_conflict_do_nothing(), values)


def _active(connection: Connection, keys: Sequence[str]) -> Mapping[str, Row[Any]]:
    found = connection.execute(
        select(jobs).where(jobs.c.key.in_(keys), IS_ACTIVE).order_by(jobs.c.id).with_for_update()
    )
    return {row.key: row for row in found}


def _insert(connection: Connection, requests: Sequence[JobRequest], *, detached: bool) -> Mapping[str, int]:
    """Key -> id of the jobs that were made; another transaction's may stand there by now."""
    if not requests:
        return {}
    now = connection.scalar(select(db_now()))
    values = [
        _asked(request)
        | {
            "library": request.library, "owner": request.owner, "kind": request.kind, "subject": request.subject,
            "key": _key(request), "status": "waiting", "detached": detached, "created_at": now,
        }
        for request in requests
    ]  # fmt: skip
    made = insert_into(connection, jobs).on_conflict_do_nothing().returning(jobs.c.key, jobs.c.id)
    return {row.key: row.id for row in sorted(connection.execute(made, values), key=lambda row: row.id)}


def _key(request: JobRequest) -> str:
    return clean(request.dedupe_key)  # as it comes back


def _asked(request: JobRequest) -> dict[str, Any]:
    return {
        "stage": request.stage, "options": to_json(request.options), "needs": rows.joined(request.needs),
        "version": request.version, "priority": request.priority,
    }  # fmt: skip


def _met(
    connection: Connection, row: Row[Any], request: JobRequest, *, detached: bool
) -> tuple[Enqueued, list[Happening]]:
    """A request meets a job that waits or runs. What was asked with the higher priority decides how it is done."""
    asked = _asked(request)
    if request.priority < row.priority:
        asked |= {"options": row.options, "needs": row.needs, "priority": row.priority}
    same = json.loads(asked["options"]) == json.loads(row.options) and asked["version"] == row.version
    values: dict[str, Any] = {}
    if detached and not row.detached:
        values["detached"] = True
    if asked["priority"] != row.priority:
        values["priority"] = asked["priority"]
    outcome = Enqueued(row.id, "joined")
    if row.status == "waiting":
        if not same:
            values |= asked | {"turn": 0, "attempts": 0, "done": 0, "total": 0}
        if request.priority >= row.priority and row.not_before:
            values["not_before"] = 0
    elif not same or row.cancel_requested:
        if row.again and request.priority < json.loads(row.again)["priority"]:
            asked |= {name: json.loads(row.again)[name] for name in ("options", "needs", "priority")}
        values["again"] = to_json(asked)
        outcome = Enqueued(row.id, "again")
    if not values:
        return outcome, []
    connection.execute(update(jobs).where(jobs.c.id == row.id).values(**values))
    return outcome, [Happening(row.id, row.library, "joined", {"outcome": outcome.outcome})]
