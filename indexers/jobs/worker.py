"""A worker: a process that runs the queued jobs that this machine can run."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hybrid_core.errors import StoreError
from hybrid_core.store.cache import Cache
from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.store.jobs.control import fold
from hybrid_core.store.jobs.reader import JobReader
from hybrid_core.types.jobs import Job, JobRequest, JobUpdate
from indexers.jobs.batches import batch_key
from indexers.jobs.file_stages import FileStages, reading_lanes
from indexers.jobs.options import IndexOptions
from indexers.jobs.report import IndexProgress, Tally
from indexers.jobs.runner import Lane, Runner, Workplace, workplace
from indexers.jobs.stage_run import StageRun

_FOLD = 60.0  # seconds between two deletions of old jobs
_IDLE = 2.0  # seconds without work after which the queue counts as empty
_SOON = 0.3  # the same, if the worker runs only one job


@dataclass(frozen=True, slots=True)
class WorkerOptions:
    """Options of a worker process.

    ``options`` returns the index options of a job, ``usual`` are those of the process. ``embedding_of`` returns the
    jobs that embed a library after its files were indexed. ``others`` are lanes for jobs other than those of files.
    ``only`` restricts the work to one job. If ``reads`` is False, no files are indexed.
    """

    abilities: frozenset[str]
    parsers: int
    usual: IndexOptions
    options: Callable[[Mapping[str, Any]], IndexOptions]
    embedding_of: Callable[[str], Sequence[JobRequest]]
    others: Sequence[Lane]
    only: int | None = None
    reads: bool = True


def work(
    catalog: Catalog,
    cache: Cache,
    scratch: Path,
    worker: WorkerOptions,
    on_progress: Callable[[IndexProgress], None],
    stopped: threading.Event,
    enough: Callable[[], bool],
) -> None:
    """Process queued jobs until ``stopped`` is set.

    Also end if there was no work for 2 s and ``enough`` returns True. Jobs that still run return to the queue.
    """
    usual, only = worker.usual, worker.only
    leaving = threading.Event()
    leaving.set()  # the jobs stay in the queue in any case
    with (
        workplace(
            catalog, scratch, "worker", worker.abilities, worker.parsers, usual.worker_limits, leaving, usual.job_limits
        ) as place,
        ExitStack() as stack,
    ):
        ended: set[str] = set()  # libraries in which files have ended since the last check
        files = _Files(catalog, cache, place, worker.options, Tally(on_progress, 0, 0))
        stack.callback(files.close)

        def on_end(run: StageRun, advance: JobUpdate) -> None:
            if run.job.kind != "index" or advance.status == "waiting":
                return
            files.tally.add(settled=run.job.subject)
            ended.add(run.library)

        def embed_finished() -> None:
            """Queue the embedding of libraries whose files are all done."""
            with suppress(StoreError):  # the check is repeated after the next files
                for library in list(ended):
                    if not reader.has_files_left(library):
                        place.queue.enqueue(worker.embedding_of(library))
                    ended.discard(library)

        reading = reading_lanes(worker.parsers + 1, files.work, files)
        improving = Lane(frozenset({"enrich"}), usual.models.options.documents if usual.models else 1, files.work)

        lanes = [*reading, improving] if worker.reads else []

        def begin(job: Job) -> StageRun:
            return StageRun(job, catalog.place(job.library, job.subject), files.tally)

        runner = Runner(place, [*lanes, *worker.others], begin, on_end, only_awaited=only is not None, for_caller=False)
        stack.callback(runner.close)
        if only is not None:
            place.leases.awaited = lambda: [only]
            place.queue.wait_for(place.worker.id, [only])
        busy = folded = time.monotonic()
        reader = JobReader(catalog)

        def done() -> bool:
            nonlocal busy, folded
            embed_finished()
            now = time.monotonic()
            if runner.idle:
                files.close()  # so that unavailable models are tried again with the next work
            else:
                busy = now
            if now >= folded + _FOLD:
                folded = now
                fold(catalog)
            return now >= busy + (_IDLE if only is None else _SOON) and enough()

        runner.run(done, stopped)
        embed_finished()


class _Files:
    """The stages of files: one FileStages object for all jobs that have the same options."""

    def __init__(
        self,
        catalog: Catalog,
        cache: Cache,
        place: Workplace,
        options: Callable[[Mapping[str, Any]], IndexOptions],
        tally: Tally,
    ) -> None:
        self._catalog, self._cache, self._place, self._options, self.tally = catalog, cache, place, options, tally
        self._made: dict[str, FileStages] = {}
        self._lock = threading.Lock()

    def work(self, run: StageRun) -> JobUpdate:
        return self._stages(run.job.options).work(run)

    def key(self, run: StageRun) -> str | None:
        """Return the key that files of one batch share, None for a file to process alone."""
        return batch_key(run)

    def run(
        self, runs: Sequence[StageRun], end: Callable[[StageRun, JobUpdate], None], alone: Callable[[StageRun], None]
    ) -> None:
        """Index small files with the same options in a batch; see ``Batching``."""
        self._stages(runs[0].job.options).run(runs, end, alone)

    def _stages(self, job_options: Mapping[str, Any]) -> FileStages:
        with self._lock:
            key = json.dumps(job_options, sort_keys=True)
            if key not in self._made:
                options = self._options(job_options)
                self._made[key] = FileStages(self._catalog, self._cache, self._place, options, self.tally)
            return self._made[key]

    def close(self) -> None:
        """Close the stages of all options. Later work creates new ones."""
        while self._made:
            self._made.popitem()[1].close()
