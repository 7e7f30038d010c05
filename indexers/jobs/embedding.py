"""A library's vectors made as a job: by the call that waits for it, or by whoever has it already."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path

from hybrid_core.embed.embedder import Embedder
from hybrid_core.errors import Cancelled, PageIndexError
from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.store.jobs.reading import JobReader
from hybrid_core.types.jobs import Advance, JobRequest
from indexers.build.embed import EmbedProgress, EmbedReport, embed_library
from indexers.jobs.runner import Lane, Runner
from indexers.jobs.workplace import workplace
from indexers.stages.report import Tally
from indexers.stages.turn import Turn

_LOOK = 0.5  # seconds between two looks at what another process does
NEED = "embedder:"
"""Begins what a worker must have to embed: a form of embedders."""


def request(catalog: Catalog, library: str, spec: str) -> JobRequest:
    """To embed what a library holds now: of what is published later the job does more."""
    with catalog.snapshot() as snapshot:
        version = str(snapshot.position(library))
    needs = frozenset({NEED + spec.partition(":")[0]})
    return JobRequest(library, "embed", library, "embed", {"embedder": spec}, needs, version=version)


def lane(catalog: Catalog, load: Callable[[str], Embedder], told: Callable[[EmbedProgress], None]) -> Lane:
    """``load`` gives the embedder of a spec. One library at a time: a model takes all cores by itself."""

    def work(turn: Turn) -> Advance:
        def at(progress: EmbedProgress) -> None:
            turn.done, turn.pages = progress.texts_done, progress.texts
            told(progress)

        embedder = load(turn.job.options["embedder"])
        report = embed_library(catalog, turn.library, embedder, at, turn.stop.asked)
        return Advance("done", result=asdict(report))

    return Lane(frozenset({"embed"}), 1, work)


def embed(
    catalog: Catalog,
    asked: JobRequest,
    embedder: Embedder,
    scratch: Path,
    on_progress: Callable[[EmbedProgress], None],
    stopped: threading.Event,
    leaving: threading.Event,
) -> EmbedReport:
    """Have a library embedded and wait for it. Raises what the embedder raises, and Cancelled: what was made until then
    is kept. The job ends with that, unless somebody else waits for it or ``leaving`` is set.
    """
    reader = JobReader(catalog)
    with workplace(catalog, scratch, "command", asked.needs, 1, leaving=leaving) as place, ExitStack() as stack:
        [enqueued] = place.queue.enqueue([asked], waiter=place.worker.id)
        place.leases.awaited = lambda: [enqueued.job]
        looked = time.monotonic()

        def over() -> bool:
            nonlocal looked
            if ended or time.monotonic() < looked + _LOOK:
                return bool(ended)
            looked = time.monotonic()
            job = reader.job(enqueued.job)
            if runner.idle and job.total:
                on_progress(EmbedProgress(0, 0, job.total, job.done))
            return job.ended

        ended: list[Advance] = []
        lanes = [lane(catalog, lambda _: embedder, on_progress)]
        runner = Runner(
            place, lanes, lambda job: Turn(job, Path(), _untold()), lambda _, end: ended.append(end), only_awaited=True
        )  # fmt: skip
        stack.callback(runner.close)
        runner.run(over, stopped)
        if stopped.is_set():
            raise Cancelled("Embedding was stopped; what was made until then is kept.", "Run embed again to go on.")
        job = reader.job(enqueued.job)
        if not job.result:
            raise PageIndexError(f"Embedding has ended: {job.cause}", "Run embed again to go on.")
        return EmbedReport(**job.result)


def _untold() -> Tally:
    return Tally(lambda _: None, 0, 0)
