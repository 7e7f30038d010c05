"""How many sessions of the protocol are kept at once. Revisions without a handshake have none."""

from __future__ import annotations

from collections import OrderedDict

import anyio
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

HEADER = "mcp-session-id"


class Sessions:
    """Ends the session that has been idle longest where one more than ``most`` is opened.

    A client whose session was ended gets 404, which tells it to initialise again. Sessions with a request in flight
    stay, so ``most`` must be more than the requests that are served at once.
    """

    def __init__(self, app: ASGIApp, most: int) -> None:
        self._app, self._most = app, most
        self._in_flight: OrderedDict[str, int] = OrderedDict()  # requests of each session; the longest idle first

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        session = Headers(scope=scope).get(HEADER)
        if session is not None and session not in self._in_flight:  # none of ours: the application says so
            await self._app(scope, receive, send)
            return

        async def watched(message: Message) -> None:
            nonlocal session
            if message["type"] == "http.response.start":
                if session is None and message["status"] < 400:
                    session = Headers(raw=message["headers"]).get(HEADER)
                    if session is not None:
                        self._in_flight[session] = 1
                        await self._make_room(scope)
                elif session is not None and _gone(scope["method"], message["status"]):
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
        """``scope`` is any request of the same application."""
        idle = (session for session, requests in self._in_flight.items() if not requests)
        if len(self._in_flight) <= self._most or (longest := next(idle, None)) is None:
            return
        del self._in_flight[longest]
        with anyio.CancelScope(shield=True):  # it is ended even where the client that opened another goes away
            await self._app(_delete(scope, longest), _nothing, _ignored)


def _gone(method: str, status: int) -> bool:
    """Whether an answer says that its session is no more."""
    return status == 404 or (method == "DELETE" and status < 400)


def _delete(scope: Scope, session: str) -> Scope:
    """The request with which a client ends its own session."""
    kept = {key: scope[key] for key in ("type", "asgi", "http_version", "scheme", "server", "client", "path", "app")}
    headers = [(HEADER.encode(), session.encode())]
    return kept | {"method": "DELETE", "query_string": b"", "root_path": "", "headers": headers}


async def _nothing() -> Message:
    return {"type": "http.request", "body": b"", "more_body": False}


async def _ignored(_: Message) -> None:
    pass
