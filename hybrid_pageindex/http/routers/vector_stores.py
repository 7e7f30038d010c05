"""Routes that present libraries as OpenAI's vector stores, and documents as their files."""

from __future__ import annotations

from contextlib import suppress
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request
from fastapi import Path as PathParam
from pydantic import AfterValidator, Field, StrictBool
from starlette.responses import Response

from hybrid_core.errors import NotFoundError
from hybrid_core.types.documents import Document
from hybrid_core.types.libraries import Library
from hybrid_pageindex.engine.libraries.libraries import LibrarySize
from hybrid_pageindex.frameworks import retrieve
from hybrid_pageindex.http.errors import Fault, Refusal
from hybrid_pageindex.http.models import NOT_BLANK, QUESTION, LibraryName, Strict
from hybrid_pageindex.http.replies import json_response, unix_seconds
from hybrid_pageindex.http.server import (
    Server,
    ServerState,
    find_openai_library,
    find_size,
    readable_libraries,
    require_role,
)

router = APIRouter(prefix="/vector_stores", tags=["openai"])
StoreId = Annotated[str, PathParam(max_length=200)]
_FILTER_FIELDS = ("year", "type", "organisation", "quarter", "tags")
_Limit = Annotated[int, Query(ge=1, le=100)]


def _refuse_files(file_ids: list[str]) -> list[str]:
    if file_ids:
        raise ValueError("A new vector store has no files. Create it, then add each file to it")
    return file_ids


class NewStore(Strict):
    """A new library. Upload files to it with ``POST /api/v1/libraries/{library}/documents``."""

    name: LibraryName
    file_ids: Annotated[list[str], Field(json_schema_extra={"maxItems": 0}), AfterValidator(_refuse_files)] | None = (
        None
    )
    expires_after: None = None


class RankingOptions(Strict):
    ranker: Literal["none", "auto"] | None = None
    score_threshold: Annotated[float, Field(ge=0, le=1)] = 0.0


_Query = Annotated[str, Field(json_schema_extra={**NOT_BLANK, "maxLength": QUESTION})]
_COMPARISON: dict[str, Any] = {
    "type": "object",
    "required": ["type", "key", "value"],
    "properties": {
        "type": {"const": "eq"},
        "key": {"enum": [*_FILTER_FIELDS]},
        "value": {"anyOf": [{"type": "string", "pattern": r"\S"}, {"type": "integer"}]},
    },
}
_FILTERS: dict[str, Any] = {
    "anyOf": [
        _COMPARISON,
        {
            "type": "object",
            "required": ["type", "filters"],
            "properties": {"type": {"const": "and"}, "filters": {"type": "array", "items": _COMPARISON}},
        },
    ]
}


class StoreSearch(Strict):
    """A search in a vector store.

    ``filters`` compare the year, type, organisation, quarter or tags: one comparison, or several joined by "and".
    """

    query: _Query | Annotated[list[_Query], Field(min_length=1)]
    max_num_results: Annotated[int, Field(ge=1, le=50)] = 10
    filters: Annotated[dict[str, Any], Field(json_schema_extra=_FILTERS)] | None = None
    ranking_options: RankingOptions | None = None
    rewrite_query: StrictBool | None = None


@router.get("", response_model=dict[str, Any])
async def list_vector_stores(
    request: Request, server: ServerState, limit: _Limit = 20, after: Annotated[str, Query(max_length=200)] = "",
    before: Annotated[str, Query(max_length=0)] = "", order: Literal["asc", "desc"] = "desc",
) -> Response:  # fmt: skip
    """List the libraries that the caller may read, by name."""
    readable = {item.id for item in await readable_libraries(request)}
    sizes = [item for item in await server.engine.libraries.list() if item.id in readable]
    sizes.sort(key=lambda item: item.name, reverse=order == "desc")
    return json_response(list_payload([_store_payload(item) for item in sizes], limit, after))


@router.post("", response_model=dict[str, Any])
async def create_vector_store(request: Request, server: ServerState, body: NewStore) -> Response:
    require_role(request, "write")
    library_made = await server.engine.libraries.create(body.name)
    return json_response(_store_payload(await find_size(request, library_made)))


@router.get("/{vector_store}", response_model=dict[str, Any])
async def show_vector_store(request: Request, server: ServerState, vector_store: StoreId) -> Response:
    return json_response(_store_payload(await find_size(request, await find_store_library(request, vector_store))))


