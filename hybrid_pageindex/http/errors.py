"""Report errors as problem documents (RFC 9457), and below /v1 in OpenAI's form.

Codes are stable; their wording may change.
"""

from __future__ import annotations

import difflib
import json
import logging
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from fastapi import FastAPI, Request
from fastapi.dependencies.utils import get_flat_params
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from pydantic import BaseModel
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from hybrid_core import errors
from hybrid_core.logs import current_request

_BRANCH = re.compile(r"str|int|float|bool|constrained-\w+|(list|dict|tuple|function|literal)[\[-].*")
_NAME_LENGTH = 100  # maximum characters of a name in a message
_SIMILARITY = 0.6  # minimum similarity of a name to be suggested
_LISTED_NAMES = 12  # maximum names to list if none is similar
PROBLEM = "application/problem+json"
_TYPES = "https://github.com/hybrid-pageindex/hybrid-pageindex/blob/main/docs/errors.md"
_KINDS: tuple[tuple[type[errors.PageIndexError], int, str], ...] = (  # the first matching class decides
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
    404: ("not_found", "No page or resource exists at this address."),
    405: ("method_not_allowed", "This address does not accept this HTTP method."),
    413: ("too_large", "The request is too large."),
    415: ("unsupported_type", "This address does not accept a body of this content type."),
}
_MESSAGE_LENGTH = 2000  # maximum characters of a message, which may contain text of the request
_INDEXED_NAME = re.compile(r"\.(\d+)\b")  # OpenAI writes messages[0].role instead of messages.0.role
_OPENAI_CODES = {
    "not_signed_in": "invalid_api_key", "token_refused": "invalid_api_key", "too_many_requests": "rate_limit_exceeded",
    "bad_request": None,
}  # fmt: skip
_OPENAI_KINDS = {"unknown": "unknown_parameter", "missing": "missing_required_parameter", "type": "invalid_type"}


@dataclass(frozen=True, slots=True)
class Fault:
    """An invalid parameter or field of a request.

    ``name`` may be nested (``left.document``); ``place`` is query, path, header or body. ``kind`` is unknown, missing,
    type or value; these words are stable.
    """

    name: str
    place: str
    detail: str
    kind: str = "value"

    @property
    def text(self) -> str:
        return f"{self.name}: {self.detail}" if self.name else self.detail


def end_sentence(text: str) -> str:
    """Return a text that ends with a full stop or a question mark."""
    return text if text.endswith("?") else f"{text}."


def unknown_name_fault(name: str, place: str, candidates: Iterable[str]) -> Fault:
    """Return a fault that reports an unknown parameter or field.

    Its detail suggests similar names, or lists the known names.
    """
    names = sorted(candidates)
    near = difflib.get_close_matches(name, names, n=3, cutoff=_SIMILARITY)
    if near:
        advice = f"Did you mean {' or '.join(near)}?"
    elif names:
        more = ", …" if len(names) > _LISTED_NAMES else ""
        advice = f"Known: {', '.join(names[:_LISTED_NAMES])}{more}."
    else:
        advice = "This address accepts none."
    what = "No such parameter" if place == "query" else "No such field"
    return Fault(name[:_NAME_LENGTH], place, f"{what}. {advice}".removesuffix("."), "unknown")


def query_names(route: APIRoute) -> frozenset[str]:
    """Return the names of the query parameters of a route and of its dependencies."""
    return frozenset(
        item.alias for item in get_flat_params(route.dependant) if _parameter_location(item.field_info) == "query"
    )


def has_body(route: APIRoute) -> bool:
    """Return whether a route reads a request body, such as JSON or a file."""
    return route.body_field is not None or "requestBody" in (route.openapi_extra or {})


def fits_path(route: APIRoute, path_params: Mapping[str, str]) -> bool:
    """Return whether the path parameters are valid for the route, for example a number or one of several words."""
    for item in get_flat_params(route.dependant):
        if _parameter_location(item.field_info) == "path" and item.alias in path_params:
            _, wrong = item.validate(path_params[item.alias], {}, loc=())
            if wrong:
                return False
    return True


