"""Check that each adapter returns the pages of the engine, in the form that its framework expects."""

from __future__ import annotations

import asyncio
import json
import os
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hybrid_pageindex_haystack as for_haystack
import hybrid_pageindex_langchain as for_langchain
import hybrid_pageindex_llamaindex as for_llamaindex
import pytest
from haystack import Pipeline
from langchain_core.retrievers import BaseRetriever
from langchain_tests.integration_tests import RetrieversIntegrationTests
from llama_index.core.postprocessor import SimilarityPostprocessor
from llama_index.core.schema import MetadataMode

from hybrid_core.errors import UsageError
from hybrid_pageindex import Engine, run
from hybrid_pageindex.frameworks import retrieve
from tests import pdfs

QUESTION = "capital expenditure in fiscal 2022"
SALES = "What were the net sales in fiscal 2022?"


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    folder = tmp_path_factory.mktemp("adapters")
    engine = Engine(folder / "home")
    assert all(file.status == "indexed" for file in run(engine.index(pdfs.fiscal_reports(folder))).files)
    yield engine
    engine.close()


@pytest.fixture(scope="module")
def expected(engine: Engine) -> list[tuple[str, int, str]]:
    pages = run(engine.search(QUESTION, top_k=3)).results
    texts = [run(engine.pages(page.doc_id, page.page))[0].text for page in pages]
    assert len(pages) == 3
    return [(page.doc_name, page.page, text) for page, text in zip(pages, texts, strict=True)]


class TestLangChain(RetrieversIntegrationTests):
    @pytest.fixture(autouse=True)
    def _engine(self, engine: Engine) -> None:
        self.engine = engine

    @property
    def retriever_constructor(self) -> type[BaseRetriever]:
        return for_langchain.PageIndexRetriever

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        return {"source": self.engine}

    @property
    def retriever_query_example(self) -> str:
        return QUESTION

    def test_pages(self, retriever: BaseRetriever, expected: list[tuple[str, int, str]]) -> None:
        documents = retriever.invoke(QUESTION, k=3)
        assert [
            (document.metadata["document"], document.metadata["page"], document.page_content) for document in documents
        ] == expected
        assert asyncio.run(retriever.ainvoke(QUESTION, k=3)) == documents


def test_llamaindex(engine: Engine, expected: list[tuple[str, int, str]]) -> None:
    retriever = for_llamaindex.PageIndexRetriever(engine, top_k=3)
    nodes = retriever.retrieve(QUESTION)
    assert [
        (scored.node.metadata["document"], scored.node.metadata["page"], scored.node.text) for scored in nodes
    ] == expected
    assert [scored.score for scored in nodes] == sorted((scored.score or 0 for scored in nodes), reverse=True)
    assert [scored.node.id_ for scored in asyncio.run(retriever.aretrieve(QUESTION))] == [
        scored.node.id_ for scored in nodes
    ]


def test_haystack(engine: Engine, expected: list[tuple[str, int, str]]) -> None:
    pipeline = Pipeline()
    pipeline.add_component("retriever", for_haystack.PageIndexRetriever(str(engine.home), top_k=3))
    loaded = Pipeline.loads(pipeline.dumps(), allowed_modules=[for_haystack.__name__])
    documents = loaded.run({"retriever": {"query": QUESTION}})["retriever"]["documents"]
    assert [(document.meta["document"], document.meta["page"], document.content) for document in documents] == expected
    assert os.environ["HAYSTACK_TELEMETRY_ENABLED"] == "False"


def test_metadata_is_named_as_each_framework_names_it(engine: Engine) -> None:
    [document] = for_langchain.PageIndexRetriever(source=engine, k=1).invoke(QUESTION)
    assert document.metadata["source"].endswith(".pdf") and isinstance(document.metadata["page"], int)
    [scored] = for_llamaindex.PageIndexRetriever(engine, similarity_top_k=1).retrieve(QUESTION)
    assert scored.node.metadata["file_name"] == document.metadata["source"]
    assert isinstance(scored.node.metadata["page_label"], str)
    shown = scored.node.get_content(metadata_mode=MetadataMode.LLM)
    assert "file_name" in shown and "doc_id" not in shown and "score" not in shown


