"""Hybrid PageIndex: search documents by vectors and section trees.

In scripts and notebooks:

    from hybrid_pageindex import Engine, run
    run(Engine().search("What was the capital expenditure in 2018?"))

With blocking calls, without ``run``:

    from hybrid_pageindex import SyncEngine
    SyncEngine().search("What was the capital expenditure in 2018?")
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

import hybrid_core  # noqa: F401 - before any library: it switches their telemetry off

if TYPE_CHECKING:
    __version__: str
    from hybrid_core.errors import PageIndexError
    from hybrid_core.types.exhaustive import CompareRequest, GrepRequest
    from hybrid_core.types.requests import SearchRequest
    from hybrid_core.types.results import SearchResult
    from hybrid_pageindex.config.settings import Settings, load_settings
    from hybrid_pageindex.engine.concurrency import run
    from hybrid_pageindex.engine.engine import Engine
    from hybrid_pageindex.sync import SyncEngine
    from retrievers.pipeline.search import STAGES
    from retrievers.pipeline.state import (
        Candidates,
        Outcome,
        Query,
        Ranking,
        SearchState,
        Stage,
        inserted,
        stage,
        without,
    )

__all__ = [
    "STAGES", "Candidates", "CompareRequest", "Engine", "GrepRequest", "Outcome", "PageIndexError", "Query",
    "Ranking", "SearchRequest", "SearchResult", "SearchState", "Settings", "Stage", "SyncEngine", "__version__",
    "inserted", "load_settings", "run", "stage", "without",
]  # fmt: skip

_HOME = {
    "Engine": "hybrid_pageindex.engine.engine",
    "run": "hybrid_pageindex.engine.concurrency",
    "SyncEngine": "hybrid_pageindex.sync",
    "Settings": "hybrid_pageindex.config.settings",
    "load_settings": "hybrid_pageindex.config.settings",
    "CompareRequest": "hybrid_core.types.exhaustive",
    "GrepRequest": "hybrid_core.types.exhaustive",
    "SearchRequest": "hybrid_core.types.requests",
    "SearchResult": "hybrid_core.types.results",
    "PageIndexError": "hybrid_core.errors",
    "STAGES": "retrievers.pipeline.search",
    "Candidates": "retrievers.pipeline.state",
    "Outcome": "retrievers.pipeline.state",
    "Query": "retrievers.pipeline.state",
    "Ranking": "retrievers.pipeline.state",
    "SearchState": "retrievers.pipeline.state",
    "Stage": "retrievers.pipeline.state",
    "stage": "retrievers.pipeline.state",
    "inserted": "retrievers.pipeline.state",
    "without": "retrievers.pipeline.state",
}


def __getattr__(name: str) -> Any:
    """Import a public name on first access, so that ``--help`` does not load the engine."""
    if name == "__version__":
        from hybrid_core.system import installed_version

        return installed_version()
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """Return all public names, including those not imported yet, for completion in notebooks."""
    return sorted(__all__)
