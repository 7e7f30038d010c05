"""Conversations for all interfaces: ask questions, and list, edit, follow and export conversations."""

from __future__ import annotations

import asyncio
import os
import threading
import uuid
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Unpack

from hybrid_core.errors import DocumentError, NotFoundError, UsageError
from hybrid_core.store.conversations.conversations import ConversationReader, ConversationWriter, conversations_about
from hybrid_core.store.conversations.turns import Turns
from hybrid_core.types.conversations import Citation, Conversation, ConversationMessage, MessageEvent
from hybrid_core.types.requests import SearchFields, SearchRequest, several
from hybrid_core.types.results import SearchResult
from hybrid_pageindex.config.settings import Settings, usual_fields
from hybrid_pageindex.conversations.exports import Format, exported
from hybrid_pageindex.conversations.memory import Exchange, remember, request_in, scope_of
from hybrid_pageindex.conversations.runner import News, TurnRunner
from hybrid_pageindex.conversations.turns import TextListener, Turn, TurnMaker
from hybrid_pageindex.engine.answers.prompt import ToolUse
from hybrid_pageindex.engine.concurrency import in_the_background
from hybrid_pageindex.engine.documents.page_views import Layouts
from hybrid_pageindex.engine.parts import Parts

if TYPE_CHECKING:
    from hybrid_pageindex.conversations.documents import DocumentKind

_LOOK = 0.25  # seconds between two checks of an answer that another process writes
_SCOPE_FIELDS = ("libraries", "library", "all_libraries", "documents")


@dataclass(frozen=True, slots=True)
class CitedPlace:
    """The page that a citation points to. ``library`` is a name, "" if the library was deleted.

    ``boxes`` mark the quote on the page, () if it cannot be located. ``note`` says if the page is missing or has
    changed.
    """

    citation: Citation
    library: str
    boxes: tuple[tuple[float, float, float, float], ...] = ()
    note: str = ""


