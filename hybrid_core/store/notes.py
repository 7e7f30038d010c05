"""Notes and feedback of a library: their tables and stores. They are deleted with their library."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from sqlalchemy import BigInteger, Column, ForeignKey, Index, Integer, Table, delete, insert, select, update

from hybrid_core.errors import NotFoundError
from hybrid_core.store.database import TransactionalStore, parts
from hybrid_core.store.tables import CleanString as String
from hybrid_core.store.tables import CleanText as Text
from hybrid_core.store.tables import metadata, now_ms
from hybrid_core.types.conversations import Feedback, UserNote

notes = Table(
    "notes", metadata,
    Column("id", String, primary_key=True),
    Column("library", String, ForeignKey("libraries.id", ondelete="CASCADE"), nullable=False),
    Column("author", String, nullable=False),
    Column("title", Text, nullable=False),
    Column("text", Text, nullable=False),
    Column("doc_id", String, nullable=False),  # the document of the note, "" for a note on the library
    Column("page", Integer, nullable=False),  # 0: the document
    Column("created_at", BigInteger, nullable=False),  # ms since 1970
    Column("changed_at", BigInteger, nullable=False),
    Column("quote", Text, nullable=False, server_default=""),  # highlighted words of the page, "" for a plain note
    Column("occurrence", Integer, nullable=False, server_default="0"),  # which of their places on the page, from 0
    Column("content_id", String, nullable=False, server_default=""),  # the content of the document at that time
    Index("notes_by_library", "library", "changed_at"),
)  # fmt: skip

feedback = Table(
    "feedback", metadata,  # users' verdicts on result pages
    Column("id", String, primary_key=True),
    Column("library", String, ForeignKey("libraries.id", ondelete="CASCADE"), nullable=False),
    Column("author", String, nullable=False),
    Column("question", Text, nullable=False),
    Column("answer", Text, nullable=False),
    Column("document", Text, nullable=False),  # its path then, "" where the library has no answer
    Column("page", Integer, nullable=False),
    Column("right", Integer, nullable=False),  # 1: the page answers, 0: it does not
    Column("at", BigInteger, nullable=False),
    Index("feedback_by_library", "library", "at"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Highlight:
    """The words of a page that a note highlights (``quote``), and their occurrence (its number from 0).

    ``content_id`` is the version of the document in which the occurrence was counted.
    """

    quote: str = ""
    occurrence: int = 0
    content_id: str = ""


class NoteStore:
    def __init__(self, store: TransactionalStore) -> None:
        self._store = store

    def add(
        self, library: str, author: str, title: str, text: str, doc_id: str = "", page: int = 0,
        highlight: Highlight = Highlight(),
    ) -> UserNote:  # fmt: skip
        now, id = now_ms(), secrets.token_hex(8)
        note = UserNote(id, library, author, title, text, doc_id, page, now, now, **asdict(highlight))
        with self._store.writing() as connection:
            values = {name: getattr(note, name) for name in UserNote.__slots__}
            connection.execute(insert(notes).values(**values))
        return note

    def restore(self, copies: Sequence[UserNote]) -> None:
        """Add copies of notes from another home, with their times."""
        rows = [{name: getattr(note, name) for name in UserNote.__slots__} for note in copies]
        with self._store.writing() as connection:
            for some in parts(rows):
                connection.execute(insert(notes), some)

    def change(self, library: str, id: str, title: str, text: str) -> UserNote:
        """Change the title and text of a note. Return the changed note. Raise NotFoundError if there is none."""
        with self._store.writing() as connection:
            mine = (notes.c.library == library) & (notes.c.id == id)
            connection.execute(update(notes).where(mine).values(title=title, text=text, changed_at=now_ms()))
            row = connection.execute(select(notes).where(mine)).one_or_none()
        if row is None:
            raise _none(id)
        return UserNote(*row)

    def remove(self, library: str, id: str) -> None:
        """Remove a note from a library. Raise NotFoundError if there is none with this id."""
        with self._store.writing() as connection:
            gone = connection.execute(delete(notes).where(notes.c.library == library, notes.c.id == id))
            if not gone.rowcount:
                raise _none(id)

    def all(self, library: str, doc_id: str = "", limit: int = 1000) -> list[UserNote]:
        """Return the notes of a library, the most recently changed first; with ``doc_id`` only those on a document."""
        query = select(notes).where(notes.c.library == library).order_by(notes.c.changed_at.desc(), notes.c.id)
        if doc_id:
            query = query.where(notes.c.doc_id == doc_id)
        with self._store.reading() as connection:
            return [UserNote(*row) for row in connection.execute(query.limit(limit))]


class FeedbackStore:
    def __init__(self, store: TransactionalStore) -> None:
        self._store = store

    def add(
        self, library: str, author: str, question: str, document: str, page: int, *, right: bool, answer: str = ""
    ) -> Feedback:
        judgement = Feedback(secrets.token_hex(8), library, author, question, answer, document, page, right, now_ms())
        with self._store.writing() as connection:
            values = {name: getattr(judgement, name) for name in Feedback.__slots__}
            connection.execute(insert(feedback).values(**values | {"right": int(right)}))
        return judgement

    def restore(self, copies: Sequence[Feedback]) -> None:
        """Add copies of feedback from another home, with their times."""
        rows = [
            {name: getattr(judgement, name) for name in Feedback.__slots__} | {"right": int(judgement.right)}
            for judgement in copies
        ]
        with self._store.writing() as connection:
            for some in parts(rows):
                connection.execute(insert(feedback), some)

    def remove(self, library: str, id: str) -> None:
        """Remove an entry of feedback from a library. Raise NotFoundError if there is none with this id."""
        with self._store.writing() as connection:
            gone = connection.execute(delete(feedback).where(feedback.c.library == library, feedback.c.id == id))
            if not gone.rowcount:
                raise _none(id)

    def all(self, library: str, limit: int = 100_000) -> list[Feedback]:
        """Return the feedback of a library in chronological order."""
        query = select(feedback).where(feedback.c.library == library).order_by(feedback.c.at, feedback.c.id)
        with self._store.reading() as connection:
            rows = connection.execute(query.limit(limit)).mappings()
            return [Feedback(**{**row, "right": bool(row["right"])}) for row in rows]


def _none(id: str) -> NotFoundError:
    return NotFoundError(f"This library has no note with the id '{id}'.", "List the notes, and choose an existing id.")
