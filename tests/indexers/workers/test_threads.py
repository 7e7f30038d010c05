"""Threads that begin the most urgent of what waits."""

from __future__ import annotations

import threading

import pytest

from indexers.workers.threads import TaskThreads


def test_what_is_urgent_goes_first_and_the_rest_in_its_order() -> None:
    threads, may, begun = TaskThreads(1, "test"), threading.Event(), list[str]()
    threads.submit(1, may.wait)
    waiting = [threads.submit(urgency, lambda name=name: begun.append(name)) for urgency, name in
               [(1, "scan 1"), (1, "scan 2"), (0, "text 1"), (1, "scan 3"), (0, "text 2")]]  # fmt: skip
    assert waiting[1].cancel()
    may.set()
    threads.close() if not waiting[3].result(60) and not waiting[0].result(60) else None
    assert begun[:2] == ["text 1", "text 2"] and begun[2:] in (["scan 1"], ["scan 1", "scan 3"])


def test_a_thread_that_is_free_takes_the_next_task() -> None:
    threads = TaskThreads(8, "test")
    names = {threads.submit(0, lambda: threading.current_thread().name).result(60) for _ in range(20)}
    threads.close()
    assert len(names) == 1


def test_a_task_that_follows_from_a_result_takes_the_same_thread() -> None:
    threads, names, done = TaskThreads(8, "test"), set[str](), threading.Event()

    def follow(left: int) -> None:
        if not left:
            done.set()
            return
        future = threads.submit(0, lambda: names.add(threading.current_thread().name))
        future.add_done_callback(lambda _: follow(left - 1))

    follow(20)
    assert done.wait(600)
    threads.close()
    assert len(names) == 1


def test_what_has_not_begun_is_cancelled_and_failures_are_heard_of() -> None:
    threads, may = TaskThreads(1, "test"), threading.Event()

    def fail() -> None:
        may.wait(600)
        raise ValueError("bad")

    failing = threads.submit(0, fail)
    while not failing.running():
        pass
    waiting = threads.submit(0, fail)
    threading.Timer(0.1, may.set).start()
    threads.close()
    assert waiting.cancelled()
    with pytest.raises(ValueError, match="bad"):
        failing.result(60)
    with pytest.raises(RuntimeError):
        threads.submit(0, fail)
