"""Values to table rows and back."""

from __future__ import annotations

import datetime
import json
import zlib
from dataclasses import asdict
from typing import Any

import numpy as np
from sqlalchemy import Connection, Row, delete, select, union

from hybrid_core.cards.as_json import card_from_json
from hybrid_core.store.catalog import schema
from hybrid_core.store.damage import Decoding
from hybrid_core.types.documents import Document, Page, Places
from hybrid_core.types.versions import ContentVersion


def content_id_of(connection: Connection, version: ContentVersion) -> str | None:
    """The id that a version is stored under; None where it is not."""
    contents = schema.contents.c
    same = (contents[name] == value for name, value in asdict(version).items())
    found: str | None = connection.scalar(select(contents.content_id).where(*same))
    return found


def to_version(row: Row[Any]) -> ContentVersion:
    return ContentVersion(*(getattr(row, name) for name in schema.VERSION))


def now() -> str:
    """The time as it is stored: ISO 8601, UTC, whole seconds."""
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
    """Delete the vectors of embedders that no library uses or is being given."""
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
        from hybrid_core.cards.corrections import corrected_card

        corrections = json.loads(row.corrections)
        card = corrected_card(card, corrections)
    return Document(
        doc_id=row.doc_id, library=row.library, path=row.path, name=row.name, sha256=row.sha256 or "",
        content_id=row.content_id or "", format=row.format or "", pages=row.pages or 0, sections=row.sections or 0,
        title=corrections.get("title") or row.title or "", description=row.description or "",
        metadata=json.loads(row.metadata) if published else {}, card=card,
        size=row.size, mtime=row.mtime, indexed_at=row.indexed_at,
        warnings=tuple(json.loads(row.warnings)) if published else (),
        models=json.loads(row.models) if published else {}, error=row.error, corrections=corrections,
        outline="refined" if published and row.outline else "fast",
    )  # fmt: skip


def copied_corrections(connection: Connection, library: str, content_id: str) -> str:
    """What another document of the library with the same content was corrected to: a copy begins with that."""
    documents = schema.documents.c
    same = (documents.library == library, documents.content_id == content_id, documents.corrections != "{}")
    query = select(documents.corrections).where(*same).order_by(documents.path).limit(1)
    return connection.scalar(query) or "{}"
