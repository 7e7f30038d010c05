"""Where documents come from on the server's disk: folders that are watched, paths that are indexed. For admins."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from hybrid_core.types.sources import Source
from hybrid_pageindex.doors.http.callers import Admin, At, Owned, Read
from hybrid_pageindex.doors.http.models import NewSource, PathsToIndex
from hybrid_pageindex.doors.http.replies import said, tagged
from hybrid_pageindex.doors.http.shapes import IndexingAsked

router = APIRouter(prefix="/libraries/{library}", tags=["sources"])


@router.get("/sources", response_model=list[Source])
async def list_sources(request: Request, server: At, library: Read) -> Response:
    return tagged(request, await server.engine.sources(library=library.name))


@router.post("/sources", status_code=201, response_model=Source)
async def watch_folder(server: At, library: Owned, _: Admin, body: NewSource) -> Response:
    """Keep the library up to date with a folder below --root."""
    folder = server.access.path(body.folder)
    made = await server.engine.watch_folder(
        folder, library=library.name, poll=body.poll, outline=body.outline, vision=body.vision, enrich=body.enrich
    )
    return said(made, 201)


@router.delete("/sources", response_model=Source)
async def unwatch_folder(
    server: At, library: Owned, _: Admin, folder: Annotated[str, Query(max_length=2000)], forget: bool = False
) -> Response:
    """Its documents stay; with ``forget`` an update looks at it no more either."""
    return said(await server.engine.unwatch_folder(folder, library=library.name, forget=forget))


@router.post("/index", status_code=202, response_model=IndexingAsked)
async def index_paths(server: At, library: Owned, _: Admin, body: PathsToIndex) -> Response:
    """Index files and folders below --root."""
    paths, problems, notes = server.access.files(body.paths)
    named = [server.access.path(one) for one in body.paths]
    report = await server.engine.index(
        list(paths),
        library=library.name,
        detach=True,
        sources=named,
        outline=body.outline,
        vision=body.vision,
        enrich=body.enrich,
    )
    server.standby.wake()
    failed = [*problems, *((file.path, file.error or "") for file in report.files if file.status == "failed")]
    said_of = {"files": len(paths), "problems": [{"path": path, "why": why} for path, why in failed]}
    return said(said_of | {"notes": [*notes, *report.notes]}, 202)
