"""Build the HTTP API and its description: ``python -m hybrid_pageindex.http.api`` writes openapi.json."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from fastapi import APIRouter, FastAPI
from fastapi.routing import APIRoute
from fastapi.telemetry import TelemetryConfig

from hybrid_core.types.notes import field_of_codes
from hybrid_pageindex import __version__
from hybrid_pageindex.http import reference
from hybrid_pageindex.http.errors import OPENAI_RESPONSES, PROBLEM, PROBLEM_RESPONSES, register_error_handlers
from hybrid_pageindex.http.identity import OPEN
from hybrid_pageindex.http.middleware import Routes
from hybrid_pageindex.http.routers import (
    conversations,
    documents,
    jobs,
    libraries,
    openai_files,
    openai_responses,
    operations,
    search,
    vector_stores,
    web,
)
from hybrid_pageindex.http.routers.completions import completions_router
from hybrid_pageindex.http.routers.documents import pages_router
from hybrid_pageindex.http.routers.jobs import sources_router
from hybrid_pageindex.http.routers.libraries import bin_router, sample_router, transfer_router
from hybrid_pageindex.http.routers.operations import settings_router, tokens_router
from hybrid_pageindex.http.routers.search import notes_router
from hybrid_pageindex.http.server import Server

_CAMEL = re.compile(r"_(\w)")
_PROBLEM_SCHEMA = "#/components/schemas/Problem"
_TOO_LARGE = "The body is too large: the problem names the limit."
_SIGN_IN = {
    "token": {
        "type": "http", "scheme": "bearer",
        "description": "The token that `serve` was started with, or one of `POST /api/v1/tokens`.",
    },
}  # fmt: skip
_TAGS = {
    "libraries": "Libraries: made, named, counted, exported, deleted.",
    "documents": "Documents: uploaded, listed, corrected, removed.",
    "pages": "Pages: text, layout and pictures.",
    "notes": "Notes and feedback on pages.",
    "sources": "Folders of the server's disk.",
    "jobs": "Indexing under way.",
    "search": "Search, exhaustive search, comparison and answers.",
    "conversations": "Questions that go on from each other.",
    "bin": "What was deleted within the last 30 days.",
    "settings": "Settings, models and packs.",
    "tokens": "Tokens of programs and users.",
    "operations": "State, metrics and the audit log.",
    "openai": "For programs that use OpenAI's API: each library is a model.",
}
EXAMPLES: dict[str, Any] = {
    "createLibrary": {"name": "reports", "alias": "Annual reports"},
    "nameLibrary": {"alias": "Annual reports"},
    "correctDocument": {"set": {"year": "2025"}, "unset": []},
    "search": {"question": "revenue 2025", "libraries": ["reports"], "top_k": 5},
    "ask": {"question": "What was the revenue of 2025?", "libraries": ["reports"]},
    "grep": {"pattern": "indemnif*", "libraries": ["reports"], "listed": "documents"},
    "compare": {
        "left": {"document": "2024.pdf", "library": "reports"},
        "right": {"document": "2025.pdf", "library": "reports"},
    },
    "beginConversation": {"libraries": ["reports"]},
    "askInConversation": {"question": "And the year before?"},
    "addNote": {"text": "Restated in 2026.", "document": "2025.pdf", "page": 7},
    "giveFeedback": {"question": "revenue 2025", "document": "2025.pdf", "page": 7, "right": True},
    "createToken": {"name": "reports-bot", "role": "read", "libraries": ["reports"], "days": 90},
    "decideAboutJobs": {"library": "reports"},
    "completeChat": {"model": "reports", "messages": [{"role": "user", "content": "What was the revenue of 2025?"}]},
    "createResponse": {"model": "reports", "input": "What was the revenue of 2025?"},
}
"""A request body of each operation, by its id."""
ROUTERS: tuple[APIRouter, ...] = (
    operations.router,
    libraries.router,
    bin_router,
    sample_router,
    transfer_router,
    documents.router,
    pages_router,
    notes_router,
    sources_router,
    jobs.router,
    search.router,
    conversations.router,
    settings_router,
    tokens_router,
    conversations.messages_router,
)
OPENAI_ROUTERS: tuple[APIRouter, ...] = (
    completions_router,
    openai_responses.router,
    vector_stores.router,
    openai_files.router,
)
ROUTES = Routes(
    [
        *(("/api/v1", router) for router in ROUTERS),
        *(("/v1", router) for router in OPENAI_ROUTERS),
        ("", web.router),
        ("", reference.router),
    ]
)
UNVERSIONED = "0.0.0"  # version of the description in the repository, which belongs to no release
FILE = Path(__file__).with_name("openapi.json")
_NOTE_CODE = {
    "title": "NoteCode", "type": "object", "required": ["code", "params"],
    "description": "The stable code of a message and its parameters, from which an interface makes its own text.",
    "properties": {"code": {"type": "string"}, "params": {"type": "object", "additionalProperties": True}},
}  # fmt: skip
_NO_TELEMETRY: TelemetryConfig = {"tracing": False, "metrics": False, "logs": False, "auto_configure": False}


def build_api(server: Server | None = None) -> Api:
    """Return the API with its routes, without middleware."""
    api = Api(
        title="Hybrid PageIndex", version=__version__, openapi_url=None, docs_url=None, redoc_url=None,
        telemetry=_NO_TELEMETRY, redirect_slashes=False, responses=PROBLEM_RESPONSES,
        generate_unique_id_function=operation_id,
    )  # fmt: skip
    api.state.server = server
    register_error_handlers(api)
    for router in ROUTERS:
        api.include_router(router, prefix="/api/v1")
    for router in OPENAI_ROUTERS:
        api.include_router(router, prefix="/v1", responses=OPENAI_RESPONSES)
    api.include_router(web.router)
    api.include_router(reference.router)
    return api


def describe_api() -> str:
    """Return the text of ``openapi.json``. It contains no version number; a running server reports its own version."""
    schema = build_api().openapi()
    schema["info"]["version"] = UNVERSIONED
    return json.dumps(schema, indent=1, ensure_ascii=False, sort_keys=True) + "\n"


class Api(FastAPI):
    """The application object with all routes. Its OpenAPI description suits generators of clients."""

    def openapi(self) -> dict[str, Any]:
        if self.openapi_schema is None:
            self.openapi_schema = _finish_schema(super().openapi())
        return self.openapi_schema


def operation_id(route: APIRoute) -> str:
    """Return an operation id such as ``listDocuments`` for ``list_documents``, independent of path and module."""
    return _CAMEL.sub(lambda part: part[1].upper(), route.name)


def _finish_schema(schema: dict[str, Any]) -> dict[str, Any]:
    schema["servers"] = [{"url": "/", "description": "the server that gave this description"}]
    schema["components"]["securitySchemes"] = _SIGN_IN
    schema["security"] = [{"token": []}]
    for path, path_item in schema["paths"].items():
        for method, operation in path_item.items():
            if (method.upper(), path) in OPEN:
                operation["security"] = []
            _describe_errors(operation)
            if "requestBody" in operation:
                operation["responses"]["413"] = operation["responses"]["4XX"] | {"description": _TOO_LARGE}
            example = EXAMPLES.get(operation["operationId"])
            if example is not None:
                operation["requestBody"]["content"]["application/json"]["example"] = example
    _describe_codes(schema["components"]["schemas"])
    used = {tag for path_item in schema["paths"].values() for item in path_item.values() for tag in item["tags"]}
    schema["tags"] = [{"name": name, "description": text} for name, text in _TAGS.items() if name in used]
    return _shorten_names(schema)


def _describe_codes(schemas: dict[str, Any]) -> None:
    """Add to each schema with notes for users a field with the notes' codes."""
    for shape in [*schemas.values()]:
        for name, field in [*shape.get("properties", {}).items()]:
            if (codes := _codes_schema(field)) is not None:
                shape["properties"][field_of_codes(name, several=codes.get("type") == "array")] = codes
    schemas["NoteCode"] = _NOTE_CODE


