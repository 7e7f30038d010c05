"""A file's content made, or found in the catalog, and published as a document."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from pathlib import Path

from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.types.documents import Card, IndexedContent
from hybrid_core.types.files import FileStamp
from hybrid_core.types.versions import ContentVersion, StoredVersion
from indexers.build.stored import StoredContents, card_of
from indexers.build.versions import with_ocr
from indexers.formats.limits import ParseLimits
from indexers.jobs.files import system_stat
from indexers.jobs.making import FileProgress, Maker
from indexers.jobs.parsing import Parser
from indexers.jobs.report import FileResult
from indexers.jobs.scans import ReadScans
from indexers.ocr.tesseract import Tesseract


@dataclass(frozen=True, slots=True)
class MadeVersion:
    """What was made of a file, and which version that is; ``scans`` says how far its scans are read."""

    version: ContentVersion
    content: IndexedContent
    scans: ReadScans


class Publisher:
    def __init__(
        self,
        catalog: Catalog,
        library: str,
        parser: Parser,
        maker: Maker,
        stored: StoredContents,
        limits: ParseLimits,
    ) -> None:
        self._catalog, self._library, self._maker, self._stored = catalog, library, maker, stored
        self.parser, self._limits = parser, limits
        self._content_locks: dict[str, threading.Lock] = {}
        self._lock = threading.Lock()

    def publish(
        self,
        file: Path,
        stamp: FileStamp,
        sha256: str,
        doc_id: str,
        ocr_seconds: float,
        progress: FileProgress | None,
    ) -> FileResult:
        """Publish what the catalog holds of the same bytes, or what is made of them now."""
        with self.content_lock(sha256):  # the same bytes twice in one run are parsed once
            if (shared := self._shared(file, sha256)) is not None:
                card = self._stored.card(file, shared.content_id)
                self.switch(file, stamp, doc_id, shared.version, None, card)
                with self._catalog.snapshot() as snapshot:
                    pages, sections = snapshot.extent(shared.content_id)
                note = "same bytes as a file indexed before"
                return FileResult(str(file), "indexed", None, doc_id, pages, sections, note=note)
            made = self.make(file, sha256, ocr_seconds, progress)
            self.switch(file, stamp, doc_id, made.version, made.content, card_of(file, made.content))
        pages, sections, note = len(made.content.pages), len(made.content.sections), "; ".join(made.content.warnings)
        if (now := system_stat(file)) is None or not stamp.fits(now):
            note = "; ".join(filter(None, (note, "it has changed since it was read: index it again")))
        unread = 0 if made.scans.stopped else made.scans.left
        return FileResult(str(file), "indexed", None, doc_id, pages, sections, note=note, unread=unread)

    def make(self, file: Path, sha256: str, ocr_seconds: float, progress: FileProgress | None) -> MadeVersion:
        """Raises DocumentError; ChangedError where the file's bytes are no longer those of the hash."""
        with self.parser.copy(file, sha256) as copy:
            made = self._maker.make(file, copy, ocr_seconds, progress)
        version = self._stored.wanted(file, sha256)
        if made.scanned and isinstance(ocr := self._stored.ocr(), Tesseract):
            tried, left = made.scans.tried, made.scans.left
            version = with_ocr(version, ocr, tried if left else None)
        return MadeVersion(version, made.content, made.scans)

    def switch(
        self,
        file: Path,
        stamp: FileStamp,
        doc_id: str,
        version: ContentVersion,
        content: IndexedContent | None,
        card: Card,
    ) -> None:
        """Point a document to a version, whose ``content`` is None where the catalog holds it."""
        self._catalog.publish(
            library=self._library, doc_id=doc_id, path=str(file), version=version, content=content,
            card=card, stamp=stamp,
        )  # fmt: skip

    def content_lock(self, content: str) -> threading.Lock:
        """Held by whoever makes something of the same bytes."""
        with self._lock:
            return self._content_locks.setdefault(content, threading.Lock())

    def _shared(self, file: Path, sha256: str) -> StoredVersion | None:
        """A stored version of the same bytes that serves. Raises DocumentError where this run may not open the file."""
        found = self._stored.best(self._stored.wanted(file, sha256))
        if found is None:
            return None
        pages = found.pages  # it may have been read under other limits
        self._limits.check("max_pages", pages, f"{file}: it has {pages:,} pages")
        if self._stored.encrypted(found.content_id):  # who does not know the password does not get the text
            with self.parser.copy(file, sha256) as copy:
                self.parser.opens(copy)
        return found
