"""Run the MCP server on stdio or streamable HTTP, until the client or the user ends it."""

from __future__ import annotations

import argparse
import asyncio
import hmac
import io
import logging
import os
import select
import socket
import sys
import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial

import anyio
import fastmcp
import uvicorn
from fastmcp import FastMCP
from fastmcp.server.event_store import EventStore
from fastmcp.utilities.logging import configure_logging
from key_value.aio.stores.memory import MemoryStore
from starlette.datastructures import Headers
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hybrid_core.errors import StoreError, UsageError
from hybrid_core.logs import written_as_json
from hybrid_core.system import POSIX, on_signals
from hybrid_pageindex.engine.engine import Engine
from hybrid_pageindex.mcp.access import Access
from hybrid_pageindex.mcp.network import SECONDS, HeadRequest, Impatient, loopback, not_cut_off, split, web_origin
from hybrid_pageindex.mcp.server import build_server
from hybrid_pageindex.request_ids import RequestIds

SESSION_HEADER = "mcp-session-id"
_log = logging.getLogger(__name__)
MCP_PATH = "/mcp"
_MOST_BYTES = 4 * 2**20  # maximum bytes of one request
_CONNECTIONS = 256  # at once; one more is answered 503
_SESSIONS = 1000  # at once, some 40 kB each; more than there are connections
_IDLE = 1800.0  # seconds after which a session ends on which nothing is asked
_METHODS = ("DELETE", "GET", "HEAD", "OPTIONS", "POST")
_REQUEST_HEADERS = (  # headers that a web page may send
    "Accept", "Authorization", "Content-Type", "Last-Event-ID", "Mcp-Method", "Mcp-Name", "Mcp-Protocol-Version",
    "Mcp-Session-Id",
)  # fmt: skip
_TOKEN_LENGTH = 16  # characters
_EVENTS = 200  # kept for clients whose stream broke, of all sessions together; with pictures some 100 MB at most
_EVENT_SECONDS = 300
RETRY_MS = 1000  # after which such a client comes back
_END_SECONDS = 10.0  # for an orderly end after a signal


async def serve(engine: Engine, options: argparse.Namespace) -> None:
    """Run the server until it ends.

    ``options`` are those of the command ``mcp``. Raise UsageError for unsafe options.
    """
    access = Access.of(options.root, read_only=options.read_only)
    engine.admin.confine(access.roots)
    fastmcp.settings.enable_rich_logging = False  # plain lines on stderr
    if not written_as_json():
        configure_logging("WARNING")
    logging.getLogger("mcp").setLevel(logging.ERROR)  # it warns of every client that goes away
    server = build_server(engine, access, options.max_tokens)
    if options.http:
        token = engine.settings.mcp_token
        host, port = parse_address(options.http, token)
        await serve_http(server, host, port, token, options.allow_origin)
        return
    try:
        with endable_stdin() as client:
            on_signals(("SIGTERM", "SIGINT"), partial(_end_in_order, client))
            await server.run_stdio_async(show_banner=False, log_level="WARNING")
    except ExceptionGroup as group:
        if group.split(BrokenPipeError)[1] is not None:
            raise
        raise BrokenPipeError from group  # the client went away: the command line ends quietly


def _end_in_order(client: EndableInput) -> None:
    """End the server by ending its input. Kill the process after a while, in case a client reads no responses."""
    client.end()
    force = threading.Timer(_END_SECONDS, os._exit, (1,))
    force.daemon = True
    force.start()


@contextmanager
def endable_stdin() -> Iterator[EndableInput]:
    """Replace ``sys.stdin`` by an EndableInput, and yield that. Child processes get an empty standard input.

    Raise UsageError if the process has no standard input.
    """
    standard = sys.stdin
    if standard is None:
        raise UsageError(
            "The server cannot receive requests, because it was started without standard input.",
            "Let an MCP client start the server, or start it with --http.",
        )
    source = os.dup(0)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    wrapped = EndableInput(source)
    sys.stdin = io.TextIOWrapper(io.BufferedReader(wrapped), encoding="utf-8")
    try:
        yield wrapped
    finally:
        os.dup2(source, 0)  # it is not closed: a thread may still read from it
        sys.stdin = standard


class EndableInput(io.RawIOBase):
    """An input stream on a file descriptor whose waiting read ``end`` can end, unlike a read of ``sys.stdin``."""

    def __init__(self, source: int) -> None:
        super().__init__()
        self._source, self._ended = source, False
        self._ending, self._end = os.pipe()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        if not POSIX:  # Windows waits for sockets only: an end is noticed when the client has written or gone
            data = b"" if self._ended else os.read(self._source, len(buffer))
            buffer[: len(data)] = data
            return 0 if self._ended else len(data)
        ready, _, _ = select.select([self._source, self._ending], [], [])
        return 0 if self._ending in ready else os.readv(self._source, [buffer])

    def end(self) -> None:
        """End all further reads. Safe to call twice, and from a signal handler."""
        self._ended = True
        os.write(self._end, b"\0")


