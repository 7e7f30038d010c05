"""Write answers in this process, each in its own thread. A lease in the catalog protects each answer."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import copy_context
from dataclasses import asdict
from functools import partial
from types import TracebackType

from hybrid_core.errors import BusyError, Cancelled, LeaseLostError, PageIndexError, StoreError
from hybrid_core.llm.budget import charged, cut
from hybrid_core.llm.client.chat_model import ChatModel
from hybrid_core.llm.prompts import prompt
from hybrid_core.logs import hide_question
from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.store.conversations.conversations import ConversationReader, ConversationWriter
from hybrid_core.store.conversations.tables import INTERRUPTED
from hybrid_core.store.conversations.turns import Turns
from hybrid_core.types.conversations import (
    Citation,
    Conversation,
    ConversationMessage,
    QuestionFrom,
    Summary,
    TurnFence,
)
from hybrid_core.types.requests import SearchFields
from hybrid_core.types.results import ReasoningStep
from hybrid_pageindex.config.settings import Settings, usual_fields
from hybrid_pageindex.conversations.memory import Memory, exchanges, remember, request_in, title_by, title_of
from hybrid_pageindex.conversations.turns import TurnMaker
from hybrid_pageindex.engine.concurrency import in_a_thread
from hybrid_pageindex.engine.models.models import Chat

_TICK = 0.05  # seconds for which pieces of text are collected before they are stored
_RENEW = 2.0  # seconds between renewals of the lease, which also detect cancellation by another process


class TurnKeeper:
    """A listener that stores an answer while it is written.

    Its thread stores new text and renews the lease that reserves the answer for this process. ``stopped`` is set if a
    user cancels the answer or another process took it over; ``lost`` is True in the latter case.
    """

    def __init__(self, turns: Turns, fence: TurnFence, stopped: threading.Event, tell: Callable[[int], None]) -> None:
        self._turns, self._fence, self.stopped, self._tell = turns, fence, stopped, tell
        self._lock = threading.Lock()
        self._pieces: list[str] = []
        self._written = 0.0
        self.shown: list[str] = []
        self.lost = False
        self._over = threading.Event()
        self.ended = threading.Event()
        self._thread = threading.Thread(target=self._keep, name="conversation", daemon=True)

    def __enter__(self) -> TurnKeeper:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._thread.join()

    def searches(self, question: str, question_from: QuestionFrom) -> None:
        self._write(lambda: self._turns.searches(self._fence, question, question_from))

    def step(self, step: ReasoningStep) -> None:
        self._write(lambda: self._turns.log(self._fence, [("step", asdict(step))]))

    def cites(self, sources: Sequence[Citation]) -> None:
        self._write(lambda: self._turns.cite(self._fence, sources))

    def text(self, piece: str) -> None:
        """Store a piece of the answer's text: the first piece at once, later pieces in batches."""
        with self._lock:
            if self.stopped.is_set():
                return
            self._pieces.append(piece)
            if time.monotonic() - self._written >= _TICK:
                with suppress(BusyError):  # it is stored with the next piece
                    self._flush()

    def flush(self) -> None:
        with self._lock:
            self._flush()

    @property
    def so_far(self) -> str:
        """Return the text of the answer so far."""
        with self._lock:
            return "".join([*self.shown, *self._pieces])

    def _write(self, write: Callable[[], None]) -> None:
        with self._lock:
            if self.stopped.is_set():
                raise Cancelled("The answer was stopped.")
            self._flush()
            self._guarded(write)
        self._tell(self._fence.message)

    def _flush(self) -> None:
        if self._pieces and not self.lost:
            text = "".join(self._pieces)
            self._guarded(lambda: self._turns.log(self._fence, [("text", {"text": text})]))
            self.shown.append(text)
            self._pieces.clear()
            self._written = time.monotonic()
            self._tell(self._fence.message)

    def _guarded(self, write: Callable[[], None]) -> None:
        try:
            write()
        except LeaseLostError:
            self.lost = True
            self.stopped.set()
            raise

    def _keep(self) -> None:
        renewed = time.monotonic()
        while not self._over.wait(_TICK):
            with suppress(StoreError):  # a busy store is tried again at the next tick
                self.flush()
                if time.monotonic() - renewed >= _RENEW:
                    with self._lock:
                        cancelled = self._renewed()
                    renewed = time.monotonic()
                    if cancelled:
                        self.stopped.set()

    def _renewed(self) -> bool:
        try:
            return self._turns.keep(self._fence)
        except LeaseLostError:
            self.lost = True
            return True


