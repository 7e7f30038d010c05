"""Routes of documents and their pages: upload, list, correct, remove, read, draw."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal, get_args
from urllib.parse import quote

from fastapi import APIRouter, Depends, Query, Request
from fastapi import Path as PathParam
from starlette.datastructures import Headers
from starlette.responses import FileResponse, RedirectResponse, Response
from starlette.types import Receive, Scope, Send

from hybrid_core.errors import DocumentError, LockedError, NotFoundError
from hybrid_core.types.documents import Document
from hybrid_core.types.libraries import Library
from hybrid_core.types.locators import PageLayout
from hybrid_pageindex.engine.documents.briefing import Briefing
from hybrid_pageindex.engine.documents.contents import DefinedTerm, Matches
from hybrid_pageindex.engine.documents.documents import MOST, DocumentSort, DocumentState, DocumentVersion
from hybrid_pageindex.engine.documents.facts import DocumentFacts
from hybrid_pageindex.engine.documents.reading import PageRead, page_list
from hybrid_pageindex.engine.index.uploads import Uploaded
from hybrid_pageindex.http.models import QUESTION, Corrections, PasswordGiven
from hybrid_pageindex.http.replies import (
    CHANGED_RESPONSES,
    FileVersion,
    attachment_headers,
    check_file,
    check_match,
    content_responses,
    json_response,
    part_response,
    requested_spans,
    tagged_response,
    with_tag,
)
from hybrid_pageindex.http.responses import (
    BoxesOfQuote,
    DocumentPart,
    DocumentRebuildAsked,
    RemovedDocuments,
    ShownDocument,
)
from hybrid_pageindex.http.server import DocumentName, ReadableLibrary, Server, ServerState, WritableLibrary
from hybrid_pageindex.http.uploads import received_files
from indexers.jobs.report import FileResult

router = APIRouter(prefix="/libraries/{library}/documents", tags=["documents"])
_UPLOAD_BODIES: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            "application/octet-stream": {"schema": {"type": "string", "format": "binary"}},
            "multipart/form-data": {
                "schema": {
                    "type": "object",
                    "required": ["file"],
                    "properties": {
                        "file": {"type": "array", "minItems": 1, "items": {"type": "string", "format": "binary"}}
                    },
                }
            },
        },
    }
}
pages_router = APIRouter(prefix="/libraries/{library}/documents/{document}", tags=["pages"])
PageNumber = Annotated[int, PathParam(ge=1, le=10**6)]
Scale = Annotated[int, Query(ge=1, le=2)]
_SORT_PATTERN = f"^-?({'|'.join(get_args(DocumentSort))})$"
_PICTURE_DPI = 96  # resolution at scale 1
_PAGES_PER_REPLY = 100  # maximum pages of one response
_FOREVER = "private, max-age=31536000, immutable"
_PNG, _JPEG = content_responses("image/png"), content_responses("image/jpeg")


def document_payload(document: Document) -> dict[str, Any]:
    """Return the JSON form that a document has in all responses."""
    return asdict(document) | {"published": document.published, "unread": document.unread}


@dataclass(frozen=True, slots=True)
class DocumentListing:
    """Select and order the documents of a list."""

    where: Annotated[tuple[str, ...], Query(max_length=20)] = ()
    find: Annotated[str, Query(max_length=200)] = ""
    state: DocumentState = "all"
    sort: Annotated[str, Query(max_length=40, json_schema_extra={"pattern": _SORT_PATTERN})] = "path"
    limit: Annotated[int, Query(ge=1, le=MOST)] = 100
    cursor: Annotated[str, Query(max_length=4000)] = ""


@router.get("", response_model=DocumentPart)
async def list_documents(
    request: Request, server: ServerState, library: ReadableLibrary, listing: Annotated[DocumentListing, Depends()]
) -> Response:
    """List documents in batches. ``where`` filters as in a search. ``sort`` is path, name, title, pages, size or
    indexed_at, with "-" before it for descending order.
    """
    work = server.engine.documents.browse(library=library.name, **asdict(listing))
    part = await server.run_within(server.reads, work)
    listed = {
        "documents": [document_payload(entry) for entry in part.documents],
        "total": part.total,
        "cursor": part.cursor,
    }
    return tagged_response(request, listed)


@router.post("", status_code=202, response_model=Uploaded, openapi_extra=_UPLOAD_BODIES)
async def upload_documents(
    request: Request,
    server: ServerState,
    library: WritableLibrary,
    name: Annotated[str | None, Query(max_length=1000)] = None,
) -> Response:
    """Upload files; each is indexed by a job. Send one file as the body with its name in ``?name=``, or several as
    multipart/form-data. Folders in names are kept.
    """
    limit = server.engine.settings.max_upload_size
    async with server.uploads.take(), received_files(request, server.engine.home, name, limit) as uploads:
        done = await server.engine.upload(uploads, library=library.name)
    server.standby.wake()
    return json_response(done, 202)


@router.get("/{document}", response_model=ShownDocument)
async def show_document(
    request: Request, server: ServerState, library: ReadableLibrary, document: DocumentName
) -> Response:
    """Return all metadata of a document."""
    return tagged_response(request, document_payload(await server.engine.documents.get(document, library=library.name)))


@router.get("/{document}/versions", response_model=list[DocumentVersion])
async def list_versions(
    request: Request, server: ServerState, library: ReadableLibrary, document: DocumentName
) -> Response:
    """List the published versions of a document, the newest first, with the bytes, rules and models that produced
    each.
    """
    return tagged_response(request, await server.engine.documents.versions(document, library=library.name))


@router.patch("/{document}", responses=CHANGED_RESPONSES, response_model=ShownDocument)
async def correct_document(
    request: Request, server: ServerState, library: WritableLibrary, document: DocumentName, body: Corrections
) -> Response:
    """Correct the title, organisation, year, quarter, date, type or tags of a document. With ``If-Match``, the ETag of
    the document, the request fails if another caller has changed it meanwhile.
    """
    current = await server.engine.documents.get(document, library=library.name)
    seen = current if check_match(request, document_payload(current)) else None
    corrected = await server.engine.documents.edit(
        current.doc_id, set=body.set, unset=body.unset, library=library.name, seen=seen
    )
    return tagged_response(request, document_payload(corrected))


@router.delete("/{document}", response_model=RemovedDocuments)
async def remove_document(
    server: ServerState, library: WritableLibrary, document: DocumentName, for_good: bool = False
) -> Response:
    """Move a document, with the documents inside it, into the bin. ``bin`` is the id with which it can be restored for
    30 days. With ``for_good`` it is deleted at once. The user's own file stays.
    """
    removal = await server.engine.documents.discard([document], library=library.name, for_good=for_good)
    return json_response({"removed": [document_payload(each) for each in removal.documents], "bin": removal.entry})


@router.post("/{document}/rebuild", status_code=202, response_model=DocumentRebuildAsked)
async def rebuild_document(server: ServerState, library: WritableLibrary, document: DocumentName) -> Response:
    """Index a document again from its file. The published version stays in use until the new one is published."""
    report = await server.engine.documents.rebuild([document], library=library.name, detach=True)
    server.standby.wake()
    return json_response({"notes": report.notes, "files": [asdict(file) for file in report.files]}, 202)


@router.post("/{document}/unlock", response_model=FileResult)
async def unlock_document(
    server: ServerState, library: WritableLibrary, document: DocumentName, body: PasswordGiven
) -> Response:
    """Index an encrypted file with its password, which is not stored. The response is sent as soon as the file can be
    searched.
    """
    report = await server.engine.documents.rebuild([document], library=library.name, password=body.password)
    [file] = report.files[:1]
    if file.reason == LockedError.reason:
        raise LockedError("The password for this file is wrong.", "Try another password.")
    if file.status == "failed":
        raise DocumentError(file.error or "The file cannot be read.")
    return json_response(asdict(file))


@router.get("/{document}/original", responses=content_responses("application/octet-stream"), response_class=Response)
async def original(
    request: Request, server: ServerState, library: ReadableLibrary, document: DocumentName, highlights: bool = False
) -> Response:
    """Send the original file as an attachment. Ranges can be requested. With ``highlights`` send a copy of a PDF with
    the highlights and notes of the document as annotations.
    """
    info = await server.engine.documents.get(document, library=library.name)
    if highlights:
        async with AsyncExitStack() as stack:
            copy = server.engine.documents.annotated_original(info.doc_id, library=library.name)
            file = await server.run_within(server.answers, stack.enter_async_context(copy))
            headers = {**attachment_headers(info.name), "Cache-Control": "private, no-store"}
            return _OriginalResponse(file, stack.pop_all(), headers)
    if link := await server.engine.documents.original_link(info.doc_id, library=library.name):
        return RedirectResponse(link)
    version = FileVersion(info.sha256, info.size, info.mtime)
    headers = {**attachment_headers(info.name), **version.headers}
    if (unchanged := check_file(request, version, headers)) is not None:
        return unchanged
    spans = requested_spans(Headers(scope=request.scope), version)
    if spans and len(spans) == 1:  # several ranges are cut from the whole file
        distant = await server.engine.documents.distant_original(info.doc_id, library=library.name)
        if distant and (part := await part_response(distant, spans[0], headers)):
            return part
    async with AsyncExitStack() as stack:
        lent = server.engine.documents.lent_original(info.doc_id, library=library.name)
        file = await stack.enter_async_context(lent)
        return _OriginalResponse(file, stack.pop_all(), headers)


@router.get("/{document}/briefing", response_model=Briefing)
async def brief_document(
    request: Request, server: ServerState, library: ReadableLibrary, document: DocumentName, model: bool = False
) -> Response:
    """Describe a document: its sections, figures that it states, and questions that it answers. With ``model`` the
    language model writes the description.
    """
    work = server.engine.documents.briefing(document, library=library.name, model=model)
    return tagged_response(request, await server.run_within(server.answers if model else server.searches, work))


@router.get("/{document}/glossary", response_model=list[DefinedTerm])
async def list_terms(
    request: Request, server: ServerState, library: ReadableLibrary, document: DocumentName
) -> Response:
    """List the terms that a document defines, each with its first definition and page."""
    work = server.engine.documents.glossary(document, library=library.name)
    return tagged_response(request, await server.run_within(server.reads, work))


@router.get("/{document}/facts", response_model=DocumentFacts)
async def list_facts(
    request: Request, server: ServerState, library: ReadableLibrary, document: DocumentName
) -> Response:
    """List the dates and amounts that a document states, and its tables and figures, each with its page."""
    work = server.engine.documents.facts(document, library=library.name)
    return tagged_response(request, await server.run_within(server.reads, work))


@dataclass(frozen=True, slots=True)
class OutlineView:
    """Query parameters of a section tree: which part to return, in which form."""

    q: Annotated[str | None, Query(max_length=QUESTION)] = None
    depth: Annotated[int | None, Query(ge=1, le=100)] = None
    node: Annotated[str | None, Query(max_length=20)] = None
    text: bool = False
    shape: Annotated[str, Query(pattern="^(full|flat|pageindex)$")] = "full"


@router.get("/{document}/outline", response_model=dict[str, Any])
async def outline(
    request: Request, server: ServerState, library: ReadableLibrary, document: DocumentName,
    view: Annotated[OutlineView, Depends()],
) -> Response:  # fmt: skip
    """Return the section tree of a document. With ``q`` each section has a score for that question."""
    work = server.engine.outline(
        document, library=library.name, query=view.q, depth=view.depth, node=view.node, text=view.text
    )
    tree = await (work if view.q is None else server.run_within(server.searches, work))
    shapes: dict[str, Callable[[], Any]] = {
        "pageindex": tree.to_pageindex,
        "flat": partial(asdict, tree),
        "full": tree.to_dict,
    }
    return tagged_response(request, shapes[view.shape]())


class _OriginalResponse(FileResponse):
    """A response that sends an original file and then releases its temporary copy, even if the client disconnects."""

    def __init__(self, file: Path, lent: AsyncExitStack, headers: Mapping[str, str]) -> None:
        super().__init__(file, media_type="application/octet-stream", headers=headers)
        self._lent = lent

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async with self._lent:
            await super().__call__(scope, receive, send)


@pages_router.get("/pages", response_model=list[PageRead])
async def read_pages(
    request: Request, server: ServerState, library: ReadableLibrary, document: DocumentName,
    pages: Annotated[
        str, Query(max_length=2000, description='Page numbers such as 3,7-9, or a place such as "slide 3"')
    ] = "1",
    tables: bool = False,
) -> Response:  # fmt: skip
    """Return the text, summary and section of up to 100 pages. With ``tables`` the tables are in Markdown."""
    info = await _find_published(server, library, document)
    numbers = pages if any(map(str.isalpha, pages)) else page_list(pages, info)[:_PAGES_PER_REPLY]
    read = await server.engine.pages(info.doc_id, numbers, library=library.name)
    if tables:
        read = [await server.engine.documents.with_tables(page, library=library.name) for page in read]
    return tagged_response(
        request, [page.to_dict() | {"picture": picture_address(library, info, page.page)} for page in read]
    )


@pages_router.get("/find", response_model=Matches)
async def find_words(
    request: Request, server: ServerState, library: ReadableLibrary, document: DocumentName,
    q: Annotated[str, Query(min_length=1, max_length=500)], first: Annotated[int, Query(ge=1, le=10**6)] = 1,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> Response:  # fmt: skip
    """Find words in a document exactly as written, from page ``first`` on."""
    info = await _find_published(server, library, document)
    work = server.engine.documents.find_words(info.doc_id, q, library=library.name, first=first, limit=limit)
    return tagged_response(request, await server.run_within(server.searches, work))


@pages_router.get("/pages/{number}", response_model=PageRead)
async def read_page(
    request: Request,
    server: ServerState,
    library: ReadableLibrary,
    document: DocumentName,
    number: PageNumber,
    tables: bool = False,
) -> Response:
    info = await _find_published(server, library, document, number)
    [read] = await server.engine.pages(info.doc_id, number, library=library.name)
    if tables:
        read = await server.engine.documents.with_tables(read, library=library.name)
    return tagged_response(request, read.to_dict() | {"picture": picture_address(library, info, number)})


@pages_router.get("/pages/{number}/layout", response_model=PageLayout)
async def layout(
    request: Request, server: ServerState, library: ReadableLibrary, document: DocumentName, number: PageNumber
) -> Response:
    """Return the words, figures and tables of a page with their boxes, in points from the top left of the page
    image.
    """
    info = await _find_published(server, library, document, number)
    work = server.engine.pictures.layout(info.doc_id, number, library=library.name)
    return tagged_response(request, await server.run_within(server.answers, work))


@pages_router.get("/pages/{number}/boxes", response_model=BoxesOfQuote)
async def boxes(
    server: ServerState, library: ReadableLibrary, document: DocumentName, number: PageNumber,
    quote: Annotated[str, Query(min_length=1, max_length=5000)],
) -> Response:  # fmt: skip
    """Return the boxes of quoted words, one for each line. "…" in the quote stands for omitted words."""
    info = await _find_published(server, library, document, number)
    work = server.engine.pictures.boxes(info.doc_id, number, quote, library=library.name)
    return json_response({"boxes": await server.run_within(server.answers, work)})


@pages_router.get("/pages/{number}/picture", responses=_PNG, response_class=Response)
async def picture(
    request: Request, server: ServerState, library: ReadableLibrary, document: DocumentName, number: PageNumber,
    scale: Scale = 1,
    of: Annotated[
        str, Query(max_length=100, description="The content_id of the document for which the image was requested")
    ] = "",
    view: Literal["page", "office"] = "page",
) -> Response:  # fmt: skip
    """Draw a page. ``of`` is the content_id for which the image is valid; when the document has changed, the response
    is 404. With ``view`` "office" the page looks as LibreOffice prints it.
    """
    info = await _find_published(server, library, document, number)
    if of and of != info.content_id:
        raise NotFoundError(
            f"{info.name} has changed since its pages were requested.", "Request the pages of the document again."
        )
    work = server.engine.pictures.page(info.doc_id, number, library=library.name, dpi=_PICTURE_DPI * scale, view=view)
    drawn = await server.run_within(server.answers, work)
    tag = f'"{info.content_id}-{number}-{scale}-{view}"'
    keep = _FOREVER if of and view == "page" else "private, no-cache"
    return with_tag(request, Response(drawn, media_type="image/png"), tag, keep)


@pages_router.get("/pages/{number}/thumbnail", responses=_JPEG, response_class=Response)
async def thumbnail(
    request: Request, server: ServerState, library: ReadableLibrary, document: DocumentName, number: PageNumber,
    side: Annotated[int, Query(ge=32, le=800)] = 200, of: Annotated[str, Query(max_length=100)] = "",
) -> Response:  # fmt: skip
    """Draw a small image of a page. ``side`` is the length of its longer side in pixels."""
    info = await _find_published(server, library, document, number)
    if of and of != info.content_id:
        raise NotFoundError(
            f"{info.name} has changed since its pages were requested.", "Request the pages of the document again."
        )
    work = server.engine.pictures.page(info.doc_id, number, library=library.name, dpi=72, format="jpeg", side=side)
    drawn = await server.run_within(server.answers, work)
    tag = f'"{info.content_id}-{number}-s{side}"'
    return with_tag(request, Response(drawn, media_type="image/jpeg"), tag, _FOREVER if of else "private, no-cache")


@pages_router.get("/sheet", responses=_JPEG, response_class=Response)
async def contact_sheet(
    server: ServerState, library: ReadableLibrary, document: DocumentName, pages: Annotated[str, Query(max_length=200)]
) -> Response:
    """Draw up to 12 small pages on one image, each with its number."""
    info = await _find_published(server, library, document)
    work = server.engine.pictures.contact_sheet(info.doc_id, page_list(pages, info), library=library.name)
    return Response(await server.run_within(server.answers, work), media_type="image/jpeg")


def picture_address(library: Library, document: Document, number: int) -> str:
    """Return the address of a page's picture.

    It contains the content id, so it never returns a picture of other content.
    """
    where = f"/api/v1/libraries/{quote(library.id, safe='')}/documents/{document.doc_id}"
    return f"{where}/pages/{number}/picture?of={document.content_id}"


async def _find_published(server: Server, library: Library, document: str, number: int = 1) -> Document:
    """Return a published document.

    Raise NotFoundError if it was not indexed successfully or has no page of this number.
    """
    info = await server.engine.documents.get(document, library=library.name)
    if not info.published:
        raise NotFoundError(f"{info.name} could not be indexed: {info.error}", "Repair the file and index it again.")
    if number > max(info.pages, 1):
        raise NotFoundError(f"{info.name} has no page {number}.", f"Its pages are 1 to {info.pages}.")
    return info
