"""Indexing and embedding through the engine: settings become the pipeline's options.

The pipeline is imported on first use: a search needs none of it.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from hybrid_core.errors import UsageError
from hybrid_core.store.cache.cache import Cache
from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.store.catalog.embeddings import drop_embedder
from hybrid_core.store.catalog.libraries import check_name, new_id
from hybrid_core.types.libraries import library_called
from hybrid_pageindex.config.settings import Settings
from hybrid_pageindex.services.chatting import Chat
from hybrid_pageindex.services.embedding import Embedders
from hybrid_pageindex.services.improving import improvers, unseen
from hybrid_pageindex.services.use import mark_used

if TYPE_CHECKING:
    from indexers.build.embed import EmbedProgress, EmbedReport
    from indexers.jobs.report import IndexProgress, IndexReport


def index_paths(
    catalog: Catalog,
    cache: Cache,
    library: str,
    paths: Sequence[str | Path],
    settings: Settings,
    password: str | None,
    prune: bool,
    check_hashes: bool,
    wished: bool,
    on_progress: Callable[[IndexProgress], None],
    cancelled: threading.Event,
    chat: Chat,
) -> IndexReport:
    """``wished``: this call said itself what models are to do."""
    from indexers.build.chunks import ChunkSize
    from indexers.formats.limits import ParseLimits
    from indexers.jobs.pipeline import IndexOptions, index
    from indexers.ocr.tesseract import find_ocr

    models, without = improvers(chat, settings)
    with catalog.snapshot() as snapshot:
        libraries = snapshot.named_libraries()
        known = library_called(library, libraries)
        told = bool(libraries)  # what is done without is said once in a home, unless it was asked for
    options = IndexOptions(
        workers=settings.workers,
        password=password,
        prune=prune,
        check_hashes=check_hashes,
        range_pages=settings.range_pages,
        seconds_per_task=settings.seconds_per_task,
        seconds_per_file=settings.seconds_per_file,
        max_worker_memory=settings.max_worker_memory,
        parse=settings.part(ParseLimits),
        chunks=settings.part(ChunkSize),
        ocr=functools.cache(partial(find_ocr, settings.ocr, settings.ocr_languages)),
        ocr_seconds=settings.ocr_seconds,
        models=models,
        notes=() if told and not wished else without,
    )
    if known is None:
        check_name(library)
    library_id = known.id if known else new_id(library, [one.id for one in libraries])
    report = index(catalog, cache, library_id, paths, options, settings.storage_path / "tmp", on_progress, cancelled)
    if report.files:
        mark_used(settings.storage_path, library_id)
    unmet = tuple(note for note in unseen(chat, settings) if note not in report.notes)
    return replace(report, notes=report.notes + unmet)


def embed_documents(
    catalog: Catalog,
    embedders: Embedders,
    library: str,
    model: str | None,
    settings: Settings,
    on_progress: Callable[[EmbedProgress], None],
    cancelled: threading.Event,
) -> EmbedReport | None:
    from indexers.build.embed import embed_library

    with catalog.snapshot() as snapshot:
        library_id = snapshot.library(library).id
        serving, coming = snapshot.embedder(library_id)
    if model == "none":
        drop_embedder(catalog, library_id)
        return None
    recorded = coming or serving
    spec = model or (recorded.name if recorded else settings.embedding_model)
    if not spec:
        raise UsageError("No embedder is named.", "Name one, for example: embed --embedder bge-m3.")
    return embed_library(catalog, library_id, embedders.load(spec), on_progress, cancelled)
