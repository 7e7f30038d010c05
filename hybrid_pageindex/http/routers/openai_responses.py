"""Routes of OpenAI's Responses API. A response is an answer in a conversation, so a later response can continue it."""

from __future__ import annotations

import asyncio
import re
import threading
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Request
from fastapi import Path as PathParam
from pydantic import BaseModel, Field, StrictBool
from starlette.responses import Response

from hybrid_core.errors import NotFoundError, PageIndexError
from hybrid_core.llm.chat import ToolCall, Tools
from hybrid_core.types.conversations import Citation, ConversationMessage
from hybrid_core.types.libraries import Library
from hybrid_pageindex.conversations.memory import Exchange
from hybrid_pageindex.http.errors import Fault, Refusal
from hybrid_pageindex.http.models import Strict
from hybrid_pageindex.http.replies import EVENT_RESPONSES, Event, json_response, stream_events
from hybrid_pageindex.http.routers.completions import (
    CallId,
    ChatMessage,
    Function,
    FunctionName,
    MarkRewriter,
    Off,
    check_demanded,
    find_model_library,
    read_chat,
    read_tools,
    rewrite_marks,
    stop_when_left,
)
from hybrid_pageindex.http.routers.conversations import begin_answer, find_own_conversation, owner_of
from hybrid_pageindex.http.routers.vector_stores import bad_parameter, find_store_library
from hybrid_pageindex.http.server import Server, ServerState, caller_of, readable_libraries

router = APIRouter(prefix="/responses", tags=["openai"])
ResponseId = Annotated[str, PathParam(max_length=100)]
_ID = re.compile(r"resp_([0-9a-f]{8,64})_([1-9]\d{0,14})", re.ASCII)
_MARK = re.compile(r"\[(\d+)\]")
_STATUSES = {"complete": "completed", "running": "in_progress", "cancelled": "cancelled"}


class InputPart(BaseModel):
    """Text of a message. Pictures and files are refused instead of being ignored."""

    type: Literal["input_text", "output_text", "text", "refusal"] = "input_text"
    text: str = ""


class InputMessage(BaseModel):
    type: Literal["message"] = "message"
    role: Literal["user", "assistant", "system", "developer"]
    content: str | list[InputPart]


class CallItem(BaseModel):
    """A call that the model made in an earlier response."""

    type: Literal["function_call"]
    call_id: CallId
    name: FunctionName
    arguments: str


class CallResult(BaseModel):
    """The result of a call."""

    type: Literal["function_call_output"]
    call_id: CallId
    output: str | list[InputPart]


class OwnItem(BaseModel):
    """An output item of an earlier response that the client sends back. It is ignored."""

    type: Literal["file_search_call", "reasoning"]


class FileSearchTool(BaseModel):
    """A file search tool, which searches these libraries. ``max_num_results`` is checked but has no effect."""

    type: Literal["file_search"]
    vector_store_ids: Annotated[list[str], Field(min_length=1, max_length=20)]
    max_num_results: Annotated[int, Field(ge=1, le=50)] | None = None
    filters: None = None
    ranking_options: dict[str, Any] | None = None


class FunctionTool(Function):
    """A function of the program that asks. A configured chat model may call it."""

    type: Literal["function"]


class NamedTool(BaseModel):
    """The choice of one function, which the model must call."""

    type: Literal["function"]
    name: FunctionName


class SearchChoice(BaseModel):
    """The choice of the search, which every response makes."""

    type: Literal["file_search"]


class TextFormat(BaseModel):
    type: Literal["text"] = "text"


class TextOptions(BaseModel):
    format: TextFormat | None = None
    verbosity: Literal["low", "medium", "high"] | None = None


class ResponseBody(Strict):
    """A request for a response. ``model`` is the name or alias of a library. Options that would change the form of the
    answer are refused. Responses to requests with functions are not stored.
    """

    model: Annotated[str, Field(min_length=1, max_length=200)]
    input: str | Annotated[list[InputMessage | CallItem | CallResult | OwnItem], Field(min_length=1, max_length=2000)]
    previous_response_id: Annotated[str, Field(max_length=100)] | None = None
    stream: StrictBool | None = False
    store: StrictBool | None = True
    include: list[
        Literal["file_search_call.results", "message.output_text.logprobs", "reasoning.encrypted_content"]
    ] | (None) = None
    tools: Annotated[list[FileSearchTool | FunctionTool], Field(max_length=128)] | None = None
    tool_choice: Literal["none", "auto", "required"] | NamedTool | SearchChoice | None = None
    text: TextOptions | None = None
    instructions: str | None = None
    metadata: dict[str, str] | None = None
    background: Off | None = None
    conversation: None = None
    prompt: None = None
    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    top_p: Annotated[float, Field(ge=0, le=1)] | None = None
    max_output_tokens: Annotated[int, Field(ge=16)] | None = None
    parallel_tool_calls: StrictBool | None = None
    truncation: Literal["auto", "disabled"] | None = None
    user: str | None = None


