"""Pages of Hybrid PageIndex as LangChain documents.

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
from hybrid_pageindex.frameworks import RetrievedPage, checked, retrieve

__all__ = ["PageIndexRetriever"]


class PageIndexRetriever(BaseRetriever):
    """A LangChain retriever that returns whole pages, best first.

    The metadata of a page are: source (the file's name), page, place, section path, and score (0 to 1). ``source`` is
    an ``Engine``, in asynchronous code also a ``Client``. It may also be the folder of an index, or None for the folder
    in the settings; with a folder the retriever can be pickled. ``options`` are further arguments of ``Engine.search``,
    such as libraries, where, effort and expert. ``k`` and the options can also be passed to ``invoke``. Errors derive
    from ``PageIndexError`` of ``hybrid_pageindex``. An unknown option raises one when the retriever is created.
    """

    source: Any = None
    k: int = Field(default=5, ge=1)
    options: dict[str, Any] = Field(default_factory=dict)
    _engine: Any = PrivateAttr(default=None)

    @field_validator("options")
    @classmethod
    def _check_options(cls, options: dict[str, Any]) -> dict[str, Any]:
        return checked(options)

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
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, **options: Any
    ) -> list[Document]:
        return _documents(run(retrieve(self._opened(), query, **self._options(options))))

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, **options: Any
    ) -> list[Document]:
        return _documents(await retrieve(self._opened(), query, **self._options(options)))

    def _options(self, options: dict[str, Any]) -> dict[str, Any]:
        return {**self.options, "top_k": options.pop("k", self.k), **options}


def _documents(pages: Sequence[RetrievedPage]) -> list[Document]:
    return [Document(id=page.id, page_content=page.text, metadata=page.metadata) for page in pages]
