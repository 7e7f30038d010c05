"""Conversion between values and table rows.

The rows of a parsed document are computed before its transaction, so that other writers need not wait.
"""

from __future__ import annotations

import datetime
import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from sqlalchemy import Connection, Row, Select, bindparam, delete, insert, select, union

from hybrid_core.cards.corrections import card_from_json, card_to_json, corrected_card
from hybrid_core.store.catalog import schema
from hybrid_core.store.catalog.trees import packed
from hybrid_core.store.database import Decoding
from hybrid_core.store.tables import insert_into, to_json
from hybrid_core.text.terms import page_orders
from hybrid_core.types.documents import Document, DocumentRow, IndexedContent, Page, Places
from hybrid_core.types.files import ContentVersion
from hybrid_core.types.notes import Note, read, stored

Values = Mapping[str, Any]
_documents, _contents = schema.documents.c, schema.contents.c
_DOCUMENT_ROWS: Select[Any] = (
    select(
        _documents.doc_id, _documents.content_id, _documents.path, _documents.name, _documents.card,
        _documents.corrections, _documents.size, _documents.indexed_at, _documents.error,
        _contents.title, _contents.format, _contents.pages, _contents.warnings,
    )
    .select_from(schema.documents.outerjoin(schema.contents))
    .where(_documents.library == bindparam("library"))
    .order_by(_documents.path)
)  # fmt: skip


def content_id_of(connection: Connection, version: ContentVersion) -> str | None:
    """Return the content id under which a version of a file is stored, None if it is not stored."""
    contents = schema.contents.c
    same = (contents[name] == value for name, value in asdict(version).items())
    content_id: str | None = connection.scalar(select(contents.content_id).where(*same))
    return content_id


def to_version(row: Row[Any]) -> ContentVersion:
    return ContentVersion(*(getattr(row, name) for name in schema.VERSION))


def now() -> str:
    """Return the current time in the stored form: ISO 8601, UTC, whole seconds."""
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")


def delete_content(connection: Connection, content_id: str) -> None:
    for table in (
        schema.chunks,
        schema.trees,
        schema.orders,
        schema.pages,
        schema.terms,
        schema.embedded,
        schema.contents,
    ):
        connection.execute(delete(table).where(table.c.content_id == content_id))


def drop_unused_vectors(connection: Connection) -> None:
    """Delete the vectors of all embedders that no library uses or is about to use."""
    libraries = schema.libraries.c
    used = union(
        select(libraries.embedder).where(libraries.embedder.is_not(None)),
        select(libraries.next_embedder).where(libraries.next_embedder.is_not(None)),
    )
    for table in (schema.embeddings, schema.embedded, schema.embedders):
        connection.execute(delete(table).where(table.c.fingerprint.not_in(used)))


@Decoding("a page")
def to_page(row: Row[Any]) -> Page:
    boxes = np.frombuffer(zlib.decompress(row.boxes), "<i2").reshape(-1, 4)
    return Page(
        number=row.number, label=row.label, width=row.width, height=row.height, text=row.text, summary=row.summary,
        boxes=tuple((a, b, c, d) for a, b, c, d in boxes.tolist()), needs_ocr=bool(row.needs_ocr),
        ocr=bool(row.ocr), described=row.described,
        places=to_places(row.places),
        pictures=row.pictures, engine=row.engine, sure=row.sure,
    )  # fmt: skip


@Decoding("a page's places")
def to_places(written: str) -> Places:
    return () if written == "[]" else tuple((line, place) for line, place in json.loads(written))


@Decoding("a document")
def to_document(row: Row[Any]) -> Document:
    published = row.content_id is not None
    card, corrections = card_from_json(json.loads(row.card)), {}
    if row.corrections != "{}":
        corrections = json.loads(row.corrections)
        card = corrected_card(card, corrections)
    return Document(
        doc_id=row.doc_id, library=row.library, path=row.path, name=row.name, sha256=row.sha256 or "",
        content_id=row.content_id or "", format=row.format or "", pages=row.pages or 0, sections=row.sections or 0,
        title=corrections.get("title") or row.title or "", description=row.description or "",
        metadata=json.loads(row.metadata) if published else {}, card=card,
        size=row.size, mtime=row.mtime, indexed_at=row.indexed_at,
        warnings=read(json.loads(row.warnings)) if published else (),
        models=json.loads(row.models) if published else {}, error=Note.read(row.error), corrections=corrections,
        outline="refined" if published and row.outline else "fast",
    )  # fmt: skip


def copied_corrections(connection: Connection, library: str, content_id: str) -> str:
    """Return the corrections, as JSON, of another document of the library with the same content, "{}" for none.

    A new document with this content inherits them.
    """
    documents = schema.documents.c
    same = (documents.library == library, documents.content_id == content_id, documents.corrections != "{}")
    query = select(documents.corrections).where(*same).order_by(documents.path).limit(1)
    return connection.scalar(query) or "{}"


