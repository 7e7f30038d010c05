"""Routes that present documents as OpenAI's files, attach them to libraries, and compute embeddings."""

from __future__ import annotations

import asyncio
import base64
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, Literal

import numpy as np
from fastapi import APIRouter, Query, Request
from fastapi import Path as PathParam
from pydantic import Field
from starlette.responses import Response

from hybrid_core.errors import NotConfiguredError, NotFoundError, UsageError
from hybrid_core.system import content_digest
from hybrid_core.types.access import EVERYWHERE
from hybrid_core.types.documents import Document
from hybrid_core.types.libraries import UPLOAD, Library
from hybrid_pageindex.engine.index.uploads import Upload
from hybrid_pageindex.http.errors import Fault, Refusal
from hybrid_pageindex.http.models import Strict
from hybrid_pageindex.http.replies import attachment_headers, content_responses, json_response, unix_seconds
from hybrid_pageindex.http.routers.vector_stores import (
    bad_parameter,
    file_payload,
    find_document,
    find_store_library,
    list_payload,
)
from hybrid_pageindex.http.server import (
    AnyCaller,
    Server,
    ServerState,
    read_each,
    readable_libraries,
    require_role,
)
from hybrid_pageindex.http.uploads import received_files
from hybrid_pageindex.mcp.payloads import count_tokens
from indexers.files.identity import usual_id

router = APIRouter(tags=["openai"])
FileId = Annotated[str, PathParam(max_length=200)]
_INPUTS = 2048  # maximum texts of one request
_TEXT_LENGTH = 200_000  # maximum characters of a text
_PURPOSES = ("assistants", "user_data")
_UPLOAD_BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            "multipart/form-data": {
                "schema": {
                    "type": "object",
                    "required": ["file", "purpose"],
                    "properties": {
                        "file": {"type": "string", "format": "binary"},
                        "purpose": {"type": "string", "enum": [*_PURPOSES]},
                    },
                }
            }
        },
    }
}


class NewStoreFile(Strict):
    """A file to add to a library. Options for cutting texts into chunks have no effect, because searches return
    pages.
    """

    file_id: Annotated[str, Field(min_length=1, max_length=200)]
    attributes: Annotated[dict[str, Any], Field(max_length=0)] | None = None
    chunking_strategy: dict[Literal["type"], Literal["auto"]] | None = None


class EmbeddingBody(Strict):
    """Texts to embed. ``model`` must be the embedder of the server's settings."""

    model: Annotated[str, Field(min_length=1, max_length=500)]
    input: (
        Annotated[str, Field(min_length=1, max_length=_TEXT_LENGTH)]
        | Annotated[
            list[Annotated[str, Field(min_length=1, max_length=_TEXT_LENGTH)]], Field(min_length=1, max_length=_INPUTS)
        ]
    )
    encoding_format: Literal["float", "base64"] | None = None
    dimensions: Annotated[int, Field(ge=1)] | None = None
    user: str | None = None


@router.post("/files", response_model=dict[str, Any], openapi_extra=_UPLOAD_BODY)
async def create_file(
    request: Request, server: ServerState, caller: AnyCaller,
    library: Annotated[str, Query(max_length=200, description='The library into which the file is uploaded')] = "",
) -> Response:  # fmt: skip
    """Upload a file into a library, by default the server's library. Files with the same name stay separate
    documents.
    """
    target = await _upload_library(request, server, library)
    limit, fields = server.engine.settings.max_upload_size, dict[str, str]()
    async with server.uploads.take(), received_files(request, server.engine.home, None, limit, fields) as uploads:
        if "purpose" not in fields:
            detail = "Missing required parameter: 'purpose'"
            faults = [Fault("purpose", "body", detail, "missing")]
            raise Refusal(400, "invalid_request", f"{detail}.", faults=faults)
        if fields["purpose"] not in _PURPOSES:
            raise bad_parameter("purpose", f"This server accepts only files with the purpose {' or '.join(_PURPOSES)}")
        if len(uploads) != 1:
            raise bad_parameter("file", "Send one file")
        [upload] = uploads
        digest = await asyncio.to_thread(content_digest, upload.data)
        address = Upload(f"files-{digest[:12]}/{PurePosixPath(upload.name).name}", upload.data)
        size = upload.data.stat().st_size if isinstance(upload.data, Path) else len(upload.data)
        await server.engine.upload([address], library=target.name)
    server.standby.wake()
    waiting = _waiting_file(usual_id(target.id, address.address), address.address, size)
    return json_response(waiting)


@router.get("/files", response_model=dict[str, Any])
async def list_files(
    request: Request, server: ServerState, limit: Annotated[int, Query(ge=1, le=10_000)] = 10_000,
    after: Annotated[str, Query(max_length=200)] = "", order: Literal["asc", "desc"] = "desc",
    purpose: Annotated[str, Query(max_length=40)] = "",
) -> Response:  # fmt: skip
    """List the documents of the libraries that the caller may read, ordered by the time of indexing."""
    files = list[dict[str, Any]]()
    if purpose in ("", "assistants"):
        for documents in await read_each(request, lambda name: server.engine.documents.list(library=name)):
            files += map(_document_file, documents)
    files.sort(key=lambda item: (item["created_at"], item["id"]), reverse=order == "desc")
    return json_response(list_payload(files, limit, after))


@router.get("/files/{file}", response_model=dict[str, Any])
async def show_file(request: Request, server: ServerState, file: FileId) -> Response:
    _, document = await _find_file(request, server, file)
    return json_response(_waiting_file(file, document, 0) if isinstance(document, str) else _document_file(document))


