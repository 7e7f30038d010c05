"""Jobs in the form that the interfaces show: lists, histories, events, and results of decisions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

from hybrid_core.errors import UsageError
from hybrid_core.types.jobs import Job, JobCounts, JobEvent, JobStatus, Worker
from hybrid_core.types.notes import Note

JobAction = Literal["pause", "resume", "cancel", "retry", "forget"]
STATUSES: tuple[JobStatus, ...] = ("waiting", "running", "done", "failed", "cancelled")


@dataclass(frozen=True, slots=True)
class JobChoice:
    """A selection of jobs by number, by library, or of all jobs."""

    ids: tuple[int, ...] = ()
    library: str | None = None
    everything: bool = False

    def check(self) -> None:
        """Raise UsageError unless exactly one selection is used: numbers, a library, or all jobs."""
        if bool(self.ids) + (self.library is not None) + self.everything != 1:
            raise UsageError(
                "The request does not say which jobs to change.",
                "Name jobs by their numbers, name a library, or choose all.",
            )


@dataclass(frozen=True, slots=True)
class JobView:
    """A job for display, with its library's name.

    ``state`` is a sentence on what the job does or waits for. The JSON field ``reason`` is an error code, "" if none is
    known.
    """

    job: Job
    library: str
    state: Note

    def to_dict(self) -> dict[str, Any]:
        job = self.job
        return {
            "id": job.id, "library": self.library, "kind": job.kind, "subject": job.subject, "status": job.status,
            "stage": job.stage, "state": self.state, "done": job.done, "total": job.total, "attempts": job.attempts,
            "paused": job.paused, "stalled": job.stalled, "cause": job.cause, "priority": job.priority,
            "reason": job.result.get("reason", ""),
            "worker": job.worker, "created_at": at(job.created_at), "started_at": at(job.started_at),
            "finished_at": at(job.finished_at), "request_id": job.request_id,
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class JobList:
    """A list of jobs for display.

    ``counts`` cover all jobs of the library, or of the home if no library was named. ``paused`` has a sentence for each
    pause.
    """

    jobs: tuple[JobView, ...]
    counts: JobCounts
    paused: tuple[str, ...]
    workers: tuple[Worker, ...]

    def to_dict(self) -> dict[str, Any]:
        counts = {status: getattr(self.counts, status) for status in STATUSES}
        return {
            "jobs": [view.to_dict() for view in self.jobs], "counts": counts, "paused": list(self.paused),
            "workers": [
                {"id": worker.id, "host": worker.host, "pid": worker.pid, "kind": worker.kind}
                for worker in self.workers
            ],
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class JobHistory:
    view: JobView
    events: tuple[JobEvent, ...]

    def to_dict(self) -> dict[str, Any]:
        job = self.view.job
        events = [{"at": at(event.at), "kind": event.kind, **event.detail} for event in self.events]
        more = {"options": dict(job.options), "needs": sorted(job.needs), "result": dict(job.result)}
        return self.view.to_dict() | more | {"events": events}


@dataclass(frozen=True, slots=True)
class JobDecision:
    """The affected jobs of a pause, resume, cancel, retry or forget call, and a sentence for the user."""

    jobs: tuple[int, ...]
    said: str


@dataclass(frozen=True, slots=True)
class JobNews:
    """Job events, up to the event with number ``number``.

    If events are missing, ``state`` lists all current jobs, by which a reader renews its list. Otherwise it is None.
    """

    number: int
    events: tuple[JobEvent, ...]
    state: tuple[JobView, ...] | None = None


def state(job: Job, ahead: int, workers: Sequence[Worker]) -> Note:
    """Return a sentence that says what a job does or waits for.

    A job counts as stalled if its worker has stopped responding.
    """
    if job.ended:
        ended = _ENDED[job.status]
        return Note("job-state.because", state=ended, cause=job.cause) if job.cause else ended
    if job.status == "running":
        return _running(job)
    if job.paused:
        return Note("job-state.paused")
    if job.not_before > job.read_at:
        seconds = -(-(job.not_before - job.read_at) // 1000)
        return Note("job-state.retry", seconds=seconds, attempts=job.attempts, cause=job.cause)
    if not workers:
        return Note("job-state.no-worker")
    if not any(job.needs <= worker.abilities for worker in workers):
        lacks = min((sorted(job.needs - worker.abilities) for worker in workers), key=len)
        return Note("job-state.no-able-worker", lacks=lacks)
    return Note("job-state.behind", others=ahead) if ahead else Note("job-state.next")


_ENDED = {
    "done": Note("job-state.done"), "failed": Note("job-state.failed"), "cancelled": Note("job-state.cancelled"),
}  # fmt: skip


def _running(job: Job) -> Note:
    if job.cancel_requested:
        return Note("job-state.ending")
    if job.stalled:
        silence = (job.read_at - job.heartbeat_at) // 1000
        return Note("job-state.stalled", seconds=silence)
    doing = Note.of(job.stage)
    if job.total and job.stage == "embed":
        doing = Note("job-state.texts", stage=job.stage, done=job.done, total=job.total)
    elif job.total:
        doing = Note("job-state.pages", stage=job.stage, done=job.done, total=job.total)
    return Note("job-state.pausing", state=doing) if job.paused else doing


def at(ms: int) -> str:
    """Format a time in milliseconds as ISO 8601 in UTC, "" for 0."""
    return datetime.fromtimestamp(ms / 1000, UTC).isoformat(timespec="seconds") if ms else ""
