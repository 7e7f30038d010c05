"""How the engine's work leaves the event loop: in threads that can be stopped, in the background, from plain code."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections import deque
from collections.abc import Callable, Coroutine
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar

from hybrid_core.store.rereading import reread

T = TypeVar("T")
THINKING = 256


async def stoppable(work: Callable[[threading.Event], T]) -> T:
    """Run work in a thread; cancelling the task sets the event and waits until the work has stopped."""
    stop = threading.Event()
    task = asyncio.ensure_future(asyncio.to_thread(work, stop))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        stop.set()
        await asyncio.gather(task, return_exceptions=True)
        raise


async def in_the_background(work: Callable[[], T]) -> T:
    """Run work that may wait long for a model in a thread that nobody waits for once the task is cancelled.

    ``THINKING`` of them run at once in a process; more wait until one is over.
    """
    loop = asyncio.get_running_loop()
    done: asyncio.Future[T] = loop.create_future()
    context = contextvars.copy_context()

    def settle(value: Any, error: BaseException | None) -> None:
        if not done.done():
            done.set_result(value) if error is None else done.set_exception(error)

    def call() -> None:
        if done.cancelled():
            return
        value, error = None, None
        try:
            value = context.run(work)
        except BaseException as raised:  # noqa: BLE001 - handed to the task that waits
            error = raised
        with suppress(RuntimeError):  # the loop has been closed meanwhile
            loop.call_soon_threadsafe(settle, value, error)

    _background.start(call)
    return await done


async def read_in_thread(work: Callable[[], T]) -> T:
    """Run what only reads in a thread, once more where the connection to the catalog breaks in its middle."""
    return await asyncio.to_thread(reread, work)


async def read_in_the_background(work: Callable[[], T]) -> T:
    return await in_the_background(partial(reread, work))


def in_a_thread(work: Callable[[], None]) -> None:
    """Run work in such a thread, also when whoever asked for it has gone."""
    _background.start(work)


class _Background:
    """Daemon threads, so many at once, for calls in the order in which they came."""

    def __init__(self, most: int) -> None:
        self._free = most
        self._waiting: deque[Callable[[], None]] = deque()
        self._lock = threading.Lock()

    def start(self, call: Callable[[], None]) -> None:
        with self._lock:
            self._waiting.append(call)
            if not self._free:
                return
            self._free -= 1
        threading.Thread(target=self._work, name="pageindex-model", daemon=True).start()

    def _work(self) -> None:
        while True:
            with self._lock:
                if not self._waiting:
                    self._free += 1
                    return
                call = self._waiting.popleft()
            call()


_background = _Background(THINKING)


def run(work: Coroutine[Any, Any, T]) -> T:
    """Wait for one engine call from ordinary code, also where an event loop is already running (notebooks)."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    outcome: list[T] = []
    failure: list[BaseException] = []

    def call() -> None:
        try:
            outcome.append(asyncio.run(work))
        except BaseException as error:  # noqa: BLE001 - handed to the caller's thread
            failure.append(error)

    thread = threading.Thread(target=call, name="pageindex-run")
    thread.start()
    thread.join()
    if failure:
        raise failure[0]
    return outcome[0]