@dataclass(frozen=True, slots=True)
class _Answered:
    """An answer with citations as marks like ``[1]``, or ``calls`` of functions with a text that may be empty.

    ``error`` is the reason if there is no answer, else "".
    """

    text: str
    citations: Sequence[Citation]
    usage: Mapping[str, Any] = field(default_factory=dict)
    queries: Sequence[str] = ()
    status: str = "completed"
    error: str = ""
    calls: Sequence[ToolCall] = ()


@dataclass(frozen=True, slots=True)
class _Frame:
    """The fields of a response that are known before the answer is written."""

    id: str
    model: str
    created: float
    previous: str | None = None
    stored: bool = True
    results: bool = False
    fields: Mapping[str, Any] = field(default_factory=dict)

    def payload(self, answer: _Answered | None) -> dict[str, Any]:
        """Return the response as JSON. Without an ``answer`` it is in progress and has no output."""
        status = answer.status if answer else "in_progress"
        error = {"code": "server_error", "message": answer.error} if answer and answer.error else None
        output = [] if answer is None or error else [self.search_item(answer)]
        if answer is not None and output:
            output += [self.message(answer)] if answer.text or not answer.calls else []
            output += [self.call_item(number, call) for number, call in enumerate(answer.calls)]
        return {
            "id": self.id, "object": "response", "created_at": self.created, "status": status, "error": error,
            "incomplete_details": None, "instructions": None, "metadata": {}, "model": self.model, "output": output,
            "parallel_tool_calls": False, "temperature": None, "tool_choice": "auto", "tools": [], "top_p": None,
            "previous_response_id": self.previous, "store": self.stored, "background": False, "truncation": "disabled",
            "text": {"format": {"type": "text"}}, "max_output_tokens": None, "user": None,
            "usage": _usage(answer.usage) if answer and not error else None, **self.fields,
        }  # fmt: skip

    def search_item(self, answer: _Answered | None) -> dict[str, Any]:
        item: dict[str, Any] = {"id": f"fs_{self.id[5:]}", "type": "file_search_call", "queries": [], "results": None}
        if answer is None:
            return item | {"status": "in_progress"}
        results = [_search_result(citation) for citation in answer.citations] if self.results else None
        return item | {"status": "completed", "queries": [*answer.queries], "results": results}

    def message(self, answer: _Answered | None) -> dict[str, Any]:
        content = [] if answer is None else [output_part(answer.text, _annotations(answer))]
        status = "in_progress" if answer is None else "completed"
        return {
            "id": f"msg_{self.id[5:]}", "type": "message", "role": "assistant", "status": status, "content": content,
        }  # fmt: skip

    def call_item(self, number: int, call: ToolCall, *, done: bool = True) -> dict[str, Any]:
        return {
            "id": f"fc_{self.id[5:]}_{number}", "type": "function_call", "call_id": call.id, "name": call.name,
            "arguments": call.arguments if done else "", "status": "completed" if done else "in_progress",
        }  # fmt: skip


def output_part(text: str, annotations: Sequence[Mapping[str, Any]] = ()) -> dict[str, Any]:
    return {"type": "output_text", "text": text, "annotations": [*annotations], "logprobs": []}


def _search_result(citation: Citation) -> dict[str, Any]:
    attributes = {"page": citation.page, "section": " › ".join(citation.section_path)}
    return {
        "file_id": citation.doc_id, "filename": citation.doc_name, "text": citation.quote, "attributes": attributes,
        "score": None,
    }  # fmt: skip


def _annotations(answer: _Answered) -> list[dict[str, Any]]:
    """Return OpenAI's file citations in the text; ``index`` is the position of the citation mark."""
    cited = {citation.number: citation for citation in answer.citations if citation.cited}
    return [
        {
            "type": "file_citation", "index": match.start(), "file_id": cited[int(match[1])].doc_id,
            "filename": cited[int(match[1])].doc_name,
        }
        for match in _MARK.finditer(answer.text)
        if int(match[1]) in cited
    ]  # fmt: skip


