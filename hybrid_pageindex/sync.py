"""The synchronous engine, for scripts and notebooks."""

from __future__ import annotations

import asyncio
import functools
import inspect
import threading
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

from hybrid_core.errors import UsageError
from hybrid_pageindex.config.settings import Settings
from hybrid_pageindex.conversations.conversations import Conversations
from hybrid_pageindex.engine.concurrency import explicit
from hybrid_pageindex.engine.context import LazySubEngine
from hybrid_pageindex.engine.engine import Engine
from retrievers.pipeline.search import STAGES
from retrievers.pipeline.state import Stages

T = TypeVar("T")
_INTERNAL = frozenset(  # for servers and the command line, which have a loop of their own
    {
        "confine",
        "hand_back",
        "interrupt_turns",
        "offers",
        "waits",
        "watches",
        "work_on",
        "search_now",
        "annotated_original",
        "lent_original",
        "close",
    }
)


class Loop:
    """An event loop in a background thread, which runs coroutines for blocking code."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="pageindex-sync", daemon=True)
        self._thread.start()

    def wait(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine and return its result. Ctrl-C cancels it."""
        if self._loop.is_closed() or threading.current_thread() is self._thread:
            work.close()
            raise UsageError(
                "This engine is closed, or one of its own callbacks called it.",
                "Create another SyncEngine, and do not call the engine within its own callbacks.",
            )
        task = asyncio.run_coroutine_threadsafe(_whole(work), self._loop)
        try:
            return task.result()
        except KeyboardInterrupt:
            self._loop.call_soon_threadsafe(task.cancel)
            raise

    def close(self) -> None:
        if self._loop.is_closed():
            return
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.run_until_complete(self._loop.shutdown_default_executor())
        self._loop.close()


async def _whole(work: Coroutine[Any, Any, T]) -> T:
    return await work


def _waiting(method: Callable[..., Any], name: str) -> Callable[..., Any]:
    """Return a blocking version of the coroutine method ``name``. A streaming method returns an iterator."""

    @functools.wraps(method)
    def call(self: Any, *arguments: Any, **named: Any) -> Any:
        wrapped = getattr(self._inner, name)(*arguments, **named)
        if inspect.isasyncgen(wrapped):
            return _items(wrapped, self._loop)
        return self._loop.wait(wrapped) if asyncio.iscoroutine(wrapped) else wrapped

    call.__signature__ = explicit(inspect.signature(method))  # type: ignore[attr-defined]
    return call


def _items(stream: Any, loop: Loop) -> Iterator[Any]:
    try:
        while True:
            try:
                yield loop.wait(anext(stream))
            except StopAsyncIteration:
                return
    finally:
        loop.wait(stream.aclose())


def synchronous(kind: type[Any]) -> Callable[[type[T]], type[T]]:
    """Return a class decorator that adds blocking versions of the public methods of ``kind``.

    It also adds the sub-engines of ``kind`` as properties.
    """

    def filled(wrapped: type[T]) -> type[T]:
        for name, member in vars(kind).items():
            if name.startswith("_") or name in _INTERNAL or name in vars(wrapped):
                continue
            if isinstance(member, LazySubEngine):
                setattr(wrapped, name, property(functools.partial(_sub_engine, name), doc=member.__doc__))
            elif isinstance(member, property):
                setattr(wrapped, name, property(functools.partial(_inner, name), doc=member.__doc__))
            elif callable(member):
                setattr(wrapped, name, _waiting(member, name))
        return wrapped

    return filled


def _inner(name: str, own: Any) -> Any:
    return getattr(own._inner, name)


def _sub_engine(name: str, own: Any) -> Any:
    sub_engine: Any = getattr(own._inner, name)
    kind: Any = type(sub_engine)
    return _sub_engine_class(kind)(sub_engine, own._loop)


@functools.cache
def _sub_engine_class(kind: type[Any]) -> type[Any]:
    """Return a class with blocking versions of a sub-engine's methods."""
    return synchronous(kind)(type(f"Sync{kind.__name__}", (_SyncSubEngine,), {"__doc__": kind.__doc__}))


class _SyncSubEngine:
    def __init__(self, inner: Any, loop: Loop) -> None:
        self._inner, self._loop = inner, loop


@synchronous(Conversations)
class SyncConversations:
    """``Engine.conversations`` with blocking methods."""

    def __init__(self, inner: Conversations, loop: Loop) -> None:
        self._inner, self._loop = inner, loop

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...


@synchronous(Engine)
class SyncEngine:
    """A synchronous ``Engine``, whose calls block until their result is ready: ``engine.search("…").results``.

    The methods, sub-engines, arguments, results and errors are those of ``Engine``. All calls run in one event loop in
    a background thread, so the engine works in scripts, threads and notebooks. Callbacks run in that thread or in other
    threads.
    """

    def __init__(
        self, home: str | Path | None = None, *, settings: Settings | None = None, stages: Stages = STAGES
    ) -> None:
        self._inner, self._loop = Engine(home, settings=settings, stages=stages), Loop()

    @property
    def conversations(self) -> SyncConversations:
        """Return the conversations of this home, with blocking methods."""
        return SyncConversations(self._inner.conversations, self._loop)

    def close(self) -> None:
        """End running calls and release the search index for other processes. Safe to call twice."""
        self._inner.close()
        self._loop.close()

    def __enter__(self) -> SyncEngine:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Sync{self._inner!r}"

    if TYPE_CHECKING:  # the decorator adds the methods of Engine

        def __getattr__(self, name: str) -> Any: ...
