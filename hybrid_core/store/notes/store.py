"""Notes and feedback of libraries, by their ids."""

from __future__ import annotations

import secrets
import time
from collections.abc import Sequence

from sqlalchemy import delete, insert, select, update

from hybrid_core.errors import NotFoundError
from hybrid_core.store.jobs.store import JobStore as Store
from hybrid_core.store.notes.tables import feedback, notes
from hybrid_core.store.parts import parts
from hybrid_core.types.notes import Feedback, Note


class NoteStore:
    def __init__(self, store: Store) -> None:
        self._store = store

    def add(self, library: str, author: str, title: str, text: str, doc_id: str = "", page: int = 0) -> Note:
        now = _now()
        made = Note(secrets.token_hex(8), library, author, title, text, doc_id, page, now, now)
        with self._store.writing() as connection:
            values = {name: getattr(made, name) for name in Note.__slots__}
            connection.execute(insert(notes).values(**values))
        return made

    def restore(self, given: Sequence[Note]) -> None:
        """Add notes as they were written elsewhere, with their times."""
        rows = [{name: getattr(one, name) for name in Note.__slots__} for one in given]
        with self._store.writing() as connection:
            for some in parts(rows):
                connection.execute(insert(notes), some)

    def change(self, library: str, id: str, title: str, text: str) -> Note:
        """Raises NotFoundError."""
        with self._store.writing() as connection:
            mine = (notes.c.library == library) & (notes.c.id == id)
            connection.execute(update(notes).where(mine).values(title=title, text=text, changed_at=_now()))
            row = connection.execute(select(notes).where(mine)).one_or_none()
        if row is None:
            raise _none(id)
        return Note(*row)

    def remove(self, library: str, id: str) -> None:
        """Raises NotFoundError."""
        with self._store.writing() as connection:
            gone = connection.execute(delete(notes).where(notes.c.library == library, notes.c.id == id))
            if not gone.rowcount:
                raise _none(id)

    def all(self, library: str, doc_id: str = "", most: int = 1000) -> list[Note]:
        """The last changed first; with ``doc_id`` those about that document."""
        query = select(notes).where(notes.c.library == library).order_by(notes.c.changed_at.desc(), notes.c.id)
        if doc_id:
            query = query.where(notes.c.doc_id == doc_id)
        with self._store.reading() as connection:
            return [Note(*row) for row in connection.execute(query.limit(most))]


class FeedbackStore:
    def __init__(self, store: Store) -> None:
        self._store = store

    def add(
        self, library: str, author: str, question: str, document: str, page: int, *, right: bool, answer: str = ""
    ) -> Feedback:
        made = Feedback(secrets.token_hex(8), library, author, question, answer, document, page, right, _now())
        with self._store.writing() as connection:
            values = {name: getattr(made, name) for name in Feedback.__slots__}
            connection.execute(insert(feedback).values(**values | {"right": int(right)}))
        return made

    def restore(self, given: Sequence[Feedback]) -> None:
        """Add feedback as it was given elsewhere, with its times."""
        rows = [{name: getattr(one, name) for name in Feedback.__slots__} | {"right": int(one.right)} for one in given]
        with self._store.writing() as connection:
            for some in parts(rows):
                connection.execute(insert(feedback), some)

    def remove(self, library: str, id: str) -> None:
        """Raises NotFoundError."""
        with self._store.writing() as connection:
            gone = connection.execute(delete(feedback).where(feedback.c.library == library, feedback.c.id == id))
            if not gone.rowcount:
                raise _none(id)

    def all(self, library: str, most: int = 100_000) -> list[Feedback]:
        """In the order in which it was said."""
        query = select(feedback).where(feedback.c.library == library).order_by(feedback.c.at, feedback.c.id)
        with self._store.reading() as connection:
            found = connection.execute(query.limit(most)).mappings()
            return [Feedback(**{**row, "right": bool(row["right"])}) for row in found]


def _none(id: str) -> NotFoundError:
    return NotFoundError(f"There is no '{id}' in this library.", "List them.")


def _now() -> int:
    return time.time_ns() // 1_000_000
