"""Indexing on behalf of calls: one build per document, watched by whoever asked, stopped when nobody is left."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING

from hybrid_core.errors import StoreError
from hybrid_core.text.plural import counted
from hybrid_pageindex.doors.mcp.locks import DocumentLocks
from hybrid_pageindex.engine import Engine

if TYPE_CHECKING:
    from indexers.jobs.report import FileResult, IndexProgress

_TICK = 0.5  # seconds between two looks, and two reports of progress
_POLL = 0.1  # seconds between two tries of a lock that another build has
_AT_ONCE = 4  # builds that work: each has worker processes of its own
_KEPT = 50  # finished builds that can still be asked for
_STAGES = {"parse": "page", "ocr": "by OCR, page", "describe": "describing page", "tree": "checking the outline",
           "summaries": "writing summaries"}  # fmt: skip

Tell = Callable[["Build"], Awaitable[None]]
Leave = Callable[[], Awaitable[bool]]


class Build:
    """The indexing of some files: all of them at once, but for those that another build has in work."""

    def __init__(self, files: tuple[Path, ...], library: str) -> None:
        self.files, self.library = files, library
        self.results: list[FileResult] = []
        self.blocked = False  # another build has all that is left in work
        self.behind: Build | None = None  # that one, where it is of this server
        self.progress: IndexProgress | None = None  # of the run of the engine that goes on now
        self.pages = 0  # of earlier runs
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
        running = now.files * now.bytes_done / now.bytes if now and now.bytes else 0.0
        return (len(self.results) + running) / len(self.files)

    def said(self) -> str:
        now = self.progress
        if len(self.results) == len(self.files):
            return f"{len(self.results)} of {counted(len(self.files), 'file')}, {counted(self.pages, 'page')}"
        if self.blocked:
            where = f": {self.behind.said()}" if self.behind and not self.behind.blocked else ""
            return f"waiting for another call that indexes the same{where}"
        if now is None:
            return "waiting for its turn"
        files, pages = counted(len(self.files), "file"), counted(self.pages + now.pages_done, "page")
        said = f"{len(self.results) + now.files_done} of {files}, {pages}"
        scans = f", {now.scans_done} by OCR" if now.scans_done else ""
        return f"{said}{scans}{_place(now)}"

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
    """The builds of one server."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._locks = DocumentLocks(engine.home)
        self._holders: dict[tuple[str, Path], Build] = {}  # of each lock that this server has
        self._running: dict[tuple[object, ...], Build] = {}
        self._finished: list[Build] = []
        self._turn = asyncio.Semaphore(_AT_ONCE)
        self._closed = False

    def start(self, files: tuple[Path, ...], library: str | None) -> Build:
        """Begin to index files, or join the build that does so already. Raises StoreError once closed."""
        if self._closed:
            raise StoreError("The server is ending.", "Call it again when it runs again; what was indexed stays.")
        name = library or self._engine.settings.library
        key = (name, *sorted(files))
        held = self._running.get(key)
        if held is not None and not held.stopping:
            return held
        build = self._running[key] = Build(files, name)
        build.task = asyncio.create_task(self._work(build))
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
        """Stop everything; what was published stays. Safe to call twice."""
        self._closed = True
        tasks = [build.task for build in self._running.values()]
        for build in self.running():
            build.stop()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._locks.close()

    async def _work(self, build: Build) -> list[FileResult]:
        left = set(build.files)
        while True:
            began = time.monotonic()
            mine: dict[str, Path] = {}
            try:
                mine.update((str(file), file) for file in build.files if file in left and self._take(build, file))
                left -= set(mine.values())
                build.blocked = not mine
                if mine:
                    async with self._turn:
                        await self._index(build, mine)
            finally:
                while mine:
                    self._give(build, mine.popitem()[1])
            if not left:
                return build.results
            build.behind = self._holders.get((build.library, next(file for file in build.files if file in left)))
            await asyncio.sleep(max(_POLL, 10 * (time.monotonic() - began) if build.blocked else 0))

    def _take(self, build: Build, file: Path) -> bool:
        if not self._locks.take(build.library, file):
            return False
        self._holders[build.library, file] = build
        return True

    def _give(self, build: Build, file: Path) -> None:
        del self._holders[build.library, file]
        self._locks.give(build.library, file)

    async def _index(self, build: Build, held: dict[str, Path]) -> None:
        """Index files whose locks are held, and give up each file's lock once nothing is left to do for it."""

        def told(progress: IndexProgress) -> None:
            build.progress = progress
            if done := held.pop(progress.over, None):
                self._give(build, done)

        report = await self._engine.index(list(held.values()), library=build.library, on_progress=told)
        build.pages += build.progress.pages_done if build.progress else 0
        build.progress = None
        build.results += report.files

    def _ended(self, key: tuple[object, ...], build: Build) -> None:
        if self._running.get(key) is build:
            del self._running[key]
        if not build.task.cancelled():
            build.task.exception()  # looked at: a build that nobody waits for may fail
        self._finished = [*self._finished[-_KEPT + 1 :], build]


def _place(now: IndexProgress) -> str:
    """Where the file that moved last is."""
    if not now.file:
        return ""
    where = f"; {Path(now.file).name}: {_STAGES[now.stage]}"
    return f"{where} {now.stage_done} of {now.stage_pages}" if now.stage_pages else where * (now.stage != "parse")
