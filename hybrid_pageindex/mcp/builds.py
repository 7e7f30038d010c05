"""Indexing on behalf of calls: one build per document, watched by whoever asked, stopped when nobody is left."""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from filelock import FileLock, Timeout

from hybrid_core.errors import StoreError
from hybrid_pageindex.engine import Engine

if TYPE_CHECKING:
    from indexers.report import IndexProgress, IndexReport

_TICK = 0.5  # seconds between two looks, and two reports of progress
_LOCKS = 64  # files that stand for all documents' locks; two documents may share one
_KEPT = 50  # finished builds that can still be asked for


class Build:
    """One run of the engine's ``index`` over some files."""

    def __init__(self, files: tuple[Path, ...], library: str) -> None:
        self.files, self.library = files, library
        self.began = time.monotonic()
        self.progress: IndexProgress | None = None
        self.kept = False  # goes on without anybody waiting
        self.waiting = 0
        self.stopping = False
        self.task: asyncio.Task[IndexReport]

    @property
    def share(self) -> float:
        """How much is done, 0 to 1."""
        if self.task.done():
            return 1.0
        return self.progress.bytes_done / self.progress.bytes if self.progress and self.progress.bytes else 0.0

    def said(self) -> str:
        if self.progress is None:
            return "waiting for its turn"
        done = self.progress
        scans = f", {done.scans_done} by OCR" if done.scans_done else ""
        return f"{done.files_done} of {done.files} files, {done.pages_done} pages{scans}"

    async def watch(self, tell: Callable[[Build], Awaitable[None]], seconds: float | None = None) -> IndexReport | None:
        """Wait for the report, telling how far it is; None where it takes longer than ``seconds`` and goes on alone.

        Cancelling the wait stops the work if nobody else waits for it. Raises what the work raises.
        """
        end = None if seconds is None else time.monotonic() + seconds
        self.waiting += 1
        try:
            while not self.task.done():
                await asyncio.wait({self.task}, timeout=_TICK)
                await tell(self)
                if end is not None and time.monotonic() >= end and not self.task.done():
                    self.kept = True
                    return None
        except asyncio.CancelledError:
            if self.waiting == 1 and not self.kept:
                self.stop()
            raise
        finally:
            self.waiting -= 1
        return self.task.result()

    def stop(self) -> None:
        self.stopping = True
        self.task.cancel()


class Builds:
    """The builds of one server."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._running: dict[tuple[object, ...], Build] = {}
        self._finished: list[Build] = []

    def start(self, files: tuple[Path, ...], library: str | None) -> Build:
        """Begin to index files, or join the build that does so already."""
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
        """Stop everything; what was published stays."""
        tasks = [build.task for build in self._running.values()]
        for build in self.running():
            build.stop()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _work(self, build: Build) -> IndexReport:
        def told(progress: IndexProgress) -> None:
            build.progress = progress

        async with _lock(self._engine.home, build):
            return await self._engine.index(build.files, library=build.library, on_progress=told)

    def _ended(self, key: tuple[object, ...], build: Build) -> None:
        if self._running.get(key) is build:
            del self._running[key]
        if not build.task.cancelled():
            build.task.exception()  # looked at: a build that nobody waits for may fail
        self._finished = [*self._finished[-_KEPT + 1 :], build]


@asynccontextmanager
async def _lock(home: Path, build: Build) -> AsyncIterator[None]:
    """Held by one process at a time for a document; several documents at once need none: doing one twice is no harm."""
    if len(build.files) != 1:
        yield
        return
    stripe = int(hashlib.sha256(f"{build.library}/{build.files[0]}".encode()).hexdigest(), 16) % _LOCKS
    folder = home / "locks"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"{folder}: cannot be created ({error.strerror}).", "Choose another home.") from error
    lock = FileLock(folder / f"build-{stripe}", thread_local=False)
    while True:
        try:
            lock.acquire(blocking=False)
            break
        except Timeout:
            await asyncio.sleep(0.1)
    try:
        yield
    finally:
        lock.release()
