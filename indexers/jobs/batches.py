"""Batches of small files, which are read with one message to a worker and published in one transaction.

Only new files of plain formats are batched. Every other file, and every file that fails, is processed alone, so that
its result and its error are the same as without a batch.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import wait
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from hybrid_core.errors import DamageError, DocumentError, PageIndexError, StoreError
from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.store.catalog.documents import JobPublication, Publication
from hybrid_core.system import Reach
from hybrid_core.types.files import FileStamp
from hybrid_core.types.jobs import JobUpdate
from hybrid_core.types.libraries import is_address
from indexers.assembly.chunks import ChunkSize
from indexers.files.identity import usual_id
from indexers.files.private_copy import copy_small, system_stat
from indexers.formats.format import Format
from indexers.formats.limits import ParseLimits
from indexers.formats.registry import format_of, of_suffix
from indexers.jobs.publisher import Publisher, published_note
from indexers.jobs.report import FileResult, Tally
from indexers.jobs.stage_run import StageRun
from indexers.outline.quality import is_low
from indexers.workers.pool import Stop, WorkerPool
from indexers.workers.protocol import BatchTask, SmallContent, SmallFile

_SMALL_BYTES = 1 << 16
_LOOK = 0.1  # seconds between two checks for files to stop


def batch_key(run: StageRun) -> str | None:
    """Return a key made from the options of a file's job. Files with equal keys can share a batch.

    Return None for a file to process alone. A file that was attempted before is processed alone: if it crashes the
    process, no other file is affected.
    """
    job = run.job
    format = of_suffix(run.source.suffix)
    first = job.stage == "parse" and not job.returns and not job.attempts and not run.anew
    if not first or format is None or not format.bytes_are_text or is_address(job.subject):
        return None
    return json.dumps(job.options, sort_keys=True) if 0 < run.unshown <= _SMALL_BYTES else None


@dataclass(eq=False)
class _File:
    """A file of a batch: its private copy and, once it is parsed, the document."""

    run: StageRun
    copy: Path
    stamp: FileStamp
    sha256: str
    format: Format
    doc_id: str = ""
    result: SmallContent | None = None


class SmallFiles:
    """Indexing of small files in batches.

    ``ending`` returns the next state of a job for its result. ``reaches`` takes a library. It returns a function from a
    file to the folders that the server may read for it.
    """

    def __init__(
        self,
        catalog: Catalog,
        pool: WorkerPool,
        publisher: Publisher,
        limits: ParseLimits,
        chunks: ChunkSize,
        tally: Tally,
        ending: Callable[[StageRun, FileResult], JobUpdate],
        reaches: Callable[[str], Callable[[Path], Reach | None]],
    ) -> None:
        self._catalog, self._pool, self._publisher = catalog, pool, publisher
        self._limits, self._chunks, self._tally = limits, chunks, tally
        self._ending, self._reaches = ending, reaches

    def run(
        self, runs: Sequence[StageRun], end: Callable[[StageRun, JobUpdate], None], alone: Callable[[StageRun], None]
    ) -> None:
        """Index small files in one batch.

        Call ``end`` for each published file, and ``alone`` for each file that must be processed alone. Raise StoreError
        if the catalog cannot be written.
        """
        with self._publisher.parser.work() as work, ExitStack() as locks:
            files = self._new_contents(self._copies(runs, work, alone), locks, alone)
            files = self._build(files, alone)
            if files:
                self._publish(files, end, alone)

    def _copies(self, runs: Sequence[StageRun], work: Path, alone: Callable[[StageRun], None]) -> list[_File]:
        """Copy the files of a batch. Call ``alone`` for those that cannot be copied, or are not small plain files."""
        reaches = {library: self._reaches(library) for library in {run.library for run in runs}}
        files: list[_File] = []
        for number, run in enumerate(runs):
            copy = work / str(number) / run.file.name
            copied = None
            if not run.stop.asked.is_set():
                try:
                    copy.parent.mkdir()
                    copied = copy_small(run.file, copy, _SMALL_BYTES, reaches[run.library](run.file))
                except (DocumentError, OSError):
                    copied = None
            format = None if copied is None else format_of(copy)
            if copied is None or format is None or not format.bytes_are_text:
                alone(run)
            else:
                files.append(_File(run, copy, *copied, format))
        return files

    def _new_contents(self, files: Sequence[_File], locks: ExitStack, alone: Callable[[StageRun], None]) -> list[_File]:
        """Return the files whose bytes are not in the catalog yet, with their document ids. Lock their bytes.

        Call ``alone`` for the other files.
        """
        hashes = {file.sha256 for file in files}
        paths: dict[str, list[str]] = defaultdict(list)
        for file in files:
            paths[file.run.library].append(str(file.run.file))
        with self._catalog.snapshot() as snapshot:
            stored = snapshot.stored_hashes(hashes)
            present = {library: snapshot.doc_ids_at(library, some) for library, some in paths.items()}
            for file in files:
                library, path = file.run.library, str(file.run.file)
                file.doc_id = present[library].get(path) or usual_id(library, path)
            absent = [file.doc_id for file in files if str(file.run.file) not in present[file.run.library]]
            taken = snapshot.taken_ids(absent)  # ids of documents that were moved
        new: list[_File] = []
        for file in files:
            lock = self._publisher.content_lock(file.sha256)
            if file.sha256 in stored or file.doc_id in taken or not lock.acquire(blocking=False):
                alone(file.run)
                continue
            locks.callback(lock.release)
            new.append(file)
        return new

    def _build(self, files: Sequence[_File], alone: Callable[[StageRun], None]) -> list[_File]:
        """Build the documents of all files in one worker process. Return the files that succeeded.

        Files whose job was asked to stop are passed to ``alone``.
        """
        if not files:
            return []

        def on_part(number: int, result: SmallContent | PageIndexError) -> None:
            files[number].result = result if isinstance(result, SmallContent) and not result.unread else None

        stop, left = Stop(), list(files)
        small = tuple(SmallFile(file.copy, file.run.file.name, file.sha256, file.format.name) for file in files)
        future = self._pool.submit(
            BatchTask(small, self._limits, self._chunks), self._pool.allowance(stop), on_part=on_part
        )
        while not future.cancelled() and not wait([future], _LOOK).done:
            left = _going_on(left, alone)
            if not left and not stop.asked.is_set():
                stop.ask("cancelled")
                future.cancel()
                self._pool.end(stop)
        left = _going_on(left, alone)
        for file in left:
            if file.result is None:
                alone(file.run)
        return [file for file in left if file.result is not None]

    def _publish(
        self, files: Sequence[_File], end: Callable[[StageRun, JobUpdate], None], alone: Callable[[StageRun], None]
    ) -> None:
        results: dict[int, FileResult] = {}
        publications: list[JobPublication] = []
        for file in files:
            run, built = file.run, file.result
            if built is None:
                continue
            content = built.content
            pages, sections = len(content.pages), len(content.sections)
            note = published_note(run, content, file.stamp, system_stat(run.source))
            result = run.timed(FileResult(str(run.file), "indexed", None, file.doc_id, pages, sections, note=note))
            run.rough = is_low(content.models, pages)
            version = self._publisher.stored.of_format(file.sha256, file.format)
            new = Publication(
                library=run.library, doc_id=file.doc_id, path=str(run.file), version=version, content=content,
                card=built.card, stamp=file.stamp, orders=built.orders,
            )  # fmt: skip
            results[run.job.id] = result
            publications.append(JobPublication(new, version.new_id(), run.job.fence, self._ending(run, result)))
        try:
            lost, stored = self._catalog.publish_together(publications)
        except DamageError:
            lost, stored = frozenset(), frozenset(results)
        except StoreError:
            raise
        except Exception:  # noqa: BLE001 - one file has made the database refuse all: it fails by itself
            lost, stored = frozenset(), frozenset(results)
        runs = {file.run.job.id: file.run for file in files}
        gone = [runs[job] for job in lost]
        for run in gone:
            run.stop.ask("lost")
        for run in (*gone, *(runs[job] for job in stored)):
            alone(run)
        for publication in publications:
            job = publication.fence.job
            if job in lost or job in stored:
                continue
            run = runs[job]
            run.written = True
            self._tally.add(pages=results[job].pages, size=run.unshown, finished=results[job])
            end(run, publication.advance)


def _going_on(files: Iterable[_File], alone: Callable[[StageRun], None]) -> list[_File]:
    """Return the files whose jobs continue. Call ``alone`` for those whose job was asked to stop."""
    left = []
    for file in files:
        if file.run.stop.asked.is_set():
            alone(file.run)
        else:
            left.append(file)
    return left
