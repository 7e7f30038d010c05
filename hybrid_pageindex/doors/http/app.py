"""One ASGI application: /api/v1, /mcp, and the web page.

A request passes the guard (from where, how much), is given its caller, is recorded, and comes to its route.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial

from fastapi import APIRouter, FastAPI
from fastapi.telemetry import TelemetryConfig
from starlette.types import ASGIApp

from hybrid_pageindex import __version__
from hybrid_pageindex.doors.http import errors
from hybrid_pageindex.doors.http.conventions import Conventions, Routes
from hybrid_pageindex.doors.http.description import Api, operation_id
from hybrid_pageindex.doors.http.feed import Feed
from hybrid_pageindex.doors.http.mcp import Mcp
from hybrid_pageindex.doors.http.metrics import Metrics
from hybrid_pageindex.doors.http.once import Once
from hybrid_pageindex.doors.http.record import Record
from hybrid_pageindex.doors.http.routers import (
    bin,
    conversations,
    documents,
    jobs,
    libraries,
    notes,
    openai,
    operations,
    pages,
    sample,
    search,
    settings,
    sources,
    tokens,
    transfer,
    vector_stores,
    web,
)
from hybrid_pageindex.doors.http.security.guard import Guard, Hosts
from hybrid_pageindex.doors.http.security.identity import Callers, Identity, Proxy, Start
from hybrid_pageindex.doors.http.security.rates import Rates, Turns
from hybrid_pageindex.doors.http.server import Server
from hybrid_pageindex.doors.mcp.access import Access
from hybrid_pageindex.engine import Engine
from hybrid_pageindex.services.keeping_up import keep_up
from hybrid_pageindex.services.standby import Standby

ROUTERS: tuple[APIRouter, ...] = tuple(
    one.router
    for one in (
        operations,
        libraries,
        bin,
        sample,
        transfer,
        documents,
        pages,
        notes,
        sources,
        jobs,
        search,
        conversations,
        settings,
        tokens,
    )
)
ROUTES = Routes(
    [
        *(("/api/v1", one) for one in (*ROUTERS, conversations.messages)),
        ("/v1", openai.router),
        ("/v1", vector_stores.router),
        ("", web.router),
    ]
)
_JSON_BYTES, _MCP_BYTES = 2**20, 4 * 2**20
_JSON = ("application/json",)
_UPLOADS = re.compile(r"/api/v1/(libraries/[^/]+/documents|imports)")
_FILES = ("application/octet-stream", "multipart/form-data")
_READS = 8  # lists that are made at once
_WAITING = 256  # searches, and answers, that may wait for their turn
_NO_TELEMETRY: TelemetryConfig = {"tracing": False, "metrics": False, "logs": False, "auto_configure": False}


@dataclass(frozen=True, slots=True)
class Listening:
    """Where a server listens, and to whom. ``hosts`` are further names that it answers to, ``origins`` further web
    pages that may call.
    """

    host: str
    port: int
    start: Start
    access: Access = Access()
    hosts: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()
    proxy: Proxy | None = None


def build_app(engine: Engine, listening: Listening) -> tuple[ASGIApp, Server]:
    """The application, and what its routes share."""
    limits = engine.settings
    engine.confine(listening.access.roots)
    server = Server(
        engine, Callers(lambda: engine.tokens, listening.start), f"pageindex_{listening.port}", listening.access,
        Turns(_READS, _WAITING), Turns(limits.http_searches, _WAITING), Turns(limits.http_answers, _WAITING),
        Standby(engine), Feed(engine), Metrics(),
    )  # fmt: skip
    api = describe(server)
    mcp = Mcp(Conventions(api, ROUTES), engine, listening.access)
    api.router.lifespan_context = partial(_lifespan, server, mcp)
    rates = Rates(limits.http_requests_per_minute)
    recorded = Record(Once(mcp, engine), engine, server.metrics)
    known = Identity(recorded, server.callers, server.cookie, listening.proxy, rates)
    room = partial(_room, limits.max_upload_size)
    hosts = Hosts(listening.host, listening.hosts)
    return Guard(known, hosts, listening.origins, room, ROUTES.allowed), server


def describe(server: Server | None = None) -> Api:
    """The routes, without anything around them."""
    api = Api(
        title="Hybrid PageIndex", version=__version__, openapi_url=None, docs_url=None, redoc_url=None,
        telemetry=_NO_TELEMETRY, redirect_slashes=False, responses=errors.DESCRIBED,
        generate_unique_id_function=operation_id,
    )  # fmt: skip
    api.state.server = server
    errors.register(api)
    for router in (*ROUTERS, conversations.messages):
        api.include_router(router, prefix="/api/v1")
    for router in (openai.router, vector_stores.router):
        api.include_router(router, prefix="/v1", responses=errors.OPENAI_DESCRIBED)
    api.include_router(web.router)
    return api


@asynccontextmanager
async def _lifespan(server: Server, mcp: Mcp, _: FastAPI) -> AsyncIterator[None]:
    tasks = [
        asyncio.ensure_future(one)
        for one in (server.standby.run(), server.feed.run(), keep_up(server.engine, server.standby))
    ]
    try:
        yield
    finally:
        server.engine.hand_back()
        await asyncio.to_thread(server.engine.interrupt_turns)
        await mcp.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _room(largest: int, method: str, path: str) -> tuple[int, Sequence[str]]:
    """How many bytes a body may have, and of which types it may be."""
    if method == "POST" and _UPLOADS.fullmatch(path):
        return largest + _JSON_BYTES, _FILES
    return (_MCP_BYTES if path == "/mcp" or path.startswith("/v1/") else _JSON_BYTES), _JSON
