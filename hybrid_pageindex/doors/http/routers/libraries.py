"""Libraries: made, named, counted, deleted."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from hybrid_core.types.documents import DocumentRow
from hybrid_core.types.libraries import Library
from hybrid_pageindex.doors.http.callers import Admin, Anybody, At, Owned, Read, Written, check
from hybrid_pageindex.doors.http.models import DocumentsChosen, LibraryNames, ModelNamed, NewLibrary
from hybrid_pageindex.doors.http.replies import loosely_tagged, said, tagged
from hybrid_pageindex.doors.http.shapes import DeletedLibraries, JobMade, RebuildAsked, Rows
from hybrid_pageindex.services.briefing import Briefing
from hybrid_pageindex.services.estimating import Estimate
from hybrid_pageindex.services.sizes import LibrarySize

router = APIRouter(prefix="/libraries", tags=["libraries"])
_USED = ("used_at",)  # each search changes it


@router.get("", response_model=list[LibrarySize])
async def list_libraries(
    request: Request, server: At, caller: Anybody, find: Annotated[str, Query(max_length=200)] = ""
) -> Response:
    """With what can be searched, waits and failed; the last used first."""
    sizes = await server.turn(server.reads, server.engine.libraries(find))
    found = [one for one in sizes if caller.may("read", one.id)]
    return loosely_tagged(request, found, _USED)


@router.post("", status_code=201, response_model=Library)
async def create_library(request: Request, server: At, body: NewLibrary) -> Response:
    check(request, "write")
    made = await server.engine.create_library(body.name, alias=body.alias)
    return said(made, 201, Location=f"/api/v1/libraries/{quote(made.name, safe='')}")


@router.get("/{library}", response_model=LibrarySize)
async def show_library(request: Request, server: At, library: Read) -> Response:
    sizes = await server.turn(server.reads, server.engine.libraries(library.name))
    [size] = [one for one in sizes if one.id == library.id]
    return loosely_tagged(request, size, _USED)


@router.get("/{library}/briefing", response_model=Briefing)
async def brief_library(request: Request, server: At, library: Read, model: bool = False) -> Response:
    """What it holds, its newest documents, and questions that these answer; with ``model`` as the language model says
    it.
    """
    work = server.engine.briefing(library=library.name, model=model)
    return tagged(request, await server.turn(server.answers if model else server.searches, work))


@router.post("/{library}/estimate", response_model=Estimate)
async def estimate_improving(server: At, library: Owned, body: DocumentsChosen) -> Response:
    """What the models that are configured would take to improve documents: pages to be seen, calls, tokens, price. None
    is asked.
    """
    return said(await server.turn(server.answers, server.engine.estimate(body.documents, library=library.name)))


@router.patch("/{library}", response_model=Library)
async def name_library(server: At, library: Owned, body: LibraryNames) -> Response:
    """Give it another name or alias; nothing is indexed again, and its id stays."""
    return said(await server.engine.name_library(library.name, name=body.name, alias=body.alias))


@router.delete("/{library}", response_model=DeletedLibraries)
async def delete_library(server: At, library: Owned, for_good: bool = False) -> Response:
    """It can be restored for 30 days, by the id ``bin``; with ``for_good`` nothing but original files is left of it."""
    about = await server.engine.conversations.about(library.name)
    deleted = await server.engine.clear(library=library.name, for_good=for_good)
    return said({"deleted": deleted, "conversations_kept": about, "bin": "" if for_good else library.id})


@router.post("/{library}/embed", status_code=202, response_model=JobMade)
async def embed_library(server: At, library: Owned, _: Admin, body: ModelNamed) -> Response:
    """Ask for vectors of its documents: a job."""
    job = await server.engine.request_embedding(body.model, library=library.name)
    server.standby.wake()
    return said({"job": job}, 202)


@router.delete("/{library}/embed", status_code=204)
async def drop_vectors(server: At, library: Owned) -> Response:
    """From now on it is searched by words alone."""
    await server.engine.embed("none", library=library.name)
    return Response(status_code=204)


@router.get("/{library}/rows", response_model=Rows)
async def list_rows(request: Request, server: At, library: Read) -> Response:
    """Every document as one line of a list, by path: ten thousand in one answer, to be filtered and sorted where they
    are shown. A row has its values in the order of ``columns``.
    """
    found = await server.turn(server.reads, server.engine.document_rows(library=library.name))
    return tagged(request, {"columns": DocumentRow._fields, "rows": found})


@router.post("/{library}/rebuild", status_code=202, response_model=RebuildAsked)
async def rebuild_library(server: At, library: Owned) -> Response:
    """Make all of its documents anew from their files; what is published serves until then."""
    report = await server.engine.rebuild(library=library.name, detach=True)
    server.standby.wake()
    return said({"notes": report.notes, "files": len(report.files)}, 202)


@router.post("/{library}/update", status_code=202, response_model=list[dict[str, Any]])
async def update_library(server: At, library: Written) -> Response:
    """Look at the sources again: what is new or changed is asked for."""
    updates = await server.engine.update(library=library.name, detach=True)
    server.standby.wake()
    return said([asdict(one) | {"report": asdict(one.report)} for one in updates], 202)
