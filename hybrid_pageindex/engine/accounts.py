"""Tokens, users and browser sessions of a home, and the recorded usage of models."""

from __future__ import annotations

import datetime
import logging
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from hybrid_core.errors import ChatError, StoreError, UsageError
from hybrid_core.llm.budget import Charge
from hybrid_core.store.access import TokenStore
from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.store.usage import UsageStore
from hybrid_core.types.access import EVERYWHERE, Caller, Role, Token
from hybrid_core.types.requests import one_of
from hybrid_core.types.usage import ModelUse, Usage
from hybrid_pageindex.config.settings import Settings

_LONGEST = 100  # maximum characters of a name
SESSION_SECONDS = 30 * 86_400.0


@dataclass(frozen=True, slots=True)
class NewToken:
    """A created token. Its ``secret`` cannot be read again later; it is "" for a user whom a proxy authenticates."""

    token: Token
    secret: str


class Tokens:
    """The tokens, users and browser sessions in the catalog.

    All methods block on the database: call them in a thread.
    """

    def __init__(self, catalog: Catalog) -> None:
        self._catalog, self._store = catalog, TokenStore(catalog)

    def create(
        self, name: str, role: Role = "read", libraries: Sequence[str] = (), *, days: float = 0, user: bool = False
    ) -> NewToken:
        """Create a token and return it with its secret.

        ``libraries`` are the names of the libraries to which the token gives access with ``role``, () for all;
        ``NAME=ROLE`` sets another role for one library. With ``user`` the entry has no secret: a trusted proxy
        authenticates the user of this name. The token expires after ``days``; 0 means never.

        Raise UsageError for an invalid name or role, NotFoundError for an unknown library.
        """
        if not name.strip() or len(name) > _LONGEST or not name.isprintable():
            raise UsageError(f"'{name[:_LONGEST]}' cannot be a token's name.", f"Use 1 to {_LONGEST} characters.")
        if days < 0 or days > 36_500:
            raise UsageError(
                f"A token cannot be valid for {days} days.",
                "Choose at least 1 day, or 0 for a token that stays valid until it is revoked.",
            )
        roles: dict[str, Role] = {}
        with self._catalog.snapshot() as snapshot:
            for grant in libraries:
                library, _, role_name = grant.partition("=")
                roles[snapshot.library(library).id] = _role(role_name or role)
        granted = roles or {EVERYWHERE: _role(role)}
        token, secret = self._store.create(name, granted, "user" if user else "token", seconds=days * 86_400)
        return NewToken(self._named(token, self._names()), "" if user else secret)

    def all(self) -> list[Token]:
        """Return all tokens, users and browser sessions, with library names instead of ids."""
        names = self._names()
        return [self._named(token, names) for token in self._store.all()]

    def revoke(self, name: str) -> Token:
        """Revoke a token, given by name or id, and close its browser sessions. Raise NotFoundError if it does not
        exist.
        """
        return self._named(self._store.revoke(name), self._names())

    def open_session(self, name: str, grants: Mapping[str, Role], parent: str) -> str:
        """Open a browser session with these access rights (role by library id), and return its secret.

        ``parent`` is the id of the token used to log in.
        """
        return self._store.create(name, grants, "session", seconds=SESSION_SECONDS, parent=parent)[1]

    def close_session(self, secret: str) -> None:
        """Delete the browser session with this secret."""
        self._store.close_session(secret)

    def caller(self, secret: str, start: str) -> Caller | None:
        """Return the caller with this token or session secret, None for an unknown or expired secret.

        Sessions opened with the token that the server was started with have ``start`` as parent. They keep their own
        access rights; other sessions get those of the token they were opened with.
        """
        caller = self._store.by_secret(secret)
        if caller is None:
            return None
        token, parent = caller
        if token.kind == "user":
            return None
        grants = token.grants
        if token.kind == "session" and parent != start:
            opened_with = self._store.by_id(parent)
            if opened_with is None:  # revoked, expired, or from an earlier start token
                return None
            grants = opened_with.grants
        self._store.used(token)
        return Caller(parent if token.kind == "session" else token.id, token.name, grants, token.kind == "session")

    def user(self, name: str) -> Caller | None:
        """Return the caller for a user name that a trusted proxy sent, None if no such user was created."""
        user = self._store.user(name)
        return None if user is None else Caller(user.id, user.name, user.grants)

    def _names(self) -> dict[str, str]:
        with self._catalog.snapshot() as snapshot:
            return {library.id: library.name for library in snapshot.named_libraries()}

    @staticmethod
    def _named(token: Token, names: Mapping[str, str]) -> Token:
        return replace(token, grants={names.get(id, id): role for id, role in token.grants.items()})


