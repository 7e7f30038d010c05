"""One shape of errors: ``{"error": {"code", "message", "advice"}}``. Codes are stable; the words are not."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from hybrid_core import errors

_KINDS: tuple[tuple[type[errors.PageIndexError], int, str], ...] = (  # the first that fits
    (errors.NotFoundError, 404, "not_found"),
    (errors.UsageError, 400, "bad_request"),
    (errors.PasswordError, 422, "password_needed"),
    (errors.ChangedError, 409, "document_changed"),
    (errors.LimitError, 422, "document_too_large"),
    (errors.DocumentError, 422, "document_unusable"),
    (errors.TurnRunningError, 409, "answering"),
    (errors.BusyError, 503, "busy"),
    (errors.UnreachableError, 503, "store_unreachable"),
    (errors.ReadOnlyError, 403, "read_only"),
    (errors.StoreError, 503, "store_failed"),
    (errors.ModelError, 502, "model_failed"),
    (errors.Cancelled, 503, "stopped"),
)
_WORDS = {
    404: ("not_found", "There is nothing at this address."),
    405: ("method_not_allowed", "This method is not answered here."),
    413: ("too_large", "The request is too large."),
    415: ("unsupported_type", "A body of this type is not read here."),
}
_LONGEST = 2000  # characters of a message: what was asked may stand in it


@dataclass(frozen=True, slots=True)
class ErrorTold:
    """``code`` is stable; ``advice`` is what to do, "" where there is nothing."""

    code: str
    message: str
    advice: str


@dataclass(frozen=True, slots=True)
class ErrorAnswer:
    error: ErrorTold


DESCRIBED: dict[int | str, dict[str, Any]] = {
    status: {"model": ErrorAnswer, "description": "Not carried out: the error says why."} for status in (422, "default")
}
"""What the description of every route says of its errors."""


class Refusal(Exception):
    """A request that is not carried out, for a reason that only this door knows."""

    def __init__(self, status: int, code: str, message: str, advice: str = "", **headers: str) -> None:
        super().__init__(message)
        self.status, self.code, self.message, self.advice = status, code, message, advice
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}

    def response(self) -> Response:
        return answer(self.status, self.code, self.message, self.advice, self.headers)


def refusal_of(error: errors.PageIndexError) -> Refusal:
    status, code = _kind(error)
    return Refusal(status, code, error.message, error.advice)


def answer(status: int, code: str, message: str, advice: str = "", headers: Mapping[str, str] = {}) -> Response:
    body = {"error": {"code": code, "message": message[:_LONGEST], "advice": advice[:_LONGEST]}}
    said = json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
    return Response(said, status, headers, "application/json")


def told(error: errors.PageIndexError) -> dict[str, Any]:
    """An error as events tell it."""
    _, code = _kind(error)
    return {"code": code, "message": error.message[:_LONGEST], "advice": error.advice[:_LONGEST]}


def register(app: FastAPI) -> None:
    @app.exception_handler(errors.PageIndexError)
    async def ours(_: Request, error: errors.PageIndexError) -> Response:
        status, code = _kind(error)
        return answer(status, code, error.message, error.advice, {"Retry-After": "1"} if error.retryable else {})

    @app.exception_handler(Refusal)
    async def refused(_: Request, error: Refusal) -> Response:
        return error.response()

    @app.exception_handler(RequestValidationError)
    async def unfit(_: Request, error: RequestValidationError) -> Response:
        said = [f"{'.'.join(map(str, one['loc'][1:])) or one['loc'][0]}: {one['msg']}" for one in error.errors()[:10]]
        return answer(422, "invalid_request", f"{'; '.join(said)}.", "See /api/v1/openapi.json.")

    @app.exception_handler(HTTPException)
    async def known(_: Request, error: HTTPException) -> Response:
        code, message = _WORDS.get(error.status_code, ("bad_request", str(error.detail)))
        return answer(error.status_code, code, message, "", error.headers or {})

    @app.exception_handler(Exception)
    async def defect(request: Request, error: Exception) -> Response:
        logging.getLogger(__name__).error("%s %s", request.method, request.url.path, exc_info=error)
        return answer(500, "internal", "This failed for a reason that was not foreseen.", "See the server's log.")


def _kind(error: errors.PageIndexError) -> tuple[int, str]:
    return next(((status, code) for kind, status, code in _KINDS if isinstance(error, kind)), (500, "internal"))