def render_faults(reported: Sequence[Any], route: Any) -> list[Fault]:
    """Return pydantic's validation errors of a request as faults, in the wording of this API."""
    faults = list[Fault]()
    for item in _keep_best_branch(_keep_matching_kind(reported, _model_names(route))):
        place, *path = item["loc"]
        if item["type"] == "json_invalid":
            faults.append(Fault("", "body", f"The body is not valid JSON: {item.get('ctx', {}).get('error', '')}"))
        elif item["type"] == "extra_forbidden":
            above = ".".join(map(str, path[:-1]))
            fault = unknown_name_fault(str(path[-1]), "body", _fields_at(route, path[:-1]))
            faults.append(Fault(f"{above}.{fault.name}" if above else fault.name, "body", fault.detail, "unknown"))
        else:
            name = ".".join(map(str, path))[:_NAME_LENGTH] or str(place)
            faults.append(Fault(name, str(place), str(item["msg"]).removesuffix("."), _fault_kind(item["type"])))
    return faults


def _keep_matching_kind(reported: Sequence[Any], models: Collection[str]) -> list[Any]:
    """Remove the names of models from error locations, and the errors of models that have another ``type`` than the
    value.

    If no model has this type, only the errors of the type remain.
    """
    split = [next((at for at, part in enumerate(item["loc"]) if part in models), None) for item in reported]
    branches = [None if at is None else item["loc"][: at + 1] for item, at in zip(reported, split, strict=True)]
    kinds = [
        branch is not None and item["loc"][len(branch) :] == ("type",) and item["type"] in ("literal_error", "missing")
        for item, branch in zip(reported, branches, strict=True)
    ]
    others = {branch for branch, kind in zip(branches, kinds, strict=True) if kind}
    matching = {branch[:-1] for branch in branches if branch is not None and branch not in others}
    errors_left, seen = list[Any](), set[Any]()
    for item, branch, kind in zip(reported, branches, kinds, strict=True):
        if branch is None or branch not in others:
            errors_left.append(item)
        elif branch[:-1] not in matching and kind and branch[:-1] not in seen:
            seen.add(branch[:-1])
            errors_left.append(item)
    if not any(split):
        return errors_left
    nested = [{**item, "loc": _without_first(item["loc"], models)} for item in errors_left]
    return _keep_matching_kind(nested, models)


def _without_first(location: Sequence[Any], names: Collection[str]) -> tuple[Any, ...]:
    at = next((at for at, part in enumerate(location) if part in names), len(location))
    return (*location[:at], *location[at + 1 :])


def _keep_best_branch(reported: Sequence[Any]) -> list[Any]:
    """Return validation errors without those of union branches that match the value less well.

    Also remove the names of branches from the locations of errors.
    """
    plain = [
        {**item, "loc": tuple(part for part in item["loc"] if not _BRANCH.fullmatch(str(part)))} for item in reported
    ]
    places = [item["loc"] for item in plain]
    values = [item["loc"] for item in plain if not item["type"].endswith("_type")]
    deeper = [
        own in values or any(len(other) > len(own) and other[: len(own)] == own for other in places) for own in places
    ]
    return [item for item, below in zip(plain, deeper, strict=True) if not (below and item["type"].endswith("_type"))]


def _fault_kind(type: str) -> str:
    """Return the kind of a fault (unknown, missing, type or value) for pydantic's name of an error type."""
    return "missing" if type == "missing" else "type" if type.endswith(("_type", "_parsing")) else "value"


def _parameter_location(info: Any) -> str:
    return str(getattr(getattr(info, "in_", None), "value", ""))


def _fields_at(route: Any, path: Sequence[Any]) -> list[str]:
    """Return the field names of the model at a location in the body, [] if there is no model."""
    field = getattr(route, "body_field", None)
    models = _models_of(field.field_info.annotation) if field is not None else []
    for step in path:
        inner = [model.model_fields[step].annotation for model in models if step in model.model_fields]
        models = [model for item in inner for model in _models_of(item)] if isinstance(step, str) and inner else models
    return [name for model in models for name in model.model_fields]


