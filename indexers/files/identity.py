"""Match files with documents: detect changed, moved and missing files."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Sequence
from pathlib import Path

from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.store.catalog.libraries import others_sources
from hybrid_core.types.documents import Document
from hybrid_core.types.files import FileStamp, StoredVersion
from hybrid_core.types.libraries import containers, is_there
from indexers.assembly.versions import StoredContents
from indexers.files.private_copy import system_stat
from indexers.formats.registry import format_unchanged

_TOGETHER = 1_000  # file stamps written in one transaction


_NAMESPACE = uuid.UUID("5b1b5c0e-6f0e-4d3c-9f58-0d3b6f6c7a11")


def document_at(catalog: Catalog, library: str, file: Path) -> Document | None:
    with catalog.snapshot() as snapshot:
        return snapshot.document_at(library, str(file))


def moved_from(catalog: Catalog, library: str, sha256: str, format: str, machine: str = "") -> list[Document]:
    """Return the documents with these bytes whose files are missing. They may be the old places of a moved file.

    Documents from sources of other machines are left out.
    """
    with catalog.snapshot() as snapshot:
        documents = snapshot.documents_of_bytes(library, sha256, format)
    gone = [document for document in documents if not is_there(document.path)]
    others = others_sources(catalog, library, machine) if gone else []
    return [document for document in gone if not any(source.holds(document.path) for source in others)]


def usual_id(library: str, path: str) -> str:
    """Return the default document id for a path. A document that has moved elsewhere may already use it."""
    return uuid.uuid5(_NAMESPACE, f"{library}\n{path}").hex[:12]


def new_id(catalog: Catalog, library: str, file: Path) -> str:
    """Return a stable document id for a path in a library.

    It differs from the default id if a document that has moved elsewhere uses that one.
    """
    number = 0
    while True:
        doc_id = usual_id(library, f"{file}\n{number}" if number else str(file))
        with catalog.snapshot() as snapshot:
            path = snapshot.path_of(doc_id)
        if path is None or path == str(file):
            return doc_id
        number += 1


def prune(catalog: Catalog, library: str, roots: Sequence[Path]) -> tuple[str, ...]:
    """Remove a library's documents below ``roots`` whose files are missing. Return the removed documents' paths."""
    missing = gone(catalog, library, roots)
    catalog.remove(list(missing))
    return tuple(missing.values())


def gone(catalog: Catalog, library: str, roots: Sequence[Path]) -> dict[str, str]:
    """Return the documents of a library whose files below ``roots`` no longer exist, as ``{doc_id: path}``."""
    with catalog.snapshot() as snapshot:
        paths = snapshot.paths(library)
    return {
        doc_id: path
        for doc_id, path in paths.items()
        if not is_there(path)
        and any(
            root in map(Path, (path, *containers(path)))
            or (root.is_dir() and root in Path(path).parents)  # a missing folder may be on an unmounted disk
            for root in roots
        )
    }


class UnchangedFiles:
    """A test of which files of a library are unchanged, from their stored sizes and times."""

    def __init__(self, catalog: Catalog, library: str, stored: StoredContents) -> None:
        self._catalog, self._library, self._stored = catalog, library, stored
        with catalog.snapshot() as snapshot:
            self._stamps = snapshot.stamps(library)
            self._versions = snapshot.published_versions(library)
            self._unread = snapshot.unread()

    def version(self, document: Document) -> StoredVersion | None:
        """Return the published version of a document."""
        return self._versions.get(document.content_id)

    def is_unchanged(self, file: Path, document: Document) -> bool:
        """Return whether a file is certainly unchanged since it was indexed, without reading it."""
        stored, stamp = self.version(document), self._stamps.get(document.doc_id)
        if document.error or stored is None or stamp is None:
            return False
        at = self._catalog.locate(self._library, file)
        stat = system_stat(at)
        if stat is None or not stamp.proves(stat):
            return False
        target = self._stored.of_format(document.sha256, format_unchanged(at, document.format))
        return self._stored.serves(stored, target, document.content_id in self._unread)


class NewStamps:
    """Sizes and times (stamps) of files that were read and found unchanged. They are stored in batches.

    Safe for several threads.
    """

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._lock = threading.Lock()
        self._new: dict[str, FileStamp] = {}

    def add(self, document: Document, stamp: FileStamp) -> None:
        with self._lock:
            self._new[document.doc_id] = stamp
            if len(self._new) < _TOGETHER:
                return
        self.save()

    def save(self) -> None:
        with self._lock:
            new, self._new = self._new, {}
        self._catalog.found_unchanged(new)
