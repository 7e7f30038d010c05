"""Document frequencies: how many published pages of a library contain each term.

They are stored in the catalog, so that scores depend neither on the shards nor on the state of a search index.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Collection, Sequence
from contextlib import AbstractContextManager
from itertools import repeat
from typing import Protocol

import numpy as np
import numpy.typing as npt
from sqlalchemy import BigInteger, Column, Connection, Integer, Table, bindparam, delete, func, select, text

from hybrid_core.store.catalog import schema
from hybrid_core.store.database import parts
from hybrid_core.store.tables import CleanString as String
from hybrid_core.store.tables import clean, metadata
from hybrid_core.text.terms import HEADER, TermCounts

Ints = npt.NDArray[np.int64]
EVERY = -1
"""The key of the row that counts all pages, in place of a term."""
_ADD_IN_POSTGRES = text(
    "INSERT INTO frequencies (library, term, pages) "
    "SELECT :library, unnest(CAST(:terms AS bigint[])), unnest(CAST(:pages AS integer[])) "
    "ON CONFLICT (library, term) DO UPDATE SET pages = frequencies.pages + excluded.pages"
)
_ADD_IN_SQLITE = (
    "INSERT INTO frequencies (library, term, pages) VALUES (?, ?, ?) "
    "ON CONFLICT (library, term) DO UPDATE SET pages = pages + excluded.pages"
)

frequencies = Table(
    "frequencies", metadata,
    Column("library", String, primary_key=True),
    Column("term", BigInteger, primary_key=True, autoincrement=False),  # hash of the term, or EVERY
    Column("pages", Integer, nullable=False),
    sqlite_with_rowid=False,
)  # fmt: skip


class Recount:
    """Collector of the pages that one transaction adds and removes. ``write`` updates the document frequencies.

    Call ``subtract`` before the parsed file is deleted, and ``write`` at the end of the transaction.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._changes: dict[str, list[tuple[Ints, Ints]]] = defaultdict(list)

    def add(self, library: str, content_id: str | None) -> None:
        """Add the pages of a parsed file to the counts, because a document of the library uses it from now on."""
        self._count(library, content_id, 1)

    def subtract(self, library: str, content_id: str | None) -> None:
        """Subtract the pages of a parsed file from the counts, because a document of the library no longer uses it."""
        self._count(library, content_id, -1)

    def add_new(self, library: str, body: bytes) -> None:
        """Add the pages of a parsed file to the counts. ``body`` are its term counts in stored form."""
        self._changes[library].append(_unpacked(body[:HEADER], body[HEADER:]))

    def write(self) -> None:
        for library, changes in sorted(self._changes.items()):
            terms, at = np.unique(np.concatenate([terms for terms, _ in changes]), return_inverse=True)
            more = np.bincount(at, np.concatenate([pages for _, pages in changes]), len(terms)).astype(np.int64)
            changed = np.flatnonzero(more)
            self._add(library, terms[changed].tolist(), more[changed].tolist())
            if len(fewer := terms[more < 0].tolist()):
                self._drop_empty(library, fewer)

    def _count(self, library: str, content_id: str | None, sign: int) -> None:
        if content_id is not None:
            terms, pages = _stored(self._connection, content_id)
            self._changes[library].append((terms, sign * pages))

    def _add(self, library: str, terms: list[int], pages: list[int]) -> None:
        if not terms:
            return
        # one statement per term would take a second for a long document
        if self._connection.dialect.name == "postgresql":
            self._connection.execute(_ADD_IN_POSTGRES, {"library": library, "terms": terms, "pages": pages})
            return
        # SQLAlchemy would process each value, and a batch of documents has thousands of terms.
        counted = zip(repeat(clean(library)), terms, pages)
        self._connection.exec_driver_sql(_ADD_IN_SQLITE, list(counted))

    def _drop_empty(self, library: str, terms: Sequence[int]) -> None:
        columns = frequencies.c
        for some in parts(terms):
            named = columns.library == library, columns.term.in_(some)
            self._connection.execute(delete(frequencies).where(*named, columns.pages == 0))


def _stored(connection: Connection, content_id: str) -> tuple[Ints, Ints]:
    """Return the terms of a document's pages, and the number of pages with each term, in two arrays.

    The first entry is ``EVERY``, with the total number of pages.
    """
    body, key = schema.terms.c.body, schema.terms.c.content_id == content_id
    header = connection.execute(select(func.substr(body, 1, HEADER)).where(key)).scalar_one()
    _, count = TermCounts.stored(header)
    packed = connection.execute(select(func.substr(body, HEADER + 1, 8 * count)).where(key)).scalar_one()
    return _unpacked(header, packed)


def _unpacked(header: bytes, packed: bytes) -> tuple[Ints, Ints]:
    """Return terms and numbers of pages in the form of ``_stored``, from the header and the bytes that follow it."""
    pages, count = TermCounts.stored(header)
    both = np.frombuffer(packed, "<u4", 2 * count).astype(np.int64)
    return np.append(EVERY, both[:count]), np.append(pages, both[count:])


_HOLDING = select(frequencies.c.term, frequencies.c.pages).where(
    frequencies.c.library == bindparam("library"), frequencies.c.term.in_(bindparam("terms", expanding=True))
)


def pages_holding(connection: Connection, library: str, terms: Sequence[int]) -> dict[int, int]:
    """Return the number of pages of a library that contain each term, by term. Terms on no page are left out."""
    counts = dict[int, int]()
    for some in parts(terms):
        counts.update(tuple(row) for row in connection.execute(_HOLDING, {"library": library, "terms": some}))
    return counts


class Readable(Protocol):
    """The methods of a catalog that are needed to read frequencies."""

    def reading(self) -> AbstractContextManager[Connection]: ...


class Frequencies:
    """The document frequencies of one library, or of several together. Safe for several threads.

    Each term is read from the catalog once, at its first request.
    """

    def __init__(self, catalog: Readable, libraries: Collection[str]) -> None:
        self._catalog, self._libraries = catalog, libraries
        self._lock = threading.Lock()
        self._known: dict[int, int] = {}

    def of(self, terms: Sequence[int]) -> tuple[int, Ints]:
        """Return the number of all pages, and the number of pages with each of t terms as int64 (t,)."""
        with self._lock:
            unknown = [term for term in (EVERY, *terms) if term not in self._known]
            if unknown:
                self._known |= self._read(unknown)
            every = self._known[EVERY]
            # A term that was read later than EVERY may count newer pages.
            return every, np.fromiter((min(self._known[term], every) for term in terms), np.int64, len(terms))

    def _read(self, terms: Sequence[int]) -> dict[int, int]:
        counts = dict.fromkeys(terms, 0)
        with self._catalog.reading() as connection:
            for library in self._libraries:
                for term, pages in pages_holding(connection, library, terms).items():
                    counts[term] += pages
        return counts
