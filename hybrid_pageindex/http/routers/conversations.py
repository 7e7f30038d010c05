"""Routes of conversations: begin them, ask questions, follow answers as they are written, and read them later."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Query, Request
from fastapi import Path as PathParam
from pydantic import Field
from starlette.responses import Response

from hybrid_core.errors import NotFoundError
from hybrid_core.types.access import Caller
from hybrid_core.types.conversations import Conversation, ConversationMessage
from hybrid_core.types.documents import Effort
from hybrid_core.types.requests import SearchFields
from hybrid_pageindex.conversations.conversations import CitedPlace
from hybrid_pageindex.conversations.exports import Format
from hybrid_pageindex.http.errors import Refusal
from hybrid_pageindex.http.models import Body, Names, Question, Text
from hybrid_pageindex.http.replies import (
    EVENT_RESPONSES,
    Event,
    LastEvent,
    content_responses,
    json_response,
    stream_events,
    tagged_response,
    wants_events,
)
from hybrid_pageindex.http.responses import (
    CancelledMessage,
    ConversationPart,
    ConversationRead,
    DeletedConversations,
)
from hybrid_pageindex.http.server import (
    AnyCaller,
    Server,
    ServerState,
    caller_of,
    find_library,
    readable_libraries,
)

router = APIRouter(prefix="/conversations", tags=["conversations"])
_EXPORT_RESPONSES = content_responses("text/markdown", text=True)
_EXPORT_RESPONSES[200]["content"]["application/json"] = {"schema": {"type": "object"}}
_EXPORT_RESPONSES[200]["content"]["application/vnd.citationstyles.csl+json"] = {"schema": {"type": "array"}}
_EXPORT_RESPONSES[200]["content"]["application/x-bibtex"] = {"schema": {"type": "string"}}
_DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
for _binary in (_DOCX, "application/pdf"):
    _EXPORT_RESPONSES[200]["content"][_binary] = {"schema": {"type": "string", "format": "binary"}}
ExportFormat = Format | Literal["docx", "pdf"]
_EXPORT_TYPES: dict[ExportFormat, tuple[str, str]] = {
    "markdown": ("text/markdown", "md"), "json": ("application/json", "json"), "docx": (_DOCX, "docx"),
    "pdf": ("application/pdf", "pdf"),
    "bibtex": ("application/x-bibtex", "bib"), "csl": ("application/vnd.citationstyles.csl+json", "json"),
}  # fmt: skip
messages_router = APIRouter(tags=["conversations"])
ConversationId = Annotated[str, PathParam(max_length=100)]
MessageId = Annotated[int, PathParam(ge=1, lt=2**53)]
LeafId = Annotated[int | None, Query(ge=1, lt=2**53, description="The last answer of the branch to return")]


class NewConversation(Body):
    """A new conversation about libraries (default: the server's library), all readable libraries, or some of their
    documents.
    """

    libraries: Names = Field(default_factory=list)
    documents: Names = Field(default_factory=list)
    all_libraries: bool = False
    title: Annotated[Text, Field(max_length=500)] = ""


class ConversationChange(Body):
    """Changes of a conversation. A missing field stays unchanged.

    ``leaf`` is the answer that becomes the end of the conversation. ``branch`` is a message: the conversation then ends
    with the newest answer below it. ``documents`` limits the search to these documents; an empty list means all.
    """

    title: Annotated[Text, Field(min_length=1, max_length=500)] | None = None
    leaf: Annotated[int, Field(ge=1, lt=2**53)] | None = None
    branch: Annotated[int, Field(ge=1, lt=2**53)] | None = None
    documents: Names | None = None


class Asking(Body):
    effort: Effort | None = None
    top_k: Annotated[int, Field(ge=1, le=50)] | None = None


class NewQuestion(Asking):
    question: Question


class NewMessage(NewQuestion):
    """A question. ``after`` is the answer that it follows, 0 for the beginning of the conversation; by default the last
    one.
    """

    after: Annotated[int, Field(ge=0, lt=2**53)] | None = None


async def find_own_conversation(request: Request, server: ServerState, conversation: ConversationId) -> Conversation:
    """Return a conversation of the caller.

    Raise NotFoundError if it does not exist or belongs to another user, Refusal if the caller may no longer read one of
    its libraries. A conversation about a deleted library stays readable for its owner.
    """
    owned = await server.engine.conversations.get(conversation)
    caller = caller_of(request)
    if owner_of(caller) not in ("", owned.owner):
        raise NotFoundError(f"The conversation '{conversation}' does not exist.")
    closed = {library for library in owned.scope.libraries if not caller.may("read", library)}
    if closed and closed & {item.id for item in await server.engine.libraries.named()}:
        raise Refusal(403, "not_allowed", "This conversation is about a library that you may not read.")
    return owned


OwnConversation = Annotated[Conversation, Depends(find_own_conversation)]


async def find_own_message(
    server: ServerState, conversation: OwnConversation, message: MessageId
) -> ConversationMessage:
    own = await server.engine.conversations.message(message)
    if own.conversation != conversation.id:
        raise NotFoundError(f"This conversation has no message {message}.")
    return own


OwnMessage = Annotated[ConversationMessage, Depends(find_own_message)]


def owner_of(caller: Caller) -> str:
    """Return the owner id of the caller's conversations, "" for admins, who may read all conversations."""
    return "" if caller.may("admin") else caller.id


@router.post("", status_code=201, response_model=Conversation)
async def begin_conversation(
    request: Request, server: ServerState, caller: AnyCaller, body: NewConversation
) -> Response:
    names = list(dict.fromkeys(body.libraries))
    everything = body.all_libraries and not names
    if everything and not caller.may("read"):
        names, everything = [name.name for name in await readable_libraries(request)], False
        if not names:
            raise Refusal(403, "not_allowed", "You may not read any library.", "Use a token that may read a library.")
    elif not everything:
        names = [(await find_library(request, name, "read")).name for name in names or [server.engine.settings.library]]
    conversation = await server.engine.conversations.create(
        libraries=names, documents=body.documents, all_libraries=everything, title=body.title, owner=owner_of(caller)
    )
    return json_response(conversation, 201, Location=f"/api/v1/conversations/{conversation.id}")


@router.get("", response_model=ConversationPart)
async def list_conversations(
    server: ServerState, caller: AnyCaller, limit: Annotated[int, Query(ge=1, le=1000)] = 100,
    before: Annotated[str, Query(max_length=200, description='The field `next` of the previous part of the list')] = "",
    find: Annotated[str, Query(max_length=200, description="Words to find in titles, questions and answers")] = "",
) -> Response:  # fmt: skip
    """List conversations, the most recently used first."""
    at, _, id = before.partition(":")
    position = (int(at), id) if at.isascii() and at.isdigit() and len(at) < 19 else None
    owner = owner_of(caller) or None
    listed = await server.engine.conversations.listed(owner=owner, limit=limit, before=position, find=find)
    following = f"{listed[-1].updated_at}:{listed[-1].id}" if len(listed) == limit else None
    return json_response({"conversations": [conversation.to_dict() for conversation in listed], "next": following})


@router.get("/{conversation}", response_model=ConversationRead)
async def read_conversation(
    request: Request, server: ServerState, conversation: OwnConversation, leaf: LeafId = None
) -> Response:
    """Return a conversation with its messages, from the first to the last or to ``leaf``. ``siblings`` of a message are
    the other versions of it, each of which begins a branch.
    """
    path = await server.engine.conversations.messages(conversation.id, leaf)
    return tagged_response(request, conversation.to_dict() | {"messages": [message.to_dict() for message in path]})


@router.patch("/{conversation}", response_model=Conversation)
async def change_conversation(server: ServerState, conversation: OwnConversation, body: ConversationChange) -> Response:
    conversations = server.engine.conversations
    if body.leaf is not None:
        await conversations.turn_to(conversation.id, body.leaf)
    if body.branch is not None:
        await conversations.turn_to_branch(conversation.id, body.branch)
    if body.documents is not None:
        await conversations.narrow(conversation.id, body.documents)
    if body.title is not None:
        await conversations.rename(conversation.id, body.title)
    return json_response(await conversations.get(conversation.id))


@router.delete("/{conversation}", response_model=DeletedConversations)
async def delete_conversation(server: ServerState, conversation: OwnConversation) -> Response:
    """Delete a conversation with all its messages."""
    await server.engine.conversations.remove(conversation.id)
    return json_response({"deleted": [conversation.id]})


@router.get("/{conversation}/export", responses=_EXPORT_RESPONSES, response_class=Response)
async def export_conversation(
    server: ServerState,
    conversation: OwnConversation,
    format: ExportFormat = "markdown",
    leaf: LeafId = None,
) -> Response:
    """Return the conversation as Markdown, a Word document, a PDF or JSON, or the documents that it cites as BibTeX or
    CSL JSON.
    """
    conversations = server.engine.conversations
    text: str | bytes
    if format == "docx" or format == "pdf":
        text = await conversations.export_document(conversation.id, format, leaf)
    else:
        text = await conversations.export(conversation.id, format, leaf)
    kind, ending = _EXPORT_TYPES[format]
    name = f'attachment; filename="conversation-{conversation.id[:8]}.{ending}"'
    return Response(text, headers={"Content-Disposition": name}, media_type=kind)


@router.post("/{conversation}/messages", status_code=202, responses=EVENT_RESPONSES, response_model=ConversationMessage)
async def ask_in_conversation(
    request: Request, server: ServerState, conversation: OwnConversation, body: NewMessage
) -> Response:
    """Ask a question. The response is the unfinished answer, or with ``Accept: text/event-stream`` its events. The
    answer is completed even if the client disconnects.
    """
    conversations, fields = server.engine.conversations, _search_options(body)
    return await _start_answer(
        request, server, lambda: conversations.ask(conversation.id, body.question, after=body.after, **fields)
    )  # fmt: skip


@messages_router.get("/messages/{message}", response_model=ConversationMessage)
async def find_message(request: Request, server: ServerState, message: MessageId) -> Response:
    """Return a message by its number. It contains the id of its conversation."""
    answer = await server.engine.conversations.message(message)
    await find_own_conversation(request, server, answer.conversation)
    return json_response(answer)


@router.get("/{conversation}/messages/{message}", response_model=ConversationMessage)
async def read_message(message: OwnMessage) -> Response:
    return json_response(message)


@router.get("/{conversation}/messages/{message}/events", responses=EVENT_RESPONSES, response_class=Response)
async def follow_message(server: ServerState, message: OwnMessage, heard: LastEvent) -> Response:
    """Stream the events of an answer until it ends. Begin with its first event, or after ``Last-Event-ID`` (or
    ``?after=``). If older events were deleted, the first event is ``state``, with the message so far.
    """
    return stream_events(server, _answer_events(server, message.id, heard or 0))


@router.post("/{conversation}/messages/{message}/cancel", response_model=CancelledMessage)
async def cancel_message(server: ServerState, message: OwnMessage) -> Response:
    """Stop an answer. The text written so far stays."""
    return json_response({"cancelled": await server.engine.conversations.cancel(message.id)})


@router.post(
    "/{conversation}/messages/{message}/again",
    status_code=202,
    responses=EVENT_RESPONSES,
    response_model=ConversationMessage,
)
async def answer_again(request: Request, server: ServerState, message: OwnMessage, body: Asking) -> Response:
    """Answer a question again. The new answer replaces an incomplete one; if the old answer is complete, a new branch
    begins.
    """
    conversations, fields = server.engine.conversations, _search_options(body)
    return await _start_answer(request, server, lambda: conversations.again(message.id, **fields))


@router.post(
    "/{conversation}/messages/{message}/edit",
    status_code=202,
    responses=EVENT_RESPONSES,
    response_model=ConversationMessage,
)
async def edit_question(request: Request, server: ServerState, message: OwnMessage, body: NewQuestion) -> Response:
    """Replace a question by another one. This begins a new branch."""
    conversations, fields = server.engine.conversations, _search_options(body)
    return await _start_answer(request, server, lambda: conversations.edit(message.id, body.question, **fields))


@router.get("/{conversation}/messages/{message}/citations/{number}", response_model=CitedPlace)
async def find_citation(
    server: ServerState, message: OwnMessage, number: Annotated[int, PathParam(ge=1, le=10_000)]
) -> Response:
    """Return the place that a citation mark ``[[source:number]]`` in an answer names: the document, the page, and the
    boxes of the quote on that page.
    """
    return json_response(await server.run_within(server.answers, server.engine.conversations.place(message.id, number)))


def _search_options(body: Asking) -> SearchFields:
    options: SearchFields = {}
    if body.effort is not None:
        options["effort"] = body.effort
    if body.top_k is not None:
        options["top_k"] = body.top_k
    return options


async def _start_answer(
    request: Request, server: Server, begin: Callable[[], Awaitable[ConversationMessage]]
) -> Response:
    """Return a response as soon as the answer has begun: the unfinished message, or a stream of its events."""
    message = await begin_answer(server, begin)
    if wants_events(request):
        return stream_events(server, _answer_events(server, message.id, 0))
    where = f"/api/v1/conversations/{message.conversation}/messages/{message.id}"
    return json_response(message, 202, Location=where)


async def begin_answer(server: Server, begin: Callable[[], Awaitable[ConversationMessage]]) -> ConversationMessage:
    """Begin an answer, and return its message while it is being written.

    The answer waits until less than the maximum number of answers run. It continues to its end, even if no client
    listens.
    """
    first: asyncio.Future[ConversationMessage] = asyncio.get_running_loop().create_future()

    async def whole() -> None:
        message = await begin()
        if not first.done():
            first.set_result(message)
        await server.engine.conversations.wait(message.id)

    working = asyncio.ensure_future(server.run_within(server.answers, whole()))
    working.add_done_callback(lambda task: _pass_on_error(task, first))
    return await first


def _pass_on_error(task: asyncio.Task[None], first: asyncio.Future[ConversationMessage]) -> None:
    if first.done():
        if not task.cancelled():
            task.exception()  # retrieved to avoid a warning; the message contains the error
    elif task.cancelled():
        first.cancel()
    elif (error := task.exception()) is not None:
        first.set_exception(error)


async def _answer_events(server: Server, message: int, after: int) -> AsyncIterator[Event]:
    async for event in server.engine.conversations.stream(message, after):
        yield Event(event.kind, dict(event.detail) | {"message": message}, event.number)
