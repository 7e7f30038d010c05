"""A worker: does whatever waits in the queue and can be done here, for whoever asked."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from hybrid_core.store.cache.cache import Cache
from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.store.jobs.folding import fold
from hybrid_core.store.jobs.reading import JobReader
from hybrid_core.types.jobs import Advance, Job, JobRequest
from indexers.jobs.file_stages import FileStages, reading_lanes
from indexers.jobs.runner import Lane, Runner
from indexers.jobs.workplace import Workplace, workplace
from indexers.stages.options import IndexOptions
from indexers.stages.report import IndexProgress, Tally
from indexers.stages.turn import Turn

_FOLD = 60.0  # seconds between two clearings of what ended long ago
_IDLE = 2.0  # seconds without work after which there is none
_SOON = 0.3  # the same where there is one job


def work(
    catalog: Catalog,
    cache: Cache,
    scratch: Path,
    abilities: frozenset[str],
    parsers: int,
    usual: IndexOptions,
    options: Callable[[Mapping[str, Any]], IndexOptions],
    embedding_of: Callable[[str], Sequence[JobRequest]],
    others: Sequence[Lane],
    on_progress: Callable[[IndexProgress], None],
    stopped: threading.Event,
    enough: Callable[[], bool],
    only: int | None = None,
    *,
    reads: bool = True,
) -> None:
    """Until ``stopped``, or nothing is left to do for 2 s and it is ``enough``. What is under way then is given back.

    ``options`` are those that a job was asked with, ``usual`` limit the processes. ``embedding_of`` tells what a
    library has to have embedded once its files are done. ``others``: what is done besides indexing files. ``only``: of
    one job, as far as it can be done now. Without ``reads`` no files are indexed.
    """
    leaving = threading.Event()
    leaving.set()  # whatever happens here, the jobs stay
    with (
        workplace(
            catalog, scratch, "worker", abilities, parsers, usual.worker_limits, leaving, usual.job_limits
        ) as place,
        ExitStack() as stack,
    ):
        files = _Files(catalog, cache, place, options, Tally(on_progress, 0, 0))
        stack.callback(files.close)

        def over(turn: Turn, advance: Advance) -> None:
            if turn.job.kind != "index" or advance.status == "waiting":
                return
            files.tally.add(over=turn.job.subject)
            if reader.counts(library=turn.library).stages.keys() <= {"embed"}:
                place.queue.enqueue(embedding_of(turn.library))

        reading = reading_lanes(parsers + 1, files.work)
        improving = Lane(frozenset({"enrich"}), usual.models.options.documents if usual.models else 1, files.work)

        lanes = [*reading, improving] if reads else []

        def begun(job: Job) -> Turn:
            return Turn(job, catalog.place(job.library, job.subject), files.tally)

        runner = Runner(place, [*lanes, *others], begun, over, only_awaited=only is not None, for_caller=False)
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
        asked = turn.job.options
        with self._lock:
            key = json.dumps(asked, sort_keys=True)
            if key not in self._made:
                options = self._options(asked)
                self._made[key] = FileStages(self._catalog, self._cache, self._place, options, self.tally)
        return self._made[key].work(turn)

    def close(self) -> None:
        """End what is kept for the work that was done; what comes next begins anew."""
        while self._made:
            self._made.popitem()[1].close()
