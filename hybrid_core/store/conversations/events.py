"""What happens while an answer is made, numbered within its message, and how that folds away."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, delete, insert, select, update

from hybrid_core.store.conversations.tables import message_events, messages
from hybrid_core.store.text import to_json
from hybrid_core.types.conversations import MessageEventKind

Event = tuple[MessageEventKind, Mapping[str, Any]]
_AT_ONCE = 1000
KEPT = 100
"""Of so many ended answers, the newest, events are kept; older ones are what they became."""


def log(connection: Connection, message: int, happened: Sequence[Event]) -> None:
    """The message's row keeps others from writing until the transaction ends, so the numbers have no gaps."""
    if not happened:
        return
    more = update(messages).where(messages.c.id == message)
    last = connection.execute(
        more.values(last_event=messages.c.last_event + len(happened)).returning(messages.c.last_event)
    ).scalar_one()
    first = last - len(happened) + 1
    values = [
        {"message": message, "number": first + n, "kind": kind, "detail": to_json(detail)}
        for n, (kind, detail) in enumerate(happened)
    ]
    connection.execute(insert(message_events), values)


def text_so_far(connection: Connection, message: int) -> str:
    """The pieces of an answer since it was last begun."""
    known = message_events.c
    query = select(known.kind, known.detail).where(known.message == message, known.kind.in_(["begun", "text"]))
    text = ""
    for row in connection.execute(query.order_by(known.number)):
        text = "" if row.kind == "begun" else text + json.loads(row.detail)["text"]
    return text


def fold(connection: Connection, kept: int = KEPT) -> None:
    """Forget the events of answers that ended long ago: their messages say what came of them."""
    told = select(message_events.c.message).distinct()
    old = (
        select(messages.c.id)
        .where(messages.c.finished_at > 0, messages.c.id.in_(told))
        .order_by(messages.c.finished_at.desc(), messages.c.id.desc())
        .offset(kept)
        .limit(_AT_ONCE)
    )
    gone = list(connection.scalars(old))
    if gone:
        connection.execute(delete(message_events).where(message_events.c.message.in_(gone)))
