"""All documents of a library as lines of a list: only what a line shows is read, since there may be very many."""

from __future__ import annotations

import json
from typing import Any

from sqlalchemy import Connection, Row, Select, bindparam, select

from hybrid_core.cards.as_json import card_from_json, card_to_json
from hybrid_core.store.catalog import schema
from hybrid_core.store.damage import Decoding
from hybrid_core.types.documents import DocumentRow

_documents, _contents = schema.documents.c, schema.contents.c
_ROWS: Select[Any] = (
    select(
        _documents.doc_id, _documents.content_id, _documents.path, _documents.name, _documents.card,
        _documents.corrections, _documents.size, _documents.indexed_at, _documents.error,
        _contents.title, _contents.format, _contents.pages, _contents.warnings,
    )
    .select_from(schema.documents.outerjoin(schema.contents))
    .where(_documents.library == bindparam("library"))
    .order_by(_documents.path)
)  # fmt: skip


def document_rows(connection: Connection, library: str) -> list[DocumentRow]:
    """By path; failed ones too."""
    return [_row(row) for row in connection.execute(_ROWS, {"library": library})]


@Decoding("a document")
def _row(row: Row[Any]) -> DocumentRow:
    card, title = json.loads(row.card), row.title or ""
    if row.corrections != "{}":
        card, title = _corrected(card, title, json.loads(row.corrections))
    return DocumentRow(
        doc_id=row.doc_id, content_id=row.content_id or "", path=row.path, name=row.name, title=title,
        format=row.format or "", pages=row.pages or 0, size=row.size,
        organisation=(card.get("names") or [""])[0], year=(card.get("years") or [0])[0], type=card.get("type", ""),
        tags=tuple(card.get("tags", ())), warnings=0 if row.warnings in (None, "[]") else len(json.loads(row.warnings)),
        error=row.error, indexed_at=row.indexed_at,
    )  # fmt: skip


def _corrected(card: dict[str, Any], title: str, corrections: dict[str, str]) -> tuple[dict[str, Any], str]:
    from hybrid_core.cards.corrections import corrected_card

    return card_to_json(corrected_card(card_from_json(card), corrections)), corrections.get("title") or title
