"""A library's vectors made as a job: by the call that waits for it, or by whoever has it already."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import asdict, replace
from pathlib import Path

from hybrid_core.embed.embedder import Embedder
from hybrid_core.errors import Cancelled, PageIndexError
from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.store.jobs.limits import JobLimits
from hybrid_core.store.jobs.reading import JobReader
from hybrid_core.types.jobs import Advance, JobRequest
from hybrid_core.types.priorities import WATCHED
from indexers.build.embed import EmbedProgress, EmbedReport, embed_library
from indexers.jobs.runner import Lane, Runner
from indexers.jobs.workplace import workplace
from indexers.stages.report import Tally
from indexers.stages.turn import Turn

_LOOK = 0.5  # seconds between two looks at what another process does
NEED = "embedder:"
"""Begins what a worker must have to embed: a form of embedders."""


def requests(catalog: Catalog, library: str, spec: str, *, chunks: bool) -> list[JobRequest]:
    """To embed the pages that a library holds now, and with ``chunks``, once nothing more urgent waits, the chunks of
    those: of what is published later each does more.
    """
    with catalog.snapshot() as snapshot:
        version = str(snapshot.position(library))
    needs = frozenset({NEED + spec.partition(":")[0]})
    pages = JobRequest(library, "embed", library, "embed", {"embedder": spec}, needs, version=version)
    later = replace(pages, options={"embedder": spec, "chunks": True}, priority=WATCHED, key=f"embed chunks\n{library}")
    return [pages, later] if chunks else [pages]


def lane(catalog: Catalog, load: Callable[[str], Embedder], told: Callable[[EmbedProgress], None]) -> Lane:
    """``load`` gives the embedder of a spec. One library at a time: a model takes all cores by itself."""

    def work(turn: Turn) -> Advance:
        def at(progress: EmbedProgress) -> None:
            turn.done, turn.pages = progress.texts_done, progress.texts
            told(progress)

        embedder = load(turn.job.options["embedder"])
        chunks = bool(turn.job.options.get("chunks"))
        report = embed_library(catalog, turn.library, embedder, at, turn.stop.asked, chunks=chunks)
        return Advance("done", result=asdict(report))

    return Lane(frozenset({"embed"}), 1, work)


def embed(
    catalog: Catalog,
    asked: Sequence[JobRequest],
    embedder: Embedder,
    scratch: Path,
    on_progress: Callable[[EmbedProgress], None],
    stopped: threading.Event,
    leaving: threading.Event,
    job_limits: JobLimits = JobLimits(),
) -> EmbedReport:
    """Have a library embedded and wait for all that was asked; the report is of it together.

    Raises what the embedder raises, and Cancelled: what was made until then is kept. A job ends with that, unless
    somebody else waits for it or ``leaving`` is set.
    """
    reader = JobReader(catalog)
    needs = frozenset[str]().union(*(one.needs for one in asked))
    with (
        workplace(catalog, scratch, "command", needs, 1, leaving=leaving, job_limits=job_limits) as place,
        ExitStack() as stack,
    ):
        awaited = [one.job for one in place.queue.enqueue(asked, waiter=place.worker.id)]
        place.leases.awaited = lambda: awaited
        looked = time.monotonic()

        def over() -> bool:
            nonlocal looked
            if len(ended) == len(awaited) or time.monotonic() < looked + _LOOK:
                return len(ended) == len(awaited)
            looked = time.monotonic()
            found = [reader.job(one) for one in awaited]
            under_way = next((job for job in found if not job.ended), None)
            if runner.idle and under_way and under_way.total:
                on_progress(EmbedProgress(0, 0, under_way.total, under_way.done))
            return under_way is None

        ended: list[Advance] = []
        lanes = [lane(catalog, lambda _: embedder, on_progress)]
        runner = Runner(
            place, lanes, lambda job: Turn(job, Path(), _untold()), lambda _, end: ended.append(end), only_awaited=True,
            for_caller=True,
        )  # fmt: skip
        stack.callback(runner.close)
        runner.run(over, stopped)
        if stopped.is_set():
            raise Cancelled("Embedding was stopped; what was made until then is kept.", "Run embed again to go on.")
        reports = []
        for job in map(reader.job, awaited):
            if not job.result:
                raise PageIndexError(f"Embedding has ended: {job.cause}", "Run embed again to go on.")
            reports.append(EmbedReport(**job.result))
        first = reports[0]
        return replace(
            first, vectors=sum(one.vectors for one in reports), reused=sum(one.reused for one in reports),
            seconds=round(sum(one.seconds for one in reports), 2),
        )  # fmt: skip


def _untold() -> Tally:
    return Tally(lambda _: None, 0, 0)