def parse_address(written: str, token: str) -> tuple[str, int]:
    """Return host and port of ``HOST:PORT``, or of a port on 127.0.0.1.

    Raise UsageError for an invalid address, a short token, or an address that other machines can reach without a token.
    """
    host, _, port = (f"127.0.0.1:{written}" if written.isdigit() else written).rpartition(":")
    host = host.strip("[]")
    if not host or not port.isdigit() or int(port) > 65535:
        raise UsageError(f"'{written}' is not an address to listen on.", "Write HOST:PORT, for example 127.0.0.1:8765.")
    if token and len(token) < _TOKEN_LENGTH:
        raise UsageError("The setting mcp_token is too short.", f"Use {_TOKEN_LENGTH} random characters or more.")
    if not token and not loopback(host):
        raise UsageError(
            f"Other machines can reach the address {host}, but no token is set to protect the server.",
            "Set PAGEINDEX_MCP_TOKEN to a long random word, or listen on 127.0.0.1.",
        )
    return host, int(port)


async def serve_http(server: FastMCP, host: str, port: int, token: str, origins: Sequence[str]) -> None:
    """Run the HTTP server until the process is asked to end. Raise StoreError if the address is in use."""
    guard = Middleware(HttpGuard, token=token, local=loopback(host), origins=tuple(map(web_origin, origins)))
    bound = Middleware(SessionLimit, limit=_SESSIONS)
    fastmcp.settings.http_session_idle_timeout = _IDLE
    logging.getLogger("uvicorn.error").addFilter(not_cut_off)
    try:
        app = server.http_app(
            path=MCP_PATH, middleware=[Middleware(RequestIds), guard, bound],
            host_origin_protection=False,  # HttpGuard's work
            event_store=event_store(), retry_interval=RETRY_MS,
        )  # fmt: skip
        config = uvicorn.Config(
            app, host=host, port=port, lifespan="on", ws="none", timeout_graceful_shutdown=2, access_log=False,
            limit_concurrency=_CONNECTIONS, log_level="warning", log_config=None, http=Impatient,
        )  # fmt: skip
        await _Uvicorn(config).serve()
    except SystemExit as error:  # uvicorn's way to say that it could not start; it has said why
        raise StoreError(
            f"The address {host}:{port} cannot be opened for listening.", "Choose another port."
        ) from error