@router.delete("/{vector_store}", response_model=dict[str, Any])
async def delete_vector_store(request: Request, server: ServerState, vector_store: StoreId) -> Response:
    """Delete a library with all its documents."""
    library = await find_store_library(request, vector_store)
    require_role(request, "admin", library.id)
    await server.engine.libraries.clear(library=library.name)
    return json_response({"id": library.name, "object": "vector_store.deleted", "deleted": True})


@router.post("/{vector_store}/search", response_model=dict[str, Any])
async def search_vector_store(
    request: Request, server: ServerState, vector_store: StoreId, body: StoreSearch
) -> Response:
    """Return the complete text of the pages that answer a query, each with a score from 0 to 1."""
    library = await find_store_library(request, vector_store)
    queries = [body.query] if isinstance(body.query, str) else body.query
    question = " ".join(queries).strip()
    if not question or len(question) > QUESTION:
        raise bad_parameter("query", f"The query must have 1 to {QUESTION:,} characters")
    options = body.ranking_options or RankingOptions()
    where = _search_conditions(body.filters)
    work = retrieve(server.engine, question, library=library.name, top_k=body.max_num_results, where=where)
    pages = await server.run_within(server.searches, work)
    hits = [
        {
            "file_id": item.metadata["doc_id"], "filename": item.metadata["document"], "score": item.score,
            "attributes": {name: item.metadata[name] for name in ("page", "section") if name in item.metadata},
            "content": [{"type": "text", "text": item.text}],
        }
        for item in pages
        if item.score >= options.score_threshold
    ]  # fmt: skip
    frame = {"object": "vector_store.search_results.page", "search_query": queries, "has_more": False}
    return json_response(frame | {"data": hits, "next_page": None})


@router.get("/{vector_store}/files", response_model=dict[str, Any])
async def list_store_files(
    request: Request, server: ServerState, vector_store: StoreId, limit: _Limit = 20,
    after: Annotated[str, Query(max_length=200)] = "", before: Annotated[str, Query(max_length=0)] = "",
    filter: Literal["in_progress", "completed", "failed", "cancelled", ""] = "",
    order: Literal["asc", "desc"] = "desc",
) -> Response:  # fmt: skip
    """List the documents of a library, by path."""
    library = await find_store_library(request, vector_store)
    documents = sorted(await server.engine.documents.list(library=library.name), key=lambda item: item.path)
    files = [file_payload(item, library) for item in (reversed(documents) if order == "desc" else documents)]
    return json_response(list_payload([item for item in files if filter in ("", item["status"])], limit, after))


@router.get("/{vector_store}/files/{file}", response_model=dict[str, Any])
async def show_store_file(request: Request, server: ServerState, vector_store: StoreId, file: StoreId) -> Response:
    library = await find_store_library(request, vector_store)
    return json_response(file_payload(await _find_store_file(request, server, library, file), library, file))


@router.get("/{vector_store}/files/{file}/content", response_model=dict[str, Any])
async def read_store_file(request: Request, server: ServerState, vector_store: StoreId, file: StoreId) -> Response:
    """Return the text of a document, one part per page, for the first thousand pages."""
    library = await find_store_library(request, vector_store)
    document = _indexed(await _find_store_file(request, server, library, file), "read")
    numbers = list(range(1, min(document.pages, 1000) + 1))
    pages = await server.engine.pages(document.doc_id, numbers, library=library.name) if numbers else []
    parts = [{"type": "text", "text": item.text} for item in pages]
    frame = {"object": "vector_store.file_content.page", "has_more": document.pages > len(parts), "next_page": None}
    return json_response(frame | {"data": parts})


@router.delete("/{vector_store}/files/{file}", response_model=dict[str, Any])
async def delete_store_file(request: Request, server: ServerState, vector_store: StoreId, file: StoreId) -> Response:
    library = await find_store_library(request, vector_store)
    require_role(request, "write", library.id)
    document = _indexed(await _find_store_file(request, server, library, file), "delete")
    await server.engine.documents.remove([document.doc_id], library=library.name)
    return json_response({"id": file, "object": "vector_store.file.deleted", "deleted": True})


async def find_store_library(request: Request, name: str) -> Library:
    detail = f"No vector store found with id '{name[:200]}'."
    return await find_openai_library(request, name, "vector_store_not_found", detail, ("vector_store_id", "path"))


async def find_document(server: Server, library: Library, address: str) -> Document | str:
    """Return a document by id or path. While it is indexed for the first time, return its path.

    Raise NotFoundError if there is neither a document nor a job for it.
    """
    try:
        return await server.engine.documents.get(address, library=library.name)
    except NotFoundError:
        path = await server.engine.jobs.path(address, library=library.name)
    if path is not None:
        return path
    return await server.engine.documents.get(address, library=library.name)  # its job ended between the two requests


