"""Files that need not be read again, by what the system tells of them."""

from __future__ import annotations

import threading
from pathlib import Path

from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.types.documents import Document
from hybrid_core.types.files import FileStamp
from hybrid_core.types.versions import StoredVersion
from indexers.build.stored import StoredContents
from indexers.files.private_copy import system_stat
from indexers.formats.registry import format_unchanged

_TOGETHER = 1_000  # stamps that are written in one transaction


class UnchangedFiles:
    """What a library's files were like when they were read last."""

    def __init__(self, catalog: Catalog, library: str, stored: StoredContents) -> None:
        self._catalog, self._library, self._stored = catalog, library, stored
        with catalog.snapshot() as snapshot:
            self._stamps = snapshot.stamps(library)
            self._versions = snapshot.published_versions(library)
            self._unread = snapshot.unread()

    def version(self, document: Document) -> StoredVersion | None:
        """What a document is published with."""
        return self._versions.get(document.content_id)

    def known(self, file: Path, document: Document) -> bool:
        """Whether a document is surely what would be made of its file now, which is not read."""
        stored, stamp = self.version(document), self._stamps.get(document.doc_id)
        if document.error or stored is None or stamp is None:
            return False
        at = self._catalog.locate(self._library, file)
        stat = system_stat(at)
        if stat is None or not stamp.proves(stat):
            return False
        wanted = self._stored.of_format(document.sha256, format_unchanged(at, document.format))
        return self._stored.serves(stored, wanted, document.content_id in self._unread)


class NewStamps:
    """Those of files that were read and found unchanged, written many at once. Safe for several threads."""

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
