"""Conversations made, named, turned to another of their branches, and removed."""

from __future__ import annotations

import uuid
from collections.abc import Sequence

from sqlalchemy import delete, insert, select, update

from hybrid_core.errors import UsageError
from hybrid_core.store.conversations.reading import ConversationReader, message_row, no_conversation
from hybrid_core.store.conversations.tables import (
    citations,
    conversation_libraries,
    conversation_summaries,
    conversations,
    messages,
)
from hybrid_core.store.jobs.clock import db_now
from hybrid_core.store.jobs.store import JobStore
from hybrid_core.store.tables import insert_into
from hybrid_core.store.text import to_json
from hybrid_core.types.conversations import Conversation, ConversationScope, Summary, TitleFrom
from hybrid_core.types.layouts import Box


class ConversationWriter:
    def __init__(self, store: JobStore) -> None:
        self._store = store

    def create(self, scope: ConversationScope, *, owner: str = "", title: str = "") -> Conversation:
        id = uuid.uuid4().hex
        with self._store.writing() as connection:
            connection.execute(
                insert(conversations).values(
                    id=id, owner=owner, title=title, title_from="user" if title else "rule",
                    documents=to_json(scope.documents), created_at=db_now(), updated_at=db_now(),
                )
            )  # fmt: skip
            libraries = [
                {"conversation": id, "library": library, "position": at} for at, library in enumerate(scope.libraries)
            ]
            if libraries:
                connection.execute(insert(conversation_libraries), libraries)
        return ConversationReader(self._store).conversation(id)

    def name(self, id: str, title: str, title_from: TitleFrom) -> None:
        """Raises NotFoundError. What a user has named only a user names anew."""
        with self._store.writing() as connection:
            known = conversations.c
            named = update(conversations).where(known.id == id)
            if title_from != "user":
                named = named.where(known.title_from != "user")
            values = {"title": title, "title_from": title_from}
            found = connection.execute(named.values(**values).returning(known.id)).one_or_none()
        if found is None and title_from == "user":
            raise no_conversation(id)

    def turn_to(self, id: str, leaf: int) -> None:
        """Let a conversation end with this answer, of any of its branches. Raises NotFoundError, UsageError."""
        with self._store.writing() as connection:
            row = message_row(connection, leaf)
            if (row.conversation, row.role) != (id, "assistant"):
                raise UsageError(f"Message {leaf} is no answer of this conversation.", "Name one that is.")
            connection.execute(update(conversations).where(conversations.c.id == id).values(leaf=leaf))

    def turn_to_branch(self, id: str, message: int) -> None:
        """End a conversation with the newest answer that follows from a message. Raises NotFoundError, UsageError."""
        with self._store.writing() as connection:
            row = message_row(connection, message)
            if row.conversation != id:
                raise UsageError(f"Message {message} is none of this conversation.", "Name one that is.")
            known = messages.c
            last = {row.id: row.role}
            for one in connection.execute(select(known.id, known.parent, known.role).where(
                known.conversation == id, known.id > message
            ).order_by(known.id)):  # fmt: skip
                if one.parent in last:
                    last[one.id] = one.role
            answers = [one for one, role in last.items() if role == "assistant"]
            if not answers:
                raise UsageError(f"Nothing answers message {message}.", "Name one of another branch.")
            connection.execute(update(conversations).where(conversations.c.id == id).values(leaf=answers[-1]))

    def narrow(self, id: str, documents: Sequence[str]) -> None:
        """Search only these documents (ids) from now on, () for all of its libraries. Raises NotFoundError."""
        known = conversations.c
        changed = update(conversations).where(known.id == id).values(documents=to_json(documents))
        with self._store.writing() as connection:
            if connection.execute(changed.returning(known.id)).one_or_none() is None:
                raise no_conversation(id)

    def remove(self, ids: Sequence[str]) -> None:
        """With all that was said. A turn under way finds that it is nobody's any more, and ends."""
        with self._store.writing() as connection:
            connection.execute(delete(conversations).where(conversations.c.id.in_(ids)))

    def summarise(self, summary: Summary) -> None:
        """Keep the summary of everything up to a message, in place of another one."""
        values = {"text": summary.text, "version": summary.version}
        with self._store.writing() as connection:
            connection.execute(
                insert_into(connection, conversation_summaries)
                .values(message=summary.message, **values)
                .on_conflict_do_update(index_elements=["message"], set_=values)
            )

    def locate(self, message: int, number: int, boxes: Sequence[Box]) -> None:
        """Remember where a citation's quote stands on its page."""
        known = citations.c
        place = update(citations).where(known.message == message, known.number == number)
        with self._store.writing() as connection:
            connection.execute(place.values(boxes=to_json(boxes)))
