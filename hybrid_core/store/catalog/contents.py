"""Reads of parsed documents by content id, either within one snapshot or with a short read per call.

A content id identifies the parsed form of a file. Documents with the same bytes share it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from functools import cache
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
import numpy.typing as npt
from sqlalchemy import Column, ColumnElement, Connection, Row, Select, Table, and_, bindparam, func, or_, select

from hybrid_core.store.catalog import rows, schema
from hybrid_core.store.catalog.trees import StoredSections, node_id
from hybrid_core.store.database import Decoding, parts, reread
from hybrid_core.text.terms import TermCounts, TermOrder
from hybrid_core.types.documents import Chunk, IndexedContent, Page, PageText, Section
from hybrid_core.types.files import StoredVersion
from hybrid_core.types.notes import read

Vector = npt.NDArray[np.float32]
TermVector = tuple[npt.NDArray[np.uint32], Vector]  # indices (n,) and values (n,)
_Key = TypeVar("_Key", str, int)
_PAGES_AT_ONCE = 64  # pages per statement, far below the parameter limit of any database
_PAGE_COLUMNS = ("content_id", "number", "label", "text", "places", "described")
_ORDER_COLUMNS = ("content_id", "number", "terms")
_TREE = select(schema.trees.c.sections, schema.trees.c.titles).where(
    schema.trees.c.content_id == bindparam("content_id")
)
_TERMS = select(schema.terms.c.body, schema.terms.c.headings).where(
    schema.terms.c.content_id == bindparam("content_id")
)
_MAX_NUMBER = 2**31 - 1
_TEXTS = (
    select(schema.pages.c.number, schema.pages.c.text)
    .where(
        schema.pages.c.content_id == bindparam("content_id"),
        schema.pages.c.number >= bindparam("first"),
        schema.pages.c.number <= bindparam("last"),
    )
    .order_by(schema.pages.c.number)
)
_LOOKED_INTO = (
    select(schema.terms, schema.trees.c.sections, schema.trees.c.titles)
    .join(schema.trees, schema.trees.c.content_id == schema.terms.c.content_id)
    .where(schema.terms.c.content_id.in_(bindparam("content_ids", expanding=True)))
)
_T = TypeVar("_T")


class LookedInto(NamedTuple):
    """The data of one document that a search reads: its term counts and its section tree.

    ``body`` has the term counts of page texts, ``headings`` those of headings.
    """

    body: TermCounts
    headings: TermCounts
    sections: StoredSections


class ContentSnapshot:
    """A consistent view of parsed documents, by content id."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def versions(self, sha256: str) -> list[StoredVersion]:
        """Return all stored versions of a file with these bytes. A version depends on program, OCR and models."""
        return self._versions(schema.contents.c.sha256 == sha256)

    def version(self, content_id: str) -> StoredVersion | None:
        """Return which program version and models produced a parsed document, None if it was removed."""
        return next(iter(self._versions(schema.contents.c.content_id == content_id)), None)

    def published_versions(self, library: str) -> dict[str, StoredVersion]:
        """Return, for each content id of a library's documents, the program version and models that produced it."""
        used = select(schema.documents.c.content_id).where(schema.documents.c.library == library)
        return {stored.content_id: stored for stored in self._versions(schema.contents.c.content_id.in_(used))}

    @Decoding("a content")
    def content(self, content_id: str) -> IndexedContent | None:
        """Return a parsed document with all its parts, None if it was removed."""
        contents, terms = schema.contents.c, schema.terms.c
        row = self._connection.execute(select(schema.contents).where(contents.content_id == content_id)).one_or_none()
        if row is None:
            return None
        counts = self._connection.execute(
            select(terms.body, terms.headings).where(terms.content_id == content_id)
        ).one()
        return IndexedContent(
            sha256=row.sha256, format=row.format, metadata=json.loads(row.metadata), title=row.title,
            description=row.description, pages=tuple(self.pages(content_id)), sections=self.sections(content_id),
            chunks=tuple(self.chunks(content_id)), terms=counts.body, heading_terms=counts.headings,
            warnings=read(json.loads(row.warnings)), models=json.loads(row.models),
        )  # fmt: skip

    def title_and_metadata(self, content_id: str) -> tuple[str, str]:
        """Return a document's title, and its metadata as a JSON object."""
        row = self._connection.execute(
            select(schema.contents.c.title, schema.contents.c.metadata).where(
                schema.contents.c.content_id == content_id
            )
        ).one()
        return row.title, row.metadata

    def extent(self, content_id: str) -> tuple[int, int]:
        """Return the numbers of pages and sections of a document, zeros if it was removed."""
        contents = schema.contents.c
        query = select(contents.pages, contents.sections).where(contents.content_id == content_id)
        row = self._connection.execute(query).one_or_none()
        return (0, 0) if row is None else (row.pages, row.sections)

    def unread(self, content_id: str | None = None) -> set[str]:
        """Return the content ids of all documents with pages that have no readable text.

        If ``content_id`` is given, examine only that document.
        """
        pages = schema.pages.c
        query = select(pages.content_id).where(schema.UNREAD).distinct()
        if content_id is not None:
            query = query.where(pages.content_id == content_id)
        return set(self._connection.scalars(query))

    def pages(self, content_id: str, numbers: Iterable[int] | None = None) -> list[Page]:
        """Return the pages of a document in order. ``numbers`` selects pages; numbers without a page are ignored."""
        query = select(schema.pages).where(schema.pages.c.content_id == content_id).order_by(schema.pages.c.number)
        chosen = None if numbers is None else sorted(set(numbers))
        return [rows.to_page(row) for row in self._where(query, schema.pages.c.number, chosen)]

    def texts(self, content_id: str, first: int = 1, last: int | None = None) -> list[tuple[int, str]]:
        """Return (number, text) of a document's pages from ``first`` to ``last``, by default of all pages."""
        values = {"content_id": content_id, "first": first, "last": _MAX_NUMBER if last is None else last}
        return [(number, text) for number, text in self._connection.execute(_TEXTS, values).all()]

    def some_texts(self, keys: Sequence[tuple[str, int]]) -> dict[tuple[str, int], str]:
        """Return the texts of single pages, by (content_id, number). Pages that do not exist are left out."""
        page_rows = self._single_pages(schema.pages, ("content_id", "number", "text"), keys)
        return {(row.content_id, row.number): row.text for row in page_rows}

    def page_texts(self, keys: Sequence[tuple[str, int]]) -> dict[tuple[str, int], PageText]:
        """Return the PageText of single pages, by (content_id, number). Pages that do not exist are left out."""
        return {
            (row.content_id, row.number): PageText.of(row.label, row.text, rows.to_places(row.places), row.described)
            for row in self._single_pages(schema.pages, _PAGE_COLUMNS, keys)
        }

    def page_orders(self, keys: Sequence[tuple[str, int]]) -> dict[tuple[str, int], TermOrder]:
        """Return the ordered terms of single pages, by (content_id, number). Pages that do not exist are left out."""
        order_rows = self._single_pages(schema.orders, _ORDER_COLUMNS, keys)
        with Decoding("the terms of a page"):
            return {(row.content_id, row.number): TermOrder.from_bytes(row.terms) for row in order_rows}

    def sections(self, content_id: str) -> tuple[Section, ...]:
        """Return the sections of a document, each before its subsections. Return () if the document was removed."""
        row = self._connection.execute(_TREE, {"content_id": content_id}).one_or_none()
        if row is None:
            return ()
        with Decoding(f"the section tree of content {content_id}"):
            return tuple(StoredSections(row.sections, row.titles))

    def looked_into(self, content_ids: Collection[str]) -> dict[str, LookedInto]:
        """Return the words and section trees of whole documents, by content_id. Removed documents are left out."""
        results = (self._connection.execute(_LOOKED_INTO, {"content_ids": some}) for some in parts(content_ids))
        return {row.content_id: _looked_into(row) for rows_read in results for row in rows_read}

    def chunks(self, content_id: str, numbers: Iterable[int] | None = None) -> list[Chunk]:
        """Return the chunks of a document in order. ``numbers`` selects those on pages with these numbers."""
        query = select(schema.chunks).where(schema.chunks.c.content_id == content_id)
        page_numbers = None if numbers is None else set(numbers)
        chunk_rows = sorted(self._where(query, schema.chunks.c.page, page_numbers), key=lambda row: row.number)
        return [Chunk(row.number, node_id(row.section), row.page, row.start, row.end) for row in chunk_rows]

    def page_terms(self, content_ids: Collection[str]) -> dict[str, TermCounts]:
        """Return the term counts of all pages of documents, by content_id. Removed documents are left out."""
        query = select(schema.terms.c.content_id, schema.terms.c.body)
        contents = self._where(query, schema.terms.c.content_id, content_ids)
        with Decoding("the terms of pages"):
            return {row.content_id: TermCounts.from_bytes(row.body) for row in contents}

    def terms(self, content_id: str) -> tuple[TermCounts, TermCounts] | None:
        """Return the term counts of a document's page texts, and those of its headings.

        Return None if it was removed.
        """
        row = self._connection.execute(_TERMS, {"content_id": content_id}).one_or_none()
        if row is None:
            return None
        with Decoding(f"the terms of content {content_id}"):
            return TermCounts.from_bytes(row.body), TermCounts.from_bytes(row.headings)

    def text_count(self, content_id: str, chunks: bool) -> int:
        """Return the number of pages of a document, or with ``chunks`` of its chunks.

        It is about the number of texts to embed.
        """
        table = schema.chunks if chunks else schema.pages
        return self._connection.scalar(select(func.count()).where(table.c.content_id == content_id)) or 0

    def embedded(
        self, fingerprint: str, content_ids: Collection[str] | None = None, *, chunks: bool = False
    ) -> frozenset[str]:
        """Return the content ids of documents whose pages all have vectors of an embedder.

        With ``chunks`` all their chunks must have vectors, too. ``content_ids`` limits the documents to examine.
        """
        done = schema.embedded.c
        query = select(done.content_id).where(done.fingerprint == fingerprint)
        query = query.where(done.chunks) if chunks else query
        return frozenset(row.content_id for row in self._where(query, done.content_id, content_ids))

    def vectors(self, fingerprint: str, keys: Sequence[str]) -> dict[str, Vector]:
        """Return the stored vectors of texts as float32 (dimension,), by text key. Missing vectors are left out."""
        blobs = self._of_texts(schema.embeddings.c.vector, fingerprint, keys)
        return {key: np.frombuffer(blob, "<f2").astype(np.float32) for key, blob in blobs}

    def weights(self, fingerprint: str, keys: Sequence[str]) -> dict[str, TermVector]:
        """Return the stored learned term weights of texts, by text key. Missing weights are left out."""
        blobs = self._of_texts(schema.embeddings.c.weights, fingerprint, keys)
        return {key: _term_vector(blob) for key, blob in blobs if blob is not None}

    def _where(self, query: Select[Any], column: Column[_Key], values: Iterable[_Key] | None) -> Iterator[Any]:
        """Yield the rows of a query. If ``values`` is not None, yield only rows with one of them in ``column``."""
        if values is None:
            yield from self._connection.execute(query)
            return
        for some in parts(values):
            yield from self._connection.execute(query.where(column.in_(some)))

    def _of_texts(self, column: Column[bytes], fingerprint: str, keys: Sequence[str]) -> Iterator[tuple[str, bytes]]:
        embeddings = schema.embeddings.c
        query = select(embeddings.text_key, column).where(embeddings.fingerprint == fingerprint)
        yield from self._where(query, embeddings.text_key, keys)

    def _versions(self, which: ColumnElement[bool]) -> list[StoredVersion]:
        contents = schema.contents.c
        columns = (contents[name] for name in schema.VERSION)
        result = self._connection.execute(select(contents.content_id, contents.pages, *columns).where(which))
        return [StoredVersion(row.content_id, rows.to_version(row), row.pages) for row in result]

    def _single_pages(
        self, table: Table, names: tuple[str, ...], keys: Sequence[tuple[str, int]]
    ) -> Iterator[Row[Any]]:
        """Yield the table's rows of pages, given as (content_id, number). Many pages are read with one statement."""
        for some in parts(keys, _PAGES_AT_ONCE):
            size = 1 << (len(some) - 1).bit_length()
            padded = [*some, *[some[-1]] * (size - len(some))]
            parameters = {
                f"{name}{at}": value for at, pair in enumerate(padded) for name, value in zip("cn", pair, strict=True)
            }
            yield from self._connection.execute(_statement(table, names, size), parameters)


