"""Indexing through the engine: settings become the pipeline's options.

The pipeline is imported on first use: a search needs none of it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from hybrid_core.store.catalog import Catalog
from hybrid_pageindex.settings import Settings

if TYPE_CHECKING:
    from indexers.pipeline import IndexProgress, IndexReport


def index_paths(
    catalog: Catalog,
    library: str,
    paths: Sequence[str | Path],
    settings: Settings,
    password: str | None,
    prune: bool,
    on_progress: Callable[[IndexProgress], None],
    cancelled: threading.Event,
) -> IndexReport:
    from indexers.pipeline import IndexOptions, index

    options = IndexOptions(settings.workers, password, prune, settings.range_pages, settings.seconds_per_task)
    return index(catalog, library, paths, options, settings.storage_path / "tmp", on_progress, cancelled)
