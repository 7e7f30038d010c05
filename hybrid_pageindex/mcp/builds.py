"""Index files for tool calls, one build per set of files. A build may run as a background task (protocol
SEP-2663).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import mcp_types
from fastmcp import Context, FastMCP
from fastmcp.server.extensions import MethodBinding, ServerExtension, ToolCallContinuation, ToolCallOutcome
from fastmcp.utilities.tasks import TASKS_EXTENSION_ID, TaskConfig
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import BaseModel, ConfigDict

from hybrid_core.errors import StoreError
from hybrid_core.text.prose import counted
from hybrid_pageindex.engine.engine import Engine
from hybrid_pageindex.engine.index.worker import Standby

if TYPE_CHECKING:
    from indexers.jobs.report import FileResult, IndexProgress

_TICK = 0.5  # seconds between two checks and progress reports
_MAX_FINISHED = 50  # finished builds whose outcome is remembered
_STAGES = {"parse": "page", "ocr": "by OCR, page", "refine": "improving the outline, page",
           "describe": "describing page", "tree": "checking the outline",
           "summaries": "writing summaries", "embed": "embedding, text"}  # fmt: skip
BuildReport = Callable[["Build"], Awaitable[None]]
BuildExit = Callable[[], Awaitable[bool]]
_METHODS = ("tasks/get", "tasks/update", "tasks/cancel")
_POLL = timedelta(seconds=1)  # interval at which clients should poll
_AT_ONCE = 16


class Build:
    """A run of indexing a set of files. All tool calls that request these files share it."""

    def __init__(self, files: tuple[Path, ...], library: str, sources: Sequence[Path]) -> None:
        """Create a build. ``sources`` are the paths that a later update indexes."""
        self.files, self.library, self.sources = files, library, sources
        self.progress: IndexProgress | None = None
        self.kept = False  # whether it continues when no call waits
        self.waiting = 0
        self.stopping = False
        self._finished: dict[str, FileResult] = {}
        self._is_searchable = False  # whether all files can be searched and only outlines are being improved
        self.task: asyncio.Task[list[FileResult]]

    @property
    def share(self) -> float:
        """Return the finished share of the files' bytes, 0 to 1."""
        if self.task.done():
            return 1.0
        now = self.progress
        return now.bytes_done / now.bytes if now and now.bytes else 0.0

    def record(self, progress: IndexProgress) -> None:
        """Store a progress report of the indexing."""
        self.progress = progress
        if (file := progress.finished) is not None:
            self._finished[file.path] = file
        if progress.stage == "refine" and progress.files_done >= progress.files:
            self._is_searchable = True

    def summary(self) -> str:
        now = self.progress
        if now is None or not (now.file or now.files_done):
            return "waiting for its turn"
        counts = f"{now.files_done} of {counted(len(self.files), 'file')}, {counted(now.pages_done, 'page')}"
        scans = f", {now.scans_done} by OCR" if now.scans_done else ""
        return f"{counts}{scans}" if self.task.done() else f"{counts}{scans}{_current_file(now)}"

    async def watch(self, tell: BuildReport, leave: BuildExit) -> list[FileResult] | None:
        """Report progress through ``tell`` until all files can be searched, and return their results.

        Return None as soon as ``leave`` returns True. If then no call waits, indexing stops, unless the build is
        ``kept``. Improving outlines needs no waiting call. Raise the errors of indexing.
        """
        self.waiting += 1
        try:
            await tell(self)
            while not self.task.done():
                await asyncio.wait({self.task}, timeout=_TICK)
                await tell(self)
                if self._is_searchable and not self.task.done():
                    self.kept = True
                    return list(self._finished.values())
                if not self.task.done() and await leave():
                    return None
        finally:
            self.waiting -= 1
            if not self.waiting and not self.kept and not self.task.done():
                self.stop()
        return self.task.result()

    def stop(self) -> None:
        self.stopping = True
        self.task.cancel()


