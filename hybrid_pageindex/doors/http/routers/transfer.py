"""A library as one file."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from starlette.responses import FileResponse, Response
from starlette.types import Receive, Scope, Send

from hybrid_core.store.scratch import scratch_folder
from hybrid_core.store.temporary import working_folder
from hybrid_pageindex.doors.http.callers import At, Owned, check
from hybrid_pageindex.doors.http.replies import attachment, described, said
from hybrid_pageindex.doors.http.uploads import received
from hybrid_pageindex.services.transfer import Imported

router = APIRouter(tags=["libraries"])
_BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
    }
}


@router.get("/libraries/{library}/export", responses=described("application/zip"), response_class=Response)
async def export_library(server: At, library: Owned) -> Response:
    """Its documents as files, its alias, notes and feedback; whoever imports it indexes them."""
    with ExitStack() as stack:
        parent = working_folder(server.engine.home / "tmp", 1, "An export")
        folder = Path(stack.enter_context(scratch_folder(parent)))
        work = server.engine.export_library(folder / "library.zip", library=library.name)
        made = await server.turn(server.answers, work)
        kept = stack.pop_all()
    headers = {**attachment(f"{library.name}.zip"), "Accept-Ranges": "none"}
    return _Passing(made.file, kept, headers)


@router.post("/imports", status_code=202, response_model=Imported, openapi_extra=_BODY)
async def import_library(
    request: Request, server: At, name: Annotated[str | None, Query(max_length=64)] = None
) -> Response:
    """A new library of a file that was exported, by default of its name."""
    check(request, "admin")
    settings = server.engine.settings
    async with received(request, server.engine.home, "library.zip", settings.max_upload_size) as uploads:
        file = uploads[0].data
        work = server.engine.import_library(file if isinstance(file, Path) else Path(), name=name)
        done = await server.turn(server.answers, work)
    server.standby.wake()
    return said(done, 202)


class _Passing(FileResponse):
    """A file that goes once it was sent, or the client went away. Each request makes it anew, so parts of two of them
    do not fit: ``Range`` is ignored.
    """

    def __init__(self, file: Path, kept: ExitStack, headers: Mapping[str, str]) -> None:
        super().__init__(file, media_type="application/zip", headers=headers)
        self._kept = kept

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        whole = {**scope, "headers": [(name, value) for name, value in scope["headers"] if name != b"range"]}
        with self._kept:
            await super().__call__(whole, receive, send)
