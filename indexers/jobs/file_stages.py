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
from indexers.jobs.stage_run import StageRun

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

    def key(self, run: StageRun) -> str | None:
        """Return the key that files of one batch share, None for a file to process alone."""
        return batch_key(run)

    def run(
        self, runs: Sequence[StageRun], end: Callable[[StageRun, JobUpdate], None], alone: Callable[[StageRun], None]
    ) -> None:
        """Index small files in one batch; see ``Batching``."""
        self._small.run(runs, end, alone)

    def work(self, run: StageRun) -> JobUpdate:
        self._catalog.locate(run.library, run.job.subject)  # downloads the original file if another machine stored it
        stages = {"parse": self.parse, "ocr": self.ocr, "refine": self.refine, "enrich": self.enrich}
        try:
            advance = stages[run.job.stage](run)
        except DamageError as error:  # stored data of this file is damaged, not the whole catalog: other files continue
            result = run.timed(FileResult(str(run.file), "failed", str(error)))
            self._tally.add(size=run.unshown, finished=result, again=run.job.stage != "parse")
            advance = self._ending(run, result)
        if advance.stage != "ocr":
            self._scans.forget(run.job.id)
        return advance

    def close(self) -> None:
        self._stamps.save()
        if self._improver is not None:
            self._improver.close()

    def parse(self, run: StageRun) -> JobUpdate:
        """Parse a file and publish it. Long OCR is left to the stage ``ocr``."""
        if is_address(run.job.subject) and not run.source.exists():  # its container was removed
            return self._ending(run, FileResult(run.job.subject, "failed", "the uploaded file is not stored any more."))
        with self._catalog.snapshot() as snapshot:
            doc_id = snapshot.doc_id_at(run.library, str(run.file))
        result = self._reported(run, doc_id, lambda: self._parsed(run))
        self._tally.add(size=run.unshown, finished=result)
        return self._ending(run, result)

    def ocr(self, run: StageRun) -> JobUpdate:
        """Continue OCR of a file's scanned pages, for twice as long as in the job's previous run of OCR."""
        before = run.before or FileResult(str(run.file), "indexed")
        doc_id = before.doc_id or ""

        def again() -> FileResult:
            with self._catalog.snapshot() as snapshot:
                if doc_id not in snapshot.published(run.library, [doc_id]):
                    return replace(before, unread=0, note=Note("file.removed-while-read"))
            stamp, sha256 = fingerprint(run.file, run.source, self._reach(run))
            seconds = self._options.ocr_seconds * 2**run.job.returns
            return self._publisher.publish(run, stamp, sha256, doc_id, seconds, lambda _: None)

        result = self._reported(run, doc_id, again)
        self._tally.add(finished=result, again=True, at=FileStage(str(run.file), "ocr"))
        return self._ending(run, result)

    def refine(self, run: StageRun) -> JobUpdate:
        """Run the layout model on a published document, and rebuild its section tree from the result."""
        return self._ending(run, self._refiner.refined(run, run.before or self._as_published(run)))

    def enrich(self, run: StageRun) -> JobUpdate:
        """Improve a published document with models."""
        before = run.before or self._as_published(run)
        return self._ending(run, before if self._improver is None else self._improver.improved(run, before))

    def _ending(self, run: StageRun, result: FileResult) -> JobUpdate:
        """Return the job's next state for this result: the next stage, or the end."""
        kept_result = result.to_json()
        if result.status == "failed":
            return JobUpdate("failed", result=kept_result, cause=result.error or "")
        if result.unread:
            return JobUpdate("waiting", "ocr", result=kept_result)
        bound = {need for need in run.job.needs if need.startswith((SESSION, MACHINE))}
        refines = self._options.outline == "refined" or (self._options.outline == "auto" and run.rough)
        if run.job.stage in ("parse", "ocr") and refines and refinable(run.source):
            return JobUpdate("waiting", "refine", needs=frozenset(bound), result=kept_result)
        if run.job.stage != "enrich" and self._options.enrich_needs:
            return JobUpdate("waiting", "enrich", needs=self._options.enrich_needs | bound, result=kept_result)
        return JobUpdate("done", result=kept_result)

    def _as_published(self, run: StageRun) -> FileResult:
        """Return the result "unchanged" for a file, with the data of its published document."""
        document = document_at(self._catalog, run.library, run.file)
        return FileResult(str(run.file), "unchanged") if document is None else unchanged(run.file, document)

    def _reported(self, run: StageRun, doc_id: str, work: Callable[[], FileResult]) -> FileResult:
        """Run ``work`` on a file and return its result. If it fails, record the failure and return a failed result.

        ``doc_id`` is "" for a new document.
        """
        try:
            result = _held_still(work, run)
            return result if run.written else run.timed(result)
        except (Cancelled, LeaseLostError):
            raise
        except (DamageError, DocumentError, NotFoundError) as error:
            if full := disk_full(error, self._place.folder):
                raise full from error
            message = error.without_file
            doc_id = doc_id or new_id(self._catalog, run.library, run.file)
            self._catalog.record_failure(
                library=run.library, doc_id=doc_id, path=str(run.file), size=size(run.source), error=message,
                fence=run.job.fence,
            )  # fmt: skip
            with self._catalog.snapshot() as snapshot:
                published = doc_id in snapshot.published(run.library, [doc_id])
            reason = getattr(error, "reason", "")
            failed = FileResult(str(run.file), "failed", message, doc_id if published else None, reason=reason)
            return run.timed(failed)

    def _parsed(self, run: StageRun) -> FileResult:
        file, library = run.file, run.library
        stamp, sha256 = fingerprint(file, run.source, self._reach(run))
        format = format_of(run.source)
        target = self._stored.of_format(sha256, format)
        document = document_at(self._catalog, library, file)
        same = document is not None and self._serves(run, document, target)
        if run.anew:
            for kind in ("ocr", "regions"):
                self._cache.clear(f"{kind}/{sha256}/")
        if holds_members(self._catalog, library, run.job.subject, format) and (
            format.may_hold(run.source) or self._catalog.members(library, run.job.subject)
        ):
            self._members.follow(run, sha256, keep=not same)
        if document is not None and same:
            self._stamps.add(document, stamp)
            run.rough = self._is_rough(document)
            return replace(unchanged(file, document), note=Note.joined(run.notes))
        machine = self._options.machine
        for moved in () if document else moved_from(self._catalog, library, sha256, target.format, machine):
            card = self._stored.card(file, moved.content_id)
            if not self._catalog.move(moved.doc_id, moved.path, path=str(file), card=card, stamp=stamp):
                continue  # another file has already taken its place
            if self._serves(run, moved, target):
                note = Note.joined((Note("file.moved", path=moved.path), *run.notes))
                return replace(unchanged(file, moved), note=note)
            document = moved
            break
        doc_id = document.doc_id if document else new_id(self._catalog, library, file)
        worker = self._place.worker
        # files that wait for parsing should not wait for OCR too
        others_wait = self._place.queue.waits(worker.id, worker.abilities, {"parse"})
        seconds = 0.0 if others_wait else self._options.ocr_seconds
        return self._publisher.publish(run, stamp, sha256, doc_id, seconds, run.page)

    def _reach(self, run: StageRun) -> Reach | None:
        """Return the folders that the server may read for a file, None without restrictions.

        They are limited to the folders of the file's sources, since the file may have become a link meanwhile.
        """
        return self._reach_in(run.library)(run.file)

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

    def _serves(self, run: StageRun, document: Document, target: ContentVersion) -> bool:
        if run.anew:
            return False
        with self._catalog.snapshot() as snapshot:
            stored = snapshot.version(document.content_id)
        return stored is not None and self._stored.serves(stored, target)


def reading_lanes(at_once: int, work: Callable[[StageRun], JobUpdate], batching: Batching | None = None) -> list[Lane]:
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


def _held_still(work: Callable[[], FileResult], run: StageRun) -> FileResult:
    for seconds in _PAUSES:
        try:
            return work()
        except ChangedError:
            if run.stop.asked.wait(seconds):
                raise Cancelled("Indexing was stopped.") from None
    return work()
