"""Documents: uploaded, listed, shown, removed; their originals and their section trees."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from starlette.datastructures import Headers
from starlette.responses import FileResponse, RedirectResponse, Response
from starlette.types import Receive, Scope, Send

from hybrid_core.errors import DocumentError, LockedError
from hybrid_core.types.documents import Document
from hybrid_pageindex.doors.http.callers import At, DocumentName, Read, Written
from hybrid_pageindex.doors.http.models import QUESTION, Corrections, PasswordGiven
from hybrid_pageindex.doors.http.ranges import Version, check_file, part_of, wanted_spans
from hybrid_pageindex.doors.http.replies import UNCHANGED, attachment, check_match, described, said, tagged
from hybrid_pageindex.doors.http.shapes import DocumentPart, DocumentRebuildAsked, RemovedDocuments, ShownDocument
from hybrid_pageindex.doors.http.uploads import received
from hybrid_pageindex.services.briefing import Briefing
from hybrid_pageindex.services.document_versions import DocumentVersion
from hybrid_pageindex.services.glossary import DefinedTerm
from hybrid_pageindex.services.listing import MOST, DocumentState
from hybrid_pageindex.services.uploading import Uploaded
from indexers.stages.report import FileResult

router = APIRouter(prefix="/libraries/{library}/documents", tags=["documents"])
_BODIES: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            "application/octet-stream": {"schema": {"type": "string", "format": "binary"}},
            "multipart/form-data": {
                "schema": {
                    "type": "object",
                    "properties": {"file": {"type": "array", "items": {"type": "string", "format": "binary"}}},
                }
            },
        },
    }
}


def shown(document: Document) -> dict[str, Any]:
    """A document as every answer shows it."""
    return asdict(document) | {"published": document.published, "unread": document.unread}


@router.get("", response_model=DocumentPart)
async def list_documents(
    request: Request, server: At, library: Read,
    where: Annotated[tuple[str, ...], Query(max_length=20)] = (), find: Annotated[str, Query(max_length=200)] = "",
    state: DocumentState = "all", sort: Annotated[str, Query(max_length=40)] = "path",
    most: Annotated[int, Query(ge=1, le=MOST)] = 100, cursor: Annotated[str, Query(max_length=4000)] = "",
) -> Response:  # fmt: skip
    """A part at a time. ``where`` as in a search; ``sort`` is path, name, title, pages, size or indexed_at, with "-"
    before it downwards.
    """
    work = server.engine.list_documents(
        library=library.name, where=where, find=find, state=state, sort=sort, most=most, cursor=cursor
    )
    found = await server.turn(server.reads, work)
    listed = {"documents": [shown(one) for one in found.documents], "total": found.total, "cursor": found.cursor}
    return tagged(request, listed)


@router.post("", status_code=202, response_model=Uploaded, openapi_extra=_BODIES)
async def upload_documents(
    request: Request, server: At, library: Written, name: Annotated[str | None, Query(max_length=1000)] = None
) -> Response:
    """Files to index: one as the body itself, with its name as ``?name=``, or several as multipart/form-data. Folders
    in names are kept. Each is a job.
    """
    limit = server.engine.settings.max_upload_size
    async with server.uploads.one(), received(request, server.engine.home, name, limit) as uploads:
        done = await server.engine.upload(uploads, library=library.name)
    server.standby.wake()
    return said(done, 202)


@router.get("/{document}", response_model=ShownDocument)
async def show_document(request: Request, server: At, library: Read, document: DocumentName) -> Response:
    """Everything that is known of it."""
    return tagged(request, shown(await server.engine.info(document, library=library.name)))


@router.get("/{document}/versions", response_model=list[DocumentVersion])
async def list_versions(request: Request, server: At, library: Read, document: DocumentName) -> Response:
    """Each content that was published of it, the newest first: of which bytes, by which rules and models."""
    return tagged(request, await server.engine.versions(document, library=library.name))


@router.patch("/{document}", responses=UNCHANGED, response_model=ShownDocument)
async def correct_document(
    request: Request, server: At, library: Written, document: DocumentName, body: Corrections
) -> Response:
    """Correct by hand what it is: title, organisation, year, quarter, date, type, tags. With ``If-Match``, the ETag of
    the document, only where nobody else changed it meanwhile.
    """
    found = await server.engine.info(document, library=library.name)
    seen = found if check_match(request, shown(found)) else None
    made = await server.engine.edit(found.doc_id, set=body.set, unset=body.unset, library=library.name, seen=seen)
    return tagged(request, shown(made))


@router.delete("/{document}", response_model=RemovedDocuments)
async def remove_document(server: At, library: Written, document: DocumentName, for_good: bool = False) -> Response:
    """With what lies in it. It can be restored for 30 days, by the id ``bin``; with ``for_good`` nothing but original
    files is left of it.
    """
    removal = await server.engine.remove_documents([document], library=library.name, for_good=for_good)
    return said({"removed": [shown(each) for each in removal.documents], "bin": removal.entry})


@router.post("/{document}/rebuild", status_code=202, response_model=DocumentRebuildAsked)
async def rebuild_document(server: At, library: Written, document: DocumentName) -> Response:
    """Make it anew from its file; what is published serves until then."""
    report = await server.engine.rebuild([document], library=library.name, detach=True)
    server.standby.wake()
    return said({"notes": report.notes, "files": [asdict(file) for file in report.files]}, 202)


@router.post("/{document}/unlock", response_model=FileResult)
async def unlock_document(server: At, library: Written, document: DocumentName, body: PasswordGiven) -> Response:
    """Index an encrypted file with its password, which is kept nowhere. Answers when the file can be searched."""
    report = await server.engine.rebuild([document], library=library.name, password=body.password)
    [file] = report.files[:1]
    if file.reason == LockedError.reason:
        raise LockedError("The password does not open the file.", "Try another one.")
    if file.status == "failed":
        raise DocumentError(file.error or "The file cannot be read.")
    return said(asdict(file))


@router.get("/{document}/original", responses=described("application/octet-stream"), response_class=Response)
async def original(request: Request, server: At, library: Read, document: DocumentName) -> Response:
    """The file itself, to be kept and never shown inside a page of ours; ranges of it can be asked for."""
    found = await server.engine.info(document, library=library.name)
    if link := await server.engine.original_link(found.doc_id, library=library.name):
        return RedirectResponse(link)
    version = Version(found.sha256, found.size, found.mtime)
    headers = {**attachment(found.name), **version.headers}
    if (unchanged := check_file(request, version, headers)) is not None:
        return unchanged
    spans = wanted_spans(Headers(scope=request.scope), version)
    if spans and len(spans) == 1:  # several are cut out of the whole file
        distant = await server.engine.distant_original(found.doc_id, library=library.name)
        if distant and (part := await part_of(distant, spans[0], headers)):
            return part
    async with AsyncExitStack() as stack:
        lent = server.engine.lent_original(found.doc_id, library=library.name)
        file = await stack.enter_async_context(lent)
        return _Lent(file, stack.pop_all(), headers)


@router.get("/{document}/briefing", response_model=Briefing)
async def brief_document(
    request: Request, server: At, library: Read, document: DocumentName, model: bool = False
) -> Response:
    """What it is, its sections, figures that it states, and questions that it answers; with ``model`` as the language
    model says it.
    """
    work = server.engine.briefing(document, library=library.name, model=model)
    return tagged(request, await server.turn(server.answers if model else server.searches, work))


@router.get("/{document}/glossary", response_model=list[DefinedTerm])
async def list_terms(request: Request, server: At, library: Read, document: DocumentName) -> Response:
    """The terms that it defines itself, each with its first definition and the page of that."""
    work = server.engine.glossary(document, library=library.name)
    return tagged(request, await server.turn(server.reads, work))


@router.get("/{document}/outline", response_model=dict[str, Any])
async def outline(
    request: Request, server: At, library: Read, document: DocumentName,
    q: Annotated[str | None, Query(max_length=QUESTION)] = None,
    depth: Annotated[int | None, Query(ge=1, le=100)] = None, node: Annotated[str | None, Query(max_length=20)] = None,
    text: bool = False, shape: Annotated[str, Query(pattern="^(full|flat|pageindex)$")] = "full",
) -> Response:  # fmt: skip
    """The section tree; with ``q`` every section scored for a question."""
    work = server.engine.outline(document, library=library.name, query=q, depth=depth, node=node, text=text)
    made = await (work if q is None else server.turn(server.searches, work))
    shapes: dict[str, Callable[[], Any]] = {
        "pageindex": made.to_pageindex,
        "flat": partial(asdict, made),
        "full": made.to_dict,
    }
    return tagged(request, shapes[shape]())


class _Lent(FileResponse):
    """A file that is given back once it was sent, or the client went away."""

    def __init__(self, file: Path, lent: AsyncExitStack, headers: Mapping[str, str]) -> None:
        super().__init__(file, media_type="application/octet-stream", headers=headers)
        self._lent = lent

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async with self._lent:
            await super().__call__(scope, receive, send)
