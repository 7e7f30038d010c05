"""Celery hands out the jobs of a catalog, for those who run it anyway:

    celery -A hybrid_pageindex.doors.dispatcher worker
    celery -A hybrid_pageindex.doors.dispatcher beat

A message is a job's number and nothing else: the catalog says what is to be done, and who has it. One that is lost is
sent again, one that comes twice finds the job taken.
"""

from __future__ import annotations

import logging
import os
import signal
from contextlib import suppress
from typing import Any

from hybrid_core.errors import UsageError
from hybrid_core.system.extras import require
from hybrid_pageindex import Engine, run
from hybrid_pageindex.config.settings import load_settings
from hybrid_pageindex.doors.leaving import Leaving

celery: Any = require("celery", "celery")
_beat: Any = require("celery.beat", "celery")
_signals: Any = require("celery.signals", "celery")

EVERY = 5.0  # seconds after which what still waits is sent anew
_MOST = 200  # numbers of a kind sent at once: a worker that can do none of them is through before the next
_KINDS = ("index", "embed")
_ALL = "pageindex"
_settings = load_settings()
_engines: list[Engine] = []  # of this process, once it has a job
_workers: list[Any] = []  # of Celery, in their main process
_leaving = Leaving()

if not _settings.redis_url:
    raise UsageError("No broker is set.", "Set PAGEINDEX_REDIS_URL, for example to redis://localhost:6379/0.")

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


def _engine() -> Engine:
    """Made in the process that works: an index must not be open where another one is forked."""
    if not _engines:
        _engines.append(Engine(settings=_settings))
    return _engines[0]


def _close(**_: Any) -> None:
    while _engines:
        _engines.pop().close()


class Beat(_beat.Scheduler):  # type: ignore[misc]
    """Sends by itself: a message that asks a worker to do so would wait behind its work, in a queue it may not read."""

    def tick(self, *_: Any, **__: Any) -> float:
        """Seconds until the next one."""
        try:
            _send()
        except Exception:
            logging.getLogger(__name__).exception("Nothing was sent; in %s s it is tried again.", EVERY)
        return EVERY


def _send() -> None:
    """Each to the queue of its kind, in place of what nobody took since the last time: so a queue that nobody reads
    does not grow, what is urgent is not behind what was, and no clock of another machine says what is too old.
    """
    offers = run(_engine().offers(_MOST))
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
    _leaving.work(lambda: _engine().work_on(job))


def _begin(sender: Any, **_: Any) -> None:
    _workers.append(sender)


def _listen(**_: Any) -> None:
    """In a process of the pool: it hears of the end by a signal that Celery leaves free."""
    signal.signal(signal.SIGUSR2, lambda *_: _leaving.tell())


def _leave(**_: Any) -> None:
    """In the main process, which alone is told to end and then waits for all that runs."""
    _leaving.tell()
    for worker in _workers:
        for process in set(worker.pool.info.get("processes", ())) - {os.getpid()}:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGUSR2)


work = app.task(name="pageindex.work")(_work)
_signals.worker_init.connect(_begin, weak=False)
_signals.worker_process_init.connect(_listen, weak=False)
_signals.worker_shutting_down.connect(_leave, weak=False)
_signals.worker_process_shutdown.connect(_close, weak=False)
