"""Turns under way in this process: each in a thread of its own, whether or not anybody listens."""

from __future__ import annotations

import logging
import threading
from contextlib import suppress
from contextvars import copy_context
from functools import partial

from hybrid_core.errors import Cancelled, LeaseLostError, PageIndexError
from hybrid_core.llm.client.chat_model import ChatModel
from hybrid_core.llm.metering import charged
from hybrid_core.llm.prompts import prompt
from hybrid_core.llm.token_estimate import cut
from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.store.conversations.reading import ConversationReader
from hybrid_core.store.conversations.rows import INTERRUPTED
from hybrid_core.store.conversations.turns import Turns
from hybrid_core.store.conversations.writing import ConversationWriter
from hybrid_core.types.conversations import Conversation, ConversationMessage, Summary, TurnFence
from hybrid_core.types.requests import SearchFields
from hybrid_pageindex.config.settings import Settings
from hybrid_pageindex.config.usual import usual_fields
from hybrid_pageindex.services.chatting import Chat
from hybrid_pageindex.services.conversations.keeper import TurnKeeper
from hybrid_pageindex.services.conversations.memory import Memory, exchanges, remember
from hybrid_pageindex.services.conversations.naming import title_by, title_of
from hybrid_pageindex.services.conversations.news import News
from hybrid_pageindex.services.conversations.scoping import request_in
from hybrid_pageindex.services.conversations.turn import TurnMaker
from hybrid_pageindex.services.running import in_a_thread

_SUMMARY = 500  # tokens
_END_SECONDS = 5.0  # that a process which ends waits for a turn at most
_UNEXPECTED = "Something unexpected went wrong; the log has the detail. Ask again."
_log = logging.getLogger(__name__)


class TurnRunner:
    def __init__(self, catalog: Catalog, maker: TurnMaker, chat: Chat, settings: Settings, news: News) -> None:
        self._catalog, self._maker, self._chat, self.settings, self._news = catalog, maker, chat, settings, news
        self._turns, self._reader, self._writer = (
            Turns(catalog),
            ConversationReader(catalog),
            ConversationWriter(catalog),
        )
        self._lock = threading.Lock()
        self._running: dict[int, TurnKeeper] = {}
        self._closed = False

    def start(self, fence: TurnFence, fields: SearchFields) -> None:
        """Make an answer that was begun. It goes on whoever listens; ``cancel`` or the end of the process end it."""
        keeper = TurnKeeper(self._turns, fence, threading.Event(), self._news.tell)
        with self._lock:
            self._running[fence.message] = keeper
        context = copy_context()  # who asks
        in_a_thread(lambda: context.run(self._run, fence, keeper, fields))

    def cancel(self, message: int) -> bool:
        """End a turn, here or in another process; whether it was running."""
        asked = self._turns.cancel(message)
        with self._lock:
            keeper = self._running.get(message)
        if keeper is not None and asked:
            keeper.stopped.set()
        return asked

    def close(self) -> None:
        """Turns under way are interrupted, and can be taken again at once."""
        with self._lock:
            self._closed = True
            running = list(self._running.values())
        for keeper in running:
            keeper.stopped.set()
        for keeper in running:
            keeper.ended.wait(_END_SECONDS)

    def _run(self, fence: TurnFence, keeper: TurnKeeper, fields: SearchFields) -> None:
        try:
            with keeper:
                self._made(fence, keeper, fields)
        finally:
            with self._lock:
                self._running.pop(fence.message, None)
            keeper.ended.set()
            self._news.tell(fence.message)
        with suppress(PageIndexError):  # without these the conversation goes on all the same
            libraries = self._reader.conversation(fence.conversation).scope.libraries
            with charged(library=libraries[0] if len(libraries) == 1 else ""):
                self._summarise(fence)

    def _made(self, fence: TurnFence, keeper: TurnKeeper, fields: SearchFields) -> None:
        end = partial(self._turns.end, fence)
        try:
            conversation = self._reader.conversation(fence.conversation)
            path = self._reader.path(fence.conversation, fence.message)
            asked = path[-2]
            self._name(conversation, path, keeper, fence)
            memory = self._memory(path[:-2])
            request, note = request_in(self._catalog, conversation.scope, asked.text, fields)
            complete = request.completed(usual_fields(self.settings))
            turn = self._maker.make(complete, memory, keeper, keeper.stopped, note)
            keeper.flush()
            end("complete", turn.text, turn.result, turn.citations)
        except LeaseLostError:
            pass  # whoever has it now, or has removed it, knows what becomes of it
        except Cancelled:
            if not keeper.lost:
                with suppress(LeaseLostError):
                    interrupted = self._closed
                    end(
                        "interrupted" if interrupted else "cancelled",
                        keeper.so_far,
                        cause=INTERRUPTED if interrupted else "",
                    )
        except PageIndexError as error:
            with suppress(PageIndexError):
                end("failed", keeper.so_far, cause=str(error))
        except Exception:  # noqa: BLE001 - whoever asked hears of it, and the lease is given back
            _log.exception("a turn failed")
            with suppress(PageIndexError):
                end("failed", keeper.so_far, cause=_UNEXPECTED)

    def _memory(self, path: list[ConversationMessage]) -> Memory:
        summary = self._reader.summary([one.id for one in path])
        return remember(exchanges(path), self.settings.conversation_tokens, summary)

    def _name(
        self, conversation: Conversation, path: list[ConversationMessage], keeper: TurnKeeper, fence: TurnFence
    ) -> None:
        if conversation.title or len(path) > 2:
            return
        title = title_of(path[0].text)
        self._writer.name(conversation.id, title, "rule")
        self._turns.log(fence, [("title", {"title": title})])
        self._news.tell(fence.message)

    def _summarise(self, fence: TurnFence) -> None:
        """Notes on what the next turn would not be shown any more, and a title by the model where that is wished."""
        model = self._chat.model()
        if model is None:
            return
        path = self._reader.path(fence.conversation, fence.message)
        if path[-1].status != "complete":
            return
        if len(path) == 2 and self.settings.conversation_titles == "model":
            self._writer.name(fence.conversation, title_by(model, path[0].text), "model")
        memory = self._memory(path)
        if memory.fallen:
            self._writer.summarise(_summary(model, memory))


def _summary(model: ChatModel, memory: Memory) -> Summary:
    """Raises ChatError."""
    written = prompt("conversation-summary")
    said = "\n\n".join(one.text for one in memory.fallen)
    messages = written.messages({"notes": memory.summary or "none", "conversation": said})
    reply = model.say(messages, prompt=written.id, max_tokens=_SUMMARY)
    return Summary(memory.fallen[-1].message, cut(reply.text.strip(), _SUMMARY), f"{written.id} {model.name}")
