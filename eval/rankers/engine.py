"""The engine as a ranker, called through its public API."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from eval.records.questions import RankedPage, Ranking
from hybrid_core.types.notes import NONE
from hybrid_core.types.requests import SearchFields
from hybrid_pageindex import Engine

_MODEL_FAILED = frozenset(("effort.failed", "effort.failed-before", "route.failed", "route.failed-filter"))


class EngineRanker:
    """The engine as a ranker.

    ``ids`` are doc_ids by file name, since short names may belong to several documents. ``search`` are the search
    options of every question. ``before`` are the earlier questions of each follow-up question.
    """

    name = "engine"

    def __init__(
        self,
        engine: Engine,
        ids: Mapping[str, str],
        search: SearchFields,
        before: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        self._engine, self._ids, self._search, self._before = engine, ids, search, before or {}
        self.options: Mapping[str, Any] = {name: value for name, value in search.items() if value is not None}

    def rank(self, question: str, documents: Sequence[str] | None, depth: int) -> Ranking:
        ids = None if documents is None else [self._ids[name] for name in documents]
        request = self._engine.request(question, **self._search)
        request = self._engine.request(request, documents=ids, top_k=depth, trace=True)
        if before := self._before.get(question, ()):
            result = self._engine.conversations.search_now(request, before)
        else:
            result = self._engine.search_now(request)
        pages = tuple(
            RankedPage(
                page.doc_name, page.page, page.score, page.section.node_id,
                (page.section.start_page, page.section.end_page), page.snippet,
            )
            for page in result.results
        )  # fmt: skip
        return Ranking(
            pages=pages,
            documents=tuple(dict.fromkeys([page.document for page in pages] + [d.doc_name for d in result.documents])),
            evidence=(result.evidence.level, result.evidence.score),
            trace=result.trace,
            receipts=tuple(page.receipt.to_dict() for page in result.results),
            notes=result.notes,
            timings_ms=result.timings_ms,
            tokens=result.usage.input_tokens + result.usage.output_tokens,
            input_tokens=result.usage.input_tokens,
            cost=result.usage.cost,
            failed=next((str(part) for part in NONE.plus(*result.notes).parts if part.code in _MODEL_FAILED), ""),
        )
