"""Middleware around the routes: HTTP conventions, idempotency keys, metrics, the audit log, and the mount of /mcp."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import re
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

from fastapi import APIRouter
from fastapi.routing import APIRoute
from starlette.datastructures import Headers, MutableHeaders
from starlette.middleware import Middleware
from starlette.responses import Response
from starlette.routing import compile_path
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hybrid_core.errors import DiskFullError, PageIndexError, ReadOnlyError
from hybrid_core.types.access import Caller
from hybrid_pageindex.engine.engine import Engine
from hybrid_pageindex.engine.index.worker import Feed
from hybrid_pageindex.http.errors import (
    Fault,
    Refusal,
    end_sentence,
    fits_path,
    has_body,
    query_names,
    refusal_of,
    unknown_name_fault,
)
from hybrid_pageindex.http.metrics import Metrics
from hybrid_pageindex.http.replies import changed_refusal, check_conditions
from hybrid_pageindex.mcp.access import Access
from hybrid_pageindex.mcp.network import HeadRequest

if TYPE_CHECKING:
    from starlette.applications import Starlette

_API_PREFIX = "/api/v1/"
_EMPTY_BODY_BYTES = 2  # bytes of a body that says nothing: {}
_KEPT_BYTES = 2**16  # bytes of an answer that is kept
_KEY_LENGTH = 200  # characters of a key
_NEVER_KEPT = ("/api/v1/tokens", "/api/v1/session", "/api/v1/search", "/api/v1/ask")
_KEPT_HEADERS = ("content-type", "location")
_MCP_SESSIONS = 1000
_WRITES, _CONDITIONS = ("PUT", "PATCH", "DELETE"), ("if-match", "if-none-match")
_READ_HEADERS = ("host", "authorization", "cookie", "accept-language")  # headers of the GET that reads the version
_FIRST_ERROR, _METHOD_NOT_ALLOWED = 400, 405
_MCP_PATHS = ("/mcp", "/mcp/connector")


class Routes:
    """The routes of an application, found by path."""

    def __init__(self, routers: Iterable[tuple[str, APIRouter]]) -> None:
        """Create the table. ``routers`` are pairs: the prefix of the paths, and the router."""
        self._operations = tuple(
            Operation.of(prefix, item)
            for prefix, router in routers
            for item in router.routes
            if isinstance(item, APIRoute)
        )

    def of(self, path: str) -> list[Operation]:
        """Return the routes at a path, for any method.

        If several patterns match, prefer routes whose parameter types fit the path.
        """
        matches = [(item, match) for item in self._operations if (match := item.path.match(path))]
        fitting = [item for item, match in matches if fits_path(item.route, match.groupdict())]
        return fitting or [item for item, _ in matches]

    def allowed(self, path: str) -> Sequence[str]:
        """Return the sorted methods that a path accepts, () for an unknown path."""
        if path.rstrip("/") in _MCP_PATHS:
            return ("DELETE", "GET", "HEAD", "OPTIONS", "POST")
        methods = frozenset[str]().union(*(item.methods for item in self.of(path)))
        if not methods:
            return ()
        return tuple(sorted(methods | {"OPTIONS"} | ({"HEAD"} if "GET" in methods else set())))


@dataclass(frozen=True, slots=True)
class Operation:
    """A route with its methods and query parameters, and whether it reads a body."""

    path: re.Pattern[str]
    route: APIRoute
    methods: frozenset[str]
    query: frozenset[str]
    reads_body: bool

    @classmethod
    def of(cls, prefix: str, route: APIRoute) -> Operation:
        path, methods = compile_path(prefix + route.path)[0], frozenset(route.methods or ())
        return cls(path, route, methods, query_names(route), has_body(route))


class Conventions:
    """Middleware that refuses unknown query parameters and unexpected bodies, and answers HEAD requests.

    It also refuses a write (412) whose conditions do not hold for the version that a GET of its address returns. It
    runs after the caller was identified.
    """

    def __init__(self, app: ASGIApp, routes: Routes) -> None:
        self._app, self._routes = app, routes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        method = "GET" if scope["method"] == "HEAD" else scope["method"]
        operation = next((item for item in self._routes.of(scope["path"]) if method in item.methods), None)
        if operation is not None and scope["path"].startswith(_API_PREFIX):
            try:
                _check_request(scope, operation)
                if method in _WRITES and any(name in Headers(scope=scope) for name in _CONDITIONS):
                    await self._check_version(scope)
            except Refusal as refusal:
                await refusal.response()(scope, receive, send)
                return
        if scope["method"] == "HEAD":
            await HeadRequest(scope).serve(self._app, receive, send)
        else:
            await self._app(scope, receive, send)

    async def _check_version(self, scope: Scope) -> None:
        """Raise Refusal if a condition of a write does not hold. A write of a missing object passes."""
        headers = [(name, value) for name, value in scope["headers"] if name.decode("latin-1") in _READ_HEADERS]
        reply: dict[str, Any] = {}

        async def receive() -> Message:
            return {"type": "http.request"}

        async def record(message: Message) -> None:
            if message["type"] == "http.response.start":
                reply.update(message)

        await self._app({**scope, "method": "GET", "query_string": b"", "headers": headers}, receive, record)
        if reply["status"] == _METHOD_NOT_ALLOWED or reply["status"] < _FIRST_ERROR:
            conditions = Headers(scope=scope)
            etag = Headers(raw=reply["headers"]).get("etag", "")
            if check_conditions(conditions, etag) and "if-none-match" in conditions:
                raise changed_refusal()


def _check_request(scope: Scope, operation: Operation) -> None:
    """Raise Refusal for an unknown query parameter, or for a body if the operation reads none."""
    query, declared = scope["query_string"].decode("latin-1"), operation.query
    names = dict.fromkeys(name for name, _ in parse_qsl(query, keep_blank_values=True))
    faults = [unknown_name_fault(item, "query", declared) for item in names if item not in declared]
    length = Headers(scope=scope).get("content-length", "")
    if (
        "GET" not in operation.methods
        and not operation.reads_body
        and length.isdigit()
        and int(length) > _EMPTY_BODY_BYTES
    ):
        faults.append(Fault("", "body", "This address accepts no body"))
    if faults:
        text = "; ".join(item.text for item in faults[:10])
        raise Refusal(422, "invalid_request", end_sentence(text), "See /api/v1/openapi.json.", faults=faults[:10])


class Idempotency:
    def __init__(self, app: ASGIApp, engine: Engine) -> None:
        self._app, self._engine = app, engine

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        key = Headers(scope=scope).get("idempotency-key") if scope["type"] == "http" else None
        if key is None or not _is_repeatable(scope):
            await self._app(scope, receive, send)
            return
        if not 1 <= len(key) <= _KEY_LENGTH:
            refusal = Refusal(
                400, "bad_request", "The idempotency key is empty or too long.", f"Use 1 to {_KEY_LENGTH} characters."
            )
            await refusal.response()(scope, receive, send)
            return
        request_hash, receive = await _hash_request(scope, receive)
        caller, store = scope["state"]["caller"].id, self._engine.admin.replies
        try:
            reply = await asyncio.to_thread(store.begin, caller, key, request_hash)
        except (ReadOnlyError, DiskFullError) as error:  # so would be what it asks for
            refusal = refusal_of(error)
            await refusal.response()(scope, receive, send)
            return
        except PageIndexError:
            reply = None
            refusal = Refusal(
                503,
                "busy",
                "The server is too busy to store the idempotency key of this request.",
                "Try again.",
                retry_after="1",
            )
            await refusal.response()(scope, receive, send)
            return
        if reply is not None:
            await _replay_reply(request_hash, reply.request, reply.status, dict(reply.headers), reply.body)(
                scope, receive, send
            )
            return
        await self._carry_out(scope, receive, send, key)

    async def _carry_out(self, scope: Scope, receive: Receive, send: Send, key: str) -> None:
        status, headers, body = 0, dict[str, str](), bytearray()

        async def record(message: Message) -> None:
            nonlocal status, headers
            if message["type"] == "http.response.start":
                status, response_headers = message["status"], MutableHeaders(raw=message["headers"])
                headers = {name: response_headers[name] for name in _KEPT_HEADERS if name in response_headers}
            elif len(body) <= _KEPT_BYTES:
                body.extend(message.get("body", b""))
            await send(message)

        caller, store = scope["state"]["caller"].id, self._engine.admin.replies
        try:
            await self._app(scope, receive, record)
        finally:
            if 200 <= status < 300 and len(body) <= _KEPT_BYTES:
                await asyncio.to_thread(store.end, caller, key, status, headers, bytes(body))
            else:
                await asyncio.to_thread(store.forget, caller, key)


def _is_repeatable(scope: Scope) -> bool:
    path: str = scope["path"]
    return scope["method"] == "POST" and path.startswith("/api/v1/") and not path.startswith(_NEVER_KEPT)


async def _hash_request(scope: Scope, receive: Receive) -> tuple[str, Receive]:
    """Return a hash of a request, and a ``receive`` that replays its body.

    JSON bodies are part of the hash; other bodies, such as files, are not.
    """
    hashed = hashlib.sha256(f"{scope['method']} {scope['path']}?".encode() + scope["query_string"])
    if not Headers(scope=scope).get("content-type", "").startswith("application/json"):
        return hashed.hexdigest(), receive
    read: list[Message] = []
    while True:
        message = await receive()
        read.append(message)
        hashed.update(message.get("body", b""))
        if message["type"] != "http.request" or not message.get("more_body"):
            break

    async def replayed() -> Message:
        return read.pop(0) if read else await receive()

    return hashed.hexdigest(), replayed


def _replay_reply(request_hash: str, kept_hash: str, status: int, headers: dict[str, str], body: bytes) -> Response:
    if request_hash != kept_hash:
        refusal = Refusal(
            422, "key_used", "Another request has already used this idempotency key.", "Use a new idempotency key."
        )
        return refusal.response()
    if not status:
        return Refusal(
            409,
            "in_progress",
            "The server is still processing the first request with this idempotency key.",
            "Wait for a few seconds, then send the request again.",
            retry_after="2",
        ).response()
    return Response(body, status, headers | {"Idempotent-Replay": "true"})


class RequestRecorder:
    def __init__(self, app: ASGIApp, engine: Engine, metrics: Metrics) -> None:
        self._app, self._engine, self._metrics = app, engine, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began = time.perf_counter()

        async def passed_on(message: Message) -> None:
            if message["type"] == "http.response.start":
                path = scope["path"].rstrip("/")
                route = getattr(scope.get("route"), "path", "") or (path if path in _MCP_PATHS else "other")
                scope["state"]["route"] = route
                self._metrics.add(scope["method"], route, message["status"], time.perf_counter() - began)
                await self._audit(scope, message["status"])  # before the caller hears of it
            await send(message)

        await self._app(scope, receive, passed_on)

    async def _audit(self, scope: Scope, status: int) -> None:
        library = scope["state"].get("audit")
        if library is None:
            return
        caller: Caller = scope["state"]["caller"]
        action = getattr(scope.get("endpoint"), "__name__", scope["method"].lower())
        path = scope["path"].removeprefix("/api/v1")
        try:
            await asyncio.to_thread(self._engine.admin.audit.add, caller.name, action, library, path[:2000], status)
        except ReadOnlyError:  # a read-only home has refused the request as well
            return
        except PageIndexError as error:  # the change is made, so the failure to record it is only logged
            logging.getLogger(__name__).error("%s by %s at %s (%d): %s", action, caller.name, path, status, error)


class McpMount:
    """Middleware that passes the paths /mcp and /mcp/connector to MCP servers.

    The connector has only the tools search and fetch. At each path one MCP server is for callers with all rights,
    another enforces the rights of each caller.
    """

    def __init__(self, app: ASGIApp, engine: Engine, access: Access, feed: Feed, wake: Callable[[], None]) -> None:
        self._app, self._engine, self._access, self._feed, self._wake = app, engine, access, feed, wake
        self._made: dict[tuple[str, bool], _RunningApp] = {}
        self._lock = asyncio.Lock()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope["path"].rstrip("/") if scope["type"] == "http" else ""
        if path not in _MCP_PATHS:
            await self._app(scope, receive, send)
            return
        caller: Caller = scope["state"]["caller"]
        limited = not caller.may("admin")
        async with self._lock:
            if (path, limited) not in self._made:
                self._made[path, limited] = await _RunningApp.start(lambda: self._build(path, limited))
        await self._made[path, limited].app({**scope, "path": path}, receive, send)

    def _build(self, path: str, limited: bool) -> Starlette:
        import fastmcp

        from hybrid_pageindex.mcp.server import build_server
        from hybrid_pageindex.mcp.transports import RETRY_MS, SessionLimit, event_store

        fastmcp.settings.enable_rich_logging = False
        fastmcp.settings.http_session_idle_timeout = 1800.0
        logging.getLogger("mcp").setLevel(logging.ERROR)  # it warns of every client that goes away
        access = Access() if limited else self._access
        server = build_server(
            self._engine, access, limited=limited, connector=path != "/mcp", feed=self._feed, wake=self._wake
        )
        return server.http_app(
            path=path,
            middleware=[Middleware(SessionLimit, limit=_MCP_SESSIONS)],
            host_origin_protection=False,
            event_store=event_store(),
            retry_interval=RETRY_MS,
        )  # the guard in front has looked at both

    async def close(self) -> None:
        for running in self._made.values():
            await running.stop()


class _RunningApp:
    """A running ASGI application. One task enters and leaves its lifespan context, as the framework requires."""

    def __init__(self, app: Starlette) -> None:
        self.app: ASGIApp = app
        self._begun: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._end = asyncio.Event()
        self._task = asyncio.ensure_future(self._live(app))

    @classmethod
    async def start(cls, build: Callable[[], Starlette]) -> _RunningApp:
        running = cls(await asyncio.to_thread(build))
        await running._begun
        return running

    async def stop(self) -> None:
        self._end.set()
        with suppress(asyncio.CancelledError):
            await self._task

    async def _live(self, app: Starlette) -> None:
        async with app.router.lifespan_context(app):
            self._begun.set_result(None)
            await self._end.wait()
