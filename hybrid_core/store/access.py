"""Access of callers: tokens, the audit log, and stored responses to repeated requests.

A secret is shown once and stored as a hash. Clearing a home does not delete the tokens.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal

from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    Table,
    delete,
    func,
    insert,
    or_,
    select,
    update,
)

from hybrid_core.errors import Advice, ConflictError, DiskFullError, NotFoundError, ReadOnlyError
from hybrid_core.store.database import TransactionalStore
from hybrid_core.store.tables import CleanString as String
from hybrid_core.store.tables import CleanText as Text
from hybrid_core.store.tables import metadata, now_ms
from hybrid_core.types.access import AuditEntry, Role, Token

tokens = Table(
    "tokens", metadata,
    Column("id", String, primary_key=True),
    Column("name", String, nullable=False),
    Column("kind", String, nullable=False),  # "token", "user", "session"
    # SHA-256 of the secret; a user has no secret, so the hash of a random one
    Column("hash", String, nullable=False, unique=True),
    Column("parent", String, nullable=False, index=True),  # id of the token that opened a session
    Column("created_at", BigInteger, nullable=False),  # ms since 1970, like all times of this module
    Column("expires_at", BigInteger, nullable=False),  # 0: never
    Column("used_at", BigInteger, nullable=False, server_default="0"),
)  # fmt: skip

grants = Table(
    "grants", metadata,
    Column("token", String, ForeignKey("tokens.id", ondelete="CASCADE"), primary_key=True),
    Column("library", String, primary_key=True),  # library id, "*" for all
    Column("role", String, nullable=False),
    sqlite_with_rowid=False,
)  # fmt: skip

audit = Table(
    "audit", metadata,
    Column("number", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=True),
    Column("at", BigInteger, nullable=False),
    Column("caller", String, nullable=False),
    Column("action", String, nullable=False),
    Column("library", String, nullable=False),  # library id, "" for none
    Column("subject", Text, nullable=False),
    Column("outcome", Integer, nullable=False),  # HTTP status
    Index("audit_by_library", "library", "number"),
    sqlite_autoincrement=True,
)  # fmt: skip

replies = Table(
    "replies", metadata,  # responses for repeated requests, by idempotency key
    Column("caller", String, primary_key=True),
    Column("key", String, primary_key=True),
    Column("asked", String, nullable=False),  # a hash of the request
    Column("at", BigInteger, nullable=False, index=True),
    Column("status", Integer, nullable=False),  # 0 while the response is not ready
    Column("headers", Text, nullable=False),  # JSON object
    Column("body", LargeBinary, nullable=False),
    sqlite_with_rowid=False,
)  # fmt: skip


_SECRET = "hpi_"  # a prefix by which scanners recognise leaked secrets
_MAX_SESSIONS = 1000
_USE_INTERVAL = 600_000  # ms between two updates of the time of the last use
_MAX_ENTRIES, _MAX_REFUSALS = 1_000_000, 100_000  # maximum number of log entries, and of refused calls among them
_REPLY_LIFETIME = 86_400_000  # ms
_MAX_REPLIES = 1000  # per caller
_REPLY_TIMEOUT = 60_000  # ms after which an unanswered request counts as aborted


def secret_hash(secret: str) -> str:
    """Return the hash of a secret. A fast hash is safe, since secrets have 256 random bits."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


