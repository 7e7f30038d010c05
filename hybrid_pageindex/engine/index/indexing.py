"""Index and embed files: turn settings into options for the parsing of files, and update the search indexes.

The parsing modules are imported on first use, because a search does not need them.
"""

from __future__ import annotations

import functools
import logging
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hybrid_core.errors import Advice, NotConfiguredError, NotFoundError, PageIndexError, UsageError
from hybrid_core.store.catalog.embeddings import drop_embedder
from hybrid_core.store.catalog.libraries import RENEWED, check_name, create_library, new_id
from hybrid_core.system import Reach
from hybrid_core.types.documents import unread_pages
from hybrid_core.types.jobs import WANTED
from hybrid_core.types.libraries import library_called
from hybrid_core.types.notes import Note
from hybrid_pageindex.config.settings import Settings
from hybrid_pageindex.engine.context import Context
from hybrid_pageindex.engine.libraries.libraries import empty_bin, mark_used
from hybrid_pageindex.engine.models.improvement import estimated, improvers, model_needs, unseen
from hybrid_pageindex.engine.parts import Parts

if TYPE_CHECKING:
    from hybrid_core.embed.onnx_model import ExportReport
    from hybrid_core.types.jobs import JobRequest
    from hybrid_pageindex.engine.index.uploads import Fetched, Upload
    from indexers.jobs.embedding import EmbedProgress, EmbedReport
    from indexers.jobs.options import IndexOptions
    from indexers.jobs.report import FileResult, IndexProgress, IndexReport


_LOOK = 2.0  # seconds between two looks at the logs
_SHARE = 0.1  # maximum share of a worker's time, since each update opens the index anew
_LAST = 2.0  # maximum seconds of the last update of the search index; searches do the rest
_log = logging.getLogger(__name__)


def follow(parts: Parts, library: str, stopped: Callable[[], bool]) -> tuple[Note, ...]:
    """Update the search index of a library with all published documents. Return notes on failures.

    If an update fails, the documents stay published.
    """
    try:
        parts.indexes.follow(library, stopped)
    except NotFoundError:
        return ()  # nothing was published in it, or it was removed
    except PageIndexError as error:
        return (Note("index.search-behind", error=error.note),)
    return ()


@contextmanager
def following(parts: Parts) -> Iterator[None]:
    """Return a context that keeps the search indexes up to date while documents are published in it.

    At the end of the context the indexes are updated once more.
    """
    finished = threading.Event()
    thread = threading.Thread(target=_follow_logs, args=(parts, finished), name="follow", daemon=True)
    thread.start()
    try:
        yield
    finally:
        finished.set()
        thread.join()


def _follow_logs(parts: Parts, finished: threading.Event) -> None:
    reached = _positions(parts)
    pause, ended = _LOOK, False

    def enough() -> bool:
        return finished.is_set() and time.monotonic() > began + _LAST

    while not ended:
        ended = finished.wait(pause)
        began = time.monotonic()
        try:
            for library, position in _positions(parts).items():
                if position != reached.get(library, 0):
                    for note in follow(parts, library, enough):
                        _log.warning("%s", note)
                    reached[library] = position
        except PageIndexError as error:
            _log.warning("the logs of changes could not be read: %s", error)
        pause = max(_LOOK, (time.monotonic() - began) / _SHARE)


def _positions(parts: Parts) -> dict[str, int]:
    with parts.catalog.snapshot() as snapshot:
        return {library: snapshot.position(library) for library in snapshot.libraries()}


_JOB_SETTINGS = ("ocr", "ocr_languages", "outline", "vision", "enrich")  # settings that a job is asked with


@dataclass(frozen=True, slots=True)
class IndexCall:
    """Options of one call of ``index``, without its paths.

    ``wished`` is True if the caller chose how models are used. ``anew`` indexes unchanged files too, and ``detach``
    only queues the files.
    """

    password: str | None = None
    prune: bool = False
    check_hashes: bool = False
    anew: bool = False
    wished: bool = False
    detach: bool = False
    priority: int = WANTED


