"""Results of files, the report of an indexing run, and its progress."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from hybrid_core.types.notes import NONE, Note, with_codes, without_codes
from hybrid_core.types.usage import Usage
from indexers.enrich.steps import Stage, StepDone


@dataclass(frozen=True, slots=True)
class FileResult:
    """The result of indexing one file. ``note`` has information for the user, such as that it moved or lacks text.

    ``seconds`` is the time until it was searchable, ``ocr_seconds`` and ``model_seconds`` the time after it. ``steps``
    and ``usage`` describe the model calls. ``unread`` counts pages that OCR reads next. ``reason`` is the error code of
    a failed file.
    """

    path: str
    status: Literal["indexed", "unchanged", "failed"]
    error: str | None = None
    doc_id: str | None = None
    pages: int = 0
    sections: int = 0
    seconds: float = 0.0
    note: Note = NONE
    ocr_seconds: float = 0.0
    unread: int = 0
    model_seconds: float = 0.0
    steps: tuple[StepDone, ...] = ()
    usage: Usage = field(default_factory=Usage)
    reason: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form that is stored with a job."""
        shape: dict[str, Any] = with_codes(asdict(self))
        return shape

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> FileResult:
        fields = without_codes(fields)
        steps = tuple(StepDone(**step | {"usage": Usage(**step["usage"])}) for step in fields["steps"])
        note = Note.of(fields["note"])
        return cls(**fields | {"steps": steps, "note": note, "usage": Usage(**fields["usage"])})  # type: ignore[operator]


@dataclass(frozen=True, slots=True)
class IndexReport:
    """The report of an indexing run.

    ``notes`` concern the whole run, such as models that were not available. ``skipped`` counts files that no parser
    reads in the indexed folders, by suffix ("" for none), the most frequent first.
    """

    files: tuple[FileResult, ...]
    removed: tuple[str, ...] = ()  # paths of documents that --prune removed
    notes: tuple[Note, ...] = ()
    skipped: Mapping[str, int] = field(default_factory=dict)

    @property
    def usage(self) -> Usage:
        """Return the total usage of all model calls."""
        return sum((file.usage for file in self.files), Usage())


@dataclass(frozen=True, slots=True)
class IndexProgress:
    """The progress of an indexing run, sent whenever it changes.

    Work is measured in bytes, since the number of pages is unknown before a file is opened. ``file`` is the path of the
    file that changed, ``stage`` its stage. ``stage_done`` of ``stage_pages`` pages are done; both are 0 if unknown.
    ``notes`` are those of the run. ``over`` is the path of a file for which no work is left, neither OCR nor models.
    """

    files: int
    files_done: int
    pages_done: int
    bytes: int
    bytes_done: int
    finished: FileResult | None = None  # the file that was just published or refused
    scans: int = 0  # pages that OCR has to read, which takes far longer
    scans_done: int = 0
    file: str = ""
    stage: Stage = "parse"
    stage_pages: int = 0
    stage_done: int = 0
    notes: tuple[Note, ...] = ()
    over: str = ""


@dataclass(frozen=True, slots=True)
class FileStage:
    """The stage of one file that is being indexed, and its progress in pages."""

    file: str = ""
    stage: Stage = "parse"
    pages: int = 0
    done: int = 0


@dataclass
class Tally:
    """The progress of one indexing run, to which several threads add."""

    report: Callable[[IndexProgress], None]
    files: int
    bytes: int
    files_done: int = 0
    pages_done: int = 0
    bytes_done: float = 0.0
    scans: int = 0
    scans_done: int = 0
    notes: tuple[Note, ...] = ()
    lock: threading.Lock = field(default_factory=threading.Lock)

    def add(
        self,
        *,
        pages: int = 0,
        size: float = 0.0,
        scans: int = 0,
        unread: int = 0,
        finished: FileResult | None = None,
        again: bool = False,
        at: FileStage = FileStage(),
        settled: str = "",
    ) -> None:
        """Add progress of a file and report it.

        ``scans`` counts pages that OCR has read, ``unread`` pages that need it. ``again`` means that the finished file
        was counted before. ``settled`` is the path of a file for which no work is left.
        """
        with self.lock:
            self.pages_done += pages
            self.bytes_done += size
            self.scans_done += scans
            self.scans += unread
            self.files_done += finished is not None and not again
            self._report(finished, at, settled)

    def add_note(self, note: Note) -> None:
        """Report a note about the run once."""
        with self.lock:
            self.notes += () if note in self.notes else (note,)
            self._report()

    def _report(self, finished: FileResult | None = None, at: FileStage = FileStage(), settled: str = "") -> None:
        self.report(
            IndexProgress(
                files=self.files,
                files_done=self.files_done,
                pages_done=self.pages_done,
                bytes=self.bytes,
                bytes_done=min(round(self.bytes_done), self.bytes),
                finished=finished,
                scans=self.scans,
                scans_done=self.scans_done,
                file=at.file or (finished.path if finished else ""),
                stage=at.stage,
                stage_pages=at.pages,
                stage_done=at.done,
                notes=self.notes,
                over=settled,
            )
        )
