"""The catalog: the authoritative database of libraries, documents and jobs.

Reads happen in snapshots; each write is one transaction.
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict, fields
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, bindparam, delete, select, update

from hybrid_core.cards.corrections import card_to_json
from hybrid_core.errors import NotFoundError, StoreError
from hybrid_core.store.catalog import rows, schema
from hybrid_core.store.catalog.documents import (
    Changed,
    JobPublication,
    Original,
    Publication,
    add_originals,
    at_paths,
    document_name,
    drop_originals,
    drop_unreferenced,
    is_member,
    log_changes,
    members,
    original_file,
    remove_documents,
    replace_content,
    used_files,
    with_members,
    write_document,
    write_documents,
)
from hybrid_core.store.catalog.frequencies import Recount
from hybrid_core.store.catalog.libraries import BINNED, RENEWED, create_library
from hybrid_core.store.catalog.rows import ContentRows, now
from hybrid_core.store.catalog.snapshot import Snapshot
from hybrid_core.store.database import parts
from hybrid_core.store.home import ORIGINALS, advice_of
from hybrid_core.store.jobs.outcomes import advance_job, advance_jobs, lock_job, log
from hybrid_core.store.tables import insert_into, to_json
from hybrid_core.types.documents import Card
from hybrid_core.types.files import FileStamp
from hybrid_core.types.jobs import Fence, JobUpdate
from hybrid_core.types.libraries import is_address
from hybrid_core.types.notes import stored_form

if TYPE_CHECKING:
    from hybrid_core.store.bucket import BucketAddress
    from hybrid_core.store.objects import ObjectStore

_log = logging.getLogger(__name__)

_PEOPLES_TABLES = frozenset({
    "audit", "citations", "conversations", "exclusions", "feedback", "grants", "jobs", "messages", "notes", "originals",
    "sources", "tokens",
})  # fmt: skip
"""The tables with data that users entered or requested."""
_ROWS_AT_ONCE = 1_000  # number of rows per read


class Catalog:
    """The database of libraries, documents and jobs. Safe for several threads and processes."""

    def __init__(
        self, path: Path, url: str = "", *, copying: bool = False, bucket: BucketAddress | None = None
    ) -> None:
        """Open the file ``path``, or the PostgreSQL database at ``url``.

        Original files are stored beside ``path``, or in a ``bucket``.
        """
        self.path, self.originals = path, path.with_name(ORIGINALS)
        self.url, self._bucket = url, bucket
        self._database = schema.open_catalog(path, url, copying=copying)
        if self.read_only:
            _log.warning(
                "The catalog %s is open for reading only (%s): searches work, and nothing can be indexed or recorded.",
                path.parent,
                self.read_only,
            )

    @property
    def read_only(self) -> str:
        """Return the reason why this catalog cannot be written, "" if it can."""
        return self._database.read_only

    def close(self) -> None:
        self._database.close()

    @cached_property
    def objects(self) -> ObjectStore:
        """Return the store of original files.

        Raise UsageError if this catalog uses another store than configured, UnreachableError if a bucket does not
        answer.
        """
        from hybrid_core.store.bucket import open_objects  # imported here, since searches do not need it

        return open_objects(self, self.path.parent, self._bucket)

    def reading(self) -> AbstractContextManager[Connection]:
        """Begin a consistent read of tables that ``snapshot`` does not show.

        It has the limits of ``snapshot`` and raises its errors.
        """
        return self._database.reading()

    @contextmanager
    def snapshot(self) -> Iterator[Snapshot]:
        """Open a consistent view of the catalog; later publications are invisible in it.

        Keep it short: it occupies one of ``database.CONNECTIONS`` and blocks the truncation of the write-ahead log.
        Raise BusyError if no connection becomes free, and StoreError if the catalog cannot be read.
        """
        with self._database.reading() as connection:
            yield Snapshot(connection)

    def writing(self) -> AbstractContextManager[Connection]:
        """Begin a write transaction.

        Raise BusyError if another process writes too long, StoreError for other failures.
        """
        return self._database.writing()

    def ensure_library(self, library: str) -> None:
        """Create a library unless its id exists. Raise UsageError for an invalid name."""
        with self.snapshot() as snapshot:
            if library in snapshot.libraries():
                return
            if library in snapshot.library_ids():
                raise NotFoundError(
                    f"The library '{library}' is in the bin.",
                    "Restore the library from the bin, or name another library.",
                )
        create_library(self, library.partition(RENEWED)[0], library=library)

    def publish(
        self, new: Publication, *, fence: Fence | None = None, advance: JobUpdate | None = None, anew: bool = False
    ) -> None:
        """Make a version of a document searchable, in one transaction.

        With ``anew`` its content replaces the stored content of all documents with the same bytes. ``fence`` proves
        that the caller still runs the job. ``advance`` is the job's next state; by default it continues. Raise
        NotFoundError if ``new`` has no content and the catalog no longer has it. Raise LeaseLostError, and publish
        nothing, if another worker has taken over the job.
        """
        content_rows = None if new.content is None else ContentRows.of(new.version, new.content)
        stored = list[bool]()

        def store(connection: Connection) -> None:
            if content_rows is not None and rows.content_id_of(connection, new.version) is None:
                stored.append(content_rows.insert(connection, new.version.new_id()))

        with self._database.writing(before=store) as connection:
            events = [] if fence is None else advance_job(connection, fence, advance or JobUpdate())
            content_id = rows.content_id_of(connection, new.version)
            if content_id is None and content_rows is None:
                raise NotFoundError(
                    f"{new.path}: another process has just removed a document with the same content, so "
                    "this file must be read again.",
                    "Index it again.",
                )
            changed, recount = list[Changed](), Recount(connection)
            if content_id is None and content_rows is not None:  # another process removed it before this transaction
                content_rows.insert(connection, content_id := new.version.new_id())
            elif content_id is not None and content_rows is not None and anew and not any(stored):
                content_id, changed = replace_content(connection, content_id, content_rows, recount)
            before = write_document(connection, new, content_id)
            if before != content_id:
                recount.subtract(new.library, before)
                recount.add(new.library, content_id)
            if before and before != content_id:
                drop_unreferenced(connection, [before])
            recount.write()
            others = [change for change in changed if change.doc_id != new.doc_id]
            log_changes(connection, [*others, Changed(new.library, new.doc_id, content_id)])
            log(connection, events)

    def publish_together(self, publications: Sequence[JobPublication]) -> tuple[frozenset[int], frozenset[int]]:
        """Make documents with new contents searchable, in one transaction, each with the next state of its job.

        Return two sets of jobs whose documents were not published: jobs that another worker has taken over, and jobs
        whose content the catalog already has. Pass the latter to ``publish``.
        """
        contents = {
            entry.content_id: ContentRows.of(entry.new.version, entry.new.content, entry.new.orders)
            for entry in publications
            if entry.new.content is not None
        }
        inserted = frozenset[str]()

        def store(connection: Connection) -> None:
            nonlocal inserted
            inserted = rows.insert_contents(connection, list(contents.items()))

        with self._database.writing(before=store) as connection:
            new = [entry for entry in publications if entry.content_id in inserted]
            events, lost = advance_jobs(connection, [(entry.fence, entry.advance) for entry in new])
            for entry in new:
                if entry.fence.job in lost:
                    rows.delete_content(connection, entry.content_id)
            new = [entry for entry in new if entry.fence.job not in lost]
            if new:
                recount = Recount(connection)
                before = write_documents(connection, [(entry.new, entry.content_id) for entry in new])
                for entry in new:
                    recount.subtract(entry.new.library, before.get(entry.new.doc_id))
                    recount.add_new(entry.new.library, contents[entry.content_id].terms["body"])
                drop_unreferenced(connection, list(before.values()))
                recount.write()
                log_changes(
                    connection, [Changed(entry.new.library, entry.new.doc_id, entry.content_id) for entry in new]
                )
            log(connection, events)
        done = {entry.fence.job for entry in new} | lost
        return lost, frozenset(entry.fence.job for entry in publications if entry.fence.job not in done)

    def move(self, doc_id: str, before: str, *, path: str, card: Card, stamp: FileStamp) -> bool:
        """Record the new path of a moved, unchanged file. Return False if the document is no longer at ``before``."""
        unused = set[str]()
        with self.writing() as connection:
            documents = schema.documents.c
            library = connection.scalar(select(documents.library).where(documents.doc_id == doc_id)) or ""
            values = {
                "path": path, "name": document_name(connection, library, path),
                "card": to_json(card_to_json(card)), **asdict(stamp), "error": "",
            }  # fmt: skip
            moved = connection.execute(
                update(schema.documents)
                .where(documents.doc_id == doc_id, documents.path == before)
                .values(**values)
                .returning(documents.library, documents.content_id)
            ).one_or_none()
            if moved is not None:  # readers refresh names and cards when the change log grows
                left = [before, *members(connection, moved.library, before)]
                unused = drop_originals(connection, moved.library, left)
                log_changes(connection, [Changed(moved.library, doc_id, moved.content_id)])
        self._delete_unused(unused)
        return moved is not None

    def found_unchanged(self, stamps: Mapping[str, FileStamp]) -> None:
        """Record new sizes and times of files, by doc_id. Their bytes were read again and have not changed."""
        if not stamps:
            return
        documents = schema.documents.c
        changed: dict[str, Any] = {field.name: bindparam(f"new_{field.name}") for field in fields(FileStamp)}
        values = [
            {"id": doc_id} | {f"new_{name}": value for name, value in asdict(stamp).items()}
            for doc_id, stamp in stamps.items()
        ]
        with self.writing() as connection:
            connection.execute(
                update(schema.documents).where(documents.doc_id == bindparam("id")).values(**changed, error=""), values
            )

    def record_failure(
        self, *, library: str, doc_id: str, path: str, size: int, error: str, fence: Fence | None = None
    ) -> None:
        """Record why a file could not be indexed. Its older version, if any, stays searchable.

        ``fence`` proves that the caller still runs the job.
        """
        with self.writing() as connection:
            if fence is not None:
                lock_job(connection, fence)
            new = {
                "library": library, "path": path, "name": document_name(connection, library, path),
                "content_id": None, "card": "{}", "size": size, "mtime": 0.0, "indexed_at": now(),
                "error": stored_form(error),
            }  # fmt: skip
            connection.execute(
                insert_into(connection, schema.documents).values(doc_id=doc_id, **new).on_conflict_do_update(
                    index_elements=["doc_id"], set_={"error": stored_form(error)}
                )
            )  # fmt: skip

    def discard(self, content_ids: Sequence[str], error: str) -> None:
        """Remove damaged contents (parsed documents), by their ids.

        The documents cannot be searched, and carry the message ``error``, until they are indexed again.
        """
        documents = schema.documents.c
        changed: list[Changed] = []
        with self.writing() as connection:
            recount = Recount(connection)
            for content_id in content_ids:
                users = connection.execute(
                    select(documents.library, documents.doc_id).where(documents.content_id == content_id)
                ).all()
                values = {"content_id": None, "error": error}
                connection.execute(update(schema.documents).where(documents.content_id == content_id).values(**values))
                changed += (Changed(user.library, user.doc_id, None) for user in users)
                for user in users:
                    recount.subtract(user.library, content_id)
                rows.delete_content(connection, content_id)
            recount.write()
            log_changes(connection, changed)

    def remove(self, doc_ids: Sequence[str]) -> None:
        """Remove documents and the documents inside them, such as files in an archive.

        All data that no other document uses is removed too.
        """
        with self.writing() as connection:
            unused = remove_documents(connection, doc_ids)
        self._delete_unused(unused)

    def with_members(self, doc_ids: Sequence[str]) -> list[str]:
        """Return these ids, and the ids of all documents inside these documents, such as files in an archive."""
        with self._database.reading() as connection:
            return with_members(connection, doc_ids)

    def keep(self, library: str, container: str, originals: Sequence[Original]) -> list[str]:
        """Store the files of all members of a container (an archive or mail), at any depth.

        Return the addresses of former members that are no longer in the container; they are removed. For uploaded files
        ``container`` is "". Raise StoreError if the files cannot be stored.
        """
        objects = self.objects
        try:
            for original in originals:
                objects.upload(original.name, original.file)
            with self.writing() as connection:
                before = members(connection, library, container) if container else []
                unused = add_originals(connection, objects, library, originals)
                paths = {original.path for original in originals}
                gone = [path for path in before if path not in paths]
                unused |= remove_documents(connection, at_paths(connection, library, gone))
                unused |= drop_originals(connection, library, gone)
            for original in originals:
                objects.confirm(original.name, original.file)
        except OSError as error:
            advice = advice_of(str(error.strerror), self.path.parent, "Check the folder's permissions.")
            raise StoreError(
                f"{self.originals}: the copy of an original file cannot be written to this folder ({error.strerror}).",
                advice,
            ) from error
        self._delete_unused(unused)
        return gone

    def kept_as(self, library: str, path: str | Path) -> str | None:
        """Return the name of the file that the store keeps for a document, None if its path is a user's own file."""
        if not is_address(str(path)):
            return None
        with self._database.reading() as connection:
            return original_file(connection, library, str(path))

    def locate(self, library: str, path: str | Path) -> Path:
        """Return the path of the file with a document's bytes. Download it from the bucket if needed.

        Raise UnreachableError if the bucket does not answer.
        """
        name = self.kept_as(library, path)
        return Path(path) if name is None else self.objects.fetch(name)

    def place(self, library: str, path: str | Path) -> Path:
        """Return the local path of the file with a document's bytes, without a download: the file may be missing."""
        name = self.kept_as(library, path)
        return Path(path) if name is None else self.objects.place(name)

    def is_member(self, library: str, path: str) -> bool:
        """Return whether a path is the address of a file inside a container."""
        with self._database.reading() as connection:
            return is_member(connection, library, path)

    def members(self, library: str, container: str) -> list[str]:
        """Return the addresses of all files that were inside a container when it was last opened, at any depth."""
        with self._database.reading() as connection:
            return members(connection, library, container)

    def sweep_originals(self) -> None:
        """Delete stored files that no document uses, such as leftovers of a killed process."""
        self._delete_unused(list(self.objects.names()))

    def _delete_unused(self, files: Collection[str]) -> None:
        """Delete each of these stored files that no document uses.

        Use several transactions, so that other processes can write in between.
        """
        for some in parts(list(files)):
            unused = set(some) - self._used(some)
            if unused:
                objects = self.objects
                with self.writing() as connection:  # no document can begin to use one within this transaction
                    unused -= used_files(connection, unused)
                    for file in unused:
                        objects.drop(file)
                objects.delete(unused, self._used)

    def _used(self, files: Collection[str]) -> set[str]:
        with self._database.reading() as connection:
            return used_files(connection, files)

    def remove_library(self, name: str) -> None:
        """Remove a library with its documents, notes, feedback and access rights."""
        from hybrid_core.store.access import forget_grants
        from hybrid_core.store.conversations.conversations import forget_library

        with self.snapshot() as snapshot:
            doc_ids = [document.doc_id for document in snapshot.documents(name)]
        self.remove(doc_ids)
        with self.writing() as connection:
            forget_grants(connection, name)
            forget_library(connection, name)
            for table in (schema.originals, schema.sources, schema.exclusions):
                connection.execute(delete(table).where(table.c.library == name))
            connection.execute(delete(schema.libraries).where(schema.libraries.c.id == name))
            connection.execute(delete(schema.meta).where(schema.meta.c.key == BINNED + name))
            rows.drop_unused_vectors(connection)

    def leave_epoch(self, epoch: str) -> str:
        """Replace the epoch, which separates the catalog's search index from that of a copy. Return the new one.

        If ``epoch`` is no longer the current epoch, another process has replaced it: return the current one.
        """
        with self.writing() as connection:
            current = Snapshot(connection).epoch()
            if current == epoch:
                current = secrets.token_hex(4)
                new = insert_into(connection, schema.meta).values(key=schema.EPOCH, value=current)
                connection.execute(new.on_conflict_do_update(index_elements=["key"], set_={"value": current}))
        return current

    def clear(self, session: str = "") -> None:
        """Delete everything except the login session with this secret. The catalog gets a new id."""
        from hybrid_core.store.access import secret_hash
        from hybrid_core.store.catalog.maintenance import forget_everything

        with self.writing() as connection:
            forget_everything(connection, secret_hash(session) if session else "")

    def shrink(self) -> None:
        """Return the space of deleted rows to the disk. Do nothing while another process is writing."""
        self._database.shrink()

    def wipe(self) -> None:
        """Remove the remains of deleted rows from the disk, such as old pages in the write-ahead log."""
        self._database.wipe()

    def __str__(self) -> str:
        """Return the path of the file, or the address of the database without its password."""
        return str(self._database)

    def check(self) -> str:
        """Return the schema version and size as text.

        Raise StoreError if a quick check, or reading the data that users entered, finds damage.
        """
        self._database.check()
        with self.snapshot() as snapshot:
            for library in snapshot.libraries():
                snapshot.documents(library)
        with self._database.reading() as connection:
            for table in schema.whole().sorted_tables:
                if table.name in _PEOPLES_TABLES:
                    rows_read = connection.execution_options(yield_per=_ROWS_AT_ONCE).execute(select(table))
                    for _ in rows_read.partitions():
                        pass
        return f"schema {schema.SCHEMA_VERSION}, {self.size_bytes() / 1e6:.1f} MB"

    def size_bytes(self) -> int:
        """Return the size on the disk in bytes."""
        return self._database.size_bytes()
