"""Indexing on behalf of calls: one build per document, watched by whoever asked, stopped when nobody is left."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from hybrid_core.errors import StoreError
from hybrid_core.text.plural import counted
from hybrid_pageindex.engine import Engine
from hybrid_pageindex.services.standby import Standby

if TYPE_CHECKING:
    from indexers.stages.report import FileResult, IndexProgress

_TICK = 0.5  # seconds between two looks, and two reports of progress
_KEPT = 50  # finished builds that can still be asked for
_STAGES = {"parse": "page", "ocr": "by OCR, page", "refine": "refining, page", "describe": "describing page",
           "tree": "checking the outline", "summaries": "writing summaries", "embed": "embedding, text"}  # fmt: skip

Tell = Callable[["Build"], Awaitable[None]]
Leave = Callable[[], Awaitable[bool]]


class Build:
    """The indexing of some files, on behalf of the calls that ask for just these."""

    def __init__(self, files: tuple[Path, ...], library: str, sources: Sequence[Path]) -> None:
        """``sources`` are what an update looks at later."""
        self.files, self.library, self.sources = files, library, sources
        self.progress: IndexProgress | None = None
        self.kept = False  # goes on without anybody waiting
        self.waiting = 0
        self.stopping = False
        self.task: asyncio.Task[list[FileResult]]

    @property
    def share(self) -> float:
        """How much is done, 0 to 1."""
        if self.task.done():
            return 1.0
        now = self.progress
        return now.bytes_done / now.bytes if now and now.bytes else 0.0

    def said(self) -> str:
        now = self.progress
        if now is None or not (now.file or now.files_done):
            return "waiting for its turn"
        said = f"{now.files_done} of {counted(len(self.files), 'file')}, {counted(now.pages_done, 'page')}"
        scans = f", {now.scans_done} by OCR" if now.scans_done else ""
        return f"{said}{scans}" if self.task.done() else f"{said}{scans}{_place(now)}"

    async def watch(self, tell: Tell, leave: Leave) -> list[FileResult] | None:
        """Wait for what became of each file, telling how far it is; None where ``leave`` says that it need not be
        waited for.

        Where nobody waits any more, whether called off or content, the work stops unless it is ``kept``. Raises what
        the work raises.
        """
        self.waiting += 1
        try:
            await tell(self)
            while not self.task.done():
                await asyncio.wait({self.task}, timeout=_TICK)
                await tell(self)
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
    """The builds of one server, which is a worker too: it does what its calls ask for, and what others left behind."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._running: dict[tuple[object, ...], Build] = {}
        self._finished: list[Build] = []
        self._standby = Standby(engine, lambda: bool(self._running))
        self._closed = False

    async def work(self) -> None:
        """Do what was asked for here and what others left, until it is cancelled."""
        await self._standby.run()

    def start(self, files: tuple[Path, ...], library: str | None, sources: Sequence[Path] = ()) -> Build:
        """Begin to index files, or join the build that does so already. Raises StoreError once closed."""
        if self._closed:
            raise StoreError("The server is ending.", "Call it again when it runs again; what was indexed stays.")
        name = library or self._engine.settings.library
        key = (name, *sorted(files))
        held = self._running.get(key)
        if held is not None and not held.stopping:
            return held
        build = self._running[key] = Build(files, name, sources or files)
        build.task = asyncio.create_task(self._index(build))
        self._standby.wake()
        build.task.add_done_callback(lambda task: self._ended(key, build))
        return build

    def running(self) -> list[Build]:
        return list(self._running.values())

    def failed(self, library: str | None) -> list[tuple[Build, str]]:
        """Builds nobody waited for that broke off, with the reason."""
        return [
            (build, str(error))
            for build in self._finished
            if (library is None or build.library == library)
            and not build.task.cancelled()
            and (error := build.task.exception()) is not None
        ]

    async def close(self) -> None:
        """Stop everything and leave it to whoever works next; what was published stays. Safe to call twice."""
        self._closed = True
        self._engine.hand_back()
        tasks = [build.task for build in self._running.values()]
        for build in self.running():
            build.stop()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _index(self, build: Build) -> list[FileResult]:
        def told(progress: IndexProgress) -> None:
            build.progress = progress

        report = await self._engine.index(
            list(build.files), library=build.library, sources=build.sources, on_progress=told
        )
        return list(report.files)

    def _ended(self, key: tuple[object, ...], build: Build) -> None:
        if self._running.get(key) is build:
            del self._running[key]
        if not build.task.cancelled():
            build.task.exception()  # looked at: a build that nobody waits for may fail
        self._finished = [*self._finished[-_KEPT + 1 :], build]


def _place(now: IndexProgress) -> str:
    """Where the file that moved last is."""
    if not now.file and now.stage != "embed":
        return ""
    where = f"; {Path(now.file).name}: {_STAGES[now.stage]}" if now.file else f"; {_STAGES[now.stage]}"
    return f"{where} {now.stage_done} of {now.stage_pages}" if now.stage_pages else where * (now.stage != "parse")
