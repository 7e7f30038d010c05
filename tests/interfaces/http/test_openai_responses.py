"""OpenAI's Responses, Files and Embeddings with OpenAI's own client, whose types read every reply."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from hybrid_core.errors import NotFoundError
from hybrid_core.llm.chat import Request, ToolCall
from hybrid_core.types.access import EVERYWHERE, Caller
from hybrid_core.types.libraries import Library
from hybrid_pageindex.http.identity import Slots
from hybrid_pageindex.http.routers.vector_stores import find_document
from hybrid_pageindex.http.server import Server, find_size, read_each
from indexers.files.identity import usual_id
from tests.doubles.replies import FakeReply
from tests.doubles.scripted_server import ScriptedServer
from tests.interfaces.http.conftest import GOOD, MILL, SOLD, START, Serving, serving, until, upload

openai = pytest.importorskip("openai", reason="the extra openai is not installed")
PLAIN = "The mill was sold in 1987 [1]."
assert "[[source:1]]" in GOOD


@pytest.fixture(scope="module")
def mills(tmp_path_factory: pytest.TempPathFactory, model: ScriptedServer) -> Iterator[Serving]:
    settings = {
        "LLM_MODEL": "scripted", "LLM_BASE_URL": model.url, "EFFORT": "fast", "ENRICH": "never",
        "EMBEDDING_MODEL": "hashed:64",
    }  # fmt: skip
    environment = {f"PAGEINDEX_{name}": value for name, value in settings.items()}
    with serving(tmp_path_factory.mktemp("responses"), **environment) as server:
        with server.client() as client:
            for name in ("mills", "other"):
                client.post("/libraries", json={"name": name})
            upload(client, "mills", mill=MILL)
            upload(client, "other", ferry="# The ferry\n\nThe ferry crosses the Aven.\n")
        yield server


@pytest.fixture
def sdk(mills: Serving) -> Iterator[Any]:
    with openai.OpenAI(base_url=f"{mills.url}/v1", api_key=START, max_retries=0) as client:
        yield client


@pytest.fixture
def stranger(mills: Serving) -> Iterator[Any]:
    """A client whose token may read another library alone."""
    with mills.client() as client:
        token = client.post("/tokens", json={"name": "o", "role": "read", "libraries": ["other"]}).json()["secret"]
    with openai.OpenAI(base_url=f"{mills.url}/v1", api_key=token, max_retries=0) as client:
        yield client


def check_types(value: Any) -> None:
    """Check a reply against the client's own types, which it builds without checking."""
    type(value).model_validate(value.model_dump(warnings=False))


def test_a_question_is_answered_with_file_citations(sdk: Any) -> None:
    reply = sdk.responses.create(model="mills", input=SOLD, metadata={"run": "7"})
    check_types(reply)
    assert reply.status == "completed" and reply.output_text == PLAIN and reply.metadata == {"run": "7"}
    search, message = reply.output
    assert search.type == "file_search_call" and search.status == "completed" and search.queries and not search.results
    [note] = message.content[0].annotations
    assert note.type == "file_citation" and note.filename == "mill.md" and PLAIN[note.index :].startswith("[1]")
    assert sdk.files.retrieve(note.file_id).filename == "mill.md"
    assert reply.usage.total_tokens == reply.usage.input_tokens + reply.usage.output_tokens > 0


def test_results_come_where_they_are_included(sdk: Any) -> None:
    reply = sdk.responses.create(model="mills", input=SOLD, include=["file_search_call.results"])
    check_types(reply)
    first = reply.output[0].results[0]
    assert first.filename == "mill.md" and first.attributes["page"] == 1 and "1987" in first.text


