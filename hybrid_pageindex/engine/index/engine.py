"""The sources of libraries: files and folders that updates scan, and watched folders.

Formats and watchers are imported on first use, because a server checks often whether any folder is watched.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from hybrid_core.store.catalog.libraries import watched_sources
from hybrid_core.store.home import unwritable
from hybrid_core.types.jobs import WATCHED
from hybrid_core.types.libraries import Library
from hybrid_core.types.sources import Source
from hybrid_pageindex.engine.concurrency import ignore_progress, read_in_thread, stoppable
from hybrid_pageindex.engine.context import SubEngine
from hybrid_pageindex.engine.index.indexing import IndexCall, index_library
from hybrid_pageindex.engine.jobs import JobsEngine

if TYPE_CHECKING:
    from hybrid_pageindex.engine.index.sources import Options, WatchEvent
    from indexers.jobs.report import IndexProgress, IndexReport


class SourcesEngine(SubEngine, subject="sources"):
    """List the sources (indexed files and folders) of libraries, and watch folders."""

    async def watch_folder(
        self,
        folder: str | Path,
        *,
        library: str | None = None,
        poll: bool = False,
        outline: str | None = None,
        vision: str | None = None,
        enrich: str | None = None,
    ) -> Source:
        """Add a folder to the watched folders of a library, and return it. ``watch`` then indexes its changes.

        ``poll`` scans the folder regularly instead of waiting for file events, as is done for network drives. Raise
        UsageError if the path is not a folder.
        """
        from hybrid_pageindex.engine.index.sources import watch_folder

        name = self._context.library(library)
        wishes = {"outline": outline, "vision": vision, "enrich": enrich}
        machine = self._context.settings.own_machine
        return await asyncio.to_thread(
            lambda: watch_folder(self._context.catalog, name, folder, wishes, machine, poll=poll)
        )

    async def unwatch_folder(self, folder: str | Path, *, library: str | None = None, forget: bool = False) -> Source:
        """Stop watching a folder, and return it; its documents stay. With ``forget``, later updates ignore the folder
        too.

        Raise NotFoundError if the folder is not a source of the library.
        """
        from hybrid_pageindex.engine.index.sources import unwatch_folder

        name = self._context.library(library)
        return await asyncio.to_thread(lambda: unwatch_folder(self._context.catalog, name, folder, forget=forget))

    async def watches(self) -> bool:
        """Return whether any folder is watched. Return False in a read-only home."""
        if unwritable(self._context.home):
            return False
        return bool(
            await read_in_thread(
                lambda: watched_sources(self._context.catalog, machine=self._context.settings.own_machine)
            )
        )

    async def watch(
        self,
        *,
        library: str | None = None,
        concurrency: int | None = None,
        work: bool = True,
        on_event: Callable[[WatchEvent], None] | None = None,
        on_progress: Callable[[IndexProgress], None] | None = None,
    ) -> None:
        """Watch the folders of a library, or of all, and index their changes until the task is cancelled.

        Also process all other queued jobs, as ``Engine.jobs.work`` does. With ``work`` False, only queue changed files
        for other workers. Folders that any process adds meanwhile are watched too. ``on_event`` is called from worker
        threads.
        """
        from hybrid_pageindex.engine.index.sources import watch_sources, wishes_of

        name = self._context.named(library)
        call = IndexCall(detach=True, priority=WATCHED)

        def look(stop: threading.Event) -> None:
            def index_found(target: Library, files: Sequence[Path], options: Options) -> IndexReport:
                return index_library(self._context, target.name, files, call, wishes_of(options), ignore_progress, stop)

            watch_sources(
                self._context.catalog,
                self._context.home,
                name,
                self._context.settings.own_machine,
                index_found,
                on_event or ignore_progress,
                stop,
                reach=self._context.reach,
            )

        if not work:
            await stoppable(look)
            return
        working = JobsEngine(self._context).work(concurrency=concurrency, on_progress=on_progress)
        both = [asyncio.ensure_future(work_item) for work_item in (stoppable(look), working)]
        try:
            await asyncio.gather(*both)
        finally:  # each task ends with the other
            for task in both:
                task.cancel()
            await asyncio.gather(*both, return_exceptions=True)

    async def list(self, *, library: str | None = None) -> list[Source]:
        """Return the files, folders and globs from which a library, or all libraries, were indexed."""
        from hybrid_pageindex.engine.index.sources import sources

        name = self._context.named(library)
        return await read_in_thread(lambda: sources(self._context.catalog, name))
