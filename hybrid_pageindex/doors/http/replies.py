"""Answers as JSON, of the shapes that every door has, with ETags."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping
from dataclasses import asdict, is_dataclass
from typing import Any
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import Response

from hybrid_pageindex.doors.http.conditions import changed, check_conditions, tags_of
from hybrid_pageindex.doors.http.errors import Problem

UNCHANGED: dict[int | str, dict[str, Any]] = {412: {"model": Problem, "description": "It has changed."}}
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
    """Return JSON with an ETag, or 304 where the caller has it already."""
    return with_tag(request, said(value))


def loosely_tagged(request: Request, value: Any, without: Collection[str]) -> Response:
    """As ``tagged``, with a weak ETag that disregards fields which each search changes."""
    shaped = shape(value)
    rows = shaped if isinstance(shaped, list) else [shaped]
    kept = [{name: one for name, one in row.items() if name not in without} for row in rows]
    return with_tag(request, said(shaped), f"W/{_etag(said(kept))}")


def check_match(request: Request, value: Any) -> bool:
    """Whether the caller says by ``If-Match`` what it has seen. Raise Refusal where that is not ``value``."""
    asked = request.headers.get("if-match", "").strip()
    if asked in ("", "*"):
        return False
    if _etag(said(value)) not in tags_of(asked):
        raise changed()
    return True


def _etag(response: Response) -> str:
    return f'"{hashlib.sha256(bytes(response.body)).hexdigest()[:32]}"'


def with_tag(request: Request, response: Response, etag: str = "", keep: str = "private, no-cache") -> Response:
    """``etag`` stands for the content, else it is hashed; ``keep`` is the Cache-Control."""
    etag = etag or _etag(response)
    headers = {"ETag": etag, "Cache-Control": keep}
    if request.method in ("GET", "HEAD") and check_conditions(request.headers, etag):
        return Response(status_code=304, headers=headers)
    response.headers.update(headers)
    return response


def described(kind: str, text: bool = False) -> dict[int | str, dict[str, Any]]:
    """What the description of a route says that answers with a file, or with text."""
    schema = {"type": "string"} if text else {"type": "string", "format": "binary"}
    return {200: {"content": {kind: {"schema": schema}}}}


def attachment(name: str) -> Mapping[str, str]:
    """Headers of a file that is kept, never shown as a page of ours."""
    plain = "".join(sign if sign.isascii() and (sign.isalnum() or sign in "._- ") else "_" for sign in name)
    whole = quote(name.encode("utf-8", "replace"), safe="")
    return {
        "Content-Disposition": f"attachment; filename=\"{plain}\"; filename*=UTF-8''{whole}",
        "Cache-Control": "private, no-cache",
        "Content-Security-Policy": "sandbox; default-src 'none'",
    }