def _usage(usage: Mapping[str, Any]) -> dict[str, Any]:
    prompt, completion = int(usage.get("input_tokens") or 0), int(usage.get("output_tokens") or 0)
    return {
        "input_tokens": prompt, "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
        "output_tokens": completion, "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": prompt + completion,
    }  # fmt: skip


@router.post("", responses=EVENT_RESPONSES, response_model=dict[str, Any])
async def create_response(request: Request, server: ServerState, body: ResponseBody) -> Response:
    """Answer a question. The response is stored, unless ``store`` is false or the request contains functions or earlier
    messages. A stored response can be continued with ``previous_response_id``.
    """
    library = await find_model_library(request, body.model)
    libraries = await _searched_libraries(request, body, library)
    messages = _chat_messages(body)
    chat = read_chat(messages, "input")
    results = "file_search_call.results" in (body.include or ())
    tools = [tool.model_dump() for tool in body.tools or ()]
    functions = _tools(body)
    use = read_tools(functions, chat.turns, "input", has_model=server.engine.conversations.has_model)
    fields: dict[str, Any] = {"metadata": body.metadata or {}, "instructions": body.instructions, "tools": tools}
    if body.tool_choice is not None:
        fields["tool_choice"] = body.tool_choice if isinstance(body.tool_choice, str) else body.tool_choice.model_dump()
    if use is not None and body.previous_response_id is not None:
        detail = "Send the earlier messages in input, because responses with functions are not stored"
        raise bad_parameter("previous_response_id", detail)
    frame = _Frame("", library.name, time.time(), body.previous_response_id, True, results, fields)
    if body.previous_response_id is None and (chat.exchanges or body.store is False or use is not None):
        frame = replace(frame, id=f"resp_{uuid.uuid4().hex}", stored=False)
        stopped = threading.Event()

        async def answer(tell: Callable[[str], None]) -> _Answered:
            names = [item.name for item in libraries]
            work = server.engine.conversations.reply(
                chat.question, chat.exchanges, libraries=names, on_text=tell, stopped=stopped, tools=use
            )
            turn = await server.run_within(server.answers, work)
            check_demanded(use, turn)
            calls = tuple(use.calls) if use else ()
            usage = asdict(turn.answer.usage)
            return _Answered(rewrite_marks(turn.text), turn.citations, usage, (turn.searched,), calls=calls)

        if body.stream:
            return stream_events(server, stop_when_left(_events(frame, answer), stopped), resumed=False)
        return json_response(frame.payload(await answer(lambda _: None)))
    message = await _begin_stored(request, server, body, libraries, chat.question, chat.exchanges)
    frame = replace(frame, id=f"resp_{message.conversation}_{message.id}")

    async def follow(tell: Callable[[str], None]) -> _Answered:
        async for event in server.engine.conversations.stream(message.id, 0):
            if event.kind == "text":
                tell(str(event.detail.get("text", "")))
        return _stored_answer(await server.engine.conversations.wait(message.id))

    if body.stream:
        return stream_events(server, _events(frame, follow), resumed=False)
    return json_response(frame.payload(_stored_answer(await server.engine.conversations.wait(message.id))))


@router.get("/{response}", response_model=dict[str, Any])
async def show_response(request: Request, server: ServerState, response: ResponseId) -> Response:
    """Return a stored response, also while it is being written."""
    message = await _find_response(request, server, response)
    _, previous = await _question_of(server, message)
    conversation = await server.engine.conversations.get(message.conversation)
    names = {item.id: item.name for item in await readable_libraries(request)}
    model = next((names[item] for item in conversation.scope.libraries if item in names), "")
    frame = _Frame(response, model, message.created_at / 1000, previous)
    return json_response(frame.payload(None if message.status == "running" else _stored_answer(message)))


@router.get("/{response}/input_items", response_model=dict[str, Any])
async def list_input_items(request: Request, server: ServerState, response: ResponseId) -> Response:
    """List the message that a stored response answers."""
    question, _ = await _question_of(server, await _find_response(request, server, response))
    content = [{"type": "input_text", "text": question.text}]
    item = {"id": f"msg_{question.id}", "type": "message", "role": "user", "status": "completed", "content": content}
    return json_response(
        {"object": "list", "data": [item], "first_id": item["id"], "last_id": item["id"], "has_more": False}
    )


