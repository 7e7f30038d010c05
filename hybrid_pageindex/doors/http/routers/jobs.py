"""What is being indexed and what waits, what happens to it, and what is decided about it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Query, Request
from starlette.responses import Response

from hybrid_core.errors import NotFoundError
from hybrid_core.store.catalog.state import HOME, HomeState
from hybrid_core.types.access import EVERYWHERE, Role
from hybrid_core.types.jobs import JobEvent, JobStatus
from hybrid_pageindex.doors.http.callers import Anybody, At, caller_of, check, find_library, visible
from hybrid_pageindex.doors.http.events import SENT, Event, Heard, stream
from hybrid_pageindex.doors.http.models import JobsChosen
from hybrid_pageindex.doors.http.replies import said
from hybrid_pageindex.doors.http.server import Server
from hybrid_pageindex.doors.http.shapes import Decided, JobDetail, JobQueue
from hybrid_pageindex.services.job_news import JobNews
from hybrid_pageindex.services.jobs import JobHistory, at

router = APIRouter(prefix="/jobs", tags=["jobs"])
_SECONDS = 600.0  # after which a stream ends: its client comes back, with a token that is looked at again
JobId = Annotated[int, Path(ge=1, lt=2**53)]


@router.get("", response_model=JobQueue)
async def list_jobs(
    request: Request, server: At, caller: Anybody, library: Annotated[str | None, Query(max_length=200)] = None,
    status: Annotated[tuple[JobStatus, ...], Query(max_length=5)] = (),
    most: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> Response:  # fmt: skip
    """What runs first, then what waits in its order, then what has ended."""
    if library:
        one = await find_library(request, library, "read")
        return said(await server.engine.jobs(library=one.name, status=status, most=most))
    if caller.may("read", EVERYWHERE):
        return said(await server.engine.jobs(status=status, most=most))
    lists = [await server.engine.jobs(library=one.name, status=status, most=most) for one in await visible(request)]
    return said({"jobs": [view.to_dict() for one in lists for view in one.jobs][:most]})


@router.get("/events", responses=SENT, response_class=Response)
async def follow_jobs(
    request: Request, server: At, caller: Anybody, heard: Heard,
    library: Annotated[str | None, Query(max_length=200)] = None,
) -> Response:  # fmt: skip
    """What happens to jobs, as it happens. It begins with the state as it is, or after ``Last-Event-ID`` (or
    ``?after=``), where what happened since is still kept. ``changed`` names a library (its id) that came, changed or
    went; "" stands for what concerns no library alone: jobs were paused or forgotten, or everything was cleared.
    """
    if library:
        ids: list[str] | None = [(await find_library(request, library, "read")).id]
    else:
        ids = None if caller.may("read", EVERYWHERE) else [one.id for one in await visible(request)]
    state = await server.engine.home_state()  # before the answer begins: who then looks misses nothing
    return stream(server, _news(server, heard, None, ids, state))


@router.get("/{job}", response_model=JobDetail)
async def show_job(request: Request, server: At, job: JobId) -> Response:
    """With all that happened to it."""
    return said(await _seen(request, server, job, "read"))


@router.get("/{job}/events", responses=SENT, response_class=Response)
async def follow_job(request: Request, server: At, job: JobId, heard: Heard) -> Response:
    """What happens to one job, until it has ended."""
    await _seen(request, server, job, "read")
    return stream(server, _news(server, heard, job, None))


@router.post("/{job}/{action}", response_model=Decided)
async def decide_about_job(
    request: Request, server: At, job: JobId, action: Literal["pause", "resume", "cancel", "retry", "forget"]
) -> Response:
    await _seen(request, server, job, "write")
    decided = await getattr(server.engine, action)(job)
    server.standby.wake()
    return said(decided)


@router.post("/{action}", response_model=Decided)
async def decide_about_jobs(
    request: Request, server: At, action: Literal["pause", "resume", "cancel", "retry", "forget"], body: JobsChosen
) -> Response:
    """About several jobs, those of a library, or all."""
    if body.library:
        one = await find_library(request, body.library, "write")
        decided = await getattr(server.engine, action)(*body.jobs, library=one.name, everything=body.everything)
    else:
        if body.everything or not body.jobs:
            check(request, "write")
        for job in body.jobs:
            await _seen(request, server, job, "write")
        decided = await getattr(server.engine, action)(*body.jobs, everything=body.everything)
    server.standby.wake()
    return said(decided)


async def _seen(request: Request, server: Server, job: int, role: Role) -> JobHistory:
    """Raises NotFoundError also for one of a library that the caller may not read."""
    history = await server.engine.job(job)
    library = history.view.job.library
    if not caller_of(request).may("read", library):
        raise NotFoundError(f"No job {job}.")
    check(request, role, library)
    return history


async def _news(
    server: Server, after: int | None, job: int | None, ids: list[str] | None, state: HomeState | None = None
) -> AsyncIterator[Event]:
    end = time.monotonic() + _SECONDS
    newest: HomeState | None = None
    while time.monotonic() < end:
        news = await server.engine.job_events(after, job=job, libraries=ids)
        if job is not None and news.state is None and not news.events:
            now = await server.engine.job_events(None, job=job)
            news = now if _over(now) else news
        if news.state is not None:
            yield Event("state", {"jobs": [view.to_dict() for view in news.state]}, news.number)
        for event in news.events:
            yield Event(event.kind, _said(event), event.number)
        if job is not None and _over(news):
            return
        if state is not None and newest is not None:
            for library in newest.changed(state):
                if ids is None or library in (HOME, *ids):
                    yield Event("changed", {"library": library})
            state = newest
        newest = None
        if after == news.number or news.state is not None:
            with suppress(TimeoutError):
                newest = await asyncio.wait_for(server.feed.after(news.number, state), end - time.monotonic())
        after = news.number


def _over(news: JobNews) -> bool:
    return any(view.job.ended for view in news.state or ()) or any(event.kind in _LAST for event in news.events)


_LAST = frozenset({"done", "failed", "cancelled"})


def _said(event: JobEvent) -> dict[str, Any]:
    return {"job": event.job, "library": event.library, "at": at(event.at), "kind": event.kind, **event.detail}