@pytest.mark.parametrize("store", [True, False])
def test_events_come_in_order_and_are_those_of_the_client(sdk: Any, store: bool) -> None:
    events = list(sdk.responses.create(model="mills", input=SOLD, stream=True, store=store))
    for event in events:
        check_types(event)
    kinds = [event.type for event in events]
    assert kinds[:3] == ["response.created", "response.in_progress", "response.output_item.added"]
    assert [event.sequence_number for event in events] == list(range(len(events)))
    order = ["response.file_search_call.completed", "response.content_part.added", "response.output_text.delta",
             "response.output_text.annotation.added", "response.output_text.done", "response.completed"]  # fmt: skip
    assert [kinds.index(kind) for kind in order] == sorted(kinds.index(kind) for kind in order)
    text = "".join(event.delta for event in events if event.type == "response.output_text.delta")
    assert text == events[-1].response.output_text == PLAIN and kinds[-1] == "response.completed"
    assert events[0].response.id == events[-1].response.id and events[0].response.status == "in_progress"


def test_the_clients_own_stream_gathers_a_response(sdk: Any) -> None:
    with sdk.responses.stream(model="mills", input=SOLD) as stream:
        for _ in stream:
            pass
        assert stream.get_final_response().output_text == PLAIN


def test_a_response_goes_on_from_another(sdk: Any) -> None:
    first = sdk.responses.create(model="mills", input=SOLD)
    second = sdk.responses.create(model="mills", input="And what did it cost?", previous_response_id=first.id)
    check_types(second)
    assert second.previous_response_id == first.id != second.id
    branch = sdk.responses.create(model="mills", input="And who bought it?", previous_response_id=first.id)
    assert branch.previous_response_id == first.id and branch.id != second.id
    shown = sdk.responses.retrieve(second.id)
    check_types(shown)
    assert shown.output_text == second.output_text and shown.previous_response_id == first.id
    assert shown.model == "mills" and shown.created_at > 1.7e9
    [item] = sdk.responses.input_items.list(second.id).data
    assert item.content[0].text == "And what did it cost?"


def test_messages_that_come_along_are_a_conversation_of_the_caller(sdk: Any) -> None:
    history = [
        {"role": "developer", "content": "Be brief."},
        {"role": "user", "content": SOLD},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": PLAIN}]},
        {"role": "user", "content": [{"type": "input_text", "text": SOLD}]},
    ]
    reply = sdk.responses.create(model="mills", input=history)
    assert reply.output_text == PLAIN and reply.model_extra["store"] is False
    with pytest.raises(openai.BadRequestError) as error:
        sdk.responses.create(model="mills", input=SOLD, previous_response_id=reply.id)
    assert error.value.code == "previous_response_not_found"


def test_the_tool_names_the_libraries(sdk: Any) -> None:
    tools = [{"type": "file_search", "vector_store_ids": ["mills"]}]
    reply = sdk.responses.create(model="other", input=SOLD, tools=tools)
    check_types(reply)
    assert reply.output[1].content[0].annotations[0].filename == "mill.md"
    assert reply.tools[0].vector_store_ids == ["mills"]


FUNCTION = {"type": "function", "name": "weather", "parameters": {"type": "object", "properties": {}}, "strict": False}
COLDER = "Is it colder in Oslo than in Rome?"
ASKED = [{"role": "user", "content": COLDER}]
CALLS = (ToolCall("call_1", "weather", '{"city": "Oslo"}'), ToolCall("call_2", "weather", '{"city": "Rome"}'))


@pytest.fixture(params=["", "A moment."])
def calling(request: pytest.FixtureRequest, model: ScriptedServer) -> Iterator[ScriptedServer]:
    """The model calls a function for a question about the weather, and repeats what the function has returned."""
    usual = model.answer

    def answer(asked: Request) -> Any:
        results = [message.text for message in asked.messages if message.role == "tool"]
        if results:
            return f"It is {' and '.join(results)}."
        if asked.tools and "Oslo" in asked.messages[-1].text:
            return FakeReply(request.param, calls=CALLS)
        return usual(asked)

    model.answer = answer
    yield model
    model.answer = usual


