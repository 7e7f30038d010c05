"""Whatever happens to jobs in whatever order: one has each, nothing is lost, nothing is written by who lost it."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, multiple, precondition, rule

from hybrid_core.errors import LeaseLostError
from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.store.jobs.control import JobControl
from hybrid_core.store.jobs.outcomes import JobRetries
from hybrid_core.store.jobs.queue import JobQueue
from hybrid_core.store.jobs.reader import JobReader
from hybrid_core.store.jobs.workers import Workers
from hybrid_core.types.jobs import Fence, JobProgress, JobRequest, JobUpdate, Worker
from tests.hybrid_core.store.jobs.clocks import Clock

WORKERS = {"w0": frozenset({"ocr"}), "w1": frozenset[str](), "w2": frozenset({"ocr", "llm"})}
NEEDS = [frozenset[str](), frozenset({"ocr"}), frozenset({"ocr", "llm"})]
LEASE = 60
workers = st.sampled_from(sorted(WORKERS))


class Jobs(RuleBasedStateMachine):
    """The model knows who has which job by right, until when, and what may still happen to it."""

    fences = Bundle("fences")

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.catalog = Catalog(Path(self.folder.name, "catalog.sqlite"))
        self.clock = Clock(at=1_000_000.0)
        self.clock.rules(self.catalog)
        self.queue = JobQueue(self.catalog, JobRetries(attempts=3, first_ms=1000, factor=2, most_ms=4000))
        self.reader, self.control, self.workers = (
            JobReader(self.catalog), JobControl(self.catalog), Workers(self.catalog)
        )  # fmt: skip
        self.holders: dict[int, Fence] = {}  # who has it by right; leases of it may have run out
        self.until: dict[int, float] = {}
        self.known: set[int] = set()
        for name, abilities in WORKERS.items():
            self.workers.register(Worker(name, "here", 1, "worker", abilities))

    def teardown(self) -> None:
        self.catalog.close()
        self.folder.cleanup()

    def now(self) -> float:
        return (self.clock.at or 0) + self.clock.seconds

    def lost(self) -> None:
        """What has expired is given up by the next claim."""
        for job, until in list(self.until.items()):
            if until < self.now():
                self.holders.pop(job, None)
                self.until.pop(job)

    @rule(
        subjects=st.lists(st.sampled_from("abcd"), min_size=1, max_size=4), needs=st.sampled_from(NEEDS),
        priority=st.sampled_from([0, 10]), version=st.sampled_from("12"), waiter=st.sampled_from(["", "w0", "w1"]),
    )  # fmt: skip
    def enqueue(self, subjects: list[str], needs: frozenset[str], priority: int, version: str, waiter: str) -> None:
        before = {job.subject: job for job in self.reader.listed(status=["waiting", "running"])}
        found = self.queue.enqueue(
            [
                JobRequest("lib", "index", one, "parse", needs=needs, priority=priority, version=version)
                for one in subjects
            ],
            waiter=waiter,
        )
        for subject, one in zip(subjects, found, strict=True):
            job = self.reader.job(one.job)
            assert job.subject == subject and job.status in ("waiting", "running")
            if subject in before:
                assert one.job == before[subject].id and one.outcome != "new"
                assert job.priority == max(priority, before[subject].priority) or job.again
            self.known.add(one.job)

    @rule(target=fences, worker=workers, most=st.sampled_from([1, 3]), awaited=st.booleans())
    def claim(self, worker: str, most: int, awaited: bool) -> Any:
        taken = self.queue.claim(worker, WORKERS[worker], limit=most, only_awaited=awaited)
        self.lost()
        for job in taken:
            assert job.id not in self.holders, "somebody has it"
            assert job.needs <= WORKERS[worker] and job.status == "running" and job.worker == worker
            assert not job.paused and not job.cancel_requested
            self.holders[job.id], self.until[job.id] = job.fence, self.now() + LEASE
        order = [(-job.priority, job.returns, job.id) for job in taken]
        assert order == sorted(order)
        return multiple(*(job.fence for job in taken))

    @rule(target=fences, worker=workers)
    def take_over(self, worker: str) -> Any:
        """Whoever has a job is silent for too long; it may be the same one that takes it then."""
        self.clock.seconds += LEASE + 1
        self.expire()
        self.clock.seconds += 5
        return self.claim(worker, 3, False)

    def write(self, fence: Fence, write: Any) -> bool:
        """Whether it was written: exactly where the fence is the holder's."""
        try:
            write()
        except LeaseLostError:
            assert self.holders.get(fence.job) != fence
            return False
        assert self.holders.get(fence.job) == fence
        return True

    def end(self, fence: Fence) -> None:
        self.holders.pop(fence.job)
        self.until.pop(fence.job, None)

    @rule(fence=fences, status=st.sampled_from(["running", "waiting", "done", "failed", "cancelled"]))
    def advance(self, fence: Fence, status: Any) -> None:
        stage: Any = "ocr" if status in ("waiting", "running") else None
        [*before] = self.reader.jobs([fence.job])
        if self.write(fence, lambda: self.queue.advance(fence, JobUpdate(status, stage=stage, result={"n": 1}))):
            now = self.reader.job(fence.job)
            assert now.result == {"n": 1}
            if status == "running":
                return
            self.end(fence)
            ended = status != "waiting" or before[0].cancel_requested
            if before[0].again and ended:
                assert (now.status, now.stage, now.cancel_requested, now.again) == ("waiting", "parse", False, False)
            elif ended:
                assert now.status == ("cancelled" if status == "waiting" else status)
            else:
                assert (now.status, now.stage, now.returns) == ("waiting", "ocr", before[0].returns + 1)

    @rule(fence=fences, final=st.booleans())
    def fail(self, fence: Fence, final: bool) -> None:
        before = self.reader.jobs([fence.job])
        if self.write(fence, lambda: self.queue.fail(fence, "it broke", final=final)):
            self.end(fence)
            job = self.reader.job(fence.job)
            if before[0].cancel_requested and not before[0].again:
                assert job.status == "cancelled"
            elif (final or before[0].attempts == 2) and not before[0].again:
                assert job.status == "failed" and job.cause == "it broke"
            else:
                assert job.status == "waiting"

    @rule(fence=fences)
    def release(self, fence: Fence) -> None:
        before = self.reader.jobs([fence.job])
        if self.write(fence, lambda: self.queue.release(fence)):
            self.end(fence)
            assert self.reader.job(fence.job).attempts == before[0].attempts

    @rule(fence=fences, done=st.integers(0, 9))
    def progress(self, fence: Fence, done: int) -> None:
        before = self.reader.jobs([fence.job])
        self.queue.progress([JobProgress(fence, done, 9)])
        if self.holders.get(fence.job) == fence:
            assert self.reader.job(fence.job).done == done
        else:
            assert [job.done for job in before] == [job.done for job in self.reader.jobs([fence.job])]

    @rule(worker=workers)
    def renew(self, worker: str) -> None:
        self.workers.beat(worker)
        fences = {lease.fence for lease in self.queue.renew(worker)}
        assert fences == {fence for fence in self.holders.values() if fence.worker == worker}
        assert fences == {lease.fence for lease in self.queue.leases(worker)}
        for fence in fences:
            self.until[fence.job] = self.now() + LEASE

    @rule(seconds=st.sampled_from([0.5, 5, 61]))
    def time_passes(self, seconds: float) -> None:
        self.clock.seconds += seconds

    @rule()
    def expire(self) -> None:
        self.queue.expire()
        self.lost()

    @rule(scope=st.sampled_from(["all", "library"]), on=st.booleans())
    def pause(self, scope: Any, on: bool) -> None:
        name = "lib" if scope == "library" else ""
        self.control.pause(scope, name) if on else self.control.resume(scope, name)

    @rule(data=st.data())
    @precondition(lambda self: self.known)
    def cancel(self, data: st.DataObject) -> None:
        job = data.draw(st.sampled_from(sorted(self.known)))
        asked = self.control.cancel([job])
        for found in self.reader.jobs([job]):
            assert found.cancel_requested or found.ended or not asked
            assert asked == [] or found.status in ("cancelled", "running")

    @rule(data=st.data())
    @precondition(lambda self: self.known)
    def retry(self, data: st.DataObject) -> None:
        job = data.draw(st.sampled_from(sorted(self.known)))
        if self.control.retry([job]):
            found = self.reader.job(job)
            assert found.status == "waiting" and found.attempts == 0 and not found.cancel_requested

    @rule(worker=workers, way=st.sampled_from(["cancel_awaited", "detach", "leave"]))
    def stop_waiting(self, worker: str, way: str) -> None:
        getattr(self.workers, way)(worker)
        if way == "leave":
            for fence in [fence for fence in self.holders.values() if fence.worker == worker]:
                self.end(fence)
            self.workers.register(Worker(worker, "here", 1, "worker", WORKERS[worker]))

    @rule()
    def forget(self) -> None:
        self.control.forget()
        self.known = {job.id for job in self.reader.jobs(self.known)}

    @invariant()
    def one_of_each_is_active(self) -> None:
        active = self.reader.listed(status=["waiting", "running"])
        assert len({job.subject for job in active}) == len(active)
        for job in active:
            running = job.status == "running"
            assert running == (self.holders.get(job.id) is not None) or job.id in self.until or running
            assert (job.lease_until > 0) == running and bool(job.worker) == running and job.finished_at == 0
            if running and job.id in self.holders:
                assert job.fence == self.holders[job.id]
        assert {fence.job for fence in self.holders.values()} <= {job.id for job in active if job.status == "running"}

    @invariant()
    def nothing_is_lost(self) -> None:
        found = self.reader.jobs(self.known)
        assert {job.id for job in found} == self.known
        counts = self.reader.counts()
        assert counts.waiting + counts.running + counts.done + counts.failed + counts.cancelled == len(self.known)

    @invariant()
    def events_have_every_number(self) -> None:
        found = self.reader.events(limit=100_000)
        numbers = [event.number for event in found]
        assert numbers == sorted(set(numbers))
        assert (max(numbers) if numbers else 0) <= self.reader.last_event()


Jobs.TestCase.settings = settings(
    max_examples=30, stateful_step_count=40, deadline=None, suppress_health_check=list(HealthCheck)
)
TestJobs = pytest.mark.slow(Jobs.TestCase)
