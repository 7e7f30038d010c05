"""Documents leave the catalog: with what lies in them, and with content and files that nothing else uses."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sqlalchemy import Connection, delete, func, select

from hybrid_core.store.catalog import rows, schema
from hybrid_core.store.catalog.changes import Changed, log_changes
from hybrid_core.store.catalog.frequencies import Recount
from hybrid_core.store.catalog.originals import drop_originals, members


def with_members(connection: Connection, doc_ids: Sequence[str]) -> list[str]:
    """Documents, and those of all that lies in them."""
    known, found = schema.documents.c, dict.fromkeys(doc_ids)
    for doc_id in doc_ids:
        row = connection.execute(select(known.library, known.path).where(known.doc_id == doc_id)).one_or_none()
        if row is not None:
            found |= dict.fromkeys(at_paths(connection, row.library, members(connection, row.library, row.path)))
    return list(found)


def at_paths(connection: Connection, library: str, paths: Iterable[str]) -> list[str]:
    """The ids of the documents at these paths; nothing where there is none."""
    known = schema.documents.c
    found = (connection.scalar(select(known.doc_id).where(known.library == library, known.path == at)) for at in paths)
    return [doc_id for doc_id in found if doc_id is not None]


def remove_documents(connection: Connection, doc_ids: Sequence[str]) -> set[str]:
    """Remove documents and all that lies in them. Returns the names of originals that may not be used now."""
    known, contents, files, changed = schema.documents.c, list[str](), set[str](), list[Changed]()
    recount = Recount(connection)
    for doc_id in with_members(connection, doc_ids):
        row = connection.execute(
            select(known.library, known.path, known.content_id).where(known.doc_id == doc_id)
        ).one_or_none()
        if row is None:
            continue
        files |= drop_originals(connection, row.library, [row.path, *members(connection, row.library, row.path)])
        connection.execute(delete(schema.documents).where(known.doc_id == doc_id))
        changed.append(Changed(row.library, doc_id, None))
        recount.subtract(row.library, row.content_id)
        if row.content_id:
            contents.append(row.content_id)
    drop_unreferenced(connection, contents)
    recount.write()
    log_changes(connection, changed)
    return files


def drop_unreferenced(connection: Connection, content_ids: Sequence[str]) -> None:
    for content_id in set(content_ids):
        used = select(func.count()).where(schema.documents.c.content_id == content_id)
        if not connection.scalar(used):
            rows.delete_content(connection, content_id)
