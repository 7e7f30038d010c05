"""Routes for programs that use OpenAI-compatible chat endpoints. Each library is a model."""

from __future__ import annotations

import json
import re
import threading
import time
import uuid
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal
from urllib.parse import quote

from fastapi import APIRouter, Request
from pydantic import AfterValidator, BaseModel, Field, StrictBool, StrictInt
from starlette.responses import Response

from hybrid_core.errors import PageIndexError
from hybrid_core.llm.chat import Message, ToolCall, Tools
from hybrid_core.types.conversations import Citation
from hybrid_core.types.libraries import Library
from hybrid_core.types.usage import Usage
from hybrid_pageindex.conversations.memory import Exchange
from hybrid_pageindex.conversations.turns import Turn
from hybrid_pageindex.engine.answers.prompt import ToolUse
from hybrid_pageindex.engine.libraries.libraries import LibrarySize
from hybrid_pageindex.http.errors import Fault, Refusal, openai_error, refusal_of
from hybrid_pageindex.http.models import QUESTION, Strict
from hybrid_pageindex.http.prompts import errand_reply, find_question
from hybrid_pageindex.http.replies import (
    EVENT_RESPONSES,
    Event,
    events_of_work,
    json_response,
    stream_events,
    unix_seconds,
)
from hybrid_pageindex.http.responses import CompletionOfOpenAI, ModelOfOpenAI, ModelsOfOpenAI
from hybrid_pageindex.http.server import ServerState, find_openai_library, find_size, readable_libraries

_SOURCE_MARK = re.compile(r"\[\[source:(\d+)\]\]")
_PARTIAL_MARK = re.compile(r"\[(?:\[(?:s(?:o(?:u(?:r(?:c(?:e(?::\d*\]?)?)?)?)?)?)?)?)?$")
_SOURCES_HEADING = "\n\n**Sources**\n"
_PAGE_LINK = re.compile(r"/documents/([^/\s)]+)/pages/(\d+)")
_SOURCE_NUMBER = re.compile(r"\s?\[\d+\]")
_OWNER = "hybrid-pageindex"
completions_router = APIRouter(tags=["openai"])


class Part(BaseModel):
    """A part of a message. Pictures, sound and files are refused instead of being ignored."""

    type: Literal["text", "input_text", "output_text", "refusal"] = "text"
    text: str = ""


FunctionName = Annotated[str, Field(pattern=r"^[a-zA-Z0-9_-]{1,64}$")]
CallId = Annotated[str, Field(min_length=1, max_length=500)]


class Function(Strict):
    """A function of the program that asks. ``parameters`` is a JSON schema."""

    name: FunctionName
    description: str | None = None
    parameters: dict[str, Any] | None = None
    strict: StrictBool | None = None


class FunctionTool(Strict):
    type: Literal["function"]
    function: Function


class CalledFunction(Strict):
    name: FunctionName
    arguments: str


class MessageCall(Strict):
    """A call that the model made."""

    id: CallId
    type: Literal["function"] = "function"
    function: CalledFunction


class NamedFunction(Strict):
    name: FunctionName


class NamedTool(Strict):
    """The choice of one function, which the model must call."""

    type: Literal["function"]
    function: NamedFunction


class Said(Strict):
    """A message of the chat. Other fields that a program sends are ignored.

    A message of the role tool is the result of the call ``tool_call_id``.
    """

    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: str | list[Part] | None = None
    tool_calls: Annotated[list[MessageCall], Field(max_length=1000)] | None = None
    tool_call_id: CallId | None = None

    @property
    def text(self) -> str:
        if isinstance(self.content, list):
            return "\n".join(part.text for part in self.content if part.type in ("text", "input_text"))
        return self.content or ""


class StreamOptions(Strict):
    include_usage: StrictBool = False


class ResponseFormat(BaseModel):
    """The requested form of the answer. Only plain text is supported, because an answer is text with citations."""

    type: Literal["text"]


def _refuse_true(value: bool) -> bool:
    if value:
        raise ValueError("This value is not supported. Leave the field out of the request")
    return value


Off = Annotated[StrictBool, AfterValidator(_refuse_true), Field(json_schema_extra={"const": False})]


