"""The outermost layer: check the host, origin, type and size of requests, and add security headers to responses.

A web page can make its own host name point to this machine (DNS rebinding), so Host is checked first. Pages of other
sites can send simple requests, so Origin and Sec-Fetch-Site are checked next. A page on another port of this machine
counts as the same site, and its requests carry this server's cookie.
"""

from __future__ import annotations

import asyncio
import ipaddress
import re
import socket
from collections.abc import Callable, Sequence
from contextlib import suppress
from urllib.parse import quote, unquote

from starlette.datastructures import Headers, MutableHeaders
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hybrid_pageindex.http.errors import Refusal, method_not_allowed
from hybrid_pageindex.mcp.network import SECONDS, loopback, split

SLASH = "\ue02f"
"""The mark in a path for a slash inside the name of a library or a document."""
SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
_DRAINED_BYTES, _DRAIN_SECONDS = 32 * 2**20, 5.0  # bytes and seconds for which a refused body is read
_METHODS = ("GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE")
_HOST = re.compile(r"[A-Za-z0-9._-]+(:[0-9]{1,5})?|\[[0-9A-Fa-f:.]+\](:[0-9]{1,5})?")
_SLASH = re.compile(rb"%2f", re.IGNORECASE)
_HEADERS = {
    "Content-Security-Policy": "default-src 'self'; img-src 'self' data: blob:; object-src 'none'; base-uri 'none'; "
    "form-action 'self'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
    "Cache-Control": "no-store",
}
_ALLOWED_HEADERS = (  # request headers that an allowed page may send
    "Accept", "Authorization", "Content-Type", "If-Match", "If-None-Match", "Idempotency-Key", "Last-Event-ID",
    "Mcp-Method", "Mcp-Name", "Mcp-Protocol-Version", "Mcp-Session-Id", "Range", "Traceparent", "X-Request-Id",
)  # fmt: skip
_EXPOSED_HEADERS = (
    "ETag",
    "Location",
    "Mcp-Session-Id",
    "Retry-After",
    "Content-Disposition",
    "Content-Range",
    "X-Request-Id",
)


class Hosts:
    """The host names that this server accepts."""

    def __init__(self, bound: str, allowed: Sequence[str]) -> None:
        self._names = {name.lower() for name in allowed}
        self._literals = False
        if not loopback(bound):
            self._literals = bound in ("0.0.0.0", "::")  # an address is not a name that can be pointed elsewhere
            self._names |= {bound.lower(), socket.gethostname().lower()}

    def allow(self, written: str) -> bool:
        """Return whether the server accepts this Host header."""
        if not _HOST.fullmatch(written):
            return False
        name = (split(f"//{written}").hostname or "").lower()
        return loopback(name) or name in self._names or (self._literals and _is_address(name))


def _mark_slashes(scope: Scope) -> Scope:
    """Return a request in whose path each escaped slash (%2F) is replaced by a mark.

    So an escaped slash within a name differs from a slash between parts of the path.
    """
    raw: bytes = scope.get("raw_path") or b""
    if not _SLASH.search(raw):
        return scope
    escaped = _SLASH.sub(quote(SLASH).encode(), raw.partition(b"?")[0])
    return {**scope, "path": unquote(escaped.decode("latin-1"))}


