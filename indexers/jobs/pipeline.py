"""The one path from files to the store: what is new of them is enqueued, worked at, and waited for."""

from __future__ import annotations

import os
import threading
import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

from hybrid_core.errors import Cancelled
from hybrid_core.llm.metering import current_charge
from hybrid_core.llm.reply_cache import ReplyCache
from hybrid_core.store.cache.cache import Cache
from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.store.jobs.queue import JobQueue
from hybrid_core.store.jobs.reading import JobReader
from hybrid_core.store.jobs.workers import MACHINE, SESSION
from hybrid_core.text.plural import counted
from hybrid_core.types.documents import Document
from hybrid_core.types.jobs import Job, JobRequest, JobStage
from hybrid_core.types.priorities import WANTED
from hybrid_core.types.versions import StoredVersion
from indexers.build.stored import StoredContents
from indexers.files.discover import discover
from indexers.files.private_copy import size, system_stat
from indexers.files.prune import gone, prune
from indexers.files.unchanged import UnchangedFiles
from indexers.jobs.batch import Batch
from indexers.jobs.file_stages import FileStages, unchanged
from indexers.jobs.runner import Lane, Runner
from indexers.jobs.workplace import workplace
from indexers.stages.members.keeper import members_of
from indexers.stages.options import IndexOptions
from indexers.stages.refining import unrefined
from indexers.stages.report import FileResult, IndexProgress, IndexReport, Tally
from indexers.stages.turn import ANEW, Turn


def index(
    catalog: Catalog,
    cache: Cache,
    library: str,
    paths: Sequence[str | Path],
    options: IndexOptions,
    scratch: Path,
    on_progress: Callable[[IndexProgress], None] = lambda _: None,
    cancelled: threading.Event | None = None,
    leaving: threading.Event | None = None,
    asked: Mapping[str, Any] | None = None,
    *,
    detach: bool = False,
    works: bool = True,
    priority: int = WANTED,
) -> IndexReport:
    """Index what ``paths`` name into a library; every file that can be published is, whatever happens to others.

    ``cache`` keeps pages that were read by OCR, and what models said; ``scratch`` is a folder for working files.
    ``asked`` is kept with the jobs: what a worker of another process needs to know of the options. ``detach``: leave
    them to such workers; ``works`` is whether this call does what it waits for, where nobody else does.
    Raises Cancelled once ``cancelled`` is set: what was published stays, and the jobs that nobody else waits for end,
    unless ``leaving`` is set too. Raises UsageError for a bad library name, StoreError where the catalog cannot be
    written.
    """
    kept = [Path(path) for path in map(str, paths) if catalog.kept_as(library, path)]
    found = discover([path for path in paths if Path(path) not in kept], empty_folders=options.prune)
    files = (*found.files, *kept)
    if files:
        catalog.ensure_library(library)
    failed = [FileResult(path, "failed", error) for path, error in found.problems]
    tally = Tally(on_progress, len(failed) + len(files), sum(size(file) for file in files))
    tally.add()
    for problem in failed:
        tally.add(finished=problem)
    known = _documents(catalog, library)
    done, requests = _sorted_out(catalog, cache, library, files, known, options, asked or {}, priority, tally)
    if detach:
        JobQueue(catalog).enqueue(list(requests.values()))
    elif requests:
        stop, stay = cancelled or threading.Event(), leaving or threading.Event()
        done |= _worked(catalog, cache, requests, options, scratch, tally, len(done), stop, stay, works)
    inside = sorted(done.keys() - set(files))  # what lies in them
    results = [*failed, *(done[file] for file in (*files, *inside) if file in done)]
    removed = prune(catalog, library, found.roots) if options.prune else ()
    indexed = any(result.status == "indexed" for result in results)
    left = () if options.prune or not found.files else gone(catalog, library, found.roots)
    absent = (f"{counted(len(left), 'document')} whose file is gone: pruning removes them",) if left else ()
    notes = (
        *found.notes,
        *((f"{counted(len(requests), 'file')} left to workers",) if detach else ()),
        *absent,
        *tally.notes,
        *(options.notes if indexed else ()),
    )
    return IndexReport(tuple(results), removed, notes, found.skipped)


def _documents(catalog: Catalog, library: str) -> dict[str, Document]:
    """By path; a file whose document is damaged fails by itself once its turn comes."""
    with catalog.snapshot() as snapshot:
        return {document.path: document for document in snapshot.sound_documents(library)}