class Conversations:
    """The conversations of a home: ask, list, edit and export. Safe for several threads and event loops.

    Methods raise NotFoundError for unknown ids.
    """

    def __init__(self, parts: Parts, settings: Settings) -> None:
        self._parts, self._settings, self._news = parts, settings, News()
        self._catalog = parts.catalog
        self._reader, self._writer = ConversationReader(self._catalog), ConversationWriter(self._catalog)
        self._turns = Turns(self._catalog)
        self._maker = TurnMaker(parts, settings)
        self._runner = TurnRunner(self._catalog, self._maker, parts.chat, settings, self._news)
        self._worker = f"{os.getpid()}-{uuid.uuid4().hex[:12]}"

    def use(self, settings: Settings) -> None:
        """Use these settings for all answers that begin after this call."""
        self._settings = self._maker.settings = self._runner.settings = settings

    @property
    def has_model(self) -> bool:
        """Return whether a chat model is configured, which can call functions."""
        return any(self._parts.chat.named(kind) for kind in ("llm", "vlm"))

    async def create(
        self,
        *,
        libraries: Sequence[str] | str = (),
        documents: Sequence[str] | str = (),
        all_libraries: bool = False,
        title: str = "",
        owner: str = "",
    ) -> Conversation:
        """Create and return a conversation that searches libraries, or some of their documents.

        ``libraries`` defaults to the configured library; ``all_libraries`` searches every library. Raise NotFoundError
        for an unknown library or document.
        """
        named = several(libraries)
        if named and all_libraries:
            raise UsageError(
                "The request names libraries and also asks for all libraries.",
                "Name libraries, or ask for all libraries, but not both.",
            )
        named = named or (() if all_libraries else (self._settings.library,))

        def create() -> Conversation:
            scope = scope_of(self._catalog, named, several(documents), everything=all_libraries)
            return self._writer.create(scope, owner=owner, title=" ".join(title.split()))

        return await asyncio.to_thread(create)

    async def listed(
        self, *, owner: str | None = None, limit: int = 100, before: tuple[int, str] | None = None, find: str = ""
    ) -> list[Conversation]:
        """Return conversations, most recently used first.

        ``find`` selects those whose title, questions or answers contain it.
        """
        return await asyncio.to_thread(lambda: self._reader.listed(owner=owner, limit=limit, before=before, find=find))

    async def get(self, id: str) -> Conversation:
        return await asyncio.to_thread(lambda: self._reader.conversation(id))

    async def messages(self, id: str, leaf: int | None = None) -> list[ConversationMessage]:
        """Return the messages of one branch of a conversation, first to last.

        The branch ends with the message ``leaf``, by default the current last message.
        """
        return await asyncio.to_thread(lambda: self._reader.path(id, leaf))

    async def message(self, id: int) -> ConversationMessage:
        return await asyncio.to_thread(lambda: self._reader.message(id))

    async def ask(
        self, id: str, question: str, *, after: int | None = None, **fields: Unpack[SearchFields]
    ) -> ConversationMessage:
        """Ask a question, and return the answer message at once, while the answer is being written.

        Read it with ``stream`` or ``wait``; it is also completed without a reader. ``after`` is the answer to continue
        from (default: the last one; 0: the beginning). ``fields`` are those of ``SearchRequest``, except libraries and
        documents. Raise TurnRunningError while another question of the conversation is being answered.
        """
        if wrong := [name for name in _SCOPE_FIELDS if name in fields]:
            raise UsageError(
                f"{wrong[0]} cannot be changed after a conversation has begun.",
                "Begin a new conversation with the new value.",
            )
        if not question.strip():
            raise UsageError("The question is empty.", "Write a question.")

        def begun() -> ConversationMessage:
            fence = self._turns.begin(id, question.strip(), self._worker, after=after)
            self._runner.start(fence, fields)
            return self._reader.message(fence.message)

        return await asyncio.to_thread(begun)

    async def reply(
        self,
        question: str,
        exchanges: Sequence[Exchange] = (),
        *,
        libraries: Sequence[str] | str = (),
        on_text: Callable[[str], None] | None = None,
        stopped: threading.Event | None = None,
        tools: ToolUse | None = None,
    ) -> Turn:
        """Answer a question in a conversation that another program stores. ``exchanges`` are its earlier messages.

        Store no message. With ``tools`` the model may call functions of that program instead of answering. ``on_text``
        is called from a worker thread. If ``stopped`` is set, raise Cancelled.
        """
        named = several(libraries) or (self._settings.library,)

        def answer() -> Turn:
            scope = scope_of(self._catalog, named, (), everything=False)
            request, note = request_in(self._catalog, scope, question, {})
            memory = remember(exchanges, self._settings.conversation_tokens)
            complete = request.completed(usual_fields(self._settings))
            heard = TextListener(on_text or (lambda _: None))
            return self._maker.make(complete, memory, heard, stopped or threading.Event(), note, tools)

        return await in_the_background(answer)

    def search_now(self, request: SearchRequest, before: Sequence[str]) -> SearchResult:
        """Return the pages that a conversation would find for a question after the questions ``before``.

        Write no answer and store no message.
        """
        return self._maker.search(request, before)

    async def edit(self, question: int, text: str, **fields: Unpack[SearchFields]) -> ConversationMessage:
        """Replace an earlier question by another one, ask it, and return the answer message.

        The new question begins a branch, which becomes the current one. The old question stays in its branch.
        """
        before = await self.message(question)
        if before.role != "user":
            raise UsageError(
                f"Message {question} is an answer, so it cannot be edited as a question.",
                "Name a question of this conversation to edit.",
            )
        return await self.ask(before.conversation, text, after=before.parent, **fields)

    async def again(self, answer: int, **fields: Unpack[SearchFields]) -> ConversationMessage:
        """Write an answer again, and return its message.

        An interrupted, cancelled or failed answer is replaced; otherwise a new branch begins. Raise TurnRunningError as
        ``ask`` does.
        """

        def begun() -> ConversationMessage:
            fence = self._turns.again(answer, self._worker)
            self._runner.start(fence, fields)
            return self._reader.message(fence.message)

        return await asyncio.to_thread(begun)

    async def cancel(self, answer: int) -> bool:
        """Stop writing an answer, and keep the text so far. Return whether the answer was being written."""
        return await asyncio.to_thread(lambda: self._runner.cancel(answer))

    async def stream(self, answer: int, after: int = 0) -> AsyncIterator[MessageEvent]:
        """Yield the events of an answer after an event number, until the answer has ended.

        If older events were deleted, the first event is ``state``, with the message so far. The last event is
        ``ended``, with the message. Closing the iterator does not stop the answer.
        """
        with self._news.listening(answer) as news:
            while True:
                news.clear()
                events, message = await asyncio.to_thread(self._reader.events, answer, after)
                if message is not None and message.last_event > after and not _connected(events, after):
                    yield MessageEvent(answer, message.last_event, "state", message.to_dict())
                    after = message.last_event
                    if message.status != "running":
                        return
                    continue
                for event in events:
                    after = event.number
                    if message is not None and event.kind == "ended" and after == message.last_event:
                        event = replace(event, detail=message.to_dict())
                    yield event
                if message is not None:
                    if not await asyncio.to_thread(self._turns.expire, message.conversation):
                        return
                    continue
                if not events:
                    with suppress(TimeoutError):
                        await asyncio.wait_for(news.wait(), _LOOK)

    async def wait(self, answer: int) -> ConversationMessage:
        """Wait until an answer has ended, and return it."""
        async for _ in self.stream(answer, (await self.message(answer)).last_event):
            pass
        return await self.message(answer)

    async def rename(self, id: str, title: str) -> Conversation:
        if not title.strip():
            raise UsageError("The title of the conversation is empty.", "Write a title.")
        await asyncio.to_thread(lambda: self._writer.name(id, " ".join(title.split()), "user"))
        return await self.get(id)

    async def turn_to(self, id: str, answer: int) -> list[ConversationMessage]:
        """Make the branch that ends with this answer the current one. Return its messages."""
        await asyncio.to_thread(lambda: self._writer.turn_to(id, answer))
        return await self.messages(id)

    async def turn_to_branch(self, id: str, message: int) -> list[ConversationMessage]:
        """Make the branch with this message current, up to its newest answer. Return its messages."""
        await asyncio.to_thread(lambda: self._writer.turn_to_branch(id, message))
        return await self.messages(id)

    async def narrow(self, id: str, documents: Sequence[str] = ()) -> Conversation:
        """Limit further questions to these documents of the conversation's libraries; () removes the limit.

        Return the conversation.
        """

        def restrict() -> None:
            scope = self._reader.conversation(id).scope
            with self._catalog.snapshot() as snapshot:
                names = [library.name for library in snapshot.named_libraries() if library.id in scope.libraries]
            narrowed = scope_of(self._catalog, names, documents, everything=not scope.libraries)
            self._writer.narrow(id, narrowed.documents)

        await asyncio.to_thread(restrict)
        return await self.get(id)

    async def about(self, library: str) -> int:
        """Return the number of conversations that search a library or cite it.

        These conversations stay when the library is deleted. Raise NotFoundError for an unknown library.
        """

        def counted() -> int:
            with self._catalog.snapshot() as snapshot:
                id = snapshot.library(library).id
            with self._catalog.reading() as connection:
                return conversations_about(connection, id)

        return await asyncio.to_thread(counted)

    async def remove(self, id: str) -> Conversation:
        """Delete a conversation with all messages, and return it. An answer that is being written is stopped."""
        conversation = await self.get(id)
        await asyncio.to_thread(lambda: self._writer.remove([id]))
        return conversation

    async def export(self, id: str, format: Format = "markdown", leaf: int | None = None) -> str:
        """Return a conversation's questions, answers and sources as Markdown or JSON, up to the message ``leaf``.

        ``leaf`` defaults to the current last message. With "bibtex" or "csl" return the cited documents for a reference
        manager.
        """
        conversation, path = await self.get(id), await self.messages(id, leaf)
        return exported(conversation, path, format)

    async def export_document(self, id: str, kind: DocumentKind, leaf: int | None = None) -> bytes:
        """Return the Markdown of ``export`` as a Word document ("docx") or a PDF."""
        from hybrid_pageindex.conversations.documents import to_document  # imports what only this method needs

        text = await self.export(id, "markdown", leaf)
        return await asyncio.to_thread(to_document, text, kind)

    async def place(self, answer: int, number: int) -> CitedPlace:
        """Return the place in a document that ``[[source:number]]`` in an answer cites."""
        return await asyncio.to_thread(lambda: self._place(answer, number))

    def close(self) -> None:
        """Interrupt the answers that this process is writing. They can be started again later."""
        self._runner.close()

    def _place(self, answer: int, number: int) -> CitedPlace:
        citation = next((entry for entry in self._reader.message(answer).citations if entry.number == number), None)
        if citation is None:
            raise NotFoundError(
                f"Message {answer} has no source {number}.", "Use the number of a citation in this answer."
            )
        with self._catalog.snapshot() as snapshot:
            library = next((entry.name for entry in snapshot.named_libraries() if entry.id == citation.library), "")
        if citation.state == "gone" or not library:
            return CitedPlace(
                citation, library, note="the document was removed: this is the text that the answer cited"
            )
        if citation.state == "changed":
            note = "the document has changed since: this text was cited, and it may be on another page now"
            return CitedPlace(citation, library, note=note)
        if citation.boxes is not None:
            return CitedPlace(citation, library, citation.boxes)
        try:
            layouts = Layouts(self._parts.pages)
            boxes = layouts.quote(library, citation.doc_id, citation.page, citation.quote, None)
        except NotFoundError:
            boxes = ()
        except DocumentError as error:
            return CitedPlace(citation, library, note=f"the position of the quotation on the page is unknown: {error}")
        self._writer.locate(answer, number, boxes)
        return CitedPlace(replace(citation, boxes=boxes), library, boxes)


def _connected(events: Sequence[MessageEvent], after: int) -> bool:
    """Return whether no event is missing between event number ``after`` and the first of ``events``."""
    return bool(events) and events[0].number == after + 1
