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
    """The models that improve documents: their ``names`` and ``options``.

    The first call of ``tried`` tests the models. With ``estimate`` calls are only counted, not made.
    """

    names: Mapping[Kind, str]
    tried: Callable[[], Future[EnrichModels]]
    options: EnrichOptions
    estimate: bool = False


@dataclass(frozen=True, slots=True)
class IndexOptions:
    """Options of an indexing run and of its worker processes.

    ``workers`` 0 means one per core. ``range_pages`` is the number of pages that one task parses. ``parse`` limits how
    much of a file is read; the seconds and memory limits are those of indexers.workers.pool.WorkerLimits. ``ocr`` is
    called when a page needs OCR. After ``ocr_seconds`` a file is published with the pages read so far. The rest follows
    after other files have had their run. Each run has more time than the one before.

    ``outline`` decides whether a layout model refines the section trees after publication. ``auto`` refines those with
    a low quality estimate, reading at most ``outline_pages`` pages for ``outline_seconds``. ``machine`` is the machine
    that can read the files by their paths, "" if there is only one.

    ``needs`` are the abilities that a worker needs to read these files, ``enrich_needs`` those to improve them; if
    these are empty, there is no improvement. ``job_limits`` apply to all processes together. ``models`` are the models
    of this process. ``notes`` are added to the notes of the run. ``reach`` are the folders that the requesting server
    may read, None without restrictions.
    """

    workers: int = 0
    password: str | None = None
    prune: bool = False
    check_hashes: bool = False  # read every file, even if the operating system reports it as unchanged
    anew: bool = False  # index every file again
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
