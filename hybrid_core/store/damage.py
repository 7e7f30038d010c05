"""What is stored and cannot be what was written: told as damage, with what to do about it."""

from __future__ import annotations

from contextlib import ContextDecorator
from types import TracebackType

from hybrid_core.errors import DamageError

DAMAGED = (
    "Run «hybrid-pageindex recover»: it saves what can be read, and indexes the kept uploads again. A backup that is "
    "restored instead has everything until then. Without either, «sqlite3 catalog.sqlite .recover | sqlite3 "
    "saved.sqlite» may help. Do not just move it away: notes, corrections, conversations, rights and the names of "
    "uploads are in it alone."
)
"""What to do about a damaged catalog in a file."""
DAMAGED_DATABASE = (
    "Restore a backup of the database (pg_restore), which has everything until then. Without one, copy what can be "
    "read into a new database with pg_dump, and index the affected files again. Do not just drop the database: notes, "
    "corrections, conversations, rights and the names of uploads are in it alone."
)
"""What to do about a damaged catalog in PostgreSQL."""


class Decoding(ContextDecorator):
    """A block, or a function, that reads what the catalog has of something.

    It raises DamageError where that cannot be what was written, whose advice is for a catalog in a file. Reads of many
    threads may share one.
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
