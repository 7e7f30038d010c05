"""Routes of libraries: create, rename, delete, restore from the bin, export, import, and make a sample library."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Query, Request
from fastapi import Path as PathParam
from starlette.responses import FileResponse, Response
from starlette.types import Receive, Scope, Send

from hybrid_core.errors import NotFoundError, StoreError
from hybrid_core.store.catalog.bin import BinEntry
from hybrid_core.store.home import make_file, scratch_folder, working_folder
from hybrid_core.types.access import Role
from hybrid_core.types.documents import DocumentRow
from hybrid_core.types.libraries import Library
from hybrid_pageindex.engine.documents.briefing import Briefing
from hybrid_pageindex.engine.documents.duplicates import Duplicates
from hybrid_pageindex.engine.index.reindexing import Estimate
from hybrid_pageindex.engine.index.uploads import Upload
from hybrid_pageindex.engine.libraries.libraries import LibrarySize
from hybrid_pageindex.engine.libraries.transfer import Imported
from hybrid_pageindex.http.errors import Refusal
from hybrid_pageindex.http.models import DocumentsChosen, LibraryNames, ModelNamed, NewLibrary
from hybrid_pageindex.http.replies import (
    attachment_headers,
    content_responses,
    json_response,
    tagged_response,
    weakly_tagged_response,
)
from hybrid_pageindex.http.responses import DeletedLibraries, EmptiedBin, JobMade, RebuildAsked, Rows, SampleState
from hybrid_pageindex.http.server import (
    Admin,
    AdminLibrary,
    AnyCaller,
    ReadableLibrary,
    Reader,
    Server,
    ServerState,
    WritableLibrary,
    Writer,
    caller_of,
    find_size,
    readable_libraries,
    require_role,
)
from hybrid_pageindex.http.uploads import received_files
from hybrid_pageindex.sample import COMPANY, SAMPLE_QUESTIONS, write_sample_report

router = APIRouter(prefix="/libraries", tags=["libraries"])
_UNTAGGED_FIELDS = ("used_at", "vector_bytes")  # a search changes them
bin_router = APIRouter(prefix="/bin", tags=["bin"])
EntryId = Annotated[str, PathParam(max_length=200)]
sample_router = APIRouter(prefix="/sample", tags=["libraries"])
_SAMPLE_MARK = "sample"  # a file in the home with the library's id, kept when the library is deleted
_SAMPLE_NAME, _SAMPLE_FILE, _SAMPLE_QUESTIONS = "sample", "kestrel-vale-2025-annual-report.pdf", 3
transfer_router = APIRouter(tags=["libraries"])
_IMPORT_BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
    }
}


@router.get("", response_model=list[LibrarySize])
async def list_libraries(
    request: Request, server: ServerState, caller: AnyCaller, find: Annotated[str, Query(max_length=200)] = ""
) -> Response:
    """List libraries, the most recently used first, with their sizes and the numbers of waiting and failed files."""
    sizes = await server.run_within(server.reads, server.engine.libraries.list(find))
    readable = [size for size in sizes if caller.may("read", size.id)]
    return weakly_tagged_response(request, readable, _UNTAGGED_FIELDS)


@router.post("", status_code=201, response_model=Library)
async def create_library(request: Request, server: ServerState, body: NewLibrary) -> Response:
    require_role(request, "write")
    library = await server.engine.libraries.create(body.name, alias=body.alias)
    return json_response(library, 201, Location=f"/api/v1/libraries/{quote(library.name, safe='')}")


@router.get("/{library}", response_model=LibrarySize)
async def show_library(request: Request, library: ReadableLibrary) -> Response:
    return weakly_tagged_response(request, await find_size(request, library), _UNTAGGED_FIELDS)


@router.get("/{library}/briefing", response_model=Briefing)
async def brief_library(
    request: Request, server: ServerState, library: ReadableLibrary, model: bool = False
) -> Response:
    """Describe a library: its newest documents, and questions that they answer. With ``model`` the language model
    writes the description.
    """
    work = server.engine.documents.briefing(library=library.name, model=model)
    return tagged_response(request, await server.run_within(server.answers if model else server.searches, work))


@router.post("/{library}/estimate", response_model=Estimate)
async def estimate_improving(server: ServerState, library: AdminLibrary, body: DocumentsChosen) -> Response:
    """Estimate what the configured models would need to improve documents: pages to see, calls, tokens and the price.
    No model is called.
    """
    return json_response(
        await server.run_within(server.answers, server.engine.models.estimate(body.documents, library=library.name))
    )


@router.patch("/{library}", response_model=Library)
async def name_library(server: ServerState, library: AdminLibrary, body: LibraryNames) -> Response:
    """Change the name or alias of a library. Its documents are not indexed again, and its id stays."""
    return json_response(await server.engine.libraries.name(library.name, name=body.name, alias=body.alias))


@router.delete("/{library}", response_model=DeletedLibraries)
async def delete_library(server: ServerState, library: AdminLibrary, for_good: bool = False) -> Response:
    """Move a library into the bin. ``bin`` is the id with which it can be restored for 30 days. With ``for_good`` it is
    deleted at once. Users' own files stay.
    """
    about = await server.engine.conversations.about(library.name)
    deleted = await server.engine.libraries.clear(library=library.name, for_good=for_good)
    return json_response({"deleted": deleted, "conversations_kept": about, "bin": "" if for_good else library.id})


@router.post("/{library}/embed", status_code=202, response_model=JobMade)
async def embed_library(server: ServerState, library: AdminLibrary, _: Admin, body: ModelNamed) -> Response:
    """Queue a job that computes vectors for the library's documents."""
    job = await server.engine.models.request_embedding(body.model, library=library.name)
    server.standby.wake()
    return json_response({"job": job}, 202)


