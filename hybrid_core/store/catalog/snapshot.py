"""Reading the catalog at one instant."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt
from sqlalchemy import Column, ColumnElement, Connection, Row, Select, bindparam, func, select

from hybrid_core.errors import DamageError
from hybrid_core.store.catalog import rows, schema
from hybrid_core.store.catalog.libraries import all_libraries, library_ids, outside_bin
from hybrid_core.store.catalog.page_texts import page_orders, page_texts, text_of_pages
from hybrid_core.store.catalog.trees import StoredSections, node_id
from hybrid_core.store.damage import Decoding
from hybrid_core.store.database import StrangeValueError
from hybrid_core.store.parts import parts
from hybrid_core.text.term_counts import TermCounts
from hybrid_core.text.term_order import TermOrder
from hybrid_core.types.documents import (
    Change,
    Chunk,
    Document,
    DocumentRow,
    IndexedContent,
    Page,
    PageText,
    Section,
    StoredEmbedder,
)
from hybrid_core.types.files import FileStamp
from hybrid_core.types.libraries import Library, library_called, no_library
from hybrid_core.types.versions import StoredVersion

Vector = npt.NDArray[np.float32]
TermVector = tuple[npt.NDArray[np.uint32], Vector]  # indices (n,) and values (n,)
_Key = TypeVar("_Key", str, int)

_DOCUMENT_COLUMNS: Select[Any] = select(
    *schema.documents.c,
    *(column for column in schema.contents.c if column.name not in ("content_id", *schema.VERSION[2:])),
    schema.contents.c.outline,
).select_from(schema.documents.outerjoin(schema.contents))


# Those of every search, put together once: that takes longer than to answer them.
_CATALOG_ID = select(schema.meta.c.value).where(schema.meta.c.key == "catalog")
_EPOCH = select(schema.meta.c.value).where(schema.meta.c.key == schema.EPOCH)
_NEWEST_CHANGE = select(func.max(schema.changes.c.seq)).where(schema.changes.c.library == bindparam("library"))
_NEWEST_MARK = (
    select(schema.changes.c.mark)
    .where(schema.changes.c.library == bindparam("library"))
    .order_by(schema.changes.c.seq.desc())
    .limit(1)
)
_EMBEDDERS = select(schema.libraries.c.embedder, schema.libraries.c.next_embedder).where(
    schema.libraries.c.id == bindparam("library")
)
_STATE = (
    select(
        _CATALOG_ID.scalar_subquery().label("catalog"),
        _NEWEST_CHANGE.scalar_subquery().label("position"),
        _NEWEST_MARK.scalar_subquery().label("mark"),
        _EPOCH.scalar_subquery().label("epoch"),
        schema.libraries.c.embedder,
        *(column for column in schema.embedders.c if column.name != "fingerprint"),
    )
    .select_from(
        schema.libraries.outerjoin(schema.embedders, schema.libraries.c.embedder == schema.embedders.c.fingerprint)
    )
    .where(schema.libraries.c.id == bindparam("library"))
)
_TREE = select(schema.trees.c.sections, schema.trees.c.titles).where(
    schema.trees.c.content_id == bindparam("content_id")
)
_TERMS = select(schema.terms.c.body, schema.terms.c.headings).where(
    schema.terms.c.content_id == bindparam("content_id")
)
_LOOKED_INTO = (
    select(schema.terms, schema.trees.c.sections, schema.trees.c.titles)
    .join(schema.trees, schema.trees.c.content_id == schema.terms.c.content_id)
    .where(schema.terms.c.content_id.in_(bindparam("content_ids", expanding=True)))
)


class LibraryState(NamedTuple):
    """``catalog`` is the catalog's id, ``position`` the newest change and ``mark`` its mark; ``serving`` whose vectors
    serve. ``epoch`` is that of the catalog's collections on a Qdrant server.
    """

    catalog: str
    position: int
    serving: StoredEmbedder | None
    mark: int
    epoch: str


class LookedInto(NamedTuple):
    """``body`` are the term counts of the pages' text, ``headings`` those of the headings that begin on them."""

    body: TermCounts
    headings: TermCounts
    sections: StoredSections