def _indexed(document: Document | str, action: str) -> Document:
    """Return the document. Raise Refusal (409) if it is still being indexed, so that ``action`` is impossible."""
    if isinstance(document, str):
        advice = f"Wait until the file is indexed, then {action} it."
        raise Refusal(409, "conflict", "The file is still being indexed.", advice)
    return document


async def _find_store_file(request: Request, server: Server, library: Library, file: str) -> Document | str:
    """Return the document of a file that is in a library. While it is indexed for the first time, return its path.

    ``file`` may also be the id that the file has in the library from which it was added. Raise Refusal if the library
    does not contain the file.
    """
    with suppress(NotFoundError):
        return await find_document(server, library, file)
    for source in await readable_libraries(request):
        try:
            path = (await server.engine.documents.get(file, library=source.name)).path
            return await find_document(server, library, path)
        except NotFoundError:
            continue
    detail = f"No file found with id '{file[:200]}' in vector store '{library.name}'."
    raise Refusal(404, "not_found", detail, faults=[Fault("file_id", "path", detail)])


def _store_payload(size: LibrarySize) -> dict[str, Any]:
    counts = {
        "in_progress": size.waiting, "completed": size.documents, "failed": size.failed, "cancelled": 0,
        "total": size.documents + size.failed + size.waiting,
    }  # fmt: skip
    return {
        "id": size.name, "object": "vector_store", "created_at": unix_seconds(size.changed_at), "name": size.name,
        "status": "in_progress" if size.waiting else "completed", "usage_bytes": size.vector_bytes,
        "file_counts": counts, "last_active_at": unix_seconds(size.used_at) or None, "metadata": {"alias": size.alias},
        "expires_after": None, "expires_at": None,
    }  # fmt: skip


def file_payload(document: Document | str, library: Library, file: str = "") -> dict[str, Any]:
    """Return a document as a file of a vector store, with the id ``file``.

    ``document`` is a path if the document is still being indexed.
    """
    if isinstance(document, str):
        return {
            "id": file, "object": "vector_store.file", "created_at": 0, "vector_store_id": library.name,
            "status": "in_progress", "usage_bytes": 0, "last_error": None, "attributes": {},
        }  # fmt: skip
    failed = None if document.published else {"code": "unsupported_file", "message": document.error}
    card = {"filename": document.name, "path": document.path, "title": document.title}
    return {
        "id": document.doc_id, "object": "vector_store.file", "created_at": unix_seconds(document.indexed_at),
        "vector_store_id": library.name, "status": "completed" if document.published else "failed",
        "usage_bytes": document.size, "last_error": failed, "attributes": card,
    }  # fmt: skip


def list_payload(items: list[dict[str, Any]], limit: int, after: str) -> dict[str, Any]:
    """Return the items of a list after the id ``after``, at most ``limit``, in OpenAI's list format."""
    ids = [item["id"] for item in items]
    if after and after not in ids:
        detail = "No such id in this list"
        raise Refusal(404, "not_found", f"{detail}.", faults=[Fault("after", "query", detail)])
    start = ids.index(after) + 1 if after else 0
    shown = items[start : start + limit]
    ends = {"first_id": shown[0]["id"] if shown else None, "last_id": shown[-1]["id"] if shown else None}
    return {"object": "list", "data": shown, "has_more": start + limit < len(items), **ends}


def _search_conditions(filters: dict[str, Any] | None) -> tuple[str, ...]:
    """Return search conditions for OpenAI's filters. Raise Refusal for filters that a search does not support."""
    if filters is None:
        return ()
    inner = filters.get("filters")
    if filters.get("type") == "and" and isinstance(inner, list) and all(isinstance(item, dict) for item in inner):
        return tuple(each for item in inner for each in _search_conditions(item))
    key, value = filters.get("key"), filters.get("value")
    if (
        filters.get("type") != "eq"
        or key not in _FILTER_FIELDS
        or isinstance(value, bool)
        or not isinstance(value, str | int)
    ):
        raise bad_parameter(
            "filters", f"Filters support only eq on {', '.join(_FILTER_FIELDS)}, and several comparisons joined by and"
        )
    return (f"{key}={value}",)


def bad_parameter(name: str, detail: str) -> Refusal:
    """Return the refusal of an invalid body field, in OpenAI's wording."""
    return Refusal(400, "invalid_value", f"{detail}.", faults=[Fault(name, "body", detail)])
