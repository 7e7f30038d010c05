"""Answers as JSON, of the shapes that every door has, with ETags."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, is_dataclass
from typing import Any
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import Response

from hybrid_pageindex.doors.http.errors import ErrorAnswer, Refusal

UNCHANGED: dict[int | str, dict[str, Any]] = {412: {"model": ErrorAnswer, "description": "It has changed."}}
"""What the description of a route that heeds ``If-Match`` says of it."""


def shape(value: Any) -> Any:
    """A value of the core as JSON says it."""
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    if isinstance(value, list | tuple):
        return [shape(one) for one in value]
    return value


def said(value: Any, status: int = 200, **headers: str) -> Response:
    body = json.dumps(shape(value), ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
    return Response(body, status, {name.replace("_", "-"): text for name, text in headers.items()}, "application/json")


def tagged(request: Request, value: Any) -> Response:
    """With an ETag: 304 where the caller has it already."""
    return with_tag(request, said(value))


def check_match(request: Request, value: Any) -> bool:
    """Whether the caller says by ``If-Match`` what it has seen. Raises Refusal where that is not ``value``."""
    asked = request.headers.get("if-match", "").strip()
    if asked in ("", "*"):
        return False
    if _etag(said(value)) not in [one.strip() for one in asked.split(",")]:
        raise Refusal(412, "changed", "It has changed since you read it.", "Read it again, and change it then.")
    return True


def _etag(response: Response) -> str:
    return f'"{hashlib.sha256(bytes(response.body)).hexdigest()[:32]}"'


def with_tag(request: Request, response: Response, tag: str = "", keep: str = "private, no-cache") -> Response:
    """``tag`` stands for the content, else it is hashed; ``keep`` is the Cache-Control."""
    etag = f'"{tag}"' if tag else _etag(response)
    headers = {"ETag": etag, "Cache-Control": keep}
    asked = [one.strip().removeprefix("W/") for one in request.headers.get("if-none-match", "").split(",")]
    if etag in asked or "*" in asked:
        return Response(status_code=304, headers=headers)
    response.headers.update(headers)
    return response


def attachment(name: str) -> Mapping[str, str]:
    """Headers of a file that is kept, never shown as a page of ours."""
    plain = "".join(sign if sign.isascii() and (sign.isalnum() or sign in "._- ") else "_" for sign in name)
    whole = quote(name.encode("utf-8", "replace"), safe="")
    return {
        "Content-Disposition": f"attachment; filename=\"{plain}\"; filename*=UTF-8''{whole}",
        "Cache-Control": "private, no-cache",
        "Content-Security-Policy": "sandbox; default-src 'none'",
    }
