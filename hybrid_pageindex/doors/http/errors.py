"""Errors as problem documents (RFC 9457), and in OpenAI's form below /v1. Codes are stable; the words are not."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from hybrid_core import errors
from hybrid_pageindex.doors.http.fields import Fault, faults_of

PROBLEM = "application/problem+json"
_TYPES = "https://github.com/hybrid-pageindex/hybrid-pageindex/blob/main/docs/errors.md"
_KINDS: tuple[tuple[type[errors.PageIndexError], int, str], ...] = (  # the first that fits
    (errors.NotFoundError, 404, "not_found"),
    (errors.ConflictError, 409, "conflict"),
    (errors.NotConfiguredError, 409, "not_configured"),
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
    """What clients of earlier versions read of a problem; ``advice`` is what to do, "" where there is nothing."""

    code: str
    message: str
    advice: str


@dataclass(frozen=True, slots=True)
class Problem:
    """An RFC 9457 problem. ``code`` and ``type`` are stable, ``detail`` says what happened, ``advice`` what to do.

    ``errors`` names the parameters and fields that do not fit.
    """

    type: str
    title: str
    status: int
    detail: str
    code: str
    advice: str
    error: ErrorTold
    errors: list[Fault] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class OpenAIProblem:
    """What OpenAI's clients read of an error."""

    message: str
    type: str
    param: str | None
    code: str | None


@dataclass(frozen=True, slots=True)
class OpenAIError:
    error: OpenAIProblem


DESCRIBED: dict[int | str, dict[str, Any]] = {
    status: {"model": Problem, "description": "Not carried out: the problem says why."} for status in ("4XX", "5XX")
}
"""What the description of every route says of its errors; ``describing`` names their media type."""


OPENAI_DESCRIBED: dict[int | str, dict[str, Any]] = {
    status: {"model": OpenAIError, "description": "Not carried out."} for status in ("4XX", "5XX")
}


class ProblemResponse(Response):
    """A problem, rendered for the path that was asked: below /v1 as OpenAI's clients read errors."""

    def __init__(
        self, status: int, code: str, message: str, advice: str = "", headers: Mapping[str, str] = {},
        faults: Sequence[Fault] = (),
    ) -> None:  # fmt: skip
        self._code, self._message, self._advice = code, message[:_LONGEST], advice[:_LONGEST]
        self._faults, self._given = tuple(faults), dict(headers)
        super().__init__(_encoded(self._problem(status)), status, headers, PROBLEM)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not str(scope.get("path", "")).startswith("/v1/"):
            await super().__call__(scope, receive, send)
            return
        status, code = _openai_code(self.status_code, self._code, self._faults)
        text = f"{self._message} {self._advice}".strip()
        if status == 404 and "endpoint" not in scope:
            code = "unknown_url"
            text = f"Invalid URL ({scope['method']} {scope['path']})"[:_LONGEST]
        param = _INDEX.sub(r"[\1]", self._faults[0].name) or None if self._faults else None
        body = {"error": {"message": text, "type": _openai_type(status), "param": param, "code": code}}
        await Response(_encoded(body), status, self._given, "application/json")(scope, receive, send)

    def _problem(self, status: int) -> dict[str, Any]:
        told = {"code": self._code, "message": self._message, "advice": self._advice}
        made = {
            "type": f"{_TYPES}#{self._code}", "title": title_of(self._code), "status": status,
            "detail": self._message, "code": self._code, "advice": self._advice, "error": told,
        }  # fmt: skip
        faults = [asdict(one) for one in self._faults]
        return made | ({"errors": faults} if faults else {})


def title_of(code: str) -> str:
    """The same words for every problem of a code."""
    return code.replace("_", " ").capitalize()


def _encoded(body: Mapping[str, Any]) -> bytes:
    return json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")


_INDEX = re.compile(r"\.(\d+)\b")  # messages.0.role is messages[0].role there
_OPENAI_CODES = {
    "not_signed_in": "invalid_api_key", "token_refused": "invalid_api_key", "too_many_requests": "rate_limit_exceeded",
    "bad_request": None,
}  # fmt: skip
_OPENAI_KINDS = {"unknown": "unknown_parameter", "missing": "missing_required_parameter", "type": "invalid_type"}


def _openai_code(status: int, code: str, faults: Sequence[Fault]) -> tuple[int, str | None]:
    """The status and code that OpenAI has for the same: a body that does not fit is 400 there."""
    if code == "invalid_request":
        return 400, _OPENAI_KINDS.get(faults[0].kind, "invalid_value") if faults and faults[0].name else None
    return 400 if status == 422 else status, _OPENAI_CODES.get(code, code)


def _openai_type(status: int) -> str:
    kinds = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}
    return kinds.get(status, "server_error" if status >= 500 else "invalid_request_error")


class Refusal(Exception):
    """A request that is not carried out, for a reason that only this door knows."""

    def __init__(
        self, status: int, code: str, message: str, advice: str = "", *, faults: Sequence[Fault] = (), **headers: str
    ) -> None:
        super().__init__(message)
        self.status, self.code, self.message, self.advice = status, code, message, advice
        self.faults = tuple(faults)
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}

    def response(self) -> Response:
        return ProblemResponse(self.status, self.code, self.message, self.advice, self.headers, self.faults)


def refusal_of(error: errors.PageIndexError) -> Refusal:
    status, code = _kind(error)
    return Refusal(status, code, error.message, error.advice)


def told(error: errors.PageIndexError) -> dict[str, Any]:
    """An error as events tell it."""
    _, code = _kind(error)
    return {"code": code, "message": error.message[:_LONGEST], "advice": error.advice[:_LONGEST]}


def method_not_allowed(method: str, allowed: Sequence[str]) -> Refusal:
    """Raise it for a method that no route of the path answers."""
    answered = ", ".join(allowed)
    return Refusal(
        405, "method_not_allowed", f"{method[:20]} is not answered here.", f"Use {answered}.", Allow=answered
    )


def register(app: FastAPI) -> None:
    @app.exception_handler(errors.PageIndexError)
    async def ours(_: Request, error: errors.PageIndexError) -> Response:
        status, code = _kind(error)
        wait = {"Retry-After": "1"} if error.retryable and status == 503 else {}
        return ProblemResponse(status, code, error.message, error.advice, wait)

    @app.exception_handler(Refusal)
    async def refused(_: Request, error: Refusal) -> Response:
        return error.response()

    @app.exception_handler(RequestValidationError)
    async def unfit(request: Request, error: RequestValidationError) -> Response:
        faults = faults_of(error.errors()[:10], request.scope.get("route"))
        said = "; ".join(one.said for one in faults)
        return ProblemResponse(422, "invalid_request", f"{said}.", "See /api/v1/openapi.json.", {}, faults)

    @app.exception_handler(HTTPException)
    async def known(_: Request, error: HTTPException) -> Response:
        code, message = _WORDS.get(error.status_code, ("bad_request", str(error.detail)))
        return ProblemResponse(error.status_code, code, message, "", error.headers or {})

    @app.exception_handler(Exception)
    async def defect(request: Request, error: Exception) -> Response:
        logging.getLogger(__name__).error("%s %s", request.method, request.url.path, exc_info=error)
        return ProblemResponse(
            500, "internal", "This failed for a reason that was not foreseen.", "See the server's log."
        )


def _kind(error: errors.PageIndexError) -> tuple[int, str]:
    return next(((status, code) for kind, status, code in _KINDS if isinstance(error, kind)), (500, "internal"))
