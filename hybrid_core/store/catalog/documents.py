"""Documents in the catalog: their change log, originals, corrections, replacement and removal.

Originals are files that the home stores because the user has none: archive members, uploads, web pages. Equal bytes are
stored once, as long as a document uses them.
"""

from __future__ import annotations

import json
import re
import secrets
import uuid
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Literal

from sqlalchemy import Connection, delete, func, insert, select, update

from hybrid_core.cards.corrections import card_to_json
from hybrid_core.store.catalog import rows, schema
from hybrid_core.store.catalog.frequencies import Recount
from hybrid_core.store.catalog.rows import ContentRows, now
from hybrid_core.store.database import parts
from hybrid_core.store.tables import insert_into, take, to_json
from hybrid_core.types.documents import Card, IndexedContent
from hybrid_core.types.files import ContentVersion, FileStamp
from hybrid_core.types.jobs import Fence, JobUpdate
from hybrid_core.types.libraries import is_address, shown_name
from hybrid_core.types.notes import Note

if TYPE_CHECKING:
    from hybrid_core.store.database import TransactionalStore
    from hybrid_core.store.objects import ObjectStore
    from hybrid_core.types.documents import Document


_SUFFIX = re.compile(r"\.[a-z0-9]{1,10}")
COUNTER = "changes of "
"""The prefix of the names of libraries' counters. A counter outlives its library, so no position is used twice."""
_MARK_BITS = 62  # fits into a signed number of eight bytes


@dataclass(frozen=True, slots=True)
class Original:
    """A file to store because the user has no copy of it, such as a member of an archive.

    ``path`` is the address of the document, ``container`` the address of its container ("" for none). ``file`` contains
    the bytes with the hash ``sha256``, in the home's ``tmp``; storing moves the file.
    """

    path: str
    container: str
    file: Path
    sha256: str

    @property
    def name(self) -> str:
        """Return the name of the stored file. Its suffix shows the format to other programs."""
        suffix = PurePath(self.path).suffix.lower()
        return self.sha256 + (suffix if _SUFFIX.fullmatch(suffix) else "")


def original_file(connection: Connection, library: str, path: str) -> str | None:
    """Return the name of a document's stored original file, None if there is none."""
    originals = schema.originals.c
    name: str | None = connection.scalar(
        select(originals.file).where(originals.library == library, originals.path == path)
    )
    return name


def kept_files(connection: Connection) -> set[str]:
    """Return the names of all stored original files."""
    return set(connection.scalars(select(schema.originals.c.file).distinct()))


def is_member(connection: Connection, library: str, path: str) -> bool:
    """Return whether a path is the address of a member of a container, such as "a.zip!/b.pdf".

    A file in a folder whose name ends with "!" has a similar path but is no member.
    """
    if not is_address(path):
        return False
    originals = schema.originals.c
    mine = (originals.library == library, originals.path == path, originals.container != "")
    return connection.scalar(select(originals.file).where(*mine)) is not None


def document_name(connection: Connection, library: str, path: str) -> str:
    return shown_name(path) if is_member(connection, library, path) else PurePath(path).name


def members(connection: Connection, library: str, container: str) -> list[str]:
    """Return the addresses of all files inside a container (an archive or mail), at any depth, sorted."""
    originals, addresses, containers = schema.originals.c, list[str](), [container]
    while containers:
        mine = (originals.library == library, originals.container == containers.pop())
        inside = connection.scalars(select(originals.path).where(*mine)).all()
        addresses += inside
        containers += inside
    return sorted(addresses)


def add_originals(
    connection: Connection, objects: ObjectStore, library: str, originals: Sequence[Original]
) -> set[str]:
    """Store originals and replace older ones at the same addresses.

    Return the names of files that may be unused now.
    """
    for original in originals:
        objects.keep(original.name, original.file)
    unused = drop_originals(connection, library, [original.path for original in originals])
    for original in originals:
        values = {"library": library, "path": original.path, "container": original.container, "file": original.name}
        connection.execute(insert(schema.originals).values(values))
    return unused


