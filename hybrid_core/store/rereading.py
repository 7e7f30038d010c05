"""Reads whose connection broke are made once more; a server that is away is waited for by whoever connects."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from hybrid_core.errors import BrokenReadError

_T = TypeVar("_T")


def reread(work: Callable[[], _T]) -> _T:
    """Of what only reads: it is done from its beginning, so nothing that costs or shows may be in it."""
    try:
        return work()
    except BrokenReadError:
        return work()
