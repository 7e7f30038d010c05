"""Answers to requests with an idempotency key, which are given again to the same request."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy import delete, insert, select, update

from hybrid_core.store.access.tables import replies
from hybrid_core.store.jobs.store import JobStore as Store

_KEPT = 86_400_000  # ms
_MOST = 1000  # of one caller
_WORKED = 60_000  # after which a request without an answer counts as broken off


@dataclass(frozen=True, slots=True)
class Reply:
    """``status`` 0: it is still worked at."""

    asked: str
    status: int
    headers: Mapping[str, str]
    body: bytes


class ReplyStore:
    def __init__(self, store: Store) -> None:
        self._store = store

    def begin(self, caller: str, key: str, asked: str) -> Reply | None:
        """The reply that there is; None where there is none, and the request is now worked at."""
        now = time.time_ns() // 1_000_000
        mine = (replies.c.caller == caller) & (replies.c.key == key)
        with self._store.writing() as connection:
            connection.execute(delete(replies).where(replies.c.at < now - _KEPT))
            connection.execute(delete(replies).where(mine, replies.c.status == 0, replies.c.at < now - _WORKED))
            row = connection.execute(select(replies).where(mine)).one_or_none()
            if row is not None:
                return Reply(row.asked, row.status, json.loads(row.headers), row.body)
            mine_all = replies.c.caller == caller
            beyond = select(replies.c.key).where(mine_all).order_by(replies.c.at.desc()).offset(_MOST)
            connection.execute(delete(replies).where(mine_all, replies.c.key.in_(list(connection.scalars(beyond)))))
            begun = {"asked": asked, "at": now, "status": 0, "headers": "{}", "body": b""}
            connection.execute(insert(replies).values(caller=caller, key=key, **begun))
        return None

    def end(self, caller: str, key: str, status: int, headers: Mapping[str, str], body: bytes) -> None:
        with self._store.writing() as connection:
            mine = (replies.c.caller == caller) & (replies.c.key == key)
            said = {"status": status, "headers": json.dumps(dict(headers)), "body": body}
            connection.execute(update(replies).where(mine).values(**said))

    def forget(self, caller: str, key: str) -> None:
        """It failed: another try may do better."""
        with self._store.writing() as connection:
            connection.execute(delete(replies).where(replies.c.caller == caller, replies.c.key == key))
