"""The tables of notes and of feedback. They go with their library."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, ForeignKey, Index, Integer, Table

from hybrid_core.store.tables import metadata
from hybrid_core.store.text import CleanString as String
from hybrid_core.store.text import CleanText as Text

notes = Table(
    "notes", metadata,
    Column("id", String, primary_key=True),
    Column("library", String, ForeignKey("libraries.id", ondelete="CASCADE"), nullable=False),
    Column("author", String, nullable=False),
    Column("title", Text, nullable=False),
    Column("text", Text, nullable=False),
    Column("doc_id", String, nullable=False),  # what it is about, "" for the library
    Column("page", Integer, nullable=False),  # 0: the document
    Column("created_at", BigInteger, nullable=False),  # ms since 1970
    Column("changed_at", BigInteger, nullable=False),
    Index("notes_by_library", "library", "changed_at"),
)  # fmt: skip

feedback = Table(
    "feedback", metadata,  # what somebody said of a page that was found for a question
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
