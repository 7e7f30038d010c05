"""Conversations as they are: listed, read from their rows alone, and what happened while an answer was made."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Row, Select, select

from hybrid_core.errors import Advice, NotFoundError
from hybrid_core.store.catalog import schema
from hybrid_core.store.catalog.libraries import outside_bin
from hybrid_core.store.conversations import events, rows
from hybrid_core.store.conversations.tables import (
    citations,
    conversation_libraries,
    conversation_summaries,
    conversations,
    message_events,
    messages,
)
from hybrid_core.store.jobs.store import JobStore
from hybrid_core.types.conversations import (
    Citation,
    CitationState,
    Conversation,
    ConversationMessage,
    MessageEvent,
    Summary,
)


class ConversationReader:
    def __init__(self, store: JobStore, lease_ms: int = rows.LEASE_MS) -> None:
        self._store, self._lease_ms = store, lease_ms

    def conversation(self, id: str) -> Conversation:
        """Raises NotFoundError."""
        with self._store.reading() as connection:
            return _conversation(connection, id)

    def listed(
        self, *, owner: str | None = None, most: int = 100, before: tuple[int, str] | None = None, find: str = ""
    ) -> list[Conversation]:
        """The one that was used last first; of an owner, or all. ``before`` is the (``updated_at``, id) of the last one
        of the page before. ``find`` stands in the title, or in what was asked or answered.
        """
        known = conversations.c
        query = select(conversations).order_by(known.updated_at.desc(), known.id.desc()).limit(most)
        if owner is not None:
            query = query.where(known.owner == owner)
        if before is not None:
            at, id = before
            query = query.where((known.updated_at < at) | ((known.updated_at == at) & (known.id < id)))
        if find:
            said = select(messages.c.conversation).where(messages.c.text.icontains(find, autoescape=True))
            query = query.where(known.title.icontains(find, autoescape=True) | known.id.in_(said))
        with self._store.reading() as connection:
            found = connection.execute(query).all()
            libraries = _libraries(connection, [row.id for row in found])
            return [rows.to_conversation(row, libraries.get(row.id, ())) for row in found]

    def path(self, conversation: str, leaf: int | None = None) -> list[ConversationMessage]:
        """The messages from the first to one, by default to that with which the conversation ends now.

        Raises NotFoundError.
        """
        with self._store.reading() as connection:
            end = _conversation(connection, conversation).leaf if leaf is None else leaf
            query = self._messages().where(messages.c.conversation == conversation).order_by(messages.c.id)
            found = {row.id: row for row in connection.execute(query)}
            if end and end not in found:
                raise no_message(end)
            siblings: dict[tuple[int, str], list[int]] = {}
            for row in found.values():
                siblings.setdefault((row.parent, row.role), []).append(row.id)
            path: list[Row[Any]] = []
            while end:
                path.append(found[end])
                end = found[end].parent
            cited = _citations(connection, [row.id for row in path])
            return [
                rows.to_message(
                    row, _text(connection, row), siblings[row.parent, row.role], cited.get(row.id, ())
                )
                for row in reversed(path)
            ]  # fmt: skip

    def message(self, id: int) -> ConversationMessage:
        """Raises NotFoundError."""
        with self._store.reading() as connection:
            row = connection.execute(self._messages().where(messages.c.id == id)).one_or_none()
            if row is None:
                raise no_message(id)
            return self._message(connection, row)

    def events(
        self, message: int, after: int = 0, most: int = 1000
    ) -> tuple[list[MessageEvent], ConversationMessage | None]:
        """What happened after an event; and the message as it is, where some of that is not kept any more, or the
        message has ended. Raises NotFoundError.
        """
        known = message_events.c
        query = select(message_events).where(known.message == message, known.number > after)
        with self._store.reading() as connection:
            row = connection.execute(self._messages().where(messages.c.id == message)).one_or_none()
            if row is None:
                raise no_message(message)
            found = [rows.to_event(one) for one in connection.execute(query.order_by(known.number).limit(most))]
            reached = found[-1].number if found else after
            folded = row.last_event > after and (not found or found[0].number > after + 1)
            over = reached >= row.last_event and (row.status != "running" or row.lapsed)
            return found, self._message(connection, row) if folded or over else None

    def summary(self, path: Sequence[int]) -> Summary | None:
        """The one that reaches furthest along these messages."""
        known = conversation_summaries.c
        query = select(conversation_summaries).where(known.message.in_(path)).order_by(known.message.desc()).limit(1)
        with self._store.reading() as connection:
            row = connection.execute(query).one_or_none()
            return None if row is None else Summary(row.message, row.text, row.version)

    def _messages(self) -> Select[Any]:
        return select(messages, rows.lapsed(self._lease_ms).label("lapsed"))

    def _message(self, connection: Connection, row: Row[Any]) -> ConversationMessage:
        beside = (
            messages.c.conversation == row.conversation, messages.c.parent == row.parent, messages.c.role == row.role
        )  # fmt: skip
        siblings = list(connection.scalars(select(messages.c.id).where(*beside).order_by(messages.c.id)))
        return rows.to_message(row, _text(connection, row), siblings, _citations(connection, [row.id]).get(row.id, ()))


def _text(connection: Connection, row: Row[Any]) -> str:
    return events.text_so_far(connection, row.id) if row.status == "running" else row.text


def _conversation(connection: Connection, id: str) -> Conversation:
    row = connection.execute(select(conversations).where(conversations.c.id == id)).one_or_none()
    if row is None:
        raise no_conversation(id)
    return rows.to_conversation(row, _libraries(connection, [id]).get(id, ()))


def _libraries(connection: Connection, ids: Sequence[str]) -> dict[str, list[str]]:
    known, found = conversation_libraries.c, dict[str, list[str]]()
    query = select(known.conversation, known.library).where(known.conversation.in_(ids)).order_by(known.position)
    for row in connection.execute(query):
        found.setdefault(row.conversation, []).append(row.library)
    return found


def _citations(connection: Connection, ids: Sequence[int]) -> dict[int, list[Citation]]:
    """By message, each with what has become of its document since."""
    known, now = citations.c, schema.documents.c
    query = (
        select(
            citations,
            schema.contents.c.sha256.label("sha256_now"),
            schema.contents.c.title.label("title_now"),
            now.corrections.label("corrections_now"),
        )
        .select_from(citations)
        .outerjoin(schema.documents, (now.doc_id == known.doc_id) & outside_bin(now.library))
        .outerjoin(schema.contents, schema.contents.c.content_id == now.content_id)
        .where(known.message.in_(ids))
        .order_by(known.message, known.number)
    )
    found: dict[int, list[Citation]] = {}
    for row in connection.execute(query):
        state: CitationState = "current" if row.sha256_now == row.sha256 else "changed"
        found.setdefault(row.message, []).append(rows.to_citation(row, state if row.sha256_now else "gone"))
    return found


def message_row(connection: Connection, id: int) -> Row[Any]:
    """Raises NotFoundError."""
    row = connection.execute(select(messages).where(messages.c.id == id)).one_or_none()
    if row is None:
        raise no_message(id)
    return row


def no_message(id: int) -> NotFoundError:
    return NotFoundError(f"No message {id}.", "It went with its conversation, or never was there.")


def no_conversation(id: str) -> NotFoundError:
    return NotFoundError(
        f"No conversation '{id}'.",
        Advice("Choose one that is listed.", "See which there are: hybrid-pageindex chat list."),
    )
