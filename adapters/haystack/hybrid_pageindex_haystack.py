"""Pages of Hybrid PageIndex as Haystack's documents. Haystack's telemetry is switched off by importing this.

from haystack import Pipeline
from hybrid_pageindex_haystack import PageIndexRetriever

PageIndexRetriever(top_k=5).run(query="What was the capital expenditure in fiscal 2025?")["documents"]
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

os.environ.setdefault("HAYSTACK_TELEMETRY_ENABLED", "False")  # before it is imported: nothing leaves the machine

from haystack import Document, component, default_from_dict, default_to_dict

from hybrid_pageindex import Engine, run
from hybrid_pageindex.retrieval import RetrievedPage, retrieve

__all__ = ["PageIndexRetriever"]


@component
class PageIndexRetriever:
    """Whole pages, best first; a higher score is better, within one search.

    ``home`` is the folder of the index (by default that of the settings), ``options`` further arguments of
    ``Engine.search``: they are what a saved pipeline keeps. Raises ``hybrid_pageindex`` errors of the family
    ``PageIndexError``.
    """

    def __init__(self, home: str | None = None, top_k: int = 5, options: dict[str, Any] | None = None) -> None:
        self.home, self.top_k, self.options = home, top_k, options or {}
        self._engine: Engine | None = None

    def warm_up(self) -> None:
        """Open the index; ``run`` does so where it was not done."""
        if self._engine is None:
            self._engine = Engine(self.home)

    def to_dict(self) -> dict[str, Any]:
        made: dict[str, Any] = default_to_dict(self, home=self.home, top_k=self.top_k, options=self.options)
        return made

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> PageIndexRetriever:
        made: PageIndexRetriever = default_from_dict(cls, data)
        return made

    @component.output_types(documents=list[Document])
    def run(self, query: str, top_k: int | None = None, options: dict[str, Any] | None = None) -> dict[str, Any]:
        return {"documents": _documents(run(retrieve(self._opened(), query, **self._asked(top_k, options))))}

    @component.output_types(documents=list[Document])
    async def run_async(
        self, query: str, top_k: int | None = None, options: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        return {"documents": _documents(await retrieve(self._opened(), query, **self._asked(top_k, options)))}

    def _opened(self) -> Engine:
        self.warm_up()
        assert self._engine is not None
        return self._engine

    def _asked(self, top_k: int | None, options: dict[str, Any] | None) -> dict[str, Any]:
        return {**self.options, **(options or {}), "top_k": top_k or self.top_k}


def _documents(pages: Sequence[RetrievedPage]) -> list[Document]:
    return [Document(id=page.id, content=page.text, score=page.score, meta=page.metadata) for page in pages]
