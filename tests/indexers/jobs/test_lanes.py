"""Which jobs begin where: scans are read on while nothing waits to be parsed, and hold up no file that comes."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from hybrid_core.errors import BusyError
from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.store.jobs.control import JobControl
from hybrid_core.types.jobs import Job, JobRequest, JobUpdate
from indexers.jobs.file_stages import reading_lanes
from indexers.jobs.report import Tally
from indexers.jobs.runner import Runner, Workplace, workplace
from indexers.jobs.stage_run import StageRun


def run_until(place: Workplace, work: Callable[[StageRun], JobUpdate], ended: list[str], count: int) -> None:
    """Work two jobs of a lane at a time until so many have ended, whose names go into ``ended``."""

    def stage_run(job: Job) -> StageRun:
        return StageRun(job, Path(job.subject), Tally(lambda _: None, 0, 0))

    runner = Runner(
        place,
        reading_lanes(2, work),
        stage_run,
        lambda stage_run, _: ended.append(stage_run.file.name),
        only_awaited=False,
        for_caller=False,
    )
    runner.run(lambda: len(ended) == count, threading.Event())
    runner.close()


def test_scans_wait_for_files_to_parse_and_hold_up_none_that_comes(tmp_path: Path) -> None:
    """Two of each may be at work. The scans end when a file that came later was parsed."""
    catalog = Catalog(tmp_path / "catalog.sqlite")
    begun: list[str] = []
    parsed = threading.Event()
    requests = [JobRequest("default", "index", f"/scan{number}.pdf", "ocr") for number in range(4)]
    requests += [JobRequest("default", "index", f"/text{number}.pdf", "parse") for number in range(5)]

    def work(stage_run: StageRun) -> JobUpdate:
        begun.append(stage_run.file.name)
        if stage_run.job.stage == "ocr":
            if len([name for name in begun if name.startswith("scan")]) == 2:
                place.queue.enqueue([JobRequest("default", "index", "/late.pdf", "parse")])
            assert parsed.wait(600)
        if stage_run.file.name == "late.pdf":
            parsed.set()
        return JobUpdate("done", result={})

    ended: list[str] = []
    with workplace(catalog, tmp_path / "tmp", "worker", (), 1) as place:
        assert not place.queue.waits(place.worker.id, (), {"parse"})
        place.queue.enqueue(requests)
        assert place.queue.waits(place.worker.id, (), {"parse"})
        run_until(place, work, ended, len(requests) + 1)
    catalog.close()
    first_scan = next(at for at, name in enumerate(begun) if name.startswith("scan"))
    assert {"text0.pdf", "text1.pdf"} == set(begun[:2]) and first_scan >= 4
    assert begun.index("late.pdf") < len(begun) - 2, "it did not wait for the scans that had begun"


@pytest.mark.parametrize("failure", [MemoryError(), BusyError("The catalog is busy.", "Try again.")])
def test_a_cancellation_is_heard_after_a_look_at_the_leases_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failure: Exception
) -> None:
    catalog = Catalog(tmp_path / "catalog.sqlite")
    failed = threading.Event()
    heard: list[bool] = []
    ended: list[str] = []

    def work(stage_run: StageRun) -> JobUpdate:
        assert failed.wait(600)
        JobControl(catalog).cancel([stage_run.job.id])
        heard.append(stage_run.stop.asked.wait(600))
        return JobUpdate("done", result={})

    with workplace(catalog, tmp_path / "tmp", "worker", (), 1) as place:
        leases = place.queue.leases

        def fail_once(worker: str) -> object:
            monkeypatch.setattr(place.queue, "leases", leases)
            failed.set()
            raise failure

        monkeypatch.setattr(place.queue, "leases", fail_once)
        place.queue.enqueue([JobRequest("default", "index", "/text.pdf", "parse")])
        run_until(place, work, ended, 1)
    catalog.close()
    assert heard == [True], "nobody looks at the leases any more"
