"""This process as a worker: known to the others, with a folder, parsers, and the leases of what it has."""

from __future__ import annotations

import hashlib
import os
import platform
import threading
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from hybrid_core.errors import StoreError
from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.store.jobs.folding import fold
from hybrid_core.store.jobs.limits import JobLimits
from hybrid_core.store.jobs.queue import JobQueue
from hybrid_core.store.jobs.workers import Workers
from hybrid_core.store.scratch import living, scratch_folder
from hybrid_core.types.jobs import Worker
from indexers.jobs.leases import Leases
from indexers.workers.pool import WorkerLimits, WorkerPool


@dataclass(frozen=True, slots=True)
class Workplace:
    """``folder`` is for working files; ``parsers`` processes read files."""

    worker: Worker
    folder: Path
    parsers: int
    pool: WorkerPool
    queue: JobQueue
    workers: Workers
    leases: Leases


@contextmanager
def workplace(
    catalog: Catalog,
    scratch: Path,
    kind: str,
    abilities: Collection[str],
    parsers: int,
    limits: WorkerLimits = WorkerLimits(),
    leaving: threading.Event | None = None,
    job_limits: JobLimits = JobLimits(),
) -> Iterator[Workplace]:
    """At the end what this process has goes back to the queue. Where that comes by an error, jobs that nobody else
    waits for end, unless ``leaving`` is set.
    """
    queue, workers = JobQueue(catalog, limits=job_limits), Workers(catalog)
    with scratch_folder(scratch) as folder:
        home = hashlib.sha256(str(scratch.absolute()).encode()).hexdigest()[:8]
        host = f"{platform.node()}:{home}"  # processes of another home have their folders there
        worker = Worker(folder.name, host, os.getpid(), kind, frozenset(abilities))
        bury = partial(_bury, queue, workers, worker, scratch)
        bury()
        worker = workers.register(worker)
        pool = WorkerPool(parsers, limits)
        leases = Leases(queue, workers, worker, pool, bury)
        try:
            yield Workplace(worker, folder, parsers, pool, queue, workers, leases)
        except BaseException:
            if leaving is None or not leaving.is_set():
                with suppress(StoreError):
                    workers.abandon(worker.id)
            raise
        finally:
            leases.close()
            pool.close()
            workers.leave(worker.id)
            fold(catalog)


def _bury(queue: JobQueue, workers: Workers, me: Worker, scratch: Path) -> None:
    """Processes of this machine that died are known by their folders: nobody waits for their leases to end."""
    others = [one.id for one in workers.all() if one.host == me.host and one.id != me.id]
    alive = living(scratch) if others else set()
    gone = [one for one in others if one not in alive]
    if gone:
        queue.lapse(gone)
    for one in gone:
        workers.leave(one)