def _model_names(route: Any) -> frozenset[str]:
    """Return the names of all models in the body of a route."""
    field = getattr(route, "body_field", None)
    models, reached = _models_of(field.field_info.annotation) if field is not None else [], set[type[BaseModel]]()
    while models:
        model = models.pop()
        if model not in reached:
            reached.add(model)
            models += [inner for item in model.model_fields.values() for inner in _models_of(item.annotation)]
    return frozenset(model.__name__ for model in reached)


def _models_of(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    if get_origin(annotation) in (Union, UnionType, Annotated, list, tuple):
        return [model for item in get_args(annotation) for model in _models_of(item)]
    return []


@dataclass(frozen=True, slots=True)
class ErrorTold:
    """An error in the form for clients of earlier versions. ``advice`` says what to do, "" if there is no advice."""

    code: str
    message: str
    advice: str


@dataclass(frozen=True, slots=True)
class Problem:
    """An error as RFC 9457 describes it. ``code`` and ``type`` are stable, ``detail`` says what happened, ``advice``
    what to do.

    ``errors`` lists the invalid parameters and fields. ``request_id`` names the request in the server's log.
    """

    type: str
    title: str
    status: int
    detail: str
    code: str
    advice: str
    error: ErrorTold
    errors: list[Fault] = field(default_factory=list)
    request_id: str = ""


@dataclass(frozen=True, slots=True)
class OpenAIProblem:
    """An error in the form that OpenAI's clients read."""

    message: str
    type: str
    param: str | None
    code: str | None


@dataclass(frozen=True, slots=True)
class OpenAIError:
    error: OpenAIProblem


OPENAI_RESPONSES: dict[int | str, dict[str, Any]] = {
    status: {"model": OpenAIError, "description": "The request was refused."} for status in ("4XX", "5XX")
}


PROBLEM_RESPONSES: dict[int | str, dict[str, Any]] = {
    status: {"model": Problem, "description": "The request was refused: the problem gives the reason."}
    for status in ("4XX", "5XX")
}
"""The description of errors for every route; ``describing`` adds their media type."""


class ProblemResponse(Response):
    """A response with a problem document. For paths below /v1 it has the form that OpenAI's clients read."""

    def __init__(
        self, status: int, code: str, message: str, advice: str = "", headers: Mapping[str, str] = {},
        faults: Sequence[Fault] = (),
    ) -> None:  # fmt: skip
        self._code, self._message, self._advice = code, message[:_MESSAGE_LENGTH], advice[:_MESSAGE_LENGTH]
        self._faults, self._given = tuple(faults), dict(headers)
        super().__init__(_encode_body(self._problem(status)), status, headers, PROBLEM)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not str(scope.get("path", "")).startswith("/v1/"):
            await super().__call__(scope, receive, send)
            return
        status, code = _openai_code(self.status_code, self._code, self._faults)
        text = f"{self._message} {self._advice}".strip()
        if status == 404 and "endpoint" not in scope:
            code = "unknown_url"
            text = f"Invalid URL ({scope['method']} {scope['path']})"[:_MESSAGE_LENGTH]
        body = _openai_body(status, text, code, self._faults)
        await Response(_encode_body(body), status, self._given, "application/json")(scope, receive, send)

    def _problem(self, status: int) -> dict[str, Any]:
        error = {"code": self._code, "message": self._message, "advice": self._advice}
        problem = {
            "type": f"{_TYPES}#{self._code}", "title": title_of(self._code), "status": status,
            "detail": self._message, "code": self._code, "advice": self._advice, "error": error,
            "request_id": current_request(),
        }  # fmt: skip
        faults = [asdict(fault) for fault in self._faults]
        return problem | ({"errors": faults} if faults else {})


def title_of(code: str) -> str:
    """Return the title of a problem, which is the same for all problems with that code."""
    return code.replace("_", " ").capitalize()


def _encode_body(body: Mapping[str, Any]) -> bytes:
    return json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")


def _openai_code(status: int, code: str, faults: Sequence[Fault]) -> tuple[int, str | None]:
    """Return the status and code that OpenAI's API uses for a problem. An invalid body has status 400 there."""
    if code == "invalid_request":
        return 400, _OPENAI_KINDS.get(faults[0].kind, "invalid_value") if faults and faults[0].name else None
    return 400 if status == 422 else status, _OPENAI_CODES.get(code, code)


def _openai_body(status: int, text: str, code: str | None, faults: Sequence[Fault]) -> dict[str, Any]:
    param = _INDEXED_NAME.sub(r"[\1]", faults[0].name) or None if faults else None
    return {"error": {"message": text, "type": _openai_type(status), "param": param, "code": code}}


def _openai_type(status: int) -> str:
    kinds = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}
    return kinds.get(status, "server_error" if status >= 500 else "invalid_request_error")


