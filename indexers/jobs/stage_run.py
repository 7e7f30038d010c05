"""A run of one stage of a file's job, while this process has the job's lease."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

from hybrid_core.types.jobs import Job
from hybrid_core.types.notes import Note
from indexers.enrich.steps import Stage
from indexers.files.private_copy import size
from indexers.jobs.report import FileResult, FileStage, Tally
from indexers.workers.pool import Stop

ANEW = "anew"
"""The option of a job to process a file again, even if the catalog stores its document already."""


class StageRun:
    """A run of one stage of a file's job. ``source`` is the path of the file's bytes.

    ``before`` is the result of earlier stages, if any. ``notes`` are notes on the file, besides those of its parser.
    """

    def __init__(self, job: Job, source: Path, tally: Tally) -> None:
        self.job, self.source, self.tally = job, source, tally
        self.file, self.library = Path(job.subject), job.library
        self.notes: tuple[Note, ...] = ()
        self.before = FileResult.from_json(job.result) if job.result and job.returns else None
        self.anew = bool(job.options.get(ANEW))
        self.stop = Stop()
        self.slot = object()
        """An object that stands for the thread of its lane that it occupies. Runs of one batch share the object."""
        self.written = False
        """Whether the catalog already stores the end of this run, together with the document that it published."""
        self.rough = True
        """Whether the published section tree may be improved by a layout model: its quality is low or unknown."""
        self.done, self.pages = 0, 0
        self._size, self._shown = size(source), 0.0
        self._began = time.monotonic()

    def begin(self) -> None:
        """Start the measurement of this run's time."""
        self._began = time.monotonic()

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._began

    def at(self, stage: Stage, done: int, pages: int) -> FileStage:
        """Record the progress of this stage, and return it for the progress report."""
        self.done, self.pages = done, pages
        return FileStage(str(self.file), stage, pages, done)

    def page(self, pages: int) -> None:
        """Count one more parsed page of ``pages`` in all. Each page counts as an equal share of the file's bytes."""
        share = max(0.0, self._size - self._shown) / max(1, pages - self.done)
        self._shown += share
        self.tally.add(pages=1, size=share, at=self.at("parse", self.done + 1, pages))

    @property
    def unshown(self) -> float:
        """Return the number of bytes of the file that the reported progress does not include yet."""
        return self._size - self._shown

    def timed(self, result: FileResult) -> FileResult:
        """Return a result with the time added that this stage has taken so far."""
        taken, before = self.seconds, self.before
        if self.job.stage == "ocr" and before:
            return replace(result, seconds=before.seconds, ocr_seconds=round(before.ocr_seconds + taken, 3))
        if self.job.stage == "refine" and before:
            return replace(result, seconds=before.seconds, model_seconds=round(before.model_seconds + taken, 3))
        if self.job.stage == "enrich":
            return result if result == before else replace(result, model_seconds=round(taken, 3))
        return replace(result, seconds=round(taken, 3))
