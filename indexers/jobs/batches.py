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
from indexers.jobs.turn import Turn
from indexers.outline.quality import is_low
from indexers.workers.pool import Stop, WorkerPool
from indexers.workers.protocol import BatchTask, SmallContent, SmallFile

_SMALL_BYTES = 1 << 16
_LOOK = 0.1  # seconds between two checks for files to stop


def batch_key(turn: Turn) -> str | None:
    """Return a key made from the options of a file's job. Files with equal keys can share a batch.

    Return None for a file to process alone. A file that was attempted before is processed alone: if it crashes the
    process, no other file is affected.
    """
    job = turn.job
    format = of_suffix(turn.source.suffix)
    first = job.stage == "parse" and not job.turn and not job.attempts and not turn.anew
    if not first or format is None or not format.bytes_are_text or is_address(job.subject):
        return None
    return json.dumps(job.options, sort_keys=True) if 0 < turn.unshown <= _SMALL_BYTES else None


@dataclass(eq=False)
class _File:
    """A file of a batch: its private copy and, once it is parsed, the document."""

    turn: Turn
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
        ending: Callable[[Turn, FileResult], JobUpdate],
        reaches: Callable[[str], Callable[[Path], Reach | None]],
    ) -> None:
        self._catalog, self._pool, self._publisher = catalog, pool, publisher
        self._limits, self._chunks, self._tally = limits, chunks, tally
        self._ending, self._reaches = ending, reaches

    def run(self, turns: Sequence[Turn], end: Callable[[Turn, JobUpdate], None], alone: Callable[[Turn], None]) -> None:
        """Index small files in one batch.

        Call ``end`` for each published file, and ``alone`` for each file that must be processed alone. Raise StoreError
        if the catalog cannot be written.
        """
        with self._publisher.parser.work() as work, ExitStack() as locks:
            files = self._new_contents(self._copies(turns, work, alone), locks, alone)
            files = self._build(files, alone)
            if files:
                self._publish(files, end, alone)

    def _copies(self, turns: Sequence[Turn], work: Path, alone: Callable[[Turn], None]) -> list[_File]:
        """Copy the files of a batch. Call ``alone`` for those that cannot be copied, or are not small plain files."""
        reaches = {library: self._reaches(library) for library in {turn.library for turn in turns}}
        files: list[_File] = []
        for number, turn in enumerate(turns):
            copy = work / str(number) / turn.file.name
            copied = None
            if not turn.stop.asked.is_set():
                try:
                    copy.parent.mkdir()
                    copied = copy_small(turn.file, copy, _SMALL_BYTES, reaches[turn.library](turn.file))
                except (DocumentError, OSError):
                    copied = None
            format = None if copied is None else format_of(copy)
            if copied is None or format is None or not format.bytes_are_text:
                alone(turn)
            else:
                files.append(_File(turn, copy, *copied, format))
        return files

    def _new_contents(self, files: Sequence[_File], locks: ExitStack, alone: Callable[[Turn], None]) -> list[_File]:
        """Return the files whose bytes are not in the catalog yet, with their document ids. Lock their bytes.

        Call ``alone`` for the other files.
        """
        hashes = {file.sha256 for file in files}
        paths: dict[str, list[str]] = defaultdict(list)
        for file in files:
            paths[file.turn.library].append(str(file.turn.file))
        with self._catalog.snapshot() as snapshot:
            stored = snapshot.stored_hashes(hashes)
            present = {library: snapshot.doc_ids_at(library, some) for library, some in paths.items()}
            for file in files:
                library, path = file.turn.library, str(file.turn.file)
                file.doc_id = present[library].get(path) or usual_id(library, path)
            absent = [file.doc_id for file in files if str(file.turn.file) not in present[file.turn.library]]
            taken = snapshot.taken_ids(absent)  # ids of documents that were moved
        new: list[_File] = []
        for file in files:
            lock = self._publisher.content_lock(file.sha256)
            if file.sha256 in stored or file.doc_id in taken or not lock.acquire(blocking=False):
                alone(file.turn)
                continue
            locks.callback(lock.release)
            new.append(file)
        return new

    def _build(self, files: Sequence[_File], alone: Callable[[Turn], None]) -> list[_File]:
        """Build the documents of all files in one worker process. Return the files that succeeded.

        Files whose job was asked to stop are passed to ``alone``.
        """
        if not files:
            return []

        def on_part(number: int, result: SmallContent | PageIndexError) -> None:
            files[number].result = result if isinstance(result, SmallContent) and not result.unread else None

        stop, left = Stop(), list(files)
        small = tuple(SmallFile(file.copy, file.turn.file.name, file.sha256, file.format.name) for file in files)
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
                alone(file.turn)
        return [file for file in left if file.result is not None]

    def _publish(
        self, files: Sequence[_File], end: Callable[[Turn, JobUpdate], None], alone: Callable[[Turn], None]
    ) -> None:
        results: dict[int, FileResult] = {}
        publications: list[JobPublication] = []
        for file in files:
            turn, built = file.turn, file.result
            if built is None:
                continue
            content = built.content
            pages, sections = len(content.pages), len(content.sections)
            note = published_note(turn, content, file.stamp, system_stat(turn.source))
            result = turn.timed(FileResult(str(turn.file), "indexed", None, file.doc_id, pages, sections, note=note))
            turn.rough = is_low(content.models, pages)
            version = self._publisher.stored.of_format(file.sha256, file.format)
            new = Publication(
                library=turn.library, doc_id=file.doc_id, path=str(turn.file), version=version, content=content,
                card=built.card, stamp=file.stamp, orders=built.orders,
            )  # fmt: skip
            results[turn.job.id] = result
            publications.append(JobPublication(new, version.new_id(), turn.job.fence, self._ending(turn, result)))
        try:
            lost, stored = self._catalog.publish_together(publications)
        except DamageError:
            lost, stored = frozenset(), frozenset(results)
        except StoreError:
            raise
        except Exception:  # noqa: BLE001 - one file has made the database refuse all: it fails by itself
            lost, stored = frozenset(), frozenset(results)
        turns = {file.turn.job.id: file.turn for file in files}
        gone = [turns[job] for job in lost]
        for turn in gone:
            turn.stop.ask("lost")
        for turn in (*gone, *(turns[job] for job in stored)):
            alone(turn)
        for publication in publications:
            job = publication.fence.job
            if job in lost or job in stored:
                continue
            turn = turns[job]
            turn.written = True
            self._tally.add(pages=results[job].pages, size=turn.unshown, finished=results[job])
            end(turn, publication.advance)


def _going_on(files: Iterable[_File], alone: Callable[[Turn], None]) -> list[_File]:
    """Return the files whose jobs continue. Call ``alone`` for those whose job was asked to stop."""
    left = []
    for file in files:
        if file.turn.stop.asked.is_set():
            alone(file.turn)
        else:
            left.append(file)
    return left
