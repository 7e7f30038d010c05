"""Jobs of the queue: requests, priorities, leases, progress and events.

Times are in milliseconds since 1970, by the clock of the database.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from hybrid_core.logs import current_request
from hybrid_core.types.notes import Note

WATCHED, WANTED, ASKED = 0, 10, 20
"""Priorities of jobs: for changes found by a watch, for files that somebody waits for, and for the trees of documents
that a search found.
"""

BEHIND = 5
"""How much lower the priority of files inside an archive is, since one archive can contain thousands."""


CANCELLED = Note("job.cancelled")

JobStatus = Literal["waiting", "running", "done", "failed", "cancelled"]
WorkKind = Literal["index", "embed"]  # the kinds of work that a worker may be started for
JobStage = Literal["parse", "ocr", "refine", "enrich", "embed"]
ACTIVE: tuple[JobStatus, ...] = ("waiting", "running")
ENDED: tuple[JobStatus, ...] = ("done", "failed", "cancelled")


@dataclass(frozen=True, slots=True)
class JobRequest:
    """A job to enqueue.

    ``library`` is an id; ``options`` are JSON values, never a password or a key. ``needs`` are the abilities that a
    worker must have, such as "ocr:eng": words without spaces. Only one job per ``key`` waits or runs at a time; the
    default key consists of kind, library and subject. ``version`` is the version of the subject (a file, for example)
    at the time of the request. If a job with the key already runs for another version, it runs once more afterwards.
    ``request_id`` names the HTTP request that caused the job, by default the one that is being answered.
    """

    library: str
    kind: str  # "index" a file, "embed" a library
    subject: str
    stage: JobStage
    options: Mapping[str, Any] = field(default_factory=dict)
    needs: frozenset[str] = frozenset()
    priority: int = WANTED
    owner: str = ""  # the caller who requested it; "" is the local user
    version: str = ""
    key: str = ""
    request_id: str = field(default_factory=current_request)

    @property
    def dedupe_key(self) -> str:
        return self.key or f"{self.kind}\n{self.library}\n{self.subject}"


@dataclass(frozen=True, slots=True)
class Enqueued:
    """The outcome of enqueuing a job.

    ``new`` means that a job was created, ``joined`` that an existing job does the work, and ``again`` that a running
    job will run once more.
    """

    job: int
    outcome: Literal["new", "joined", "again"]


@dataclass(frozen=True, slots=True)
class Fence:
    """The proof that a worker may write for a running job: the worker and the number of its claim.

    It becomes invalid when another worker claims the job.
    """

    job: int
    worker: str
    claim: int  # how often the job has been claimed, including this time


@dataclass(frozen=True, slots=True)
class Job:
    """A job as it was at ``read_at``.

    ``done`` is the number of processed pages of the current stage, ``total`` that of all its pages; both are 0 if
    unknown. ``returns`` counts how often the job returned to the queue with work left. ``attempts`` counts failed
    attempts at this stage. ``cause`` is the reason why the job failed, waits or was cancelled. ``result`` is the result
    of all stages so far as JSON. ``paused`` is True if the job, its library or the whole queue is paused.
    """

    id: int
    library: str
    owner: str
    kind: str
    subject: str
    options: Mapping[str, Any]
    needs: frozenset[str]
    priority: int
    returns: int
    status: JobStatus
    stage: JobStage
    done: int
    total: int
    attempts: int
    not_before: int
    worker: str
    claim: int
    lease_until: int
    heartbeat_at: int
    cancel_requested: bool
    again: bool
    version: str
    cause: Note
    result: Mapping[str, Any]
    created_at: int
    started_at: int  # 0: not started yet
    finished_at: int
    read_at: int
    paused: bool = False
    request_id: str = ""  # the request that asked for it, for logs

    @property
    def fence(self) -> Fence:
        return Fence(self.id, self.worker, self.claim)

    @property
    def ended(self) -> bool:
        return self.status in ENDED

    @property
    def stalled(self) -> bool:
        """Return whether the job is running and its lease has expired, since its worker no longer renews it."""
        return self.status == "running" and self.read_at > self.lease_until


@dataclass(frozen=True, slots=True)
class JobUpdate:
    """The next state of a running job, written in one transaction with the results of its stage.

    The status ``running`` continues the job. ``waiting`` returns it to the queue for its next ``stage``, behind other
    jobs of its priority. Every other status ends the job. Fields that are None stay unchanged.
    """

    status: JobStatus = "running"
    stage: JobStage | None = None
    needs: frozenset[str] | None = None
    options: Mapping[str, Any] | None = None
    result: Mapping[str, Any] | None = None
    done: int | None = None
    total: int | None = None
    cause: str = ""


@dataclass(frozen=True, slots=True)
class JobProgress:
    fence: Fence
    done: int
    total: int


@dataclass(frozen=True, slots=True)
class Lease:
    """The lease of a running job, and whether its worker must stop because the job was cancelled or paused."""

    fence: Fence
    cancel_requested: bool
    paused: bool


@dataclass(frozen=True, slots=True)
class JobEvent:
    """An event of a job.

    Events become visible in the order of their numbers. So a reader that has seen one number has missed no lower one.
    """

    number: int
    job: int
    library: str
    at: int
    kind: str  # enqueued, joined, again, claimed, stage, progress, released, expired, retry, cancel, done, failed, …
    detail: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Worker:
    """A process that runs jobs or waits for their results. ``heartbeat_at`` is 0 if it was never registered."""

    id: str
    host: str
    pid: int
    kind: str  # "worker", "command", "server"
    abilities: frozenset[str] = frozenset()
    started_at: int = 0
    heartbeat_at: int = 0


@dataclass(frozen=True, slots=True)
class JobCounts:
    """Counts of jobs by status, of one library or of all. ``stages`` counts waiting and running jobs by stage."""

    waiting: int = 0
    running: int = 0
    done: int = 0
    failed: int = 0
    cancelled: int = 0
    stages: Mapping[str, int] = field(default_factory=dict)
