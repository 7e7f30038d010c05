"""What callers may give the engine's methods, checked and brought into one form."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import cast, get_args

from hybrid_core.errors import UsageError
from hybrid_core.types.documents import Effort, Fusion, Route, Strategy


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


def one_of(name: str, given: str, *choices: str) -> str:
    """What was given. Raises UsageError where it is none of the choices."""
    if given not in choices:
        raise UsageError(f"{name} is {given!r}.", f"Choose {', '.join(choices[:-1])} or {choices[-1]}.")
    return given


def effort(asked: str) -> Effort:
    """Raises UsageError for an unknown one."""
    return cast(Effort, one_of("effort", asked, *get_args(Effort)))


def fusion(asked: str) -> Fusion:
    """Raises UsageError for an unknown one."""
    return cast(Fusion, one_of("fusion", asked, *get_args(Fusion)))


def strategy(asked: str) -> Strategy:
    """Raises UsageError for an unknown one."""
    return cast(Strategy, one_of("strategy", asked, *get_args(Strategy)))


def route(asked: str) -> Route:
    """Raises UsageError for an unknown one."""
    return cast(Route, one_of("route", asked, *get_args(Route)))


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