async def _begin_stored(
    request: Request, server: Server, body: ResponseBody, libraries: Sequence[Library], question: str,
    exchanges: Sequence[Exchange],
) -> ConversationMessage:  # fmt: skip
    conversations = server.engine.conversations
    if body.previous_response_id is None:
        talk = await conversations.create(
            libraries=[item.name for item in libraries], owner=owner_of(caller_of(request))
        )
        return await begin_answer(server, lambda: conversations.ask(talk.id, question))
    if exchanges:
        raise bad_parameter(
            "previous_response_id", "Send only the new message, because the server has stored the earlier ones"
        )
    try:
        previous = await _find_response(request, server, body.previous_response_id)
    except Refusal as error:
        detail = f"Previous response with id '{body.previous_response_id}' not found."
        raise Refusal(
            400, "previous_response_not_found", detail, faults=[Fault("previous_response_id", "body", detail)]
        ) from error
    scope = (await conversations.get(previous.conversation)).scope.libraries
    if {item.id for item in libraries} != set(scope):
        raise bad_parameter("model", "The previous response is about another library")
    return await begin_answer(server, lambda: conversations.ask(previous.conversation, question, after=previous.id))


async def _find_response(request: Request, server: Server, response: str) -> ConversationMessage:
    """Return the message with the answer of a response. Raise Refusal if it is unknown or belongs to another user."""
    detail = f"Response with id '{response[:100]}' not found."
    missing = Refusal(404, "not_found", detail, faults=[Fault("response_id", "path", detail)])
    match = _ID.fullmatch(response)
    if match is None:
        raise missing
    try:
        await find_own_conversation(request, server, match[1])
        message = await server.engine.conversations.message(int(match[2]))
    except NotFoundError:
        raise missing from None
    if message.conversation != match[1] or message.role != "assistant":
        raise missing
    return message


async def _question_of(server: Server, answer: ConversationMessage) -> tuple[ConversationMessage, str | None]:
    """Return the question that an answer belongs to, and the id of the previous response, None if there is none."""
    question = await server.engine.conversations.message(answer.parent)
    return question, f"resp_{answer.conversation}_{question.parent}" if question.parent else None


def _stored_answer(message: ConversationMessage) -> _Answered:
    status = _STATUSES.get(message.status, "failed")
    error = "" if status == "completed" else message.cause or "The answer was not completed."
    queries = (message.searched,) if message.searched else ()
    return _Answered(rewrite_marks(message.text), message.citations, message.result.usage, queries, status, error)


async def _searched_libraries(request: Request, body: ResponseBody, library: Library) -> list[Library]:
    """Return the libraries named by the file search tool, else the library that the model names."""
    searches = [tool for tool in body.tools or () if isinstance(tool, FileSearchTool)]
    names = [name for tool in searches for name in tool.vector_store_ids]
    libraries = [await find_store_library(request, name) for name in dict.fromkeys(names)]
    return libraries or [library]


def _chat_messages(body: ResponseBody) -> list[ChatMessage]:
    if isinstance(body.input, str):
        return [ChatMessage("user", body.input)]
    messages = list[ChatMessage]()
    for item in body.input:
        if isinstance(item, InputMessage):
            messages.append(ChatMessage(item.role, _text(item.content)))
        elif isinstance(item, CallResult):
            messages.append(ChatMessage("tool", _text(item.output), call=item.call_id))
        elif isinstance(item, CallItem):
            call, last = ToolCall(item.call_id, item.name, item.arguments), messages[-1] if messages else None
            if last is not None and last.role == "assistant":  # calls of one reply are items of their own
                messages[-1] = replace(last, calls=(*last.calls, call))
            else:
                messages.append(ChatMessage("assistant", "", (call,)))
    return messages


def _text(content: str | list[InputPart]) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(part.text for part in content if part.type != "refusal")


def _tools(body: ResponseBody) -> Tools:
    functions = tuple(
        tool.model_dump(exclude={"type"}, exclude_none=True)
        for tool in body.tools or ()
        if isinstance(tool, FunctionTool)
    )
    choice, parallel = body.tool_choice, body.parallel_tool_calls
    if isinstance(choice, NamedTool):
        return Tools(functions, named=choice.name, parallel=parallel)
    if isinstance(choice, SearchChoice) or len(functions) < len(body.tools or ()):  # the search is the required call
        return Tools(functions, "none" if choice == "none" else "auto", parallel=parallel)
    return Tools(functions, choice or "auto", parallel=parallel)