class Builds:
    """The builds (runs of indexing) of one server. The server also processes jobs that other processes queued."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._running: dict[tuple[object, ...], Build] = {}
        self._finished: list[Build] = []
        self._standby = Standby(engine, lambda: bool(self._running))
        self._closed = False

    async def work(self) -> None:
        """Process queued jobs until the task is cancelled."""
        await self._standby.run()

    def wake(self) -> None:
        """Start processing, because jobs were queued."""
        self._standby.wake()

    def start(self, files: tuple[Path, ...], library: str | None, sources: Sequence[Path] = ()) -> Build:
        """Start to index files, or join a running build of the same files.

        Return the build. Raise StoreError after ``close``.
        """
        if self._closed:
            raise StoreError(
                "The server is shutting down.",
                "Call the tool again when the server runs again. Documents that are already indexed stay indexed.",
            )
        name = library or self._engine.settings.library
        key = (name, *sorted(files))
        running = self._running.get(key)
        if running is not None and not running.stopping:
            return running
        build = self._running[key] = Build(files, name, sources or files)
        build.task = asyncio.create_task(self._index(build))
        self._standby.wake()
        build.task.add_done_callback(lambda task: self._ended(key, build))
        return build

    def running(self) -> list[Build]:
        return list(self._running.values())

    def failed(self, library: str | None) -> list[tuple[Build, str]]:
        """Return the failed builds of a library, each with the reason."""
        return [
            (build, str(error))
            for build in self._finished
            if (library is None or build.library == library)
            and not build.task.cancelled()
            and (error := build.task.exception()) is not None
        ]

    async def close(self) -> None:
        """Stop all builds and leave their jobs to other workers. Published documents stay. Safe to call twice."""
        self._closed = True
        self._engine.jobs.hand_back()
        tasks = [build.task for build in self._running.values()]
        for build in self.running():
            build.stop()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _index(self, build: Build) -> list[FileResult]:
        report = await self._engine.index(
            list(build.files), library=build.library, sources=build.sources, on_progress=build.record
        )
        return list(report.files)

    def _ended(self, key: tuple[object, ...], build: Build) -> None:
        if self._running.get(key) is build:
            del self._running[key]
        if not build.task.cancelled():
            build.task.exception()  # retrieved to avoid a warning: a build without waiting calls may fail
        self._finished = [*self._finished[-_MAX_FINISHED + 1 :], build]


def _current_file(now: IndexProgress) -> str:
    """Return the stage and page of the file to which a progress report belongs."""
    if not now.file and now.stage != "embed":
        return ""
    where = f"; {Path(now.file).name}: {_STAGES[now.stage]}" if now.file else f"; {_STAGES[now.stage]}"
    return f"{where} {now.stage_done} of {now.stage_pages}" if now.stage_pages else where * (now.stage != "parse")


def tasks_installed() -> bool:
    """Return whether the package for background tasks is installed."""
    return find_spec("fastmcp_tasks") is not None


def task_config() -> TaskConfig:
    """Return the configuration of a tool that runs as a background task for clients that support tasks."""
    return TaskConfig("optional", poll_interval=_POLL) if tasks_installed() else TaskConfig("forbidden")


def add_task_extension(server: FastMCP, builds: Builds) -> None:
    """Add the extension for background tasks to a server.

    When the server ends, stop the builds first, because the extension waits for running tasks.
    """
    if tasks_installed():
        server.add_extension(_TaskExtension(builds))


class _Params(BaseModel):
    """Parameters of a task method, accepted in any form. The package for tasks checks them later."""

    model_config = ConfigDict(extra="allow")


class _TaskExtension(ServerExtension):
    """A replacement for the task extension of the package for tasks, which is loaded at the first task.

    Tasks are kept in this process's memory. They end with the server, and so does the indexing that they run.
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
        """Enter and leave the lifespan context of the real extension in one task."""
        async with real.lifespan():
            ready.set_result(None)
            await self._end.wait()
