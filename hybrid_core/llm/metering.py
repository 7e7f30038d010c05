"""What calls of models cost, for whom: whoever counts it may refuse a call."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Protocol

from hybrid_core.types.usage import Usage


@dataclass(frozen=True, slots=True)
class Charge:
    """``library`` is an id, "" for none or several; ``who`` a caller's name, "" for who works at this machine."""

    library: str = ""
    who: str = ""


class Meter(Protocol):
    """Safe for several threads."""

    def check(self, model: str, *, priced: bool) -> None:
        """Before each call. Raises ChatError ("quota") where no more is to be spent."""

    def add(self, model: str, usage: Usage, charge: Charge, *, priced: bool) -> None:
        """After each that was answered. ``priced``: its cost is known."""


_NOBODY = Charge()
_charge: ContextVar[Charge] = ContextVar("charge", default=_NOBODY)


def current_charge() -> Charge:
    return _charge.get()


@contextmanager
def charged(*, library: str | None = None, who: str | None = None) -> Iterator[None]:
    """Scopes of calls that are made within, in this thread or task, are for these; what is None stays."""
    said = {name: value for name, value in (("library", library), ("who", who)) if value is not None}
    token = _charge.set(replace(_charge.get(), **said))
    try:
        yield
    finally:
        _charge.reset(token)
