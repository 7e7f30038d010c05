"""Building the parsed document of a file, or reusing a stored one, and its publication."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from dataclasses import dataclass
from weakref import WeakValueDictionary

from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.store.catalog.documents import Publication
from hybrid_core.types.documents import Card, IndexedContent
from hybrid_core.types.files import ContentVersion, FileStamp, StoredVersion
from hybrid_core.types.jobs import JobUpdate
from hybrid_core.types.locators import RegionsByPage
from hybrid_core.types.notes import Note
from indexers.assembly.versions import StoredContents, card_of, with_ocr
from indexers.files.private_copy import PrivateCopy, system_stat
from indexers.formats.limits import ParseLimits
from indexers.jobs.reader import Maker, Parser, ReadScans
from indexers.jobs.report import FileResult
from indexers.jobs.stage_run import StageRun
from indexers.ocr.engines import Ocr
from indexers.outline.quality import is_low


@dataclass(frozen=True, slots=True)
class MadeVersion:
    """A newly parsed document, the version record of its origin, and the outcome of OCR on its scanned pages."""

    version: ContentVersion
    content: IndexedContent
    scans: ReadScans


class Publisher:
    """Builds and publishes documents.

    ``ending`` returns the next state of a job for its result. It is written in the same transaction as the document.
    """

    def __init__(
        self,
        catalog: Catalog,
        parser: Parser,
        maker: Maker,
        stored: StoredContents,
        limits: ParseLimits,
        ending: Callable[[StageRun, FileResult], JobUpdate],
    ) -> None:
        self._catalog, self._maker, self.stored = catalog, maker, stored
        self.parser, self._limits, self._ending = parser, limits, ending
        self._content_locks: WeakValueDictionary[str, threading.Lock] = WeakValueDictionary()
        self._lock = threading.Lock()

    def publish(
        self,
        run: StageRun,
        stamp: FileStamp,
        sha256: str,
        doc_id: str,
        ocr_seconds: float,
        on_page: Callable[[int], None],
    ) -> FileResult:
        """Publish a file as a document, and return the result of the file.

        A stored parsed document of the same bytes is used if possible. If not, the file is parsed.
        """
        with self.content_lock(sha256):  # the same bytes twice in one process are parsed once
            if not run.anew and (shared := self._shared(run, sha256)) is not None:
                with self._catalog.snapshot() as snapshot:
                    pages, sections = snapshot.extent(shared.content_id)
                note = Note.joined((Note("file.same-content"), *run.notes))
                result = FileResult(str(run.file), "indexed", None, doc_id, pages, sections, note=note)
                card = self.stored.card(run.file, shared.content_id)
                return self.switch(run, stamp, shared.version, None, card, result)
            version = self.make(run, sha256, ocr_seconds, on_page)
            content = version.content
            note = published_note(run, content, stamp, system_stat(run.source))
            unread = 0 if version.scans.stopped else version.scans.left
            pages, sections = len(content.pages), len(content.sections)
            result = FileResult(
                str(run.file), "indexed", None, doc_id, pages, sections, note=note, unread=unread
            )  # fmt: skip
            return self.switch(run, stamp, version.version, content, card_of(run.file, content), result)

    def make(self, run: StageRun, sha256: str, ocr_seconds: float, on_page: Callable[[int], None]) -> MadeVersion:
        """Parse a file into a document.

        Raise DocumentError, or ChangedError if its bytes no longer match the hash.
        """
        with self.parser.copy(run.file, sha256, run.source) as copy:
            return self.make_of(run, copy, ocr_seconds, on_page)

    def make_of(
        self,
        run: StageRun,
        copy: PrivateCopy,
        ocr_seconds: float,
        on_page: Callable[[int], None],
        regions: RegionsByPage | None = None,
    ) -> MadeVersion:
        """Parse a private copy into a document, with a tree refined by ``regions`` if given."""
        file_content = self._maker.make(run, copy, ocr_seconds, on_page, regions)
        version = self.stored.target_version(run.source, copy.sha256)
        if file_content.scanned and isinstance(ocr := self.stored.ocr(), Ocr):
            tried, left = file_content.scans.tried, file_content.scans.left
            version = with_ocr(version, ocr, tried if left else None)
        return MadeVersion(version, file_content.content, file_content.scans)

    def switch(
        self,
        run: StageRun,
        stamp: FileStamp,
        version: ContentVersion,
        content: IndexedContent | None,
        card: Card,
        result: FileResult,
    ) -> FileResult:
        """Make a version the published one of a document, together with the job's next state. Return the final result.

        ``content`` is None if the catalog has it already. Raise LeaseLostError if another process has taken over the
        job.
        """
        result = run.timed(result)
        run.rough = content is None or is_low(content.models, len(content.pages))
        self._catalog.publish(
            Publication(
                library=run.library, doc_id=result.doc_id or "", path=str(run.file),
                version=version, content=content, card=card, stamp=stamp,
            ),
            fence=run.job.fence, advance=self._ending(run, result), anew=run.anew,
        )  # fmt: skip
        run.written = True
        return result

    def content_lock(self, content: str) -> threading.Lock:
        """Return the lock for a hash of bytes, so that two threads do not parse the same bytes at the same time."""
        with self._lock:
            return self._content_locks.setdefault(content, threading.Lock())

    def _shared(self, run: StageRun, sha256: str) -> StoredVersion | None:
        """Return a usable stored version of the same bytes, None if there is none.

        Raise DocumentError if this run may not open the file.
        """
        stored = self.stored.best(self.stored.target_version(run.source, sha256))
        if stored is None:
            return None
        pages = stored.pages  # it may have been read under other limits
        self._limits.check("max_pages", pages, f"the file has {pages:,} pages", file=run.file)
        if self.stored.encrypted(stored.content_id):  # who does not know the password does not get the text
            with self.parser.copy(run.file, sha256, run.source) as copy:
                self.parser.opens(copy)
        return stored


def published_note(run: StageRun, content: IndexedContent, stamp: FileStamp, stat: os.stat_result | None) -> Note:
    """Return the note on a published file. ``stat`` is its present status, None if the system reports none."""
    note = Note.joined((*run.notes, *content.warnings))
    return note if stat is not None and stamp.fits(stat) else note.plus(Note("file.changed-since"))
