"""Embedding of an indexed library, and the jobs for it.

Pages are embedded first, document by document; chunks follow in a second pass. Jobs can be resumed.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from hybrid_core.embed.embedder import Embedder, SparseEmbedder
from hybrid_core.errors import Cancelled, DamageError, PageIndexError
from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.store.catalog.embeddings import Embeddings, content_texts
from hybrid_core.store.jobs.claims import JobLimits
from hybrid_core.store.jobs.reader import JobReader
from hybrid_core.types.documents import StoredEmbedder
from hybrid_core.types.jobs import WATCHED, JobRequest, JobUpdate
from indexers.jobs.report import Tally
from indexers.jobs.runner import Lane, Runner, workplace
from indexers.jobs.stage_run import StageRun

_TEXTS_AT_ONCE = 128  # texts per transaction: the maximum loss if the process is killed


@dataclass(frozen=True, slots=True)
class EmbedProgress:
    documents: int
    documents_done: int
    texts: int  # an estimate until the last document is read, since it includes blank chunks
    texts_done: int


@dataclass(frozen=True, slots=True)
class EmbedReport:
    """The result of an embedding run. ``reused`` counts vectors that were already stored for the same texts.

    ``serving`` is True if searches now use this embedder.
    """

    embedder: str
    dimension: int
    documents: int
    vectors: int
    reused: int
    seconds: float
    serving: bool


def embed_library(
    catalog: Catalog,
    library: str,
    embedder: Embedder,
    on_progress: Callable[[EmbedProgress], None] = lambda _: None,
    cancelled: threading.Event | None = None,
    *,
    chunks: bool = False,
) -> EmbedReport:
    """Embed the pages of every published document of a library that are not embedded yet.

    With ``chunks`` it embeds the chunks of documents with embedded pages instead. Raise the embedder's errors
    (ModelError), and Cancelled once ``cancelled`` is set; vectors computed until then stay, and the next call
    continues. A document with damaged stored data is skipped, and DamageError is raised after all others.
    """
    began = time.monotonic()
    sparse = isinstance(embedder, SparseEmbedder)
    stored = StoredEmbedder(embedder.id.fingerprint, embedder.id.name, embedder.id.dimension, sparse)
    target = Embeddings(catalog, library, stored)
    target.begin()
    with catalog.snapshot() as snapshot:
        done = snapshot.embedded(stored.fingerprint, chunks=chunks)
        among = list(snapshot.published(library).values())
        if chunks:
            paged = snapshot.embedded(stored.fingerprint)
            among = [content for content in among if content in paged]
        waiting = list(dict.fromkeys(content for content in among if content not in done))
        expected = sum(snapshot.text_count(content, chunks) for content in waiting)
    texts_done = vectors = 0
    damaged: list[DamageError] = []
    for number, content_id in enumerate(waiting):
        try:
            with catalog.snapshot() as snapshot:
                texts = content_texts(snapshot, content_id, chunks=chunks)
        except DamageError as error:
            damaged.append(error)
            continue
        due = [text for text in texts if text.chunk] if chunks else texts
        by_key = {text.key: text.text for text in due}
        missing = target.missing(list(by_key))
        missing.sort(key=lambda key: len(by_key[key]))  # similar lengths in a batch need little padding
        texts_done += len(due) - len(missing)
        for start in range(0, len(missing), _TEXTS_AT_ONCE):
            if cancelled is not None and cancelled.is_set():
                raise Cancelled(
                    f"Embedding was stopped; {number} of {len(waiting)} documents are done.",
                    "Start embedding again to continue where it stopped.",
                )
            on_progress(EmbedProgress(len(waiting), number, max(expected, texts_done), texts_done))
            some = missing[start : start + _TEXTS_AT_ONCE]
            _embed(embedder, target, {key: by_key[key] for key in some})
            texts_done += len(some)
            vectors += len(some)
        target.complete(content_id, len(texts), chunks=chunks)
    on_progress(EmbedProgress(len(waiting), len(waiting), texts_done, texts_done))
    serving = target.finish()
    if damaged:
        message = (
            f"{len(damaged)} of {len(waiting)} documents could not be embedded; the others were embedded. "
            f"The first problem: {damaged[0].message}"
        )
        raise DamageError(message, damaged[0].advice) from damaged[0]
    seconds = round(time.monotonic() - began, 2)
    return EmbedReport(stored.name, stored.dimension, len(waiting), vectors, texts_done - vectors, seconds, serving)


def _embed(embedder: Embedder, target: Embeddings, texts: Mapping[str, str]) -> None:
    """Embed texts and store the vectors by key, with term weights if the embedder computes them."""
    if isinstance(embedder, SparseEmbedder):
        vectors, weights = embedder.embed_both(list(texts.values()), "document")
        target.put(dict(zip(texts, vectors, strict=True)), dict(zip(texts, weights, strict=True)))
    else:
        target.put(dict(zip(texts, embedder.embed(list(texts.values()), "document"), strict=True)))


_LOOK = 0.5  # seconds between two checks of other processes
NEED = "embedder:"
"""The prefix of a worker's ability to embed. The kind of the embedder follows it."""