def _looked_into(row: Row[Any]) -> LookedInto:
    with Decoding(f"the terms or the section tree of content {row.content_id}"):
        body, headings = TermCounts.from_bytes(row.body), TermCounts.from_bytes(row.headings)
        sections = StoredSections(row.sections, row.titles)
        if max(sections.column("end_page"), default=0) > body.page_count:
            raise ValueError("a section ends after the last page")
    return LookedInto(body, headings, sections)


def _term_vector(blob: bytes) -> TermVector:
    count = len(blob) // 6
    indices, values = np.frombuffer(blob, "<u4", count), np.frombuffer(blob, "<f2", count, 4 * count)
    return indices.astype(np.uint32), values.astype(np.float32)


@cache
def _statement(table: Table, names: tuple[str, ...], size: int) -> Select[Any]:
    """Return an SQL statement that selects ``size`` pages. Sizes are powers of two, so that few statements exist.

    It compares each page with AND and OR: for a list of pairs, SQLite would scan the whole table.
    """
    columns = table.c
    each = (
        and_(columns.content_id == bindparam(f"c{at}"), columns.number == bindparam(f"n{at}")) for at in range(size)
    )
    return select(*(columns[name] for name in names)).where(or_(*each))


class SnapshotSource(Protocol):
    """A catalog whose published contents can be read in a snapshot."""

    def snapshot(self) -> AbstractContextManager[ContentSnapshot]: ...