class _Sequence:
    """A counter that numbers the events of a stream."""

    def __init__(self) -> None:
        self._number = -1

    def __call__(self, kind: str, **fields: Any) -> Event:
        self._number += 1
        return Event(kind, {"type": kind, "sequence_number": self._number, **fields})


async def _events(
    frame: _Frame, answer: Callable[[Callable[[str], None]], Awaitable[_Answered]]
) -> AsyncIterator[Event]:
    """Yield the events of a response in OpenAI's order: search, pieces of the message, complete response."""
    event, at, loop = _Sequence(), {"item_id": frame.message(None)["id"], "output_index": 1}, asyncio.get_running_loop()
    pieces: asyncio.Queue[str | None] = asyncio.Queue()
    part = at | {"content_index": 0}
    yield event("response.created", response=frame.payload(None))
    yield event("response.in_progress", response=frame.payload(None))
    yield event("response.output_item.added", output_index=0, item=frame.search_item(None))
    search = {"item_id": frame.search_item(None)["id"], "output_index": 0}
    yield event("response.file_search_call.in_progress", **search)
    yield event("response.file_search_call.searching", **search)
    marks = MarkRewriter(pieces.put_nowait)

    def tell(text: str) -> None:
        loop.call_soon_threadsafe(marks, text)

    work = asyncio.ensure_future(answer(tell))
    work.add_done_callback(lambda _: loop.call_soon(pieces.put_nowait, None))
    begun = ""
    try:
        while (piece := await pieces.get()) is not None:
            if not begun:
                for opening in _open_message(event, frame, search, part):
                    yield opening
            begun += piece
            yield event("response.output_text.delta", **part, delta=piece, logprobs=[])
        complete = await work
    except (PageIndexError, Refusal) as error:
        complete = _Answered("", (), status="failed", error=str(error))
    finally:
        work.cancel()
    if complete.error:
        yield event("response.failed", response=frame.payload(complete))
        return
    if complete.calls and not begun:
        yield event("response.file_search_call.completed", **search)
        yield event("response.output_item.done", output_index=0, item=frame.search_item(complete))
        for closing in _call_events(event, frame, complete, 1):
            yield closing
        return
    if not begun:
        for opening in _open_message(event, frame, search, part):
            yield opening
    if remaining := complete.text.removeprefix(begun) if complete.text.startswith(begun) else "":
        yield event("response.output_text.delta", **part, delta=remaining, logprobs=[])
    for closing in _close_message(event, frame, complete, part):
        yield closing


def _open_message(event: _Sequence, frame: _Frame, search: Any, part: Any) -> list[Event]:
    return [
        event("response.file_search_call.completed", **search),
        event("response.output_item.added", output_index=1, item=frame.message(None)),
        event("response.content_part.added", **part, part=output_part("")),
    ]


def _close_message(event: _Sequence, frame: _Frame, answer: _Answered, part: Any) -> list[Event]:
    notes = _annotations(answer)
    return [
        *(
            event("response.output_text.annotation.added", **part, annotation_index=number, annotation=note)
            for number, note in enumerate(notes)
        ),
        event("response.output_text.done", **part, text=answer.text, logprobs=[]),
        event("response.content_part.done", **part, part=output_part(answer.text, notes)),
        event("response.output_item.done", output_index=0, item=frame.search_item(answer)),
        event("response.output_item.done", output_index=1, item=frame.message(answer)),
        *_call_events(event, frame, answer, 2),
    ]


def _call_events(event: _Sequence, frame: _Frame, answer: _Answered, first: int) -> list[Event]:
    """Return the events of an answer's calls, whose first has the output index ``first``, and of the response's end."""
    events = list[Event]()
    for number, call in enumerate(answer.calls):
        item, at = frame.call_item(number, call), first + number
        place = {"item_id": item["id"], "output_index": at}
        events += [
            event("response.output_item.added", output_index=at, item=frame.call_item(number, call, done=False)),
            event("response.function_call_arguments.delta", **place, delta=call.arguments),
            event("response.function_call_arguments.done", **place, name=call.name, arguments=call.arguments),
            event("response.output_item.done", output_index=at, item=item),
        ]
    return [*events, event("response.completed", response=frame.payload(answer))]
