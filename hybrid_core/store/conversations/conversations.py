"""Reading, creation, renaming, branching and removal of conversations."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Row, Select, delete, func, insert, select, union, update

from hybrid_core.errors import Advice, NotFoundError, UsageError
from hybrid_core.store.catalog import schema
from hybrid_core.store.catalog.libraries import outside_bin
from hybrid_core.store.conversations import tables
from hybrid_core.store.conversations.tables import (
    citations,
    conversation_libraries,
    conversation_summaries,
    conversations,
    message_events,
    messages,
)
from hybrid_core.store.database import TransactionalStore
from hybrid_core.store.leases import db_now
from hybrid_core.store.tables import insert_into, to_json
from hybrid_core.types.conversations import (
    Citation,
    CitationState,
    Conversation,
    ConversationMessage,
    ConversationScope,
    MessageEvent,
    Summary,
    TitleFrom,
)
from hybrid_core.types.locators import Box


class ConversationReader:
    def __init__(self, store: TransactionalStore, lease_ms: int = tables.ANSWER_LEASE_MS) -> None:
        self._store, self._lease_ms = store, lease_ms

    def conversation(self, id: str) -> Conversation:
        """Return the conversation with an id. Raise NotFoundError if there is none."""
        with self._store.reading() as connection:
            return _conversation(connection, id)

    def listed(
        self, *, owner: str | None = None, limit: int = 100, before: tuple[int, str] | None = None, find: str = ""
    ) -> list[Conversation]:
        """Return conversations of an owner, or of all owners, the most recently used first.

        ``before`` is the (``updated_at``, id) of the last one on the previous page. ``find`` is a text to find in
        titles, questions and answers.
        """
        columns = conversations.c
        query = select(conversations).order_by(columns.updated_at.desc(), columns.id.desc()).limit(limit)
        if owner is not None:
            query = query.where(columns.owner == owner)
        if before is not None:
            at, id = before
            query = query.where((columns.updated_at < at) | ((columns.updated_at == at) & (columns.id < id)))
        if find:
            matching = select(messages.c.conversation).where(messages.c.text.icontains(find, autoescape=True))
            query = query.where(columns.title.icontains(find, autoescape=True) | columns.id.in_(matching))
        with self._store.reading() as connection:
            rows = connection.execute(query).all()
            libraries = _libraries_of(connection, [row.id for row in rows])
            return [tables.to_conversation(row, libraries.get(row.id, ())) for row in rows]

    def about_only(self, library: str, owner: str | None = None) -> list[Conversation]:
        """Return the conversations that search only the library with this id, the oldest first.

        ``owner`` selects the conversations of one owner.
        """
        columns, of = conversations.c, conversation_libraries.c
        others = select(of.conversation).where(of.library != library)
        query = (
            select(conversations)
            .join(conversation_libraries, of.conversation == columns.id)
            .where(of.library == library, columns.id.not_in(others))
            .order_by(columns.created_at, columns.id)
        )
        if owner is not None:
            query = query.where(columns.owner == owner)
        with self._store.reading() as connection:
            return [tables.to_conversation(row, (library,)) for row in connection.execute(query)]

    def messages(self, conversation: str) -> list[ConversationMessage]:
        """Return the messages of all branches, oldest first."""
        query = self._messages().where(messages.c.conversation == conversation).order_by(messages.c.id)
        with self._store.reading() as connection:
            rows = connection.execute(query).all()
            citations = _citations_of(connection, [row.id for row in rows])
            return [
                tables.to_message(row, _message_text(connection, row), (), citations.get(row.id, ())) for row in rows
            ]

    def path(self, conversation: str, leaf: int | None = None) -> list[ConversationMessage]:
        """Return the messages of one branch, from the first to ``leaf``, by default to the conversation's current end.

        Raise NotFoundError for an unknown conversation or message.
        """
        with self._store.reading() as connection:
            end = _conversation(connection, conversation).leaf if leaf is None else leaf
            query = self._messages().where(messages.c.conversation == conversation).order_by(messages.c.id)
            rows = {row.id: row for row in connection.execute(query)}
            if end and end not in rows:
                raise no_message(end)
            siblings: dict[tuple[int, str], list[int]] = {}
            for row in rows.values():
                siblings.setdefault((row.parent, row.role), []).append(row.id)
            path: list[Row[Any]] = []
            while end:
                path.append(rows[end])
                end = rows[end].parent
            citations = _citations_of(connection, [row.id for row in path])
            return [
                tables.to_message(
                    row, _message_text(connection, row), siblings[row.parent, row.role], citations.get(row.id, ())
                )
                for row in reversed(path)
            ]  # fmt: skip

    def message(self, id: int) -> ConversationMessage:
        """Return the message with an id. Raise NotFoundError if there is none."""
        with self._store.reading() as connection:
            row = connection.execute(self._messages().where(messages.c.id == id)).one_or_none()
            if row is None:
                raise no_message(id)
            return self._message(connection, row)

    def events(
        self, message: int, after: int = 0, limit: int = 1000
    ) -> tuple[list[MessageEvent], ConversationMessage | None]:
        """Return a message's events after the event with the number ``after``, in order, at most ``limit``.

        Also return the message if it has ended with these events, or if some events were deleted, else None. Raise
        NotFoundError for an unknown message.
        """
        columns = message_events.c
        query = select(message_events).where(columns.message == message, columns.number > after)
        with self._store.reading() as connection:
            row = connection.execute(self._messages().where(messages.c.id == message)).one_or_none()
            if row is None:
                raise no_message(message)
            events = [
                tables.to_event(event) for event in connection.execute(query.order_by(columns.number).limit(limit))
            ]
            reached = events[-1].number if events else after
            folded = row.last_event > after and (not events or events[0].number > after + 1)
            is_complete = reached >= row.last_event and (row.status != "running" or row.lapsed)
            return events, self._message(connection, row) if folded or is_complete else None

    def summary(self, path: Sequence[int]) -> Summary | None:
        """Return the stored summary of the most messages from the start of a branch, None if there is none.

        ``path`` are the ids of the branch's messages.
        """
        columns = conversation_summaries.c
        query = (
            select(conversation_summaries).where(columns.message.in_(path)).order_by(columns.message.desc()).limit(1)
        )
        with self._store.reading() as connection:
            row = connection.execute(query).one_or_none()
            return None if row is None else Summary(row.message, row.text, row.version)

    def _messages(self) -> Select[Any]:
        return select(messages, tables.LEASED.expired(self._lease_ms).label("lapsed"))

    def _message(self, connection: Connection, row: Row[Any]) -> ConversationMessage:
        is_sibling = (
            messages.c.conversation == row.conversation, messages.c.parent == row.parent, messages.c.role == row.role
        )  # fmt: skip
        siblings = list(connection.scalars(select(messages.c.id).where(*is_sibling).order_by(messages.c.id)))
        return tables.to_message(
            row, _message_text(connection, row), siblings, _citations_of(connection, [row.id]).get(row.id, ())
        )


def _message_text(connection: Connection, row: Row[Any]) -> str:
    return tables.text_so_far(connection, row.id) if row.status == "running" else row.text


def _conversation(connection: Connection, id: str) -> Conversation:
    row = connection.execute(select(conversations).where(conversations.c.id == id)).one_or_none()
    if row is None:
        raise no_conversation(id)
    return tables.to_conversation(row, _libraries_of(connection, [id]).get(id, ()))


def _libraries_of(connection: Connection, ids: Sequence[str]) -> dict[str, list[str]]:
    columns, libraries = conversation_libraries.c, dict[str, list[str]]()
    query = (
        select(columns.conversation, columns.library).where(columns.conversation.in_(ids)).order_by(columns.position)
    )
    for row in connection.execute(query):
        libraries.setdefault(row.conversation, []).append(row.library)
    return libraries


def _citations_of(connection: Connection, ids: Sequence[int]) -> dict[int, list[Citation]]:
    """Return the citations by message id. The state of each says if its document was changed or removed since."""
    columns, now = citations.c, schema.documents.c
    query = (
        select(
            citations,
            schema.contents.c.sha256.label("sha256_now"),
            schema.contents.c.title.label("title_now"),
            now.corrections.label("corrections_now"),
        )
        .select_from(citations)
        .outerjoin(schema.documents, (now.doc_id == columns.doc_id) & outside_bin(now.library))
        .outerjoin(schema.contents, schema.contents.c.content_id == now.content_id)
        .where(columns.message.in_(ids))
        .order_by(columns.message, columns.number)
    )
    by_message: dict[int, list[Citation]] = {}
    for row in connection.execute(query):
        state: CitationState = "current" if row.sha256_now == row.sha256 else "changed"
        by_message.setdefault(row.message, []).append(tables.to_citation(row, state if row.sha256_now else "gone"))
    return by_message


def message_row(connection: Connection, id: int) -> Row[Any]:
    """Return the database row of a message. Raise NotFoundError for an unknown id."""
    row = connection.execute(select(messages).where(messages.c.id == id)).one_or_none()
    if row is None:
        raise no_message(id)
    return row


def no_message(id: int) -> NotFoundError:
    return NotFoundError(
        f"Message {id} does not exist.",
        "The conversation of the message may have been deleted. List the conversations.",
    )


def no_conversation(id: str) -> NotFoundError:
    return NotFoundError(
        f"The conversation '{id}' does not exist.",
        Advice(
            "List the conversations, and choose an existing id.",
            "List the conversations with: hybrid-pageindex chat list.",
        ),
    )


_COPIED = ("role", "text", "status", "searched", "searched_from", "cause", "created_at", "finished_at")


class ConversationWriter:
    def __init__(self, store: TransactionalStore) -> None:
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

    def restore(self, copy: Conversation, copies: Sequence[ConversationMessage]) -> None:
        """Add a copy of a conversation from another home under a new id, with its owner and times.

        ``copies`` are the messages of all branches, each after its parent. They get new ids; their ids in the other
        home only serve to find parents.
        """
        id, new_ids = uuid.uuid4().hex, {0: 0}
        with self._store.writing() as connection:
            connection.execute(
                insert(conversations).values(
                    id=id, owner=copy.owner, title=copy.title, title_from=copy.title_from,
                    documents=to_json(copy.scope.documents), created_at=copy.created_at, updated_at=copy.updated_at,
                )
            )  # fmt: skip
            libraries = [
                {"conversation": id, "library": library, "position": at}
                for at, library in enumerate(copy.scope.libraries)
            ]
            connection.execute(insert(conversation_libraries), libraries)
            for message in copies:
                values = {name: getattr(message, name) for name in _COPIED}
                parent, result = new_ids[message.parent], to_json(tables.from_result(message.result))
                row = values | {"conversation": id, "parent": parent, "result": result}
                new_id = connection.execute(insert(messages).values(**row).returning(messages.c.id)).scalar_one()
                new_ids[message.id] = new_id
                tables.write_citations(connection, new_id, message.citations)
            leaf = new_ids.get(copy.leaf, 0)
            connection.execute(update(conversations).where(conversations.c.id == id).values(leaf=leaf))

    def name(self, id: str, title: str, title_from: TitleFrom) -> None:
        """Set the title of a conversation. A title that a user wrote is replaced only by another title from a user.

        Raise NotFoundError if a user names an unknown conversation.
        """
        with self._store.writing() as connection:
            columns = conversations.c
            statement = update(conversations).where(columns.id == id)
            if title_from != "user":
                statement = statement.where(columns.title_from != "user")
            values = {"title": title, "title_from": title_from}
            named_id = connection.execute(statement.values(**values).returning(columns.id)).one_or_none()
        if named_id is None and title_from == "user":
            raise no_conversation(id)

    def turn_to(self, id: str, leaf: int) -> None:
        """Make the answer ``leaf``, which may be on another branch, the current end of a conversation.

        Raise NotFoundError for an unknown message, and UsageError if it is not an answer of this conversation.
        """
        with self._store.writing() as connection:
            row = message_row(connection, leaf)
            if (row.conversation, row.role) != (id, "assistant"):
                raise UsageError(
                    f"Message {leaf} is not an answer in this conversation.", "Name a message of this conversation."
                )
            connection.execute(update(conversations).where(conversations.c.id == id).values(leaf=leaf))

    def turn_to_branch(self, id: str, message: int) -> None:
        """Make the newest answer that follows a message the current end of a conversation.

        Raise NotFoundError for an unknown message. Raise UsageError if it has no answer or is in another conversation.
        """
        with self._store.writing() as connection:
            row = message_row(connection, message)
            if row.conversation != id:
                raise UsageError(
                    f"Message {message} is not in this conversation.", "Name a message of this conversation."
                )
            columns = messages.c
            roles = {row.id: row.role}
            for child in connection.execute(select(columns.id, columns.parent, columns.role).where(
                columns.conversation == id, columns.id > message
            ).order_by(columns.id)):  # fmt: skip
                if child.parent in roles:
                    roles[child.id] = child.role
            answers = [answer for answer, role in roles.items() if role == "assistant"]
            if not answers:
                raise UsageError(f"Message {message} has no answer.", "Name a message that has an answer.")
            connection.execute(update(conversations).where(conversations.c.id == id).values(leaf=answers[-1]))

    def narrow(self, id: str, documents: Sequence[str]) -> None:
        """Let a conversation search only the documents with these ids, () for all documents of its libraries.

        Raise NotFoundError for an unknown conversation.
        """
        columns = conversations.c
        changed = update(conversations).where(columns.id == id).values(documents=to_json(documents))
        with self._store.writing() as connection:
            if connection.execute(changed.returning(columns.id)).one_or_none() is None:
                raise no_conversation(id)

    def remove(self, ids: Sequence[str]) -> None:
        """Remove conversations with all of their messages. A worker that is writing an answer loses its lease."""
        with self._store.writing() as connection:
            connection.execute(delete(conversations).where(conversations.c.id.in_(ids)))

    def summarise(self, summary: Summary) -> None:
        """Store a summary of all messages up to ``summary.message``. It replaces an earlier summary up to there."""
        values = {"text": summary.text, "version": summary.version}
        with self._store.writing() as connection:
            connection.execute(
                insert_into(connection, conversation_summaries)
                .values(message=summary.message, **values)
                .on_conflict_do_update(index_elements=["message"], set_=values)
            )

    def locate(self, message: int, number: int, boxes: Sequence[Box]) -> None:
        """Store the boxes that the quote of a citation occupies on its page. ``number`` is the citation's number."""
        columns = citations.c
        place = update(citations).where(columns.message == message, columns.number == number)
        with self._store.writing() as connection:
            connection.execute(place.values(boxes=to_json(boxes)))


def forget_library(connection: Connection, library: str) -> None:
    """Remove a library from the scope of conversations that also search others.

    A conversation about only this library keeps it, because an empty scope would mean all libraries.
    """
    columns = conversation_libraries.c
    others = select(columns.conversation).where(columns.library != library)
    connection.execute(
        delete(conversation_libraries).where(columns.library == library, columns.conversation.in_(others))
    )


def conversations_about(connection: Connection, library: str) -> int:
    """Return the number of conversations that search a library or have an answer that cites it."""
    columns = conversation_libraries.c
    citing = (
        select(messages.c.conversation)
        .join(citations, citations.c.message == messages.c.id)
        .where(citations.c.library == library)
    )
    both = union(select(columns.conversation).where(columns.library == library), citing).subquery()
    return connection.scalar(select(func.count()).select_from(both)) or 0
