"""Fair turns: nobody waits for all that somebody else has asked for, and what is urgent still comes first."""

from __future__ import annotations

import itertools
import threading

from hybrid_core.store.jobs.control import JobControl, fold
from hybrid_core.store.jobs.outcomes import JobRetries
from hybrid_core.store.jobs.queue import JobQueue
from hybrid_core.store.jobs.reader import JobReader
from hybrid_core.store.jobs.tables import IS_WAITING, jobs
from hybrid_core.types.jobs import WATCHED, JobRequest, JobUpdate
from tests.hybrid_core.store.jobs.clocks import Clock
from tests.hybrid_core.store.jobs.conftest import Store


def put(store: Store, name: str, count: int = 1, library: str = "shared", owner: str = "", **more: object) -> None:
    """Jobs that are called ``name`` and their number."""
    JobQueue(store).enqueue(
        [JobRequest(library, "index", f"{name}{n}", "parse", owner=owner, **more) for n in range(count)]  # type: ignore[arg-type]
    )


def served(store: Store, count: int, worker: str = "w") -> list[str]:
    """What one worker takes, one after the other."""
    queue, found = JobQueue(store), list[str]()
    for _ in range(count):
        for job in queue.claim(worker, [], stages=["parse"]):
            queue.advance(job.fence, JobUpdate("done"))
            found.append(job.subject)
    return found


def test_a_single_file_waits_for_one_job_of_a_library_of_many(store: Store) -> None:
    put(store, "big", 500, "big")
    assert served(store, 3) == ["big0", "big1", "big2"]
    put(store, "small", 1, "small")
    put(store, "other", 2, "other")
    assert served(store, 6) == ["small0", "other0", "big3", "other1", "big4", "big5"]
    assert [job.subject for job in JobQueue(store).claim("w", [], limit=2)] == ["big6", "big7"]


def test_in_a_library_those_who_asked_take_turns_and_have_its_turns_together(store: Store) -> None:
    put(store, "a", 50, owner="anna")
    put(store, "b", 2, owner="ben")
    put(store, "x", 9, "other", owner="anna")
    assert served(store, 9) == ["a0", "x0", "b0", "x1", "a1", "x2", "b1", "x3", "a2"]


def test_what_is_urgent_comes_first_and_several_are_taken_in_turn(store: Store) -> None:
    put(store, "watched", 2, "quiet", priority=WATCHED)
    put(store, "big", 4, "big")
    put(store, "small", 1, "small")
    taken = JobQueue(store).claim("w", [], limit=9)
    assert [job.subject for job in taken] == ["big0", "small0", "big1", "big2", "big3", "watched0", "watched1"]


def test_who_asks_for_one_file_after_the_other_has_no_more_turns_than_others(store: Store) -> None:
    put(store, "big", 9, "big")
    found = []
    for number in range(4):
        put(store, f"steady{number}-", 1, "steady")
        found += served(store, 2)
    assert sorted(found) == sorted([f"steady{n}-0" for n in range(4)] + [f"big{n}" for n in range(4)])


def test_what_may_not_be_taken_now_holds_up_nobody_else(store: Store, clock: Clock) -> None:
    put(store, "late", 2, "a")
    put(store, "paused", 2, "b")
    put(store, "stopped", 1, "c")
    put(store, "away", 3, "d", needs=frozenset({"machine:away"}))
    put(store, "free", 2, "e")
    queue, control = JobQueue(store, retries=JobRetries(first_ms=200_000)), JobControl(store)
    queue.fail(queue.claim("w", [])[0].fence, "it failed")
    waiting = {job.subject: job.id for job in JobReader(store).listed(status=["waiting"])}
    control.pause("job", str(waiting["paused0"]))
    control.pause("library", "c")
    assert served(store, 6) == ["paused1", "free0", "late1", "free1"]
    clock.seconds += 201
    control.resume("all")
    assert served(store, 9) == ["stopped0", "paused0", "late0"]


def test_a_job_that_another_transaction_holds_is_passed_over(store: Store) -> None:
    put(store, "big", 3, "big")
    put(store, "small", 1, "small")
    if store.__class__.__name__ == "Catalog":
        return  # SQLite has one writer
    with store.writing() as connection:
        connection.execute(jobs.select().where(IS_WAITING, jobs.c.subject == "big0").with_for_update())
        held = JobQueue(store).claim("w", [], limit=2)
    assert [job.subject for job in held] == ["small0", "big1"]


def test_workers_at_the_same_time_take_turns_together(store: Store) -> None:
    put(store, "big", 40, "big")
    put(store, "small", 8, "small")
    together, taken, names = threading.Barrier(4), list[str](), itertools.count()

    def work() -> None:
        name = f"w{next(names)}"
        together.wait()
        for _ in range(4):
            taken.extend(job.library for job in JobQueue(store).claim(name, []))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (taken.count("big"), taken.count("small")) == (8, 8)


def test_how_many_wait_before_a_job_counts_turns(store: Store) -> None:
    put(store, "big", 30, "big")
    put(store, "small", 2, "small")
    waiting = {job.subject: job.id for job in JobReader(store).listed(status=["waiting"])}
    ahead = JobReader(store).ahead(waiting.values())
    assert [ahead[waiting[name]] for name in ("big0", "small0", "big1", "small1", "big2")] == [0, 1, 2, 3, 4]
    JobControl(store).erase("big")
    fold(store)
    assert served(store, 2) == ["small0", "small1"]


def test_every_job_that_waits_or_runs_is_among_the_subjects_of_its_library(store: Store) -> None:
    put(store, "file", 1_100, "big")
    put(store, "other", 2, "small")
    [running] = JobQueue(store).claim("w", [], stages=["parse"])
    assert len(JobReader(store).active_subjects("big")) == 1_100 and running.library == "big"
    JobQueue(store).advance(running.fence, JobUpdate("done"))
    left = JobReader(store).active_subjects("big")
    assert len(left) == 1_099 and running.subject not in left and "file1099" in left
    assert sorted(JobReader(store).active_subjects("small")) == ["other0", "other1"]
    assert JobReader(store).active_subjects("none") == []
