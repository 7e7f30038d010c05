"""What models would take to improve documents that a library holds, told before any is asked."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from hybrid_core.types.usage import Usage
from hybrid_pageindex.config.settings import Settings
from hybrid_pageindex.services.improving import priced
from hybrid_pageindex.services.indexing import IndexCall, index_paths
from hybrid_pageindex.services.parts import Parts
from hybrid_pageindex.services.reading import known
from retrievers.documents import select

if TYPE_CHECKING:
    from indexers.stages.report import FileResult, IndexProgress


@dataclass(frozen=True, slots=True)
class DocumentEstimate:
    """``pages`` are those that a model would see."""

    doc_id: str
    doc_name: str
    pages: int
    usage: Usage


@dataclass(frozen=True, slots=True)
class Estimate:
    """Calls are exact as far as rules can tell, tokens rather too many. ``cost`` is None where a model has no price
    (the setting model_prices). ``documents`` are those of which something is left to ask.
    """

    documents: tuple[DocumentEstimate, ...]
    pages: int
    usage: Usage
    cost: float | None
    notes: tuple[str, ...] = ()


def estimate(
    parts: Parts, settings: Settings, library: str, documents: Sequence[str], stopped: threading.Event
) -> Estimate:
    """Of these documents of a library, or of all that it has published. Raises NotFoundError for what is unknown."""
    with parts.catalog.snapshot() as snapshot:
        held = known(snapshot, library)
    chosen = [one for one in (select.by_name(held, documents) if documents else held) if one.published]
    names = {one.doc_id: one.name for one in chosen}
    counting = replace(settings, enrich="estimate")
    paths = [one.path for one in chosen]
    report = index_paths(parts, library, paths, counting, IndexCall(wished=True), _untold, stopped)
    told = tuple(_of(file, names) for file in report.files if file.steps)
    failed = tuple(f"{file.path}: {file.error}" for file in report.files if file.status == "failed")
    cost = report.usage.cost if priced(parts.chat, report.usage) else None
    return Estimate(told, sum(one.pages for one in told), report.usage, cost, (*failed, *report.notes))


def _of(file: FileResult, names: dict[str, str]) -> DocumentEstimate:
    doc_id = file.doc_id or ""
    pages = sum(step.done for step in file.steps if step.step == "pages")
    return DocumentEstimate(doc_id, names.get(doc_id, file.path), pages, file.usage)


def _untold(_: IndexProgress) -> None:
    """Nobody follows it."""
