"""Celery workers for the jobs of a catalog, for sites that already run Celery:

    celery -A hybrid_pageindex.dispatcher worker
    celery -A hybrid_pageindex.dispatcher beat

A message contains only the number of a job. The catalog records what the job does and which worker runs it. A lost
message is sent again, and a message that arrives twice does no harm, because the job is already taken.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import threading
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any

from hybrid_core.errors import UsageError
from hybrid_core.system import require
from hybrid_pageindex import Engine, run
from hybrid_pageindex.config.logs import start_logs
from hybrid_pageindex.config.settings import load_settings

celery: Any = require("celery", "celery")
_beat: Any = require("celery.beat", "celery")
_signals: Any = require("celery.signals", "celery")
EVERY = 5.0  # seconds after which what still waits is sent anew
_MAX_OFFERS = 200  # numbers of a kind sent at once: a worker that can do none of them is through before the next
_KINDS = ("index", "embed")
_ALL = "pageindex"
_settings = load_settings()
_engines: list[Engine] = []  # the engine of this process, created with its first job
_workers: list[Any] = []  # Celery's workers, in their main process
if not _settings.redis_url:
    raise UsageError(
        "No message broker is configured.", "Set PAGEINDEX_REDIS_URL, for example to redis://localhost:6379/0."
    )
app: Any = celery.Celery("pageindex", broker=_settings.redis_url)
app.conf.update(
    task_ignore_result=True,
    task_acks_late=False,  # leases tell of a worker that died, not the broker
    worker_prefetch_multiplier=1,
    broker_connection_retry_on_startup=True,
    task_default_queue=_ALL,
    task_queues={name: {} for name in (_ALL, *(f"{_ALL}.{kind}" for kind in _KINDS))},
    beat_scheduler=f"{__name__}:Beat",
)


class Leaving:
    """An object that cancels the running job when its process must end, so that the job returns to the queue.

    A signal handler may call ``tell``, which cancels the job.
    """

    def __init__(self) -> None:
        self._told = threading.Event()
        self._stops: set[Callable[[], object]] = set()

    def work(self, job: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Run the job to its end or until ``tell`` cancels it. Do nothing once ``tell`` was called."""
        if self._told.is_set():
            return
        try:
            run(self._work(job))
        except asyncio.CancelledError:
            if not self._told.is_set():
                raise

    def tell(self) -> None:
        self._told.set()
        for stop in list(self._stops):
            stop()

    async def _work(self, job: Callable[[], Coroutine[Any, Any, None]]) -> None:
        loop, task = asyncio.get_running_loop(), asyncio.ensure_future(job())

        def stop() -> None:
            with suppress(RuntimeError):  # it ended meanwhile, and its loop is closed
                loop.call_soon_threadsafe(task.cancel)

        self._stops.add(stop)
        try:
            if self._told.is_set():
                task.cancel()
            await task
        finally:
            self._stops.discard(stop)


_leaving = Leaving()


def _engine() -> Engine:
    """Return the engine of this process, created at the first call.

    It is not created earlier, because no index may be open when another process is forked.
    """
    if not _engines:
        _engines.append(Engine(settings=_settings))
    return _engines[0]


def _close(**_: Any) -> None:
    while _engines:
        _engines.pop().close()


class Beat(_beat.Scheduler):  # type: ignore[misc]
    """A Celery scheduler that sends the numbers of waiting jobs from its own process.

    A worker could not send them in time, because it would first finish its current job.
    """

    def tick(self, *_: Any, **__: Any) -> float:
        """Send the numbers of the waiting jobs. Return the seconds until the next tick."""
        try:
            _send()
        except Exception:
            logging.getLogger(__name__).exception("No job number was sent; the dispatcher tries again in %s s.", EVERY)
        return EVERY


def _send() -> None:
    """Replace the messages in each Celery queue by the numbers of the jobs that wait now.

    So a queue without workers does not grow, urgent jobs come first, and clocks of other machines do not matter.
    """
    offers = run(_engine().jobs.offers(_MAX_OFFERS))
    with app.connection_for_write() as connection, connection.channel() as channel:
        for name in app.amqp.queues:
            queue = app.amqp.queues[name](channel)
            queue.declare()
            queue.purge()
        producer = app.amqp.Producer(channel)
        for offer in offers:
            queue = f"{_ALL}.{offer.kind}" if offer.kind in _KINDS else _ALL
            work.apply_async((offer.job,), queue=queue, producer=producer)


def _work(job: int) -> None:
    _leaving.work(lambda: _engine().jobs.work_on(job))


def _start_logs(**_: Any) -> None:
    """Write logs as JSON instead of in Celery's own format."""
    start_logs(_settings, serves=True)


def _begin(sender: Any, **_: Any) -> None:
    _workers.append(sender)


def _listen(**_: Any) -> None:
    """Install a handler that cancels the job of this pool process on SIGUSR2, a signal that Celery does not use."""
    if hasattr(signal, "SIGUSR2"):  # Windows has none, and Celery no processes there
        signal.signal(signal.SIGUSR2, lambda *_: _leaving.tell())


def _leave(**_: Any) -> None:
    """Tell all pool processes to cancel their jobs. The main process would otherwise wait until all jobs end."""
    _leaving.tell()
    for worker in _workers if hasattr(signal, "SIGUSR2") else ():
        for process in set(worker.pool.info.get("processes", ())) - {os.getpid()}:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGUSR2)


work = app.task(name="pageindex.work")(_work)
if _settings.log_format == "json":
    _signals.setup_logging.connect(_start_logs, weak=False)
_signals.worker_init.connect(_begin, weak=False)
_signals.worker_process_init.connect(_listen, weak=False)
_signals.worker_shutting_down.connect(_leave, weak=False)
_signals.worker_process_shutdown.connect(_close, weak=False)
