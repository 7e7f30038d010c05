"""What is measured: anything that ranks pages for a question. The engine and every baseline stand behind it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from hybrid_core.types.results import Trace


@dataclass(frozen=True, slots=True)
class RankedPage:
    """``section`` is the node_id of the page's section, "" where the ranker knows none; ``node`` its page range.

    ``text`` is the snippet that is cited, "" where nothing finer than the page is.
    """

    document: str
    page: int
    score: float
    section: str = ""
    node: tuple[int, int] | None = None
    text: str = ""


@dataclass(frozen=True, slots=True)
class Ranking:
    """What a ranker answers with, everything best first.

    ``documents`` are file names. ``evidence`` is (level, score), None for rankers that do not judge.
    ``trace`` is None for rankers that are not the engine. ``receipts`` go into the run's file as they are.
    """

    pages: tuple[RankedPage, ...]
    documents: tuple[str, ...]
    evidence: tuple[str, float] | None = None
    trace: Trace | None = None
    receipts: tuple[Mapping[str, Any], ...] = ()
    notes: tuple[str, ...] = ()
    timings_ms: Mapping[str, float] = field(default_factory=dict)
    tokens: int = 0  # in and out
    input_tokens: int = 0
    cost: float = 0.0


class Ranker(Protocol):
    """``name`` is shown in reports; ``options`` is recorded with a run (JSON)."""

    name: str
    options: Mapping[str, Any]

    def rank(self, question: str, documents: Sequence[str] | None, depth: int) -> Ranking:
        """The ``depth`` best pages, among the named documents only where ``documents`` is not None."""
        ...
