"""Corrections by hand, kept with the document and apart from what is made of its file."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Literal

from sqlalchemy import select, update

from hybrid_core.store.catalog import originals, schema
from hybrid_core.store.catalog.changes import Changed, log_changes
from hybrid_core.store.catalog.rows import now
from hybrid_core.store.tables import insert_into
from hybrid_core.store.text import to_json

if TYPE_CHECKING:
    from hybrid_core.store.catalog.catalog import Catalog
    from hybrid_core.types.documents import Document


def correct(
    catalog: Catalog, doc_id: str, new: Mapping[str, str], undone: Collection[str], seen: Document | None = None
) -> Literal["done", "gone", "changed"]:
    """Add corrections to a document and take others back, in one transaction, unless its content or its corrections are
    not those that were ``seen``.

    Readers see it as they see a document that moved: by the change log.
    """
    documents = schema.documents.c
    with catalog.writing() as connection:
        row = connection.execute(
            select(documents.library, documents.content_id, documents.corrections).where(documents.doc_id == doc_id)
        ).one_or_none()
        if row is None:
            return "gone"
        if seen and (row.content_id or "", json.loads(row.corrections)) != (seen.content_id, dict(seen.corrections)):
            return "changed"
        held = {field: value for field, value in json.loads(row.corrections).items() if field not in undone}
        connection.execute(
            update(schema.documents).where(documents.doc_id == doc_id).values(corrections=to_json({**held, **new}))
        )
        log_changes(connection, [Changed(row.library, doc_id, row.content_id)])
    return "done"


def expect(catalog: Catalog, library: str, doc_id: str, path: str, corrections: Mapping[str, str]) -> None:
    """Record what a document that is still to be indexed was corrected to elsewhere."""
    with catalog.writing() as connection:
        values = {
            "doc_id": doc_id, "library": library, "path": path,
            "name": originals.document_name(connection, library, path), "content_id": None, "card": "{}",
            "corrections": to_json(dict(corrections)), "size": 0, "mtime": 0.0, "indexed_at": now(),
            "error": "It waits to be indexed.",
        }  # fmt: skip
        connection.execute(insert_into(connection, schema.documents).values(**values).on_conflict_do_nothing())
