"""A request with an ``Idempotency-Key`` is carried out once: the same again is answered as it was.

Not where an answer bears a secret, which is not to be stored, and not for what changes nothing.
"""

from __future__ import annotations

import asyncio
import hashlib

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hybrid_core.errors import DiskFullError, PageIndexError, ReadOnlyError
from hybrid_pageindex.doors.http.errors import Refusal, refusal_of
from hybrid_pageindex.engine import Engine

_MOST = 2**16  # bytes of an answer that is kept
_LONGEST = 200  # characters of a key
_NEVER = ("/api/v1/tokens", "/api/v1/session", "/api/v1/search", "/api/v1/ask")
_KEPT = ("content-type", "location")


class Once:
    def __init__(self, app: ASGIApp, engine: Engine) -> None:
        self._app, self._engine = app, engine

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        key = Headers(scope=scope).get("idempotency-key") if scope["type"] == "http" else None
        if key is None or not _counts(scope):
            await self._app(scope, receive, send)
            return
        if not 1 <= len(key) <= _LONGEST:
            refusal = Refusal(400, "bad_request", "The idempotency key is empty or too long.", f"Use 1 to {_LONGEST}.")
            await refusal.response()(scope, receive, send)
            return
        asked, receive = await _asked(scope, receive)
        caller, store = scope["state"]["caller"].id, self._engine.replies
        try:
            reply = await asyncio.to_thread(store.begin, caller, key, asked)
        except (ReadOnlyError, DiskFullError) as error:  # so would be what it asks for
            refusal = refusal_of(error)
            await refusal.response()(scope, receive, send)
            return
        except PageIndexError:
            reply = None
            refusal = Refusal(503, "busy", "The key could not be noted.", "Try again.", retry_after="1")
            await refusal.response()(scope, receive, send)
            return
        if reply is not None:
            await _again(asked, reply.asked, reply.status, dict(reply.headers), reply.body)(scope, receive, send)
            return
        await self._carry_out(scope, receive, send, key)

    async def _carry_out(self, scope: Scope, receive: Receive, send: Send, key: str) -> None:
        status, headers, body = 0, dict[str, str](), bytearray()

        async def kept(message: Message) -> None:
            nonlocal status, headers
            if message["type"] == "http.response.start":
                status, found = message["status"], MutableHeaders(raw=message["headers"])
                headers = {name: found[name] for name in _KEPT if name in found}
            elif len(body) <= _MOST:
                body.extend(message.get("body", b""))
            await send(message)

        caller, store = scope["state"]["caller"].id, self._engine.replies
        try:
            await self._app(scope, receive, kept)
        finally:
            if 200 <= status < 300 and len(body) <= _MOST:
                await asyncio.to_thread(store.end, caller, key, status, headers, bytes(body))
            else:
                await asyncio.to_thread(store.forget, caller, key)


def _counts(scope: Scope) -> bool:
    path: str = scope["path"]
    return scope["method"] == "POST" and path.startswith("/api/v1/") and not path.startswith(_NEVER)


async def _asked(scope: Scope, receive: Receive) -> tuple[str, Receive]:
    """A hash of what is asked, of JSON with the body; files are known by their names alone."""
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


def _again(asked: str, before: str, status: int, headers: dict[str, str], body: bytes) -> Response:
    if asked != before:
        refusal = Refusal(422, "key_used", "This idempotency key was used for another request.", "Use a new one.")
        return refusal.response()
    if not status:
        return Refusal(409, "in_progress", "This request is being carried out.", "Wait.", retry_after="2").response()
    return Response(body, status, headers | {"Idempotent-Replay": "true"})
