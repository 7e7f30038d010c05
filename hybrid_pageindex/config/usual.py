"""What a search request means where it says nothing: the settings."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from hybrid_pageindex.config.settings import Settings


@lru_cache(maxsize=8)
def usual_fields(settings: Settings) -> dict[str, Any]:
    """The fields of SearchRequest that settings decide."""
    return {
        "libraries": (settings.library,), "top_k": settings.top_k, "effort": settings.effort,
        "strategy": settings.strategy, "route": settings.route, "expert": settings.expert, "fusion": settings.fusion,
        "mmr": settings.mmr, "scoring": settings.scoring,
    }  # fmt: skip
