"""Answers of a conversation, at most one at a time.

A worker begins an answer, renews its lease and ends it; an incomplete answer can be begun again. Only the database
clock decides expiry. Every step is stored as an event before it is sent to listeners.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Row, Select, insert, select, update

from hybrid_core.errors import LeaseLostError, TurnRunningError, UsageError
from hybrid_core.store.conversations import tables
from hybrid_core.store.conversations.conversations import message_row, no_conversation
from hybrid_core.store.conversations.tables import IS_RUNNING, LEASED, Event, conversations, messages
from hybrid_core.store.database import TransactionalStore
from hybrid_core.store.leases import db_now
from hybrid_core.store.tables import to_json
from hybrid_core.types.conversations import Citation, MessageStatus, QuestionFrom, TurnFence, TurnResult


class Turns:
    """Operations on running answers: begin, renew, end, cancel. Several processes may use the same database."""

    def __init__(self, store: TransactionalStore, lease_ms: int = tables.ANSWER_LEASE_MS) -> None:
        self._store, self._lease_ms = store, lease_ms

    def begin(self, conversation: str, question: str, worker: str, *, after: int | None = None) -> TurnFence:
        """Store a question and begin its answer. Return a fence, the proof of the lease that later writes need.

        The question follows the message ``after``: 0 is the beginning, and the default is the last message. Raise
        NotFoundError, UsageError if ``after`` is not an answer of this conversation, and TurnRunningError while another
        question is being answered.
        """
        with self._store.writing() as connection:
            current = self._lock_free(connection, conversation)
            parent = current.leaf if after is None else after
            if parent:
                row = message_row(connection, parent)
                if (row.conversation, row.role) != (conversation, "assistant"):
                    raise UsageError(
                        f"Message {parent} is not an answer in this conversation.",
                        "Name an answer of this conversation to continue from.",
                    )
            question_id = connection.execute(
                insert(messages).values(
                    conversation=conversation, parent=parent, role="user", text=question, status="complete",
                    created_at=db_now(),
                ).returning(messages.c.id)
            ).scalar_one()  # fmt: skip
            return self._answer(connection, conversation, question_id, worker)

    def again(self, message: int, worker: str) -> TurnFence:
        """Begin to answer a question again. ``message`` is its answer: replace it if incomplete, else add a branch.

        Return a fence, and raise the errors of ``begin``.
        """
        with self._store.writing() as connection:
            conversation: str = message_row(connection, message).conversation
            self._lock_free(connection, conversation)
            row = message_row(connection, message)
            if row.role != "assistant":
                raise UsageError(
                    f"Message {message} is a question, but this request needs an answer.",
                    "Name the message with the answer to this question.",
                )
            if row.status == "complete":
                return self._answer(connection, conversation, row.parent, worker)
            claim = row.claim + 1
            taken = {
                "status": "running", "worker": worker, "claim": claim, "text": "", "cause": "", "result": "{}",
                "lease_until": db_now() + self._lease_ms, "cancel_requested": False, "finished_at": 0,
            }  # fmt: skip
            connection.execute(update(messages).where(messages.c.id == message).values(**taken))
            self._log_begun(connection, conversation, message)
            return TurnFence(conversation, message, worker, claim)

    def log(self, fence: TurnFence, happened: Sequence[Event]) -> None:
        """Store events of a running answer.

        Like all methods with a fence, raise LeaseLostError if another process has taken over the answer.
        """
        with self._store.writing() as connection:
            _lock_turn(connection, fence)
            tables.log(connection, fence.message, happened)

    def searches(self, fence: TurnFence, question: str, question_from: QuestionFrom) -> None:
        """Record the question that is sent to the search, which may differ from the user's."""
        with self._store.writing() as connection:
            _lock_turn(connection, fence)
            values = {"searched": question, "searched_from": question_from}
            connection.execute(update(messages).where(messages.c.id == fence.message).values(**values))
            tables.log(connection, fence.message, [("question", {"text": question, "from": question_from})])

    def cite(self, fence: TurnFence, sources: Sequence[Citation]) -> None:
        """Store the sources of an answer as its citations, and log them as an event."""
        with self._store.writing() as connection:
            _lock_turn(connection, fence)
            tables.write_citations(connection, fence.message, sources)
            details = [tables.citation_detail(source) for source in sources]
            tables.log(connection, fence.message, [("sources", {"sources": details})])

    def keep(self, fence: TurnFence) -> bool:
        """Renew the lease of an answer. Return whether a user asked to cancel it."""
        with self._store.writing() as connection:
            row = _lock_turn(connection, fence)
            until = {"lease_until": db_now() + self._lease_ms}
            connection.execute(update(messages).where(messages.c.id == fence.message).values(**until))
            return bool(row.cancel_requested)

    def end(
        self,
        fence: TurnFence,
        status: MessageStatus,
        text: str,
        result: TurnResult = TurnResult(),
        sources: Sequence[Citation] | None = None,
        cause: str = "",
    ) -> None:
        """Store the end of an answer and its last event in one transaction. ``sources`` None keeps the citations."""
        with self._store.writing() as connection:
            _lock_turn(connection, fence)
            if sources is not None:
                tables.write_citations(connection, fence.message, sources)
            values = {"text": text, "result": to_json(tables.from_result(result)), "cause": cause}
            _end(connection, fence.conversation, fence.message, status, values)
            tables.fold(connection)

    def cancel(self, message: int) -> bool:
        """Request that an answer be cancelled. Return whether it was running. Raise NotFoundError if it is unknown."""
        with self._store.writing() as connection:
            self._expire(connection, message_row(connection, message).conversation)
            if message_row(connection, message).status != "running":
                return False
            connection.execute(update(messages).where(messages.c.id == message).values(cancel_requested=True))
            return True

    def expire(self, conversation: str | None = None) -> int:
        """Mark answers whose lease has expired as interrupted, in one conversation or in all. Return their number."""
        with self._store.reading() as connection:
            late = connection.execute(self._select_expired(conversation)).all()
        if not late:
            return 0
        with self._store.writing() as connection:
            return self._expire(connection, conversation)

    def _lock_free(self, connection: Connection, conversation: str) -> Row[Any]:
        """Lock the row of a conversation until the transaction ends, and return it.

        Raise TurnRunningError while a question is being answered.
        """
        query = select(conversations).where(conversations.c.id == conversation).with_for_update()
        row = connection.execute(query).one_or_none()
        if row is None:
            raise no_conversation(conversation)
        self._expire(connection, conversation)
        running = select(messages.c.id).where(IS_RUNNING, messages.c.conversation == conversation)
        if connection.scalar(running) is not None:
            message = "A question of this conversation is still being answered."
            raise TurnRunningError(message, "Wait for the answer, or cancel it.")
        return row

    def _answer(self, connection: Connection, conversation: str, question: int, worker: str) -> TurnFence:
        answer = connection.execute(
            insert(messages).values(
                conversation=conversation, parent=question, role="assistant", status="running", worker=worker, claim=1,
                lease_until=db_now() + self._lease_ms, created_at=db_now(),
            ).returning(messages.c.id)
        ).scalar_one()  # fmt: skip
        self._log_begun(connection, conversation, answer)
        return TurnFence(conversation, answer, worker, 1)

    def _log_begun(self, connection: Connection, conversation: str, message: int) -> None:
        now = {"leaf": message, "updated_at": db_now()}
        connection.execute(update(conversations).where(conversations.c.id == conversation).values(**now))
        tables.log(connection, message, [("begun", {})])

    def _select_expired(self, conversation: str | None) -> Select[Any]:
        query = select(messages.c.id, messages.c.conversation).where(IS_RUNNING, LEASED.expired(self._lease_ms))
        return query if conversation is None else query.where(messages.c.conversation == conversation)

    def _expire(self, connection: Connection, conversation: str | None) -> int:
        late = connection.execute(self._select_expired(conversation).with_for_update(skip_locked=True)).all()
        for row in late:
            values = {"text": tables.text_so_far(connection, row.id), "cause": tables.INTERRUPTED}
            _end(connection, row.conversation, row.id, "interrupted", values)
        return len(late)


def _lock_turn(connection: Connection, fence: TurnFence) -> Row[Any]:
    """Lock the row of an answer until the transaction ends, and return it.

    Raise LeaseLostError if another process has taken over the answer.
    """
    row = LEASED.lock(connection, fence.message, fence.worker, fence.claim)
    if row is None:
        raise LeaseLostError(
            f"Another process has taken over writing the answer in message {fence.message}.",
            "Read the message again to see its state.",
        )
    return row


def _end(
    connection: Connection, conversation: str, message: int, status: MessageStatus, values: dict[str, Any]
) -> None:
    ended = values | {"status": status, "lease_until": 0, "finished_at": db_now()}
    connection.execute(update(messages).where(messages.c.id == message).values(**ended))
    connection.execute(update(conversations).where(conversations.c.id == conversation).values(updated_at=db_now()))
    tables.log(connection, message, [("ended", {"status": status})])
