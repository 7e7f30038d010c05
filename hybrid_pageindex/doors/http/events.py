"""Server-sent events: one way to tell them for jobs, searches, answers, and whatever comes to be followed.

A client that goes away cancels nothing. One that comes back says with ``Last-Event-ID`` what it has heard.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Depends, Header, Query
from starlette.requests import Request
from starlette.responses import StreamingResponse

from hybrid_core.errors import PageIndexError
from hybrid_pageindex.doors.http.errors import Refusal, told
from hybrid_pageindex.doors.http.server import Server

_ALIVE = 15.0  # seconds after which a silent stream says that it is there
_RETRY = 1000  # ms after which a client comes back
_HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}  # a proxy must not wait for more
_TEXT = {"text/event-stream": {"schema": {"type": "string"}}}
SENT: dict[int | str, dict[str, Any]] = {200: {"content": _TEXT, "description": "Server-sent events."}}
"""What the description of a route that streams says of it."""


@dataclass(frozen=True, slots=True)
class Event:
    """``id`` is what the client shows when it comes back, where the stream can be resumed."""

    kind: str
    data: Any
    id: int | None = None

    def encoded(self) -> bytes:
        number = "" if self.id is None else f"id: {self.id}\n"
        return f"{number}event: {self.kind}\ndata: {json.dumps(self.data, ensure_ascii=False)}\n\n".encode(
            "utf-8", "replace"
        )


def last_event(
    last_event_id: Annotated[str, Header(max_length=200, description="the number of the last event heard")] = "",
    after: Annotated[int | None, Query(ge=0, lt=2**53, description="the same, for a first request")] = None,
) -> int | None:
    """What a client has heard; None for nothing."""
    said = last_event_id
    return int(said) if said.isascii() and said.isdigit() and len(said) < 19 else after


Heard = Annotated[int | None, Depends(last_event)]


def wants_events(request: Request) -> bool:
    return "text/event-stream" in request.headers.get("accept", "")


def stream(server: Server, source: AsyncIterator[Event], *, resumed: bool = True) -> StreamingResponse:
    """Tells a source's events until it ends, or the server does: the last event is then ``end``.

    ``resumed``: its clients come back where it breaks off; those of others may not understand that they are told when.
    """
    return StreamingResponse(_wire(server, source, resumed), headers=_HEADERS, media_type="text/event-stream")


async def _wire(server: Server, source: AsyncIterator[Event], resumed: bool) -> AsyncIterator[bytes]:
    ending = asyncio.create_task(server.ending.wait())
    coming: asyncio.Task[Event] | None = None
    if resumed:
        yield f"retry: {_RETRY}\n\n".encode()
    try:
        while True:
            coming = coming or asyncio.create_task(_next(source))
            both: set[asyncio.Task[Any]] = {coming, ending}
            done, _ = await asyncio.wait(both, timeout=_ALIVE, return_when=asyncio.FIRST_COMPLETED)
            if coming in done:
                try:
                    event = coming.result()
                except StopAsyncIteration:
                    return
                coming = None
                yield event.encoded()
            elif done:
                yield Event("end", {"code": "server_ending"}).encoded()
                return
            else:
                yield b": alive\n\n"
    except PageIndexError as error:
        yield Event("error", told(error)).encoded()
    except Refusal as refusal:
        said = {"code": refusal.code, "message": refusal.message, "advice": refusal.advice}
        yield Event("error", said).encoded()
    finally:
        for task in (coming, ending):
            if task is not None:
                task.cancel()
                with suppress(asyncio.CancelledError, Exception):
                    await task
        if hasattr(source, "aclose"):
            await source.aclose()


async def _next(source: AsyncIterator[Event]) -> Event:
    return await anext(source)


async def as_it_works(
    work: Callable[[Callable[[Event], None]], Awaitable[Event]],
) -> AsyncIterator[Event]:
    """What work tells, from any thread, and what comes of it. It goes on where nobody listens any more."""
    loop, told_events = asyncio.get_running_loop(), asyncio.Queue[Event | None]()

    def tell(event: Event) -> None:
        with suppress(RuntimeError):  # the loop has ended
            loop.call_soon_threadsafe(told_events.put_nowait, event)

    task = asyncio.ensure_future(work(tell))
    task.add_done_callback(lambda _: loop.call_soon(told_events.put_nowait, None))
    task.add_done_callback(lambda done: None if done.cancelled() else done.exception() and None)
    while (event := await told_events.get()) is not None:
        yield event
    while not told_events.empty():
        if (late := told_events.get_nowait()) is not None:
            yield late
    yield task.result()
