"""The queue, one behaviour at a time, on both databases."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest
from sqlalchemy import event

from hybrid_core.errors import LeaseLostError, NotFoundError
from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.store.jobs.claims import JobLimits
from hybrid_core.store.jobs.control import JobControl, Keep, fold
from hybrid_core.store.jobs.outcomes import JobRetries
from hybrid_core.store.jobs.queue import JobQueue
from hybrid_core.store.jobs.reader import JobReader
from hybrid_core.store.jobs.workers import Workers
from hybrid_core.types.jobs import WATCHED, Job, JobProgress, JobRequest, JobUpdate, Worker
from tests.hybrid_core.store.jobs.clocks import Clock
from tests.hybrid_core.store.jobs.conftest import Store
from tests.hybrid_core.store.test_catalog import ALPHA, content, publish
from tests.postgres import PostgresStore


def request(subject: str = "/a.pdf", library: str = "default", **more: object) -> JobRequest:
    return JobRequest(library, "index", subject, "parse", **more)  # type: ignore[arg-type]


def claimed(store: Store, worker: str = "w", abilities: Sequence[str] = ()) -> Job:
    [job] = JobQueue(store).claim(worker, abilities)
    return job


def kinds(store: Store, job: int) -> list[str]:
    return [event.kind for event in JobReader(store).events(job=job)]


def test_what_is_wanted_comes_before_what_was_found_and_later_stages_behind_both(store: Store) -> None:
    queue = JobQueue(store)
    queue.enqueue([request("/watched", priority=WATCHED), request("/first"), request("/second")])
    first = claimed(store)
    queue.advance(first.fence, JobUpdate("waiting", stage="ocr", needs=frozenset({"ocr:eng"})))
    assert [job.subject for job in queue.claim("w", ["ocr:eng"], limit=9)] == ["/second", "/first", "/watched"]


def test_files_are_taken_in_the_order_in_which_they_were_named(store: Store) -> None:
    subjects = [f"/{name}" for name in ("m", "b", "z", "a", "b", "k")]
    JobQueue(store).enqueue([request(one) for one in subjects])
    assert [job.subject for job in JobQueue(store).claim("w", [], limit=9)] == ["/m", "/b", "/z", "/a", "/k"]


def test_a_worker_takes_what_it_is_able_to_do(store: Store) -> None:
    queue = JobQueue(store)
    queue.enqueue([request("/scan", needs=frozenset({"ocr:eng", "llm:x"})), request("/plain")])
    assert claimed(store).subject == "/plain"
    assert queue.claim("w", ["ocr:eng"]) == []
    assert claimed(store, "w", ["llm:x", "ocr:eng", "more"]).subject == "/scan"


def test_of_a_busy_library_or_kind_no_more_is_taken_than_may_run_at_once(store: Store) -> None:
    queue = JobQueue(store, limits=JobLimits(library_jobs=2, embed_jobs=1))
    flood = [request(f"/{number}", "flood") for number in range(5)]
    embed = [JobRequest(library, "embed", library, "embed") for library in ("third", "fourth")]
    queue.enqueue([*flood, request("/one", "other"), *embed])
    first = queue.claim("w", [], limit=9)
    assert [(job.library, job.subject) for job in first] == [
        ("flood", "/0"), ("other", "/one"), ("third", "third"), ("flood", "/1")
    ]  # fmt: skip
    assert queue.claim("other", [], limit=9) == [] and not queue.waits("other", [], ["parse"])
    queue.advance(first[0].fence, JobUpdate("done"))
    assert [job.subject for job in queue.claim("other", [], limit=9)] == ["/2"]
    queue.release(first[2].fence)
    assert [job.library for job in queue.claim("other", [], limit=9)] == ["fourth"], "it had no turn yet"


def test_workers_that_look_at_the_same_time_keep_a_limit_together(store: Store) -> None:
    queue = JobQueue(store, limits=JobLimits(library_jobs=3))
    queue.enqueue([request(f"/{number}") for number in range(40)])
    together, taken = threading.Barrier(6), list[Job]()

    def work(name: str) -> None:
        together.wait()
        for _ in range(4):
            taken.extend(queue.claim(name, []))

    threads = [threading.Thread(target=work, args=(f"w{number}",)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(taken) == len({job.id for job in taken}) == 3


def test_no_more_is_taken_than_was_asked_for_however_the_server_joins(postgres_url: str) -> None:
    store = PostgresStore(postgres_url)
    joins = ("hashjoin", "mergejoin", "hashagg", "sort", "material", "seqscan")
    plan = "; ".join(f"SET enable_{how} = off" for how in joins)
    event.listen(store.engine, "begin", lambda connection: connection.exec_driver_sql(plan))
    JobQueue(store).enqueue([request(f"/{number}") for number in range(40)])
    assert [len(JobQueue(store).claim("w", [], limit=3)) for _ in range(3)] == [3, 3, 3]
    store.close()


def test_the_same_work_is_joined_or_done_again(store: Store) -> None:
    queue, reader = JobQueue(store), JobReader(store)
    [made] = queue.enqueue([request(priority=WATCHED, version="1")])
    assert [one.outcome for one in queue.enqueue([request(version="2"), request(version="2")])] == ["joined"] * 2
    job = claimed(store)
    assert (job.id, job.priority, job.version) == (made.job, 10, "2")
    assert queue.enqueue([request(version="2")])[0].outcome == "joined", "it does that already"
    assert queue.enqueue([request(version="3", options={"vision": "always"})])[0].outcome == "again"
    queue.advance(job.fence, JobUpdate("done", result={"pages": 1}))
    again = claimed(store)
    assert (again.id, again.version, again.options, again.claim) == (made.job, "3", {"vision": "always"}, 2)
    assert reader.job(made.job).result == {"pages": 1}
    queue.advance(again.fence, JobUpdate("done"))
    assert queue.enqueue([request(version="3")])[0].outcome == "new"


def test_what_a_watch_finds_does_not_change_how_somebody_wants_it(store: Store) -> None:
    queue = JobQueue(store)
    queue.enqueue([request(options={"vision": "always"}, version="1")])
    queue.enqueue([request(priority=WATCHED, version="2")])
    job = claimed(store)
    assert (job.priority, job.options, job.version) == (10, {"vision": "always"}, "2")


def test_nobody_writes_of_a_job_that_was_given_to_another(store: Store, clock: Clock) -> None:
    queue = JobQueue(store)
    queue.enqueue([request()])
    lost = claimed(store, "slow")
    clock.seconds += 61
    assert queue.claim("quick", []) == [], "it waits a little before it is tried again"
    clock.seconds += 2
    has = claimed(store, "quick")
    assert has.attempts == 1 and "stopped responding" in kinds_and_causes(store, has.id)
    for write in (
        lambda: queue.advance(lost.fence, JobUpdate("done")),
        lambda: queue.fail(lost.fence, "late"),
        lambda: queue.release(lost.fence),
    ):
        with pytest.raises(LeaseLostError, match=f"Another worker process has taken over job {lost.id}"):
            write()
    queue.progress([JobProgress(lost.fence, 5, 9)])
    assert JobReader(store).job(has.id).done == 0 and queue.renew("slow") == []
    queue.advance(has.fence, JobUpdate("done"))


def test_who_takes_a_job_again_writes_nothing_for_the_time_before(store: Store, clock: Clock) -> None:
    queue = JobQueue(store)
    queue.enqueue([request()])
    before = claimed(store)
    clock.seconds += 61
    queue.expire()
    clock.seconds += 2
    now = claimed(store)
    assert (now.worker, now.claim) == (before.worker, before.claim + 1)
    with pytest.raises(LeaseLostError):
        queue.advance(before.fence, JobUpdate("done"))
    queue.advance(now.fence, JobUpdate("done"))


def kinds_and_causes(store: Store, job: int) -> str:
    return "; ".join(f"{event.kind} {event.detail}" for event in JobReader(store).events(job=job))


def test_a_lease_that_ran_out_is_kept_where_nobody_took_it(store: Store, clock: Clock) -> None:
    queue = JobQueue(store)
    queue.enqueue([request()])
    job = claimed(store)
    clock.seconds += 90
    assert JobReader(store).job(job.id).stalled
    assert [lease.fence for lease in queue.renew("w")] == [job.fence]
    assert not JobReader(store).job(job.id).stalled and queue.expire() == 0
    queue.advance(job.fence, JobUpdate("done"))


@pytest.mark.parametrize("hours", [-5, 5])
def test_a_clock_that_jumps_loses_nothing(store: Store, clock: Clock, hours: int) -> None:
    queue = JobQueue(store)
    queue.enqueue([request("/running"), request("/failed")])
    job, failed = queue.claim("w", [], limit=2)
    queue.fail(failed.fence, "later")
    clock.seconds += hours * 3600
    taken = []
    for _ in range(3):  # both are taken at once or after a moment, not hours later
        taken += queue.claim("w2", [], limit=2)
        clock.seconds += 2
    assert sorted(job.subject for job in taken) == ["/failed", "/running"]
    with pytest.raises(LeaseLostError):
        queue.advance(job.fence, JobUpdate("done"))


def test_two_machines_need_not_agree_on_the_time(tmp_path: Path) -> None:
    """Where each has its own clock over one file: the one that is ahead takes the job, and only it may publish."""
    behind, ahead = Catalog(tmp_path / "catalog.sqlite"), Catalog(tmp_path / "catalog.sqlite")
    behind.ensure_library("default")
    clock = Clock()
    clock.rules(ahead)
    clock.seconds = 63.0
    JobQueue(behind).enqueue([request("/d1.pdf")])
    slow = claimed(behind, "slow")
    assert JobQueue(ahead).expire() == 1
    clock.seconds += 2
    quick = claimed(ahead, "quick")
    with pytest.raises(LeaseLostError):
        publish(behind, "d1", ALPHA, content(1, "alpha"), fence=slow.fence, advance=JobUpdate("done"))
    with behind.snapshot() as snapshot:
        assert snapshot.published("default") == {} and snapshot.versions("alpha") == []
    publish(ahead, "d1", ALPHA, content(1, "alpha"), fence=quick.fence, advance=JobUpdate("done", result={"pages": 1}))
    with behind.snapshot() as snapshot:
        assert list(snapshot.published("default")) == ["d1"]
    assert JobReader(behind).job(quick.id).status == "done" and JobReader(behind).job(quick.id).result == {"pages": 1}
    behind.close()
    ahead.close()


def test_a_publication_that_fails_leaves_its_job_as_it_was(tmp_path: Path) -> None:
    catalog = Catalog(tmp_path / "catalog.sqlite")
    catalog.ensure_library("default")
    JobQueue(catalog).enqueue([request()])
    job = claimed(catalog)
    with pytest.raises(NotFoundError):
        publish(catalog, "d1", ALPHA, None, fence=job.fence, advance=JobUpdate("done"))
    now = JobReader(catalog).job(job.id)
    assert now.status == "running" and now.fence == job.fence and kinds(catalog, job.id) == ["enqueued", "claimed"]
    catalog.close()


def test_a_job_that_keeps_failing_is_given_up_with_its_history(store: Store, clock: Clock) -> None:
    queue = JobQueue(store, JobRetries(attempts=3, first_ms=1000, factor=4, most_ms=300_000))
    [made] = queue.enqueue([request()])
    clock.stop()
    waits = []
    for attempt in range(3):
        queue.fail(claimed(store).fence, f"broke {attempt}")
        job = JobReader(store).job(made.job)
        waits.append(round((job.not_before - job.read_at) / 1000) if job.status == "waiting" else job.status)
        clock.seconds += 10
    assert waits == [1, 4, "failed"]
    job = JobReader(store).job(made.job)
    assert (job.cause, job.attempts) == ("broke 2", 3)
    assert kinds(store, made.job) == ["enqueued", "claimed", "retry", "claimed", "retry", "claimed", "failed"]
    assert JobControl(store).retry() == [made.job] and claimed(store).attempts == 0


def test_what_passes_is_tried_again_however_often(store: Store, clock: Clock) -> None:
    queue = JobQueue(store, JobRetries(attempts=3, first_ms=1000, factor=4, most_ms=300_000))
    [made] = queue.enqueue([request()])
    clock.stop()
    waits = []
    for _ in range(5):
        queue.fail(claimed(store).fence, "The disk is full.", passing=True)
        job = JobReader(store).job(made.job)
        waits.append(round((job.not_before - job.read_at) / 1000))
        clock.seconds += 10
    assert waits == [1, 4, 4, 4, 4] and (job.status, job.cause) == ("waiting", "The disk is full.")


def test_a_stage_that_ends_well_begins_the_next_with_all_its_tries(store: Store) -> None:
    queue = JobQueue(store, JobRetries(attempts=2, first_ms=0))
    queue.enqueue([request()])
    queue.fail(claimed(store).fence, "broke")
    queue.advance(claimed(store).fence, JobUpdate("waiting", stage="ocr"))
    queue.fail(claimed(store).fence, "broke")
    assert claimed(store).attempts == 1


def test_cancelled_jobs_end_where_they_wait_and_are_asked_to_where_they_run(store: Store) -> None:
    queue, control, reader = JobQueue(store), JobControl(store), JobReader(store)
    queue.enqueue([request("/runs"), request("/waits"), request("/other", "elsewhere")])
    job = claimed(store)
    assert len(control.cancel(library="default")) == 2
    assert [(one.subject, one.status) for one in reader.listed()] == [
        ("/runs", "running"), ("/other", "waiting"), ("/waits", "cancelled"),
    ]  # fmt: skip
    assert [lease.cancel_requested for lease in queue.leases("w")] == [True]
    queue.advance(job.fence, JobUpdate("waiting", stage="ocr"))
    assert reader.job(job.id).status == "cancelled"
    assert control.cancel([job.id]) == [] and control.retry([job.id]) == [job.id]


def test_what_is_removed_while_it_is_worked_at_is_not_written_any_more(store: Store) -> None:
    queue, control = JobQueue(store), JobControl(store)
    queue.enqueue([request("/a"), request("/b"), request("/a", "elsewhere")])
    a, b = queue.claim("w", [], limit=2)
    queue.enqueue([request("/a", version="2")])
    assert control.revoke(library="default", subjects=["/a"], cause="it was removed") == [a.id]
    with pytest.raises(LeaseLostError):
        queue.advance(a.fence, JobUpdate("done"))
    assert JobReader(store).job(a.id).status == "cancelled" and [one.fence for one in queue.leases("w")] == [b.fence]
    control.pause("library", "default")
    control.erase("default")
    assert [job.library for job in JobReader(store).listed()] == ["elsewhere"] and control.pauses() == []


def test_what_is_asked_for_after_a_cancel_is_done(store: Store) -> None:
    queue = JobQueue(store)
    queue.enqueue([request()])
    job = claimed(store)
    JobControl(store).cancel([job.id])
    assert queue.enqueue([request()])[0].outcome == "again"
    queue.advance(job.fence, JobUpdate("cancelled"))
    assert claimed(store).id == job.id


def test_nothing_that_is_paused_is_taken_and_a_pause_lasts(store: Store) -> None:
    queue, control, reader = JobQueue(store), JobControl(store), JobReader(store)
    made = queue.enqueue([request("/a"), request("/b"), request("/c", "elsewhere")])
    control.pause("library", "default")
    control.pause("library", "default")
    assert [job.subject for job in queue.claim("w", [], limit=9)] == ["/c"]
    assert [lease.paused for lease in queue.leases("w")] == [False]
    control.pause("all")
    assert [lease.paused for lease in queue.leases("w")] == [True]
    assert all(job.paused for job in reader.listed()) and JobControl(store).pauses() == [
        ("library", "default"), ("all", ""),
    ]  # fmt: skip
    assert control.resume("library", "default") and not control.resume("library", "default")
    assert control.resume("all") and not control.resume("all")
    control.pause("job", str(made[0].job))
    assert [job.subject for job in queue.claim("w", [], limit=9)] == ["/b"]
    control.cancel([made[0].job])
    assert control.pauses() == [], "the pause of a job ends with it"


def test_whoever_stops_waiting_ends_what_only_it_waits_for(store: Store) -> None:
    queue, workers, reader = JobQueue(store), Workers(store), JobReader(store)
    queue.enqueue([request("/watched", priority=WATCHED)])
    queue.enqueue([request("/shared"), request("/mine"), request("/watched"), request("/begun")], waiter="a")
    queue.enqueue([request("/shared")], waiter="b")
    [begun] = [job for job in queue.claim("w", [], limit=9) if job.subject == "/begun" or queue.release(job.fence)]  # type: ignore[func-returns-value]
    assert reader.counts(waiter="a").waiting == 3 and len(reader.listed(waiter="b")) == 1
    assert len(workers.cancel_awaited("a")) == 2
    assert Counter(job.status for job in reader.listed()) == {"running": 1, "waiting": 2, "cancelled": 1}
    assert reader.job(begun.id).cancel_requested
    workers.detach("b")
    assert workers.cancel_awaited("b") == [] and len(reader.listed(status=["waiting"])) == 2


def test_what_a_dead_process_leaves_is_seen_to(store: Store, clock: Clock) -> None:
    queue, workers, reader = JobQueue(store), Workers(store), JobReader(store)
    for name in ("a", "b"):
        workers.register(Worker(name, "here", 1, "command", frozenset({"password:1"} if name == "a" else ())))
    queue.enqueue([request("/stays"), request("/secret", needs=frozenset({"password:1"}))], waiter="a")
    claimed(store, "a")
    workers.sweep("b")
    assert reader.counts().failed == 0 and [worker.id for worker in workers.all()] == ["a", "b"]
    clock.seconds += 61
    assert workers.beat("b")
    workers.sweep("b")
    assert [worker.id for worker in workers.all()] == ["b"] and not workers.beat("a")
    assert [(job.subject, job.status) for job in reader.listed()] == [("/stays", "waiting"), ("/secret", "failed")]
    assert "Enter the password again" in reader.listed()[1].cause and reader.counts(waiter="a").waiting == 0
    assert [job.attempts for job in reader.listed(status=["waiting"])] == [1]
    clock.seconds += 1
    assert claimed(store, "b").subject == "/stays"


def test_a_job_that_kills_each_worker_that_takes_it_is_given_up(store: Store, clock: Clock) -> None:
    """Each beats, takes it 9 s later and dies: it is known to be gone before its lease has run out."""
    queue, workers, reader = JobQueue(store), Workers(store), JobReader(store)
    [made] = queue.enqueue([request("/deadly")])
    for number in range(5):
        workers.register(Worker(f"w{number}", "here", 1, "worker"))
        clock.seconds += 9
        claimed(store, f"w{number}")
        clock.seconds += 52
        workers.sweep("other")
        job = reader.job(made.job)
        assert job.attempts == number + 1 and "stopped responding" in job.cause
        clock.seconds += 300
    assert job.status == "failed" and kinds(store, job.id).count("expired") == 5


def test_a_worker_that_ends_gives_back_what_it_has(store: Store) -> None:
    queue, workers = JobQueue(store), Workers(store)
    workers.register(Worker("w", "here", 1, "worker"))
    queue.enqueue([request()])
    job = claimed(store)
    workers.leave("w", "it was told to end")
    now = JobReader(store).job(job.id)
    assert (now.status, now.attempts, now.cause) == ("waiting", 0, "it was told to end") and workers.all() == []


def test_old_rows_fold_away_and_awaited_ones_stay(store: Store, clock: Clock) -> None:
    queue, reader = JobQueue(store), JobReader(store)
    queue.enqueue([request(f"/{n}") for n in range(6)], waiter="a")
    for job in queue.claim("w", [], limit=5):
        queue.advance(job.fence, JobUpdate("done"))
        clock.seconds += 1
    assert fold(store, Keep(rows=2, events=1)) == 0, "somebody waits for them"
    Workers(store).detach("a")
    assert fold(store, Keep(rows=2, events=1)) == 3
    assert [job.subject for job in reader.listed()] == ["/5", "/4", "/3"]
    assert {event.job for event in reader.events()} == {job.id for job in reader.listed() if job.subject != "/3"}
    clock.seconds += 91 * 86_400
    assert fold(store) == 2 and [job.status for job in reader.listed()] == ["waiting"]
    assert JobControl(store).forget() == 0 and JobControl(store).cancel() and JobControl(store).forget() == 1


def test_progress_is_told_and_not_kept(store: Store) -> None:
    queue, reader = JobQueue(store), JobReader(store)
    queue.enqueue([request()])
    job = claimed(store)
    begun = reader.last_event()
    queue.progress([JobProgress(job.fence, 3, 9)])
    assert [(event.kind, event.detail["done"]) for event in reader.events(begun)] == [("progress", 3)]
    queue.advance(job.fence, JobUpdate("done"))
    assert kinds(store, job.id) == ["enqueued", "claimed", "done"] and reader.last_event() == begun + 2


def test_how_many_wait_before_one(store: Store) -> None:
    made = JobQueue(store).enqueue([request("/watched", priority=WATCHED), request("/a"), request("/b")])
    [running] = JobQueue(store).enqueue([request("/c", priority=20)])
    claimed(store)
    ids = [one.job for one in made]
    assert JobReader(store).ahead([*ids, running.job]) == dict(zip(ids, [2, 0, 1], strict=True))


@pytest.mark.slow
def test_many_at_once_take_each_job_once(store: Store) -> None:
    queue = JobQueue(store)
    queue.enqueue([request(f"/{n}") for n in range(60)])
    taken: list[int] = []

    def work(name: str) -> None:
        mine = JobQueue(store)
        while jobs := mine.claim(name, []):
            taken.extend(job.id for job in jobs)
            mine.advance(jobs[0].fence, JobUpdate("done"))

    threads = [threading.Thread(target=work, args=(f"w{n}",)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(taken) == sorted(set(taken)) and len(taken) == 60
    assert JobReader(store).counts().done == 60


@pytest.mark.slow
def test_eight_that_enqueue_the_same_make_each_job_once(store: Store) -> None:
    made: list[list[str]] = []

    def enqueue(number: int) -> None:
        subjects = [f"/{n}" for n in range(1000)]
        shifted = subjects[number * 100 :] + subjects[: number * 100]
        made.append([one.outcome for one in JobQueue(store).enqueue([request(one) for one in shifted])])

    threads = [threading.Thread(target=enqueue, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert Counter(one for outcomes in made for one in outcomes) == {"new": 1000, "joined": 7000}
    assert JobReader(store).counts().waiting == 1000


def test_an_event_is_seen_after_all_before_it(postgres_url: str) -> None:
    """Two transactions at once: the one that numbers its events first is committed first."""
    store = PostgresStore(postgres_url)
    over = threading.Event()
    seen: list[int] = []

    def follow() -> None:
        while not over.is_set() or len(JobReader(store).events(seen[-1] if seen else 0)):
            seen.extend(event.number for event in JobReader(store).events(seen[-1] if seen else 0))

    reader = threading.Thread(target=follow)
    writers = [
        threading.Thread(target=lambda n=n: [JobQueue(store).enqueue([request(f"/{n}-{i}")]) for i in range(25)])  # type: ignore[misc]
        for n in range(4)
    ]
    for thread in (reader, *writers):
        thread.start()
    for thread in writers:
        thread.join()
    over.set()
    reader.join()
    assert seen == list(range(1, 101))
    store.close()