@dataclass(frozen=True, slots=True)
class ContentRows:
    """The rows of a parsed document, without its content id.

    The tables contents, terms and trees get one row each; pages, orders and chunks get several.
    """

    content: Values
    terms: Values
    tree: Values
    pages: Sequence[Values]
    orders: Sequence[Values]
    chunks: Sequence[Values]

    @classmethod
    def of(cls, version: ContentVersion, content: IndexedContent, orders: Sequence[bytes] | None = None) -> ContentRows:
        """Return the rows of a parsed document.

        ``orders`` are the terms of each page in reading order, None to compute them here.
        """
        orders = page_orders(content) if orders is None else orders
        tree, titles = packed(content.sections)
        return cls(
            content={
                **asdict(version), "pages": len(content.pages), "sections": len(content.sections),
                "title": content.title, "description": content.description,
                "metadata": to_json(dict(content.metadata)), "warnings": to_json(stored(content.warnings)),
                "models": to_json(dict(content.models)),
            },
            terms={"body": content.terms, "headings": content.heading_terms},
            tree={"sections": tree, "titles": titles},
            pages=[_page_values(page) for page in content.pages],
            orders=[
                {"number": page.number, "terms": order} for page, order in zip(content.pages, orders, strict=True)
            ],
            chunks=[
                {"number": c.number, "section": int(c.node_id), "page": c.page, "start": c.start, "end": c.end}
                for c in content.chunks
            ],
        )  # fmt: skip

    def insert(self, connection: Connection, content_id: str) -> bool:
        """Insert the rows into the database under a content id.

        Return False, and insert nothing, if another process has already stored this version of the file.
        """
        key = {"content_id": content_id}
        new = insert_into(connection, schema.contents).values(**key, **self.content).on_conflict_do_nothing()
        if connection.scalar(new.returning(schema.contents.c.content_id)) is None:
            return False
        connection.execute(insert(schema.terms).values(**key, **self.terms))
        connection.execute(insert(schema.pages), [{**key, **page} for page in self.pages])
        connection.execute(insert(schema.orders), [{**key, **order} for order in self.orders])
        connection.execute(insert(schema.trees).values(**key, **self.tree))
        if self.chunks:
            connection.execute(insert(schema.chunks), [{**key, **chunk} for chunk in self.chunks])
        return True


def insert_contents(connection: Connection, contents: Sequence[tuple[str, ContentRows]]) -> frozenset[str]:
    """Insert parsed documents with few statements. Return the ids of those that were not stored before."""
    ordered = sorted(contents, key=lambda pair: pair[0])  # a fixed order prevents deadlocks between transactions
    new = insert_into(connection, schema.contents).on_conflict_do_nothing().returning(schema.contents.c.content_id)
    values = [{"content_id": content_id, **content.content} for content_id, content in ordered]
    inserted = frozenset(connection.execute(new, values).scalars())
    chosen = [(content_id, content) for content_id, content in ordered if content_id in inserted]
    for table, single, several in (
        (schema.terms, "terms", ""), (schema.pages, "", "pages"), (schema.orders, "", "orders"),
        (schema.trees, "tree", ""), (schema.chunks, "", "chunks"),
    ):  # fmt: skip
        rows_of = [
            {"content_id": content_id, **row}
            for content_id, content in chosen
            for row in ([getattr(content, single)] if single else getattr(content, several))
        ]
        if rows_of:
            connection.execute(insert(table), rows_of)
    return inserted


def _page_values(page: Page) -> Values:
    boxes = zlib.compress(np.asarray(page.boxes, "<i2").reshape(-1, 4).tobytes(), 6)
    return {
        "number": page.number, "label": page.label, "width": page.width, "height": page.height, "text": page.text,
        "summary": page.summary, "boxes": boxes, "needs_ocr": page.needs_ocr, "ocr": page.ocr,
        "described": page.described, "places": to_json(page.places),
        "pictures": page.pictures, "engine": page.engine, "sure": page.sure,
    }  # fmt: skip


def document_rows(connection: Connection, library: str) -> list[DocumentRow]:
    """Return the documents of a library for a list, ordered by path, including those that could not be indexed.

    Only the columns of DocumentRow are read, since a library may have very many documents.
    """
    return [_document_row(row) for row in connection.execute(_DOCUMENT_ROWS, {"library": library})]


@Decoding("a document")
def _document_row(row: Row[Any]) -> DocumentRow:
    card, title = json.loads(row.card), row.title or ""
    if row.corrections != "{}":
        card, title = _corrected(card, title, json.loads(row.corrections))
    return DocumentRow(
        doc_id=row.doc_id, content_id=row.content_id or "", path=row.path, name=row.name, title=title,
        format=row.format or "", pages=row.pages or 0, size=row.size,
        organisation=card_from_json(card).organisation, year=(card.get("years") or [0])[0], type=card.get("type", ""),
        tags=tuple(card.get("tags", ())), warnings=0 if row.warnings in (None, "[]") else len(json.loads(row.warnings)),
        error=str(Note.read(row.error)) if row.error else "", indexed_at=row.indexed_at,
    )  # fmt: skip


def _corrected(card: dict[str, Any], title: str, corrections: dict[str, str]) -> tuple[dict[str, Any], str]:
    return card_to_json(corrected_card(card_from_json(card), corrections)), corrections.get("title") or title
