"""Workers that run queued jobs, in a process of their own or in the background of a server."""

from __future__ import annotations

import asyncio
import logging
import os
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress
from importlib.util import find_spec
from typing import TYPE_CHECKING, Protocol

from hybrid_core.errors import PageIndexError
from hybrid_core.store.catalog.maintenance import HomeState
from hybrid_core.types.jobs import WorkKind
from hybrid_pageindex.config.settings import Settings
from hybrid_pageindex.engine.index.indexing import embedding_of, following, index_options
from hybrid_pageindex.engine.parts import Parts

if TYPE_CHECKING:
    from hybrid_pageindex.engine.index.sources import WatchEvent
    from indexers.jobs.report import IndexProgress


_EMBEDDERS = {
    "hashed": "", "hashed-m3": "", "onnx": "tokenizers", "sentence-transformers": "sentence_transformers",
    "bge-m3": "FlagEmbedding", "openai": "openai",
}  # fmt: skip
"""The forms of embedders' names, and the package that each form needs."""


def work(
    parts: Parts,
    settings: Settings,
    concurrency: int | None,
    on_progress: Callable[[IndexProgress], None],
    stopped: threading.Event,
    enough: Callable[[], bool],
    only: int | None = None,
    kind: WorkKind | None = None,
) -> None:
    """Process queued jobs until ``stopped`` is set, or the queue is empty and ``enough()`` returns True.

    ``only`` is the number of a single job to run; ``kind`` restricts the work to one kind of job.
    """
    from hybrid_core.store.jobs.workers import JobOffers
    from indexers.jobs.embedding import NEED, lane
    from indexers.jobs.worker import WorkerOptions
    from indexers.jobs.worker import work as do

    parsers = concurrency or settings.workers or os.cpu_count() or 1
    usual, _ = index_options(parts, settings)
    able, scratch = _abilities(settings, usual.enrich_needs), settings.storage_path / "tmp"
    others = [] if kind == "index" else [lane(parts.catalog, parts.embedders.load, lambda _: None)]
    if kind is not None:  # waiting callers see these abilities in the states of their jobs
        able = frozenset(ability for ability in able if ability.startswith(NEED) == (kind == "embed"))
    if only is not None and not JobOffers(parts.catalog, limits=usual.job_limits).open(only, able):
        return  # do not start worker processes for a job that has ended or that this process cannot run
    with parts.working(), following(parts):
        worker = WorkerOptions(
            able, parsers, usual, lambda overrides: index_options(parts, settings, overrides)[0],
            lambda library: embedding_of(parts, library, settings), others, only, reads=kind != "embed",
        )  # fmt: skip
        do(parts.catalog, parts.cache, scratch, worker, on_progress, stopped, enough)


def _abilities(settings: Settings, models: frozenset[str]) -> frozenset[str]:
    from hybrid_core.store.jobs.workers import MACHINE
    from indexers.jobs.embedding import NEED
    from indexers.ocr.engines import Ocr, find_ocr

    able = set(models)
    if settings.own_machine:
        able.add(MACHINE + settings.own_machine)
    try:
        ocr = find_ocr(settings.ocr, settings.ocr_languages)
    except PageIndexError:  # the data of a language are missing
        ocr = None
    if isinstance(ocr, Ocr):
        able |= {f"ocr:{language}" for language in ocr.reads}
    able |= {NEED + form for form, package in _EMBEDDERS.items() if not package or find_spec(package)}
    return frozenset(able)


_QUEUE_SECONDS = 5.0  # seconds between two checks for jobs that other processes queued


class QueueJobs(Protocol):
    async def waits(self) -> bool: ...

    async def work(self, *, enough: Callable[[], bool] | None = None) -> None: ...


class QueueSources(Protocol):
    async def watches(self) -> bool: ...

    async def watch(self, *, work: bool = True, on_event: Callable[[WatchEvent], None] | None = None) -> None: ...


