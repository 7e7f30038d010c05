"""Callers, and what they may do in which library."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Role = Literal["read", "write", "admin"]
ROLES: tuple[Role, ...] = ("read", "write", "admin")
"""Each may do what those before it may."""
EVERYWHERE = "*"
"""In place of a library's id: all of them, and what belongs to none."""


@dataclass(frozen=True, slots=True)
class Caller:
    """``grants`` are roles by the ids of libraries, or EVERYWHERE. ``id`` is what its rates and keys go by."""

    id: str
    name: str
    grants: Mapping[str, Role] = field(default_factory=dict)
    by_cookie: bool = False

    def may(self, role: Role, library: str = EVERYWHERE) -> bool:
        """Return whether the caller has this role in a library (an id), by default in all."""
        had = [self.grants[name] for name in (EVERYWHERE, library) if name in self.grants]
        return any(ROLES.index(name) >= ROLES.index(role) for name in had)


@dataclass(frozen=True, slots=True)
class Token:
    """A token without its secret. Times are ms since 1970, 0 for never.

    ``kind``: a "token" is shown by programs, a "session" is a browser's cookie, a "user" is named by a trusted proxy.
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
    """An entry of the audit log: a request to change something. ``outcome`` is the HTTP status of the reply."""

    number: int
    at: int
    caller: str
    action: str
    library: str
    subject: str
    outcome: int