def _codes_schema(field: dict[str, Any]) -> dict[str, Any] | None:
    """Return the schema for the codes of the notes in a field, None if the field contains no notes."""
    if field.pop("x-note", False):
        return {"$ref": "#/components/schemas/NoteCode"}
    if isinstance(field.get("items"), dict) and (item := _codes_schema(field["items"])) is not None:
        return {"type": "array", "items": {"anyOf": [item, {"type": "null"}]}}
    items = [_codes_schema(item) for item in field.get("prefixItems", ())]
    if noted := list(filter(None, items)):
        return {"type": "array", "items": {"anyOf": [noted[0], {"type": "null"}]}}
    return None


def _describe_errors(operation: dict[str, Any]) -> None:
    for response in operation["responses"].values():
        content = response.get("content", {})
        if content.get("application/json", {}).get("schema", {}).get("$ref") == _PROBLEM_SCHEMA:
            response["content"] = {PROBLEM: {"schema": {"$ref": _PROBLEM_SCHEMA}}}


def _shorten_names(schema: dict[str, Any]) -> dict[str, Any]:
    """Shorten the names of schemas whose classes have equal names in different modules.

    A name then consists of the last part of the module path and the class name.
    """
    schemas: dict[str, Any] = schema["components"]["schemas"]
    plain = {
        name: f"{name.split('__')[-2].title().replace('_', '')}{name.split('__')[-1]}"
        for name in schemas
        if "__" in name
    }

    def renamed(value: Any) -> Any:
        if isinstance(value, dict):
            return {
                key: _shorten_reference(item, plain) if key == "$ref" else renamed(item) for key, item in value.items()
            }
        return [renamed(item) for item in value] if isinstance(value, list) else value

    for name, title in plain.items():
        schemas[name]["title"] = title  # generated clients name classes by the title
    schema["components"]["schemas"] = {plain.get(name, name): item for name, item in schemas.items()}
    result: dict[str, Any] = renamed(schema)
    return result


def _shorten_reference(reference: str, plain: dict[str, str]) -> str:
    before, _, name = reference.rpartition("/")
    return f"{before}/{plain.get(name, name)}"


if __name__ == "__main__":
    FILE.write_text(describe_api(), encoding="utf-8")
