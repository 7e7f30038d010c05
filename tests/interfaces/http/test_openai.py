"""The OpenAI-compatible routes with OpenAI's own client, and with the bodies that Open WebUI and LibreChat send."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from hybrid_core.llm.chat import Request, ToolCall
from tests.doubles.replies import FakeReply
from tests.doubles.scripted_server import ScriptedServer
from tests.interfaces.http.conftest import MILL, SOLD, START, Serving, serving_with, upload

openai = pytest.importorskip("openai", reason="the extra openai is not installed")

# Open WebUI's own calls: one message of the role user, which begins so; its metadata stays with it.
TITLE = """### Task:
Generate a concise, 3-5 word title with an emoji summarizing the chat history.
### Output:
JSON format: { "title": "your concise title here" }
### Chat History:
<chat_history>
USER: When was the mill sold?
ASSISTANT: In 1987.
</chat_history>"""
TAGS = TITLE.replace("a concise, 3-5 word title with an emoji summarizing", "1-3 broad tags categorizing").replace(
    '"title": "your concise title here"', '"tags": ["tag1", "tag2"]'
)
# LibreChat's, for a title.
LIBRECHAT = """Provide a concise, 5-word-or-less title for the conversation, using title case conventions. Only return the title itself.

Conversation:
User: When was the mill sold?
AI: In 1987."""  # noqa: E501


@pytest.fixture(scope="module")
def talking(tmp_path_factory: pytest.TempPathFactory, model: ScriptedServer) -> Iterator[Serving]:
    with serving_with(model, tmp_path_factory.mktemp("completing")) as made:
        with made.client() as client:
            client.post("/libraries", json={"name": "mills", "alias": "磨坊"})
            upload(client, "mills", mill=MILL)
        yield made


@pytest.fixture
def sdk(talking: Serving) -> Iterator[Any]:
    with openai.OpenAI(base_url=f"{talking.url}/v1", api_key=START, max_retries=0) as made:
        yield made


def test_openais_client_reads_models_and_answers(sdk: Any, talking: Serving) -> None:
    assert [one.id for one in sdk.models.list()] == ["mills"] and sdk.models.retrieve("磨坊").id == "mills"
    made = sdk.chat.completions.create(model="mills", messages=[{"role": "user", "content": SOLD}], temperature=0.2)
    [choice] = made.choices
    text, _, sources = choice.message.content.partition("\n\n**Sources**\n\n")
    assert text == "The mill was sold in 1987 [1]." and sources.startswith("[1] [mill.md, page 1")
    [note] = choice.message.annotations
    cited = note.url_citation
    assert choice.message.content[cited.start_index : cited.end_index] == "[1]" and cited.url in sources
    assert made.usage.total_tokens > 0 and made.model_extra["sources"][0]["page"] == 1
    with talking.client() as client:
        assert client.get(cited.url).content[:4] == b"\x89PNG", "the link leads to the page"
    with pytest.raises(openai.NotFoundError):
        sdk.chat.completions.create(model="nothing", messages=[{"role": "user", "content": SOLD}])
    with pytest.raises(openai.BadRequestError):
        sdk.chat.completions.create(model="mills", messages=[{"role": "system", "content": "Be brief."}])
    with pytest.raises(openai.BadRequestError, match="at most 10,000 are allowed"):
        sdk.chat.completions.create(model="mills", messages=[{"role": "user", "content": "mill " * 3000}])
    with pytest.raises(openai.AuthenticationError):
        sdk.with_options(api_key="wrong").models.list()


def test_openais_client_reads_a_stream(sdk: Any) -> None:
    asked = {"model": "mills", "messages": [{"role": "user", "content": SOLD}], "stream": True}
    chunks = list(sdk.chat.completions.create(**asked, stream_options={"include_usage": True}))
    text = "".join(one.choices[0].delta.content or "" for one in chunks if one.choices)
    assert text.startswith("The mill was sold in 1987 [1].\n\n**Sources**") and "[[" not in text
    assert [one.choices[0].finish_reason for one in chunks if one.choices][-1] == "stop"
    assert chunks[-1].usage is not None and len(chunks) > 4


def test_what_was_said_before_makes_a_follow_up_stand_alone(sdk: Any, model: ScriptedServer) -> None:
    first = sdk.chat.completions.create(model="mills", messages=[{"role": "user", "content": SOLD}])
    before = len(model.requests)
    body = [  # LibreChat sends parts
        {"role": "system", "content": "You are helpful."},
        {"role": "user", "content": [{"type": "text", "text": SOLD}]},
        {"role": "assistant", "content": first.choices[0].message.content},
        {"role": "user", "content": [{"type": "text", "text": "And what did it cost?"}]},
    ]
    sdk.chat.completions.create(model="mills", messages=body, user="68", extra_body={"promptPrefix": ""})
    standing, answering = model.requests[before:]
    assert standing.title == "StandAlone" and "The mill was sold in 1987" in standing.messages[-1].text
    assert "**Sources**" not in answering.messages[-1].text and "And what did it cost?" in answering.messages[-1].text


@pytest.mark.parametrize(
    ("prompt", "reply"),
    [(TITLE, {"title": "When was the mill sold"}), (TAGS, {"tags": []}), (LIBRECHAT, "When was the mill sold")],
)
def test_what_programs_ask_for_themselves_is_answered_without_retrieval(
    sdk: Any, model: ScriptedServer, prompt: str, reply: Any
) -> None:
    before = len(model.requests)
    for stream in (False, True):
        made = sdk.chat.completions.create(
            model="mills", messages=[{"role": "user", "content": prompt}], stream=stream, max_completion_tokens=1000
        )
        parts = [one.choices[0].delta.content or "" for one in made] if stream else [made.choices[0].message.content]
        text = "".join(parts)
        assert (text if isinstance(reply, str) else json.loads(text)) == reply
    assert len(model.requests) == before


def test_a_prompt_with_context_is_a_question(sdk: Any) -> None:
    """Open WebUI puts files that were attached before the question in words that begin as its own calls do."""
    prompt = f"### Task:\nRespond to the user query using the provided context.\n<context>none</context>\n{SOLD}"
    made = sdk.chat.completions.create(model="mills", messages=[{"role": "user", "content": prompt}])
    assert "[1] [mill.md" in made.choices[0].message.content


WEATHER = {
    "type": "function",
    "function": {"name": "weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}},
}
CALLS = (ToolCall("call_1", "weather", '{"city": "Oslo"}'), ToolCall("call_2", "weather", '{"city": "Rome"}'))
QUESTION = {"role": "user", "content": "Is it colder in Oslo than in Rome?"}


@pytest.fixture
def calling(model: ScriptedServer) -> Iterator[ScriptedServer]:
    """The model calls a function for a question about the weather, and repeats what the function has returned."""
    usual = model.answer

    def answer(request: Request) -> Any:
        results = [message.text for message in request.messages if message.role == "tool"]
        if results:
            return f"It is {' and '.join(results)}."
        if request.tools and "Oslo" in request.messages[-1].text:
            return FakeReply("A moment.", calls=CALLS)
        return usual(request)

    model.answer = answer
    yield model
    model.answer = usual


def test_the_model_calls_a_tool_of_the_program_and_answers_with_its_results(sdk: Any, calling: ScriptedServer) -> None:
    for stream in (False, True):
        asked = {"model": "mills", "messages": [QUESTION], "tools": [WEATHER]}
        if stream:
            with sdk.chat.completions.stream(**asked) as events:  # the client's own gathering of pieces
                for _ in events:
                    pass
                [choice] = events.get_final_completion().choices
        else:
            [choice] = sdk.chat.completions.create(**asked).choices
        assert choice.finish_reason == "tool_calls" and choice.message.content.strip() == "A moment."
        called = [(one.id, one.function.name, json.loads(one.function.arguments)) for one in choice.message.tool_calls]
        assert called == [("call_1", "weather", {"city": "Oslo"}), ("call_2", "weather", {"city": "Rome"})]
        assert calling.bodies[-1]["tools"] == [WEATHER] and calling.bodies[-1]["tool_choice"] == "auto"
        results = [{"role": "tool", "tool_call_id": f"call_{n}", "content": f"{n} degrees"} for n in (1, 2)]
        messages = [QUESTION, choice.message.model_dump(exclude_none=True), *results]
        made = sdk.chat.completions.create(model="mills", messages=messages, tools=[WEATHER], stream=stream)
        texts = [one.choices[0].delta.content for one in made] if stream else [made.choices[0].message.content]
        assert "".join(filter(None, texts)) == "It is 1 degrees and 2 degrees."
        sent = calling.bodies[-1]["messages"]
        assert [one["role"] for one in sent] == ["system", "user", "assistant", "tool", "tool"]
        assert "The mill was sold" in sent[1]["content"] or "Sources" in sent[1]["content"]


def test_tools_leave_a_question_about_the_library_as_it_was(sdk: Any, calling: ScriptedServer) -> None:
    made = sdk.chat.completions.create(model="mills", messages=[{"role": "user", "content": SOLD}], tools=[WEATHER])
    [choice] = made.choices
    assert choice.finish_reason == "stop" and choice.message.content.startswith("The mill was sold in 1987 [1].")
    assert choice.message.tool_calls is None and choice.message.annotations
    before = len(calling.bodies)
    sdk.chat.completions.create(
        model="mills", messages=[{"role": "user", "content": SOLD}], tools=[WEATHER], tool_choice="none"
    )
    assert all("tools" not in body for body in calling.bodies[before:])


@pytest.mark.parametrize("choice", ["required", {"type": "function", "function": {"name": "weather"}}])
def test_a_demanded_call_is_made_or_the_request_fails(sdk: Any, calling: ScriptedServer, choice: Any) -> None:
    asked = {"model": "mills", "tools": [WEATHER], "tool_choice": choice, "parallel_tool_calls": False}
    made = sdk.chat.completions.create(messages=[QUESTION], **asked)
    assert made.choices[0].message.tool_calls[0].function.name == "weather"
    assert calling.bodies[-1]["tool_choice"] == choice and calling.bodies[-1]["parallel_tool_calls"] is False
    sold = [{"role": "user", "content": SOLD}]
    with pytest.raises(openai.InternalServerError, match="did not call a function") as error:
        sdk.chat.completions.create(messages=sold, **asked)
    assert (error.value.status_code, error.value.type, error.value.code) == (502, "server_error", "model_failed")
    with pytest.raises(openai.APIError, match="did not call a function") as streamed:
        list(sdk.chat.completions.create(messages=sold, stream=True, **asked))
    assert (streamed.value.type, streamed.value.code) == ("server_error", "model_failed")


def test_a_model_that_refuses_tools_answers_without_a_call_or_says_why(sdk: Any, calling: ScriptedServer) -> None:
    calling.unknown = {"tools"}
    try:
        asked = {"model": "mills", "messages": [QUESTION], "tools": [WEATHER]}
        assert "tools" in sdk.chat.completions.create(**asked).choices[0].message.content
        with pytest.raises(openai.InternalServerError, match="Unsupported parameter: 'tools'"):
            sdk.chat.completions.create(**asked, tool_choice="required")
    finally:
        calling.unknown = set()
