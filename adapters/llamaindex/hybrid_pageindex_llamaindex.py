"""Pages of Hybrid PageIndex as LlamaIndex nodes.

from hybrid_pageindex import Engine
from hybrid_pageindex_llamaindex import PageIndexRetriever

PageIndexRetriever(Engine(), top_k=5).retrieve("What was the capital expenditure in fiscal 2025?")
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Unpack

from llama_index.core.callbacks import CallbackManager
from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeRelationship, NodeWithScore, QueryBundle, RelatedNodeInfo, TextNode

from hybrid_core.types.requests import SearchFields
from hybrid_pageindex import run
from hybrid_pageindex.frameworks import RetrievedPage, Source, checked, retrieve

__all__ = ["PageIndexRetriever"]

_HIDDEN = [
    "doc_id",
    "document",
    "label",
    "library",
    "page",
    "snippet",
    "source",
    "score",
]  # of no use to a model or an embedder, or said twice


class PageIndexRetriever(BaseRetriever):
    """A LlamaIndex retriever that returns whole pages as nodes, best first, with a score from 0 to 1.

    The source of a node is its document. ``source`` is an ``Engine``, or in asynchronous code a ``Client``.
    ``similarity_top_k`` is LlamaIndex's name for ``top_k``. ``options`` are further arguments of ``Engine.search``.
    Errors derive from ``PageIndexError`` of ``hybrid_pageindex``. An unknown option raises one when the retriever is
    created.
    """

    def __init__(
        self,
        source: Source,
        *,
        top_k: int = 5,
        similarity_top_k: int | None = None,
        callback_manager: CallbackManager | None = None,
        **options: Unpack[SearchFields],
    ) -> None:
        self._source = source
        count = top_k if similarity_top_k is None else similarity_top_k
        self._options = checked({**options, "top_k": count})
        super().__init__(callback_manager=callback_manager)

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return _nodes(run(retrieve(self._source, query_bundle.query_str, **self._options)))

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return _nodes(await retrieve(self._source, query_bundle.query_str, **self._options))


def _nodes(pages: Sequence[RetrievedPage]) -> list[NodeWithScore]:
    return [NodeWithScore(node=_node(page), score=page.score) for page in pages]


def _node(page: RetrievedPage) -> TextNode:
    return TextNode(
        id_=page.id,
        text=page.text,
        metadata={**page.metadata, "file_name": page.metadata["document"], "page_label": _label(page)},
        excluded_llm_metadata_keys=_HIDDEN,
        excluded_embed_metadata_keys=_HIDDEN,
        relationships={NodeRelationship.SOURCE: RelatedNodeInfo(node_id=page.metadata["doc_id"])},
    )


def _label(page: RetrievedPage) -> str:
    """Return the printed label of a page, or its number if it has none, as text.

    LlamaIndex's own readers return text too.
    """
    return str(page.metadata.get("label") or page.metadata["page"])
