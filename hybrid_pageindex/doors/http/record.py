"""Around every route: how long it took, and a line in the audit log for what was to be changed."""

from __future__ import annotations

import asyncio
import logging
import time

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hybrid_core.errors import PageIndexError, ReadOnlyError
from hybrid_core.types.access import Caller
from hybrid_pageindex.doors.http.metrics import Metrics
from hybrid_pageindex.engine import Engine


class Record:
    def __init__(self, app: ASGIApp, engine: Engine, metrics: Metrics) -> None:
        self._app, self._engine, self._metrics = app, engine, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began = time.perf_counter()

        async def passed_on(message: Message) -> None:
            if message["type"] == "http.response.start":
                route = getattr(scope.get("route"), "path", "") or ("/mcp" if scope["path"] == "/mcp" else "other")
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
            await asyncio.to_thread(self._engine.audit.add, caller.name, action, library, path[:2000], status)
        except ReadOnlyError:  # which has refused what was asked, too
            return
        except PageIndexError as error:  # what was done is done: the log says that it could not be kept
            logging.getLogger(__name__).error("%s by %s at %s (%d): %s", action, caller.name, path, status, error)
