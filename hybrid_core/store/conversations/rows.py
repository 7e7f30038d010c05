"""Rows of conversations to values and back."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, delete, insert, or_

from hybrid_core.store.conversations.tables import citations, messages
from hybrid_core.store.damage import Decoding
from hybrid_core.store.jobs.clock import db_now
from hybrid_core.store.text import to_json
from hybrid_core.types.conversations import (
    Citation,
    CitationState,
    Conversation,
    ConversationMessage,
    ConversationScope,
    MessageEvent,
    TurnResult,
)

LEASE_MS = 15_000
INTERRUPTED = "The process that made this answer ended before it was complete."


def lapsed(lease_ms: int) -> ColumnElement[bool]:
    """Whether nobody keeps a turn any more; also one kept for too long: that is from before the clock was put back."""
    return or_(messages.c.lease_until < db_now(), messages.c.lease_until > db_now() + 2 * lease_ms)


@Decoding("a conversation")
def to_conversation(row: Row[Any], libraries: Sequence[str]) -> Conversation:
    scope = ConversationScope(tuple(libraries), tuple(json.loads(row.documents)))
    return Conversation(
        row.id, row.owner, row.title, row.title_from, scope, row.leaf, row.created_at, row.updated_at
    )  # fmt: skip


@Decoding("a message")
def to_message(row: Row[Any], text: str, siblings: Sequence[int], cited: Sequence[Citation]) -> ConversationMessage:
    """``row`` also says whether its turn is ``lapsed``; ``text`` is what there is of it so far."""
    lost = row.status == "running" and row.lapsed
    return ConversationMessage(
        id=row.id, conversation=row.conversation, parent=row.parent, role=row.role, text=text,
        status="interrupted" if lost else row.status, created_at=row.created_at, finished_at=row.finished_at,
        searched=row.searched, searched_from=row.searched_from, cause=INTERRUPTED if lost else row.cause,
        result=to_result(json.loads(row.result)), citations=tuple(cited), siblings=tuple(siblings),
        last_event=row.last_event,
    )  # fmt: skip


def to_result(shape: Mapping[str, Any]) -> TurnResult:
    lists = {name: tuple(shape.get(name, ())) for name in ("unsupported", "notes")}
    pairs = tuple((text, why) for text, why in lists["unsupported"])
    return TurnResult(**{**shape, "unsupported": pairs, "notes": lists["notes"]})


@Decoding("a citation")
def to_citation(row: Row[Any], state: CitationState) -> Citation:
    boxes = tuple(tuple(box) for box in json.loads(row.boxes)) if row.boxes else None
    return Citation(
        row.number, row.library, row.doc_id, row.doc_name, row.content_id, row.sha256, row.page, row.label,
        tuple(json.loads(row.section_path)), row.quote, bool(row.cited), boxes, state, _title(row),
    )  # fmt: skip


def _title(row: Row[Any]) -> str:
    """Return the title of a citation's document: as somebody corrected it, or as it was read."""
    corrected = json.loads(row.corrections_now or "{}")
    return str(corrected.get("title") or row.title_now or "")


@Decoding("an event of a message")
def to_event(row: Row[Any]) -> MessageEvent:
    return MessageEvent(row.message, row.number, row.kind, json.loads(row.detail))


def shown(citation: Citation) -> dict[str, Any]:
    """A source as an event tells of it: whether it is cited shows only in the end."""
    shape = asdict(citation)
    return {name: value for name, value in shape.items() if name not in ("cited", "boxes", "state")}


def write_citations(connection: Connection, message: int, found: Sequence[Citation]) -> None:
    """In place of those that were there."""
    connection.execute(delete(citations).where(citations.c.message == message))
    if found:
        connection.execute(insert(citations), [_values(message, one) for one in found])


def _values(message: int, citation: Citation) -> dict[str, Any]:
    values = asdict(citation) | {"message": message, "section_path": to_json(citation.section_path)}
    del values["state"]
    return values | {"boxes": "" if citation.boxes is None else to_json(citation.boxes)}
