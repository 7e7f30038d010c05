"""What callers may give the engine's methods beside a search request, checked."""

from __future__ import annotations

from hybrid_core.errors import UsageError


def library(asked: str | None, usual: str) -> str:
    """The library that is meant. Raises UsageError for an empty name: a variable that is not set may have made it."""
    if asked is None:
        return usual
    if not asked:
        raise UsageError("The library's name is empty.", "Leave it out, or name a library.")
    return asked