def drop_originals(connection: Connection, library: str, paths: Iterable[str]) -> set[str]:
    """Delete the originals at these addresses. Return the names of files that may be unused now."""
    originals, files = schema.originals.c, set[str]()
    for path in paths:
        mine = (originals.library == library, originals.path == path)
        files.update(connection.scalars(select(originals.file).where(*mine)))
        connection.execute(delete(schema.originals).where(*mine))
    return files


def used_files(connection: Connection, files: Collection[str]) -> set[str]:
    """Return those of ``files`` (at most a thousand names of stored files) that a document uses."""
    originals = schema.originals.c
    return set(connection.scalars(select(originals.file).where(originals.file.in_(files)).distinct()))


@dataclass(frozen=True, slots=True)
class Changed:
    """A new entry of the change log, still without a number. ``content_id`` is None if the document was removed."""

    library: str
    doc_id: str
    content_id: str | None


def log_changes(connection: Connection, changes: Sequence[Changed]) -> None:
    """Write entries of the change log. Call it last in a transaction.

    Other transactions that change the same libraries wait from here until the commit.
    """
    mark = secrets.randbits(_MARK_BITS) + 1  # never 0, which marks rows of older versions
    for library, number in sorted(Counter(change.library for change in changes).items()):
        first = take(connection, f"{COUNTER}{library}", number)
        values = [
            {
                "library": library,
                "seq": first + at,
                "doc_id": change.doc_id,
                "content_id": change.content_id,
                "mark": mark,
            }
            for at, change in enumerate(change for change in changes if change.library == library)
        ]
        connection.execute(insert(schema.changes), values)


@dataclass(frozen=True, slots=True, kw_only=True)
class Publication:
    """A version of a document that is to become searchable.

    ``content`` is None if the catalog already has the parsed file. ``orders`` are the terms of its pages in reading
    order, None if they are not computed yet.
    """

    library: str
    doc_id: str
    path: str
    version: ContentVersion
    content: IndexedContent | None
    card: Card
    stamp: FileStamp
    orders: Sequence[bytes] | None = None


def write_document(connection: Connection, new: Publication, content_id: str | None) -> str | None:
    """Write the row of a published document. Return its previous content id, None if it had none.

    A new document gets the corrections of another document with the same content.
    """
    documents = schema.documents.c
    before = connection.execute(select(documents.content_id).where(documents.doc_id == new.doc_id)).one_or_none()
    values = {
        "library": new.library, "path": new.path, "name": document_name(connection, new.library, new.path),
        "content_id": content_id, "card": to_json(card_to_json(new.card)), **asdict(new.stamp),
        "indexed_at": now(), "error": "",
    }  # fmt: skip
    first = {"doc_id": new.doc_id, **values}
    if before is None and content_id is not None:
        first["corrections"] = rows.copied_corrections(connection, new.library, content_id)
    row = insert_into(connection, schema.documents).values(**first)
    connection.execute(row.on_conflict_do_update(index_elements=["doc_id"], set_=values))
    return before.content_id if before else None


@dataclass(frozen=True, slots=True)
class JobPublication:
    """The document that a running job publishes, and the next state of that job.

    ``content_id`` is the id of the document's new content. ``fence`` proves that the caller still runs the job.
    """

    new: Publication
    content_id: str
    fence: Fence
    advance: JobUpdate


