"""How the engine's work leaves the event loop: in threads that can be stopped, in the background, from plain code."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any, TypeVar

T = TypeVar("T")


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
    """Run work that may wait long for a model in a thread that nobody waits for once the task is cancelled."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[T] = loop.create_future()
    context = contextvars.copy_context()

    def settle(value: Any, error: BaseException | None) -> None:
        if not done.done():
            done.set_result(value) if error is None else done.set_exception(error)

    def call() -> None:
        value, error = None, None
        try:
            value = context.run(work)
        except BaseException as raised:  # noqa: BLE001 - handed to the task that waits
            error = raised
        with suppress(RuntimeError):  # the loop has been closed meanwhile
            loop.call_soon_threadsafe(settle, value, error)

    threading.Thread(target=call, name="pageindex-model", daemon=True).start()
    return await done


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