class CompletionBody(Strict):
    """A chat request. ``model`` is the name or alias of a library.

    ``temperature``, ``max_tokens`` and similar options are checked but have no effect, because the server's settings
    decide how its model is called. Options that would change the form of the answer are refused. A configured chat
    model may call ``tools``; ``functions`` are never called.
    """

    model: Annotated[str, Field(min_length=1, max_length=200)]
    messages: Annotated[list[Said], Field(min_length=1, max_length=2000)]
    stream: StrictBool | None = False
    stream_options: StreamOptions | None = None
    metadata: dict[str, Any] | None = None
    n: Annotated[StrictInt, Field(ge=1, le=1)] | None = None
    response_format: ResponseFormat | None = None
    tools: Annotated[list[FunctionTool], Field(max_length=128)] | None = None
    tool_choice: Literal["none", "auto", "required"] | NamedTool | None = None
    parallel_tool_calls: StrictBool | None = None
    functions: Annotated[list[dict[str, Any]], Field(max_length=1000)] | None = None
    function_call: Literal["none", "auto"] | None = None
    stop: Annotated[list[str], Field(max_length=0)] | None = None
    logprobs: Annotated[StrictBool, AfterValidator(_refuse_true), Field(json_schema_extra={"const": False})] | None = (
        None
    )
    modalities: list[Literal["text"]] | None = None
    audio: None = None
    web_search_options: None = None
    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    top_p: Annotated[float, Field(ge=0, le=1)] | None = None
    presence_penalty: Annotated[float, Field(ge=-2, le=2)] | None = None
    frequency_penalty: Annotated[float, Field(ge=-2, le=2)] | None = None
    max_tokens: Annotated[int, Field(ge=1)] | None = None
    max_completion_tokens: Annotated[int, Field(ge=1)] | None = None
    seed: int | None = None
    user: str | None = None


@dataclass(frozen=True, slots=True)
class ChatQuestion:
    """The last question of a chat, and the exchanges before it. ``turns`` are calls and their results after it."""

    question: str
    exchanges: tuple[Exchange, ...]
    turns: tuple[Message, ...] = ()


@dataclass(frozen=True, slots=True)
class ChatMessage:
    role: str
    text: str
    calls: tuple[ToolCall, ...] = ()
    call: str | None = None


def read_chat(messages: Sequence[ChatMessage], parameter: str) -> ChatQuestion:
    """Return the question of a chat with the exchanges before it.

    Raise Refusal if the last message is neither a text by the user nor the result of a call. ``parameter`` is the name
    of the messages in the request.
    """
    questions = [at for at, message in enumerate(messages) if message.role == "user" and message.text.strip()]
    end = questions[-1] + 1 if questions else 0
    following = [message for message in messages[end:] if message.role == "tool" or message.calls]
    spoken = [message for message in messages[:end] if message.role in ("user", "assistant") and message.text.strip()]
    if not questions or any(m.role == "assistant" and m.text.strip() and not m.calls for m in messages[end:]):
        raise _bad_messages(
            parameter,
            "invalid_value",
            "The last message is not a question from the user.",
            "Send a message with the role user last.",
        )
    text = find_question(spoken[-1].text)
    if len(text) > QUESTION:
        advice = "Upload documents to the library instead of sending them with the question."
        why = f"The question has {len(text):,} characters; at most {QUESTION:,} are allowed."
        raise _bad_messages(parameter, "string_above_max_length", why, advice)
    exchanges, question = list[Exchange](), ""
    for turn in spoken[:-1]:
        if turn.role == "user":
            question = find_question(turn.text)
        elif question:
            exchanges.append(_read_exchange(question, turn.text))
            question = ""
    return ChatQuestion(text, tuple(exchanges), _read_calls(following, parameter))


def _read_calls(messages: Sequence[ChatMessage], parameter: str) -> tuple[Message, ...]:
    """Return the calls of functions after a question, with their results.

    Raise Refusal if a call has no result, or a result no call.
    """
    turns, waiting = list[Message](), set[str]()
    for message in messages:
        if message.calls:
            if waiting:
                break
            waiting = {call.id for call in message.calls}
            turns.append(Message("assistant", message.text, calls=message.calls))
        elif message.call in waiting:
            waiting.discard(message.call)
            turns.append(Message("tool", message.text, call=message.call))
        else:
            why = f"A message of the role tool has no call: {message.call or 'its tool_call_id is missing'}."
            raise _bad_messages(
                parameter, "invalid_value", why, "Send the assistant's message with the call before it."
            )
    if waiting:
        why = f"These calls have no result: {', '.join(sorted(waiting))}."
        raise _bad_messages(parameter, "invalid_value", why, "Send a message of the role tool for each call.")
    return tuple(turns)


