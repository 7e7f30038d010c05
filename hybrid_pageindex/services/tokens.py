"""Who may call: tokens of programs, users that a proxy names, and the sessions of browsers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hybrid_core.errors import UsageError
from hybrid_core.store.access.tokens import TokenStore
from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.types.access import EVERYWHERE, Caller, Role, Token
from hybrid_core.types.requests import one_of

_LONGEST = 100  # characters of a name
SESSION_SECONDS = 30 * 86_400.0


@dataclass(frozen=True, slots=True)
class NewToken:
    """``secret`` is told now and never again; "" of a user, who is named by a proxy."""

    token: Token
    secret: str


class Tokens:
    """Methods wait for the catalog: call them in a thread."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog, self._store = catalog, TokenStore(catalog)

    def create(
        self, name: str, role: Role = "read", libraries: Sequence[str] = (), *, days: float = 0, user: bool = False
    ) -> NewToken:
        """A token for ``libraries`` (names), () for all. ``LIBRARY=ROLE`` gives another role in one. ``user``: whom a
        trusted proxy names so, without a secret. ``days`` it is valid, 0: until it is revoked.

        Raises UsageError for a bad name or role, NotFoundError for an unknown library.
        """
        if not name.strip() or len(name) > _LONGEST or not name.isprintable():
            raise UsageError(f"'{name[:_LONGEST]}' cannot be a token's name.", f"Use 1 to {_LONGEST} characters.")
        if days < 0 or days > 36_500:
            raise UsageError(f"{days} days is no time.", "Choose 0 (until it is revoked) or more.")
        roles: dict[str, Role] = {}
        with self._catalog.snapshot() as snapshot:
            for one in libraries:
                library, _, said = one.partition("=")
                roles[snapshot.library(library).id] = _role(said or role)
        granted = roles or {EVERYWHERE: _role(role)}
        made, secret = self._store.create(name, granted, "user" if user else "token", seconds=days * 86_400)
        return NewToken(self._named(made, self._names()), "" if user else secret)

    def all(self) -> list[Token]:
        """With the names of libraries in place of their ids."""
        names = self._names()
        return [self._named(one, names) for one in self._store.all()]

    def revoke(self, name: str) -> Token:
        """By name or id; what is open with it ends. Raises NotFoundError."""
        return self._named(self._store.revoke(name), self._names())

    def open_session(self, name: str, grants: Mapping[str, Role], parent: str) -> str:
        """A browser's secret. ``parent`` is the token's id, or what else it was opened with."""
        return self._store.create(name, grants, "session", seconds=SESSION_SECONDS, parent=parent)[1]

    def close_session(self, secret: str) -> None:
        """A browser signs out."""
        self._store.close_session(secret)

    def caller(self, secret: str, start: str) -> Caller | None:
        """Who shows a secret; ``start`` is what sessions opened with the start token have as their parent."""
        found = self._store.by_secret(secret)
        if found is None:
            return None
        token, parent = found
        if token.kind == "user":
            return None
        grants = token.grants
        if token.kind == "session" and parent != start:
            opened_with = self._store.by_id(parent)
            if opened_with is None:  # revoked, expired, or of a start token of before
                return None
            grants = opened_with.grants
        self._store.used(token)
        return Caller(parent if token.kind == "session" else token.id, token.name, grants, token.kind == "session")

    def user(self, name: str) -> Caller | None:
        """Whom a trusted proxy names; None where nobody is called so."""
        found = self._store.user(name)
        return None if found is None else Caller(found.id, found.name, found.grants)

    def _names(self) -> dict[str, str]:
        with self._catalog.snapshot() as snapshot:
            return {one.id: one.name for one in snapshot.named_libraries()}

    @staticmethod
    def _named(token: Token, names: Mapping[str, str]) -> Token:
        return replace(token, grants={names.get(id, id): role for id, role in token.grants.items()})


def _role(given: str) -> Any:
    return one_of("role", given, "read", "write", "admin")
