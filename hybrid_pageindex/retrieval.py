"""Found pages with their whole text, as other frameworks take them: a text, a score, and where it stands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, Unpack

from hybrid_core.types.requests import SearchFields
from hybrid_core.types.results import PageFound, SearchResult
from hybrid_pageindex.services.reading import PageRead


class Source(Protocol):
    """``Engine`` here, or ``client.Client`` of a server elsewhere."""

    async def search(self, question: str, **given: Unpack[SearchFields]) -> SearchResult: ...

    async def pages(self, document: str, numbers: Sequence[int], *, library: str | None = None) -> list[PageRead]: ...


@dataclass(frozen=True, slots=True)
class RetrievedPage:
    """``id`` is the same for the same page in every search; a higher ``score`` is better, within one search."""

    id: str
    text: str
    score: float
    metadata: dict[str, Any]


async def retrieve(source: Source, question: str, **given: Unpack[SearchFields]) -> list[RetrievedPage]:
    """The best pages, best first. Raises what ``Engine.search`` and ``Engine.pages`` do."""
    found = (await source.search(question, **given)).results
    texts: dict[tuple[str, int], str] = {}
    for document in dict.fromkeys((page.doc_id, page.library) for page in found):
        numbers = [page.page for page in found if (page.doc_id, page.library) == document]
        named = {"library": document[1]} if document[1] else {}
        texts |= {(page.doc_id, page.page): page.text for page in await source.pages(document[0], numbers, **named)}
    return [_retrieved(page, texts.get((page.doc_id, page.page), page.snippet)) for page in found]


def _retrieved(page: PageFound, text: str) -> RetrievedPage:
    metadata = {
        "document": page.doc_name, "doc_id": page.doc_id, "page": page.page, "label": page.label,
        "place": page.place, "section": " › ".join(page.section.path), "snippet": page.snippet, "library": page.library,
        "score": page.score,
    }  # fmt: skip
    kept = {name: value for name, value in metadata.items() if value != ""}
    return RetrievedPage(f"{page.doc_id}:{page.page}", text, page.score, kept)