def read_tools(tools: Tools, turns: tuple[Message, ...], parameter: str, *, has_model: bool) -> ToolUse | None:
    """Return the functions for the model, None if it needs none.

    Raise Refusal if a call is demanded that nothing can make. ``parameter`` is the name of the messages.
    """
    names = {function["name"] for function in tools.functions}
    if tools.demanded and (not names or tools.named not in {"", *names}):
        why = (
            f"The function '{tools.named}' is not in 'tools'." if tools.named else "There are no functions in 'tools'."
        )
        raise _bad_messages("tool_choice", "invalid_value", why, "Describe the function in 'tools'.")
    if not has_model and (tools.demanded or turns):
        what, name = ("call a function", "tool_choice") if tools.demanded else ("read results of functions", parameter)
        why = f"The server has no chat model that could {what}."
        raise _bad_messages(name, "invalid_value", why, "Set llm_model on the server, or ask without functions.")
    return ToolUse(tools, turns) if has_model and (turns or (names and tools.choice != "none")) else None


def check_demanded(use: ToolUse | None, turn: Turn) -> None:
    """Raise Refusal if the model did not make a demanded call."""
    if use is not None and use.tools.demanded and not use.calls:
        why = turn.answer.why or "It answered instead."
        raise Refusal(502, "model_failed", f"The model did not call a function. {why}", "Choose another model.")


def _bad_messages(parameter: str, code: str, message: str, advice: str) -> Refusal:
    return Refusal(400, code, message, advice, faults=[Fault(parameter, "body", message)])


def _read_exchange(question: str, answer: str) -> Exchange:
    """Return an exchange from a question and an earlier answer of this server, with the cited pages and without
    citation marks.
    """
    text, _, sources = answer.partition(_SOURCES_HEADING)
    pages = tuple((doc, int(page)) for doc, page in _PAGE_LINK.findall(sources))
    return Exchange(question, _SOURCE_NUMBER.sub("", text), question, pages)


class MarkRewriter:
    """A filter that rewrites citation marks from ``[[source:3]]`` to ``[3]`` in a streamed answer.

    It holds back an incomplete mark until its end arrives.
    """

    def __init__(self, tell: Callable[[str], None]) -> None:
        self._tell, self._held = tell, ""

    def __call__(self, piece: str) -> None:
        text = _SOURCE_MARK.sub(r"[\1]", self._held + piece)
        begun = _PARTIAL_MARK.search(text)
        self._held = begun[0] if begun else ""
        if shown := text[: len(text) - len(self._held)]:
            self._tell(shown)

    def end(self) -> None:
        if self._held:
            self._tell(self._held)
            self._held = ""


def rewrite_marks(text: str) -> str:
    return _SOURCE_MARK.sub(r"[\1]", text)


@dataclass(frozen=True, slots=True)
class CitedSources:
    """The sources that an answer cites, as a Markdown list for readers and as JSON for programs."""

    cited: Sequence[Citation]
    names: dict[str, str] = field(default_factory=dict)
    base: str = ""

    @property
    def listed(self) -> str:
        """Return the sources as a Markdown list, "" if none is cited."""
        lines = [
            f"[{citation.number}] [{_source_label(citation)}]({self._link(citation)}) {_source_path(citation)}".rstrip()
            for citation in self.cited
        ]
        return f"{_SOURCES_HEADING}\n" + "  \n".join(lines) if lines else ""

    def annotations(self, text: str) -> list[dict[str, Any]]:
        """Return OpenAI's URL annotations: the positions of citations in the text, each with the
        address of the page.
        """
        by_number = {citation.number: citation for citation in self.cited}
        body = text.partition(_SOURCES_HEADING)[0]
        return [
            {
                "type": "url_citation",
                "url_citation": {
                    "start_index": match.start(), "end_index": match.end(), "url": self._link(by_number[int(match[1])]),
                    "title": _source_label(by_number[int(match[1])]),
                },
            }
            for match in re.finditer(r"\[(\d+)\]", body)
            if int(match[1]) in by_number
        ]  # fmt: skip

    def shapes(self) -> list[dict[str, Any]]:
        return [
            {
                "number": citation.number, "library": self.names.get(citation.library, citation.library),
                "doc_id": citation.doc_id, "doc_name": citation.doc_name, "page": citation.page,
                "label": citation.label, "section_path": list(citation.section_path),
                "quote": citation.quote, "url": self._link(citation),
            }
            for citation in self.cited
        ]  # fmt: skip

    def _link(self, citation: Citation) -> str:
        library = quote(self.names.get(citation.library, citation.library), safe="")
        document = f"{self.base}/api/v1/libraries/{library}/documents/{quote(citation.doc_id, safe='')}"
        return f"{document}/pages/{citation.page}/picture"