def write_documents(connection: Connection, publications: Sequence[tuple[Publication, str]]) -> dict[str, str]:
    """Write the rows of documents with their new content ids. Return their former content ids by doc_id."""
    documents, before = schema.documents.c, dict[str, str]()
    for ids in parts([new.doc_id for new, _ in publications]):
        result = connection.execute(select(documents.doc_id, documents.content_id).where(documents.doc_id.in_(ids)))
        before |= {row.doc_id: row.content_id for row in result if row.content_id}
    time = now()
    values = [
        {
            "doc_id": new.doc_id, "library": new.library, "path": new.path,
            "name": document_name(connection, new.library, new.path), "content_id": content_id,
            "card": to_json(card_to_json(new.card)), **asdict(new.stamp), "indexed_at": time, "error": "",
        }
        for new, content_id in publications
    ]  # fmt: skip
    row = insert_into(connection, schema.documents)
    changed = {name: row.excluded[name] for name in values[0] if name != "doc_id"}
    connection.execute(row.on_conflict_do_update(index_elements=["doc_id"], set_=changed), values)
    return before


def with_members(connection: Connection, doc_ids: Sequence[str]) -> list[str]:
    """Return these ids, and the ids of all documents inside these documents, such as files in an archive."""
    documents, ids = schema.documents.c, dict.fromkeys(doc_ids)
    for doc_id in doc_ids:
        row = connection.execute(
            select(documents.library, documents.path).where(documents.doc_id == doc_id)
        ).one_or_none()
        if row is not None:
            ids |= dict.fromkeys(at_paths(connection, row.library, members(connection, row.library, row.path)))
    return list(ids)


def at_paths(connection: Connection, library: str, paths: Iterable[str]) -> list[str]:
    """Return the ids of the documents at these paths. A path without a document is left out."""
    documents = schema.documents.c
    ids = (
        connection.scalar(select(documents.doc_id).where(documents.library == library, documents.path == at))
        for at in paths
    )
    return [doc_id for doc_id in ids if doc_id is not None]


def remove_documents(connection: Connection, doc_ids: Sequence[str]) -> set[str]:
    """Remove documents and the documents inside them. Return the names of stored files that may be unused now."""
    documents, contents, files, changed = schema.documents.c, list[str](), set[str](), list[Changed]()
    recount = Recount(connection)
    for doc_id in with_members(connection, doc_ids):
        row = connection.execute(
            select(documents.library, documents.path, documents.content_id).where(documents.doc_id == doc_id)
        ).one_or_none()
        if row is None:
            continue
        files |= drop_originals(connection, row.library, [row.path, *members(connection, row.library, row.path)])
        connection.execute(delete(schema.documents).where(documents.doc_id == doc_id))
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


def replace_content(
    connection: Connection, content_id: str, content: ContentRows, recount: Recount
) -> tuple[str, list[Changed]]:
    """Replace a parsed document by ``content``, under a new content id. Return the new id and the changes to log.

    Readers cache parsed documents by content id, so a changed document needs a new id.
    """
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


def correct(
    catalog: TransactionalStore,
    doc_id: str,
    new: Mapping[str, str],
    undone: Collection[str],
    seen: Document | None = None,
) -> Literal["done", "gone", "changed"]:
    """Add corrections (``new``) of a document's card and undo others, in one transaction. Return the outcome.

    "gone" means that the document does not exist. "changed" means that its content or corrections differ from those
    of ``seen``, so that nothing was done. The correction is logged as a change of the document.
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
        remaining = {field: value for field, value in json.loads(row.corrections).items() if field not in undone}
        connection.execute(
            update(schema.documents).where(documents.doc_id == doc_id).values(corrections=to_json({**remaining, **new}))
        )
        log_changes(connection, [Changed(row.library, doc_id, row.content_id)])
    return "done"


def expect(catalog: TransactionalStore, library: str, doc_id: str, path: str, corrections: Mapping[str, str]) -> None:
    """Store corrections for a document that will be indexed later."""
    with catalog.writing() as connection:
        values = {
            "doc_id": doc_id, "library": library, "path": path,
            "name": document_name(connection, library, path), "content_id": None, "card": "{}",
            "corrections": to_json(dict(corrections)), "size": 0, "mtime": 0.0, "indexed_at": now(),
            "error": Note("job.file-waits").stored,
        }  # fmt: skip
        connection.execute(insert_into(connection, schema.documents).values(**values).on_conflict_do_nothing())
