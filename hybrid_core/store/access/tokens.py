"""Tokens: made once, shown once, kept as a hash."""

from __future__ import annotations

import hashlib
import secrets
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Literal

from sqlalchemy import Connection, delete, insert, or_, select, update

from hybrid_core.errors import Advice, ConflictError, DiskFullError, NotFoundError, ReadOnlyError
from hybrid_core.store.access.tables import grants, tokens
from hybrid_core.store.jobs.store import JobStore as Store
from hybrid_core.types.access import Role, Token

_SECRET = "hpi_"  # tools that look for leaked secrets find it by this
_MOST_SESSIONS = 1000
_USE = 600_000  # ms between two notes of use


def secret_hash(secret: str) -> str:
    """Secrets have 256 random bits, so no slow hash is needed to keep them from being guessed."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


class TokenStore:
    def __init__(self, store: Store) -> None:
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
        """A token and its secret, which can be had only now. ``seconds`` it is valid, 0: until it is revoked.

        Raises ConflictError where another token or user has the name.
        """
        secret, now = _SECRET + secrets.token_urlsafe(32), _now()
        until = now + int(seconds * 1000) if seconds else 0
        made = Token(secrets.token_hex(6), name, kind, dict(roles), now, until, 0)
        with self._store.writing() as connection:
            if kind != "session" and _named(connection, name):
                raise ConflictError(f"There is a token '{name}' already.", "Choose another name, or revoke it first.")
            values = {"kind": kind, "hash": secret_hash(secret), "parent": parent, "created_at": now}
            connection.execute(
                insert(tokens).values(id=made.id, name=name, expires_at=made.expires_at, used_at=0, **values)
            )
            if roles:
                rows = [{"token": made.id, "library": library, "role": role} for library, role in roles.items()]
                connection.execute(insert(grants), rows)
            if kind == "session":
                _drop_old_sessions(connection, now)
        return made, secret

    def all(self) -> list[Token]:
        """The newest first; those that have expired are left out."""
        with self._store.reading() as connection:
            found = connection.execute(_valid(_now()).order_by(tokens.c.created_at.desc(), tokens.c.id)).all()
            return _with_grants(connection, found)

    def by_secret(self, secret: str) -> tuple[Token, str] | None:
        """The token and its parent; None where there is none, or it has expired or been revoked."""
        return self._one(tokens.c.hash == secret_hash(secret))

    def user(self, name: str) -> Token | None:
        """Whom a trusted proxy names."""
        found = self._one((tokens.c.name == name) & (tokens.c.kind == "user"))
        return found and found[0]

    def by_id(self, id: str) -> Token | None:
        found = self._one(tokens.c.id == id)
        return found and found[0]

    def used(self, token: Token) -> None:
        """Note that it was shown, now and then. Where that cannot be written, the call goes on all the same."""
        if (now := _now()) - token.used_at > _USE:
            with suppress(ReadOnlyError, DiskFullError), self._store.writing() as connection:
                connection.execute(update(tokens).where(tokens.c.id == token.id).values(used_at=now))

    def revoke(self, name: str) -> Token:
        """By name or id, with the sessions that were opened with it. Raises NotFoundError."""
        with self._store.writing() as connection:
            query = select(tokens).where(
                or_(tokens.c.id == name, (tokens.c.name == name) & (tokens.c.kind != "session"))
            )
            row = connection.execute(query).first()
            if row is None:
                raise NotFoundError(
                    f"No token '{name}'.", Advice("Choose one that is listed.", "See: hybrid-pageindex token list.")
                )
            [token] = _with_grants(connection, [row])
            connection.execute(delete(tokens).where(or_(tokens.c.id == token.id, tokens.c.parent == token.id)))
        return token

    def close_session(self, secret: str) -> None:
        with self._store.writing() as connection:
            mine = (tokens.c.hash == secret_hash(secret)) & (tokens.c.kind == "session")
            connection.execute(delete(tokens).where(mine))

    def _one(self, which: Any) -> tuple[Token, str] | None:
        with self._store.reading() as connection:
            row = connection.execute(_valid(_now()).where(which)).first()
            return None if row is None else (_with_grants(connection, [row])[0], row.parent)


def forget_grants(connection: Connection, library: str) -> None:
    """Of a library that goes: another one may get its id."""
    connection.execute(delete(grants).where(grants.c.library == library))


def _valid(now: int) -> Any:
    return select(tokens).where(or_(tokens.c.expires_at == 0, tokens.c.expires_at > now))


def _with_grants(connection: Connection, rows: Any) -> list[Token]:
    roles: dict[str, dict[str, Role]] = {row.id: {} for row in rows}
    for one in connection.execute(select(grants).where(grants.c.token.in_(roles))):
        roles[one.token][one.library] = one.role
    return [
        Token(row.id, row.name, row.kind, roles[row.id], row.created_at, row.expires_at, row.used_at) for row in rows
    ]


def _named(connection: Connection, name: str) -> bool:
    query = _valid(_now()).where(tokens.c.name == name, tokens.c.kind != "session")
    return connection.execute(query).first() is not None


def _drop_old_sessions(connection: Connection, now: int) -> None:
    sessions = select(tokens.c.id).where(tokens.c.kind == "session")
    beyond = sessions.order_by(tokens.c.created_at.desc(), tokens.c.id).offset(_MOST_SESSIONS)
    connection.execute(
        delete(tokens).where(or_(tokens.c.id.in_(beyond), (tokens.c.expires_at > 0) & (tokens.c.expires_at <= now)))
    )


def _now() -> int:
    return time.time_ns() // 1_000_000
