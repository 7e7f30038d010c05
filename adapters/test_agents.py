"""Check adapters for agents: a scripted model calls the tools and gets the engine's results."""

from __future__ import annotations

import ast
import asyncio
import json
from collections.abc import Iterator
from typing import Any

import hybrid_pageindex_openai_agents as for_openai
import hybrid_pageindex_pydantic_ai as for_pydantic
import pytest
from agents import Agent as OpenAIAgent
from agents import Model, ModelResponse, RunConfig, Runner, Usage
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText
from pydantic_ai import Agent as PydanticAgent
from pydantic_ai.messages import ModelMessage, TextPart, ToolCallPart
from pydantic_ai.messages import ModelResponse as PydanticResponse
from pydantic_ai.models.function import AgentInfo, FunctionModel

from hybrid_pageindex import Engine, run
from tests import pdfs

QUESTION = "What was the capital expenditure in fiscal 2022?"
NAMES = ["search_pages", "read_pages", "count_pages"]


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    folder = tmp_path_factory.mktemp("agents")
    engine = Engine(folder / "home")
    assert all(file.status == "indexed" for file in run(engine.index(pdfs.fiscal_reports(folder))).files)
    yield engine
    engine.close()


def script(answers: list[dict[str, Any]]) -> tuple[str, dict[str, Any]] | str:
    """Return the next call of a scripted model, or its final text, after these results of tools.

    The model searches, reads, counts, names a missing document, and ends.
    """
    if not answers:
        return "search_pages", {"question": QUESTION}
    best = answers[0]["pages"][0]
    calls: list[tuple[str, dict[str, Any]]] = [
        ("read_pages", {"document": best["document"], "pages": [best["page"]]}),
        ("count_pages", {"words": "fiscal"}),
        ("read_pages", {"document": "nothing.pdf", "pages": [1]}),
    ]
    return calls[len(answers) - 1] if len(answers) <= len(calls) else f"{best['name']}, page {best['page']}"


def check(engine: Engine, answers: list[dict[str, Any]], text: str) -> None:
    page = run(engine.search(QUESTION)).results[0]
    searched, read, counted, refused = answers
    assert searched["evidence"] and searched["pages"][0]["document"] == page.doc_id
    assert read["pages"][0]["text"] == run(engine.pages(page.doc_id, page.page))[0].text
    grep = run(engine.grep("fiscal", listed="documents"))
    assert (counted["total_pages"], counted["total_documents"]) == (grep.total_pages, grep.total_documents)
    assert counted["complete"] and counted["total_documents"] > 1
    assert "nothing.pdf" in refused["error"]
    assert text == f"{page.doc_name}, page {page.page}"


def test_pydantic_ai(engine: Engine) -> None:
    answers: list[dict[str, Any]] = []

    def answer(messages: list[ModelMessage], info: AgentInfo) -> PydanticResponse:
        assert [tool.name for tool in info.function_tools] == NAMES
        answers[:] = [part.content for message in messages for part in message.parts if part.part_kind == "tool-return"]
        call = script(answers)
        return PydanticResponse([TextPart(call) if isinstance(call, str) else ToolCallPart(*call)])

    agent = PydanticAgent(FunctionModel(answer), toolsets=[for_pydantic.page_index_toolset(engine)])
    output = asyncio.run(agent.run(QUESTION)).output
    check(engine, answers, output)


class Scripted(Model):
    """A model of the OpenAI Agents SDK that follows the script."""

    def __init__(self) -> None:
        self.answers: list[dict[str, Any]] = []

    async def get_response(
        self, system_instructions: Any, input: Any, model_settings: Any, tools: Any, *_: Any, **__: Any
    ) -> ModelResponse:
        assert [tool.name for tool in tools] == NAMES
        assert all(tool.description and tool.params_json_schema["additionalProperties"] is False for tool in tools)
        items = input if isinstance(input, list) else []
        outputs = [item["output"] for item in items if item.get("type") == "function_call_output"]
        self.answers = [output if isinstance(output, dict) else _parse(output) for output in outputs]
        call = script(self.answers)
        if isinstance(call, str):
            text = ResponseOutputText(annotations=[], text=call, type="output_text")
            item: Any = ResponseOutputMessage(
                id="m", content=[text], role="assistant", status="completed", type="message"
            )
        else:
            name, arguments = call
            item = ResponseFunctionToolCall(
                arguments=json.dumps(arguments), call_id=f"c{len(outputs)}", name=name, type="function_call"
            )
        return ModelResponse(output=[item], usage=Usage(), response_id=None)

    def stream_response(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError


def _parse(written: str) -> dict[str, Any]:
    """Return the result of a tool, which a framework writes as JSON or as Python text."""
    try:
        parsed: dict[str, Any] = json.loads(written)
    except ValueError:
        parsed = ast.literal_eval(written)
    return parsed


def test_openai_agents(engine: Engine) -> None:
    model = Scripted()
    agent = OpenAIAgent("Analyst", tools=for_openai.page_index_tools(engine), model=model)
    result = asyncio.run(Runner.run(agent, QUESTION, run_config=RunConfig(tracing_disabled=True)))
    check(engine, model.answers, result.final_output)
