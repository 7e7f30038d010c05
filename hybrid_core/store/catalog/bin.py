"""The bin: removed documents and libraries, which can be restored until they expire.

Each entry is a hidden library. A removed library is hidden as a whole. Removed documents move to a new hidden library,
under other ids, so that the same file can be indexed again meanwhile. The table ``meta`` lists the hidden libraries.
"""

from __future__ import annotations

import datetime
import json
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from sqlalchemy import Connection, delete, func, insert, select, update

from hybrid_core.errors import NotFoundError, UsageError
from hybrid_core.store.catalog import schema
from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.store.catalog.documents import Changed, log_changes, members, with_members
from hybrid_core.store.catalog.frequencies import Recount
from hybrid_core.store.catalog.libraries import BINNED, REMOVALS, all_libraries
from hybrid_core.store.catalog.rows import now
from hybrid_core.store.notes import notes
from hybrid_core.store.tables import take
from hybrid_core.types.libraries import library_called

DAYS = 30
"""The number of days for which an entry can be restored."""
_MAX_NAMES = 5  # maximum number of document names in an entry

_documents, _libraries, _meta = schema.documents.c, schema.libraries.c, schema.meta.c


@dataclass(frozen=True, slots=True)
class BinEntry:
    """An entry of the bin: a removed library, or documents removed from a library.

    ``library`` is the name of that library and ``library_id`` its id. ``names`` lists the first documents. Times are
    ISO 8601, UTC; the entry is deleted after ``expires_at``.
    """

    id: str
    kind: Literal["documents", "library"]
    library: str
    library_id: str
    names: tuple[str, ...]
    documents: int
    pages: int
    notes: int
    removed_at: str
    expires_at: str


def put_documents(catalog: Catalog, library: str, doc_ids: Sequence[str]) -> str:
    """Move documents, and those inside them (such as files in an archive), to a new entry of the bin. Return its id."""
    entry = f"bin-{secrets.token_hex(6)}"
    with catalog.writing() as connection:
        source = connection.execute(select(schema.libraries).where(_libraries.id == library)).one()
        vectors = {"embedder": source.embedder, "next_embedder": source.next_embedder}
        row = {"id": entry, "name": entry, "alias": "", "created_at": source.created_at, **vectors}
        connection.execute(insert(schema.libraries).values(**row))
        _mark(connection, entry, library)
        _move(connection, with_members(connection, doc_ids), library, entry, f"~{entry}")
    return entry


def put_library(catalog: Catalog, library: str) -> str:
    """Hide a library with its contents. Return the id of its entry in the bin."""
    with catalog.writing() as connection:
        _mark(connection, library, "")
    return library


def bin_entries(catalog: Catalog) -> list[BinEntry]:
    """Return the entries of the bin, the newest first."""
    with catalog.reading() as connection:
        marks = _marks(connection)
        listed = [_entry(connection, entry, mark) for entry, mark in marks.items()]
    return sorted(listed, key=lambda entry: (entry.removed_at, entry.id), reverse=True)


def bin_entry(catalog: Catalog, entry: str) -> BinEntry:
    """Return the entry of the bin with an id. Raise NotFoundError for an unknown id."""
    with catalog.reading() as connection:
        return _entry(connection, entry, _require_mark(connection, entry))


def restore(catalog: Catalog, entry: str) -> None:
    """Restore an entry of the bin. If another library has taken the name of a restored one, add a number to the name.

    Raise NotFoundError for an unknown id. Raise UsageError if the library of removed documents is itself in the bin, or
    if one of their files was indexed again.
    """
    with catalog.writing() as connection:
        mark = _require_mark(connection, entry)
        origin = mark["from"]
        if not origin:
            _rename_if_taken(connection, entry)
        elif origin in _marks(connection):
            raise UsageError(
                "These documents cannot be restored, because their library is in the bin.", "Restore the library first."
            )
        else:
            binned = _documents.library == entry
            paths = select(_documents.path).where(binned)
            taken = select(_documents.name).where(_documents.library == origin, _documents.path.in_(paths))
            if (name := connection.scalar(taken.limit(1))) is not None:
                raise UsageError(
                    f"'{name}' cannot be restored, because the library again contains a document with this path.",
                    "Remove the document from the library, then restore the deleted one from the bin.",
                )
            doc_ids = list(connection.scalars(select(_documents.doc_id).where(binned)))
            _move(connection, doc_ids, entry, origin)
            connection.execute(delete(schema.libraries).where(_libraries.id == entry))
        connection.execute(delete(schema.meta).where(_meta.key == BINNED + entry))


def contents_of_bin(catalog: Catalog, entry: str | None = None, *, expired: bool = False) -> list[str]:
    """Return the ids of the bin entries to delete permanently: ``entry``, or all, or with ``expired`` all expired ones.

    With a library, also return the entries with documents from it; they come first.
    """
    with catalog.reading() as connection:
        marks = _marks(connection)
        if entry is not None:
            _require_mark(connection, entry)
    chosen = {entry} if entry is not None else set(marks)
    if expired:
        chosen = {each for each in chosen if _expiry(marks[each]["at"]) < now()}
    removed = [each for each, mark in marks.items() if mark["from"] and (each in chosen or mark["from"] in chosen)]
    return removed + [each for each in chosen if not marks[each]["from"]]


