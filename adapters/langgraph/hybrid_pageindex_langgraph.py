"""Answer a question with a LangGraph graph: retrieve → enough? → read tree → answer.

from hybrid_pageindex import Engine
from hybrid_pageindex_langgraph import answer_graph

graph = answer_graph(Engine())
state = await graph.ainvoke({"question": "What was the capital expenditure in fiscal 2025?"})
state["answer"].text, state["answer"].sources
"""

from __future__ import annotations

import os

os.environ.setdefault("LANGSMITH_TRACING", "false")  # nothing is told to others unless it is asked for

from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import Annotated, Any, Literal

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langchain_core.runnables import RunnableLambda
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.graph.state import CompiledStateGraph
from typing_extensions import TypedDict

from hybrid_core.errors import UsageError
from hybrid_core.types.answers import Answer
from hybrid_core.types.results import SearchResult
from hybrid_pageindex import Engine, run
from hybrid_pageindex.frameworks import checked

__all__ = ["AnswerState", "answer_graph", "enough"]

_TREES = 3  # documents
Choice = Literal["read_tree", "answer"]


class AnswerState(TypedDict, total=False):
    """The state of the graph. The input is ``question``, or ``messages`` with the question as last message.

    ``found`` are the pages found so far, and ``read`` tells whether section trees were read for them. The output is
    ``answer``, and a message in ``messages``.
    """

    question: str
    messages: Annotated[list[AnyMessage], add_messages]
    found: SearchResult
    read: bool
    answer: Answer


def enough(state: AnswerState) -> Choice:
    """Choose the next step: "answer" if the evidence of the pages is strong, otherwise "read_tree".

    Section trees are read only once.
    """
    return "answer" if state.get("read") or state["found"].evidence.level == "strong" else "read_tree"


def answer_graph(
    engine: Engine, *, sections: int = 3, decide: Callable[[AnswerState], Choice] = enough, **options: Any
) -> CompiledStateGraph[AnswerState, None, AnswerState, AnswerState]:
    """Return a graph that answers questions, for ``invoke``, ``ainvoke``, ``stream`` or ``astream``.

    ``options`` are further arguments of ``Engine.search``. After each search ``decide`` chooses whether section trees
    are read. If they are, a configured model reads them. Without a model, pages of the best ``sections`` sections are
    put first. The graph has no checkpointer: ``Engine.conversations`` stores conversations. Errors derive from
    ``PageIndexError`` of ``hybrid_pageindex``. An unknown option raises one when the graph is created.
    """
    options = checked(options)

    async def retrieve(state: AnswerState) -> AnswerState:
        question = _question(state)
        result = await engine.search(question, **{"effort": "fast", **options})
        return {"question": question, "found": result, "read": False}

    async def read_tree(state: AnswerState) -> AnswerState:
        question, result = state["question"], state["found"]
        if engine.settings.llm_model:
            return {"found": await engine.search(question, **{**options, "effort": "deep"}), "read": True}
        documents = {page.doc_id: page.library or result.library for page in result.results[:_TREES]}
        trees = [await engine.outline(doc_id, library=library, query=question) for doc_id, library in documents.items()]
        scored = [(node.node_score or 0.0, tree.document.doc_id, node) for tree in trees for node in tree.nodes]
        best = sorted(scored, key=lambda row: -row[0])[:sections]
        named = {(doc_id, page) for _, doc_id, node in best for page in node.best_pages}
        inside = [page for page in result.results if (page.doc_id, page.page) in named]
        others = [page for page in result.results if (page.doc_id, page.page) not in named]
        return {"found": replace(result, results=(*inside, *others)), "read": True}

    async def answer(state: AnswerState) -> AnswerState:
        answer = await engine.answer(state["found"])
        text = answer.text or answer.why
        pages = [{"doc_id": page.doc_id, "document": page.doc_name, "page": page.page} for page in answer.sources]
        return {"answer": answer, "messages": [AIMessage(text, response_metadata={"sources": pages})]}

    graph = StateGraph(AnswerState)
    for name, step in (("retrieve", retrieve), ("read_tree", read_tree), ("answer", answer)):
        graph.add_node(name, RunnableLambda(_waiting(step), afunc=step, name=name))
    graph.add_edge(START, "retrieve")
    graph.add_conditional_edges("retrieve", decide, ["read_tree", "answer"])
    graph.add_edge("read_tree", "answer")
    graph.add_edge("answer", END)
    return graph.compile()


def _question(state: AnswerState) -> str:
    """Return the question of a state, or its last message if there is none.

    Raise UsageError if there is neither.
    """
    if question := state.get("question"):
        return question
    messages = state.get("messages") or []
    if not messages or not isinstance(messages[-1], HumanMessage):
        raise UsageError("Nothing is asked.", "Give a question, or messages that end with one of a person.")
    return messages[-1].text if isinstance(messages[-1].text, str) else messages[-1].text()


def _waiting(step: Callable[[AnswerState], Coroutine[Any, Any, AnswerState]]) -> Callable[[AnswerState], AnswerState]:
    def wait(state: AnswerState) -> AnswerState:
        return run(step(state))

    return wait
