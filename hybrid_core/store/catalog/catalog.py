"""The catalog: the single source of truth. Reads happen in snapshots, writes in one transaction each."""

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

from hybrid_core.cards.as_json import card_to_json
from hybrid_core.errors import NotFoundError, StoreError
from hybrid_core.store.catalog import originals, rows, schema
from hybrid_core.store.catalog.changes import Changed, log_changes
from hybrid_core.store.catalog.content_rows import ContentRows
from hybrid_core.store.catalog.frequencies import Recount
from hybrid_core.store.catalog.libraries import BINNED, RENEWED, create_library
from hybrid_core.store.catalog.originals import Original
from hybrid_core.store.catalog.removal import at_paths, drop_unreferenced, remove_documents, with_members
from hybrid_core.store.catalog.replacing import replace_content
from hybrid_core.store.catalog.rows import now
from hybrid_core.store.catalog.snapshot import Snapshot
from hybrid_core.store.home import ORIGINALS, advice_of
from hybrid_core.store.parts import parts
from hybrid_core.store.tables import insert_into
from hybrid_core.store.text import to_json
from hybrid_core.types.addresses import is_address
from hybrid_core.types.documents import Card, IndexedContent
from hybrid_core.types.files import FileStamp
from hybrid_core.types.versions import ContentVersion

if TYPE_CHECKING:
    from hybrid_core.store.objects.bucket import BucketAddress
    from hybrid_core.store.objects.objects import Objects
    from hybrid_core.types.jobs import Advance, Fence

_log = logging.getLogger(__name__)

_MADE = frozenset({
    "audit", "citations", "conversations", "exclusions", "feedback", "grants", "jobs", "messages", "notes", "originals",
    "sources", "tokens",
})  # fmt: skip
"""Tables of what people made, or asked for."""
_TOGETHER = 1_000  # rows


