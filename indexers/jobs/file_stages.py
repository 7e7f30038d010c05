"""The stages of one file's job, independent of other files and waiting callers."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from hybrid_core.errors import Cancelled, ChangedError, DamageError, DocumentError, LeaseLostError, NotFoundError
from hybrid_core.store.cache import Cache
from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.store.catalog.libraries import all_sources
from hybrid_core.store.home import disk_full
from hybrid_core.store.jobs.workers import MACHINE, SESSION
from hybrid_core.store.shared_cache import SharedCache
from hybrid_core.system import Reach
from hybrid_core.types.documents import Document
from hybrid_core.types.files import ContentVersion
from hybrid_core.types.jobs import JobUpdate
from hybrid_core.types.libraries import is_address
from hybrid_core.types.notes import Note
from indexers.assembly.versions import StoredContents
from indexers.files.identity import NewStamps, document_at, moved_from, new_id
from indexers.files.private_copy import fingerprint, size
from indexers.formats.registry import format_of
from indexers.jobs.batches import SmallFiles, batch_key
from indexers.jobs.members import MemberJobs, MemberKeeper, holds_members
from indexers.jobs.options import IndexOptions
from indexers.jobs.publisher import Publisher
from indexers.jobs.reader import Maker, Parser, ScanOptions, ScanReader
from indexers.jobs.refiner import Refiner, refinable, unrefined
from indexers.jobs.report import FileResult, FileStage, Tally
from indexers.jobs.runner import Batching, Lane, Workplace
from indexers.jobs.turn import Turn

_PAUSES = (0.2, 1.0)  # seconds before a file that changed during a read is tried again


class FileStages:
    def __init__(self, catalog: Catalog, cache: Cache, place: Workplace, options: IndexOptions, tally: Tally) -> None:
        pool, at_once = place.pool, place.parsers + 1  # number of tasks of a file that the worker pool gets in advance
        self._place, self._at_once = place, at_once
        self._catalog, self._cache, self._options, self._tally = catalog, cache, options, tally
        self._stored = StoredContents(catalog, options.ocr, options.chunks)
        self._stamps = NewStamps(catalog)
        readings = SharedCache(cache, catalog, "readings")
        self._scans = ScanReader(
            readings, pool, ScanOptions(options.password, options.parse, options.ocr), at_once
        )  # fmt: skip
        parser = Parser(pool, place.folder, options.parse, options.password, options.range_pages, at_once)
        self._members = MemberJobs(catalog, place.queue, MemberKeeper(catalog, pool, parser, options.parse))
        maker = Maker(pool, parser, self._scans, options.chunks)
        self._publisher = Publisher(catalog, parser, maker, self._stored, options.parse, self._ending)
        self._refiner = Refiner(
            catalog, readings, pool, self._publisher, options, at_once, tally
        )  # fmt: skip
        self._small = SmallFiles(
            catalog, pool, self._publisher, options.parse, options.chunks, tally, self._ending, self._reach_in
        )  # fmt: skip
        self._improver = None
        if options.models is not None:
            # imported here, since it imports pydantic and the prompts, which are slow to load
            from indexers.jobs.improver import Improver

            self._improver = Improver(
                catalog, cache, pool, self._publisher, options, options.models, tally, self._refiner
            )

    def lanes(self) -> list[Lane]:
        """Return the lanes (groups of threads) that run the stages of files.

        Few files are read at a time, while models improve other files.
        """
        models = self._options.models
        improving = [] if models is None else [Lane(frozenset({"enrich"}), models.options.documents, self.work)]
        return [*reading_lanes(self._at_once, self.work, self), *improving]

    def key(self, turn: Turn) -> str | None:
        """Return the key that files of one batch share, None for a file to process alone."""
        return batch_key(turn)

    def run(self, turns: Sequence[Turn], end: Callable[[Turn, JobUpdate], None], alone: Callable[[Turn], None]) -> None:
        """Index small files in one batch; see ``Batching``."""
        self._small.run(turns, end, alone)

    def work(self, turn: Turn) -> JobUpdate:
        self._catalog.locate(turn.library, turn.job.subject)  # downloads the original file if another machine stored it
        stages = {"parse": self.parse, "ocr": self.ocr, "refine": self.refine, "enrich": self.enrich}
        try:
            advance = stages[turn.job.stage](turn)
        except DamageError as error:  # stored data of this file is damaged, not the whole catalog: other files continue
            result = turn.timed(FileResult(str(turn.file), "failed", str(error)))
            self._tally.add(size=turn.unshown, finished=result, again=turn.job.stage != "parse")
            advance = self._ending(turn, result)
        if advance.stage != "ocr":
            self._scans.forget(turn.job.id)
        return advance

    def close(self) -> None:
        self._stamps.save()
        if self._improver is not None:
            self._improver.close()

    def parse(self, turn: Turn) -> JobUpdate:
        """Parse a file and publish it. Long OCR is left to the stage ``ocr``."""
        if is_address(turn.job.subject) and not turn.source.exists():  # its container was removed
            return self._ending(
                turn, FileResult(turn.job.subject, "failed", "the uploaded file is not stored any more.")
            )
        with self._catalog.snapshot() as snapshot:
            doc_id = snapshot.doc_id_at(turn.library, str(turn.file))
        result = self._reported(turn, doc_id, lambda: self._parsed(turn))
        self._tally.add(size=turn.unshown, finished=result)
        return self._ending(turn, result)

    def ocr(self, turn: Turn) -> JobUpdate:
        """Continue OCR of a file's scanned pages, for twice as long as in the previous turn of its job."""
        before = turn.before or FileResult(str(turn.file), "indexed")
        doc_id = before.doc_id or ""

        def again() -> FileResult:
            with self._catalog.snapshot() as snapshot:
                if doc_id not in snapshot.published(turn.library, [doc_id]):
                    return replace(before, unread=0, note=Note("file.removed-while-read"))
            stamp, sha256 = fingerprint(turn.file, turn.source, self._reach(turn))
            seconds = self._options.ocr_seconds * 2**turn.job.turn
            return self._publisher.publish(turn, stamp, sha256, doc_id, seconds, lambda _: None)

        result = self._reported(turn, doc_id, again)
        self._tally.add(finished=result, again=True, at=FileStage(str(turn.file), "ocr"))
        return self._ending(turn, result)

    def refine(self, turn: Turn) -> JobUpdate:
        """Run the layout model on a published document, and rebuild its section tree from the result."""
        return self._ending(turn, self._refiner.refined(turn, turn.before or self._as_published(turn)))

    def enrich(self, turn: Turn) -> JobUpdate:
        """Improve a published document with models."""
        before = turn.before or self._as_published(turn)
        return self._ending(turn, before if self._improver is None else self._improver.improved(turn, before))

    def _ending(self, turn: Turn, result: FileResult) -> JobUpdate:
        """Return the job's next state for this result: the next stage, or the end."""
        kept_result = result.to_json()
        if result.status == "failed":
            return JobUpdate("failed", result=kept_result, cause=result.error or "")
        if result.unread:
            return JobUpdate("waiting", "ocr", result=kept_result)
        bound = {need for need in turn.job.needs if need.startswith((SESSION, MACHINE))}
        refines = self._options.outline == "refined" or (self._options.outline == "auto" and turn.rough)
        if turn.job.stage in ("parse", "ocr") and refines and refinable(turn.source):
            return JobUpdate("waiting", "refine", needs=frozenset(bound), result=kept_result)
        if turn.job.stage != "enrich" and self._options.enrich_needs:
            return JobUpdate("waiting", "enrich", needs=self._options.enrich_needs | bound, result=kept_result)
        return JobUpdate("done", result=kept_result)

    def _as_published(self, turn: Turn) -> FileResult:
        """Return the result "unchanged" for a file, with the data of its published document."""
        document = document_at(self._catalog, turn.library, turn.file)
        return FileResult(str(turn.file), "unchanged") if document is None else unchanged(turn.file, document)

    def _reported(self, turn: Turn, doc_id: str, work: Callable[[], FileResult]) -> FileResult:
        """Run ``work`` on a file and return its result. If it fails, record the failure and return a failed result.

        ``doc_id`` is "" for a new document.
        """
        try:
            result = _held_still(work, turn)
            return result if turn.written else turn.timed(result)
        except (Cancelled, LeaseLostError):
            raise
        except (DamageError, DocumentError, NotFoundError) as error:
            if full := disk_full(error, self._place.folder):
                raise full from error
            message = error.without_file
            doc_id = doc_id or new_id(self._catalog, turn.library, turn.file)
            self._catalog.record_failure(
                library=turn.library, doc_id=doc_id, path=str(turn.file), size=size(turn.source), error=message,
                fence=turn.job.fence,
            )  # fmt: skip
            with self._catalog.snapshot() as snapshot:
                published = doc_id in snapshot.published(turn.library, [doc_id])
            reason = getattr(error, "reason", "")
            failed = FileResult(str(turn.file), "failed", message, doc_id if published else None, reason=reason)
            return turn.timed(failed)

    def _parsed(self, turn: Turn) -> FileResult:
        file, library = turn.file, turn.library
        stamp, sha256 = fingerprint(file, turn.source, self._reach(turn))
        format = format_of(turn.source)
        target = self._stored.of_format(sha256, format)
        document = document_at(self._catalog, library, file)
        same = document is not None and self._serves(turn, document, target)
        if turn.anew:
            for kind in ("ocr", "regions"):
                self._cache.clear(f"{kind}/{sha256}/")
        if holds_members(self._catalog, library, turn.job.subject, format) and (
            format.may_hold(turn.source) or self._catalog.members(library, turn.job.subject)
        ):
            self._members.follow(turn, sha256, keep=not same)
        if document is not None and same:
            self._stamps.add(document, stamp)
            turn.rough = self._is_rough(document)
            return replace(unchanged(file, document), note=Note.joined(turn.notes))
        machine = self._options.machine
        for moved in () if document else moved_from(self._catalog, library, sha256, target.format, machine):
            card = self._stored.card(file, moved.content_id)
            if not self._catalog.move(moved.doc_id, moved.path, path=str(file), card=card, stamp=stamp):
                continue  # another file has already taken its place
            if self._serves(turn, moved, target):
                note = Note.joined((Note("file.moved", path=moved.path), *turn.notes))
                return replace(unchanged(file, moved), note=note)
            document = moved
            break
        doc_id = document.doc_id if document else new_id(self._catalog, library, file)
        worker = self._place.worker
        # files that wait for parsing should not wait for OCR too
        others_wait = self._place.queue.waits(worker.id, worker.abilities, {"parse"})
        seconds = 0.0 if others_wait else self._options.ocr_seconds
        return self._publisher.publish(turn, stamp, sha256, doc_id, seconds, turn.page)

    def _reach(self, turn: Turn) -> Reach | None:
        """Return the folders that the server may read for a file, None without restrictions.

        They are limited to the folders of the file's sources, since the file may have become a link meanwhile.
        """
        return self._reach_in(turn.library)(turn.file)

    def _reach_in(self, library: str) -> Callable[[Path], Reach | None]:
        """Return a function from a file of the library to the folders that may be read for it.

        The sources of the library are read only once.
        """
        reach = self._options.reach
        if reach is None:
            return lambda _: None
        in_library = all_sources(self._catalog, library)

        def reach_of(file: Path) -> Reach:
            sources = [source for source in in_library if source.holds(str(file))]
            named = any(source.kind == "file" for source in sources)
            folders = () if named else (Path(os.path.realpath(source.root)) for source in sources)
            return replace(reach, folders=tuple(folders))

        return reach_of

    def _is_rough(self, document: Document) -> bool:
        """Return whether a published document's section tree needs the layout model.

        This depends on the option ``outline`` and on the estimated quality of the tree.
        """
        with self._catalog.snapshot() as snapshot:
            stored = snapshot.version(document.content_id)
        return stored is not None and unrefined(document, stored.version, self._options)

    def _serves(self, turn: Turn, document: Document, target: ContentVersion) -> bool:
        if turn.anew:
            return False
        with self._catalog.snapshot() as snapshot:
            stored = snapshot.version(document.content_id)
        return stored is not None and self._stored.serves(stored, target)


def reading_lanes(at_once: int, work: Callable[[Turn], JobUpdate], batching: Batching | None = None) -> list[Lane]:
    """Return the lanes that parse files, run OCR, and refine section trees.

    OCR starts jobs only if no file waits for parsing, refinement only if no file waits for parsing or OCR.
    """
    return [
        Lane(frozenset({"parse"}), at_once, work, batching=batching),
        Lane(frozenset({"ocr"}), at_once, work, behind=True),
        Lane(frozenset({"refine"}), 1, work, last=True),  # it processes several pages of one file in parallel
    ]


def unchanged(file: Path, document: Document) -> FileResult:
    return FileResult(str(file), "unchanged", None, document.doc_id, document.pages, document.sections)


def _held_still(work: Callable[[], FileResult], turn: Turn) -> FileResult:
    for seconds in _PAUSES:
        try:
            return work()
        except ChangedError:
            if turn.stop.asked.wait(seconds):
                raise Cancelled("Indexing was stopped.") from None
    return work()