class Contents:
    """Reader of published documents by content id, with a short read for each call.

    The content of an id never changes, so reads at different times are consistent. No connection is occupied between
    calls, for example while a model runs. ``gone`` collects requested ids whose content no longer exists.
    """

    def __init__(self, catalog: SnapshotSource) -> None:
        self._catalog = catalog
        self.gone: set[str] = set()

    def looked_into(self, content_ids: Sequence[str]) -> dict[str, LookedInto]:
        """Return the words and section trees of whole documents. Removed documents are left out."""
        documents = self._read(lambda snapshot: snapshot.looked_into(content_ids))
        self.gone.update(content_id for content_id in content_ids if content_id not in documents)
        return documents

    def page_texts(self, keys: Sequence[tuple[str, int]]) -> dict[tuple[str, int], PageText]:
        """Return the text and labels of single pages, by (content_id, 1-based number)."""
        texts = self._read(lambda snapshot: snapshot.page_texts(keys))
        self.gone |= {key[0] for key in keys if key not in texts}
        return texts

    def page_orders(self, keys: Sequence[tuple[str, int]]) -> dict[tuple[str, int], TermOrder]:
        """Return the terms of single pages in reading order, by (content_id, 1-based number)."""
        orders = self._read(lambda snapshot: snapshot.page_orders(keys))
        self.gone |= {key[0] for key in keys if key not in orders}
        return orders

    def _read(self, work: Callable[[ContentSnapshot], _T]) -> _T:
        def read() -> _T:
            with self._catalog.snapshot() as snapshot:
                return work(snapshot)

        return reread(read)
