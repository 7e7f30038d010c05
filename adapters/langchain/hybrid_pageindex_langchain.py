"""Pages of Hybrid PageIndex as LangChain's documents.

from hybrid_pageindex import Engine
from hybrid_pageindex_langchain import PageIndexRetriever

PageIndexRetriever(source=Engine(), k=5).invoke("What was the capital expenditure in fiscal 2025?")
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from pydantic import Field, PrivateAttr, field_validator

from hybrid_pageindex import Engine, run
from hybrid_pageindex.retrieval import RetrievedPage, checked, retrieve

__all__ = ["PageIndexRetriever"]


class PageIndexRetriever(BaseRetriever):
    """Whole pages, best first; the metadata says source (the file's name), page, place, section path, score (0 to 1).

    ``source`` is an ``Engine``, in asynchronous code a ``Client``, or the folder of an index (None for that of the
    settings): with a folder the retriever can be pickled and dumped. ``options`` are further arguments of
    ``Engine.search``: libraries, where, effort, expert. ``k`` and they may be given to ``invoke`` too. Raises
    ``hybrid_pageindex`` errors of the family ``PageIndexError``, for options that there are not when it is made.
    """

    source: Any = None
    k: int = Field(default=5, ge=1)
    options: dict[str, Any] = Field(default_factory=dict)
    _engine: Any = PrivateAttr(default=None)

    @field_validator("options")
    @classmethod
    def _check_options(cls, given: dict[str, Any]) -> dict[str, Any]:
        return checked(given)

    def __getstate__(self) -> dict[Any, Any]:
        self._engine = None  # it is opened again where the retriever is loaded
        return super().__getstate__()

    def _opened(self) -> Any:
        if self.source is not None and not isinstance(self.source, str | Path):
            return self.source
        if self._engine is None:
            self._engine = Engine(self.source)
        return self._engine

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, **given: Any
    ) -> list[Document]:
        return _documents(run(retrieve(self._opened(), query, **self._asked(given))))

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, **given: Any
    ) -> list[Document]:
        return _documents(await retrieve(self._opened(), query, **self._asked(given)))

    def _asked(self, given: dict[str, Any]) -> dict[str, Any]:
        return {**self.options, "top_k": given.pop("k", self.k), **given}


def _documents(pages: Sequence[RetrievedPage]) -> list[Document]:
    return [Document(id=page.id, page_content=page.text, metadata=page.metadata) for page in pages]