def index_library(
    context: Context,
    library: str,
    paths: Sequence[str | Path | Upload | Fetched],
    call: IndexCall,
    wishes: Mapping[str, Any],
    on_progress: Callable[[IndexProgress], None],
    cancelled: threading.Event,
) -> IndexReport:
    """Index paths with the engine's settings, and return a report.

    Values of ``wishes`` that are not None replace settings for this call.
    """
    settings = replace(context.settings, **{key: wish for key, wish in wishes.items() if wish is not None})
    wished = any(wishes.get(key) for key in ("outline", "vision", "enrich"))
    return index_paths(context.parts, library, paths, settings, replace(call, wished=wished), on_progress, cancelled)


def index_paths(
    parts: Parts,
    library: str,
    paths: Sequence[str | Path | Upload | Fetched],
    settings: Settings,
    call: IndexCall,
    on_progress: Callable[[IndexProgress], None],
    cancelled: threading.Event,
) -> IndexReport:
    """Index paths in a library, and return a report.

    Compute vectors of new documents if the library has a usable embedder.
    """
    from hybrid_core.store.catalog.libraries import check_machine
    from hybrid_pageindex.engine.index.uploads import local_paths, take_in
    from indexers.jobs.pipeline import IndexRun, index
    from indexers.jobs.refiner import missing
    from indexers.jobs.report import FileResult

    if call.detach and call.password is not None:
        raise UsageError(
            "Passwords are not stored, so another process cannot open the encrypted files later.",
            Advice(
                "Index the files in this process, or save copies without a password.",
                "Use only one of --detach and --password.",
            ),
        )
    catalog, home = parts.catalog, settings.storage_path
    options, without = index_options(parts, settings)
    with catalog.snapshot() as snapshot:
        libraries, taken = snapshot.named_libraries(), snapshot.library_ids()
        same_name = library_called(library, libraries)
        has_libraries = bool(
            libraries
        )  # a home reports missing models only once, unless the caller chose to use models
    options = replace(
        options, password=call.password, prune=call.prune, check_hashes=call.check_hashes, anew=call.anew,
        notes=() if has_libraries and not call.wished else without, reach=parts.reach,
    )  # fmt: skip
    if same_name is None:
        check_name(library)
    library_id = same_name.id if same_name else new_id(library, taken)
    if same_name is None and library_id.partition(RENEWED)[0] != library:  # its name cannot be told from its id
        library_id = create_library(catalog, library).id
    overrides = {name: getattr(settings, name) for name in _JOB_SETTINGS}
    overrides["models"] = dict(options.models.names) if options.models else {}
    if parts.reach is not None:  # whoever works for this server reaches no further
        overrides["roots"] = list(map(str, parts.reach.roots))
    if same_name is not None and settings.own_machine:
        check_machine(catalog, library_id, map(os.path.abspath, local_paths(paths)), settings.own_machine)
    taken, lost = take_in(catalog, library_id, paths, settings)
    last = _Last(on_progress)
    estimating = settings.enrich == "estimate"  # by this process: its workers may have been told to ask no model
    run = IndexRun(
        catalog, parts.cache, library_id, options, home / "tmp", cancelled, parts.leaving, overrides,
        detach=call.detach, priority=call.priority, works=estimating or call.password is not None or not parts.works,
    )  # fmt: skip
    report = index(run, taken, last)
    if report.files:
        mark_used(home, library_id)
    empty_bin(catalog, parts.cache, parts.indexes, home, expired=True)
    unmet = tuple(note for note in unseen(parts.chat, settings) if note not in report.notes)
    if settings.outline == "refined" and report.files and (lacks := missing()):
        unmet += (lacks,)
    failed = tuple(FileResult(path, "failed", why) for path, why in lost)
    report = replace(
        report, files=report.files + failed, notes=report.notes + unmet + _unread_note(report.files, settings)
    )
    if call.detach:
        return report
    if estimating:
        steps = [step for file in report.files for step in file.steps]
        pages = sum(step.done for step in steps if step.step == "pages")
        return replace(report, notes=(*report.notes, estimated(parts.chat, report.usage, pages)))
    embedded = _embedded(parts, library_id, report, settings, last, cancelled)
    return replace(report, notes=report.notes + embedded + follow(parts, library_id, cancelled.is_set))


