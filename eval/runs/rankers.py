"""Rankers by name."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from eval.datasets.corpus import Corpus
from eval.records.progress import Progress
from eval.records.rankings import Ranker
from eval.runs.plan import RANKERS
from hybrid_core.errors import UsageError
from hybrid_core.types.requests import SearchFields
from hybrid_pageindex import Engine

if TYPE_CHECKING:
    from hybrid_core.llm.client.chat_model import ChatModel


def make_ranker(
    name: str,
    engine: Engine,
    corpus: Corpus,
    *,
    search: SearchFields,
    embedder: str,
    in_chinese: bool,
    cache: Path,
    progress: Progress,
    languages: Mapping[str, str] = MappingProxyType({}),
    model: ChatModel | None = None,
) -> Ranker:
    """One of eval.runs.plan.RANKERS. ``search`` is what the engine is asked with. ``cache`` keeps what a baseline makes
    slowly; ``languages`` are the questions' (text -> ISO 639-1 code); ``embedder`` is a spec, "" for none; ``model``
    is whole-tree's.

    Raises UsageError for an unknown name and PageIndexError where a package or a model is missing.
    """
    if name == "engine":
        from eval.rankers.engine import EngineRanker

        return EngineRanker(engine, corpus.ids, search)
    if name == "page-bm25":
        from eval.rankers.page_bm25 import PageBM25

        return PageBM25(corpus, in_chinese=in_chinese)
    if name == "page-bm25-stemmed":
        from eval.rankers.page_bm25 import StemmedPageBM25

        return StemmedPageBM25(corpus, languages)
    if name == "rank-bm25":
        from eval.rankers.okapi import Okapi

        return Okapi(corpus, in_chinese=in_chinese)
    if name == "chunk-dense":
        from eval.rankers.chunk_dense import ChunkDense
        from hybrid_pageindex.services.embedding import Embedders

        loaded = Embedders(engine.settings).load(embedder) if embedder else None
        return ChunkDense(corpus, loaded, cache / "chunks", progress)
    if name == "pageindex-tree":
        from eval.rankers.pageindex_tree import PageIndexTree

        return PageIndexTree(corpus, cache / "pageindex", progress, in_chinese=in_chinese)
    if name == "whole-tree":
        from eval.rankers.whole_tree import WholeTree

        if model is None:
            raise UsageError("The ranker whole-tree needs a language model.", "Set llm_model, or name a --model.")
        return WholeTree(corpus, model)
    raise UsageError(f"There is no ranker '{name}'.", f"Choose one of: {', '.join(RANKERS)}.")
