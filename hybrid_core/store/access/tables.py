"""The tables of callers, of what they changed, and of answers that are given again."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, ForeignKey, Index, Integer, LargeBinary, Table

from hybrid_core.store.tables import metadata
from hybrid_core.store.text import CleanString as String
from hybrid_core.store.text import CleanText as Text

tokens = Table(
    "tokens", metadata,
    Column("id", String, primary_key=True),
    Column("name", String, nullable=False),
    Column("kind", String, nullable=False),  # «token», «user», «session»
    Column("hash", String, nullable=False, unique=True),  # SHA-256 of the secret; of a user a random one of nothing
    Column("parent", String, nullable=False, index=True),  # of a session: what it was opened with
    Column("created_at", BigInteger, nullable=False),  # ms since 1970, as all times here
    Column("expires_at", BigInteger, nullable=False),  # 0: never
    Column("used_at", BigInteger, nullable=False, server_default="0"),
)  # fmt: skip

grants = Table(
    "grants", metadata,
    Column("token", String, ForeignKey("tokens.id", ondelete="CASCADE"), primary_key=True),
    Column("library", String, primary_key=True),  # an id, «*» for all
    Column("role", String, nullable=False),
    sqlite_with_rowid=False,
)  # fmt: skip

audit = Table(
    "audit", metadata,
    Column("number", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=True),
    Column("at", BigInteger, nullable=False),
    Column("caller", String, nullable=False),
    Column("action", String, nullable=False),
    Column("library", String, nullable=False),  # an id, "" for none
    Column("subject", Text, nullable=False),
    Column("outcome", Integer, nullable=False),  # HTTP status
    Index("audit_by_library", "library", "number"),
    sqlite_autoincrement=True,
)  # fmt: skip

replies = Table(
    "replies", metadata,  # by idempotency key: what a caller was answered, to be answered again
    Column("caller", String, primary_key=True),
    Column("key", String, primary_key=True),
    Column("asked", String, nullable=False),  # a hash of the request
    Column("at", BigInteger, nullable=False, index=True),
    Column("status", Integer, nullable=False),  # 0 while it is worked at
    Column("headers", Text, nullable=False),  # JSON object
    Column("body", LargeBinary, nullable=False),
    sqlite_with_rowid=False,
)  # fmt: skip
