"""The tables of conversations, conversion of their rows, and the events of an answer."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Connection,
    ForeignKey,
    Index,
    Integer,
    Row,
    Table,
    delete,
    insert,
    literal_column,
    select,
    update,
)

from hybrid_core.store.database import Decoding
from hybrid_core.store.leases import LeasedRows
from hybrid_core.store.tables import CleanString as String
from hybrid_core.store.tables import CleanText as Text
from hybrid_core.store.tables import metadata, partial_index, to_json
from hybrid_core.types.conversations import (
    Citation,
    CitationState,
    Conversation,
    ConversationMessage,
    ConversationScope,
    MessageEvent,
    MessageEventKind,
    TurnResult,
)
from hybrid_core.types.notes import Note, read, stored

_Id = BigInteger().with_variant(Integer, "sqlite")

conversations = Table(
    "conversations", metadata,
    Column("id", String, primary_key=True),
    Column("owner", String, nullable=False, server_default=""),
    Column("title", Text, nullable=False, server_default=""),
    Column("title_from", String, nullable=False, server_default="rule"),
    Column("documents", Text, nullable=False, server_default="[]"),  # JSON list of ids, empty for all
    Column("leaf", _Id, nullable=False, server_default="0"),
    Column("created_at", BigInteger, nullable=False),
    Column("updated_at", BigInteger, nullable=False),
    Index("conversations_by_owner", "owner", "updated_at"),
)  # fmt: skip

conversation_libraries = Table(
    "conversation_libraries", metadata,  # no row: all libraries
    Column("conversation", String, ForeignKey("conversations.id", ondelete="CASCADE"), primary_key=True),
    Column("library", String, primary_key=True, index=True),
    Column("position", Integer, nullable=False),
    sqlite_with_rowid=False,
)  # fmt: skip

messages = Table(
    "messages", metadata,
    Column("id", _Id, primary_key=True, autoincrement=True),
    Column("conversation", String, ForeignKey("conversations.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("parent", _Id, nullable=False),
    Column("role", String, nullable=False),
    Column("text", Text, nullable=False, server_default=""),
    Column("status", String, nullable=False),
    Column("searched", Text, nullable=False, server_default=""),
    Column("searched_from", String, nullable=False, server_default="as asked"),
    Column("cause", Text, nullable=False, server_default=""),
    Column("result", Text, nullable=False, server_default="{}"),  # JSON object
    Column("worker", String, nullable=False, server_default=""),  # id of the worker that has the lease
    Column("claim", Integer, nullable=False, server_default="0"),
    Column("lease_until", BigInteger, nullable=False, server_default="0"),
    Column("cancel_requested", Boolean, nullable=False, server_default="0"),
    Column("last_event", Integer, nullable=False, server_default="0"),
    Column("created_at", BigInteger, nullable=False),
    Column("finished_at", BigInteger, nullable=False, server_default="0"),
    sqlite_autoincrement=True,  # ids are never reused
)  # fmt: skip

# A literal, not a bound parameter: otherwise the database would not use the partial index.
IS_RUNNING = messages.c.status == literal_column("'running'")
LEASED = LeasedRows(messages, IS_RUNNING)

partial_index("messages_running", messages.c.conversation, unique=True, where=IS_RUNNING)
Index("messages_by_end", messages.c.finished_at)

citations = Table(
    "citations", metadata,  # complete by itself, since the document may change or be removed
    Column("message", _Id, ForeignKey("messages.id", ondelete="CASCADE"), primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("library", String, nullable=False),
    Column("doc_id", String, nullable=False),
    Column("doc_name", Text, nullable=False),
    Column("content_id", String, nullable=False),
    Column("sha256", String, nullable=False),
    Column("page", Integer, nullable=False),
    Column("label", String, nullable=False),
    Column("section_path", Text, nullable=False),  # JSON list
    Column("quote", Text, nullable=False),
    Column("cited", Boolean, nullable=False),
    Column("boxes", Text, nullable=False, server_default=""),  # JSON list, "" until it is requested
    sqlite_with_rowid=False,
)  # fmt: skip

message_events = Table(
    "message_events", metadata,
    Column("message", _Id, ForeignKey("messages.id", ondelete="CASCADE"), primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("kind", String, nullable=False),
    Column("detail", Text, nullable=False),  # JSON object
    sqlite_with_rowid=False,
)  # fmt: skip

conversation_summaries = Table(
    "conversation_summaries", metadata,
    Column("message", _Id, ForeignKey("messages.id", ondelete="CASCADE"), primary_key=True),
    Column("text", Text, nullable=False),
    Column("version", String, nullable=False),
    sqlite_with_rowid=False,
)  # fmt: skip

ANSWER_LEASE_MS = 15_000
INTERRUPTED = "The process that wrote this answer ended before the answer was complete."

Event = tuple[MessageEventKind, Mapping[str, Any]]
_AT_ONCE = 1000
KEPT = 100
"""The number of newest ended answers that keep their events. Older ones keep their result only."""


@Decoding("a conversation")
def to_conversation(row: Row[Any], libraries: Sequence[str]) -> Conversation:
    scope = ConversationScope(tuple(libraries), tuple(json.loads(row.documents)))
    return Conversation(
        row.id, row.owner, row.title, row.title_from, scope, row.leaf, row.created_at, row.updated_at
    )  # fmt: skip


@Decoding("a message")
def to_message(row: Row[Any], text: str, siblings: Sequence[int], citations: Sequence[Citation]) -> ConversationMessage:
    """Return the message in a database row. ``text`` is its text so far.

    If ``row.lapsed`` is true, the lease of a running answer has expired, and its status is "interrupted".
    """
    lost = row.status == "running" and row.lapsed
    return ConversationMessage(
        id=row.id, conversation=row.conversation, parent=row.parent, role=row.role, text=text,
        status="interrupted" if lost else row.status, created_at=row.created_at, finished_at=row.finished_at,
        searched=row.searched, searched_from=row.searched_from, cause=INTERRUPTED if lost else row.cause,
        result=to_result(json.loads(row.result)), citations=tuple(citations), siblings=tuple(siblings),
        last_event=row.last_event,
    )  # fmt: skip


def to_result(shape: Mapping[str, Any]) -> TurnResult:
    pairs = tuple((text, Note.read(why)) for text, why in shape.get("unsupported", ()))
    why, notes = Note.read(shape.get("why", "")), read(shape.get("notes", ()))
    return TurnResult(**{**shape, "unsupported": pairs, "why": why, "notes": notes})


def from_result(result: TurnResult) -> dict[str, Any]:
    """Return the stored JSON form of a result, which ``to_result`` reads."""
    pairs = [(text, Note.of(why).stored) for text, why in result.unsupported]
    return asdict(result) | {"unsupported": pairs, "why": Note.of(result.why).stored, "notes": stored(result.notes)}


@Decoding("a citation")
def to_citation(row: Row[Any], state: CitationState) -> Citation:
    boxes = tuple(tuple(box) for box in json.loads(row.boxes)) if row.boxes else None
    return Citation(
        row.number, row.library, row.doc_id, row.doc_name, row.content_id, row.sha256, row.page, row.label,
        tuple(json.loads(row.section_path)), row.quote, bool(row.cited), boxes, state, _current_title(row),
    )  # fmt: skip


def _current_title(row: Row[Any]) -> str:
    """Return the current title of a citation's document: a user's correction, or the title of the file."""
    corrected = json.loads(row.corrections_now or "{}")
    return str(corrected.get("title") or row.title_now or "")


@Decoding("an event of a message")
def to_event(row: Row[Any]) -> MessageEvent:
    return MessageEvent(row.message, row.number, row.kind, json.loads(row.detail))


def citation_detail(citation: Citation) -> dict[str, Any]:
    """Return a citation as JSON values for an event, without the fields that are known only when the answer ends."""
    shape = asdict(citation)
    return {name: value for name, value in shape.items() if name not in ("cited", "boxes", "state")}


def write_citations(connection: Connection, message: int, sources: Sequence[Citation]) -> None:
    """Replace the citations of a message."""
    connection.execute(delete(citations).where(citations.c.message == message))
    if sources:
        connection.execute(insert(citations), [_citation_values(message, source) for source in sources])


def _citation_values(message: int, citation: Citation) -> dict[str, Any]:
    values = asdict(citation) | {"message": message, "section_path": to_json(citation.section_path)}
    del values["state"]
    return values | {"boxes": "" if citation.boxes is None else to_json(citation.boxes)}


def log(connection: Connection, message: int, happened: Sequence[Event]) -> None:
    """Store events of a message, numbered without gaps: the message's row is locked until the transaction ends."""
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
    """Return the text of an unfinished answer from its events. An answer that was begun again starts anew."""
    columns = message_events.c
    query = select(columns.kind, columns.detail).where(columns.message == message, columns.kind.in_(["begun", "text"]))
    text = ""
    for row in connection.execute(query.order_by(columns.number)):
        text = "" if row.kind == "begun" else text + json.loads(row.detail)["text"]
    return text


def fold(connection: Connection, limit: int = KEPT) -> None:
    """Delete the events of all ended answers except the newest ``limit``. The messages keep their text and result."""
    with_events = select(message_events.c.message).distinct()
    old = (
        select(messages.c.id)
        .where(messages.c.finished_at > 0, messages.c.id.in_(with_events))
        .order_by(messages.c.finished_at.desc(), messages.c.id.desc())
        .offset(limit)
        .limit(_AT_ONCE)
    )
    gone = list(connection.scalars(old))
    if gone:
        connection.execute(delete(message_events).where(message_events.c.message.in_(gone)))
