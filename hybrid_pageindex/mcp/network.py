"""Network code that the HTTP API and the MCP server share: loopback names, origins, HEAD requests, and timeouts."""

from __future__ import annotations

import asyncio
import ipaddress
import logging
from urllib.parse import SplitResult, urlsplit

import h11
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from hybrid_core.errors import UsageError

SECONDS = 30.0  # seconds in which a client must send, or begin, a request
_KEEP_ALIVE = 20  # seconds for which a connection stays open after a request
_RANGE_HEADERS = (b"range", b"if-range")


def loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def web_origin(written: str) -> str:
    """Return a web page's origin as browsers send it. Raise UsageError for text that is not an origin."""
    parts = split(written.strip().lower())
    if not parts.scheme or not parts.hostname or parts.path.strip("/") or parts.query or parts.fragment:
        raise UsageError(
            f"'{written}' is not a web origin.",
            "Write what a browser sends as Origin, for example https://tool.example:8080.",
        )
    return f"{parts.scheme}://{parts.netloc}"


def split(written: str) -> SplitResult:
    """Return the parts of a URL from a header. The parts of an invalid URL are empty."""
    try:
        return urlsplit(written)
    except ValueError:
        return urlsplit("")


class Impatient(H11Protocol):
    """An HTTP protocol that closes connections on which no request begins for a while.

    Otherwise idle connections would count as used. After a request a connection stays open longer than uvicorn's 5 s.
    Many clients close idle connections after 5 s, too, and would lose a request that they begin just then.
    """

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.timeout_keep_alive = _KEEP_ALIVE
        self.loop.call_later(SECONDS, self._look, None)

    def _look(self, last: RequestResponseCycle | None) -> None:
        """Close the connection if it is idle and no request followed ``last``. Otherwise check again later."""
        if self.transport.is_closing():
            return
        if self.conn.their_state is h11.IDLE and self.cycle is last:  # no headers of another request have arrived
            self.transport.close()
        else:
            self.loop.call_later(SECONDS, self._look, self.cycle)


def not_cut_off(record: logging.LogRecord) -> bool:
    """Return whether to keep a log record. Drop records of requests that the server's end cancelled."""
    return not (record.exc_info and isinstance(record.exc_info[1], asyncio.CancelledError))


class HeadRequest:
    """A HEAD request that is handled as GET, with a response without body. An event stream ends at once."""

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
                scope["method"] = "HEAD"  # the server then sends no body, and the metrics count a HEAD request
                await send(message)
                await send({"type": "http.response.body", "body": b"", "more_body": False})
                ended = True
                self._begun.set()
            elif not ended:
                await send(message)

        begun = asyncio.ensure_future(self._begun.wait())
        scope["method"] = "GET"
        scope["headers"] = [(name, value) for name, value in scope["headers"] if name not in _RANGE_HEADERS]
        try:
            await app(scope, received, headed)
        finally:
            begun.cancel()