def index_options(
    parts: Parts, settings: Settings, overrides: Mapping[str, Any] | None = None
) -> tuple[IndexOptions, tuple[Note, ...]]:
    """Return the index options for these settings, and notes on missing models.

    ``overrides`` are settings of one job, which replace those of the engine.
    """
    from hybrid_core.store.jobs.claims import JobLimits
    from indexers.assembly.chunks import ChunkSize
    from indexers.formats.limits import ParseLimits
    from indexers.jobs.options import IndexOptions
    from indexers.jobs.refiner import missing
    from indexers.ocr.engines import find_ocr

    settings = replace(settings, **{name: overrides[name] for name in _JOB_SETTINGS if overrides and name in overrides})
    models, without = improvers(parts.chat, settings)
    names = models.names if models else {}
    return IndexOptions(
        workers=settings.workers,
        range_pages=settings.range_pages,
        seconds_per_task=settings.seconds_per_task,
        seconds_per_file=settings.seconds_per_file,
        max_worker_memory=settings.max_worker_memory,
        max_ocr_memory=settings.max_ocr_memory,
        parse=settings.part(ParseLimits),
        chunks=settings.part(ChunkSize),
        ocr=functools.cache(partial(find_ocr, settings.ocr, settings.ocr_languages)),
        ocr_seconds=settings.ocr_seconds,
        outline="fast" if missing() else settings.outline,
        outline_pages=settings.outline_pages,
        outline_seconds=settings.outline_seconds,
        machine=settings.own_machine,
        needs=_ocr_needs(settings),
        enrich_needs=model_needs(overrides["models"] if overrides else names),
        job_limits=settings.part(JobLimits),
        models=models,
        reach=Reach(tuple(map(Path, overrides["roots"]))) if overrides and "roots" in overrides else None,
    ), without


def _ocr_needs(settings: Settings) -> frozenset[str]:
    """Return the abilities that a worker needs to read scans, such as "ocr:eng".

    Return none if this machine cannot read scans.
    """
    from indexers.ocr.engines import some_ocr

    if settings.ocr == "never" or not some_ocr():
        return frozenset()
    return frozenset(f"ocr:{language}" for language in settings.ocr_languages.split("+"))


def _unread_note(files: Sequence[FileResult], settings: Settings) -> tuple[Note, ...]:
    """Return a one-line note with advice on how to read the unread pages of these files, () without advice."""
    from indexers.ocr.engines import NoOcr, find_ocr

    counts = [unread_pages(file.note.parts)[0] for file in files]
    try:
        engine = find_ocr(settings.ocr, settings.ocr_languages) if any(counts) else None
    except PageIndexError:
        return ()  # each file says it
    if not isinstance(engine, NoOcr):
        return ()
    files_unread = sum(1 for count in counts if count)
    return (Note("index.pictures-unread", pages=sum(counts), files=files_unread, advice=engine.reason),)


def _embedded(
    parts: Parts, library: str, report: IndexReport, settings: Settings, last: _Last, cancelled: threading.Event
) -> tuple[Note, ...]:
    """Compute missing vectors if the library has an embedder. Return a note if that is impossible here."""
    if not any(file.status == "indexed" for file in report.files):
        return ()
    spec, waiting, published = _unembedded(parts, library)
    if not waiting:
        return ()
    note = Note("index.without-vectors", waiting=waiting, documents=published)
    if not spec:
        return (note,)
    try:
        _embed(parts, library, spec, settings, last.embedding, cancelled)
    except PageIndexError as error:
        if cancelled.is_set():
            raise
        return (Note("index.not-embedded", note=note, error=error.note),)
    return ()


def embedding_of(parts: Parts, library: str, settings: Settings) -> list[JobRequest]:
    """Return the jobs that compute vectors for the new documents of a library.

    Return none if the library has no embedder or all documents have vectors.
    """
    from indexers.jobs.embedding import requests

    spec, waiting, _ = _unembedded(parts, library)
    return requests(parts.catalog, library, spec, chunks=_chunks(settings)) if spec and waiting else []


def _chunks(settings: Settings) -> bool:
    return settings.embedding_chunks == "after"