@router.delete("/files/{file}", response_model=dict[str, Any])
async def delete_file(request: Request, server: ServerState, file: FileId) -> Response:
    """Move a document into the bin."""
    library, document = await _find_file(request, server, file)
    require_role(request, "write", library.id)
    if isinstance(document, str):
        raise Refusal(
            409, "conflict", "The file is still being indexed.", "Wait until the file is indexed, then delete it."
        )
    await server.engine.documents.remove([document.doc_id], library=library.name)
    return json_response({"id": file, "object": "file", "deleted": True})


@router.get("/files/{file}/content", responses=content_responses("application/octet-stream"), response_class=Response)
async def read_file_content(request: Request, server: ServerState, file: FileId) -> Response:
    """Return the original bytes of a file."""
    library, document = await _find_file(request, server, file)
    if isinstance(document, str):
        raise Refusal(
            409, "conflict", "The file is still being indexed.", "Wait until the file is indexed, then read it."
        )
    data = await _original_bytes(server, library, document)
    return Response(data, headers=dict(attachment_headers(document.name)), media_type="application/octet-stream")


@router.post("/vector_stores/{vector_store}/files", response_model=dict[str, Any])
async def attach_file(request: Request, server: ServerState, vector_store: FileId, body: NewStoreFile) -> Response:
    """Index a file also in another library than the one that it was uploaded to."""
    library = await find_store_library(request, vector_store)
    require_role(request, "write", library.id)
    source, document = await _find_file(request, server, body.file_id)
    if source.id == library.id:
        return json_response(file_payload(document, library, body.file_id))
    if isinstance(document, str):
        raise Refusal(
            409, "conflict", "The file is still being indexed.", "Wait until the file is indexed, then attach it."
        )
    data = await _original_bytes(server, source, document)
    await server.engine.upload([Upload(document.path.removeprefix(UPLOAD), data)], library=library.name)
    server.standby.wake()
    return json_response(file_payload(document.path, library, body.file_id))


@router.post("/embeddings", response_model=dict[str, Any])
async def create_embeddings(server: ServerState, _: AnyCaller, body: EmbeddingBody) -> Response:
    """Return vectors of texts, computed by the configured embedder. The token counts in ``usage`` are estimates."""
    configured = server.engine.settings.embedding_model
    if body.model != configured or configured == "none":
        detail = f"The model '{body.model[:200]}' does not exist or is not an embedder of this server."
        raise Refusal(404, "model_not_found", detail, faults=[Fault("model", "body", detail)])
    texts = [body.input] if isinstance(body.input, str) else body.input
    try:
        vectors = await server.run_within(server.searches, server.engine.models.vectors(texts))
    except NotConfiguredError as error:
        raise Refusal(404, "model_not_found", error.message, error.advice) from error
    if body.dimensions not in (None, vectors.shape[1]):
        raise bad_parameter("dimensions", f"The vectors have {vectors.shape[1]} dimensions")
    encode = body.encoding_format == "base64"
    data = [
        {"object": "embedding", "index": number, "embedding": _encode_vector(row) if encode else row.tolist()}
        for number, row in enumerate(vectors)
    ]
    tokens = sum(map(count_tokens, texts))
    usage = {"prompt_tokens": tokens, "total_tokens": tokens}
    return json_response({"object": "list", "data": data, "model": configured, "usage": usage})


def _encode_vector(vector: np.ndarray[Any, np.dtype[np.float32]]) -> str:
    return base64.b64encode(np.asarray(vector, "<f4").tobytes()).decode()


async def _upload_library(request: Request, server: Server, name: str) -> Library:
    """Return the library for an upload. Create the server's default library if it does not exist."""
    if name:
        library = await find_store_library(request, name)
        require_role(request, "write", library.id)
        return library
    usual = server.engine.settings.library
    existing = await _named_library(server, usual)
    require_role(request, "write", existing.id if existing else EVERYWHERE)
    if existing is not None:
        return existing
    try:
        return await server.engine.libraries.create(usual)
    except UsageError:
        if (existing := await _named_library(server, usual)) is None:
            raise
        return existing  # another upload created it meanwhile


async def _named_library(server: Server, name: str) -> Library | None:
    return next((item for item in await server.engine.libraries.named() if item.name == name), None)


async def _find_file(request: Request, server: Server, file: str) -> tuple[Library, Document | str]:
    """Return the library and the document of a file id. While the file is indexed for the first time, return its path.

    Raise Refusal if the file is unknown or in a library that the caller may not read.
    """
    for library in await readable_libraries(request):
        try:
            document = await find_document(server, library, file)
        except NotFoundError:
            continue
        if isinstance(document, str) or document.doc_id == file:
            return library, document
    detail = f"No such File object: {file[:200]}"
    raise Refusal(404, "not_found", detail, faults=[Fault("id", "path", detail)])


async def _original_bytes(server: Server, library: Library, document: Document) -> bytes:
    async with server.engine.documents.lent_original(document.doc_id, library=library.name) as path:
        return await asyncio.to_thread(path.read_bytes)


def _document_file(document: Document) -> dict[str, Any]:
    status = "processed" if document.published else "error"
    shape = _waiting_file(document.doc_id, document.name, document.size)
    detail = {"status": status, "status_details": document.error or None}
    return shape | detail | {"created_at": unix_seconds(document.indexed_at)}


def _waiting_file(file: str, path: str, size: int) -> dict[str, Any]:
    return {
        "id": file, "object": "file", "bytes": size, "created_at": 0, "filename": PurePosixPath(path).name,
        "purpose": "assistants", "status": "uploaded", "status_details": None, "expires_at": None,
    }  # fmt: skip