def _sorted_out(
    catalog: Catalog,
    cache: Cache,
    library: str,
    files: Sequence[Path],
    known: Mapping[str, Document],
    options: IndexOptions,
    asked: Mapping[str, Any],
    priority: int,
    tally: Tally,
) -> tuple[dict[Path, FileResult], dict[Path, JobRequest]]:
    """What is known of files that are unchanged, and what has to be done for the others."""
    needs = options.needs
    if options.password is not None:  # which is kept by this process alone
        secret = f"{SESSION}{uuid.uuid4().hex}"
        needs, asked = needs | {secret}, {**asked, "password": secret}
    here = {MACHINE + options.machine} if options.machine else set[str]()
    stored = UnchangedFiles(catalog, library, StoredContents(catalog, options.ocr, options.chunks))
    if options.anew:
        asked = {**asked, ANEW: True}
    unimproved = _unimproved(cache, options)
    estimate = options.models is not None and options.models.estimate  # takes no other job's place
    done: dict[Path, FileResult] = {}
    requests: dict[Path, JobRequest] = {}
    given, inside = set(files), [*files]
    able = needs | here | options.enrich_needs
    waiting = JobReader(catalog).waiting_stages(library, able)  # left by a command that was killed, for instance
    for file in inside:  # grows by what lies in those that are unchanged
        if file in done or file in requests:
            continue
        document = known.get(str(file))
        stage: JobStage = "parse"
        looked_at = not options.check_hashes and not options.anew
        if document is not None and looked_at and stored.known(file, document):
            result = unchanged(file, document)
            further = [path for path in members_of(catalog, library, document) if path not in given]
            inside += further
            tally.files += len(further)
            version = stored.version(document)
            models = bool(options.enrich_needs)
            left = waiting.get(str(file))
            coarse = options.refine and version is not None and (left == "refine" or unrefined(version.version, models))
            if version is None or not (coarse or (models and left == "enrich") or unimproved(version)):
                done[file] = result
                tally.add(size=document.size, finished=result, over=str(file))
                continue
            tally.add(size=document.size, finished=result)
            stage = "refine" if coarse else "enrich"
        kept, stamp = catalog.kept_as(library, file), system_stat(file)
        version_of_file = kept or (
            "" if stamp is None else f"{stamp.st_size} {stamp.st_mtime_ns} {stamp.st_ctime_ns} {stamp.st_ino}"
        )
        requests[file] = JobRequest(
            library, "index", str(file), stage, options=asked, needs=needs if kept else needs | here,
            priority=priority, owner=current_charge().who, version=version_of_file,
            key=f"estimate\n{library}\n{file}" if estimate else "",
        )  # fmt: skip
    return done, requests


def _unimproved(cache: Cache, options: IndexOptions) -> Callable[[StoredVersion], bool]:
    """Whether models that are configured have something to do for a content."""
    if options.models is None:
        return lambda _: False
    from indexers.stages.improving import unimproved  # with pydantic and the prompts, which others do not wait for

    return partial(unimproved, ReplyCache(cache), options.models)


def _worked(
    catalog: Catalog,
    cache: Cache,
    requests: Mapping[Path, JobRequest],
    options: IndexOptions,
    scratch: Path,
    tally: Tally,
    done: int,
    stopped: threading.Event,
    leaving: threading.Event,
    works: bool,
) -> dict[Path, FileResult]:
    """What came of the files, whoever did them. Raises Cancelled."""
    abilities = options.enrich_needs.union(*(request.needs for request in requests.values()))
    parsers = options.workers or os.cpu_count() or 1
    with (
        workplace(
            catalog, scratch, "command", abilities, parsers, options.worker_limits, leaving, options.job_limits
        ) as place,
        ExitStack() as stack,
    ):
        reader = JobReader(catalog)
        after = reader.last_event()
        enqueued = place.queue.enqueue(list(requests.values()), waiter=place.worker.id)
        jobs = {one.job: file for one, file in zip(enqueued, requests, strict=True)}
        batch = Batch(reader, place.worker.id, place.leases.at_work, jobs, after, tally)
        place.leases.awaited = batch.left
        lanes: list[Lane] = []
        if works:
            stages = FileStages(catalog, cache, place, options, tally)
            stack.callback(stages.close)
            lanes = stages.lanes()

        def begun(job: Job) -> Turn:
            return Turn(job, catalog.place(job.library, job.subject), tally)

        runner = Runner(place, lanes, begun, batch.ended, only_awaited=True, for_caller=True)
        stack.callback(runner.close)
        runner.run(batch.over, stopped)
        if stopped.is_set():
            raise Cancelled(
                f"Indexing was stopped; {done + len(batch.results)} of {done + len(requests)} files are done and stay.",
                "Run the same command again to complete the rest.",
            )
        return batch.results
