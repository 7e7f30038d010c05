"""Pages of Hybrid PageIndex as Haystack documents. Importing this module switches off Haystack's telemetry.

from hybrid_pageindex_haystack import PageIndexRetriever

PageIndexRetriever(top_k=5).run(query="What was the capital expenditure in fiscal 2025?")["documents"]
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

os.environ.setdefault("HAYSTACK_TELEMETRY_ENABLED", "False")  # before it is imported: nothing leaves the machine

from haystack import Document, component, default_from_dict, default_to_dict

from hybrid_core.errors import UsageError
from hybrid_core.types.requests import several
from hybrid_pageindex import Engine, run
from hybrid_pageindex.frameworks import RetrievedPage, checked, retrieve

__all__ = ["PageIndexRetriever"]

_FIELDS = ("year", "type", "organisation", "quarter", "tags")


@component
class PageIndexRetriever:
    """A Haystack retriever that returns whole pages, best first, with a score from 0 to 1.

    ``home`` is the folder of the index, by default the folder in the settings. ``options`` are further arguments of
    ``Engine.search``. ``filters`` are comparisons in the form of Haystack's document stores: ``==`` of year, type,
    organisation, quarter or tags, several joined by ``AND``. A saved pipeline contains these values. Errors derive from
    ``PageIndexError`` of ``hybrid_pageindex``. Invalid options and filters raise one when the retriever is created.
    """

    def __init__(
        self,
        home: str | None = None,
        top_k: int = 5,
        options: dict[str, Any] | None = None,
        filters: dict[str, Any] | None = None,
    ) -> None:
        self.home, self.top_k, self.options, self.filters = home, top_k, options or {}, filters
        self._engine: Engine | None = None
        self._options(None, None, None)

    def warm_up(self) -> None:
        """Open the index. If this method is not called, ``run`` opens the index."""
        if self._engine is None:
            self._engine = Engine(self.home)

    def to_dict(self) -> dict[str, Any]:
        data: dict[str, Any] = default_to_dict(
            self, home=self.home, top_k=self.top_k, options=self.options, filters=self.filters
        )
        return data

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> PageIndexRetriever:
        retriever: PageIndexRetriever = default_from_dict(cls, data)
        return retriever

    @component.output_types(documents=list[Document])
    def run(
        self,
        query: str,
        top_k: int | None = None,
        options: dict[str, Any] | None = None,
        filters: dict[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Return the best pages for a query as documents.

        ``filters`` replace those with which the retriever was created.
        """
        return {"documents": _documents(run(retrieve(self._opened(), query, **self._options(top_k, options, filters))))}

    @component.output_types(documents=list[Document])
    async def run_async(
        self,
        query: str,
        top_k: int | None = None,
        options: dict[str, Any] | None = None,
        filters: dict[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Return the best pages for a query as ``run`` does, without blocking the event loop."""
        return {
            "documents": _documents(await retrieve(self._opened(), query, **self._options(top_k, options, filters)))
        }

    def _opened(self) -> Engine:
        self.warm_up()
        assert self._engine is not None
        return self._engine

    def _options(
        self, top_k: int | None, options: dict[str, Any] | None, filters: dict[str, Any] | None
    ) -> dict[str, Any]:
        search_options = {**self.options, **(options or {}), "top_k": top_k or self.top_k}
        where = _conditions(filters if filters is not None else self.filters)
        if where:
            search_options["where"] = [*several(search_options.get("where")), *where]
        return checked(search_options)


def _conditions(filters: dict[str, Any] | None) -> list[str]:
    """Convert Haystack's filters to conditions of a search. Raise UsageError for a comparison that a search does not
    support.
    """
    if not filters:
        return []
    operator, inner = filters.get("operator"), filters.get("conditions")
    if operator == "AND" and isinstance(inner, list):
        return [condition for part in inner for condition in _conditions(part)]
    field, value = str(filters.get("field", "")).removeprefix("meta."), filters.get("value")
    if operator != "==" or field not in _FIELDS or not isinstance(value, str | int):
        advice = f"Compare {', '.join(_FIELDS)} by ==, and join comparisons by AND."
        raise UsageError(f"A search cannot filter by {field or 'nothing'} {operator or ''}.".replace(" .", "."), advice)
    return [f"{field}={value}"]


def _documents(pages: Sequence[RetrievedPage]) -> list[Document]:
    return [Document(id=page.id, content=page.text, score=page.score, meta=page.metadata) for page in pages]
