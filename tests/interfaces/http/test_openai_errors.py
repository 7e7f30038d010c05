"""OpenAI's own client reads every refusal below /v1, and libraries as vector stores."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from tests.interfaces.http.conftest import MILL, SOLD, START, Serving, serving, upload

openai = pytest.importorskip("openai", reason="the extra openai is not installed")
LETTER = "# A letter\n\nThe weir was mended in 1990.\n"
USER = [{"role": "user", "content": SOLD}]


@pytest.fixture(scope="module")
def mills(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    """Without a model: what is refused is refused before one is asked."""
    with serving(tmp_path_factory.mktemp("refusing")) as made:
        with made.client() as client:
            for name in ("mills", "other"):
                client.post("/libraries", json={"name": name})
            upload(client, "mills", mill=MILL, letter=LETTER)
            client.patch("/libraries/mills/documents/letter.md", json={"set": {"year": "1990"}})
            upload(client, "other", secret="# Secret\n\nThe mill of others.\n")
        yield made


@pytest.fixture
def sdk(mills: Serving) -> Iterator[Any]:
    with openai.OpenAI(base_url=f"{mills.url}/v1", api_key=START, max_retries=0) as made:
        yield made


def chat(**more: Any) -> Callable[[Any], Any]:
    return lambda sdk: sdk.chat.completions.create(**{"model": "mills", "messages": USER, **more})


FUNCTION = {"type": "function", "function": {"name": "f"}}
CALLING = {
    "role": "assistant",
    "tool_calls": [{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
}
PICTURE = [
    {"type": "text", "text": "What is this?"},
    {"type": "image_url", "image_url": {"url": "data:image/png;base64,"}},
]
REFUSED: list[tuple[str, Callable[[Any], Any], int, str | None, str | None]] = [
    ("unknown model", chat(model="nothing"), 404, "model", "model_not_found"),
    ("unknown model, streamed", chat(model="nothing", stream=True), 404, "model", "model_not_found"),
    ("model of no name", chat(model=""), 400, "model", "invalid_value"),
    ("no messages", chat(messages=[]), 400, "messages", "invalid_value"),
    ("no question", chat(messages=[{"role": "system", "content": "Be brief."}]), 400, "messages", "invalid_value"),
    ("long question", chat(messages=[{"role": "user", "content": "mill " * 3000}]), 400, "messages",
     "string_above_max_length"),
    ("wrong role", chat(messages=[{"role": "king", "content": "x"}]), 400, "messages[0].role", "invalid_value"),
    ("no role", chat(messages=[{"content": "x"}]), 400, "messages[0].role", "missing_required_parameter"),
    ("picture", chat(messages=[{"role": "user", "content": PICTURE}]), 400, "messages[0].content[1].type",
     "invalid_value"),
    ("two choices", chat(n=2), 400, "n", "invalid_value"),
    ("JSON", chat(response_format={"type": "json_object"}), 400, "response_format.type", "invalid_value"),
    ("JSON schema", chat(response_format={"type": "json_schema", "json_schema": {"name": "x", "schema": {}}}), 400,
     "response_format.type", "invalid_value"),
    ("tool required", chat(tools=[{"type": "function", "function": {"name": "f"}}], tool_choice="required"), 400,
     "tool_choice", "invalid_value"),
    ("tool named", chat(tool_choice={"type": "function", "function": {"name": "f"}}), 400, "tool_choice",
     "invalid_value"),
    ("tool required of none", chat(tool_choice="required"), 400, "tool_choice", "invalid_value"),
    ("tool that is not there", chat(tools=[FUNCTION], tool_choice={"type": "function", "function": {"name": "g"}}), 400,
     "tool_choice", "invalid_value"),
    ("tool named, without a model", chat(tools=[FUNCTION], tool_choice={"type": "function", "function": {"name": "f"}}),
     400, "tool_choice", "invalid_value"),
    ("results without a model", chat(messages=[*USER, CALLING, {"role": "tool", "tool_call_id": "c", "content": "x"}]),
     400, "messages", "invalid_value"),
    ("result of no call", chat(messages=[*USER, {"role": "tool", "tool_call_id": "c", "content": "x"}]), 400,
     "messages", "invalid_value"),
    ("call without a result", chat(messages=[*USER, CALLING]), 400, "messages", "invalid_value"),
    ("tool of another kind", chat(tools=[{"type": "custom", "custom": {"name": "f"}}]), 400, "tools[0].type",
     "invalid_value"),
    ("tool without a name", chat(tools=[{"type": "function", "function": {}}]), 400, "tools[0].function.name",
     "missing_required_parameter"),
    ("stop", chat(stop=["\n"]), 400, "stop", "invalid_value"),
    ("logprobs", chat(logprobs=True), 400, "logprobs", "invalid_value"),
    ("sound", chat(modalities=["text", "audio"]), 400, "modalities[1]", "invalid_value"),
    ("voice", chat(audio={"format": "wav", "voice": "alloy"}), 400, "audio", "invalid_value"),
    ("web search", chat(web_search_options={}), 400, "web_search_options", "invalid_value"),
    ("temperature", chat(temperature=3), 400, "temperature", "invalid_value"),
    ("temperature in words", chat(temperature="hot"), 400, "temperature", "invalid_type"),
    ("tokens", chat(max_tokens=0), 400, "max_tokens", "invalid_value"),
    ("streaming in words", chat(extra_body={"stream": "yes"}), 400, "stream", "invalid_type"),
    ("embeddings", lambda sdk: sdk.embeddings.create(model="mills", input="x"), 404, "model", "model_not_found"),
    ("pictures", lambda sdk: sdk.images.generate(prompt="x"), 404, None, "unknown_url"),
    ("completions", lambda sdk: sdk.completions.create(model="mills", prompt="x"), 404, None, "unknown_url"),
    ("unknown model shown", lambda sdk: sdk.models.retrieve("nothing"), 404, "model", "model_not_found"),
    ("model deleted", lambda sdk: sdk.models.delete("mills"), 405, None, "method_not_allowed"),
    ("unknown store", lambda sdk: sdk.vector_stores.retrieve("nothing"), 404, "vector_store_id",
     "vector_store_not_found"),
    ("store of a bad name", lambda sdk: sdk.vector_stores.create(name=".."), 400, None, None),
    ("store that is there", lambda sdk: sdk.vector_stores.create(name="mills"), 409, None, "conflict"),
    ("store of files", lambda sdk: sdk.vector_stores.create(name="x", file_ids=["f"]), 400, "file_ids",
     "invalid_value"),
    ("no query", lambda sdk: sdk.vector_stores.search("mills", query=""), 400, "query", "invalid_value"),
    ("too many results", lambda sdk: sdk.vector_stores.search("mills", query="x", max_num_results=51), 400,
     "max_num_results", "invalid_value"),
    ("filter on nothing", lambda sdk: sdk.vector_stores.search(
        "mills", query="x", filters={"type": "eq", "key": "colour", "value": "red"}), 400, "filters", "invalid_value"),
    ("filter on a boolean", lambda sdk: sdk.vector_stores.search(
        "mills", query="x", filters={"type": "eq", "key": "year", "value": True}), 400, "filters", "invalid_value"),
    ("filter by size", lambda sdk: sdk.vector_stores.search(
        "mills", query="x", filters={"type": "gt", "key": "year", "value": 1990}), 400, "filters", "invalid_value"),
    ("unknown file", lambda sdk: sdk.vector_stores.files.retrieve("nothing", vector_store_id="mills"), 404, "file_id",
     "not_found"),
    ("page after nothing", lambda sdk: sdk.vector_stores.list(after="nothing"), 404, "after", "not_found"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("call", "status", "param", "code"), [one[1:] for one in REFUSED], ids=[one[0] for one in REFUSED]
)
def test_openais_client_reads_what_is_refused(
    sdk: Any, call: Callable[[Any], Any], status: int, param: str | None, code: str | None
) -> None:
    with pytest.raises(openai.APIStatusError) as refused:
        call(sdk)
    error = refused.value
    assert (error.status_code, error.param, error.code) == (status, param, code), error.body
    assert error.type == "invalid_request_error" and error.body["message"]


def test_openais_client_knows_which_error_it_is(mills: Serving, sdk: Any) -> None:
    with pytest.raises(openai.AuthenticationError) as refused:
        sdk.with_options(api_key="wrong").models.list()
    assert (refused.value.type, refused.value.code) == ("authentication_error", "invalid_api_key")
    with mills.client() as client:
        made = client.post("/tokens", json={"name": "reader", "libraries": ["mills"]}).json()
    limited = sdk.with_options(api_key=made["secret"])
    with pytest.raises(openai.PermissionDeniedError) as denied:
        limited.vector_stores.delete("mills")
    assert denied.value.type == "permission_error"
    for call in (limited.vector_stores.retrieve, limited.models.retrieve):
        with pytest.raises(openai.NotFoundError):
            call("other")
    assert [one.id for one in limited.vector_stores.list()] == ["mills"]
    with httpx.Client(headers={"Authorization": f"Bearer {START}"}) as plain:
        for sent in ({"content": b"{", "headers": {"Content-Type": "application/json"}}, {"content": b"[]"}):
            answered = plain.post(f"{mills.url}/v1/chat/completions", **sent)  # type: ignore[arg-type]
            assert answered.status_code in (400, 415)
            assert set(answered.json()["error"]) == {"message", "type", "param", "code"}


def test_what_is_asked_for_and_changes_nothing_is_taken(sdk: Any) -> None:
    """Chat programs send these with every question."""
    made = sdk.chat.completions.create(
        model="mills", messages=USER, n=1, temperature=0.2, top_p=1, max_tokens=100, presence_penalty=0, seed=1,
        frequency_penalty=0, user="7", response_format={"type": "text"}, tool_choice="auto", stop=[], logprobs=False,
        tools=[{"type": "function", "function": {"name": "f"}}], modalities=["text"],
    )  # fmt: skip
    assert made.choices[0].finish_reason == "stop" and "mill.md" in made.choices[0].message.content


def test_libraries_are_vector_stores(sdk: Any) -> None:
    stores = list(sdk.vector_stores.list(limit=1))
    assert sorted(one.id for one in stores) == ["mills", "other"], "over parts of one"
    store = sdk.vector_stores.retrieve("mills")
    assert store.file_counts.completed == 2 and store.status == "completed" and store.created_at > 0
    found = sdk.vector_stores.search("mills", query=SOLD, max_num_results=3)
    first = found.data[0]
    assert first.filename == "mill.md" and "1987" in first.content[0].text and first.attributes["page"] == 1
    scores = [one.score for one in found.data]
    assert scores == sorted(scores, reverse=True) and all(0 <= one <= 1 for one in scores)
    only = sdk.vector_stores.search("mills", query="weir", filters={"type": "eq", "key": "year", "value": "1990"})
    assert [one.filename for one in only.data] == ["letter.md"]
    none = sdk.vector_stores.search("mills", query=SOLD, ranking_options={"score_threshold": 1.0})
    assert none.data == []
    files = list(sdk.vector_stores.files.list("mills", limit=1))
    assert sorted(one.attributes["filename"] for one in files) == ["letter.md", "mill.md"]
    shown = sdk.vector_stores.files.retrieve(first.file_id, vector_store_id="mills")
    assert shown.status == "completed" and shown.vector_store_id == "mills"
    content = sdk.vector_stores.files.content(first.file_id, vector_store_id="mills")
    assert "sold to the town" in content.data[0].text
    made = sdk.vector_stores.create(name="made")
    assert made.id == "made" and made.file_counts.total == 0
    assert sdk.vector_stores.delete("made").deleted
    gone = sdk.vector_stores.files.delete(
        next(one.id for one in files if one.attributes["filename"] == "letter.md"), vector_store_id="mills"
    )
    assert gone.deleted and sdk.vector_stores.retrieve("mills").file_counts.completed == 1