class TokenStore:
    def __init__(self, store: TransactionalStore) -> None:
        self._store = store

    def create(
        self,
        name: str,
        roles: Mapping[str, Role],
        kind: Literal["token", "user", "session"] = "token",
        *,
        seconds: float = 0,
        parent: str = "",
    ) -> tuple[Token, str]:
        """Create a token. Return it with its secret, which is never shown again.

        It is valid for ``seconds``, or until it is revoked if this is 0. Raise ConflictError if another token or user
        has the name.
        """
        secret, now = _SECRET + secrets.token_urlsafe(32), now_ms()
        expires_at = now + int(seconds * 1000) if seconds else 0
        token = Token(secrets.token_hex(6), name, kind, dict(roles), now, expires_at, 0)
        with self._store.writing() as connection:
            namesakes = _select_valid(now_ms()).where(tokens.c.name == name, tokens.c.kind != "session")
            if kind != "session" and connection.execute(namesakes).first() is not None:
                raise ConflictError(
                    f"A token named '{name}' already exists.",
                    "Choose another name, or revoke the existing token first.",
                )
            values = {"kind": kind, "hash": secret_hash(secret), "parent": parent, "created_at": now}
            connection.execute(
                insert(tokens).values(id=token.id, name=name, expires_at=token.expires_at, used_at=0, **values)
            )
            if roles:
                rows = [{"token": token.id, "library": library, "role": role} for library, role in roles.items()]
                connection.execute(insert(grants), rows)
            if kind == "session":
                _drop_old_sessions(connection, now)
        return token, secret

    def all(self) -> list[Token]:
        """Return the valid tokens, the newest first."""
        with self._store.reading() as connection:
            rows = connection.execute(_select_valid(now_ms()).order_by(tokens.c.created_at.desc(), tokens.c.id)).all()
            return _with_grants(connection, rows)

    def by_secret(self, secret: str) -> tuple[Token, str] | None:
        """Return the token that has this secret, and for a session the id of the token that opened it, else "".

        Return None if the secret is unknown, expired or revoked.
        """
        return self._find(tokens.c.hash == secret_hash(secret))

    def user(self, name: str) -> Token | None:
        """Return the user with a name that a trusted proxy sent, None if unknown."""
        match = self._find((tokens.c.name == name) & (tokens.c.kind == "user"))
        return match and match[0]

    def by_id(self, id: str) -> Token | None:
        match = self._find(tokens.c.id == id)
        return match and match[0]

    def used(self, token: Token) -> None:
        """Record the last use of a token, at most every ten minutes. Do nothing if the home cannot be written."""
        if (now := now_ms()) - token.used_at > _USE_INTERVAL:
            with suppress(ReadOnlyError, DiskFullError), self._store.writing() as connection:
                connection.execute(update(tokens).where(tokens.c.id == token.id).values(used_at=now))

    def revoke(self, name: str) -> Token:
        """Revoke a token by name or id, with the sessions that it opened. Raise NotFoundError if there is none."""
        with self._store.writing() as connection:
            query = select(tokens).where(
                or_(tokens.c.id == name, (tokens.c.name == name) & (tokens.c.kind != "session"))
            )
            row = connection.execute(query).first()
            if row is None:
                raise NotFoundError(
                    f"The token '{name}' does not exist.",
                    Advice(
                        "List the tokens, and choose an existing name.",
                        "List the tokens with: hybrid-pageindex token list.",
                    ),
                )
            [token] = _with_grants(connection, [row])
            connection.execute(delete(tokens).where(or_(tokens.c.id == token.id, tokens.c.parent == token.id)))
        return token

    def close_session(self, secret: str) -> None:
        with self._store.writing() as connection:
            mine = (tokens.c.hash == secret_hash(secret)) & (tokens.c.kind == "session")
            connection.execute(delete(tokens).where(mine))

    def _find(self, condition: Any) -> tuple[Token, str] | None:
        with self._store.reading() as connection:
            row = connection.execute(_select_valid(now_ms()).where(condition)).first()
            return None if row is None else (_with_grants(connection, [row])[0], row.parent)


def forget_grants(connection: Connection, library: str) -> None:
    """Delete the grants of a removed library, since another library may get its id."""
    connection.execute(delete(grants).where(grants.c.library == library))


def _select_valid(now: int) -> Any:
    return select(tokens).where(or_(tokens.c.expires_at == 0, tokens.c.expires_at > now))


