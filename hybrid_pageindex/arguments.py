"""What callers may give the engine's methods, checked and brought into one form."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import cast, get_args

from hybrid_core.errors import UsageError
from hybrid_core.types import Effort, Fusion, Route, Strategy


def question(asked: str) -> str:
    """Raises UsageError for anything but text, and for an empty one."""
    if not isinstance(asked, str):
        raise UsageError(f"The question is {asked!r}, not text.", "Ask it as a string.")
    if not asked.strip():
        raise UsageError("The question is empty.", 'Ask something, for example: search "capital expenditure 2018".')
    return asked


def several(given: str | Path | Sequence[str | Path] | None) -> tuple[str, ...]:
    """One name or several; None is none. A string means that one name, not its letters."""
    if given is None:
        return ()
    return (str(given),) if isinstance(given, (str, Path)) else tuple(map(str, given))


def searched_documents(given: str | Path | Sequence[str | Path] | None) -> tuple[str, ...]:
    """The documents to search, () for all. Raises UsageError for an empty list: it came from somewhere that found none,
    and whoever made it would not expect every document to be searched.
    """
    names = several(given)
    if given is not None and not names:
        raise UsageError("documents is an empty list.", "Leave it out to search all documents.")
    return names


def effort(asked: str) -> Effort:
    """Raises UsageError for an unknown one."""
    if asked not in get_args(Effort):
        raise UsageError(f"effort is {asked!r}.", "Choose fast, auto or deep.")
    return cast(Effort, asked)


def fusion(asked: str) -> Fusion:
    """Raises UsageError for an unknown one."""
    if asked not in get_args(Fusion):
        raise UsageError(f"fusion is {asked!r}.", "Choose weighted or rrf.")
    return cast(Fusion, asked)


def strategy(asked: str) -> Strategy:
    """Raises UsageError for an unknown one."""
    if asked not in get_args(Strategy):
        raise UsageError(f"strategy is {asked!r}.", "Choose outline or mcts.")
    return cast(Strategy, asked)


def route(asked: str) -> Route:
    """Raises UsageError for an unknown one."""
    if asked not in get_args(Route):
        raise UsageError(f"route is {asked!r}.", "Choose auto, semantic, metadata or description.")
    return cast(Route, asked)


def number(name: str, given: float) -> float:
    """Raises UsageError for anything but a number."""
    if not isinstance(given, (int, float)):
        raise UsageError(f"{name} is {given!r}.", "Give a number.")
    return given


def whole_number(name: str, given: int) -> int:
    """Raises UsageError for anything but a whole number."""
    if not isinstance(given, int):
        raise UsageError(f"{name} is {given!r}.", "Give a whole number.")
    return given


def library(asked: str | None, usual: str) -> str:
    """The library that is meant. Raises UsageError for an empty name: a variable that is not set may have made it."""
    if asked is None:
        return usual
    if not asked:
        raise UsageError("The library's name is empty.", "Leave it out, or name a library.")
    return asked