@pytest.mark.parametrize("streamed", [False, True])
def test_the_model_calls_a_function_and_answers_with_its_results(
    sdk: Any, calling: ScriptedServer, streamed: bool
) -> None:
    asked = {"model": "mills", "input": ASKED, "tools": [FUNCTION]}
    if streamed:
        with sdk.responses.stream(**asked) as stream:
            events = list(stream)
            reply = stream.get_final_response()
        for event in events:
            if "parsed" not in str(event):
                check_types(event)
        written = [event.arguments for event in events if event.type == "response.function_call_arguments.done"]
        assert written == [call.arguments for call in CALLS]
        assert [event.sequence_number for event in events] == list(range(len(events)))
        added = [event.output_index for event in events if event.type == "response.output_item.added"]
        assert added == list(range(len(reply.output)))
    else:
        reply = sdk.responses.create(**asked)
        check_types(reply)
    called = [item for item in reply.output if item.type == "function_call"]
    assert [(item.call_id, item.name, item.arguments) for item in called] == [
        (call.id, call.name, call.arguments) for call in CALLS
    ]
    assert reply.model_extra["store"] is False and reply.tools[0].name == "weather"
    results = [
        {"type": "function_call_output", "call_id": item.call_id, "output": f"{n} degrees"}
        for n, item in enumerate(called, 1)
    ]
    items = [item.model_dump(exclude_none=True) for item in reply.output]
    final = sdk.responses.create(model="mills", input=[*ASKED, *items, *results], tools=[FUNCTION])
    check_types(final)
    assert final.output_text == "It is 1 degrees and 2 degrees."


def test_a_function_that_must_be_called_is_called_or_the_request_fails(sdk: Any, calling: ScriptedServer) -> None:
    choice = {"type": "function", "name": "weather"}
    reply = sdk.responses.create(model="mills", input=COLDER, tools=[FUNCTION], tool_choice=choice)
    assert reply.output[-1].name == "weather" and reply.tool_choice.name == "weather"
    assert calling.bodies[-1]["tool_choice"] == {"type": "function", "function": {"name": "weather"}}
    with pytest.raises(openai.InternalServerError, match="did not call a function"):
        sdk.responses.create(model="mills", input=SOLD, tools=[FUNCTION], tool_choice="required")
    *_, last = sdk.responses.create(model="mills", input=SOLD, tools=[FUNCTION], tool_choice="required", stream=True)
    assert last.type == "response.failed" and "did not call a function" in last.response.error.message
    search = {"type": "file_search", "vector_store_ids": ["mills"]}
    for chosen in ("required", {"type": "file_search"}):  # the search is the call
        reply = sdk.responses.create(model="mills", input=SOLD, tools=[search, FUNCTION], tool_choice=chosen)
        assert reply.output_text == PLAIN


def respond(**more: Any) -> Callable[[Any], Any]:
    return lambda sdk: sdk.responses.create(**{"model": "mills", "input": SOLD} | more)


