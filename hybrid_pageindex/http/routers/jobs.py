"""Routes of indexing: jobs, their events, and watched folders and paths on the server's disk."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request
from fastapi import Path as PathParam
from starlette.responses import Response

from hybrid_core.errors import NotFoundError
from hybrid_core.store.catalog.maintenance import HOME, HomeState
from hybrid_core.types.access import EVERYWHERE, Role
from hybrid_core.types.jobs import JobEvent, JobStatus
from hybrid_core.types.sources import Source
from hybrid_pageindex.engine.index.uploads import Uploaded
from hybrid_pageindex.engine.job_views import JobHistory, JobNews, at
from hybrid_pageindex.http.errors import Refusal
from hybrid_pageindex.http.models import JobsChosen, NewSource, PathsToIndex, WebAddress
from hybrid_pageindex.http.replies import (
    EVENT_RESPONSES,
    Event,
    LastEvent,
    json_response,
    stream_events,
    tagged_response,
)
from hybrid_pageindex.http.responses import Decided, IndexingAsked, JobDetail, JobQueue
from hybrid_pageindex.http.server import (
    Admin,
    AdminLibrary,
    AnyCaller,
    ReadableLibrary,
    Server,
    ServerState,
    WritableLibrary,
    caller_of,
    find_library,
    read_each,
    readable_libraries,
    require_role,
)

router = APIRouter(prefix="/jobs", tags=["jobs"])
_STREAM_SECONDS = 600.0  # maximum duration of a stream; the client then reconnects, and its token is checked again
JobId = Annotated[int, PathParam(ge=1, lt=2**53)]
_FINAL_EVENTS = frozenset({"done", "failed", "cancelled"})
sources_router = APIRouter(prefix="/libraries/{library}", tags=["sources"])


@router.get("", response_model=JobQueue)
async def list_jobs(
    request: Request, server: ServerState, caller: AnyCaller,
    library: Annotated[str | None, Query(max_length=200)] = None,
    status: Annotated[tuple[JobStatus, ...], Query(max_length=5)] = (),
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> Response:  # fmt: skip
    """List running jobs, then waiting jobs in the order of the queue, then ended jobs."""
    if library:
        readable = await find_library(request, library, "read")
        return json_response(await server.engine.jobs.list(library=readable.name, status=status, limit=limit))
    if caller.may("read", EVERYWHERE):
        return json_response(await server.engine.jobs.list(status=status, limit=limit))
    lists = await read_each(request, lambda name: server.engine.jobs.list(library=name, status=status, limit=limit))
    return json_response({"jobs": [view.to_dict() for readable in lists for view in readable.jobs][:limit]})


@router.get("/events", responses=EVENT_RESPONSES, response_class=Response)
async def follow_jobs(
    request: Request, server: ServerState, caller: AnyCaller, heard: LastEvent,
    library: Annotated[str | None, Query(max_length=200)] = None,
) -> Response:  # fmt: skip
    """Stream the events of jobs. The stream begins with the current state, or after ``Last-Event-ID`` (or ``?after=``)
    if those events are still stored. An event ``changed`` has the id of a library that was created, changed or deleted.
    The id is "" if jobs were paused or forgotten, the bin has changed, or everything was deleted.
    """
    if library:
        ids: list[str] | None = [(await find_library(request, library, "read")).id]
    else:
        ids = (
            None if caller.may("read", EVERYWHERE) else [readable.id for readable in await readable_libraries(request)]
        )
    state = await server.engine.admin.state()  # read before the stream begins, so that the client misses no change
    return stream_events(server, _job_stream(server, heard, None, ids, state))


@router.get("/{job}", response_model=JobDetail)
async def show_job(request: Request, server: ServerState, job: JobId) -> Response:
    """Return a job with its history."""
    return json_response(await _find_job(request, server, job, "read"))


@router.get("/{job}/events", responses=EVENT_RESPONSES, response_class=Response)
async def follow_job(request: Request, server: ServerState, job: JobId, heard: LastEvent) -> Response:
    """Stream the events of one job until it ends."""
    await _find_job(request, server, job, "read")
    return stream_events(server, _job_stream(server, heard, job, None))


@router.post("/{job}/{action}", response_model=Decided)
async def decide_about_job(
    request: Request, server: ServerState, job: JobId, action: Literal["pause", "resume", "cancel", "retry", "forget"]
) -> Response:
    await _find_job(request, server, job, "write")
    decided = await getattr(server.engine.jobs, action)(job)
    server.standby.wake()
    return json_response(decided)


@router.post("/{action}", response_model=Decided)
async def decide_about_jobs(
    request: Request,
    server: ServerState,
    action: Literal["pause", "resume", "cancel", "retry", "forget"],
    body: JobsChosen,
) -> Response:
    """Pause, resume, cancel, retry or forget jobs: several by number, those of a library, or all."""
    if body.library:
        writable = await find_library(request, body.library, "write")
        decided = await getattr(server.engine.jobs, action)(
            *body.jobs, library=writable.name, everything=body.everything
        )
    else:
        if body.everything or not body.jobs:
            require_role(request, "write")
        for job in body.jobs:
            await _find_job(request, server, job, "write")
        decided = await getattr(server.engine.jobs, action)(*body.jobs, everything=body.everything)
    server.standby.wake()
    return json_response(decided)


async def _find_job(request: Request, server: Server, job: int, role: Role) -> JobHistory:
    """Return a job with its history.

    Raise NotFoundError if it is unknown or in a library that the caller may not read.
    """
    history = await server.engine.jobs.get(job)
    library = history.view.job.library
    if not caller_of(request).may("read", library):
        raise NotFoundError(f"Job {job} does not exist.")
    require_role(request, role, library)
    return history


async def _job_stream(
    server: Server, after: int | None, job: int | None, ids: list[str] | None, state: HomeState | None = None
) -> AsyncIterator[Event]:
    end = time.monotonic() + _STREAM_SECONDS
    newest: HomeState | None = None
    while time.monotonic() < end:
        news = await server.engine.jobs.events(after, job=job, libraries=ids)
        if job is not None and news.state is None and not news.events:
            now = await server.engine.jobs.events(None, job=job)
            news = now if _has_ended(now) else news
        if news.state is not None:
            yield Event("state", {"jobs": [view.to_dict() for view in news.state]}, news.number)
        for event in news.events:
            yield Event(event.kind, _event_payload(event), event.number)
        if job is not None and _has_ended(news):
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


def _has_ended(news: JobNews) -> bool:
    return any(view.job.ended for view in news.state or ()) or any(event.kind in _FINAL_EVENTS for event in news.events)


def _event_payload(event: JobEvent) -> dict[str, Any]:
    return {"job": event.job, "library": event.library, "at": at(event.at), "kind": event.kind, **event.detail}


@sources_router.get("/sources", response_model=list[Source])
async def list_sources(request: Request, server: ServerState, library: ReadableLibrary) -> Response:
    return tagged_response(request, await server.engine.sources.list(library=library.name))


@sources_router.post("/sources", status_code=201, response_model=Source)
async def watch_folder(server: ServerState, library: AdminLibrary, _: Admin, body: NewSource) -> Response:
    """Watch a folder below a ``--root`` of the server, and index its changes into the library."""
    folder = server.access.path(body.folder)
    source = await server.engine.sources.watch_folder(
        folder, library=library.name, poll=body.poll, outline=body.outline, vision=body.vision, enrich=body.enrich
    )
    return json_response(source, 201)


@sources_router.delete("/sources", response_model=Source)
async def unwatch_folder(
    server: ServerState,
    library: AdminLibrary,
    _: Admin,
    folder: Annotated[str, Query(max_length=2000)],
    forget: bool = False,
) -> Response:
    """Stop watching a folder. Its documents stay. With ``forget``, later updates ignore the folder, too."""
    return json_response(await server.engine.sources.unwatch_folder(folder, library=library.name, forget=forget))


@sources_router.post("/index", status_code=202, response_model=IndexingAsked)
async def index_paths(server: ServerState, library: AdminLibrary, _: Admin, body: PathsToIndex) -> Response:
    """Index files and folders below a ``--root`` of the server."""
    paths, problems, notes = server.access.files(body.paths)
    sources = [server.access.path(name) for name in body.paths]
    report = await server.engine.index(
        list(paths),
        library=library.name,
        detach=True,
        sources=sources,
        outline=body.outline,
        vision=body.vision,
        enrich=body.enrich,
    )
    server.standby.wake()
    failed = [*problems, *((file.path, file.error or "") for file in report.files if file.status == "failed")]
    said_of = {"files": len(paths), "problems": [{"path": path, "why": why} for path, why in failed]}
    return json_response(said_of | {"notes": [*notes, *report.notes]}, 202)


@sources_router.post("/fetch", status_code=202, response_model=Uploaded)
async def fetch_page(server: ServerState, library: WritableLibrary, body: WebAddress) -> Response:
    """Fetch a web address and index its file by a job. The setting ``fetch_web`` must allow it. Addresses and redirects
    to hosts that are not public are refused.
    """
    if server.engine.settings.fetch_web == "never":
        raise Refusal(
            409,
            "fetching_off",
            "This server does not fetch files from the web.",
            "Save the page to a file and upload the file, or ask the owner of the server to set fetch_web to public.",
        )
    async with server.uploads.take():
        done = await server.engine.fetch(body.address, library=library.name)
    server.standby.wake()
    return json_response(done, 202)
