"""The cache in which replies, and what is made of them, are kept."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from hybrid_core.llm.replies import ReplyCache
from hybrid_core.store.cache import Cache


@pytest.fixture
def replies(tmp_path: Path) -> Iterator[ReplyCache]:
    cache = Cache(tmp_path / "cache.sqlite", 10**8)
    made = ReplyCache(cache)
    yield made
    made.flush()
    cache.close()