@pytest.mark.parametrize(
    ("call", "status", "param", "code"),
    [
        (respond(model="none"), 404, "model", "model_not_found"),
        (respond(input=""), 400, "input", "invalid_value"),
        (respond(input=[]), 400, "input", "invalid_value"),
        (respond(input=[{"role": "assistant", "content": "Yes."}]), 400, "input", "invalid_value"),
        (respond(input="x" * 10_001), 400, "input", "string_above_max_length"),
        (respond(input=[{"type": "function_call_output", "call_id": "c", "output": "x"}]), 400, None, None),
        (respond(input=[{"role": "user", "content": [{"type": "input_image", "image_url": "x"}]}]), 400, None, None),
        (respond(input=[{"role": "user", "content": [{"type": "input_file", "file_id": "x"}]}]), 400, None, None),
        (respond(previous_response_id="resp_none"), 400, "previous_response_id", "previous_response_not_found"),
        (respond(previous_response_id="resp_00000000_1"), 400, "previous_response_id", "previous_response_not_found"),
        (respond(tools=[{"type": "function", "parameters": {}}]), 400, "tools[0].name", "missing_required_parameter"),
        (respond(tools=[{"type": "file_search"}]), 400, "tools[0].vector_store_ids", "missing_required_parameter"),
        (respond(tool_choice="required"), 400, "tool_choice", "invalid_value"),
        (respond(tool_choice={"type": "function", "name": "f"}), 400, "tool_choice", "invalid_value"),
        (respond(tools=[FUNCTION], previous_response_id="resp_00000000_1"), 400, "previous_response_id",
         "invalid_value"),
        (respond(input=[*ASKED, {"type": "function_call_output", "call_id": "c", "output": "x"}]), 400, "input",
         "invalid_value"),
        (respond(input=[*ASKED, {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}]), 400,
         "input", "invalid_value"),
        (respond(tools=[{"type": "web_search"}]), 400, "tools[0].type", "invalid_value"),
        (respond(tools=[{"type": "file_search", "vector_store_ids": ["none"]}]), 404, "vector_store_id",
         "vector_store_not_found"),
        (respond(text={"format": {"type": "json_object"}}), 400, "text.format.type", "invalid_value"),
        (respond(background=True), 400, "background", "invalid_value"),
        (respond(conversation="conv_1"), 400, "conversation", "invalid_value"),
        (respond(prompt={"id": "p"}), 400, "prompt", "invalid_value"),
        (respond(temperature=3), 400, "temperature", "invalid_value"),
        (respond(stream="yes"), 400, "stream", "invalid_type"),
        (lambda sdk: sdk.responses.retrieve("resp_none"), 404, "response_id", "not_found"),
        (lambda sdk: sdk.responses.cancel("resp_none"), 404, None, "unknown_url"),
        (lambda sdk: sdk.files.retrieve("none"), 404, "id", "not_found"),
        (lambda sdk: sdk.files.delete("none"), 404, "id", "not_found"),
        (lambda sdk: sdk.vector_stores.files.create("mills", file_id="none"), 404, "id", "not_found"),
        (lambda sdk: sdk.vector_stores.files.retrieve("none", vector_store_id="mills"), 404, "file_id", "not_found"),
        (lambda sdk: sdk.embeddings.create(model="none", input="x"), 404, "model", "model_not_found"),
        (lambda sdk: sdk.embeddings.create(model="hashed:64", input="x", dimensions=3), 400, "dimensions",
         "invalid_value"),
        (lambda sdk: sdk.embeddings.create(model="hashed:64", input=[]), 400, "input", "invalid_value"),
        (lambda sdk: sdk.images.generate(prompt="a mill"), 404, None, "unknown_url"),
        (lambda sdk: sdk.batches.list(), 404, None, "unknown_url"),
        (lambda sdk: sdk.completions.create(model="mills", prompt="a"), 404, None, "unknown_url"),
    ],
)  # fmt: skip
def test_what_is_not_supported_is_refused_in_openais_form(
    sdk: Any, call: Callable[[Any], Any], status: int, param: str | None, code: str | None
) -> None:
    with pytest.raises(openai.APIStatusError) as error:
        call(sdk)
    value = error.value
    assert (value.status_code, value.type) == (status, "invalid_request_error") and value.body["message"]
    if code is not None:
        assert value.code == code
    if param is not None:
        assert value.param == param


def test_nobody_else_reads_a_response(sdk: Any, stranger: Any) -> None:
    reply = sdk.responses.create(model="mills", input=SOLD)
    with pytest.raises(openai.NotFoundError):
        stranger.responses.retrieve(reply.id)
    with pytest.raises(openai.BadRequestError):
        stranger.responses.create(model="other", input=SOLD, previous_response_id=reply.id)
    with pytest.raises(openai.NotFoundError):
        stranger.responses.create(model="mills", input=SOLD)
    names = [item.filename for item in stranger.files.list()]
    assert names == ["ferry.md"] and "mill.md" in {item.filename for item in sdk.files.list()}
    with pytest.raises(openai.PermissionDeniedError):
        stranger.files.create(file=("a.md", b"# A"), purpose="assistants", extra_query={"library": "other"})


