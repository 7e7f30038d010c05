"""Hybrid PageIndex: vectors and section trees behind a two-stage router.

from hybrid_pageindex import Engine, run
run(Engine().search("What was the capital expenditure in 2018?"))   # scripts and notebooks alike
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

import hybrid_core  # noqa: F401 - before any library: it switches their telemetry off

if TYPE_CHECKING:
    from hybrid_core.errors import PageIndexError
    from hybrid_core.types.requests import SearchRequest
    from hybrid_core.types.results import SearchResult
    from hybrid_pageindex.config.settings import Settings, load_settings
    from hybrid_pageindex.engine import Engine
    from hybrid_pageindex.services.running import run

__version__ = "0.1.0"

__all__ = [
    "Engine",
    "PageIndexError",
    "SearchRequest",
    "SearchResult",
    "Settings",
    "__version__",
    "load_settings",
    "run",
]

_HOME = {
    "Engine": "hybrid_pageindex.engine",
    "run": "hybrid_pageindex.services.running",
    "Settings": "hybrid_pageindex.config.settings",
    "load_settings": "hybrid_pageindex.config.settings",
    "SearchRequest": "hybrid_core.types.requests",
    "SearchResult": "hybrid_core.types.results",
    "PageIndexError": "hybrid_core.errors",
}


def __getattr__(name: str) -> Any:
    """Names are imported when first used: ``--help`` must not wait for the engine."""
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
