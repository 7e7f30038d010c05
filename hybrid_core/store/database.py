"""The database of a catalog: its protocol, errors, damage detection, and repeated reads."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, ContextDecorator
from itertools import islice
from types import TracebackType
from typing import Protocol, TypeVar

from sqlalchemy import Connection
from sqlalchemy.exc import DataError, IntegrityError, NoResultFound, NotSupportedError, ProgrammingError

from hybrid_core.errors import Advice, BrokenReadError, DamageError

DEFECTS = (DataError, IntegrityError, NotSupportedError, ProgrammingError)  # errors in our statements, not in the store
BUSY_SECONDS = 60
CONNECTIONS = 10  # per process and database; a thread waits for a free connection and uses it for one short read
_T = TypeVar("_T")
DAMAGED = Advice(
    "Whoever runs the server can recover it, or restore a backup: see Backup and restore in the documentation. Notes, "
    "corrections, conversations, rights and the names of uploads are stored only there.",
    "Run 'hybrid-pageindex recover': it saves what can be read, and indexes the stored uploads again. Or restore a "
    "backup, which has everything up to its date. If neither works, 'sqlite3 catalog.sqlite .recover | sqlite3 "
    "saved.sqlite' may help. Do not just move the file away: notes, corrections, conversations, rights and "
    "the names of uploads are stored only in it.",
)
"""The advice for a damaged catalog in a file."""
DAMAGED_DATABASE = (
    "Restore a backup of the database (pg_restore), which has everything up to its date. Without one, copy what can be "
    "read into a new database with pg_dump, and index the affected files again. Do not just drop the database: notes, "
    "corrections, conversations, rights and the names of uploads are stored only in it."
)
"""The advice for a damaged catalog in PostgreSQL."""


class StrangeValueError(ValueError):
    """A stored value that its column cannot contain, for example because the file is damaged."""


UNREADABLE = (  # errors that occur when stored bytes were changed
    zlib.error, UnicodeDecodeError, json.JSONDecodeError, StrangeValueError, NoResultFound,
)  # fmt: skip


def nothing(connection: Connection) -> None:
    """Do nothing. This function is the default of the argument ``before`` of ``Database.writing``."""


class TransactionalStore(Protocol):
    """A store with consistent reads and write transactions, such as the catalog."""

    def reading(self) -> AbstractContextManager[Connection]: ...

    def writing(self) -> AbstractContextManager[Connection]: ...


class Database(Protocol):
    """A SQLite or PostgreSQL database. Safe for several threads and processes.

    Methods raise BusyError if a retry may help, and StoreError for other failures.
    """

    @property
    def read_only(self) -> str:
        """Return the reason why the database cannot be written, as far as known; "" if it can."""
        ...

    def reading(self) -> AbstractContextManager[Connection]:
        """Begin a read transaction, in which all reads see the same state."""
        ...

    def writing(self, before: Callable[[Connection], None] = nothing) -> AbstractContextManager[Connection]:
        """Begin a write transaction; only one runs at a time.

        ``before`` is called first, as part of the transaction, but may run in parallel with other writers. It may write
        only rows that readers cannot reach before this transaction refers to them.
        """
        ...

    def shrink(self) -> None:
        """Return the space of deleted rows to the disk. Do nothing while another process is writing."""
        ...

    def wipe(self) -> None:
        """Remove the remains of deleted rows from the disk, as far as this process can."""
        ...

    def check(self) -> None:
        """Raise StoreError if a quick check of the database finds damage."""
        ...

    def size_bytes(self) -> int:
        """Return the size on the disk in bytes."""
        ...

    def close(self) -> None: ...


class Decoding(ContextDecorator):
    """A context or decorator for code that decodes stored values.

    It raises DamageError for values that this software cannot have written. The error's advice applies to catalogs in
    SQLite. Several threads may share an instance.
    """

    def __init__(self, what: str) -> None:
        self._what = what

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, ValueError | TypeError | KeyError | IndexError):
            message = f"The catalog is damaged: {self._what} cannot be read ({error})."
            raise DamageError(message, DAMAGED) from error


def reread(work: Callable[[], _T]) -> _T:
    """Run read-only work, and repeat it once if its connection breaks.

    The work restarts from the beginning, so it must not cost money or produce output.
    """
    try:
        return work()
    except BrokenReadError:
        return work()


def parts(values: Iterable[_T], size: int = 500) -> Iterator[list[_T]]:
    """Yield the values in lists of at most ``size``, because an SQL statement limits its number of parameters."""
    rest = iter(values)
    while some := list(islice(rest, size)):
        yield some
