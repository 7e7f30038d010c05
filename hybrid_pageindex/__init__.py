"""Hybrid PageIndex: vectors and section trees behind a two-stage router.

from hybrid_pageindex import Engine, run
run(Engine().search("What was the capital expenditure in 2018?"))   # scripts and notebooks alike
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

import hybrid_core  # noqa: F401 - before any library: it switches their telemetry off

if TYPE_CHECKING:
    from hybrid_core.errors import PageIndexError
    from hybrid_core.results import SearchResult
    from hybrid_pageindex.engine import Engine
    from hybrid_pageindex.running import run
    from hybrid_pageindex.settings import Settings

__version__ = "0.1.0"

__all__ = ["Engine", "PageIndexError", "SearchResult", "Settings", "__version__", "run"]

_HOME = {
    "Engine": "hybrid_pageindex.engine",
    "run": "hybrid_pageindex.running",
    "Settings": "hybrid_pageindex.settings",
    "SearchResult": "hybrid_core.results",
    "PageIndexError": "hybrid_core.errors",
}


def __getattr__(name: str) -> Any:
    """Names are imported when first used: ``--help`` must not wait for the engine."""
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
