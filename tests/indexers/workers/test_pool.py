"""Workers that hold models, when their memory is full."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from hybrid_core.errors import DocumentError, LimitError
from hybrid_core.system import out_of_memory
from indexers.formats.limits import ParseLimits
from indexers.workers import pool as pools
from indexers.workers.pool import WorkerPool
from indexers.workers.protocol import RegionTask, Reply

FULL = Reply(
    "failed",
    LimitError("page 2 cannot be drawn, because drawing needs more memory than a worker process may use.", "Lower it."),
)


def test_a_page_for_which_pages_before_left_no_memory_is_read_by_a_new_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    answers: Iterator[Reply] = iter([Reply("done", 1), FULL, Reply("done", 2), FULL, FULL])
    asked: list[int] = []

    def converse(process: object, *_: object) -> Reply:
        asked.append(process.pid)  # type: ignore[attr-defined]
        return next(answers)

    monkeypatch.setattr(pools, "_converse", converse)
    pool, task = WorkerPool(1, idle=30.0), RegionTask(Path("a.pdf"), None, 1, (), ParseLimits())
    try:
        read = [pool.submit(task, pool.allowance()).result(60) for _ in range(2)]
        with pytest.raises(DocumentError, match="memory"):  # not even a new one has enough
            pool.submit(task, pool.allowance()).result(60)
    finally:
        pool.close()
    assert read == [1, 2] and asked[0] == asked[1] != asked[2] == asked[3] != asked[4]


def test_what_a_model_says_when_memory_is_full_is_known() -> None:
    assert out_of_memory(RuntimeError("[ONNXRuntimeError] : 1 : FAIL : std::bad_alloc"))