def test_files_are_documents_that_can_be_attached(sdk: Any) -> None:
    text = "# The weir\n\nThe weir is 31 metres long.\n"
    file = sdk.files.create(file=("weir.md", text.encode()), purpose="assistants", extra_query={"library": "other"})
    check_types(file)
    assert file.status == "uploaded" and file.filename == "weir.md" and file.bytes == len(text)
    until(lambda: sdk.files.retrieve(file.id).status == "processed")
    shown = sdk.files.retrieve(file.id)
    check_types(shown)
    assert shown.id == file.id and shown.bytes == len(text) and shown.created_at > 1_700_000_000
    assert sdk.files.content(file.id).text == text
    assert file.id in {item.id for item in sdk.files.list(limit=1)}, "over parts of one"
    attached = sdk.vector_stores.files.create_and_poll(file.id, vector_store_id="mills", poll_interval_ms=100)
    check_types(attached)
    assert attached.status == "completed" and attached.vector_store_id == "mills"
    found = sdk.vector_stores.search("mills", query="How long is the weir?")
    assert found.data[0].filename == "weir.md" and "31 metres" in found.data[0].content[0].text
    store = {"vector_store_id": "mills"}
    assert "31 metres" in sdk.vector_stores.files.content(file.id, **store).data[0].text
    assert sdk.vector_stores.files.delete(file.id, **store).id == file.id
    for call in (sdk.vector_stores.files.retrieve, sdk.vector_stores.files.content, sdk.vector_stores.files.delete):
        with pytest.raises(openai.NotFoundError) as refused:
            call(file.id, **store)
        assert refused.value.param == "file_id"
    assert sdk.files.content(file.id).text == text, "the library that it was uploaded to keeps it"
    assert sdk.files.delete(file.id).deleted
    with pytest.raises(openai.NotFoundError):
        sdk.files.retrieve(file.id)


@pytest.mark.parametrize("fields", [{}, {"purpose": ""}, {"purpose": "fine-tune"}, {"purpose": "assistants" * 1000}])
def test_a_file_needs_a_purpose_that_is_served(mills: Serving, fields: dict[str, str]) -> None:
    with mills.client() as client:
        url = f"{mills.url}/v1/files?library=other"
        refused = client.post(url, files={"file": ("a.md", b"# A\n\nText.\n")}, data=fields)
        assert refused.status_code == 400, refused.text
        error = refused.json()["error"]
        assert error["type"] == "invalid_request_error"
        if len(fields.get("purpose", "")) < 1000:
            missing = "missing_required_parameter" if not fields else "invalid_value"
            assert (error["param"], error["code"]) == ("purpose", missing)


def test_files_of_one_name_stay_apart(sdk: Any) -> None:
    made = [
        sdk.files.create(
            file=("same.md", f"# Same {n}\n".encode()), purpose="user_data", extra_query={"library": "other"}
        )
        for n in range(3)
    ]
    assert len({file.id for file in made}) == 3
    until(lambda: all(sdk.files.retrieve(file.id).status == "processed" for file in made))
    assert [sdk.files.content(file.id).text for file in made] == [f"# Same {n}\n" for n in range(3)]


def test_a_file_goes_to_the_default_library_by_itself(sdk: Any) -> None:
    file = sdk.files.create(file=("a/../b.md", b"# B\n\nText.\n"), purpose="assistants")
    until(lambda: sdk.files.retrieve(file.id).status == "processed")
    assert "default" in {store.id for store in sdk.vector_stores.list()}


