"""Numbers of things in words: «1 page», «2 pages»."""

from __future__ import annotations


def counted(number: int, one: str, many: str = "") -> str:
    """A number with its noun; ``many`` is the plural where it is not ``one`` and an s."""
    return f"{number} {one if number == 1 else many or one + 's'}"
