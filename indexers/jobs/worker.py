"""A worker: run the queued jobs that this machine can do."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hybrid_core.store.cache import Cache
from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.store.jobs.control import fold
from hybrid_core.store.jobs.reader import JobReader
from hybrid_core.types.jobs import Advance, Job, JobRequest
from indexers.jobs.file_stages import FileStages, reading_lanes
from indexers.jobs.options import IndexOptions
from indexers.jobs.report import IndexProgress, Tally
from indexers.jobs.runner import Lane, Runner, Workplace, workplace
from indexers.jobs.turn import Turn

_FOLD = 60.0  # seconds between two clearings of what ended long ago
_IDLE = 2.0  # seconds without work after which there is none
_SOON = 0.3  # the same where there is one job


@dataclass(frozen=True, slots=True)
class WorkerOptions:
    """Options of a worker.

    ``options`` returns the index options of a job, ``usual`` those of the processes. ``embedding_of`` returns the jobs
    that embed a library after its files. ``others`` are lanes besides those of files. ``only`` restricts the work to
    one job. Without ``reads`` no files are indexed.
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
    """Process queued jobs until ``stopped``, or until nothing is left to do for 2 s and it is ``enough``.

    Jobs that are under way then are given back.
    """
    usual, only = worker.usual, worker.only
    leaving = threading.Event()
    leaving.set()  # whatever happens here, the jobs stay
    with (
        workplace(
            catalog, scratch, "worker", worker.abilities, worker.parsers, usual.worker_limits, leaving, usual.job_limits
        ) as place,
        ExitStack() as stack,
    ):
        files = _Files(catalog, cache, place, worker.options, Tally(on_progress, 0, 0))
        stack.callback(files.close)

        def on_end(turn: Turn, advance: Advance) -> None:
            if turn.job.kind != "index" or advance.status == "waiting":
                return
            files.tally.add(settled=turn.job.subject)
            if reader.counts(library=turn.library).stages.keys() <= {"embed"}:
                place.queue.enqueue(worker.embedding_of(turn.library))

        reading = reading_lanes(worker.parsers + 1, files.work)
        improving = Lane(frozenset({"enrich"}), usual.models.options.documents if usual.models else 1, files.work)

        lanes = [*reading, improving] if worker.reads else []

        def begin(job: Job) -> Turn:
            return Turn(job, catalog.place(job.library, job.subject), files.tally)

        runner = Runner(place, [*lanes, *worker.others], begin, on_end, only_awaited=only is not None, for_caller=False)
        stack.callback(runner.close)
        if only is not None:
            place.leases.awaited = lambda: [only]
            place.queue.wait_for(place.worker.id, [only])
        busy = folded = time.monotonic()
        reader = JobReader(catalog)

        def done() -> bool:
            nonlocal busy, folded
            now = time.monotonic()
            if runner.idle:
                files.close()  # a model that was given up is asked again with the next work
            else:
                busy = now
            if now >= folded + _FOLD:
                folded = now
                fold(catalog)
            return now >= busy + (_IDLE if only is None else _SOON) and enough()

        runner.run(done, stopped)


class _Files:
    """The stages of files, one set for all jobs that were asked with the same options."""

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

    def work(self, turn: Turn) -> Advance:
        job_options = turn.job.options
        with self._lock:
            key = json.dumps(job_options, sort_keys=True)
            if key not in self._made:
                options = self._options(job_options)
                self._made[key] = FileStages(self._catalog, self._cache, self._place, options, self.tally)
        return self._made[key].work(turn)

    def close(self) -> None:
        """End what is kept for the work that was done; what comes next begins anew."""
        while self._made:
            self._made.popitem()[1].close()