def _source_label(citation: Citation) -> str:
    label = f" ({citation.label})" if citation.label and citation.label != str(citation.page) else ""
    return re.sub(r"([\[\]\\])", r"\\\1", f"{citation.doc_name}, page {citation.page}{label}")


def _source_path(citation: Citation) -> str:
    return " › ".join(citation.section_path).replace("[", "\\[")


@dataclass(frozen=True, slots=True)
class Completion:
    """The id, model and time of a chat completion, which all its events share."""

    model: str
    id: str = field(default_factory=lambda: f"chatcmpl-{uuid.uuid4().hex}")
    created: int = field(default_factory=lambda: int(time.time()))

    def whole(self, text: str, usage: Usage, **more: Any) -> dict[str, Any]:
        sources = more.pop("sources", None)
        calls = more.get("tool_calls")
        message = {"role": "assistant", "content": text or None if calls else text, "refusal": None, **more}
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": "tool_calls" if calls else "stop"}
        shape = self._frame("chat.completion") | {"choices": [choice], "usage": _usage_payload(usage)}
        return shape if sources is None else shape | {"sources": sources}

    def piece(self, finish: str | None = None, sources: Any = None, **delta: Any) -> Chunk:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        shape = self._frame("chat.completion.chunk") | {"choices": [choice]}
        return Chunk("", shape if sources is None else shape | {"sources": sources})

    def spent(self, usage: Usage) -> Chunk:
        return Chunk("", self._frame("chat.completion.chunk") | {"choices": [], "usage": _usage_payload(usage)})

    def _frame(self, kind: str) -> dict[str, Any]:
        return {"id": self.id, "object": kind, "created": self.created, "model": self.model}


@dataclass(frozen=True, slots=True)
class Chunk(Event):
    """A server-sent event without an event name, as OpenAI's clients expect."""

    def encoded(self) -> bytes:
        text = self.data if isinstance(self.data, str) else json.dumps(self.data, ensure_ascii=False)
        return f"data: {text}\n\n".encode("utf-8", "replace")


DONE_CHUNK = Chunk("", "[DONE]")


def _usage_payload(usage: Usage) -> dict[str, int]:
    prompt, completion = usage.input_tokens, usage.output_tokens
    return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}


@completions_router.get("/models", response_model=ModelsOfOpenAI)
async def list_models(request: Request, server: ServerState) -> Response:
    """List the libraries that the caller may read, as models."""
    readable = {library.id for library in await readable_libraries(request)}
    sizes = await server.run_within(server.reads, server.engine.libraries.list())
    return json_response({"object": "list", "data": [_model_payload(size) for size in sizes if size.id in readable]})


@completions_router.get("/models/{model:path}", response_model=ModelOfOpenAI)
async def show_model(request: Request, model: str) -> Response:
    return json_response(_model_payload(await find_size(request, await find_model_library(request, model))))


