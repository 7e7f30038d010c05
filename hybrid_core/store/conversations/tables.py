"""The tables of conversations."""

from __future__ import annotations

from sqlalchemy import BigInteger, Boolean, Column, ForeignKey, Index, Integer, Table, literal_column

from hybrid_core.store.partial_index import partial_index
from hybrid_core.store.tables import metadata
from hybrid_core.store.text import CleanString as String
from hybrid_core.store.text import CleanText as Text

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
    "conversation_libraries", metadata,  # none: all of them
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
    Column("worker", String, nullable=False, server_default=""),  # who has the lease
    Column("claim", Integer, nullable=False, server_default="0"),
    Column("lease_until", BigInteger, nullable=False, server_default="0"),
    Column("cancel_requested", Boolean, nullable=False, server_default="0"),
    Column("last_event", Integer, nullable=False, server_default="0"),
    Column("created_at", BigInteger, nullable=False),
    Column("finished_at", BigInteger, nullable=False, server_default="0"),
    sqlite_autoincrement=True,  # an id that somebody was told never means another message
)  # fmt: skip

# Written out, not bound: only so is it seen that an index over such rows serves.
IS_RUNNING = messages.c.status == literal_column("'running'")

partial_index("messages_running", messages.c.conversation, unique=True, where=IS_RUNNING)
Index("messages_by_end", messages.c.finished_at)

citations = Table(
    "citations", metadata,  # a document may change or go: what is needed to read one is kept with it
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
    Column("boxes", Text, nullable=False, server_default=""),  # JSON list, "" where nobody has asked yet
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
