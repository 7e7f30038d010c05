"""Pages of Hybrid PageIndex as LangChain's documents.

from hybrid_pageindex import Engine
from hybrid_pageindex_langchain import PageIndexRetriever

PageIndexRetriever(source=Engine(), k=5).invoke("What was the capital expenditure in fiscal 2025?")
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from pydantic import Field

from hybrid_pageindex import run
from hybrid_pageindex.retrieval import RetrievedPage, retrieve

__all__ = ["PageIndexRetriever"]


class PageIndexRetriever(BaseRetriever):
    """Whole pages, best first; the metadata says document, page, place, section path and score (higher is better).

    ``source`` is an ``Engine``, or in asynchronous code a ``Client``. ``options`` are further arguments of
    ``Engine.search``: libraries, where, effort, expert. ``k`` and they may be given to ``invoke`` too. Raises
    ``hybrid_pageindex`` errors of the family ``PageIndexError``.
    """

    source: Any
    k: int = Field(default=5, ge=1)
    options: dict[str, Any] = Field(default_factory=dict)

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, **given: Any
    ) -> list[Document]:
        return _documents(run(retrieve(self.source, query, **self._asked(given))))

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, **given: Any
    ) -> list[Document]:
        return _documents(await retrieve(self.source, query, **self._asked(given)))

    def _asked(self, given: dict[str, Any]) -> dict[str, Any]:
        return {**self.options, "top_k": given.pop("k", self.k), **given}


def _documents(pages: Sequence[RetrievedPage]) -> list[Document]:
    return [Document(id=page.id, page_content=page.text, metadata=page.metadata) for page in pages]
