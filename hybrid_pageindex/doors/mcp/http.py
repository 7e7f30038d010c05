"""Streamable HTTP: who may call, from where, and how much."""

from __future__ import annotations

import asyncio
import hmac
import logging
from collections.abc import Sequence

import fastmcp
from fastmcp import FastMCP
from starlette.datastructures import Headers
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hybrid_core.errors import StoreError, UsageError
from hybrid_pageindex.doors.listening import SECONDS, Impatient, loopback, not_cut_off, split, web_origin
from hybrid_pageindex.doors.mcp import sessions

PATH = "/mcp"
_MOST_BYTES = 4 * 2**20  # of one request
_CONNECTIONS = 256  # at once; one more is answered 503
_SESSIONS = 1000  # at once, some 40 kB each; more than there are connections
_IDLE = 1800.0  # seconds after which a session ends on which nothing is asked
_METHODS = ("GET", "POST", "DELETE")
_HEADERS = (  # that a web page may send
    "Accept", "Authorization", "Content-Type", "Last-Event-ID", "Mcp-Method", "Mcp-Name", "Mcp-Protocol-Version",
    "Mcp-Session-Id",
)  # fmt: skip
_LEAST_TOKEN = 16  # characters


def address(written: str, token: str) -> tuple[str, int]:
    """``HOST:PORT``, or a port of 127.0.0.1.

    Raises UsageError for a bad one, and where other machines could call without a token.
    """
    host, _, port = (f"127.0.0.1:{written}" if written.isdigit() else written).rpartition(":")
    host = host.strip("[]")
    if not host or not port.isdigit() or int(port) > 65535:
        raise UsageError(f"'{written}' is no address.", "Write HOST:PORT, for example 127.0.0.1:8765.")
    if token and len(token) < _LEAST_TOKEN:
        raise UsageError("The setting mcp_token is too short.", f"Use {_LEAST_TOKEN} random characters or more.")
    if not token and not loopback(host):
        raise UsageError(
            f"{host} can be reached by other machines, and no token protects it.",
            "Set PAGEINDEX_MCP_TOKEN to a long random word, or use 127.0.0.1.",
        )
    return host, int(port)


async def serve(server: FastMCP, host: str, port: int, token: str, origins: Sequence[str]) -> None:
    """Serve until the process is asked to end. Raises StoreError where the address is taken."""
    guard = Middleware(Guard, token=token, local=loopback(host), origins=tuple(map(web_origin, origins)))
    bound = Middleware(sessions.Sessions, most=_SESSIONS)
    fastmcp.settings.http_session_idle_timeout = _IDLE
    logging.getLogger("uvicorn.error").addFilter(not_cut_off)
    try:
        await server.run_http_async(
            show_banner=False, transport="http", host=host, port=port, path=PATH, middleware=[guard, bound],
            host_origin_protection=False,  # Guard's work
            log_level="WARNING",
            uvicorn_config={
                "access_log": False, "limit_concurrency": _CONNECTIONS, "log_level": "warning", "http": Impatient,
            },
        )  # fmt: skip
    except SystemExit as error:  # uvicorn's way to say that it could not start; it has said why
        raise StoreError(f"{host}:{port} cannot be served.", "Choose another port.") from error


class Guard:
    """Checks Host, Origin, method, token and size before anything of the protocol is read.

    On loopback the Host must be loopback, too: a web page can point a name of its own at this machine. Origin is
    sent by browsers only; it must be the server itself or one that was allowed. A browser asks whether an allowed page
    may call before it does, without the token, and lets the page read only answers that say so, refusals too.
    """

    def __init__(self, app: ASGIApp, token: str, local: bool, origins: tuple[str, ...]) -> None:
        self._app, self._token, self._local, self._origins = app, token.encode(), local, origins
        self._to_pages = CORSMiddleware(
            self._called, origins, _METHODS, _HEADERS, allow_private_network=True, expose_headers=[sessions.HEADER]
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        await (self._from_elsewhere(Headers(scope=scope)) or self._to_pages)(scope, receive, send)

    async def _called(self, scope: Scope, receive: Receive, send: Send) -> None:
        refusal = self._refusal(scope["method"], Headers(scope=scope))
        if refusal is None and scope["method"] == "POST":
            try:
                body = await asyncio.wait_for(_body(receive), SECONDS)
            except TimeoutError:
                refusal = PlainTextResponse("The request took too long to arrive.", 408)
            else:
                if body is None:
                    refusal = PlainTextResponse(f"Requests may have {_MOST_BYTES} bytes.", 413)
                else:
                    receive = _replayed(body, receive)
        await (refusal or self._app)(scope, receive, send)

    def _from_elsewhere(self, headers: Headers) -> PlainTextResponse | None:
        host = headers.get("host", "")
        if self._local and not loopback(split(f"//{host}").hostname or ""):
            return PlainTextResponse("This server answers to loopback names only.", 421)
        origin = headers.get("origin")
        if origin is not None and origin not in self._origins and split(origin).netloc != host:
            return PlainTextResponse("This origin may not call; allow it with --allow-origin.", 403)
        return None

    def _refusal(self, method: str, headers: Headers) -> PlainTextResponse | None:
        if method not in _METHODS:
            return PlainTextResponse(f"{method} is not answered here.", 405, {"Allow": ", ".join(_METHODS)})
        if self._token:
            kind, _, given = headers.get("authorization", "").partition(" ")
            if kind.lower() != "bearer" or not hmac.compare_digest(given.strip().encode(), self._token):
                return PlainTextResponse("A bearer token is needed.", 401, {"WWW-Authenticate": "Bearer"})
        if int(headers.get("content-length", "0") or 0) > _MOST_BYTES:
            return PlainTextResponse(f"Requests may have {_MOST_BYTES} bytes.", 413)
        return None


async def _body(receive: Receive) -> bytes | None:
    """A request's body; None where it is too large."""
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


def _replayed(body: bytes, receive: Receive) -> Receive:
    """Gives a body that was read, then whatever comes after it."""
    given = False

    async def replay() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replay
