"""Files that came as bytes: what was asked for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.store.jobs.reading import JobReader
from hybrid_core.types.jobs import ACTIVE
from hybrid_pageindex.services.taking_in import Upload

if TYPE_CHECKING:
    from indexers.stages.report import IndexReport


@dataclass(frozen=True, slots=True)
class UploadedFile:
    """``path`` is what its document is called. ``job`` makes it, None where the library has it already: ``doc_id``."""

    path: str
    job: int | None
    doc_id: str | None


@dataclass(frozen=True, slots=True)
class Uploaded:
    library: str
    files: tuple[UploadedFile, ...]
    notes: tuple[str, ...]


def uploaded(catalog: Catalog, library: str, uploads: Sequence[Upload], report: IndexReport) -> Uploaded:
    """What became of uploads that were left to workers."""
    paths = list(dict.fromkeys(one.address for one in uploads))
    with catalog.snapshot() as snapshot:
        known = snapshot.library(library)
    waiting = JobReader(catalog).listed(library=known.id, subjects=paths, status=ACTIVE, most=len(paths))
    jobs = {job.subject: job.id for job in waiting}
    there = {file.path: file.doc_id for file in report.files if file.status == "unchanged"}
    files = tuple(UploadedFile(path, jobs.get(path), there.get(path)) for path in paths)
    return Uploaded(known.name, files, tuple(note for note in report.notes if "left to workers" not in note))
