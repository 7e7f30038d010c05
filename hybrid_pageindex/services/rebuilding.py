"""Documents made anew from their files, whatever is stored of them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from hybrid_core.errors import UsageError
from hybrid_core.store.catalog.snapshot import Snapshot
from hybrid_pageindex.config.settings import Settings
from hybrid_pageindex.services.indexing import IndexCall, index_paths
from hybrid_pageindex.services.parts import Parts
from hybrid_pageindex.services.reading import known
from retrievers.documents import select

if TYPE_CHECKING:
    from indexers.stages.report import IndexProgress, IndexReport


def rebuild(
    parts: Parts,
    settings: Settings,
    documents: Sequence[str],
    library: str | None,
    everything: bool,
    call: IndexCall,
    on_progress: Callable[[IndexProgress], None],
    stopped: threading.Event,
) -> IndexReport:
    """These documents of the library, or the usual one; without any the whole library that is named, or all of them.

    Raises UsageError where neither is said, NotFoundError for what is unknown.
    """
    from indexers.stages.report import IndexReport

    if (everything and (documents or library)) or not (everything or documents or library):
        raise UsageError("It is not clear what is to be rebuilt.", "Name documents, or a library, or all.")
    with parts.catalog.snapshot() as snapshot:
        if everything:
            chosen = {one.name: _paths(snapshot, one.name, ()) for one in snapshot.named_libraries()}
        else:
            name = library or settings.library
            chosen = {name: _paths(snapshot, name, documents)}
    found = IndexReport(())
    for name, paths in chosen.items():
        if paths:
            report = index_paths(parts, name, paths, settings, replace(call, anew=True), on_progress, stopped)
            notes = dict.fromkeys((*found.notes, *report.notes))
            found = replace(found, files=found.files + report.files, notes=tuple(notes))
    return found


def _paths(snapshot: Snapshot, library: str, names: Sequence[str]) -> list[str]:
    documents = known(snapshot, library)
    chosen = select.by_name(documents, names) if names else documents
    return [document.path for document in chosen]
