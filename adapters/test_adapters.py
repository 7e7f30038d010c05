"""Each adapter finds what the engine finds, and is what its framework expects."""

from __future__ import annotations

import asyncio
import os
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

from hybrid_pageindex import Engine, run
from tests import pdfs

QUESTION = "capital expenditure in fiscal 2022"


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    folder = tmp_path_factory.mktemp("adapters")
    made = Engine(folder / "home")
    assert all(file.status == "indexed" for file in run(made.index(pdfs.fiscal_reports(folder))).files)
    yield made
    made.close()


@pytest.fixture(scope="module")
def expected(engine: Engine) -> list[tuple[str, int, str]]:
    found = run(engine.search(QUESTION, top_k=3)).results
    texts = [run(engine.pages(page.doc_id, page.page))[0].text for page in found]
    assert len(found) == 3
    return [(page.doc_name, page.page, text) for page, text in zip(found, texts, strict=True)]


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
        found = retriever.invoke(QUESTION, k=3)
        assert [(one.metadata["document"], one.metadata["page"], one.page_content) for one in found] == expected
        assert asyncio.run(retriever.ainvoke(QUESTION, k=3)) == found


def test_llamaindex(engine: Engine, expected: list[tuple[str, int, str]]) -> None:
    retriever = for_llamaindex.PageIndexRetriever(engine, top_k=3)
    found = retriever.retrieve(QUESTION)
    assert [(one.node.metadata["document"], one.node.metadata["page"], one.node.text) for one in found] == expected
    assert [one.score for one in found] == sorted((one.score or 0 for one in found), reverse=True)
    assert [one.node.id_ for one in asyncio.run(retriever.aretrieve(QUESTION))] == [one.node.id_ for one in found]


def test_haystack(engine: Engine, expected: list[tuple[str, int, str]]) -> None:
    pipeline = Pipeline()
    pipeline.add_component("retriever", for_haystack.PageIndexRetriever(str(engine.home), top_k=3))
    kept = Pipeline.loads(pipeline.dumps(), allowed_modules=[for_haystack.__name__])
    found = kept.run({"retriever": {"query": QUESTION}})["retriever"]["documents"]
    assert [(one.meta["document"], one.meta["page"], one.content) for one in found] == expected
    assert os.environ["HAYSTACK_TELEMETRY_ENABLED"] == "False"


def test_where_nothing_is_found_nothing_is_given(tmp_path: Path) -> None:
    (tmp_path / "note.md").write_text("# Otters\n\nThey swim.\n")
    engine = Engine(tmp_path / "home")
    run(engine.index(tmp_path / "note.md"))
    assert for_langchain.PageIndexRetriever(source=engine).invoke("zeppelin") == []
    engine.close()
