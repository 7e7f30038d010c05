"""What a catalog needs of the database that holds it, and the errors that any database's become."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Protocol

from sqlalchemy import Connection
from sqlalchemy.exc import DataError, IntegrityError, NoResultFound, NotSupportedError, ProgrammingError

DEFECTS = (DataError, IntegrityError, NotSupportedError, ProgrammingError)  # of our statements, not of the store


class StrangeValueError(ValueError):
    """A stored value that its column cannot hold, as one wrong bit in a row makes it."""


UNREADABLE = (  # not what was written comes back
    zlib.error, UnicodeDecodeError, json.JSONDecodeError, StrangeValueError, NoResultFound,
)  # fmt: skip
BUSY_SECONDS = 60
CONNECTIONS = 10  # of one process to one database; whoever finds none free waits, and each is held for one short read


def nothing(connection: Connection) -> None:
    """What most transactions write before their turn."""


class Database(Protocol):
    """Safe for several threads and processes. Raises BusyError where trying again helps, StoreError otherwise."""

    @property
    def read_only(self) -> str:
        """Why nothing can be written, as far as is known; "" where it can."""
        ...

    def reading(self) -> AbstractContextManager[Connection]:
        """One consistent view."""
        ...

    def writing(self, before: Callable[[Connection], None] = nothing) -> AbstractContextManager[Connection]:
        """One write transaction; one runs at a time. What ``before`` writes belongs to it, but may be written beside
        others: rows that nobody looks for until this transaction refers to them."""
        ...

    def shrink(self) -> None:
        """Give deleted rows' space back. Skipped silently while another process is writing."""
        ...

    def check(self) -> None:
        """Raises StoreError where a quick check of its own finds damage."""
        ...

    def size_bytes(self) -> int:
        """That it takes on its disk."""
        ...

    def close(self) -> None: ...