@pytest.mark.parametrize("form", ["float", "base64", None])
def test_embeddings_are_unit_vectors_in_order(sdk: Any, form: Any) -> None:
    texts = ["the mill", "the ferry", "the mill"]
    reply = sdk.embeddings.create(model="hashed:64", input=texts, **({"encoding_format": form} if form else {}))
    vectors = [item.embedding for item in reply.data]
    if form == "base64":
        assert all(isinstance(vector, str) for vector in vectors)
    else:
        assert [len(vector) for vector in vectors] == [64] * 3 and vectors[0] == vectors[2] != vectors[1]
        assert sum(value**2 for value in vectors[0]) == pytest.approx(1, abs=1e-5)
    assert [item.index for item in reply.data] == [0, 1, 2] and reply.usage.prompt_tokens > 0


@pytest.mark.parametrize("queued", [True, False])
async def test_a_file_is_found_while_its_job_ends(queued: bool) -> None:
    """The job is listed while it runs; once it ended, its document is there, though the first look missed it."""
    library = Library("lib", "mills")
    document = SimpleNamespace(doc_id=usual_id("lib", "upload:a.md"), path="upload:a.md")
    made: list[Any] = []

    async def get(address: str, *, library: str) -> Any:
        if made and address in (document.doc_id, document.path):
            return made[0]
        raise NotFoundError("There is no such document.")

    async def path(address: str, *, library: str) -> str | None:
        if not queued:
            made.append(document)
        return document.path if queued and address in (document.doc_id, document.path) else None

    engine = SimpleNamespace(documents=SimpleNamespace(get=get), jobs=SimpleNamespace(path=path))
    server: Any = SimpleNamespace(engine=engine)
    for address in (document.doc_id, document.path):
        made.clear()
        assert await find_document(server, library, address) == (document.path if queued else document)
    made.clear()
    with pytest.raises(NotFoundError):
        await find_document(server, library, "another")


class Vanishing:
    """Libraries of which one is deleted, or renamed, after it was named."""

    def __init__(self, now: list[Library]) -> None:
        self.now = now
        self.before: list[Library] = [Library("a", "mills"), Library("b", "quays")]

    async def named(self) -> list[Library]:
        now, self.before = self.before, self.now
        return now

    async def list(self, part: str) -> list[Library]:
        return [library for library in self.now if part in library.name]


def request_of(libraries: Vanishing) -> Any:
    server = Server(SimpleNamespace(libraries=libraries), *[None] * 3, Slots(1, 1), *[None] * 5)  # type: ignore[arg-type]
    caller = Caller("c", "c", {EVERYWHERE: "admin"})
    return SimpleNamespace(
        app=SimpleNamespace(state=SimpleNamespace(server=server)), scope={"state": {"caller": caller}}
    )


async def test_a_library_that_goes_between_two_looks_is_not_there_and_one_that_is_renamed_is() -> None:
    mills = Library("a", "mills")
    assert (await find_size(request_of(Vanishing([Library("a", "wheels")])), mills)).name == "wheels"
    with pytest.raises(NotFoundError, match="The library 'mills' does not exist"):
        await find_size(request_of(Vanishing([])), mills)

    async def read(name: str) -> str:
        if name == "mills":
            raise NotFoundError("It was deleted.")
        return name

    assert await read_each(request_of(Vanishing([])), read) == ["quays"]


def test_files_that_come_together_make_their_library_once(tmp_path: Path) -> None:
    with serving(tmp_path) as made, ThreadPoolExecutor(8) as pool, made.client() as client:

        def send(number: int) -> int:
            file = {"file": (f"{number}.md", f"# {number}")}
            return client.post(f"{made.url}/v1/files", files=file, data={"purpose": "assistants"}).status_code

        assert list(pool.map(send, range(8))) == [200] * 8
        until(lambda: len(client.get(f"{made.url}/v1/files").json()["data"]) == 8)
