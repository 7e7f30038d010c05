"""Jobs of the queue: requests, priorities, leases, progress and events. Times are ms of the database's clock."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from hybrid_core.types.notes import Note

WATCHED, WANTED, ASKED = 0, 10, 20
"""What a watch found, what somebody waits for, and the trees of documents that somebody asks about."""

BEHIND = 5
"""How far what lies in an archive waits behind the archive's like: one file can hold thousands."""


CANCELLED = Note("job.cancelled")

JobStatus = Literal["waiting", "running", "done", "failed", "cancelled"]
WorkKind = Literal["index", "embed"]  # what a worker may be for
JobStage = Literal["scan", "parse", "ocr", "refine", "enrich", "embed"]
ACTIVE: tuple[JobStatus, ...] = ("waiting", "running")
ENDED: tuple[JobStatus, ...] = ("done", "failed", "cancelled")


@dataclass(frozen=True, slots=True)
class JobRequest:
    """A job to enqueue. ``library`` is an id; ``options`` are JSON values, never a password or a key.

    ``needs`` is what a worker must be able to do ("ocr:eng"), words without spaces. Of requests with one ``key`` (by
    default one for a kind and subject of a library) only one job waits or runs. ``version`` says what the subject was
    like when this was asked: of a running job it decides whether there is anything to do again.
    """

    library: str
    kind: str  # "index" a file, "scan" a folder, "embed" a library
    subject: str
    stage: JobStage
    options: Mapping[str, Any] = field(default_factory=dict)
    needs: frozenset[str] = frozenset()
    priority: int = WANTED
    owner: str = ""  # who asked; "" is the local person
    version: str = ""
    key: str = ""

    @property
    def dedupe_key(self) -> str:
        return self.key or f"{self.kind}\n{self.library}\n{self.subject}"


@dataclass(frozen=True, slots=True)
class Enqueued:
    """``new``: a job was made; ``joined``: one does it already; ``again``: one that runs does it again afterwards."""

    job: int
    outcome: Literal["new", "joined", "again"]


@dataclass(frozen=True, slots=True)
class Fence:
    """The worker that may write for a running job, for only as long as nobody has taken the job since."""

    job: int
    worker: str
    claim: int  # how often the job has been taken, this time included


@dataclass(frozen=True, slots=True)
class Job:
    """A job as it was at ``read_at``. ``done`` and ``total`` count pages of the stage, 0 of 0 where unknown.

    ``attempts`` are failed tries of this stage. ``cause`` is why it failed, waits or was cancelled. ``result`` is what
    came of it (JSON), also what earlier stages published. ``paused``: it, its library or everything is.
    """

    id: int
    library: str
    owner: str
    kind: str
    subject: str
    options: Mapping[str, Any]
    needs: frozenset[str]
    priority: int
    turn: int
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
    started_at: int  # 0: not yet
    finished_at: int
    read_at: int
    paused: bool = False

    @property
    def fence(self) -> Fence:
        return Fence(self.id, self.worker, self.claim)

    @property
    def ended(self) -> bool:
        return self.status in ENDED

    @property
    def stalled(self) -> bool:
        """Return whether the worker that has the job gives no sign of life. A waiting job is not stalled."""
        return self.status == "running" and self.read_at > self.lease_until


@dataclass(frozen=True, slots=True)
class Advance:
    """The next state of a running job, written in one transaction with the results of its stage.

    ``running`` keeps it; ``waiting`` gives it back to the queue for its next ``stage``, a turn behind others; the rest
    end it. What is None stays as it is.
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
    """A supervisor's view of a job that it has leased."""

    fence: Fence
    cancel_requested: bool
    paused: bool


@dataclass(frozen=True, slots=True)
class JobEvent:
    """Numbers rise in the order in which events can be seen: who has read up to one has missed none before it."""

    number: int
    job: int
    library: str
    at: int
    kind: str  # enqueued, joined, again, claimed, stage, progress, released, expired, retry, cancel, done, failed, …
    detail: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Worker:
    """A process that does jobs or waits for some. ``heartbeat_at`` 0 where it has not been registered."""

    id: str
    host: str
    pid: int
    kind: str  # "worker", "command", "server"
    abilities: frozenset[str] = frozenset()
    started_at: int = 0
    heartbeat_at: int = 0


@dataclass(frozen=True, slots=True)
class JobCounts:
    """Counts of jobs of one library, or of all. ``stages`` counts waiting and running jobs by stage."""

    waiting: int = 0
    running: int = 0
    done: int = 0
    failed: int = 0
    cancelled: int = 0
    stages: Mapping[str, int] = field(default_factory=dict)