def _unembedded(parts: Parts, library: str) -> tuple[str, int, int]:
    """Return a library's embedder, the number of published documents without its vectors, and the number of all.

    The embedder is "" if the library has none, or if it is being replaced by another embedder.
    """
    with parts.catalog.snapshot() as snapshot:
        serving, coming = snapshot.embedder(library)
        if serving is None:
            return "", 0, 0
        published, done = snapshot.published(library).values(), snapshot.embedded(serving.fingerprint)
    return "" if coming else serving.name, sum(version not in done for version in published), len(published)


def embed_documents(
    parts: Parts,
    library: str,
    model: str | None,
    settings: Settings,
    on_progress: Callable[[EmbedProgress], None],
    cancelled: threading.Event,
) -> EmbedReport | None:
    catalog = parts.catalog
    with catalog.snapshot() as snapshot:
        library_id = snapshot.library(library).id
        serving, coming = snapshot.embedder(library_id)
    if model == "none":
        drop_embedder(catalog, library_id)
        return None
    recorded = coming or serving
    spec = model or (recorded.name if recorded else settings.embedding_model)
    if not spec:
        raise NotConfiguredError(
            "No embedder is configured, and the request names none.",
            Advice("Name an embedder, for example bge-m3.", "Name an embedder, for example: embed --embedder bge-m3."),
        )
    report = _embed(parts, library_id, spec, settings, on_progress, cancelled)
    follow(parts, library_id, cancelled.is_set)  # where it cannot, the next search says why
    return report


def export_embedder(parts: Parts, folder: Path, spec: str) -> ExportReport:
    from hybrid_core.embed.onnx_model import export_model

    if not spec:
        raise UsageError(
            "No embedder is configured, and the request names none.",
            Advice(
                "Name an embedder, for example sentence-transformers:PATH.",
                "Name an embedder: embed --export FOLDER --embedder sentence-transformers:PATH.",
            ),
        )
    return export_model(parts.embedders.load(spec), folder.expanduser())


def request_embedding(parts: Parts, library: str, model: str | None, settings: Settings) -> int:
    """Queue the computation of a library's page vectors, and return the job's number. A later job computes chunk
    vectors.

    Raise UsageError if no model is named or configured.
    """
    from hybrid_core.store.jobs.queue import JobQueue
    from indexers.jobs.embedding import requests

    with parts.catalog.snapshot() as snapshot:
        library_id = snapshot.library(library).id
        serving, coming = snapshot.embedder(library_id)
    recorded = coming or serving
    spec = model or (recorded.name if recorded else settings.embedding_model)
    if not spec or spec == "none":
        raise NotConfiguredError(
            "No embedder is configured, and the request names none.", "Name an embedder, for example bge-m3."
        )
    jobs = requests(parts.catalog, library_id, spec, chunks=_chunks(settings))
    return JobQueue(parts.catalog).enqueue(jobs)[0].job


def _embed(
    parts: Parts,
    library: str,
    spec: str,
    settings: Settings,
    on_progress: Callable[[EmbedProgress], None],
    cancelled: threading.Event,
) -> EmbedReport:
    from hybrid_core.store.jobs.claims import JobLimits
    from indexers.jobs.embedding import embed, requests

    embedder = parts.embedders.load(spec)
    jobs = requests(parts.catalog, library, spec, chunks=_chunks(settings))
    scratch = settings.storage_path / "tmp"
    limits = settings.part(JobLimits)
    return embed(parts.catalog, jobs, embedder, scratch, on_progress, cancelled, parts.leaving, limits)


class _Last:
    """A progress callback that passes indexing reports on and stores the last one.

    It turns embedding progress into a copy of that report, with the stage "embed".
    """

    def __init__(self, on_progress: Callable[[IndexProgress], None]) -> None:
        self._told = on_progress
        self._progress: IndexProgress | None = None

    def __call__(self, progress: IndexProgress) -> None:
        self._progress = progress
        self._told(progress)

    def embedding(self, progress: EmbedProgress) -> None:
        if self._progress is not None:
            done, texts = progress.texts_done, progress.texts
            self._told(
                replace(
                    self._progress, finished=None, over="", file="", stage="embed", stage_pages=texts, stage_done=done
                )
            )
