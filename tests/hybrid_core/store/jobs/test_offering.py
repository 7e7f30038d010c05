"""What is offered to workers that are told numbers: nobody's jobs keep those of others from being offered."""

from __future__ import annotations

import pytest

from hybrid_core.store.jobs.claims import JobLimits
from hybrid_core.store.jobs.control import JobControl
from hybrid_core.store.jobs.queue import JobQueue
from hybrid_core.store.jobs.workers import JobOffers, Offer, Workers
from hybrid_core.types.jobs import WATCHED, JobRequest, Worker
from tests.hybrid_core.store.jobs.clocks import Clock
from tests.hybrid_core.store.jobs.conftest import Store


def put(
    store: Store, library: str, count: int = 1, *needs: str, kind: str = "index", owner: str = "", **more: int
) -> list[int]:
    requests = [
        JobRequest(
            library,
            kind,
            f"/{library}/{owner}/{needs}/{number}",
            "parse",
            needs=frozenset(needs),
            owner=owner,
            **more,  # type: ignore[arg-type]
        )
        for number in range(count)
    ]
    return [one.job for one in JobQueue(store).enqueue(requests)]


def offered(store: Store, most: int = 20, **limits: int) -> list[int]:
    return [offer.job for offer in JobOffers(store, limits=JobLimits(**limits)).all(most)]


def test_the_most_urgent_are_offered_first(store: Store) -> None:
    found, [wanted] = put(store, "found", 2, priority=WATCHED), put(store, "wanted", kind="embed")
    assert JobOffers(store).all(20) == [Offer(wanted, "embed"), *(Offer(job, "index") for job in found)]


@pytest.mark.parametrize("how", ["paused", "busy", "unable"])
def test_what_nobody_may_take_keeps_no_other_library_waiting(store: Store, how: str) -> None:
    many = put(store, "many", 30, *(["machine:away"] if how == "unable" else []))
    [other] = put(store, "other")
    if how == "paused":
        JobControl(store).pause("library", "many")
    if how == "busy":
        assert JobQueue(store).claim("w", [])[0].id == many[0]
    found = offered(store, library_jobs=1 if how == "busy" else 0)
    assert found == ([many[0], other, *many[1:19]] if how == "unable" else [other])
    JobControl(store).pause("all")
    assert offered(store) == []


def test_what_needs_one_thing_in_many_libraries_keeps_nothing_else_waiting(store: Store) -> None:
    for number in range(30):
        put(store, f"library {number}", 1, "ocr:deu")
    plain = put(store, "other", 3)
    found = offered(store)
    assert len(found) == 20 and set(plain) <= set(found)


def test_who_cannot_do_the_most_urgent_comes_to_others_soon(store: Store) -> None:
    put(store, "urgent", 90, "ocr:deu", priority=20)
    plain = put(store, "other", 2)
    assert offered(store, most=100)[20:22] == plain


def test_libraries_have_the_same_part_and_kinds_one_each(store: Store) -> None:
    big, small = put(store, "big", 30), put(store, "small", 5)
    embedded = put(store, "big", 30, kind="embed")
    rounds = [job for three in zip(big, small, embedded, strict=False) for job in three]
    assert offered(store, most=8) == [*rounds[:12], *embedded[4:8]]
    assert offered(store, most=8, library_jobs=2) == rounds[:6]


def test_those_who_asked_take_turns_in_their_library(store: Store) -> None:
    many, [one] = put(store, "shared", 9, owner="anna"), put(store, "shared", owner="ben")
    assert offered(store, most=3) == [many[0], one, many[1]]


def test_nothing_is_offered_before_its_time_or_to_who_has_no_password(store: Store, clock: Clock) -> None:
    put(store, "default", 1, "password:1")
    Workers(store).register(Worker("w", "here", 1, "command", frozenset({"password:1"})))
    [job] = put(store, "default")
    queue = JobQueue(store)
    queue.fail(queue.claim("w", [])[0].fence, "it failed")
    assert offered(store) == []
    clock.seconds += 1
    assert offered(store) == [job]


def test_what_a_dead_worker_had_is_offered(store: Store, clock: Clock) -> None:
    made = put(store, "default", 2)
    Workers(store).register(Worker("w", "here", 1, "worker"))
    assert len(JobQueue(store).claim("w", [], limit=1) + JobQueue(store).claim("unknown", [], limit=1)) == 2
    assert offered(store) == []
    clock.seconds += 61
    assert offered(store) == []
    clock.seconds += 1
    assert offered(store) == made


def test_an_offer_that_cannot_be_taken_any_more_is_known(store: Store) -> None:
    [plain], [scan] = put(store, "default"), put(store, "default", 1, "ocr:eng")
    offers = JobOffers(store)
    assert offers.open(plain, []) and not offers.open(scan, []) and offers.open(scan, ["ocr:eng", "more"])
    assert not offers.open(99, [])
    assert JobQueue(store).claim("w", [])[0].id == plain and not offers.open(plain, [])
    assert not JobOffers(store, limits=JobLimits(library_jobs=1)).open(scan, ["ocr:eng"])
    JobControl(store).pause("library", "default")
    assert not offers.open(scan, ["ocr:eng"])
