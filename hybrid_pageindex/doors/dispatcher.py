"""Celery hands out the jobs of a catalog, for those who run it anyway:

    celery -A hybrid_pageindex.doors.dispatcher worker
    celery -A hybrid_pageindex.doors.dispatcher beat

A message is a job's number and nothing else: the catalog says what is to be done, and who has it. One that is lost is
sent again, one that comes twice finds the job taken.
"""

from __future__ import annotations

from typing import Any

from hybrid_core.errors import UsageError
from hybrid_core.system.extras import require
from hybrid_pageindex import Engine, run
from hybrid_pageindex.config.settings import load_settings

celery: Any = require("celery", "celery")
_signals: Any = require("celery.signals", "celery")

EVERY = 5.0  # seconds after which what still waits is sent again, and until a message that nobody took is dropped
_MOST = 1000  # numbers sent at once, the most urgent
_KINDS = ("index", "embed")
_ALL = "pageindex"
_settings = load_settings()
_engines: list[Engine] = []  # of this process, once it has a job

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
    beat_schedule={"waiting jobs": {"task": "pageindex.send", "schedule": EVERY, "options": {"expires": EVERY}}},
)


def _engine() -> Engine:
    """Made in the process that works: an index must not be open where another one is forked."""
    if not _engines:
        _engines.append(Engine(settings=_settings))
    return _engines[0]


def _work(job: int) -> None:
    run(_engine().work_on(job))


def _send() -> None:
    """Each to the queue of its kind. Workers of Celery that read one queue alone do that kind alone."""
    for view in run(_engine().jobs(status=["waiting"], most=_MOST)).jobs:
        job = view.job
        if not job.paused and job.not_before <= job.read_at:
            queue = f"{_ALL}.{job.kind}" if job.kind in _KINDS else _ALL
            work.apply_async((job.id,), queue=queue, expires=EVERY)


def _close(**_: Any) -> None:
    while _engines:
        _engines.pop().close()


work = app.task(name="pageindex.work")(_work)
send = app.task(name="pageindex.send")(_send)
_signals.worker_process_shutdown.connect(_close, weak=False)