def _with_grants(connection: Connection, rows: Any) -> list[Token]:
    roles: dict[str, dict[str, Role]] = {row.id: {} for row in rows}
    for grant in connection.execute(select(grants).where(grants.c.token.in_(roles))):
        roles[grant.token][grant.library] = grant.role
    return [
        Token(row.id, row.name, row.kind, roles[row.id], row.created_at, row.expires_at, row.used_at) for row in rows
    ]


def _drop_old_sessions(connection: Connection, now: int) -> None:
    sessions = select(tokens.c.id).where(tokens.c.kind == "session")
    beyond = sessions.order_by(tokens.c.created_at.desc(), tokens.c.id).offset(_MAX_SESSIONS)
    connection.execute(
        delete(tokens).where(or_(tokens.c.id.in_(beyond), (tokens.c.expires_at > 0) & (tokens.c.expires_at <= now)))
    )


class AuditLog:
    def __init__(self, store: TransactionalStore) -> None:
        self._store = store

    def add(self, caller: str, action: str, library: str, subject: str, outcome: int) -> None:
        values = {"caller": caller, "action": action, "library": library, "subject": subject, "outcome": outcome}
        with self._store.writing() as connection:
            connection.execute(insert(audit).values(at=now_ms(), **values))
            last = connection.scalar(select(func.max(audit.c.number))) or 0
            if last % 1000 == 0:
                connection.execute(delete(audit).where(audit.c.number <= last - _MAX_ENTRIES))
                old = audit.c.number <= last - _MAX_REFUSALS
                connection.execute(delete(audit).where(old, audit.c.outcome >= 400))

    def entries(self, *, before: int = 0, library: str | None = None, limit: int = 100) -> list[AuditEntry]:
        """Return entries of the audit log with numbers below ``before`` (0: all), the newest first."""
        query = select(audit).order_by(audit.c.number.desc()).limit(limit)
        if before:
            query = query.where(audit.c.number < before)
        if library is not None:
            query = query.where(audit.c.library == library)
        with self._store.reading() as connection:
            return [AuditEntry(*row) for row in connection.execute(query)]


@dataclass(frozen=True, slots=True)
class Reply:
    """A stored response. ``request`` is a hash of the request; ``status`` is 0 while the response is not ready."""

    request: str
    status: int
    headers: Mapping[str, str]
    body: bytes


class ReplyStore:
    def __init__(self, store: TransactionalStore) -> None:
        self._store = store

    def begin(self, caller: str, key: str, request: str) -> Reply | None:
        """Return the stored reply to a request. If there is none, record that it is being processed and return None."""
        now = now_ms()
        is_this = (replies.c.caller == caller) & (replies.c.key == key)
        with self._store.writing() as connection:
            connection.execute(delete(replies).where(replies.c.at < now - _REPLY_LIFETIME))
            connection.execute(
                delete(replies).where(is_this, replies.c.status == 0, replies.c.at < now - _REPLY_TIMEOUT)
            )
            row = connection.execute(select(replies).where(is_this)).one_or_none()
            if row is not None:
                return Reply(row.asked, row.status, json.loads(row.headers), row.body)
            is_callers = replies.c.caller == caller
            beyond = select(replies.c.key).where(is_callers).order_by(replies.c.at.desc()).offset(_MAX_REPLIES)
            connection.execute(delete(replies).where(is_callers, replies.c.key.in_(list(connection.scalars(beyond)))))
            begun = {"asked": request, "at": now, "status": 0, "headers": "{}", "body": b""}
            connection.execute(insert(replies).values(caller=caller, key=key, **begun))
        return None

    def end(self, caller: str, key: str, status: int, headers: Mapping[str, str], body: bytes) -> None:
        with self._store.writing() as connection:
            is_this = (replies.c.caller == caller) & (replies.c.key == key)
            values = {"status": status, "headers": json.dumps(dict(headers)), "body": body}
            connection.execute(update(replies).where(is_this).values(**values))

    def forget(self, caller: str, key: str) -> None:
        """Delete the record of a failed request, so that it may be repeated."""
        with self._store.writing() as connection:
            connection.execute(delete(replies).where(replies.c.caller == caller, replies.c.key == key))
