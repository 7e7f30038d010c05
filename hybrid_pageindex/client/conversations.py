"""A client for conversations on a server, with the methods of ``Engine.conversations``."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any, TypedDict, Unpack

from hybrid_core.errors import UnreachableError
from hybrid_core.types.conversations import Conversation, ConversationMessage, MessageEvent
from hybrid_core.types.documents import Effort
from hybrid_core.types.requests import several
from hybrid_pageindex.client.wire import Wire, error_of, quoted, read_as
from hybrid_pageindex.conversations.conversations import CitedPlace
from hybrid_pageindex.conversations.exports import Format

_AGAIN = 1.0  # seconds before an interrupted stream is requested again
_TRIES = 5


class AskFields(TypedDict, total=False):
    """Search options that a question in a conversation may set over HTTP."""

    effort: Effort
    top_k: int


class ConversationsClient:
    """Ask, list, edit and export conversations on a server. Messages are identified by their numbers."""

    def __init__(self, wire: Wire, library: str) -> None:
        self._wire, self._library = wire, library
        self._of: dict[int, str] = {}  # conversation ids by message, as far as seen

    async def create(
        self,
        *,
        libraries: Sequence[str] | str = (),
        documents: Sequence[str] | str = (),
        all_libraries: bool = False,
        title: str = "",
    ) -> Conversation:
        named = several(libraries) or (() if all_libraries else (self._library,))
        body = {
            "libraries": list(named), "documents": list(several(documents)), "all_libraries": all_libraries,
            "title": title,
        }  # fmt: skip
        return read_as(Conversation, await self._wire.json("POST", "/conversations", json=body))

    async def listed(
        self, *, limit: int = 100, before: tuple[int, str] | None = None, find: str = ""
    ) -> list[Conversation]:
        """Return conversations, most recently used first.

        ``find`` selects those whose title, questions or answers contain it.
        """
        params = {"limit": limit, "before": f"{before[0]}:{before[1]}" if before else None, "find": find or None}
        return read_as(list[Conversation], (await self._wire.json("GET", "/conversations", params))["conversations"])

    async def get(self, id: str) -> Conversation:
        shape = await self._wire.json("GET", _path(id))
        shape.pop("messages")
        return read_as(Conversation, shape)

    async def messages(self, id: str, leaf: int | None = None) -> list[ConversationMessage]:
        """Return the messages of one branch of a conversation, first to last.

        The branch ends with the message ``leaf``, by default the current last message.
        """
        return [self._seen(shape) for shape in (await self._wire.json("GET", _path(id), {"leaf": leaf}))["messages"]]

    async def message(self, id: int) -> ConversationMessage:
        return self._seen(await self._wire.json("GET", f"/messages/{id}"))

    async def ask(
        self, id: str, question: str, *, after: int | None = None, **fields: Unpack[AskFields]
    ) -> ConversationMessage:
        """Ask a question as ``Engine.conversations.ask`` does, and return the answer message while
        it is being written.
        """
        body = {"question": question, "after": after, **fields}
        return self._seen(await self._wire.json("POST", f"{_path(id)}/messages", json=body))

    async def edit(self, question: int, text: str, **fields: Unpack[AskFields]) -> ConversationMessage:
        body = {"question": text, **fields}
        return self._seen(await self._wire.json("POST", f"{await self._at(question)}/edit", json=body))

    async def again(self, answer: int, **fields: Unpack[AskFields]) -> ConversationMessage:
        return self._seen(await self._wire.json("POST", f"{await self._at(answer)}/again", json=dict(fields)))

    async def cancel(self, answer: int) -> bool:
        done: bool = (await self._wire.json("POST", f"{await self._at(answer)}/cancel", json={}))["cancelled"]
        return done

    async def stream(self, answer: int, after: int = 0) -> AsyncIterator[MessageEvent]:
        """Yield the events of an answer, as ``Engine.conversations.stream`` does.

        If the connection is lost, connect again and continue with the next event.
        """
        where, tries = f"{await self._at(answer)}/events", 0
        while True:
            broke = UnreachableError(
                "The connection to the server ended before the answer was complete.",
                "The server continues to write the answer. Read the message again later.",
            )
            try:
                async for number, kind, data in self._wire.events(where, after):
                    if kind == "error":
                        raise error_of(data)
                    if number < 0:
                        continue  # the server is ending
                    after, tries = max(after, number), 0
                    detail = {name: value for name, value in data.items() if name != "message"}
                    shape = {"message": answer, "number": number, "kind": kind, "detail": detail}
                    yield read_as(MessageEvent, shape)
                    if kind == "ended" or (kind == "state" and data["status"] != "running"):
                        return
            except UnreachableError as error:
                broke = error
            if (tries := tries + 1) > _TRIES:
                raise broke
            await asyncio.sleep(_AGAIN)

    async def wait(self, answer: int) -> ConversationMessage:
        """Wait until an answer has ended, and return it."""
        message = await self.message(answer)
        if message.status != "running":
            return message
        async for _ in self.stream(answer, message.last_event):
            pass
        return await self.message(answer)

    async def rename(self, id: str, title: str) -> Conversation:
        return read_as(Conversation, await self._wire.json("PATCH", _path(id), json={"title": title}))

    async def turn_to(self, id: str, answer: int) -> list[ConversationMessage]:
        await self._wire.json("PATCH", _path(id), json={"leaf": answer})
        return await self.messages(id)

    async def turn_to_branch(self, id: str, message: int) -> list[ConversationMessage]:
        await self._wire.json("PATCH", _path(id), json={"branch": message})
        return await self.messages(id)

    async def narrow(self, id: str, documents: Sequence[str] = ()) -> Conversation:
        return read_as(Conversation, await self._wire.json("PATCH", _path(id), json={"documents": list(documents)}))

    async def remove(self, id: str) -> Conversation:
        conversation = await self.get(id)
        await self._wire.json("DELETE", _path(id))
        return conversation

    async def export(self, id: str, format: Format = "markdown", leaf: int | None = None) -> str:
        return (await self._wire.sent("GET", f"{_path(id)}/export", {"format": format, "leaf": leaf})).text

    async def place(self, answer: int, number: int) -> CitedPlace:
        return read_as(CitedPlace, await self._wire.json("GET", f"{await self._at(answer)}/citations/{number}"))

    async def _at(self, message: int) -> str:
        if message not in self._of:
            await self.message(message)
        return f"{_path(self._of[message])}/messages/{message}"

    def _seen(self, shape: Any) -> ConversationMessage:
        message = read_as(ConversationMessage, shape)
        self._of[message.id] = message.conversation
        return message


def _path(id: str) -> str:
    return f"/conversations/{quoted(id)}"
