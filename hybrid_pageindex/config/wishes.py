"""What may be said with a question; ``Engine.search`` explains it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypedDict

from hybrid_core.types.documents import Effort, Fusion, Route, Strategy
from hybrid_core.types.results import ReasoningStep


class SearchWishes(TypedDict, total=False):
    """Keyword arguments of ``search`` and ``ask``, all optional."""

    library: str | None
    documents: Sequence[str] | None
    where: Sequence[str]
    top_k: int | None
    effort: Effort | None
    expert: str | Path | None
    mmr: float
    trace: bool
    fusion: Fusion | None
    strategy: Strategy | None
    route: Route | None
    on_step: Callable[[ReasoningStep], None] | None