class _Uvicorn(uvicorn.Server):
    """A uvicorn server that prints its address when it is ready."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            host, port = self.config.host, self.servers[0].sockets[0].getsockname()[1]
            address = f"http://{f'[{host}]' if ':' in host else host}:{port}{MCP_PATH}"
            if written_as_json():
                _log.warning("Serving MCP at %s", address)
            else:
                sys.stderr.write(f"Serving MCP at {address}\n")
                sys.stderr.flush()


def event_store() -> EventStore:
    """Return a store of the latest events. A client whose stream broke fetches the missed events from it."""
    return EventStore(
        MemoryStore(max_entries_per_collection=_EVENTS), max_events_per_stream=_EVENTS, ttl=_EVENT_SECONDS
    )


class HttpGuard:
    """Middleware that checks Host, Origin, method, token and size before the protocol is read.

    On loopback the Host must be a loopback name, since a web page can make its own host name point to this machine.
    Only browsers send Origin; it must be the server's own origin or an allowed one. Preflight requests of browsers need
    no token.
    """

    def __init__(self, app: ASGIApp, token: str, local: bool, origins: tuple[str, ...]) -> None:
        self._app, self._token, self._local, self._origins = app, token.encode(), local, origins
        self._to_pages = CORSMiddleware(
            self._called,
            origins,
            _METHODS,
            _REQUEST_HEADERS,
            allow_private_network=True,
            expose_headers=[SESSION_HEADER],
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        await (self._from_elsewhere(Headers(scope=scope)) or self._to_pages)(scope, receive, send)

    async def _called(self, scope: Scope, receive: Receive, send: Send) -> None:
        refusal = self._refusal(scope["method"], Headers(scope=scope))
        if refusal is None and scope["method"] == "HEAD":
            await HeadRequest(scope).serve(self._app, receive, send)
            return
        if refusal is None and scope["method"] == "POST":
            try:
                body = await asyncio.wait_for(_read_body(receive), SECONDS)
            except TimeoutError:
                refusal = PlainTextResponse("The request took too long to arrive.", 408)
            else:
                if body is None:
                    refusal = PlainTextResponse(f"A request may have at most {_MOST_BYTES} bytes.", 413)
                else:
                    receive = _replay_body(body, receive)
        await (refusal or self._app)(scope, receive, send)

    def _from_elsewhere(self, headers: Headers) -> PlainTextResponse | None:
        host = headers.get("host", "")
        if self._local and not loopback(split(f"//{host}").hostname or ""):
            return PlainTextResponse(
                "This server accepts only the host names of the local machine, such as localhost.", 421
            )
        origin = headers.get("origin")
        if origin is not None and origin not in self._origins and split(origin).netloc != host:
            return PlainTextResponse(
                "Web pages of this origin may not call; allow the origin with --allow-origin.", 403
            )
        return None

    def _refusal(self, method: str, headers: Headers) -> Response | None:
        if method == "OPTIONS":
            return Response(status_code=204, headers={"Allow": ", ".join(_METHODS)})
        if method not in _METHODS:
            return PlainTextResponse(f"{method} is not accepted at this address.", 405, {"Allow": ", ".join(_METHODS)})
        if self._token:
            kind, _, token = headers.get("authorization", "").partition(" ")
            if kind.lower() != "bearer" or not hmac.compare_digest(token.strip().encode(), self._token):
                return PlainTextResponse("This request needs a bearer token.", 401, {"WWW-Authenticate": "Bearer"})
        if int(headers.get("content-length", "0") or 0) > _MOST_BYTES:
            return PlainTextResponse(f"A request may have at most {_MOST_BYTES} bytes.", 413)
        return None


async def _read_body(receive: Receive) -> bytes | None:
    """Return the body of a request, None if it is too large."""
    parts: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] != "http.request":  # the client went away
            return b"".join(parts)
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > _MOST_BYTES:
            return None
        if not message.get("more_body", False):
            return b"".join(parts)


def _replay_body(body: bytes, receive: Receive) -> Receive:
    """Return a receive channel that sends a body already read, and then continues with ``receive``."""
    sent = False

    async def replay() -> Message:
        nonlocal sent
        if sent:
            return await receive()
        sent = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replay


class SessionLimit:
    """Middleware that ends the session that was idle longest when more than ``limit`` sessions are open.

    The client of an ended session gets status 404, which tells it to initialise again. Sessions with a running request
    stay, so ``limit`` must exceed the number of concurrent requests.
    """

    def __init__(self, app: ASGIApp, limit: int) -> None:
        self._app, self._most = app, limit
        self._in_flight: OrderedDict[str, int] = OrderedDict()  # requests of each session; the longest idle first

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        session = Headers(scope=scope).get(SESSION_HEADER)
        if session is not None and session not in self._in_flight:  # an unknown session: the application answers
            await self._app(scope, receive, send)
            return

        async def watched(message: Message) -> None:
            nonlocal session
            if message["type"] == "http.response.start":
                if session is None and message["status"] < 400:
                    session = Headers(raw=message["headers"]).get(SESSION_HEADER)
                    if session is not None:
                        self._in_flight[session] = 1
                        await self._make_room(scope)
                elif session is not None and _session_ended(scope["method"], message["status"]):
                    self._in_flight.pop(session, None)
            await send(message)

        if session is not None:
            self._in_flight[session] += 1
        try:
            await self._app(scope, receive, watched)
        finally:
            if session is not None and session in self._in_flight:
                self._in_flight[session] -= 1
                self._in_flight.move_to_end(session)

    async def _make_room(self, scope: Scope) -> None:
        """If there are too many sessions, end the one that was idle longest.

        ``scope`` is any request to the same application.
        """
        idle = (session for session, requests in self._in_flight.items() if not requests)
        if len(self._in_flight) <= self._most or (longest := next(idle, None)) is None:
            return
        del self._in_flight[longest]
        with anyio.CancelScope(shield=True):  # end it even if the client of the new session disconnects
            await self._app(_delete_scope(scope, longest), _empty_request, _ignore_response)


def _session_ended(method: str, status: int) -> bool:
    """Return whether a response means that its session has ended."""
    return status == 404 or (method == "DELETE" and status < 400)


def _delete_scope(scope: Scope, session: str) -> Scope:
    """Return a DELETE request, by which a client ends its session."""
    deletion = {
        key: scope[key] for key in ("type", "asgi", "http_version", "scheme", "server", "client", "path", "app")
    }
    headers = [(SESSION_HEADER.encode(), session.encode())]
    return deletion | {"method": "DELETE", "query_string": b"", "root_path": "", "headers": headers}


async def _empty_request() -> Message:
    return {"type": "http.request", "body": b"", "more_body": False}


async def _ignore_response(_: Message) -> None:
    pass