def test_scores_are_from_0_to_1(engine: Engine) -> None:
    """Require high scores for a question that the library answers, and low scores for another."""
    answered, unanswered = (
        run(retrieve(engine, question, top_k=10)) for question in (SALES, "price of a zeppelin in 1890")
    )
    scores = [page.score for page in answered]
    assert scores == sorted(scores, reverse=True) and all(0 <= score <= 1 for score in scores) and scores[0] > 0.5
    assert all(0 <= page.score < 0.5 for page in unanswered)
    nodes = for_llamaindex.PageIndexRetriever(engine, top_k=10).retrieve(SALES)
    selected = SimilarityPostprocessor(similarity_cutoff=scores[0]).postprocess_nodes(nodes)
    assert 1 <= len(selected) < len(nodes)


def test_options_that_there_are_not_are_told_when_a_retriever_is_made(engine: Engine) -> None:
    for make in (
        lambda: for_langchain.PageIndexRetriever(source=engine, options={"efort": "fast"}),
        lambda: for_langchain.PageIndexRetriever(source=engine, options={"effort": "much"}),
        lambda: for_llamaindex.PageIndexRetriever(engine, efort="fast"),
        lambda: for_llamaindex.PageIndexRetriever(engine, top_k=0),
        lambda: for_haystack.PageIndexRetriever(options={"efort": "fast"}),
        lambda: for_haystack.PageIndexRetriever(filters={"field": "meta.colour", "operator": "==", "value": "red"}),
        lambda: for_haystack.PageIndexRetriever(filters={"field": "meta.year", "operator": ">", "value": 2020}),
    ):
        with pytest.raises(UsageError):
            make()
    with pytest.raises(UsageError, match="Did you mean effort"):
        for_llamaindex.PageIndexRetriever(engine, efort="fast")


def test_a_library_that_is_named_is_read_too(engine: Engine, tmp_path: Path) -> None:
    (tmp_path / "note.md").write_text("# Otters\n\nOtters swim in the river.\n")
    run(engine.index(tmp_path / "note.md", library="rivers"))
    [document] = for_langchain.PageIndexRetriever(source=engine, options={"library": "rivers"}).invoke("otters")
    assert "swim in the river" in document.page_content


def test_langchain_with_a_folder_is_kept_and_loaded(engine: Engine, expected: list[tuple[str, int, str]]) -> None:
    retriever = for_langchain.PageIndexRetriever(source=str(engine.home), k=3)
    loaded = pickle.loads(pickle.dumps(retriever))
    again = for_langchain.PageIndexRetriever(
        **json.loads(retriever.model_dump_json(include={"source", "k", "options"}))
    )
    for copy in (loaded, again):
        assert [page.page_content for page in copy.invoke(QUESTION)] == [text for _, _, text in expected]


def test_haystack_filters(engine: Engine) -> None:
    year = {"field": "meta.year", "operator": "==", "value": "2024"}
    names = {document.name for document in run(engine.documents.list(where=["year=2024"]))}
    for filters in (year, year | {"value": 2024}, {"operator": "AND", "conditions": [year]}):
        retriever = for_haystack.PageIndexRetriever(str(engine.home), top_k=50, filters=filters)
        loaded = for_haystack.PageIndexRetriever.from_dict(retriever.to_dict())
        names_found = {document.meta["document"] for document in loaded.run(query=SALES)["documents"]}
        assert names_found and names_found <= names
    both = for_haystack.PageIndexRetriever(str(engine.home), top_k=50).run(query=SALES)["documents"]
    assert not {document.meta["document"] for document in both} <= names
    nothing = for_haystack.PageIndexRetriever(str(engine.home)).run(query=SALES, filters=year | {"value": "1901"})
    assert nothing["documents"] == []


def test_where_nothing_is_found_nothing_is_given(tmp_path: Path) -> None:
    (tmp_path / "note.md").write_text("# Otters\n\nThey swim.\n")
    engine = Engine(tmp_path / "home")
    run(engine.index(tmp_path / "note.md"))
    assert for_langchain.PageIndexRetriever(source=engine).invoke("zeppelin") == []
    engine.close()