class QueueBin(Protocol):
    async def expire(self) -> int: ...


class QueueEngine(Protocol):
    """The parts of an ``Engine`` that the background tasks of a server use."""

    @property
    def jobs(self) -> QueueJobs: ...
    @property
    def sources(self) -> QueueSources: ...
    @property
    def bin(self) -> QueueBin: ...


class Standby:
    """A background task of a server that processes queued jobs. When the queue is empty, its worker processes end."""

    def __init__(self, engine: QueueEngine, busy: Callable[[], bool] = lambda: False) -> None:
        """Create the task. ``busy`` returns True while more jobs are expected, which keeps the worker processes."""
        self._engine, self._busy, self._asked = engine, busy, asyncio.Event()

    def wake(self) -> None:
        """Start processing, because a job was queued."""
        self._asked.set()

    async def run(self) -> None:
        """Process jobs until the task is cancelled."""
        while True:
            try:
                if self._busy() or await self._engine.jobs.waits():
                    await self._engine.jobs.work(enough=lambda: not self._busy())
            except PageIndexError as error:
                logging.getLogger(__name__).warning("%s", error)
            with suppress(TimeoutError):
                await asyncio.wait_for(self._asked.wait(), _QUEUE_SECONDS)
            self._asked.clear()


class Feed:
    """A notifier of changes that any process makes in a home. It polls only while a caller waits."""

    def __init__(self, read: Callable[[], Awaitable[HomeState]]) -> None:
        """Create a notifier. ``read`` returns the state of the home."""
        self._read, self._listeners = read, 0
        self._state: HomeState | None = None  # latest state; None while no caller waits
        self._news, self._heard = asyncio.Event(), asyncio.Event()

    async def run(self) -> None:
        """Poll the state until the task is cancelled."""
        while True:
            await self._heard.wait()
            with suppress(PageIndexError):  # a busy catalog is polled again
                state = await self._read()
                if state != self._state:
                    self._state = state
                    self._news.set()
                    self._news = asyncio.Event()
            await asyncio.sleep(_POLL_SECONDS)

    async def after(self, number: int, before: HomeState | None = None) -> HomeState:
        """Wait for a job event after event ``number``, or for another change since the state ``before``.

        Return the new state of the home.
        """
        self._listeners += 1
        self._heard.set()
        try:
            while (now := self._state) is None or not (now.event > number or (before and now.changed(before))):
                await self._news.wait()
            return now
        finally:
            self._listeners -= 1
            if not self._listeners:
                self._heard.clear()
                self._state = None


_POLL_SECONDS = 0.25  # seconds between two polls of the state
_FOLDERS_SECONDS = 2.0  # seconds between two checks for folders to watch
_HOUSEKEEPING = 3600.0  # seconds between two deletions of expired bin entries
_WAKE_SECONDS = 0.5  # seconds after a file was found until its job is started
_log = logging.getLogger(__name__)


async def keep_up(engine: QueueEngine, standby: Standby) -> None:
    """Run housekeeping until the task is cancelled: watch folders, and hourly delete expired bin entries.

    When files have changed, wake ``standby``, which indexes them. The watching code is imported only once a folder is
    watched.
    """
    loop = asyncio.get_running_loop()

    def heard(event: WatchEvent) -> None:
        if event.event == "found":
            loop.call_soon_threadsafe(loop.call_later, _WAKE_SECONDS, standby.wake)
        elif event.event in ("failed", "note"):
            _log.warning("%s: %s", event.path, event.detail)

    cleaned = float("-inf")
    while True:
        await asyncio.sleep(_FOLDERS_SECONDS)
        try:
            if loop.time() > cleaned + _HOUSEKEEPING:
                cleaned = loop.time()
                await engine.bin.expire()
            if await engine.sources.watches():
                await engine.sources.watch(work=False, on_event=heard)
        except PageIndexError as error:
            _log.warning("%s", error)
