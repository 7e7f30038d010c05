"""The OpenAPI description of the routes: stable operation ids, sign-in, media types of errors, and examples."""

from __future__ import annotations

import re
from typing import Any

from fastapi import FastAPI
from fastapi.routing import APIRoute

from hybrid_pageindex.doors.http.errors import PROBLEM
from hybrid_pageindex.doors.http.security.identity import OPEN

_CAMEL = re.compile(r"_(\w)")
_PROBLEM = "#/components/schemas/Problem"
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
}
"""A request body of each operation, by its id."""


class Api(FastAPI):
    """The routes, with a description that clients are generated from."""

    def openapi(self) -> dict[str, Any]:
        if self.openapi_schema is None:
            self.openapi_schema = _finished(super().openapi())
        return self.openapi_schema


def operation_id(route: APIRoute) -> str:
    """Return ``listDocuments`` for ``list_documents``: it stays where paths or modules change."""
    return _CAMEL.sub(lambda part: part[1].upper(), route.name)


def _finished(schema: dict[str, Any]) -> dict[str, Any]:
    schema["servers"] = [{"url": "/", "description": "the server that gave this description"}]
    schema["components"]["securitySchemes"] = _SIGN_IN
    schema["security"] = [{"token": []}]
    for path, operations in schema["paths"].items():
        for method, operation in operations.items():
            if (method.upper(), path) in OPEN:
                operation["security"] = []
            _describe_errors(operation)
            example = EXAMPLES.get(operation["operationId"])
            if example is not None:
                operation["requestBody"]["content"]["application/json"]["example"] = example
    used = {tag for operations in schema["paths"].values() for item in operations.values() for tag in item["tags"]}
    schema["tags"] = [{"name": name, "description": text} for name, text in _TAGS.items() if name in used]
    return _with_plain_names(schema)


def _describe_errors(operation: dict[str, Any]) -> None:
    for response in operation["responses"].values():
        content = response.get("content", {})
        if content.get("application/json", {}).get("schema", {}).get("$ref") == _PROBLEM:
            response["content"] = {PROBLEM: {"schema": {"$ref": _PROBLEM}}}


def _with_plain_names(schema: dict[str, Any]) -> dict[str, Any]:
    """Schemas of two classes of a name bear the paths of their modules: name them by the last module instead."""
    schemas: dict[str, Any] = schema["components"]["schemas"]
    plain = {
        name: f"{name.split('__')[-2].title().replace('_', '')}{name.split('__')[-1]}"
        for name in schemas
        if "__" in name
    }

    def renamed(value: Any) -> Any:
        if isinstance(value, dict):
            return {
                key: _renamed_reference(item, plain) if key == "$ref" else renamed(item) for key, item in value.items()
            }
        return [renamed(item) for item in value] if isinstance(value, list) else value

    for name, title in plain.items():
        schemas[name]["title"] = title  # generators name classes by it
    schema["components"]["schemas"] = {plain.get(name, name): item for name, item in schemas.items()}
    result: dict[str, Any] = renamed(schema)
    return result


def _renamed_reference(reference: str, plain: dict[str, str]) -> str:
    before, _, name = reference.rpartition("/")
    return f"{before}/{plain.get(name, name)}"