class Guard:
    def __init__(
        self, app: ASGIApp, hosts: Hosts, origins: Sequence[str], room: Callable[[str, str], tuple[int, Sequence[str]]],
        allowed: Callable[[str], Sequence[str]],
    ) -> None:  # fmt: skip
        """Create the guard of an application.

        ``room`` returns for a method and path the maximum bytes of a body and its allowed types. ``allowed`` returns
        the methods that a path accepts, () for an unknown path.
        """
        self._app, self._hosts, self._origins, self._room = app, hosts, tuple(origins), room
        self._allowed = allowed
        self._to_pages = CORSMiddleware(
            self._checked,
            self._origins,
            _METHODS,
            _ALLOWED_HEADERS,
            allow_private_network=True,
            expose_headers=_EXPOSED_HEADERS,
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] == "http":
            await self._http(_mark_slashes(scope), receive, send)
        else:
            await send({"type": "websocket.close", "code": 1008})

    async def _http(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def marked(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        headers = Headers(scope=scope)
        try:
            self._check_host(headers)
            self._check_origin(scope, headers)
        except Refusal as refusal:
            await refusal.response()(scope, receive, marked)
            return
        await self._to_pages(scope, receive, marked)

    async def _checked(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check the method and body of a request, and call the application.

        Preflight requests of browsers were answered before.
        """
        headers, limit, allowed = Headers(scope=scope), 0, self._allowed(scope["path"])
        if scope["method"] == "OPTIONS" and allowed:
            await Response(status_code=204, headers={"Allow": ", ".join(allowed)})(scope, receive, send)
            return
        try:
            if scope["method"] not in (allowed or _METHODS):
                raise method_not_allowed(scope["method"], allowed or _METHODS)
            limit = self._check_body(scope, headers)
        except Refusal as refusal:
            await _drain(receive)
            await refusal.response()(scope, receive, send)
            return
        await _LimitedBody(limit).serve(self._app, scope, receive, send)

    def _check_host(self, headers: Headers) -> None:
        hosts = headers.getlist("host")
        if len(hosts) != 1 or not self._hosts.allow(hosts[0]):
            raise Refusal(
                421,
                "host_not_allowed",
                "This server does not accept requests for that host name.",
                "The person who runs the server can allow this host name.",
            )

    def _check_origin(self, scope: Scope, headers: Headers) -> None:
        origins = headers.getlist("origin")
        if any(not self._own(origin, headers["host"]) for origin in origins) or len(origins) > 1:
            raise Refusal(
                403,
                "origin_not_allowed",
                "Web pages of this origin may not call this server.",
                "The person who runs the server can allow this origin.",
            )
        if origins and origins[0] in self._origins:
            return
        if headers.get("sec-fetch-site", "none") in ("same-origin", "none"):
            return
        opened = scope["method"] in ("GET", "HEAD") and headers.get("sec-fetch-mode") == "navigate"
        if not opened or scope["path"].startswith(("/api/", "/v1/", "/mcp")):
            raise Refusal(
                403,
                "origin_not_allowed",
                "A page of another site sent this request.",
                "Open the address of this server in a new tab of the browser.",
            )

    def _own(self, origin: str, host: str) -> bool:
        parts = split(origin.lower())
        same = parts.scheme in ("http", "https") and parts.netloc == host.lower()
        return same or origin in self._origins

    def _check_body(self, scope: Scope, headers: Headers) -> int:
        limit, types = self._room(scope["method"], scope["path"])
        length = headers.get("content-length", "")
        if not length and "transfer-encoding" not in headers:
            return limit
        if length and not (length.isascii() and length.isdigit()):
            raise Refusal(400, "bad_request", "The header Content-Length is not a number.")
        if length and int(length) > limit:
            raise _too_large(limit)
        kind = headers.get("content-type", "").partition(";")[0].strip().lower()
        if length != "0" and kind not in types:
            raise Refusal(
                415,
                "unsupported_type",
                f"'{kind[:100]}' is not an accepted content type.",
                f"Send {' or '.join(types)}.",
            )
        return limit


class _LimitedBody:
    """A limit on the size and duration of one request body.

    If the body is too large or too slow, the application sees a disconnected client, and the client receives a refusal.
    """

    def __init__(self, limit: int) -> None:
        self._most, self._left, self._started, self._whole = limit, limit, False, False
        self._refusal: Refusal | None = None

    async def serve(self, app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        async def counted() -> Message:
            if self._whole:
                return await receive()  # the client disconnected
            try:
                message = await asyncio.wait_for(receive(), SECONDS)
            except TimeoutError:
                self._refusal = Refusal(408, "too_slow", "The request took too long to arrive.", connection="close")
                return {"type": "http.disconnect"}
            self._left -= len(message.get("body", b""))
            self._whole = not message.get("more_body", False)
            if self._left < 0:
                self._refusal = _too_large(self._most)
                return {"type": "http.disconnect"}
            return message

        async def passed_on(message: Message) -> None:
            if self._refusal is None or self._started:
                self._started = True
                await send(message)

        try:
            await app(scope, counted, passed_on)
        except asyncio.CancelledError:  # happens only when the server ends
            if self._started:
                raise
            ending = Refusal(
                503, "server_ending", "The server is shutting down.", "Send the request again.", connection="close"
            )
            await ending.response()(scope, receive, send)
            return
        except Exception:
            if self._refusal is None:
                raise
        if self._refusal is not None and not self._started:
            await _drain(receive)
            await self._refusal.response()(scope, receive, send)


async def _drain(receive: Receive) -> None:
    """Read the rest of a refused request's body for a while, and discard it.

    A client whose connection is cut while it sends would not read the refusal.
    """
    left = _DRAINED_BYTES
    with suppress(TimeoutError):
        async with asyncio.timeout(_DRAIN_SECONDS):
            while left > 0 and (message := await receive())["type"] == "http.request" and message.get("more_body"):
                left -= len(message["body"])


def _too_large(limit: int) -> Refusal:
    return Refusal(
        413,
        "too_large",
        f"The request is too large: a request to this address may have at most {limit:,} bytes.",
        "Send a smaller request.",
        connection="close",
    )


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
