"""Callers, and their roles in each library."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Role = Literal["read", "write", "admin"]
ROLES: tuple[Role, ...] = ("read", "write", "admin")
"""The roles. Each one includes the rights of those before it."""
EVERYWHERE = "*"
"""The key for all libraries, and for everything that belongs to no library."""


@dataclass(frozen=True, slots=True)
class Caller:
    """A caller of the interfaces, with a role per library.

    ``grants`` maps a library id, or EVERYWHERE (all libraries), to a role. Rate limits and idempotency keys apply per
    ``id``.
    """

    id: str
    name: str
    grants: Mapping[str, Role] = field(default_factory=dict)
    by_cookie: bool = False

    def may(self, role: Role, library: str = EVERYWHERE) -> bool:
        """Return whether the caller has this role, or a higher one, in a library (an id), by default in all of them."""
        had = [self.grants[name] for name in (EVERYWHERE, library) if name in self.grants]
        return any(ROLES.index(name) >= ROLES.index(role) for name in had)


@dataclass(frozen=True, slots=True)
class Token:
    """A stored access token without its secret. Times are in milliseconds since 1970; 0 means never.

    ``kind``: programs send a "token", browsers send a "session" as a cookie, and a trusted proxy names a "user".
    """

    id: str
    name: str
    kind: Literal["token", "user", "session"]
    grants: Mapping[str, Role]
    created_at: int
    expires_at: int
    used_at: int


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """An entry of the audit log: a request that changes data. ``outcome`` is the HTTP status of the response."""

    number: int
    at: int
    caller: str
    action: str
    library: str
    subject: str
    outcome: int