@router.delete("/{library}/embed", status_code=204)
async def drop_vectors(server: ServerState, library: AdminLibrary) -> Response:
    """Delete the vectors of a library. Searches then use words only."""
    await server.engine.models.embed("none", library=library.name)
    return Response(status_code=204)


@router.get("/{library}/rows", response_model=Rows)
async def list_rows(request: Request, server: ServerState, library: ReadableLibrary) -> Response:
    """List every document as one short row, ordered by path, for clients that filter and sort themselves. A row
    contains its values in the order of ``columns``.
    """
    rows = await server.run_within(server.reads, server.engine.documents.rows(library=library.name))
    return tagged_response(request, {"columns": DocumentRow._fields, "rows": rows})


@router.get("/{library}/duplicates", response_model=Duplicates)
async def find_duplicates(request: Request, server: ServerState, library: ReadableLibrary) -> Response:
    """Group the documents of a library that are the same file, or have nearly the same words. Each call compares the
    words of the first pages of each document; the response says how many documents were compared.
    """
    work = server.engine.documents.duplicates(library=library.name)
    return tagged_response(request, await server.run_within(server.answers, work))


@router.post("/{library}/rebuild", status_code=202, response_model=RebuildAsked)
async def rebuild_library(server: ServerState, library: AdminLibrary) -> Response:
    """Index all documents of a library again from their files. The published versions stay in use until the new ones
    are published.
    """
    report = await server.engine.documents.rebuild(library=library.name, detach=True)
    server.standby.wake()
    return json_response({"notes": report.notes, "files": len(report.files)}, 202)


@router.post("/{library}/update", status_code=202, response_model=list[dict[str, Any]])
async def update_library(server: ServerState, library: WritableLibrary) -> Response:
    """Index new and changed files from the paths that the library was indexed from."""
    updates = await server.engine.update(library=library.name, detach=True)
    server.standby.wake()
    return json_response([asdict(update) | {"report": asdict(update.report)} for update in updates], 202)


@bin_router.get("", response_model=list[BinEntry])
async def list_bin(request: Request, server: ServerState, caller: AnyCaller) -> Response:
    """List the removed documents and libraries that the caller can restore, the newest first. An entry is deleted for
    good at ``expires_at``.
    """
    entries = await server.run_within(server.reads, server.engine.bin.list())
    return tagged_response(
        request, [entry for entry in entries if caller.may(_role_for_entry(entry), entry.library_id)]
    )


@bin_router.post("/{entry}/restore", response_model=BinEntry)
async def restore_entry(request: Request, server: ServerState, caller: AnyCaller, entry: EntryId) -> Response:
    """Restore documents or a library, with their notes, conversations and access rights."""
    await _require_entry(request, server, entry)
    return json_response(await server.engine.bin.restore(entry))


@bin_router.delete("/{entry}", status_code=204)
async def delete_entry(request: Request, server: ServerState, caller: AnyCaller, entry: EntryId) -> Response:
    """Delete an entry of the bin for good, so that it cannot be restored."""
    await _require_entry(request, server, entry)
    await server.engine.bin.empty(entry)
    return Response(status_code=204)


@bin_router.delete("", response_model=EmptiedBin)
async def empty_bin(server: ServerState, _: Admin) -> Response:
    """Delete everything in the bin for good."""
    return json_response({"deleted": await server.engine.bin.empty()})


async def _require_entry(request: Request, server: ServerState, entry: str) -> None:
    """Raise NotFoundError for a bin entry that the caller cannot see, Refusal if the caller lacks the role to restore
    it.
    """
    caller = caller_of(request)
    readable = (each for each in await server.engine.bin.list() if caller.may("read", each.library_id))
    match = next((each for each in readable if each.id == entry), None)
    if match is None:
        raise NotFoundError(
            f"The bin has no entry '{entry}'.", "List the entries of the bin. The engine deletes entries after 30 days."
        )
    require_role(request, _role_for_entry(match), match.library_id)


