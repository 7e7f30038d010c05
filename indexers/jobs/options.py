"""The options of an indexing run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from hybrid_core.store.jobs.claims import JobLimits
from hybrid_core.system import Reach
from hybrid_core.types.files import Kind
from hybrid_core.types.notes import Note
from indexers.assembly.chunks import ChunkSize
from indexers.formats.limits import ParseLimits
from indexers.ocr.engines import OFF, NoOcr, Ocr

if TYPE_CHECKING:
    from indexers.enrich.options import EnrichModels, EnrichOptions
    from indexers.workers.pool import WorkerLimits


@dataclass(frozen=True, slots=True)
class ModelPlan:
    """The models that improve documents: their ``names``, and the models themselves once ``tried`` (on the first call).

    ``estimate`` counts calls without making them.
    """

    names: Mapping[Kind, str]
    tried: Callable[[], Future[EnrichModels]]
    options: EnrichOptions
    estimate: bool = False


@dataclass(frozen=True, slots=True)
class IndexOptions:
    """``workers`` 0 means one per core. ``range_pages`` is how many pages one task parses.

    ``parse`` limits what is read of a file; the others limit its work: indexers.workers.pool.WorkerLimits.
    ``ocr`` is called when a page needs it. ``ocr_seconds``: after so much time the pages of a file that were
    read are published, and the others follow when every other file has had its turn, each turn longer.
    ``outline``: whether section trees are made again by what a layout model says of the pages, once they are published;
    ``auto``: those whose own estimate is low, by at most ``outline_pages`` of their pages, for ``outline_seconds``.
    ``machine``: whose files are read by their paths, "" where no other can be asked.
    ``needs`` is what a worker must have to read files so, ``enrich_needs`` to improve them, which is left out where
    that is empty; ``job_limits`` are kept by all processes. ``models`` are those of this process that improve files.
    ``notes`` are told with the run's. ``reach`` is that of the server that asks, None for whoever may read everything.
    """

    workers: int = 0
    password: str | None = None
    prune: bool = False
    check_hashes: bool = False  # read every file, also those that the system tells are unchanged
    anew: bool = False  # and make all of them again
    range_pages: int = 100
    seconds_per_task: float = 120.0
    seconds_per_file: float = 3600.0
    max_worker_memory: int = 10**9
    max_ocr_memory: int = 2 * 10**9
    parse: ParseLimits = field(default_factory=ParseLimits)
    chunks: ChunkSize = field(default_factory=ChunkSize)
    ocr: Callable[[], Ocr | NoOcr] = lambda: OFF
    ocr_seconds: float = 5.0
    outline: Literal["auto", "fast", "refined"] = "fast"
    outline_pages: int = 300
    outline_seconds: float = 300.0
    machine: str = ""
    needs: frozenset[str] = frozenset()
    enrich_needs: frozenset[str] = frozenset()
    job_limits: JobLimits = JobLimits()
    models: ModelPlan | None = None
    notes: tuple[Note, ...] = ()
    reach: Reach | None = None

    @property
    def worker_limits(self) -> WorkerLimits:
        from indexers.workers.pool import WorkerLimits

        return WorkerLimits(self.seconds_per_task, self.seconds_per_file, self.max_worker_memory, self.max_ocr_memory)