def _role(name: str) -> Any:
    return one_of("role", name, "read", "write", "admin")


_log = logging.getLogger(__name__)
_ADVICE = "The count starts again at the beginning of next month (UTC). To allow more, raise the setting {}."


@dataclass(frozen=True, slots=True)
class UsageReport:
    """Usage of models by day, model, library (id) and caller, newest day first.

    ``month_cost`` is this month's cost, ``month_unpriced`` the month's tokens of models without a price. The settings
    limit both; a limit of 0 means no limit.
    """

    days: tuple[ModelUse, ...]
    month_cost: float
    month_unpriced: int
    monthly_spending: float
    monthly_tokens: int
    notes: tuple[str, ...] = ()


@dataclass(slots=True)
class Spending:
    """A record of model calls in the catalog. It refuses calls beyond the monthly limits of ``settings``."""

    catalog: Catalog
    settings: Settings
    _unwritten: list[tuple[str, str, Charge, Usage, bool]] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def check(self, model: str, *, priced: bool) -> None:
        limit, tokens = self.settings.monthly_spending, self.settings.monthly_tokens
        if not (limit if priced else tokens):
            return
        cost, unpriced = UsageStore(self.catalog).spent(_month())
        if priced and cost >= limit:
            message = f"{model} was not called, because {cost:.2f} of the monthly limit of {limit:g} are already spent."
            raise ChatError(message, _ADVICE.format("monthly_spending"), failure="quota")
        if not priced and unpriced >= tokens:
            message = (
                f"{model} was not called, because models without a price have used {unpriced:,} tokens of "
                f"the monthly limit of {tokens:,} tokens."
            )
            raise ChatError(message, _ADVICE.format("monthly_tokens"), failure="quota")

    def add(self, model: str, usage: Usage, charge: Charge, *, priced: bool) -> None:
        """Record a model call. If the catalog cannot be written, write the call together with the next one."""
        with self._lock:
            self._unwritten.append((_today(), model, charge, usage, priced))
            try:
                while self._unwritten:
                    day, name, whose, took, has_price = self._unwritten[0]
                    UsageStore(self.catalog).add(day, name, whose, took, priced=has_price)
                    self._unwritten.pop(0)
            except StoreError as error:
                _log.warning("the usage of %s could not be recorded yet: %s", model, error)

    def report(self, first: str = "", last: str = "") -> UsageReport:
        """Return the model usage between two days (YYYY-MM-DD), by default of this month.

        Raise UsageError for an invalid date.
        """
        store = UsageStore(self.catalog)
        days = tuple(store.days(_day(first) or _month(), _day(last) or "9999-12-31"))
        cost, unpriced = store.spent(_month())
        limits = self.settings.monthly_spending, self.settings.monthly_tokens
        notes: tuple[str, ...] = ()
        if limits[0] and unpriced and not limits[1]:
            names = sorted({row.model for row in days if row.unpriced})
            notes = (
                f"model_prices has no price for {', '.join(names) or 'some models'}, so monthly_spending does not "
                "limit them; monthly_tokens can",
            )
        return UsageReport(days, cost, unpriced, *limits, notes)


def _today() -> str:
    return datetime.datetime.now(datetime.UTC).date().isoformat()


def _month() -> str:
    return _today()[:8] + "01"


def _day(text: str) -> str:
    try:
        return datetime.date.fromisoformat(text).isoformat() if text else ""
    except ValueError as error:
        raise UsageError(f"'{text[:40]}' is not a date.", "Write year-month-day, for example 2026-03-31.") from error
