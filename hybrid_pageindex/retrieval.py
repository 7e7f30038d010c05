"""Search results with full page texts, for other frameworks: text, score and location."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, Unpack

from hybrid_core.types.requests import SearchFields, search_request
from hybrid_core.types.results import PageFound, SearchResult
from hybrid_pageindex.engine.documents.reading import PageRead


class Source(Protocol):
    """The methods that ``retrieve`` needs, which ``Engine`` and ``client.Client`` have."""

    async def search(self, question: str, **options: Unpack[SearchFields]) -> SearchResult: ...

    async def pages(self, document: str, numbers: Sequence[int], *, library: str | None = None) -> list[PageRead]: ...


@dataclass(frozen=True, slots=True)
class RetrievedPage:
    """A page in a search result for other frameworks. ``id`` is stable across searches.

    ``score`` is from 0 to 1. For the first page it is the calibrated probability that the page answers the question.
    For later pages this value is reduced in proportion to their own scores.
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
