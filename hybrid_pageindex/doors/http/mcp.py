"""The Model Context Protocol at /mcp, made when it is first asked for: its packages take long to import.

Who may do everything gets the server with its tools that write, and the files below --root; who may read everything
gets a read-only one without files; a token of some libraries one whose every call stays within these.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Literal

from starlette.types import ASGIApp, Receive, Scope, Send

from hybrid_core.types.access import Caller
from hybrid_pageindex.doors.mcp.access import Access
from hybrid_pageindex.engine import Engine

if TYPE_CHECKING:
    from starlette.applications import Starlette

_SESSIONS = 1000
_Kind = Literal["all", "reading", "limited"]


class Mcp:
    def __init__(self, app: ASGIApp, engine: Engine, access: Access) -> None:
        self._app, self._engine, self._access = app, engine, access
        self._made: dict[_Kind, _Running] = {}
        self._lock = asyncio.Lock()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"].rstrip("/") != "/mcp":
            await self._app(scope, receive, send)
            return
        caller: Caller = scope["state"]["caller"]
        kind: _Kind = "all" if caller.may("admin") else "reading" if caller.may("read") else "limited"
        async with self._lock:
            if kind not in self._made:
                access = self._access if kind == "all" else Access((), read_only=True)
                self._made[kind] = await _Running.start(lambda: _built(self._engine, access, kind == "limited"))
        await self._made[kind].app({**scope, "path": "/mcp"}, receive, send)

    async def close(self) -> None:
        for one in self._made.values():
            await one.stop()


class _Running:
    """An application with its lifespan, which begins and ends in one task."""

    def __init__(self, app: Starlette) -> None:
        self.app: ASGIApp = app
        self._begun: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._end = asyncio.Event()
        self._task = asyncio.ensure_future(self._live(app))

    @classmethod
    async def start(cls, build: Callable[[], Starlette]) -> _Running:
        made = cls(await asyncio.to_thread(build))
        await made._begun
        return made

    async def stop(self) -> None:
        self._end.set()
        with suppress(asyncio.CancelledError):
            await self._task

    async def _live(self, app: Starlette) -> None:
        async with app.router.lifespan_context(app):
            self._begun.set_result(None)
            await self._end.wait()


def _built(engine: Engine, access: Access, limited: bool) -> Starlette:
    import logging

    import fastmcp
    from starlette.middleware import Middleware

    from hybrid_pageindex.doors.mcp.server import build_server
    from hybrid_pageindex.doors.mcp.sessions import Sessions

    fastmcp.settings.enable_rich_logging = False
    fastmcp.settings.http_session_idle_timeout = 1800.0
    logging.getLogger("mcp").setLevel(logging.ERROR)  # it warns of every client that goes away
    server = build_server(engine, access, limited=limited)
    return server.http_app(
        path="/mcp", middleware=[Middleware(Sessions, most=_SESSIONS)], host_origin_protection=False
    )  # the guard in front has looked at both
