"""The engine itself, asked as any program asks it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from eval.rankers.ranker import RankedPage, Ranking
from hybrid_core.types.documents import Effort, Fusion, Strategy
from hybrid_pageindex import Engine


class EngineRanker:
    """``ids`` are doc_ids by file name: names may be short for several documents, ids are not."""

    name = "engine"

    def __init__(
        self,
        engine: Engine,
        ids: Mapping[str, str],
        *,
        expert: str = "none",
        fusion: Fusion = "weighted",
        effort: Effort = "fast",
        strategy: Strategy = "outline",
    ) -> None:
        self._engine, self._ids, self._fusion = engine, ids, fusion
        self._effort, self._strategy = effort, strategy
        self.options: Mapping[str, Any] = {
            "effort": effort, "strategy": strategy, "expert": expert, "fusion": fusion,
        }  # fmt: skip

    def rank(self, question: str, documents: Sequence[str] | None, depth: int) -> Ranking:
        asked = None if documents is None else [self._ids[name] for name in documents]
        expert = self.options["expert"]
        found = self._engine.search_now(
            question, documents=asked, top_k=depth, effort=self._effort, strategy=self._strategy, expert=expert,
            fusion=self._fusion, trace=True,
        )  # fmt: skip
        pages = tuple(
            RankedPage(
                page.doc_name, page.page, page.score, page.section.node_id,
                (page.section.start_page, page.section.end_page), page.snippet,
            )
            for page in found.results
        )  # fmt: skip
        return Ranking(
            pages=pages,
            documents=tuple(dict.fromkeys([page.document for page in pages] + [d.doc_name for d in found.documents])),
            evidence=(found.evidence.level, found.evidence.score),
            trace=found.trace,
            receipts=tuple(asdict(page.receipt) for page in found.results),
            notes=found.notes,
            timings_ms=found.timings_ms,
            tokens=found.usage.input_tokens + found.usage.output_tokens,
            cost=found.usage.cost,
        )
