"""Run blocking engine work outside the event loop: in stoppable threads, in the background, or from ordinary code.

A coroutine that was called but not awaited raises an error with an explanation when it is used.
"""

from __future__ import annotations

import asyncio
import contextvars
import functools
import inspect
import threading
from collections import deque
from collections.abc import Callable, Coroutine, Generator, Iterator
from contextlib import suppress
from functools import partial
from typing import Any, NoReturn, TypeVar

from hybrid_core.errors import UsageError
from hybrid_core.store.database import reread
from hybrid_core.types.exhaustive import CompareFields, CompareRequest, GrepFields, GrepRequest
from hybrid_core.types.requests import SearchFields, SearchRequest

T = TypeVar("T")
THINKING = 256


def ignore_progress(*_: object) -> None:
    """Ignore progress reports; the default callback."""


async def stoppable(work: Callable[[threading.Event], T]) -> T:
    """Run work in a thread. If the task is cancelled, set the work's stop event and wait until it returns."""
    stop = threading.Event()
    task = asyncio.ensure_future(asyncio.to_thread(work, stop))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        stop.set()
        await asyncio.gather(task, return_exceptions=True)
        raise


async def in_the_background(work: Callable[[], T]) -> T:
    """Run work that may wait long for a model in a thread, and return its result.

    A cancelled task does not wait for the thread. At most ``THINKING`` such threads run in a process; further work
    waits for a free thread.
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
    """Run read-only work in a thread, and repeat it once if the connection to the catalog breaks."""
    return await asyncio.to_thread(reread, work)


async def read_in_the_background(work: Callable[[], T]) -> T:
    return await in_the_background(partial(reread, work))


def in_a_thread(work: Callable[[], None]) -> None:
    """Run work in a background thread to its end, even if the caller is cancelled."""
    _background.start(partial(contextvars.copy_context().run, work))


class _Background:
    """A pool of at most ``limit`` daemon threads, which run calls in order of arrival."""

    def __init__(self, limit: int) -> None:
        self._free = limit
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
    """Run one engine call from code that is not async, and return its result.

    This also works inside a running event loop, as in notebooks.
    """
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


class NotAwaitedError(UsageError, AttributeError):
    """Error for using the result of an engine call that was not awaited."""


class Pending(Coroutine[Any, Any, Any]):
    """A coroutine that raises an error with advice if it is used like a result, without ``await``."""

    def __init__(self, name: str, coroutine: Coroutine[Any, Any, Any]) -> None:
        self._name, self._coroutine = name, coroutine

    def send(self, value: Any) -> Any:
        return self._coroutine.send(value)

    def throw(self, *error: Any) -> Any:
        return self._coroutine.throw(*error)

    def close(self) -> None:
        self._coroutine.close()

    def __await__(self) -> Generator[Any, Any, Any]:
        return self._coroutine.__await__()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name.startswith("cr_"):  # tools ask each object for these
            raise AttributeError(name)
        self._refuse(f"{name!r} is asked of")

    def __iter__(self) -> Iterator[Any]:
        self._refuse("A loop goes over")

    def __len__(self) -> int:
        self._refuse("The length is asked of")

    def __getitem__(self, index: Any) -> Any:
        self._refuse("An item is asked of")

    def __bool__(self) -> bool:
        return True

    def __repr__(self) -> str:
        return f"<{self._name}(…) that is not awaited yet>"

    def _refuse(self, what: str) -> NoReturn:
        call = self._name.partition(".")[2]
        self._coroutine.close()
        raise NotAwaitedError(
            f"{what} {self._name}(…), which was not awaited.",
            f"In asynchronous code, write await engine.{call}(…). Elsewhere, write run(engine.{call}(…)) or use "
            "SyncEngine.",
        )


def awaited(kind: type[T], path: str = "") -> type[T]:
    """Make the public coroutine methods of a class return ``Pending`` calls, and return the class.

    A Pending call explains a missing ``await``. Signatures list all arguments by name. ``path`` is the name of the
    class in messages, for example "Engine.jobs"; by default the class name.
    """
    for name, method in list(vars(kind).items()):
        if not name.startswith("_") and inspect.iscoroutinefunction(method):
            setattr(kind, name, _pending(f"{path or kind.__name__}.{name}", method))
    return kind


def _pending(name: str, method: Callable[..., Coroutine[Any, Any, Any]]) -> Callable[..., Pending]:
    @functools.wraps(method)
    def call(*arguments: Any, **named: Any) -> Pending:
        return Pending(name, method(*arguments, **named))

    call.__signature__ = explicit(inspect.signature(method))  # type: ignore[attr-defined]
    return call


def explicit(signature: inspect.Signature) -> inspect.Signature:
    """Return a signature with the fields of a request in place of ``**fields``, for completion in notebooks."""
    parameters = list[inspect.Parameter]()
    for item in signature.parameters.values():
        fields = next((some for some in _FIELDS if some.__name__ in str(item.annotation)), None)
        if item.kind is not item.VAR_KEYWORD or fields is None:
            parameters.append(item)
            continue
        defaults = _FIELDS[fields].__dataclass_fields__
        for name, kind in fields.__annotations__.items():
            default = defaults[name].default if name in defaults else None
            parameters.append(
                inspect.Parameter(
                    name,
                    item.KEYWORD_ONLY,
                    default=None if default == () else default,
                    annotation=getattr(kind, "__forward_arg__", kind),
                )
            )
    return signature.replace(parameters=parameters)


_FIELDS: dict[Any, Any] = {SearchFields: SearchRequest, GrepFields: GrepRequest, CompareFields: CompareRequest}