def requests(catalog: Catalog, library: str, spec: str, *, chunks: bool) -> list[JobRequest]:
    """Return the job requests for embedding the pages of a library and, with ``chunks``, its chunks.

    The job for chunks has a low priority. Each job also embeds documents that are published after its request.
    """
    with catalog.snapshot() as snapshot:
        version = str(snapshot.position(library))
    needs = frozenset({NEED + spec.partition(":")[0]})
    pages = JobRequest(library, "embed", library, "embed", {"embedder": spec}, needs, version=version)
    later = replace(pages, options={"embedder": spec, "chunks": True}, priority=WATCHED, key=f"embed chunks\n{library}")
    return [pages, later] if chunks else [pages]


def lane(catalog: Catalog, load: Callable[[str], Embedder], on_progress: Callable[[EmbedProgress], None]) -> Lane:
    """Return the lane (threads and stages) for embedding jobs.

    ``load`` returns the embedder of a spec such as "kind:model". One library is processed at a time, since a model uses
    all cores.
    """

    def work(run: StageRun) -> JobUpdate:
        def at(progress: EmbedProgress) -> None:
            run.done, run.pages = progress.texts_done, progress.texts
            on_progress(progress)

        embedder = load(run.job.options["embedder"])
        chunks = bool(run.job.options.get("chunks"))
        report = embed_library(catalog, run.library, embedder, at, run.stop.asked, chunks=chunks)
        return JobUpdate("done", result=asdict(report))

    return Lane(frozenset({"embed"}), 1, work)


def embed(
    catalog: Catalog,
    jobs: Sequence[JobRequest],
    embedder: Embedder,
    scratch: Path,
    on_progress: Callable[[EmbedProgress], None],
    stopped: threading.Event,
    leaving: threading.Event,
    job_limits: JobLimits = JobLimits(),
) -> EmbedReport:
    """Enqueue embedding jobs, wait for all of them, and return one report.

    Raise the errors of the embedder, and Cancelled; vectors computed until then stay. An interrupted job is cancelled,
    unless another caller waits for it or ``leaving`` is set.
    """
    reader = JobReader(catalog)
    needs = frozenset[str]().union(*(item.needs for item in jobs))
    with (
        workplace(catalog, scratch, "command", needs, 1, leaving=leaving, job_limits=job_limits) as place,
        ExitStack() as stack,
    ):
        awaited = [item.job for item in place.queue.enqueue(jobs, waiter=place.worker.id)]
        place.leases.awaited = lambda: awaited
        looked = time.monotonic()

        def has_ended() -> bool:
            nonlocal looked
            if len(ended) == len(awaited) or time.monotonic() < looked + _LOOK:
                return len(ended) == len(awaited)
            looked = time.monotonic()
            rows = [reader.job(item) for item in awaited]
            under_way = next((job for job in rows if not job.ended), None)
            if runner.idle and under_way and under_way.total:
                on_progress(EmbedProgress(0, 0, under_way.total, under_way.done))
            return under_way is None

        ended: list[JobUpdate] = []
        lanes = [lane(catalog, lambda _: embedder, on_progress)]
        tally = Tally(lambda _: None, 0, 0)
        runner = Runner(
            place, lanes, lambda job: StageRun(job, Path(), tally), lambda _, end: ended.append(end), only_awaited=True,
            for_caller=True,
        )  # fmt: skip
        stack.callback(runner.close)
        runner.run(has_ended, stopped)
        if stopped.is_set():
            raise Cancelled(
                "Embedding was stopped; the vectors made so far are saved.",
                "Start embedding again to continue where it stopped.",
            )
        reports = []
        for job in map(reader.job, awaited):
            if not job.result:
                raise PageIndexError(
                    f"Embedding has failed: {job.cause}",
                    "Start embedding again to continue where it stopped.",
                )
            reports.append(EmbedReport(**job.result))
        first = reports[0]
        return replace(
            first, vectors=sum(item.vectors for item in reports), reused=sum(item.reused for item in reports),
            seconds=round(sum(item.seconds for item in reports), 2),
        )  # fmt: skip