def entries_from(catalog: Catalog, library: str) -> list[str]:
    """Return the ids of the bin entries with documents that were removed from a library."""
    with catalog.reading() as connection:
        return [entry for entry, mark in _marks(connection).items() if mark["from"] == library]


def origin_of(catalog: Catalog, entry: str) -> str:
    """Return the id of the library from which the documents of a bin entry were removed.

    Return "" if the entry is itself a library.
    """
    with catalog.reading() as connection:
        return _marks(connection).get(entry, {}).get("from", "")


def _mark(connection: Connection, entry: str, origin: str) -> None:
    value = json.dumps({"at": now(), "from": origin})
    connection.execute(insert(schema.meta).values(key=BINNED + entry, value=value))
    take(connection, REMOVALS)


def _marks(connection: Connection) -> dict[str, dict[str, str]]:
    rows = connection.execute(select(_meta.key, _meta.value).where(_meta.key.startswith(BINNED)))
    return {row.key.removeprefix(BINNED): json.loads(row.value) for row in rows}


def _require_mark(connection: Connection, entry: str) -> dict[str, str]:
    mark = _marks(connection).get(entry)
    if mark is None:
        raise NotFoundError(
            f"The bin has no entry '{entry[:200]}'.",
            "List the entries of the bin. The engine deletes entries after 30 days.",
        )
    return mark


def _entry(connection: Connection, entry: str, mark: dict[str, str]) -> BinEntry:
    origin = mark["from"] or entry
    binned = _documents.library == entry
    names = connection.scalars(select(_documents.name).where(binned).order_by(_documents.path).limit(_MAX_NAMES)).all()
    counts = connection.execute(
        select(func.count().label("documents"), func.coalesce(func.sum(schema.contents.c.pages), 0).label("pages"))
        .select_from(schema.documents.outerjoin(schema.contents))
        .where(binned)
    ).one()
    noted = 0
    if not mark["from"]:
        noted = connection.scalar(select(func.count()).where(notes.c.library == entry)) or 0
    library = connection.execute(select(_libraries.name, _libraries.alias).where(_libraries.id == origin)).one_or_none()
    return BinEntry(
        entry, "documents" if mark["from"] else "library", (library.alias or library.name) if library else origin,
        origin, tuple(names), counts.documents, int(counts.pages), noted, mark["at"], _expiry(mark["at"]),
    )  # fmt: skip


def _move(connection: Connection, doc_ids: Sequence[str], source: str, target: str, suffix: str = "") -> None:
    """Move documents to another library with their original files, sources and term frequencies.

    With a ``suffix``, which is added to their ids, they move into the bin. Without one they move back from the bin.
    """
    excluded = schema.exclusions.c
    recount, changed = Recount(connection), list[Changed]()
    for doc_id in doc_ids:
        row = connection.execute(
            select(_documents.path, _documents.content_id).where(_documents.doc_id == doc_id)
        ).one_or_none()
        if row is None:
            continue
        for path in (row.path, *members(connection, source, row.path)):
            for table in (schema.originals, schema.sources):
                own = (table.c.library == source) & (table.c.path == path)
                newest = select(table.c.path).where(table.c.library == target, table.c.path == path)
                newer = connection.scalar(newest) is not None  # its container was indexed again meanwhile
                connection.execute(
                    delete(table).where(own) if newer else update(table).where(own).values(library=target)
                )
        if not suffix:
            mine = (excluded.library == target) & (excluded.path == row.path)
            connection.execute(delete(schema.exclusions).where(mine))
        new_id = doc_id + suffix if suffix else doc_id.removesuffix(f"~{source}")
        values = {"library": target, "doc_id": new_id}
        connection.execute(update(schema.documents).where(_documents.doc_id == doc_id).values(**values))
        recount.subtract(source, row.content_id)
        recount.add(target, row.content_id)
        visible = (source, doc_id, None) if suffix else (target, new_id, row.content_id)
        changed.append(Changed(*visible))
    recount.write()
    log_changes(connection, changed)


def _rename_if_taken(connection: Connection, library: str) -> None:
    """Add a number to a library's name if another library has this name. Remove its alias if another one has it."""
    shown = all_libraries(connection)
    row = connection.execute(select(_libraries.name, _libraries.alias).where(_libraries.id == library)).one()
    names = (row.name, *(f"{row.name} {number}" for number in range(2, len(shown) + 3)))
    name = next(each for each in names if library_called(each, shown) is None)
    alias = "" if library_called(row.alias, shown) else row.alias
    connection.execute(update(schema.libraries).where(_libraries.id == library).values(name=name, alias=alias))


def _expiry(at: str) -> str:
    expires = datetime.datetime.fromisoformat(at) + datetime.timedelta(days=DAYS)
    return expires.isoformat(timespec="seconds")
