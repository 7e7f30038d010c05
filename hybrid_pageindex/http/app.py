"""The HTTP application: its routes, their shared state, and its background tasks."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial

from fastapi import FastAPI
from starlette.types import ASGIApp

from hybrid_pageindex.engine.engine import Engine
from hybrid_pageindex.engine.index.worker import Feed, Standby, keep_up
from hybrid_pageindex.http.api import ROUTES, build_api
from hybrid_pageindex.http.guard import Guard, Hosts
from hybrid_pageindex.http.identity import Callers, Identity, Proxy, Rates, Slots, Start
from hybrid_pageindex.http.metrics import Metrics
from hybrid_pageindex.http.middleware import Conventions, Idempotency, McpMount, RequestRecorder
from hybrid_pageindex.http.server import Server
from hybrid_pageindex.mcp.access import Access
from hybrid_pageindex.request_ids import RequestIds

_JSON_BYTES, _MCP_BYTES = 2**20, 4 * 2**20


_JSON_TYPES = ("application/json",)


_UPLOAD_PATHS = re.compile(r"/api/v1/(libraries/[^/]+/documents|imports)|/v1/files")


_UPLOAD_TYPES = ("application/octet-stream", "multipart/form-data")


_READS_AT_ONCE = 8  # maximum lists read at once


_MAX_WAITING = 256  # maximum searches, and answers, that may wait for a free place


@dataclass(frozen=True, slots=True)
class Listening:
    """The address and access options of a server.

    ``start`` is its token, ``access`` decides which local files may be indexed, and ``hosts`` are further accepted host
    names. ``origins`` are web pages that may call it, and ``proxy`` is a trusted proxy.
    """

    host: str
    port: int
    start: Start
    access: Access = Access()
    hosts: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()
    proxy: Proxy | None = None


def build_app(engine: Engine, listening: Listening) -> tuple[ASGIApp, Server]:
    """Return the application with its middleware, and the state that its routes share."""
    limits = engine.settings
    engine.admin.confine(listening.access.roots)
    server = Server(
        engine, Callers(lambda: engine.tokens, listening.start), f"pageindex_{listening.port}", listening.access,
        Slots(_READS_AT_ONCE, _MAX_WAITING), Slots(limits.http_searches, _MAX_WAITING),
        Slots(limits.http_answers, _MAX_WAITING),
        Standby(engine), Feed(engine.admin.state), Metrics(),
    )  # fmt: skip
    api = build_api(server)
    mcp = McpMount(api, engine, listening.access, server.feed, server.standby.wake)
    api.router.lifespan_context = partial(_lifespan, server, mcp)
    rates = Rates(limits.http_requests_per_minute)
    recorded = RequestRecorder(Idempotency(Conventions(mcp, ROUTES), engine), engine, server.metrics)
    identity = Identity(recorded, server.callers, server.cookie, listening.proxy, rates)
    room = partial(_body_limit, limits.max_upload_size)
    hosts = Hosts(listening.host, listening.hosts)
    return RequestIds(Guard(identity, hosts, listening.origins, room, ROUTES.allowed)), server


@asynccontextmanager
async def _lifespan(server: Server, mcp: McpMount, _: FastAPI) -> AsyncIterator[None]:
    tasks = [
        asyncio.ensure_future(work)
        for work in (server.standby.run(), server.feed.run(), keep_up(server.engine, server.standby))
    ]
    try:
        yield
    finally:
        server.engine.jobs.hand_back()
        await asyncio.to_thread(server.engine.interrupt_turns)
        await mcp.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _body_limit(largest: int, method: str, path: str) -> tuple[int, Sequence[str]]:
    """Return the maximum size in bytes and the allowed media types of a request body."""
    if method == "POST" and _UPLOAD_PATHS.fullmatch(path):
        return largest + _JSON_BYTES, _UPLOAD_TYPES
    return (_MCP_BYTES if path.startswith(("/mcp", "/v1/")) else _JSON_BYTES), _JSON_TYPES
