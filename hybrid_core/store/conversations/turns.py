"""One turn at a time in a conversation: begun by one process, kept by a lease, and ended or taken again.

Times are those of the database's clock alone. Every step of a turn is an event in the database before anybody hears
of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from sqlalchemy import Connection, Row, Select, insert, select, update

from hybrid_core.errors import LeaseLostError, TurnRunningError, UsageError
from hybrid_core.store.conversations import events, rows
from hybrid_core.store.conversations.events import Event
from hybrid_core.store.conversations.reading import message_row, no_conversation
from hybrid_core.store.conversations.tables import IS_RUNNING, conversations, messages
from hybrid_core.store.jobs.clock import db_now
from hybrid_core.store.jobs.store import JobStore
from hybrid_core.store.text import to_json
from hybrid_core.types.conversations import Citation, MessageStatus, QuestionFrom, TurnFence, TurnResult


class Turns:
    """Any number of processes may have one over the same database."""

    def __init__(self, store: JobStore, lease_ms: int = rows.LEASE_MS) -> None:
        self._store, self._lease_ms = store, lease_ms

    def begin(self, conversation: str, question: str, worker: str, *, after: int | None = None) -> TurnFence:
        """Ask after a message, 0 for the beginning; by default after the last one. An answer is begun with it.

        Raises NotFoundError, UsageError for what is no answer of this conversation, and TurnRunningError while another
        question of it is being answered.
        """
        with self._store.writing() as connection:
            now = self._free(connection, conversation)
            parent = now.leaf if after is None else after
            if parent:
                row = message_row(connection, parent)
                if (row.conversation, row.role) != (conversation, "assistant"):
                    raise UsageError(f"Message {parent} is no answer of this conversation.", "Ask after one that is.")
            asked = connection.execute(
                insert(messages).values(
                    conversation=conversation, parent=parent, role="user", text=question, status="complete",
                    created_at=db_now(),
                ).returning(messages.c.id)
            ).scalar_one()  # fmt: skip
            return self._answer(connection, conversation, asked, worker)

    def again(self, message: int, worker: str) -> TurnFence:
        """Make an answer once more: one that did not get done in its place, a complete one as a branch beside it.

        Raises as ``begin`` does.
        """
        with self._store.writing() as connection:
            conversation: str = message_row(connection, message).conversation
            self._free(connection, conversation)
            row = message_row(connection, message)
            if row.role != "assistant":
                raise UsageError(f"Message {message} is a question.", "Name its answer, or ask it anew.")
            if row.status == "complete":
                return self._answer(connection, conversation, row.parent, worker)
            claim = row.claim + 1
            taken = {
                "status": "running", "worker": worker, "claim": claim, "text": "", "cause": "", "result": "{}",
                "lease_until": db_now() + self._lease_ms, "cancel_requested": False, "finished_at": 0,
            }  # fmt: skip
            connection.execute(update(messages).where(messages.c.id == message).values(**taken))
            self._begun(connection, conversation, message)
            return TurnFence(conversation, message, worker, claim)

    def log(self, fence: TurnFence, happened: Sequence[Event]) -> None:
        """Raises LeaseLostError, as all that follow."""
        with self._store.writing() as connection:
            _held(connection, fence)
            events.log(connection, fence.message, happened)

    def searches(self, fence: TurnFence, question: str, question_from: QuestionFrom) -> None:
        """Write which question is searched for."""
        with self._store.writing() as connection:
            _held(connection, fence)
            values = {"searched": question, "searched_from": question_from}
            connection.execute(update(messages).where(messages.c.id == fence.message).values(**values))
            events.log(connection, fence.message, [("question", {"text": question, "from": question_from})])

    def cite(self, fence: TurnFence, found: Sequence[Citation]) -> None:
        """Write the pages that are answered from."""
        with self._store.writing() as connection:
            _held(connection, fence)
            rows.write_citations(connection, fence.message, found)
            shown = [rows.shown(one) for one in found]
            events.log(connection, fence.message, [("sources", {"sources": shown})])

    def keep(self, fence: TurnFence) -> bool:
        """Keep the lease for another while; whether somebody asks for the turn's end."""
        with self._store.writing() as connection:
            row = _held(connection, fence)
            until = {"lease_until": db_now() + self._lease_ms}
            connection.execute(update(messages).where(messages.c.id == fence.message).values(**until))
            return bool(row.cancel_requested)

    def end(
        self,
        fence: TurnFence,
        status: MessageStatus,
        text: str,
        result: TurnResult = TurnResult(),
        found: Sequence[Citation] | None = None,
        cause: str = "",
    ) -> None:
        """What became of a turn, in one transaction with its last event; ``found`` are its sources, None to leave them
        as they are.
        """
        with self._store.writing() as connection:
            _held(connection, fence)
            if found is not None:
                rows.write_citations(connection, fence.message, found)
            values = {"text": text, "result": to_json(asdict(result)), "cause": cause}
            _end(connection, fence.conversation, fence.message, status, values)
            events.fold(connection)

    def cancel(self, message: int) -> bool:
        """Ask for the end of a turn; whether it was running. Raises NotFoundError."""
        with self._store.writing() as connection:
            self._expire(connection, message_row(connection, message).conversation)
            if message_row(connection, message).status != "running":
                return False
            connection.execute(update(messages).where(messages.c.id == message).values(cancel_requested=True))
            return True

    def expire(self, conversation: str | None = None) -> int:
        """Mark turns whose process has died as interrupted, of one conversation or of all; how many these were."""
        with self._store.reading() as connection:
            late = connection.execute(self._late(conversation)).all()
        if not late:
            return 0
        with self._store.writing() as connection:
            return self._expire(connection, conversation)

    def _free(self, connection: Connection, conversation: str) -> Row[Any]:
        """A conversation in which nothing is being answered, kept from others until the transaction ends."""
        query = select(conversations).where(conversations.c.id == conversation).with_for_update()
        row = connection.execute(query).one_or_none()
        if row is None:
            raise no_conversation(conversation)
        self._expire(connection, conversation)
        running = select(messages.c.id).where(IS_RUNNING, messages.c.conversation == conversation)
        if connection.scalar(running) is not None:
            message = "A question of this conversation is being answered."
            raise TurnRunningError(message, "Wait for its end, or cancel it.")
        return row

    def _answer(self, connection: Connection, conversation: str, question: int, worker: str) -> TurnFence:
        made = connection.execute(
            insert(messages).values(
                conversation=conversation, parent=question, role="assistant", status="running", worker=worker, claim=1,
                lease_until=db_now() + self._lease_ms, created_at=db_now(),
            ).returning(messages.c.id)
        ).scalar_one()  # fmt: skip
        self._begun(connection, conversation, made)
        return TurnFence(conversation, made, worker, 1)

    def _begun(self, connection: Connection, conversation: str, message: int) -> None:
        now = {"leaf": message, "updated_at": db_now()}
        connection.execute(update(conversations).where(conversations.c.id == conversation).values(**now))
        events.log(connection, message, [("begun", {})])

    def _late(self, conversation: str | None) -> Select[Any]:
        query = select(messages.c.id, messages.c.conversation).where(IS_RUNNING, rows.lapsed(self._lease_ms))
        return query if conversation is None else query.where(messages.c.conversation == conversation)

    def _expire(self, connection: Connection, conversation: str | None) -> int:
        late = connection.execute(self._late(conversation).with_for_update(skip_locked=True)).all()
        for row in late:
            values = {"text": events.text_so_far(connection, row.id), "cause": rows.INTERRUPTED}
            _end(connection, row.conversation, row.id, "interrupted", values)
        return len(late)


def _held(connection: Connection, fence: TurnFence) -> Row[Any]:
    """The row of a turn, kept from others until the transaction ends. Raises LeaseLostError."""
    mine = (messages.c.id == fence.message, messages.c.worker == fence.worker, messages.c.claim == fence.claim)
    row = connection.execute(select(messages).where(*mine, IS_RUNNING).with_for_update()).one_or_none()
    if row is None:
        raise LeaseLostError(f"Message {fence.message} is no longer this process's.", "Read what became of it.")
    return row


def _end(
    connection: Connection, conversation: str, message: int, status: MessageStatus, values: dict[str, Any]
) -> None:
    ended = values | {"status": status, "lease_until": 0, "finished_at": db_now()}
    connection.execute(update(messages).where(messages.c.id == message).values(**ended))
    connection.execute(update(conversations).where(conversations.c.id == conversation).values(updated_at=db_now()))
    events.log(connection, message, [("ended", {"status": status})])
