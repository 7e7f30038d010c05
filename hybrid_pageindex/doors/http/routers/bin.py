"""The bin: what was removed, restored or deleted for good."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Request
from starlette.responses import Response

from hybrid_core.errors import NotFoundError
from hybrid_core.store.catalog.bin import BinEntry
from hybrid_core.types.access import Role
from hybrid_pageindex.doors.http.callers import Admin, Anybody, At, caller_of, check
from hybrid_pageindex.doors.http.replies import said, tagged
from hybrid_pageindex.doors.http.shapes import EmptiedBin

router = APIRouter(prefix="/bin", tags=["bin"])
EntryId = Annotated[str, Path(max_length=200)]


@router.get("", response_model=list[BinEntry])
async def list_bin(request: Request, server: At, caller: Anybody) -> Response:
    """Return what the caller can restore, the newest first. An entry is deleted for good at ``expires_at``."""
    entries = await server.turn(server.reads, server.engine.bin())
    return tagged(request, [entry for entry in entries if caller.may(_role(entry), entry.library_id)])


@router.post("/{entry}/restore", response_model=BinEntry)
async def restore_entry(request: Request, server: At, caller: Anybody, entry: EntryId) -> Response:
    """Bring documents or a library back as they were; notes, conversations and rights fit again."""
    await _require_entry(request, server, entry)
    return said(await server.engine.restore(entry))


@router.delete("/{entry}", status_code=204)
async def delete_entry(request: Request, server: At, caller: Anybody, entry: EntryId) -> Response:
    """Delete it for good: no copy is left."""
    await _require_entry(request, server, entry)
    await server.engine.empty_bin(entry)
    return Response(status_code=204)


@router.delete("", response_model=EmptiedBin)
async def empty_bin(server: At, _: Admin) -> Response:
    """Delete for good whatever is in the bin."""
    return said({"deleted": await server.engine.empty_bin()})


async def _require_entry(request: Request, server: At, entry: str) -> None:
    """Raise NotFoundError for an entry that the caller cannot see, Refusal where the role is missing."""
    caller = caller_of(request)
    readable = (each for each in await server.engine.bin() if caller.may("read", each.library_id))
    match = next((each for each in readable if each.id == entry), None)
    if match is None:
        raise NotFoundError(f"There is no '{entry}' in the bin.", "List the bin; entries last 30 days.")
    check(request, _role(match), match.library_id)


def _role(entry: BinEntry) -> Role:
    return "admin" if entry.kind == "library" else "write"
