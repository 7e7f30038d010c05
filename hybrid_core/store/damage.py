"""What is stored and cannot be what was written: told as damage, with what to do about it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import ParamSpec, TypeVar

from hybrid_core.errors import StoreError

DAMAGED = (
    "Run «hybrid-pageindex recover»: it saves what can be read, and indexes the kept uploads again. A backup that is "
    "restored instead has everything until then. Without either, «sqlite3 catalog.sqlite .recover | sqlite3 "
    "saved.sqlite» may help. Do not just move it away: notes, corrections, conversations, rights and the names of "
    "uploads are in it alone."
)
"""What to do about a damaged catalog."""

_AMISS = (ValueError, TypeError, KeyError, IndexError)

P = ParamSpec("P")
T = TypeVar("T")


@contextmanager
def decoding(what: str) -> Iterator[None]:
    """Raise StoreError where the bytes that the catalog has of ``what`` are not those that were written."""
    try:
        yield
    except _AMISS as error:
        raise _damaged(what, error) from error


def decodes(what: str) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Have a function that reads a row raise StoreError where the row cannot be what was written."""

    def decorated(read: Callable[P, T]) -> Callable[P, T]:
        @wraps(read)
        def reading(*args: P.args, **options: P.kwargs) -> T:
            try:
                return read(*args, **options)
            except _AMISS as error:
                raise _damaged(what, error) from error

        return reading

    return decorated


def _damaged(what: str, error: Exception) -> StoreError:
    return StoreError(f"The catalog is damaged: {what} cannot be read ({error}).", DAMAGED)
