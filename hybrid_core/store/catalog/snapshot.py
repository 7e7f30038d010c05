"""A snapshot of the catalog: its libraries, their change logs and their documents at one instant."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress
from typing import Any, NamedTuple

from sqlalchemy import Select, bindparam, func, select

from hybrid_core.errors import DamageError
from hybrid_core.store.catalog import rows, schema
from hybrid_core.store.catalog.contents import ContentSnapshot
from hybrid_core.store.catalog.libraries import all_libraries, library_ids, outside_bin
from hybrid_core.store.database import StrangeValueError
from hybrid_core.types.documents import (
    Change,
    Document,
    DocumentRow,
    StoredEmbedder,
)
from hybrid_core.types.files import FileStamp
from hybrid_core.types.libraries import Library, library_called, no_library

_DOCUMENT_COLUMNS: Select[Any] = select(
    *schema.documents.c,
    *(column for column in schema.contents.c if column.name not in ("content_id", *schema.VERSION[2:])),
    schema.contents.c.outline,
).select_from(schema.documents.outerjoin(schema.contents))

# Statements of every search. They are built once, since building them takes longer than executing them.
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


class LibraryState(NamedTuple):
    """The state of a library. ``catalog`` is the catalog's id, ``position`` the number of the newest change.

    ``mark`` is a random number that identifies that change. ``serving`` is the embedder that searches use.
    ``epoch`` identifies the catalog's collections on a Qdrant server.
    """

    catalog: str
    position: int
    serving: StoredEmbedder | None
    mark: int
    epoch: str


class Snapshot(ContentSnapshot):
    """A consistent view of the catalog."""

    def catalog_id(self) -> str:
        """Return the catalog's id. A different catalog at the same path has a different id."""
        return str(self._connection.scalar(_CATALOG_ID))

    def epoch(self) -> str:
        """Return the epoch, which is part of the names of the catalog's collections on a Qdrant server, at first ""."""
        return str(self._connection.scalar(_EPOCH) or "")

    def libraries(self) -> list[str]:
        """Return the ids of the libraries in the order of their names."""
        return [library.id for library in self.named_libraries()]

    def library_ids(self) -> list[str]:
        """Return the ids of all libraries, including those in the bin."""
        return library_ids(self._connection)

    def named_libraries(self) -> list[Library]:
        """Return the libraries in the order of their names."""
        return all_libraries(self._connection)

    def library(self, name: str) -> Library:
        """Return the library with a name or alias. Raise NotFoundError, which lists the libraries, if there is none."""
        libraries = self.named_libraries()
        library = library_called(name, libraries)
        if library is None:
            raise no_library(name, libraries)
        return library

    def state(self, library: str) -> LibraryState:
        """Return the state of a library, which every search reads first.

        Raise NotFoundError, which lists the libraries, if the id is unknown.
        """
        row = self._connection.execute(_STATE, {"library": library}).one_or_none()
        if row is None:
            raise no_library(library, self.named_libraries())
        if row.embedder and row.name is None:
            raise StrangeValueError(
                f"the library names the embedder {row.embedder}, but the catalog has no entry for it"
            )
        serving = StoredEmbedder(row.embedder, row.name, row.dimension, bool(row.sparse)) if row.embedder else None
        return LibraryState(row.catalog, row.position or 0, serving, row.mark or 0, row.epoch or "")

    def position(self, library: str) -> int:
        """Return the number of a library's newest change, 0 if there is none."""
        return self._connection.scalar(_NEWEST_CHANGE, {"library": library}) or 0

    def mark(self, library: str, seq: int) -> int | None:
        """Return the mark of the change with the number ``seq``: a random number that identifies it.

        Return 0 for the number 0, and None if there is no such change.
        """
        changes = schema.changes.c
        query = select(changes.mark).where(changes.library == library, changes.seq == seq)
        mark: int | None = self._connection.scalar(query) if seq else 0
        return mark

    def changes(self, library: str, after: int) -> list[Change]:
        result = self._connection.execute(
            select(*(schema.changes.c[name] for name in ("seq", "doc_id", "content_id", "mark")))
            .where(schema.changes.c.library == library, schema.changes.c.seq > after)
            .order_by(schema.changes.c.seq)
        )
        return [Change(*row) for row in result]

    def changed_documents(self, library: str, after: int) -> frozenset[str]:
        """Return the ids of the documents that changed after the change with the number ``after``."""
        changes = schema.changes.c
        query = select(changes.doc_id).where(changes.library == library, changes.seq > after).distinct()
        return frozenset(self._connection.scalars(query))

    def changes_of(self, library: str, doc_id: str) -> list[Change]:
        """Return the changes of one document, the oldest first."""
        changes = schema.changes.c
        query = select(changes.seq, changes.content_id).where(changes.library == library, changes.doc_id == doc_id)
        return [
            Change(row.seq, doc_id, row.content_id) for row in self._connection.execute(query.order_by(changes.seq))
        ]

    def documents(self, library: str, doc_ids: Collection[str] | None = None) -> list[Document]:
        """Return the documents of a library in the order of paths, including those that could not be indexed.

        ``doc_ids`` selects documents.
        """
        documents = schema.documents.c
        query = _DOCUMENT_COLUMNS.where(documents.library == library).order_by(documents.path)
        listed = [rows.to_document(row) for row in self._where(query, documents.doc_id, doc_ids)]
        return listed if doc_ids is None else sorted(listed, key=lambda document: document.path)

    def sound_documents(self, library: str) -> list[Document]:
        """Return the documents of a library, without those whose rows are damaged."""
        documents = schema.documents.c
        sound = []
        for row in self._connection.execute(_DOCUMENT_COLUMNS.where(documents.library == library)):
            with suppress(DamageError):
                sound.append(rows.to_document(row))
        return sound

    def doc_id_at(self, library: str, path: str) -> str:
        """Return the id of the document with this path, "" if there is none. ``document_at`` reads all of its data."""
        documents = schema.documents.c
        query = select(documents.doc_id).where(documents.library == library, documents.path == path)
        return self._connection.scalar(query) or ""

    def path_of(self, doc_id: str) -> str | None:
        """Return the path of a document's file, None for an unknown id. ``document`` reads all of its data."""
        documents = schema.documents.c
        return self._connection.scalar(select(documents.path).where(documents.doc_id == doc_id))

    def doc_ids_at(self, library: str, paths: Collection[str]) -> dict[str, str]:
        """Return the ids of the documents with these paths, by path. Paths without a document are left out."""
        documents = schema.documents.c
        query = select(documents.doc_id, documents.path).where(documents.library == library)
        return {row.path: row.doc_id for row in self._where(query, documents.path, paths)}

    def taken_ids(self, doc_ids: Collection[str]) -> frozenset[str]:
        """Return those of the ids that existing documents have."""
        documents = schema.documents.c
        return frozenset(row.doc_id for row in self._where(select(documents.doc_id), documents.doc_id, doc_ids))

    def stored_hashes(self, hashes: Collection[str]) -> frozenset[str]:
        """Return those of the file hashes for which the catalog has a parsed document of any version."""
        contents = schema.contents.c
        query = select(contents.sha256).distinct()
        return frozenset(row.sha256 for row in self._where(query, contents.sha256, hashes))

    def content_ids(self) -> frozenset[str]:
        """Return the ids of all contents (parsed documents), including those of documents in the bin."""
        return frozenset(self._connection.scalars(select(schema.contents.c.content_id)))

    def document_rows(self, library: str) -> list[DocumentRow]:
        """Return the documents of a library for a list, ordered by path, including those that could not be indexed."""
        return rows.document_rows(self._connection, library)

    def document(self, doc_id: str) -> Document | None:
        """Return a document, published or not. Return None if it is unknown or in the bin."""
        documents = schema.documents.c
        query = _DOCUMENT_COLUMNS.where(documents.doc_id == doc_id, outside_bin(documents.library))
        row = self._connection.execute(query).one_or_none()
        return None if row is None else rows.to_document(row)

    def document_at(self, library: str, path: str) -> Document | None:
        """Return the document with this path, published or not, None if there is none."""
        documents = schema.documents.c
        query = _DOCUMENT_COLUMNS.where(documents.library == library, documents.path == path)
        row = self._connection.execute(query).one_or_none()
        return None if row is None else rows.to_document(row)

    def documents_of_bytes(self, library: str, sha256: str, format: str) -> list[Document]:
        """Return the published documents of a library with these bytes and this format, ordered by path."""
        documents, contents = schema.documents.c, schema.contents.c
        query = _DOCUMENT_COLUMNS.where(
            documents.library == library, contents.sha256 == sha256, contents.format == format
        )
        return [rows.to_document(row) for row in self._connection.execute(query.order_by(documents.path))]

    def paths(self, library: str) -> dict[str, str]:
        """Return the path of every document's file by doc_id, in the order of paths."""
        documents = schema.documents.c
        result = select(documents.doc_id, documents.path).where(documents.library == library).order_by(documents.path)
        return {row.doc_id: row.path for row in self._connection.execute(result)}

    def stamps(self, library: str) -> dict[str, FileStamp]:
        """Return the size and time of every document's file when its bytes were last read, by doc_id."""
        documents = schema.documents.c
        result = self._connection.execute(
            select(
                documents.doc_id, documents.size, documents.mtime, documents.ctime, documents.inode, documents.read_at
            ).where(documents.library == library)
        )
        return {doc_id: FileStamp(*stamp) for doc_id, *stamp in result}

    def published(self, library: str, doc_ids: Collection[str] | None = None) -> dict[str, str]:
        """Return the content_id of each searchable document of a library, by doc_id. ``doc_ids`` selects documents."""
        documents = schema.documents.c
        query = select(documents.doc_id, documents.content_id).where(
            documents.library == library, documents.content_id.is_not(None)
        )
        return {row.doc_id: row.content_id for row in self._where(query, documents.doc_id, doc_ids)}

    def embedder(self, library: str) -> tuple[StoredEmbedder | None, StoredEmbedder | None]:
        """Return the embedder that searches of a library use, and the one whose vectors are being computed."""
        row = self._connection.execute(_EMBEDDERS, {"library": library}).one_or_none()
        return (None, None) if row is None else (self._stored(row.embedder), self._stored(row.next_embedder))

    def _stored(self, fingerprint: str | None) -> StoredEmbedder | None:
        if fingerprint is None:
            return None
        embedders = schema.embedders.c
        row = self._connection.execute(
            select(embedders.name, embedders.dimension, embedders.sparse).where(embedders.fingerprint == fingerprint)
        ).one()
        return StoredEmbedder(fingerprint, row.name, row.dimension, bool(row.sparse))

    def expected_pages(self, library: str, doc_ids: Collection[str] | None = None) -> int:
        """Return the total number of pages of a library's published documents. ``doc_ids`` selects documents."""
        pages = select(func.coalesce(func.sum(schema.contents.c.pages), 0).label("pages")).select_from(
            schema.documents.join(schema.contents)
        ).where(schema.documents.c.library == library)  # fmt: skip
        return sum(row.pages for row in self._where(pages, schema.documents.c.doc_id, doc_ids))

    def page_counts(self, library: str, after: str, limit: int) -> list[tuple[str, str, int]]:
        """Return (doc_id, content_id, pages) of up to ``limit`` published documents after a doc_id, ordered by id."""
        documents = schema.documents.c
        query = (
            select(documents.doc_id, documents.content_id, schema.contents.c.pages)
            .select_from(schema.documents.join(schema.contents))
            .where(documents.library == library, documents.doc_id > after)
            .order_by(documents.doc_id)
            .limit(limit)
        )
        return [(row.doc_id, row.content_id, row.pages) for row in self._connection.execute(query)]

    def expected_texts(self, library: str, fingerprint: str) -> int:
        """Return the total number of an embedder's dense vectors that a library's published documents have."""
        done = schema.embedded.c
        total = (
            select(func.coalesce(func.sum(done.vectors), 0))
            .select_from(schema.documents.join(schema.embedded, schema.documents.c.content_id == done.content_id))
            .where(schema.documents.c.library == library, done.fingerprint == fingerprint)
        )
        return self._connection.scalar(total) or 0