class Refusal(Exception):
    """A refusal of a request by the HTTP layer, for example because a role is missing."""

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
    status, code = _status_and_code(error)
    return Refusal(status, code, error.message, error.advice)


def openai_error(refusal: Refusal) -> dict[str, Any]:
    """Return a refusal as the body that OpenAI's clients read, also in a stream."""
    status, code = _openai_code(refusal.status, refusal.code, refusal.faults)
    text = f"{refusal.message} {refusal.advice}".strip()[:_MESSAGE_LENGTH]
    return _openai_body(status, text, code, refusal.faults)


def error_payload(error: errors.PageIndexError) -> dict[str, Any]:
    """Return an error as the JSON payload of a server-sent event."""
    _, code = _status_and_code(error)
    return {"code": code, "message": error.message[:_MESSAGE_LENGTH], "advice": error.advice[:_MESSAGE_LENGTH]}


def method_not_allowed(method: str, allowed: Sequence[str]) -> Refusal:
    """Return the refusal of a method that the path does not allow. ``allowed`` are the methods that it allows."""
    answered = ", ".join(allowed)
    return Refusal(
        405,
        "method_not_allowed",
        f"The HTTP method {method[:20]} is not allowed at this address.",
        f"Use one of these methods: {answered}.",
        Allow=answered,
    )


def register_error_handlers(app: FastAPI) -> None:
    @app.exception_handler(errors.PageIndexError)
    async def engine_error(_: Request, error: errors.PageIndexError) -> Response:
        status, code = _status_and_code(error)
        wait = {"Retry-After": "1"} if error.retryable and status == 503 else {}
        return ProblemResponse(status, code, error.message, error.advice, wait)

    @app.exception_handler(Refusal)
    async def refusal(_: Request, error: Refusal) -> Response:
        return error.response()

    @app.exception_handler(RequestValidationError)
    async def invalid_request(request: Request, error: RequestValidationError) -> Response:
        faults = render_faults(error.errors()[:10], request.scope.get("route"))
        text = "; ".join(fault.text for fault in faults)
        return ProblemResponse(422, "invalid_request", end_sentence(text), "See /api/v1/openapi.json.", {}, faults)

    @app.exception_handler(HTTPException)
    async def http_error(_: Request, error: HTTPException) -> Response:
        code, message = _WORDS.get(error.status_code, ("bad_request", str(error.detail)))
        return ProblemResponse(error.status_code, code, message, "", error.headers or {})

    @app.exception_handler(Exception)
    async def defect(request: Request, error: Exception) -> Response:
        logging.getLogger(__name__).error("%s %s", request.method, request.url.path, exc_info=error)
        return ProblemResponse(500, "internal", "An unexpected error occurred.", "See the server's log.")


def _status_and_code(error: errors.PageIndexError) -> tuple[int, str]:
    return next(((status, code) for kind, status, code in _KINDS if isinstance(error, kind)), (500, "internal"))
