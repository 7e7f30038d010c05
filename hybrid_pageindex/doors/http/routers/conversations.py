"""Conversations: begun, asked, followed while answers are made, and read again."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Path, Query, Request
from pydantic import Field
from starlette.responses import Response

from hybrid_core.errors import NotFoundError
from hybrid_core.types.access import Caller
from hybrid_core.types.conversations import Conversation, ConversationMessage
from hybrid_core.types.documents import Effort
from hybrid_core.types.requests import SearchFields
from hybrid_pageindex.doors.http.callers import Anybody, At, caller_of, find_library, visible
from hybrid_pageindex.doors.http.errors import Refusal
from hybrid_pageindex.doors.http.events import SENT, Event, Heard, stream, wants_events
from hybrid_pageindex.doors.http.models import QUESTION, Body, Names, Text
from hybrid_pageindex.doors.http.replies import described, said, tagged
from hybrid_pageindex.doors.http.server import Server
from hybrid_pageindex.doors.http.shapes import (
    CancelledMessage,
    ConversationPart,
    ConversationRead,
    DeletedConversations,
)
from hybrid_pageindex.services.conversations.conversations import CitedPlace

router = APIRouter(prefix="/conversations", tags=["conversations"])
_EXPORTS = described("text/markdown", text=True)
_EXPORTS[200]["content"]["application/json"] = {"schema": {"type": "object"}}
messages = APIRouter(tags=["conversations"])
Id = Annotated[str, Path(max_length=100)]
MessageId = Annotated[int, Path(ge=1, lt=2**53)]
_Leaf = Annotated[int | None, Query(ge=1, lt=2**53, description="the answer that a branch ends with")]


class NewConversation(Body):
    """About libraries (by default the server's one), all that the caller may read, or documents of them."""

    libraries: Names = Field(default_factory=list)
    documents: Names = Field(default_factory=list)
    all_libraries: bool = False
    title: Annotated[Text, Field(max_length=500)] = ""


class ConversationChange(Body):
    """What is left out stays. ``leaf`` is the answer of any branch that it ends with from now on; ``branch`` a message,
    so that it ends with the newest answer that follows from it. ``documents`` are those that are searched, of its
    libraries; none for all of them.
    """

    title: Annotated[Text, Field(min_length=1, max_length=500)] | None = None
    leaf: Annotated[int, Field(ge=1, lt=2**53)] | None = None
    branch: Annotated[int, Field(ge=1, lt=2**53)] | None = None
    documents: Names | None = None


class Asking(Body):
    effort: Effort | None = None
    top_k: Annotated[int, Field(ge=1, le=50)] | None = None


class NewQuestion(Asking):
    question: Annotated[Text, Field(min_length=1, max_length=QUESTION)]


class NewMessage(NewQuestion):
    """``after`` is the answer to go on from, 0 for the beginning; by default the last one."""

    after: Annotated[int, Field(ge=0, lt=2**53)] | None = None


async def owned(request: Request, server: At, conversation: Id) -> Conversation:
    """Raises NotFoundError also for one of somebody else, Refusal where a library of it may not be read any more. One
    about a library that is gone stays with who made it.
    """
    found = await server.engine.conversations.get(conversation)
    caller = caller_of(request)
    if owner_of(caller) not in ("", found.owner):
        raise NotFoundError(f"No conversation '{conversation}'.")
    closed = {library for library in found.scope.libraries if not caller.may("read", library)}
    if closed and closed & {one.id for one in await server.engine.named_libraries()}:
        raise Refusal(403, "not_allowed", "This conversation is about a library that you may not read.")
    return found


Owned = Annotated[Conversation, Depends(owned)]


async def own_message(server: At, conversation: Owned, message: MessageId) -> ConversationMessage:
    found = await server.engine.conversations.message(message)
    if found.conversation != conversation.id:
        raise NotFoundError(f"No message {message} in this conversation.")
    return found


Message = Annotated[ConversationMessage, Depends(own_message)]


def owner_of(caller: Caller) -> str:
    """Whose conversations these are; those who may do everything own those of the machine, and see all."""
    return "" if caller.may("admin") else caller.id


@router.post("", status_code=201, response_model=Conversation)
async def begin_conversation(request: Request, server: At, caller: Anybody, body: NewConversation) -> Response:
    names = list(dict.fromkeys(body.libraries))
    everything = body.all_libraries and not names
    if everything and not caller.may("read"):
        names, everything = [one.name for one in await visible(request)], False
        if not names:
            raise Refusal(403, "not_allowed", "There is no library that you may read.", "Use another token.")
    elif not everything:
        names = [(await find_library(request, one, "read")).name for one in names or [server.engine.settings.library]]
    made = await server.engine.conversations.create(
        libraries=names, documents=body.documents, all_libraries=everything, title=body.title, owner=owner_of(caller)
    )
    return said(made, 201, Location=f"/api/v1/conversations/{made.id}")


@router.get("", response_model=ConversationPart)
async def list_conversations(
    server: At, caller: Anybody, most: Annotated[int, Query(ge=1, le=1000)] = 100,
    before: Annotated[str, Query(max_length=200, description="`next` of the list before")] = "",
    find: Annotated[str, Query(max_length=200, description="words of the title, a question or an answer")] = "",
) -> Response:  # fmt: skip
    """The one that was used last first."""
    at, _, id = before.partition(":")
    position = (int(at), id) if at.isascii() and at.isdigit() and len(at) < 19 else None
    owner = owner_of(caller) or None
    found = await server.engine.conversations.listed(owner=owner, most=most, before=position, find=find)
    following = f"{found[-1].updated_at}:{found[-1].id}" if len(found) == most else None
    return said({"conversations": [one.to_dict() for one in found], "next": following})


@router.get("/{conversation}", response_model=ConversationRead)
async def read_conversation(request: Request, server: At, conversation: Owned, leaf: _Leaf = None) -> Response:
    """With its messages, from the first to the last, or to ``leaf``; each names its ``siblings``, the branches."""
    path = await server.engine.conversations.messages(conversation.id, leaf)
    return tagged(request, conversation.to_dict() | {"messages": [one.to_dict() for one in path]})


@router.patch("/{conversation}", response_model=Conversation)
async def change_conversation(server: At, conversation: Owned, body: ConversationChange) -> Response:
    kept = server.engine.conversations
    if body.leaf is not None:
        await kept.turn_to(conversation.id, body.leaf)
    if body.branch is not None:
        await kept.turn_to_branch(conversation.id, body.branch)
    if body.documents is not None:
        await kept.narrow(conversation.id, body.documents)
    if body.title is not None:
        await kept.rename(conversation.id, body.title)
    return said(await kept.get(conversation.id))


@router.delete("/{conversation}", response_model=DeletedConversations)
async def delete_conversation(server: At, conversation: Owned) -> Response:
    """With all that was said."""
    await server.engine.conversations.remove(conversation.id)
    return said({"deleted": [conversation.id]})


@router.get("/{conversation}/export", responses=_EXPORTS, response_class=Response)
async def export_conversation(
    server: At, conversation: Owned, format: Literal["markdown", "json"] = "markdown", leaf: _Leaf = None
) -> Response:
    text = await server.engine.conversations.export(conversation.id, format, leaf)
    kind, ending = ("text/markdown", "md") if format == "markdown" else ("application/json", "json")
    name = f'attachment; filename="conversation-{conversation.id[:8]}.{ending}"'
    return Response(text, headers={"Content-Disposition": name}, media_type=kind)


@router.post("/{conversation}/messages", status_code=202, responses=SENT, response_model=ConversationMessage)
async def ask_in_conversation(request: Request, server: At, conversation: Owned, body: NewMessage) -> Response:
    """Ask. What comes back is the answer as it is begun, or with ``Accept: text/event-stream`` its events; it is made
    to its end whether or not anybody listens.
    """
    kept, fields = server.engine.conversations, _fields(body)
    return await _begun(
        request, server, lambda: kept.ask(conversation.id, body.question, after=body.after, **fields)
    )  # fmt: skip


@messages.get("/messages/{message}", response_model=ConversationMessage)
async def find_message(request: Request, server: At, message: MessageId) -> Response:
    """A message by its number alone; it names its conversation."""
    found = await server.engine.conversations.message(message)
    await owned(request, server, found.conversation)
    return said(found)


@router.get("/{conversation}/messages/{message}", response_model=ConversationMessage)
async def read_message(message: Message) -> Response:
    return said(message)


@router.get("/{conversation}/messages/{message}/events", responses=SENT, response_class=Response)
async def follow_message(server: At, message: Message, heard: Heard) -> Response:
    """What happens to an answer until it has ended, from its beginning or after ``Last-Event-ID`` (or ``?after=``);
    where that is not kept any more, first the ``state`` as it is.
    """
    return stream(server, _told(server, message.id, heard or 0))


@router.post("/{conversation}/messages/{message}/cancel", response_model=CancelledMessage)
async def cancel_message(server: At, message: Message) -> Response:
    """What there is of the answer stays."""
    return said({"cancelled": await server.engine.conversations.cancel(message.id)})


@router.post(
    "/{conversation}/messages/{message}/again", status_code=202, responses=SENT, response_model=ConversationMessage
)
async def answer_again(request: Request, server: At, message: Message, body: Asking) -> Response:
    """One that did not get done in its place; a complete one as a branch beside it."""
    kept, fields = server.engine.conversations, _fields(body)
    return await _begun(request, server, lambda: kept.again(message.id, **fields))


@router.post(
    "/{conversation}/messages/{message}/edit", status_code=202, responses=SENT, response_model=ConversationMessage
)
async def edit_question(request: Request, server: At, message: Message, body: NewQuestion) -> Response:
    """Ask something else in place of an earlier question: a branch."""
    kept, fields = server.engine.conversations, _fields(body)
    return await _begun(request, server, lambda: kept.edit(message.id, body.question, **fields))


@router.get("/{conversation}/messages/{message}/citations/{number}", response_model=CitedPlace)
async def find_citation(server: At, message: Message, number: Annotated[int, Path(ge=1, le=10_000)]) -> Response:
    """Where ``[[source:number]]`` leads: document, page, and the boxes of the quote on it."""
    return said(await server.turn(server.answers, server.engine.conversations.place(message.id, number)))


def _fields(body: Asking) -> SearchFields:
    given: SearchFields = {}
    if body.effort is not None:
        given["effort"] = body.effort
    if body.top_k is not None:
        given["top_k"] = body.top_k
    return given


async def _begun(request: Request, server: Server, begin: Callable[[], Awaitable[ConversationMessage]]) -> Response:
    """The answer once it has begun, which waits for its turn among those of others, and keeps it to its end."""
    first: asyncio.Future[ConversationMessage] = asyncio.get_running_loop().create_future()

    async def whole() -> None:
        message = await begin()
        if not first.done():
            first.set_result(message)
        await server.engine.conversations.wait(message.id)

    working = asyncio.ensure_future(server.turn(server.answers, whole()))
    working.add_done_callback(lambda task: _refused(task, first))
    message = await first
    if wants_events(request):
        return stream(server, _told(server, message.id, 0))
    where = f"/api/v1/conversations/{message.conversation}/messages/{message.id}"
    return said(message, 202, Location=where)


def _refused(task: asyncio.Task[None], first: asyncio.Future[ConversationMessage]) -> None:
    if first.done():
        if not task.cancelled():
            task.exception()  # looked at: the message says what became of it
    elif task.cancelled():
        first.cancel()
    elif (error := task.exception()) is not None:
        first.set_exception(error)


async def _told(server: Server, message: int, after: int) -> AsyncIterator[Event]:
    async for event in server.engine.conversations.stream(message, after):
        yield Event(event.kind, dict(event.detail) | {"message": message}, event.number)
