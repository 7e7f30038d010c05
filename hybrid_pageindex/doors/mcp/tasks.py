"""Background tasks of the protocol (SEP-2663), where the extra ``tasks`` is installed: a client polls, not waits.

The package takes a quarter of a second to import, so it is imported by the first call that wants a task.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import mcp_types
from fastmcp import Context, FastMCP
from fastmcp.server.extensions import MethodBinding, ServerExtension, ToolCallContinuation, ToolCallOutcome
from fastmcp.utilities.tasks import TASKS_EXTENSION_ID, TaskConfig
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import BaseModel, ConfigDict

from hybrid_pageindex.doors.mcp.builds import Builds

_METHODS = ("tasks/get", "tasks/update", "tasks/cancel")
_POLL = timedelta(seconds=1)  # what clients are told to leave between two looks
_AT_ONCE = 16


def can() -> bool:
    """Whether the package is installed."""
    return find_spec("fastmcp_tasks") is not None


def as_task() -> TaskConfig:
    """How a tool is declared that runs as a task for clients which know them."""
    return TaskConfig("optional", poll_interval=_POLL) if can() else TaskConfig("forbidden")


def add(server: FastMCP, builds: Builds) -> None:
    """``builds`` are stopped first at the server's end: the package waits for what is running."""
    if can():
        server.add_extension(_Tasks(builds))


class _Params(BaseModel):
    """Whatever a method is given: the package checks it."""

    model_config = ConfigDict(extra="allow")


class _Tasks(ServerExtension):
    """Stands for the package's extension until a task is wanted. Tasks live in this process's memory: they end with
    the server, as the builds behind them do.
    """

    identifier = TASKS_EXTENSION_ID

    def __init__(self, builds: Builds) -> None:
        self._builds = builds
        self._starting = asyncio.Lock()
        self._end = asyncio.Event()
        self._real: ServerExtension | None = None
        self._life: asyncio.Task[None] | None = None

    def methods(self) -> Sequence[MethodBinding]:
        versions = frozenset(MODERN_PROTOCOL_VERSIONS)
        return [MethodBinding(name, _Params, self._handler(at), versions) for at, name in enumerate(_METHODS)]

    async def intercept_tool_call(
        self, params: mcp_types.CallToolRequestParams, context: Context, call_next: ToolCallContinuation
    ) -> ToolCallOutcome:
        tool = await self.server.get_tool(params.name)
        if tool is None or not tool.task_config.supports_tasks():
            return await call_next()
        if context.client_extension_settings(self.identifier) is None:
            return await call_next()
        return await (await self._started()).intercept_tool_call(params, context, call_next)

    @asynccontextmanager
    async def lifespan(self) -> AsyncIterator[None]:
        try:
            yield
        finally:
            await self._builds.close()
            self._end.set()
            if self._life is not None:
                await self._life

    def _handler(self, at: int) -> Any:
        async def handle(context: Any, params: _Params) -> Any:
            method = (await self._started()).methods()[at]
            return await method.handler(context, method.params_type.model_validate(params.model_dump(by_alias=True)))

        return handle

    async def _started(self) -> ServerExtension:
        async with self._starting:
            if self._real is None:
                package = await asyncio.to_thread(import_module, "fastmcp_tasks")
                server = self.server
                bound = type("Bound", (package.TasksExtension,), {"server": property(lambda _: server)})
                real: ServerExtension = bound(url="memory://", concurrency=_AT_ONCE)  # add_extension comes too late
                ready = asyncio.get_running_loop().create_future()
                self._life = asyncio.create_task(self._live(real, ready))
                await ready
                self._real = real
            return self._real

    async def _live(self, real: ServerExtension, ready: asyncio.Future[None]) -> None:
        """The package's own lifespan, entered and left in one task."""
        async with real.lifespan():
            ready.set_result(None)
            await self._end.wait()