@completions_router.post("/chat/completions", responses=EVENT_RESPONSES, response_model=CompletionOfOpenAI)
async def complete_chat(request: Request, server: ServerState, body: CompletionBody) -> Response:
    """Answer the last message of a chat. The messages are the whole conversation; the server stores none of them."""
    library = await find_model_library(request, body.model)
    reply = Completion(library.name)
    if (done := _find_errand(body)) is not None:
        return (
            stream_events(server, _short_reply_events(reply, body, done), resumed=False)
            if body.stream
            else json_response(reply.whole(done, Usage()))
        )
    question, base = _read_messages(body), str(request.base_url).rstrip("/")
    use = read_tools(_tools(body), question.turns, "messages", has_model=server.engine.conversations.has_model)
    stopped = threading.Event()

    async def turn(tell: Callable[[str], None]) -> tuple[Turn, CitedSources]:
        work = server.engine.conversations.reply(
            question.question, question.exchanges, libraries=[library.name], on_text=tell, stopped=stopped, tools=use
        )
        answered = await server.run_within(server.answers, work)
        check_demanded(use, answered)
        cited = [citation for citation in answered.citations if citation.cited]
        return answered, CitedSources(cited, {library.id: library.name}, base)

    if not body.stream:
        complete, sources = await turn(lambda _: None)
        text = rewrite_marks(complete.text) + sources.listed
        calls = {"tool_calls": list(map(_call_payload, use.calls))} if use and use.calls else {}
        whole = reply.whole(
            text, complete.answer.usage, annotations=sources.annotations(text), sources=sources.shapes(), **calls
        )
        return json_response(whole)

    async def work(tell: Callable[[Event], None]) -> Event:
        tell(reply.piece(role="assistant", content=""))
        marks = MarkRewriter(lambda text: tell(reply.piece(content=text)))
        answered, sources = await turn(marks)
        marks.end()
        if sources.listed:
            tell(reply.piece(content=sources.listed))
        annotations = sources.annotations(rewrite_marks(answered.text))
        calls = use.calls if use else []
        for at, call in enumerate(calls):
            tell(reply.piece(tool_calls=[{"index": at, **_call_payload(call)}]))
        tell(
            reply.piece(
                "tool_calls" if calls else "stop",
                sources.shapes(),
                **({"annotations": annotations} if annotations else {}),
            )
        )
        if body.stream_options and body.stream_options.include_usage:
            tell(reply.spent(answered.answer.usage))
        return DONE_CHUNK

    events = stop_when_left(_with_errors(events_of_work(work)), stopped)
    return stream_events(server, events, resumed=False)


async def _with_errors(source: AsyncIterator[Event]) -> AsyncIterator[Event]:
    """Yield the events of a completion. Report an error in the form that OpenAI's clients expect in a stream."""
    try:
        async for event in source:
            yield event
    except (PageIndexError, Refusal) as error:
        yield Chunk("", openai_error(error if isinstance(error, Refusal) else refusal_of(error)))


def _read_messages(body: CompletionBody) -> ChatQuestion:
    messages = [
        ChatMessage(
            message.role, message.text,
            tuple(ToolCall(call.id, call.function.name, call.function.arguments) for call in message.tool_calls or ()),
            message.tool_call_id,
        )
        for message in body.messages
    ]  # fmt: skip
    return read_chat(messages, "messages")


def _tools(body: CompletionBody) -> Tools:
    functions = tuple(tool.function.model_dump(exclude_none=True) for tool in body.tools or ())
    if isinstance(body.tool_choice, NamedTool):
        return Tools(functions, named=body.tool_choice.function.name, parallel=body.parallel_tool_calls)
    return Tools(functions, body.tool_choice or "auto", parallel=body.parallel_tool_calls)


def _call_payload(call: ToolCall) -> Mapping[str, Any]:
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}


def _find_errand(body: CompletionBody) -> str | None:
    if _tools(body).demanded:
        return None
    users, systems = (
        [message.text for message in body.messages if message.role in roles]
        for roles in (("user",), ("system", "developer"))
    )
    return errand_reply(users, systems, body.metadata)


async def find_model_library(request: Request, name: str) -> Library:
    """Return the library that a model name means.

    Raise Refusal in OpenAI's wording if the library is unknown or may not be read.
    """
    detail = f"The model '{name[:200]}' does not exist, or you do not have access to it."
    return await find_openai_library(request, name, "model_not_found", detail, ("model", "body"))


async def stop_when_left(source: AsyncIterator[Event], stopped: threading.Event) -> AsyncIterator[Event]:
    """Yield the events of an answer, and stop the model when the client disconnects."""
    try:
        async for event in source:
            yield event
    finally:
        stopped.set()


async def _short_reply_events(reply: Completion, body: CompletionBody, text: str) -> AsyncIterator[Event]:
    yield reply.piece(role="assistant", content=text)
    yield reply.piece("stop")
    if body.stream_options and body.stream_options.include_usage:
        yield reply.spent(Usage())
    yield DONE_CHUNK


def _model_payload(size: LibrarySize) -> dict[str, object]:
    """Return a library as OpenAI's model object. ``created`` is the time of the last change of its documents."""
    shape = {"id": size.name, "object": "model", "created": unix_seconds(size.changed_at), "owned_by": _OWNER}
    return shape | {"name": size.alias or size.name}
