"""The log of a library's changes, numbered in the order of their commits."""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, insert

from hybrid_core.store.catalog import schema
from hybrid_core.store.counters import take

COUNTER = "changes of "
"""Begins the name of a library's counter, which outlives the library: no position is used twice."""


_MARK_BITS = 62  # of a signed number of eight bytes


@dataclass(frozen=True, slots=True)
class Changed:
    """A change that has no number yet. ``content_id`` is None where the document was removed."""

    library: str
    doc_id: str
    content_id: str | None


def log_changes(connection: Connection, changes: Sequence[Changed]) -> None:
    """The last statements of a publication: until its commit, others that publish into these libraries wait here."""
    mark = secrets.randbits(_MARK_BITS) + 1  # never 0, which stands for rows of older versions
    for library, number in sorted(Counter(change.library for change in changes).items()):
        first = take(connection, f"{COUNTER}{library}", number)
        values = [
            {
                "library": library,
                "seq": first + at,
                "doc_id": change.doc_id,
                "content_id": change.content_id,
                "mark": mark,
            }
            for at, change in enumerate(change for change in changes if change.library == library)
        ]
        connection.execute(insert(schema.changes), values)
