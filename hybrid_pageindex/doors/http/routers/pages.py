"""Pages: their text, where their words stand, their tables and their pictures."""

from __future__ import annotations

from typing import Annotated, Literal
from urllib.parse import quote

from fastapi import APIRouter, Path, Query, Request
from starlette.responses import Response

from hybrid_core.errors import NotFoundError
from hybrid_core.types.documents import Document
from hybrid_core.types.layouts import PageLayout
from hybrid_core.types.libraries import Library
from hybrid_pageindex.doors.http.callers import At, DocumentName, Read
from hybrid_pageindex.doors.http.replies import described, said, tagged, with_tag
from hybrid_pageindex.doors.http.server import Server
from hybrid_pageindex.doors.http.shapes import BoxesOfQuote
from hybrid_pageindex.services.page_search import Matches
from hybrid_pageindex.services.reading import PageRead, page_list

router = APIRouter(prefix="/libraries/{library}/documents/{document}", tags=["pages"])
Number = Annotated[int, Path(ge=1, le=10**6)]
Scale = Annotated[int, Query(ge=1, le=2)]
_DPI = 96  # at the scale of 1
_MOST = 100  # pages of one answer
_FOREVER = "private, max-age=31536000, immutable"
_PNG, _JPEG = described("image/png"), described("image/jpeg")


@router.get("/pages", response_model=list[PageRead])
async def read_pages(
    request: Request, server: At, library: Read, document: DocumentName,
    pages: Annotated[str, Query(max_length=2000, description="a list like 3,7-9, or a place")] = "1",
    tables: bool = False,
) -> Response:  # fmt: skip
    """Text, summary and place in the tree; with ``tables`` these in Markdown. 100 pages at most."""
    found = await _published(server, library, document)
    numbers = pages if any(map(str.isalpha, pages)) else page_list(pages, found)[:_MOST]
    read = await server.engine.pages(found.doc_id, numbers, library=library.name)
    if tables:
        read = [await server.engine.with_tables(one, library=library.name) for one in read]
    return tagged(request, [one.to_dict() | {"picture": picture_of(library, found, one.page)} for one in read])


@router.get("/find", response_model=Matches)
async def find_words(
    request: Request, server: At, library: Read, document: DocumentName,
    q: Annotated[str, Query(min_length=1, max_length=500)], first: Annotated[int, Query(ge=1, le=10**6)] = 1,
    most: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> Response:  # fmt: skip
    """Where words stand in the document as they are written, from page ``first`` on."""
    found = await _published(server, library, document)
    work = server.engine.find_words(found.doc_id, q, library=library.name, first=first, most=most)
    return tagged(request, await server.turn(server.searches, work))


@router.get("/pages/{number}", response_model=PageRead)
async def read_page(
    request: Request, server: At, library: Read, document: DocumentName, number: Number, tables: bool = False
) -> Response:
    found = await _published(server, library, document)
    [read] = await server.engine.pages(found.doc_id, number, library=library.name)
    if tables:
        read = await server.engine.with_tables(read, library=library.name)
    return tagged(request, read.to_dict() | {"picture": picture_of(library, found, number)})


@router.get("/pages/{number}/layout", response_model=PageLayout)
async def layout(request: Request, server: At, library: Read, document: DocumentName, number: Number) -> Response:
    """Where words, figures and tables stand, in points from the top left of the page as its picture shows it."""
    work = server.engine.layout(document, number, library=library.name)
    return tagged(request, await server.turn(server.answers, work))


@router.get("/pages/{number}/boxes", response_model=BoxesOfQuote)
async def boxes(
    server: At, library: Read, document: DocumentName, number: Number,
    quote: Annotated[str, Query(min_length=1, max_length=5000)],
) -> Response:  # fmt: skip
    """Where quoted words stand, a box for each line; "…" stands for words left out."""
    work = server.engine.boxes(document, number, quote, library=library.name)
    return said({"boxes": await server.turn(server.answers, work)})


@router.get("/pages/{number}/picture", responses=_PNG, response_class=Response)
async def picture(
    request: Request, server: At, library: Read, document: DocumentName, number: Number, scale: Scale = 1,
    of: Annotated[str, Query(max_length=100, description="the content_id that is meant")] = "",
    view: Literal["page", "office"] = "page",
) -> Response:  # fmt: skip
    """The page drawn. With ``of`` it is that content's for ever, and 404 once the document has another. ``view``
    "office" is the page on which it begins as LibreOffice prints the file.
    """
    found = await _published(server, library, document)
    if of and of != found.content_id:
        raise NotFoundError(f"{found.name} has changed.", "Ask for its pages again.")
    work = server.engine.page_image(found.doc_id, number, library=library.name, dpi=_DPI * scale, view=view)
    drawn = await server.turn(server.answers, work)
    tag = f'"{found.content_id}-{number}-{scale}-{view}"'
    keep = _FOREVER if of and view == "page" else "private, no-cache"
    return with_tag(request, Response(drawn, media_type="image/png"), tag, keep)


@router.get("/pages/{number}/thumbnail", responses=_JPEG, response_class=Response)
async def thumbnail(
    request: Request, server: At, library: Read, document: DocumentName, number: Number,
    side: Annotated[int, Query(ge=32, le=800)] = 200, of: Annotated[str, Query(max_length=100)] = "",
) -> Response:  # fmt: skip
    """The page drawn small, its longer side so many pixels."""
    found = await _published(server, library, document)
    if of and of != found.content_id:
        raise NotFoundError(f"{found.name} has changed.", "Ask for its pages again.")
    work = server.engine.page_image(found.doc_id, number, library=library.name, dpi=72, format="jpeg", side=side)
    drawn = await server.turn(server.answers, work)
    tag = f'"{found.content_id}-{number}-s{side}"'
    return with_tag(request, Response(drawn, media_type="image/jpeg"), tag, _FOREVER if of else "private, no-cache")


@router.get("/sheet", responses=_JPEG, response_class=Response)
async def contact_sheet(
    server: At, library: Read, document: DocumentName, pages: Annotated[str, Query(max_length=200)]
) -> Response:
    """Up to 12 pages drawn small on one picture, each with its number."""
    found = await _published(server, library, document)
    work = server.engine.contact_sheet(found.doc_id, page_list(pages, found), library=library.name)
    return Response(await server.turn(server.answers, work), media_type="image/jpeg")


def picture_of(library: Library, document: Document, number: int) -> str:
    """The address of a page's picture, which never shows another content."""
    where = f"/api/v1/libraries/{quote(library.id, safe='')}/documents/{document.doc_id}"
    return f"{where}/pages/{number}/picture?of={document.content_id}"


async def _published(server: Server, library: Library, document: str) -> Document:
    """Raises NotFoundError, also for one that could not be indexed."""
    found = await server.engine.info(document, library=library.name)
    if not found.published:
        raise NotFoundError(f"{found.name} could not be indexed: {found.error}", "Mend the file and index it again.")
    return found
