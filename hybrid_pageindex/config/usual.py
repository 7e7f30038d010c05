"""What a search request means where it says nothing: the settings."""

from __future__ import annotations

from dataclasses import fields
from functools import lru_cache
from typing import Any

from hybrid_core.types.requests import SearchRequest
from hybrid_pageindex.config.settings import Settings


@lru_cache(maxsize=8)
def usual_fields(settings: Settings) -> dict[str, Any]:
    """The fields of SearchRequest that settings of the same names decide."""
    said = {one.name: getattr(settings, one.name) for one in fields(SearchRequest) if hasattr(settings, one.name)}
    return {**said, "libraries": (settings.library,)}