class Snapshot:
    """A view of the catalog that does not change while it is open."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def catalog_id(self) -> str:
        """Which catalog this is: another one at the same place has another id."""
        return str(self._connection.scalar(_CATALOG_ID))

    def epoch(self) -> str:
        """Return the epoch of the catalog's collections on a Qdrant server, "" for the first."""
        return str(self._connection.scalar(_EPOCH) or "")

    def libraries(self) -> list[str]:
        """Their ids, by name."""
        return [one.id for one in self.named_libraries()]

    def library_ids(self) -> list[str]:
        """Return the ids of all libraries, also of those in the bin."""
        return library_ids(self._connection)

    def named_libraries(self) -> list[Library]:
        """By name."""
        return all_libraries(self._connection)

    def library(self, name: str) -> Library:
        """The library of a name or alias. Raises NotFoundError, naming those there are, where there is none."""
        known = self.named_libraries()
        found = library_called(name, known)
        if found is None:
            raise no_library(name, known)
        return found

    def require_library(self, library: str) -> None:
        """Raise NotFoundError, naming those there are, where there is no library of this id."""
        known = self.named_libraries()
        if library not in [one.id for one in known]:
            raise no_library(library, known)

    def state(self, library: str) -> LibraryState:
        """What every search asks first. Raises NotFoundError, naming those there are, where there is no library."""
        row = self._connection.execute(_STATE, {"library": library}).one_or_none()
        if row is None:
            raise no_library(library, self.named_libraries())
        if row.embedder and row.name is None:
            raise StrangeValueError(f"there is no embedder {row.embedder}")
        serving = StoredEmbedder(row.embedder, row.name, row.dimension, bool(row.sparse)) if row.embedder else None
        return LibraryState(row.catalog, row.position or 0, serving, row.mark or 0, row.epoch or "")

    def position(self, library: str) -> int:
        """The newest change of a library; 0 where there is none."""
        return self._connection.scalar(_NEWEST_CHANGE, {"library": library}) or 0

    def mark(self, library: str, seq: int) -> int | None:
        """The mark of a change, 0 for that before the first; None where there is no such change."""
        changes = schema.changes.c
        query = select(changes.mark).where(changes.library == library, changes.seq == seq)
        found: int | None = self._connection.scalar(query) if seq else 0
        return found

    def changes(self, library: str, after: int) -> list[Change]:
        found = self._connection.execute(
            select(*(schema.changes.c[name] for name in ("seq", "doc_id", "content_id", "mark")))
            .where(schema.changes.c.library == library, schema.changes.c.seq > after)
            .order_by(schema.changes.c.seq)
        )
        return [Change(*row) for row in found]

    def changed_documents(self, library: str, after: int) -> frozenset[str]:
        """The ids of those with a change after this one, each once."""
        changes = schema.changes.c
        query = select(changes.doc_id).where(changes.library == library, changes.seq > after).distinct()
        return frozenset(self._connection.scalars(query))

    def changes_of(self, library: str, doc_id: str) -> list[Change]:
        """Those of one document, the oldest first."""
        changes = schema.changes.c
        query = select(changes.seq, changes.content_id).where(changes.library == library, changes.doc_id == doc_id)
        return [
            Change(row.seq, doc_id, row.content_id) for row in self._connection.execute(query.order_by(changes.seq))
        ]

    def documents(self, library: str, doc_ids: Collection[str] | None = None) -> list[Document]:
        """The documents of a library, these or all, by path; failed ones too."""
        documents = schema.documents.c
        query = _DOCUMENT_COLUMNS.where(documents.library == library).order_by(documents.path)
        found = [rows.to_document(row) for row in self._where(query, documents.doc_id, doc_ids)]
        return found if doc_ids is None else sorted(found, key=lambda document: document.path)

    def sound_documents(self, library: str) -> list[Document]:
        """The documents of a library but for those whose rows are damaged."""
        documents = schema.documents.c
        sound = []
        for row in self._connection.execute(_DOCUMENT_COLUMNS.where(documents.library == library)):
            with suppress(DamageError):
                sound.append(rows.to_document(row))
        return sound

    def doc_id_at(self, library: str, path: str) -> str:
        """The id of the document of a file, "" where there is none; nothing else of it is read."""
        documents = schema.documents.c
        query = select(documents.doc_id).where(documents.library == library, documents.path == path)
        return self._connection.scalar(query) or ""

    def path_of(self, doc_id: str) -> str | None:
        """The file of a document; nothing else of it is read."""
        documents = schema.documents.c
        return self._connection.scalar(select(documents.path).where(documents.doc_id == doc_id))

    def document_rows(self, library: str) -> list[DocumentRow]:
        """The documents of a library as lines of a list, by path; failed ones too."""
        from hybrid_core.store.catalog.document_rows import document_rows  # which a search does not need

        return document_rows(self._connection, library)

    def document(self, doc_id: str) -> Document | None:
        """One document, published or not; None for one in the bin."""
        documents = schema.documents.c
        query = _DOCUMENT_COLUMNS.where(documents.doc_id == doc_id, outside_bin(documents.library))
        row = self._connection.execute(query).one_or_none()
        return None if row is None else rows.to_document(row)

    def document_at(self, library: str, path: str) -> Document | None:
        """The document of a file, published or not."""
        documents = schema.documents.c
        query = _DOCUMENT_COLUMNS.where(documents.library == library, documents.path == path)
        row = self._connection.execute(query).one_or_none()
        return None if row is None else rows.to_document(row)

    def documents_of_bytes(self, library: str, sha256: str, format: str) -> list[Document]:
        """The published documents of a library that these bytes, read as a format, were indexed as; by path."""
        documents, contents = schema.documents.c, schema.contents.c
        query = _DOCUMENT_COLUMNS.where(
            documents.library == library, contents.sha256 == sha256, contents.format == format
        )
        return [rows.to_document(row) for row in self._connection.execute(query.order_by(documents.path))]

    def paths(self, library: str) -> dict[str, str]:
        """doc_id -> where the file of every document lay, by path."""
        known = schema.documents.c
        found = select(known.doc_id, known.path).where(known.library == library).order_by(known.path)
        return {row.doc_id: row.path for row in self._connection.execute(found)}

    def stamps(self, library: str) -> dict[str, FileStamp]:
        """doc_id -> what the file of every document was like when its bytes were last read."""
        known = schema.documents.c
        found = self._connection.execute(
            select(known.doc_id, known.size, known.mtime, known.ctime, known.inode, known.read_at).where(
                known.library == library
            )
        )
        return {doc_id: FileStamp(*stamp) for doc_id, *stamp in found}

    def published(self, library: str, doc_ids: Collection[str] | None = None) -> dict[str, str]:
        """doc_id -> content_id of every searchable document, or of those of these that are."""
        documents = schema.documents.c
        query = select(documents.doc_id, documents.content_id).where(
            documents.library == library, documents.content_id.is_not(None)
        )
        return {row.doc_id: row.content_id for row in self._where(query, documents.doc_id, doc_ids)}

    def embedder(self, library: str) -> tuple[StoredEmbedder | None, StoredEmbedder | None]:
        """Whose vectors serve a library, and whose are being made."""
        row = self._connection.execute(_EMBEDDERS, {"library": library}).one_or_none()
        return (None, None) if row is None else (self._stored(row.embedder), self._stored(row.next_embedder))

    def _stored(self, fingerprint: str | None) -> StoredEmbedder | None:
        if fingerprint is None:
            return None
        known = schema.embedders.c
        row = self._connection.execute(
            select(known.name, known.dimension, known.sparse).where(known.fingerprint == fingerprint)
        ).one()
        return StoredEmbedder(fingerprint, row.name, row.dimension, bool(row.sparse))

    def embedded(
        self, fingerprint: str, content_ids: Collection[str] | None = None, *, chunks: bool = False
    ) -> frozenset[str]:
        """The contents, of these or all, whose pages have an embedder's vectors; with ``chunks`` their chunks too."""
        done = schema.embedded.c
        query = select(done.content_id).where(done.fingerprint == fingerprint)
        query = query.where(done.chunks) if chunks else query
        return frozenset(row.content_id for row in self._where(query, done.content_id, content_ids))

    def text_count(self, content_id: str, chunks: bool) -> int:
        """About how many pages of a content have a text to embed, or how many chunks."""
        table = schema.chunks if chunks else schema.pages
        return self._connection.scalar(select(func.count()).where(table.c.content_id == content_id)) or 0

    def vectors(self, fingerprint: str, keys: Sequence[str]) -> dict[str, Vector]:
        """The stored vectors of texts by their keys, float32 (dimension,); missing ones are left out."""
        found = self._of_texts(schema.embeddings.c.vector, fingerprint, keys)
        return {key: np.frombuffer(blob, "<f2").astype(np.float32) for key, blob in found}

    def weights(self, fingerprint: str, keys: Sequence[str]) -> dict[str, TermVector]:
        """The stored term weights of texts by their keys; missing ones are left out."""
        found = self._of_texts(schema.embeddings.c.weights, fingerprint, keys)
        return {key: _term_vector(blob) for key, blob in found if blob is not None}

    def _where(self, query: Select[Any], column: Column[_Key], values: Iterable[_Key] | None) -> Iterator[Any]:
        """The rows of a query, or those with one of these values in a column."""
        if values is None:
            yield from self._connection.execute(query)
            return
        for some in parts(values):
            yield from self._connection.execute(query.where(column.in_(some)))

    def _of_texts(self, column: Column[bytes], fingerprint: str, keys: Sequence[str]) -> Iterator[tuple[str, bytes]]:
        known = schema.embeddings.c
        query = select(known.text_key, column).where(known.fingerprint == fingerprint)
        yield from self._where(query, known.text_key, keys)

    def expected_pages(self, library: str, doc_ids: Collection[str] | None = None) -> int:
        """How many pages the published documents of a library, these or all, have together."""
        pages = select(func.coalesce(func.sum(schema.contents.c.pages), 0).label("pages")).select_from(
            schema.documents.join(schema.contents)
        ).where(schema.documents.c.library == library)  # fmt: skip
        return sum(row.pages for row in self._where(pages, schema.documents.c.doc_id, doc_ids))

    def page_counts(self, library: str, after: str, most: int) -> list[tuple[str, str, int]]:
        """(doc_id, content_id, pages) of the published documents that follow a doc_id, in the order of doc_ids."""
        documents = schema.documents.c
        query = (
            select(documents.doc_id, documents.content_id, schema.contents.c.pages)
            .select_from(schema.documents.join(schema.contents))
            .where(documents.library == library, documents.doc_id > after)
            .order_by(documents.doc_id)
            .limit(most)
        )
        return [(row.doc_id, row.content_id, row.pages) for row in self._connection.execute(query)]

    def expected_texts(self, library: str, fingerprint: str) -> int:
        """How many dense vectors of an embedder the published documents of a library have together."""
        done = schema.embedded.c
        total = (
            select(func.coalesce(func.sum(done.vectors), 0))
            .select_from(schema.documents.join(schema.embedded, schema.documents.c.content_id == done.content_id))
            .where(schema.documents.c.library == library, done.fingerprint == fingerprint)
        )
        return self._connection.scalar(total) or 0

    def versions(self, sha256: str) -> list[StoredVersion]:
        """Everything that is stored of a file's bytes."""
        return self._versions(schema.contents.c.sha256 == sha256)

    def version(self, content_id: str) -> StoredVersion | None:
        """What a content is; None where it is gone."""
        return next(iter(self._versions(schema.contents.c.content_id == content_id)), None)

    def published_versions(self, library: str) -> dict[str, StoredVersion]:
        """By content_id, what the published documents of a library are."""
        used = select(schema.documents.c.content_id).where(schema.documents.c.library == library)
        return {one.content_id: one for one in self._versions(schema.contents.c.content_id.in_(used))}

    def _versions(self, which: ColumnElement[bool]) -> list[StoredVersion]:
        contents = schema.contents.c
        columns = (contents[name] for name in schema.VERSION)
        found = self._connection.execute(select(contents.content_id, contents.pages, *columns).where(which))
        return [StoredVersion(row.content_id, rows.to_version(row), row.pages) for row in found]

    def extent(self, content_id: str) -> tuple[int, int]:
        """How many pages and sections a content has; none where it is gone."""
        contents = schema.contents.c
        query = select(contents.pages, contents.sections).where(contents.content_id == content_id)
        row = self._connection.execute(query).one_or_none()
        return (0, 0) if row is None else (row.pages, row.sections)

    def unread(self, content_id: str | None = None) -> set[str]:
        """Contents, or one of them, with pages that show what was not read."""
        pages = schema.pages.c
        query = select(pages.content_id).where(schema.UNREAD).distinct()
        if content_id is not None:
            query = query.where(pages.content_id == content_id)
        return set(self._connection.scalars(query))

    def title_and_metadata(self, content_id: str) -> tuple[str, str]:
        """A content's title and its metadata as a JSON object."""
        row = self._connection.execute(
            select(schema.contents.c.title, schema.contents.c.metadata).where(
                schema.contents.c.content_id == content_id
            )
        ).one()
        return row.title, row.metadata

    @Decoding("a content")
    def content(self, content_id: str) -> IndexedContent | None:
        """Everything that was published as a content; None where it is gone."""
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
            warnings=tuple(json.loads(row.warnings)), models=json.loads(row.models),
        )  # fmt: skip

    def pages(self, content_id: str, numbers: Iterable[int] | None = None) -> list[Page]:
        """Pages in order; only those asked for that exist."""
        query = select(schema.pages).where(schema.pages.c.content_id == content_id).order_by(schema.pages.c.number)
        wanted = None if numbers is None else sorted(set(numbers))
        return [rows.to_page(row) for row in self._where(query, schema.pages.c.number, wanted)]

    def texts(self, content_id: str, first: int = 1, last: int | None = None) -> list[tuple[int, str]]:
        """Return the numbers and texts of a content's pages, of all or from one to another."""
        pages = schema.pages.c
        query = select(pages.number, pages.text).where(pages.content_id == content_id, pages.number >= first)
        query = query if last is None else query.where(pages.number <= last)
        return [(row.number, row.text) for row in self._connection.execute(query.order_by(pages.number))]

    def some_texts(self, wanted: Sequence[tuple[str, int]]) -> dict[tuple[str, int], str]:
        """Return the texts of single pages, by (content_id, number); pages that do not exist are left out."""
        return text_of_pages(self._connection, wanted)

    def page_texts(self, wanted: Sequence[tuple[str, int]]) -> dict[tuple[str, int], PageText]:
        """What a search reads of single pages, by (content_id, number)."""
        return page_texts(self._connection, wanted)

    def page_orders(self, wanted: Sequence[tuple[str, int]]) -> dict[tuple[str, int], TermOrder]:
        """The terms of single pages in order, by (content_id, number)."""
        return page_orders(self._connection, wanted)

    def sections(self, content_id: str) -> tuple[Section, ...]:
        """The section tree in preorder; () where content is gone."""
        row = self._connection.execute(_TREE, {"content_id": content_id}).one_or_none()
        if row is None:
            return ()
        with Decoding(f"the section tree of content {content_id}"):
            return tuple(StoredSections(row.sections, row.titles))

    def looked_into(self, content_ids: Collection[str]) -> dict[str, LookedInto]:
        """By content_id, what a search reads of whole documents; contents that are gone are left out."""
        asked = (self._connection.execute(_LOOKED_INTO, {"content_ids": some}) for some in parts(content_ids))
        return {row.content_id: _looked_into(row) for rows_read in asked for row in rows_read}

    def chunks(self, content_id: str, numbers: Iterable[int] | None = None) -> list[Chunk]:
        """Chunks in order; ``numbers`` limits them to these pages."""
        query = select(schema.chunks).where(schema.chunks.c.content_id == content_id)
        wanted = None if numbers is None else set(numbers)
        found = sorted(self._where(query, schema.chunks.c.page, wanted), key=lambda row: row.number)
        return [Chunk(row.number, node_id(row.section), row.page, row.start, row.end) for row in found]

    def page_terms(self, content_ids: Collection[str]) -> dict[str, TermCounts]:
        """By content_id, the term counts of the pages' text; contents that are gone are left out."""
        query = select(schema.terms.c.content_id, schema.terms.c.body)
        contents = self._where(query, schema.terms.c.content_id, content_ids)
        with Decoding("the terms of pages"):
            return {row.content_id: TermCounts.from_bytes(row.body) for row in contents}

    def terms(self, content_id: str) -> tuple[TermCounts, TermCounts] | None:
        """Term counts of the pages' text and of the headings that begin on them; None where content is gone."""
        row = self._connection.execute(_TERMS, {"content_id": content_id}).one_or_none()
        if row is None:
            return None
        with Decoding(f"the terms of content {content_id}"):
            return TermCounts.from_bytes(row.body), TermCounts.from_bytes(row.headings)


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
