"""A content made anew: readers know one by its id as something that never changes, so it gets another id."""

from __future__ import annotations

import uuid

from sqlalchemy import Connection, select, update

from hybrid_core.store.catalog import rows, schema
from hybrid_core.store.catalog.changes import Changed
from hybrid_core.store.catalog.content_rows import ContentRows
from hybrid_core.store.catalog.frequencies import Recount


def replace_content(
    connection: Connection, content_id: str, content: ContentRows, recount: Recount
) -> tuple[str, list[Changed]]:
    """Its new id, and what is to be logged of the documents that have it."""
    documents = schema.documents.c
    users = connection.execute(select(documents.library, documents.doc_id).where(documents.content_id == content_id))
    ids = [(user.library, user.doc_id) for user in users]
    for library, _ in ids:
        recount.subtract(library, content_id)
    connection.execute(update(schema.documents).where(documents.content_id == content_id).values(content_id=None))
    rows.delete_content(connection, content_id)
    new = uuid.uuid4().hex[:24]
    content.insert(connection, new)
    for library, doc_id in ids:
        recount.add(library, new)
        connection.execute(update(schema.documents).where(documents.doc_id == doc_id).values(content_id=new))
    return new, [Changed(library, doc_id, new) for library, doc_id in ids]