def _role_for_entry(entry: BinEntry) -> Role:
    return "admin" if entry.kind == "library" else "write"


@sample_router.get("", response_model=SampleState)
async def show_sample(request: Request, server: ServerState, _: Reader) -> Response:
    """Return the state of the sample library. ``library`` is its name, "" if it does not exist. ``offered`` says that
    it can be created.
    """
    return json_response(await _sample_state(request, server))


@sample_router.post("", status_code=201, response_model=SampleState)
async def make_sample(request: Request, server: ServerState, _: Writer) -> Response:
    """Create a library with a sample report. The request is refused if there are libraries, or if the sample was
    created before.
    """
    state = await _sample_state(request, server)
    if not state["offered"]:
        raise Refusal(
            409,
            "not_offered",
            "The sample library can be created only in a home that has no libraries and never had the sample.",
        )
    library = await server.engine.libraries.create(_SAMPLE_NAME, alias=COMPANY.split(",")[0])
    await asyncio.to_thread(lambda: _write_mark(server.engine.home, library.id))
    with scratch_folder(server.engine.home / "tmp") as folder:
        report = await asyncio.to_thread(lambda: write_sample_report(folder / _SAMPLE_FILE))
        await server.engine.upload([Upload(_SAMPLE_FILE, report)], library=library.name)
    server.standby.wake()
    return json_response(await _sample_state(request, server), 201)


async def _sample_state(request: Request, server: Server) -> dict[str, Any]:
    marked, all_of_them = (
        await asyncio.to_thread(lambda: _read_mark(server.engine.home)),
        await server.engine.libraries.named(),
    )
    name = next((item.name for item in await readable_libraries(request) if item.id == marked), "")
    questions = [item.question for item in SAMPLE_QUESTIONS[:_SAMPLE_QUESTIONS]]
    return {"library": name, "offered": not marked and not all_of_them, "questions": questions}


def _read_mark(home: Path) -> str:
    try:
        return (home / _SAMPLE_MARK).read_text(encoding="utf-8").strip()
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise StoreError(
            f"{home / _SAMPLE_MARK}: cannot be read ({error.strerror}).", "Check the permissions of this file."
        ) from error


def _write_mark(home: Path, library: str) -> None:
    make_file(home / _SAMPLE_MARK)
    (home / _SAMPLE_MARK).write_text(library + "\n", encoding="utf-8")


@transfer_router.get(
    "/libraries/{library}/export", responses=content_responses("application/zip"), response_class=Response
)
async def export_library(request: Request, server: ServerState, library: AdminLibrary) -> Response:
    """Export a library as one file: originals, alias, corrections, notes, feedback and conversations. Exporting other
    users' conversations needs the role admin in all libraries.
    """
    caller = caller_of(request)
    owner = None if caller.may("admin") else caller.id
    with ExitStack() as stack:
        parent = working_folder(server.engine.home / "tmp", 1, "An export")
        folder = Path(stack.enter_context(scratch_folder(parent)))
        work = server.engine.libraries.export_to(folder / "library.zip", library=library.name, owner=owner)
        exported = await server.run_within(server.answers, work)
        cleanup = stack.pop_all()
    headers = {**attachment_headers(f"{library.name}.zip"), "Accept-Ranges": "none"}
    return _ExportResponse(exported.file, cleanup, headers)


@transfer_router.post("/imports", status_code=202, response_model=Imported, openapi_extra=_IMPORT_BODY)
async def import_library(
    request: Request, server: ServerState, name: Annotated[str | None, Query(max_length=64)] = None
) -> Response:
    """Create a library from an exported file, by default under its original name."""
    require_role(request, "admin")
    settings = server.engine.settings
    async with received_files(request, server.engine.home, "library.zip", settings.max_upload_size) as uploads:
        file = uploads[0].data
        work = server.engine.libraries.import_from(file if isinstance(file, Path) else Path(), name=name)
        done = await server.run_within(server.answers, work)
    server.standby.wake()
    return json_response(done, 202)


class _ExportResponse(FileResponse):
    """A response that sends an exported file and then deletes it, also if the client disconnects.

    ``Range`` is ignored, because each request creates a new file.
    """

    def __init__(self, file: Path, cleanup: ExitStack, headers: Mapping[str, str]) -> None:
        super().__init__(file, media_type="application/zip", headers=headers)
        self._kept = cleanup

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        whole = {**scope, "headers": [(name, value) for name, value in scope["headers"] if name != b"range"]}
        with self._kept:
            await super().__call__(whole, receive, send)
