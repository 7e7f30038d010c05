"""What HTTP demands of every route alike: HEAD, OPTIONS, Allow, and no parameter that is silently ignored."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from urllib.parse import parse_qsl

from fastapi import APIRouter
from fastapi.routing import APIRoute
from starlette.datastructures import Headers
from starlette.routing import compile_path
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hybrid_pageindex.doors.http.errors import Refusal
from hybrid_pageindex.doors.http.fields import Fault, fits, has_body, query_names, unknown_name

_API = "/api/v1/"
_NOTHING = 2  # bytes of a body that says nothing: {}
_RANGES = (b"range", b"if-range")


@dataclass(frozen=True, slots=True)
class Operation:
    """Describe one route: its methods, its query parameters, and whether it reads a body."""

    path: re.Pattern[str]
    route: APIRoute
    methods: frozenset[str]
    query: frozenset[str]
    reads_body: bool

    @classmethod
    def of(cls, prefix: str, route: APIRoute) -> Operation:
        path, methods = compile_path(prefix + route.path)[0], frozenset(route.methods or ())
        return cls(path, route, methods, query_names(route), has_body(route))


class Routes:
    """The routes of an application, looked up by path."""

    def __init__(self, routers: Iterable[tuple[str, APIRouter]]) -> None:
        """``routers`` have a prefix each."""
        self._operations = tuple(
            Operation.of(prefix, item)
            for prefix, router in routers
            for item in router.routes
            if isinstance(item, APIRoute)
        )

    def of(self, path: str) -> list[Operation]:
        """The operations of a path, by whatever method; those whose parameters its parts fit, if any do."""
        matches = [(item, match) for item in self._operations if (match := item.path.match(path))]
        fitting = [item for item, match in matches if fits(item.route, match.groupdict())]
        return fitting or [item for item, _ in matches]

    def allowed(self, path: str) -> Sequence[str]:
        """The methods that a path answers, sorted; none for a path that is not there."""
        if path.rstrip("/") == "/mcp":
            return ("DELETE", "GET", "OPTIONS", "POST")
        methods = frozenset[str]().union(*(item.methods for item in self.of(path)))
        if not methods:
            return ()
        return tuple(sorted(methods | {"OPTIONS"} | ({"HEAD"} if "GET" in methods else set())))


class Conventions:
    """Around the routes, once the caller is known."""

    def __init__(self, app: ASGIApp, routes: Routes) -> None:
        self._app, self._routes = app, routes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        method = "GET" if scope["method"] == "HEAD" else scope["method"]
        operation = next((item for item in self._routes.of(scope["path"]) if method in item.methods), None)
        if operation is not None and scope["path"].startswith(_API):
            try:
                _check_request(scope, operation)
            except Refusal as refusal:
                await refusal.response()(scope, receive, send)
                return
        if scope["method"] == "HEAD":
            await _Head(scope).serve(self._app, receive, send)
        else:
            await self._app(scope, receive, send)


def _check_request(scope: Scope, operation: Operation) -> None:
    """Raise Refusal for a parameter that the operation does not have, and for a body where it reads none."""
    query, declared = scope["query_string"].decode("latin-1"), operation.query
    names = dict.fromkeys(name for name, _ in parse_qsl(query, keep_blank_values=True))
    faults = [unknown_name(item, "query", declared) for item in names if item not in declared]
    length = Headers(scope=scope).get("content-length", "")
    if "GET" not in operation.methods and not operation.reads_body and length.isdigit() and int(length) > _NOTHING:
        faults.append(Fault("", "body", "No body is read here"))
    if faults:
        text = "; ".join(item.said for item in faults[:10])
        raise Refusal(422, "invalid_request", f"{text}.", "See /api/v1/openapi.json.", faults=faults[:10])


class _Head:
    """Answer one HEAD request as GET, without the body. A stream ends once it has begun."""

    def __init__(self, scope: Scope) -> None:
        self._scope, self._begun = scope, asyncio.Event()

    async def serve(self, app: ASGIApp, receive: Receive, send: Send) -> None:
        scope, ended = self._scope, False

        async def received() -> Message:
            coming = asyncio.ensure_future(receive())
            await asyncio.wait({coming, begun}, return_when=asyncio.FIRST_COMPLETED)
            if begun.done():
                coming.cancel()
                return {"type": "http.disconnect"}
            return await coming

        async def headed(message: Message) -> None:
            nonlocal ended
            if message["type"] == "http.response.start":
                scope["method"] = "HEAD"  # the server counts no body, and the metrics name what was asked
                await send(message)
                await send({"type": "http.response.body", "body": b"", "more_body": False})
                ended = True
                self._begun.set()
            elif not ended:
                await send(message)

        begun = asyncio.ensure_future(self._begun.wait())
        scope["method"] = "GET"
        scope["headers"] = [(name, value) for name, value in scope["headers"] if name not in _RANGES]
        try:
            await app(scope, received, headed)
        finally:
            begun.cancel()