class News:
    """A notifier that wakes listeners when a message changes. Safe for several threads and event loops."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._listeners: dict[int, list[tuple[asyncio.AbstractEventLoop, asyncio.Event]]] = {}

    @contextmanager
    def listening(self, message: int) -> Iterator[asyncio.Event]:
        """Yield an asyncio event that is set when the message changes."""
        mine = (asyncio.get_running_loop(), asyncio.Event())
        with self._lock:
            self._listeners.setdefault(message, []).append(mine)
        try:
            yield mine[1]
        finally:
            with self._lock:
                self._listeners[message].remove(mine)
                if not self._listeners[message]:
                    del self._listeners[message]

    def tell(self, message: int) -> None:
        with self._lock:
            listeners = list(self._listeners.get(message, ()))
        for loop, event in listeners:
            with suppress(RuntimeError):  # the loop has ended
                loop.call_soon_threadsafe(event.set)


_SUMMARY = 500  # tokens of a summary
_END_SECONDS = 5.0  # maximum seconds to wait for an answer when the process ends
_UNEXPECTED_ERROR = "An unexpected error occurred; the log has the details. Ask again."
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
        """Start writing an answer in a thread, until it ends or ``cancel`` stops it. It needs no listeners."""
        keeper = TurnKeeper(self._turns, fence, threading.Event(), self._news.tell)
        with self._lock:
            self._running[fence.message] = keeper
        context = copy_context()  # carries the caller, to whom model calls are charged
        in_a_thread(lambda: context.run(self._run, fence, keeper, fields))

    def cancel(self, message: int) -> bool:
        """Cancel an answer in this or another process. Return whether it was being written."""
        cancelled = self._turns.cancel(message)
        with self._lock:
            keeper = self._running.get(message)
        if keeper is not None and cancelled:
            keeper.stopped.set()
        return cancelled

    def close(self) -> None:
        """Interrupt all answers of this process. Another process can take them over at once."""
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
                self._make(fence, keeper, fields)
        finally:
            with self._lock:
                self._running.pop(fence.message, None)
            keeper.ended.set()
            self._news.tell(fence.message)
        with suppress(PageIndexError):  # the conversation works without title and summary
            libraries = self._reader.conversation(fence.conversation).scope.libraries
            with charged(library=libraries[0] if len(libraries) == 1 else ""):
                self._summarise(fence)

    def _make(self, fence: TurnFence, keeper: TurnKeeper, fields: SearchFields) -> None:
        end = partial(self._turns.end, fence)
        try:
            conversation = self._reader.conversation(fence.conversation)
            path = self._reader.path(fence.conversation, fence.message)
            question = path[-2]
            hide_question(question.text)
            self._name(conversation, path, keeper, fence)
            memory = self._memory(path[:-2])
            request, note = request_in(self._catalog, conversation.scope, question.text, fields)
            complete = request.completed(usual_fields(self.settings))
            turn = self._maker.make(complete, memory, keeper, keeper.stopped, note)
            keeper.flush()
            end("complete", turn.text, turn.result, turn.citations)
        except LeaseLostError:
            pass  # another process has the answer, or it was removed
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
        except Exception:  # noqa: BLE001 - reported to the user, and the lease is released
            _log.exception("an answer of a conversation failed")
            with suppress(PageIndexError):
                end("failed", keeper.so_far, cause=_UNEXPECTED_ERROR)

    def _memory(self, path: list[ConversationMessage]) -> Memory:
        summary = self._reader.summary([message.id for message in path])
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
        """Let a model summarise the exchanges that do not fit the next prompt.

        Also let it write the conversation's title after the first answer, if the settings say so.
        """
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
    """Return a model's summary of the exchanges that do not fit the memory for prompts. Raise ChatError if it fails."""
    written = prompt("conversation-summary")
    text = "\n\n".join(exchange.text for exchange in memory.fallen)
    messages = written.messages({"notes": memory.summary or "none", "conversation": text})
    reply = model.say(messages, prompt=written.id, max_tokens=_SUMMARY)
    return Summary(memory.fallen[-1].message, cut(reply.text.strip(), _SUMMARY), f"{written.id} {model.name}")