class Catalog:
    """One catalog. Safe to use from several threads, and by several processes at once."""

    def __init__(
        self, path: Path, url: str = "", *, copying: bool = False, bucket: BucketAddress | None = None
    ) -> None:
        """In the file ``path``, or at the ``url`` of a PostgreSQL database; its originals beside ``path``, or in a
        ``bucket``.
        """
        self.path, self.originals = path, path.with_name(ORIGINALS)
        self.url, self._bucket = url, bucket
        self._database = schema.open_catalog(path, url, copying=copying)
        if self.read_only:
            _log.warning("%s cannot be written (%s): it is read, and nothing is recorded.", path.parent, self.read_only)

    @property
    def read_only(self) -> str:
        """Why this catalog is only read, "" where it can be written."""
        return self._database.read_only

    def close(self) -> None:
        self._database.close()

    @cached_property
    def objects(self) -> Objects:
        """What keeps originals. Raises UsageError where another place keeps those of this catalog, UnreachableError
        where a bucket does not answer.
        """
        from hybrid_core.store.objects.opening import open_objects  # a search needs none of it

        return open_objects(self, self.path.parent, self._bucket)

    def reading(self) -> AbstractContextManager[Connection]:
        """One consistent view, for what other rooms keep in the same file; see ``snapshot``."""
        return self._database.reading()

    @contextmanager
    def snapshot(self) -> Iterator[Snapshot]:
        """A consistent view: nothing that is published meanwhile is seen.

        For a short read only: it holds one of ``database.CONNECTIONS``, and while it is open the write-ahead log
        cannot be folded back. Raises BusyError where none gets free, StoreError where the catalog cannot be read.
        """
        with self._database.reading() as connection:
            yield Snapshot(connection)

    def writing(self) -> AbstractContextManager[Connection]:
        """One write transaction. Raises BusyError where another process writes too long, StoreError otherwise."""
        return self._database.writing()

    def ensure_library(self, library: str) -> None:
        """Create a library unless there is one of this id. Raises UsageError for a name that cannot be one."""
        with self.snapshot() as snapshot:
            if library in snapshot.libraries():
                return
            if library in snapshot.library_ids():
                raise NotFoundError(f"The library '{library}' is in the bin.", "Restore it, or name another one.")
        create_library(self, library.partition(RENEWED)[0], library=library)

    def publish(
        self,
        *,
        library: str,
        doc_id: str,
        path: str,
        version: ContentVersion,
        content: IndexedContent | None,
        card: Card,
        stamp: FileStamp,
        fence: Fence | None = None,
        advance: Advance | None = None,
        anew: bool = False,
    ) -> None:
        """Switch a document to a version, in one transaction.

        ``content`` is None where the catalog is known to hold that version already; raises
        NotFoundError where it meanwhile does not. With ``anew`` it takes the place of what is stored of that version,
        for all documents. ``fence`` is of the job that made it, and ``advance`` what becomes of
        the job by that (by default it goes on); raises LeaseLostError, and publishes nothing, where another has it.
        """
        from hybrid_core.store.jobs.events import log  # no search needs these, and they take a while to import
        from hybrid_core.store.jobs.fencing import advance_job
        from hybrid_core.types.jobs import Advance

        made = None if content is None else ContentRows.of(version, content)

        def store(connection: Connection) -> None:
            if made is not None and rows.content_id_of(connection, version) is None:
                stored.append(made.insert(connection, version.new_id()))

        stored = list[bool]()
        with self._database.writing(before=store) as connection:
            happened = [] if fence is None else advance_job(connection, fence, advance or Advance())
            content_id = rows.content_id_of(connection, version)
            if content_id is None and made is None:
                raise NotFoundError(f"{path}: its shared content was removed meanwhile.", "Index it again.")
            changed, recount = list[Changed](), Recount(connection)
            if content_id is None and made is not None:  # it was there, and was removed before it was our turn
                made.insert(connection, content_id := version.new_id())
            elif content_id is not None and made is not None and anew and not any(stored):
                content_id, changed = replace_content(connection, content_id, made, recount)
            known = connection.execute(
                select(schema.documents.c.content_id).where(schema.documents.c.doc_id == doc_id)
            ).one_or_none()
            before = known.content_id if known else None
            values = {
                "library": library, "path": path, "name": originals.document_name(connection, library, path),
                "content_id": content_id,
                "card": to_json(card_to_json(card)), **asdict(stamp),
                "indexed_at": now(), "error": "",
            }  # fmt: skip
            first = (
                {}
                if known or content_id is None
                else {"corrections": rows.copied_corrections(connection, library, content_id)}
            )
            new = insert_into(connection, schema.documents).values(doc_id=doc_id, **values, **first)
            connection.execute(new.on_conflict_do_update(index_elements=["doc_id"], set_=values))
            if before != content_id:
                recount.subtract(library, before)
                recount.add(library, content_id)
            if before and before != content_id:
                drop_unreferenced(connection, [before])
            recount.write()
            others = [one for one in changed if one.doc_id != doc_id]
            log_changes(connection, [*others, Changed(library, doc_id, content_id)])
            log(connection, happened)

    def move(self, doc_id: str, before: str, *, path: str, card: Card, stamp: FileStamp) -> bool:
        """Record where an unchanged file now lies that lay at ``before``; False where it does so no more."""
        unused = set[str]()
        with self.writing() as connection:
            documents = schema.documents.c
            library = connection.scalar(select(documents.library).where(documents.doc_id == doc_id)) or ""
            values = {
                "path": path, "name": originals.document_name(connection, library, path),
                "card": to_json(card_to_json(card)), **asdict(stamp), "error": "",
            }  # fmt: skip
            moved = connection.execute(
                update(schema.documents)
                .where(documents.doc_id == doc_id, documents.path == before)
                .values(**values)
                .returning(documents.library, documents.content_id)
            ).one_or_none()
            if moved is not None:  # readers refresh names and cards when the log moves
                left = [before, *originals.members(connection, moved.library, before)]
                unused = originals.drop_originals(connection, moved.library, left)
                log_changes(connection, [Changed(moved.library, doc_id, moved.content_id)])
        self._delete_unused(unused)
        return moved is not None

    def found_unchanged(self, stamps: Mapping[str, FileStamp]) -> None:
        """Record what files are like, by doc_id, whose bytes were read and are those that were indexed."""
        if not stamps:
            return
        known = schema.documents.c
        changed: dict[str, Any] = {field.name: bindparam(f"new_{field.name}") for field in fields(FileStamp)}
        values = [
            {"id": doc_id} | {f"new_{name}": value for name, value in asdict(stamp).items()}
            for doc_id, stamp in stamps.items()
        ]
        with self.writing() as connection:
            connection.execute(
                update(schema.documents).where(known.doc_id == bindparam("id")).values(**changed, error=""), values
            )

    def record_failure(
        self, *, library: str, doc_id: str, path: str, size: int, error: str, fence: Fence | None = None
    ) -> None:
        """Remember why a file could not be indexed; a version published earlier stays. ``fence`` as in ``publish``."""
        from hybrid_core.store.jobs.fencing import held

        with self.writing() as connection:
            if fence is not None:
                held(connection, fence)
            new = {
                "library": library, "path": path, "name": originals.document_name(connection, library, path),
                "content_id": None, "card": "{}", "size": size, "mtime": 0.0, "indexed_at": now(), "error": error,
            }  # fmt: skip
            connection.execute(
                insert_into(connection, schema.documents).values(doc_id=doc_id, **new).on_conflict_do_update(
                    index_elements=["doc_id"], set_={"error": error}
                )
            )  # fmt: skip

    def discard(self, content_ids: Sequence[str], error: str) -> None:
        """Take out contents that are wrong: their documents stay with ``error``, not published, until they are indexed
        again.
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
        """Remove documents and what lies in them, in one transaction; what nothing else uses goes with them."""
        with self.writing() as connection:
            unused = remove_documents(connection, doc_ids)
        self._delete_unused(unused)

    def with_members(self, doc_ids: Sequence[str]) -> list[str]:
        """Documents, and those of all that lies in them."""
        with self._database.reading() as connection:
            return with_members(connection, doc_ids)

    def keep(self, library: str, container: str, found: Sequence[Original]) -> list[str]:
        """Keep the bytes of all that lies in a container now, however deep; "": of uploads. What lay in it before and
        does not now is removed. Returns the addresses of that. Raises StoreError where the bytes cannot be kept.
        """
        objects = self.objects
        try:
            for one in found:
                objects.upload(one.name, one.file)
            with self.writing() as connection:
                before = originals.members(connection, library, container) if container else []
                unused = originals.add_originals(connection, objects, library, found)
                now = {one.path for one in found}
                gone = [path for path in before if path not in now]
                unused |= remove_documents(connection, at_paths(connection, library, gone))
                unused |= originals.drop_originals(connection, library, gone)
            for one in found:
                objects.confirm(one.name, one.file)
        except OSError as error:
            advice = advice_of(str(error.strerror), self.path.parent, "Check the folder's permissions.")
            raise StoreError(f"{self.originals}: cannot be written ({error.strerror}).", advice) from error
        self._delete_unused(unused)
        return gone

    def kept_as(self, library: str, path: str | Path) -> str | None:
        """The name under which a document's bytes are kept; None where its path names a file of the user's."""
        if not is_address(str(path)):
            return None
        with self._database.reading() as connection:
            return originals.original_file(connection, library, str(path))

    def locate(self, library: str, path: str | Path) -> Path:
        """Where a document's bytes lie: where they are kept, fetched from there where that is a bucket, else in the
        file that its path names. Raises UnreachableError where they cannot be fetched now.
        """
        name = self.kept_as(library, path)
        return Path(path) if name is None else self.objects.fetch(name)

    def place(self, library: str, path: str | Path) -> Path:
        """Where they lie or will lie in this home; nothing is fetched."""
        name = self.kept_as(library, path)
        return Path(path) if name is None else self.objects.place(name)

    def is_member(self, library: str, path: str) -> bool:
        """Whether it is the address of what lies in a container."""
        with self._database.reading() as connection:
            return originals.is_member(connection, library, path)

    def members(self, library: str, container: str) -> list[str]:
        """The addresses of all that lay in a container when it was last opened, however deep."""
        with self._database.reading() as connection:
            return originals.members(connection, library, container)

    def sweep_originals(self) -> None:
        """Delete kept files that no document uses, such as a killed process leaves."""
        self._delete_unused(list(self.objects.names()))

    def _delete_unused(self, files: Collection[str]) -> None:
        """Others write in between."""
        for some in parts(list(files)):
            unused = set(some) - self._used(some)
            if unused:
                objects = self.objects
                with self.writing() as connection:  # in which nobody comes to use one
                    unused -= originals.used(connection, unused)
                    for file in unused:
                        objects.drop(file)
                objects.delete(unused, self._used)

    def _used(self, files: Collection[str]) -> set[str]:
        with self._database.reading() as connection:
            return originals.used(connection, files)

    def remove_library(self, name: str) -> None:
        """Remove a library with all its documents, what was said about it, and everybody's rights in it."""
        from hybrid_core.store.access.tokens import forget_grants
        from hybrid_core.store.conversations.forgetting import forget_library

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
        """Choose a new epoch in place of this one, and return it, or the one that another process chose before."""
        with self.writing() as connection:
            current = Snapshot(connection).epoch()
            if current == epoch:
                current = secrets.token_hex(4)
                new = insert_into(connection, schema.meta).values(key=schema.EPOCH, value=current)
                connection.execute(new.on_conflict_do_update(index_elements=["key"], set_={"value": current}))
        return current

    def clear(self, session: str = "") -> None:
        """Forget everything but the session with this secret. It is another catalog from now on, by its id."""
        from hybrid_core.store.access.tokens import secret_hash
        from hybrid_core.store.catalog.clearing import forget_everything

        with self.writing() as connection:
            forget_everything(connection, secret_hash(session) if session else "")

    def shrink(self) -> None:
        """Give deleted rows' space back to the disk. Skipped silently while another process is writing."""
        self._database.shrink()

    def __str__(self) -> str:
        """The file, or the address of the database without its password."""
        return str(self._database)

    def check(self) -> str:
        """Return the schema version and size. Raises StoreError where a quick check, or reading what people made, finds
        damage."""
        self._database.check()
        with self.snapshot() as snapshot:
            for library in snapshot.libraries():
                snapshot.documents(library)
        with self._database.reading() as connection:
            for table in schema.whole().sorted_tables:
                if table.name in _MADE:
                    rows_read = connection.execution_options(yield_per=_TOGETHER).execute(select(table))
                    for _ in rows_read.partitions():
                        pass
        return f"schema {schema.SCHEMA_VERSION}, {self.size_bytes() / 1e6:.1f} MB"

    def size_bytes(self) -> int:
        """That it takes on its disk."""
        return self._database.size_bytes()
