"""Give every HTTP request an id, which its response, its log lines and its jobs carry."""

from __future__ import annotations

import logging
import re
import time
import uuid
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hybrid_core.logs import begin_about
from hybrid_core.tracing import mark_failed, span

REQUEST_ID = "X-Request-Id"
_VALID_ID = re.compile(r"[A-Za-z0-9._:/+=@-]{1,128}")
_TRACEPARENT = re.compile(r"[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}(?:-.*)?")  # W3C Trace Context
_log = logging.getLogger(__name__)


def new_id() -> str:
    return uuid.uuid4().hex


def request_id_of(headers: Headers) -> str:
    """Return the id of a request: a valid ``X-Request-Id``, else the trace id of a ``traceparent``, else a new id."""
    brought = headers.get(REQUEST_ID, "")
    if _VALID_ID.fullmatch(brought):
        return brought
    trace = _TRACEPARENT.fullmatch(headers.get("traceparent", "").strip())
    return trace[1] if trace and trace[1].strip("0") else new_id()


class RequestIds:
    """The outermost middleware. It gives each request an id, and logs its end at the level ``info``."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        number, began, status = request_id_of(Headers(scope=scope)), time.perf_counter(), 0
        state = scope.setdefault("state", {})
        state["request_id"] = number
        begin_about(request_id=number)  # it stays: the server logs an error of this task after us

        async def named(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                MutableHeaders(scope=message)[REQUEST_ID] = number
            await send(message)

        with span(scope["method"], headers=Headers(scope=scope)) as traced:
            try:
                await self._app(scope, receive, named)
            finally:
                _log_end(scope, status, time.perf_counter() - began)
                _trace_end(traced, scope, status)


def _trace_end(traced: Any, scope: Scope, status: int) -> None:
    """Name the trace span of a request by its route, after OpenTelemetry's conventions for HTTP, and add the
    status.
    """
    route = scope["state"].get("route", "other")
    traced.update_name(f"{scope['method']} {route}")
    traced.set_attribute("http.request.method", scope["method"])
    traced.set_attribute("http.route", route)
    traced.set_attribute("http.response.status_code", status)
    if not 0 < status < 500:
        mark_failed(traced)


def _log_end(scope: Scope, status: int, seconds: float) -> None:
    """Log the end of a request. Leave out path and query, which may contain document names and questions."""
    if not _log.isEnabledFor(logging.INFO):
        return
    state, method = scope["state"], scope["method"]
    route = state.get("route", "other")
    extra = {"method": method, "route": route, "status": status, "seconds": round(seconds, 4)}
    if caller := getattr(state.get("caller"), "name", ""):
        extra["caller"] = caller
    if library := state.get("library", ""):
        extra["library"] = library
    _log.info("%s %s: %s", method, route, status or "no response", extra=extra)
