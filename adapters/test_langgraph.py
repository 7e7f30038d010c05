"""Check the steps of the LangGraph graph that answers a question."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import hybrid_pageindex_langgraph as for_langgraph
import pytest
from langchain_core.messages import AIMessage, HumanMessage

from hybrid_core.errors import UsageError
from hybrid_pageindex import Engine, run
from tests import pdfs

QUESTION = "What were the net sales in fiscal 2022?"


def test_the_four_steps(tmp_path: Path) -> None:
    engine = Engine(tmp_path / "home")
    assert all(file.status == "indexed" for file in run(engine.index(pdfs.fiscal_reports(tmp_path))).files)

    async def steps(graph: Any, question: str) -> tuple[list[str], Any]:
        taken, state = [], dict[str, Any]()
        async for update in graph.astream({"question": question}):
            for name, change in update.items():
                taken.append(name)
                state |= change
        return taken, state

    taken, state = asyncio.run(steps(for_langgraph.answer_graph(engine, top_k=3), QUESTION))
    assert taken == ["retrieve", "answer"] and state["found"].evidence.level == "strong"
    answer = state["answer"]
    pages = run(engine.search(QUESTION, top_k=3)).results
    places = [(page.doc_id, page.page) for page in pages]
    assert answer.status == "no_model" and [(page.doc_id, page.page) for page in answer.sources] == places
    always = for_langgraph.answer_graph(engine, top_k=3, decide=lambda state: "read_tree")
    taken, read = asyncio.run(steps(always, QUESTION))
    assert taken == ["retrieve", "read_tree", "answer"] and read["read"]
    assert sorted((page.doc_id, page.page) for page in read["found"].results) == sorted(places)
    taken, nothing = asyncio.run(steps(for_langgraph.answer_graph(engine), "zeppelin"))
    assert taken == ["retrieve", "read_tree", "answer"] and nothing["answer"].status == "not_in_library"
    assert os.environ["LANGSMITH_TRACING"] == "false"
    engine.close()


def test_it_is_invoked_and_takes_and_gives_messages(tmp_path: Path) -> None:
    engine = Engine(tmp_path / "home")
    run(engine.index(pdfs.fiscal_reports(tmp_path)))
    graph = for_langgraph.answer_graph(engine, top_k=3)
    state = graph.invoke({"messages": [HumanMessage(QUESTION)]})
    assert state["answer"].sources and isinstance(state["messages"][-1], AIMessage)
    assert state["messages"][-1].response_metadata["sources"][0]["page"] == state["answer"].sources[0].page
    assert [name for update in graph.stream({"question": QUESTION}) for name in update] == ["retrieve", "answer"]
    again = asyncio.run(graph.ainvoke({"question": QUESTION}))
    assert [page.page for page in again["answer"].sources] == [page.page for page in state["answer"].sources]
    for nothing in ({}, {"messages": [AIMessage("Hello.")]}):
        with pytest.raises(UsageError, match="Nothing is asked"):
            graph.invoke(nothing)
    with pytest.raises(UsageError, match="option 'checkpointer' does not exist"):
        for_langgraph.answer_graph(engine, checkpointer=object())
    engine.close()
