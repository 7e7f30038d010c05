"""Commands that other packages bring, such as ``eval``: entry points of the group ``hybrid_pageindex.commands``.

They are looked up only where help is asked for or a command is typed that this package does not have: the look-up takes
as long as a quarter of a whole ``--help``.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

from hybrid_core.errors import PageIndexError

GROUP = "hybrid_pageindex.commands"


class Command(Protocol):
    """What an entry point names. ``run`` returns the exit code and may raise PageIndexError."""

    @property
    def help(self) -> str: ...
    @property
    def add_arguments(self) -> Callable[[argparse.ArgumentParser], None]: ...
    @property
    def run(self) -> Callable[[argparse.Namespace], int]: ...


class _Broken:
    """Stands for a command whose package cannot be imported, so that the others still work."""

    def __init__(self, name: str, error: Exception) -> None:
        self.help = f"(cannot be loaded: {' '.join(str(error).split())})"
        self._name = name

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("rest", nargs="*", help=argparse.SUPPRESS)

    def run(self, _: argparse.Namespace) -> int:
        raise PageIndexError(f"The command {self._name} {self.help.strip('()')}.", "Repair the package it comes from.")


def wanted(typed: Sequence[str], known: Sequence[str]) -> bool:
    """Whether the command that is typed is none of ``known``, or none is typed."""
    words = iter(typed)
    for word in words:
        if word == "--home":
            next(words, None)
        elif not word.startswith("-"):
            return word not in known
    return True


def commands() -> Iterator[tuple[str, Command]]:
    """(name, command) of every one that is installed."""
    from importlib.metadata import entry_points

    for entry in sorted(entry_points(group=GROUP), key=lambda entry: entry.name):
        try:
            yield entry.name, entry.load()
        except (ImportError, AttributeError) as error:
            yield entry.name, _Broken(entry.name, error)
