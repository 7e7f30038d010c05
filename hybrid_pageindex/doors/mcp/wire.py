"""Standard input that can end before the client closes it, so that a signal ends the server as the client would."""

from __future__ import annotations

import io
import os
import select
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from hybrid_core.errors import UsageError


class Wire(io.RawIOBase):
    """Reads a file descriptor until its end, or until ``end`` is called: a read that waits cannot be called off."""

    def __init__(self, source: int) -> None:
        super().__init__()
        self._source = source
        self._ending, self._end = os.pipe()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        ready, _, _ = select.select([self._source, self._ending], [], [])
        return 0 if self._ending in ready else os.readv(self._source, [buffer])

    def end(self) -> None:
        """From now on every read finds the end. Safe to call twice, and from a signal handler."""
        os.write(self._end, b"\0")


@contextmanager
def wire() -> Iterator[Wire]:
    """``sys.stdin`` as a Wire. Meanwhile descriptor 0 is empty: what child processes inherit is not the protocol.

    Raises UsageError where the process has no standard input.
    """
    standard = sys.stdin
    if standard is None:
        raise UsageError("There is no standard input to be asked on.", "Have a client start it, or serve with --http.")
    source = os.dup(0)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    given = Wire(source)
    sys.stdin = io.TextIOWrapper(io.BufferedReader(given), encoding="utf-8")
    try:
        yield given
    finally:
        os.dup2(source, 0)  # it is not closed: a thread may still read from it
        sys.stdin = standard
