"""Search results with whole pages, and tools for agents, for use by other frameworks."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any, Protocol, Unpack

from hybrid_core.errors import PageIndexError
from hybrid_core.types.exhaustive import GrepFields, GrepRequest
from hybrid_core.types.requests import SearchFields, search_request
from hybrid_core.types.results import PageFound, SearchResult
from hybrid_pageindex.engine.documents.reading import PageRead
from hybrid_pageindex.engine.search.grep import GrepResult

_TOOL_PAGES = 5  # pages that an agent may read at once
_TOOL_DOCUMENTS = 50  # documents that a count lists
AgentTool = Callable[..., Awaitable[dict[str, Any]]]


class Source(Protocol):
    """The methods of ``Engine`` and ``client.Client`` that ``retrieve`` calls."""

    async def search(self, question: str, **options: Unpack[SearchFields]) -> SearchResult: ...

    async def pages(self, document: str, numbers: Sequence[int], *, library: str | None = None) -> list[PageRead]: ...


@dataclass(frozen=True, slots=True)
class RetrievedPage:
    """A page in a search result for other frameworks. ``id`` is stable across searches.

    ``score`` is from 0 to 1. For the first page it is the calibrated probability that the page answers the question.
    The scores of later pages are smaller, in proportion to their search scores.
    """

    id: str
    text: str
    score: float
    metadata: dict[str, Any]


def checked(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the search options unchanged. Raise UsageError for an unknown option or an invalid value.

    Adapters call this at construction, so that errors appear before the first question.
    """
    search_request("any question", SearchFields(**options))  # type: ignore[typeddict-item]
    return dict(options)


async def retrieve(source: Source, question: str, **options: Unpack[SearchFields]) -> list[RetrievedPage]:
    """Return the best pages for a question, best first. Raise the errors of ``Engine.search`` and ``Engine.pages``."""
    result = await source.search(question, **options)
    pages = result.results
    texts: dict[tuple[str, int], str] = {}
    for document in dict.fromkeys((page.doc_id, page.library) for page in pages):
        numbers = [page.page for page in pages if (page.doc_id, page.library) == document]
        read = await source.pages(document[0], numbers, library=document[1] or result.library)
        texts |= {(page.doc_id, page.page): page.text for page in read}
    scores = relevances(result)
    return [
        _retrieved(page, texts.get((page.doc_id, page.page), page.snippet), score)
        for page, score in zip(pages, scores, strict=True)
    ]


def relevances(result: SearchResult) -> list[float]:
    """Return a score from 0 to 1 for each page of a result. Scores never increase down the list."""
    best = max((page.score for page in result.results), default=0.0)
    scores, highest = list[float](), min(max(result.sureness, 0.0), 1.0)
    for page in result.results:
        share = max(page.score, 0.0) / best if best > 0 else 1.0
        highest = min(highest, result.sureness * share)
        scores.append(round(max(highest, 0.0), 6))
    return scores


def _retrieved(page: PageFound, text: str, score: float) -> RetrievedPage:
    metadata = {
        "source": page.doc_name, "document": page.doc_name, "doc_id": page.doc_id, "page": page.page,
        "label": page.label, "place": page.place, "section": " › ".join(page.section.path),
        "snippet": page.snippet, "library": page.library, "score": score,
    }  # fmt: skip
    values = {name: value for name, value in metadata.items() if value != ""}
    return RetrievedPage(f"{page.doc_id}:{page.page}", text, score, values)


class ToolSource(Source, Protocol):
    """The methods of ``Engine`` and ``client.Client`` that the tools of ``page_tools`` call."""

    async def grep(self, pattern: str | GrepRequest, **fields: Unpack[GrepFields]) -> GrepResult: ...


def page_tools(source: ToolSource, *, library: str | None = None, top_k: int = 5) -> list[AgentTool]:
    """Return functions for the agents of other frameworks: search, read and count pages of one library.

    Signatures and docstrings describe the tools. An error that the model can mend is returned as ``error``.
    """

    async def search_pages(question: str) -> dict[str, Any]:
        """Find the pages of the documents that answer a question, best first, with snippets.

        Args:
            question: The question, with the names and years that it is about.
        """
        result = await source.search(question, library=library, top_k=top_k)
        pages = [
            {"document": page.doc_id, "name": page.doc_name, "page": page.page, "snippet": page.snippet,
             "section": " › ".join(page.section.path)}
            for page in result.results
        ]  # fmt: skip
        return {"evidence": result.evidence.level, "pages": pages, "notes": list(result.notes)}

    async def read_pages(document: str, pages: list[int]) -> dict[str, Any]:
        """Read the text of pages before you answer. Cite the document and the page.

        Args:
            document: The id or name of a document, as search_pages returns it.
            pages: Page numbers, at most 5.
        """
        read = await source.pages(document, pages[:_TOOL_PAGES], library=library)
        return {"pages": [{"name": page.doc_name, "page": page.page, "text": page.shown().text} for page in read]}

    async def count_pages(words: str) -> dict[str, Any]:
        """Count and list every document that holds a word or phrase.

        Args:
            words: A word, a phrase, or the beginning of a word with a star.
        """
        result = await source.grep(words, library=library, listed="documents", limit=_TOOL_DOCUMENTS)
        listed = [{"document": each.doc_id, "name": each.document, "pages": each.pages} for each in result.documents]
        totals = {"total_documents": result.total_documents, "total_pages": result.total_pages}
        return totals | {"complete": result.complete, "documents": listed}

    return [_reporting(tool) for tool in (search_pages, read_pages, count_pages)]


def _reporting(tool: AgentTool) -> AgentTool:
    """Return a tool that returns the message of an error instead of raising it."""

    @wraps(tool)
    async def call(*arguments: Any, **named: Any) -> dict[str, Any]:
        try:
            return await tool(*arguments, **named)
        except PageIndexError as error:
            return {"error": str(error)}

    return call
