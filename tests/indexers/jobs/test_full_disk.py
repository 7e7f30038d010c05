"""A full disk ends no job: it waits, says what to do, and goes on when there is room."""

from __future__ import annotations

import errno
import os
import sqlite3
import threading
import time
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy.exc import OperationalError

from hybrid_core.errors import DiskFullError, DocumentError, StoreError, UnreachableError
from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.store.home import disk_full
from hybrid_core.store.jobs.reader import JobReader
from hybrid_core.types.jobs import Job, JobRequest, JobUpdate
from indexers.jobs.file_stages import reading_lanes
from indexers.jobs.report import Tally
from indexers.jobs.runner import Runner, workplace
from indexers.jobs.stage_run import StageRun


def caused(error: Exception, cause: Exception) -> Exception:
    error.__cause__ = cause
    return error


SQLITE_FULL = OperationalError("INSERT", {}, sqlite3.OperationalError("database or disk is full"))
FULL = [
    OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)),
    OSError(errno.EDQUOT, os.strerror(errno.EDQUOT)),
    caused(DocumentError("a.pdf: cannot be copied."), OSError(errno.ENOSPC, "full")),
    DocumentError("OSError: [Errno 28] No space left on device"),
    caused(StoreError("catalog.sqlite: cannot be written.", "Check the disk."), SQLITE_FULL),
    UnreachableError("The server answers 500 No space left on device."),
    DiskFullError("The search index needs 96 MB.", "Free at least 5 MB."),
]


@pytest.mark.parametrize("error", FULL, ids=str)
def test_a_full_disk_is_known_whoever_tells_of_it(error: Exception, tmp_path: Path) -> None:
    full = disk_full(error, tmp_path)
    assert full is not None and "Free " in str(full)


@pytest.mark.parametrize(
    "error", [OSError(errno.EACCES, "denied"), DocumentError("damaged"), ValueError(), StoreError("")]
)
def test_another_error_is_none(error: Exception, tmp_path: Path) -> None:
    assert disk_full(error, tmp_path) is None


def failing(tmp_path: Path, error: Exception, *, for_caller: bool) -> Job:
    """The job whose work met the error once, as it is after that."""

    def work(_: StageRun) -> JobUpdate:
        met.set()
        raise error

    def stage_run(job: Job) -> StageRun:
        return StageRun(job, Path(job.subject), Tally(lambda _: None, 0, 0))

    met = threading.Event()
    with (
        closing(Catalog(tmp_path / "catalog.sqlite")) as catalog,
        workplace(catalog, tmp_path / "tmp", "worker", (), 1) as place,
    ):
        [made] = place.queue.enqueue([JobRequest("default", "index", "/a.pdf", "parse")])
        lanes = reading_lanes(2, work)
        runner = Runner(place, lanes, stage_run, lambda *_: None, only_awaited=False, for_caller=for_caller)
        reader, end = JobReader(catalog), time.monotonic() + 600
        try:
            runner.run(
                lambda: (met.is_set() and reader.job(made.job).status != "running") or time.monotonic() > end,
                threading.Event(),
            )
        finally:
            runner.close()
        return reader.job(made.job)


@pytest.mark.parametrize("error", FULL[:2], ids=str)
def test_a_job_that_meets_a_full_disk_waits(tmp_path: Path, error: Exception) -> None:
    job = failing(tmp_path, error, for_caller=False)
    assert (job.status, job.attempts) == ("waiting", 1)
    assert job.cause.startswith("The disk of ") and job.cause.endswith(" is full. Free some space.")


def test_who_waits_for_the_job_is_told(tmp_path: Path) -> None:
    with pytest.raises(DiskFullError, match=r"is full\. Free some space\."):
        failing(tmp_path, FULL[0], for_caller=True)


def test_a_defect_ends_its_job(tmp_path: Path) -> None:
    job = failing(tmp_path, OSError(errno.EIO, "broken"), for_caller=False)
    assert (job.status, job.cause) == ("failed", "The job failed: the system says: broken.")
