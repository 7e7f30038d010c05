"""Processes that share the work of one queue: workers, commands that wait, and what becomes of jobs when one dies."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest

from hybrid_core.errors import Cancelled
from hybrid_core.llm.chat import Request
from hybrid_core.store.jobs.control import JobControl
from hybrid_core.store.jobs.outcomes import JobRetries
from hybrid_core.store.jobs.queue import JobQueue
from hybrid_core.store.jobs.reader import JobReader
from hybrid_core.store.jobs.workers import Workers
from hybrid_core.types.jobs import Job, JobRequest
from hybrid_pageindex import Engine, run
from indexers.jobs.report import IndexProgress, IndexReport
from indexers.ocr.engines import NoOcr, find_tesseract
from tests import pdfs
from tests.conftest import Cli
from tests.doubles.replies import FakeReply
from tests.doubles.scripted_server import scripted_server
from tests.interfaces.conftest import LongFile
from tests.interfaces.killing import AT_ONCE, Killing, answer, mixed_folder
from tests.models_over_http import engine_with

pytestmark = pytest.mark.slow


def begun(home: Path, *arguments: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "hybrid_pageindex", "--home", str(home), *map(str, arguments)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def until(true: Callable[[], object], seconds: float = 600) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end
        time.sleep(0.1)


def all_jobs(engine: Engine) -> list[Job]:
    return JobReader(engine._catalog()).listed(limit=1000)


def test_a_worker_does_what_was_left_to_it_and_ends_in_order(engine: Engine, tmp_path: Path, program: Cli) -> None:
    file = pdfs.numbered(tmp_path / "a.pdf", 3, "tides")
    said = program("index", file, "--detach")
    assert said.returncode == 0 and "1 file left to workers" in said.stdout
    assert run(engine.documents.list()) == []
    worker = begun(engine.home, "worker", "--concurrency", "1")
    until(lambda: run(engine.documents.list()))
    children = psutil.Process(worker.pid).children()
    worker.send_signal(signal.SIGTERM)
    out, error = worker.communicate(timeout=600)
    assert (worker.returncode, out) == (0, "") and "indexed    a.pdf: 3 pages" in error
    assert psutil.wait_procs(children, timeout=600)[1] == []
    assert [job.status for job in all_jobs(engine)] == ["done"]
    assert not list((engine.home / "tmp").iterdir())
    refused = program("index", file, "--detach", "--password", "secret")
    assert refused.returncode == 2 and "not stored" in refused.stderr


def test_a_worker_that_ends_gives_back_what_it_has(engine: Engine, tmp_path: Path, long_file: LongFile) -> None:
    file = long_file(tmp_path / "long.gated")
    run(engine.index(file, detach=True))
    worker = begun(engine.home, "worker", "--concurrency", "1")
    until(lambda: all_jobs(engine)[0].done)
    worker.terminate()
    worker.communicate(timeout=600)
    (job,) = all_jobs(engine)
    assert (job.status, job.attempts, job.worker) == ("waiting", 0, "") and run(engine.documents.list()) == []


def test_a_password_is_not_stored_and_only_who_has_it_does_its_jobs(engine: Engine, tmp_path: Path) -> None:
    file = pdfs.encrypted(tmp_path / "locked.pdf")
    assert run(engine.index(file, password=pdfs.PASSWORD)).files[0].status == "indexed"
    (job,) = all_jobs(engine)
    assert pdfs.PASSWORD not in str(job) and any(need.startswith("password:") for need in job.needs)
    queue = JobQueue(engine._catalog())
    queue.enqueue([JobRequest("default", "index", str(file), "parse", needs=job.needs)])
    run(engine.jobs.work(concurrency=1, enough=lambda: True))
    assert all_jobs(engine)[0].status != "running" and len(run(engine.documents.list())) == 1


def test_what_is_new_in_an_embedded_library_is_embedded_by_the_worker(engine: Engine, tmp_path: Path) -> None:
    first, second = (pdfs.numbered(tmp_path / f"{name}.pdf", 2, name) for name in ("bogs", "fens"))
    run(engine.index(first))
    run(engine.models.embed("hashed:64"))
    run(engine.index(second, detach=True))
    run(engine.jobs.work(concurrency=1, enough=lambda: True))
    assert run(engine.search("fens")).embedded_share == 1
    assert {job.kind: job.status for job in all_jobs(engine)} == {"index": "done", "embed": "done"}


def test_a_worker_for_one_kind_leaves_the_other(engine: Engine, tmp_path: Path, program: Cli) -> None:
    first, second, third = (pdfs.numbered(tmp_path / f"{name}.pdf", 2, name) for name in ("bogs", "fens", "heaths"))
    run(engine.index(first))
    run(engine.models.embed("hashed:64"))
    run(engine.index(second, detach=True))
    run(engine.jobs.work(concurrency=1, enough=lambda: True, kind="index"))
    assert {job.kind for job in all_jobs(engine) if job.status != "done"} == {"embed"}
    run(engine.index(third, detach=True))
    run(engine.jobs.work(concurrency=1, enough=lambda: True, kind="embed"))
    assert {job.kind for job in all_jobs(engine) if job.status != "done"} == {"index"}
    assert run(engine.search("fens")).embedded_share == 1 and len(run(engine.documents.list())) == 2
    refused = program("worker", "--watch", "--only", "embed")
    assert refused.returncode == 2 and "Use only one of --watch and --only" in refused.stderr


def test_a_command_joins_what_a_worker_has_and_tells_its_progress(
    engine: Engine, tmp_path: Path, long_file: LongFile
) -> None:
    file = long_file(tmp_path / "long.gated")
    run(engine.index(file, detach=True))
    worker = begun(engine.home, "worker", "--concurrency", "1")
    until(lambda: all_jobs(engine)[0].status == "running")
    seen: list[IndexProgress] = []

    def on_progress(progress: IndexProgress) -> None:
        seen.append(progress)
        if progress.pages_done:
            long_file.opened()

    (result,) = run(engine.index(file, on_progress=on_progress)).files
    assert result.status == "indexed" and len(all_jobs(engine)) == 1
    assert any(0 < one.pages_done < result.pages and one.file == str(file) for one in seen)
    assert seen[-1].pages_done == result.pages and seen[-1].bytes_done == seen[-1].bytes
    worker.terminate()
    worker.communicate(timeout=600)


def test_processes_that_index_the_same_files_share_the_work(engine: Engine, tmp_path: Path) -> None:
    folder = tmp_path / "files"
    folder.mkdir()
    for number in range(12):
        pdfs.numbered(folder / f"{number:02}.pdf", 5, f"cape {number}")
        os.utime(folder / f"{number:02}.pdf", (1, 1))
    commands = [begun(engine.home, "index", folder, "--json", "--workers", "1") for _ in range(8)]
    told = [json.loads(command.communicate(timeout=600)[0])["files"] for command in commands]
    assert all(len(files) == 12 and {file["status"] for file in files} <= {"indexed", "unchanged"} for files in told)
    made = Counter((file["path"], file["seconds"]) for files in told for file in files if file["status"] == "indexed")
    assert len(made) == 12, "each was made once, whoever tells of it"
    jobs = all_jobs(engine)  # one that was asked for just when another had made the file finds it made
    assert len({job.subject for job in jobs}) == 12 and {job.status for job in jobs} == {"done"}


def test_a_job_that_kills_whoever_has_it_fails_with_its_history_and_the_others_are_done(
    engine: Engine, tmp_path: Path
) -> None:
    folder = tmp_path / "files"
    folder.mkdir()
    files = [pdfs.numbered(folder / f"{number:02}.pdf", 1, f"cape {number}") for number in range(20)]
    run(engine.libraries.create("default"))
    catalog = engine._catalog()
    poison = JobRequest("default", "index", str(folder / "poison.pdf"), "parse", needs=frozenset({"poison"}))
    queue = JobQueue(catalog, JobRetries(attempts=5, first_ms=0))
    queue.enqueue([poison])
    script = f"""
import os, signal
from pathlib import Path
from hybrid_core.store.catalog.catalog import Catalog
from indexers.jobs.runner import workplace
home = Path({str(engine.home)!r})
catalog = Catalog(home / "catalog.sqlite", os.environ.get("PAGEINDEX_POSTGRES_URL", ""))
with workplace(catalog, home / "tmp", "worker", ["poison"], 1) as here:
    assert here.queue.claim(here.worker.id, here.worker.abilities)
    print(here.worker.id, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""
    for _ in range(5):
        died = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=600, check=False)
        assert died.returncode == -signal.SIGKILL, died.stderr
        queue.lapse([died.stdout.strip()])
    assert {file.status for file in run(engine.index(files)).files} == {"indexed"}
    (failed,) = JobReader(catalog).listed(status=["failed"])
    assert failed.subject == poison.subject and failed.attempts == 5 and "stopped responding" in failed.cause
    kinds = [event.kind for event in JobReader(catalog).events(job=failed.id)]
    assert kinds.count("claimed") == 5 and kinds.count("expired") == 5 and kinds[-1] == "failed"


class _Call:
    """An ``index`` under way in a thread."""

    def __init__(self, engine: Engine, path: Path) -> None:
        self.report: list[IndexReport] = []
        self._thread = threading.Thread(target=lambda: self.report.append(run(engine.index(path))))
        self._thread.start()

    def ended(self) -> IndexReport:
        self._thread.join(600)
        return self.report[0]


def test_a_file_whose_parsing_is_cancelled_is_not_published(
    engine: Engine, tmp_path: Path, long_file: LongFile
) -> None:
    engine.settings = replace(engine.settings, workers=1, range_pages=100_000)  # one range: its process is ended
    call = _Call(engine, long_file(tmp_path / "long.gated"))
    until(lambda: all_jobs(engine) and all_jobs(engine)[0].done)
    JobControl(engine._catalog()).cancel()
    (file,) = call.ended().files
    assert (file.status, file.error) == ("failed", "The job was cancelled.")
    assert run(engine.documents.list()) == [] and all_jobs(engine)[0].status == "cancelled"


@pytest.mark.skipif(isinstance(find_tesseract("eng"), NoOcr), reason="no Tesseract")
def test_what_was_published_stays_where_reading_its_scans_is_cancelled(engine: Engine, tmp_path: Path) -> None:
    engine.settings = replace(engine.settings, ocr_seconds=1, workers=1)
    call = _Call(engine, pdfs.scanned(tmp_path / "scan.pdf", 40, dpi=150))
    until(lambda: all_jobs(engine) and all_jobs(engine)[0].stage == "ocr")
    JobControl(engine._catalog()).cancel()
    (file,) = call.ended().files
    assert file.status == "indexed" and "the remaining work on this file was cancelled" in file.note
    assert run(engine.documents.get("scan.pdf")).published


def test_what_was_published_stays_where_models_are_cancelled(tmp_path: Path) -> None:
    asked = threading.Event()

    def hangs(request: Request) -> Any:
        if request.title == "Word":
            return answer(request)
        asked.set()
        return FakeReply("{}", wait=200)

    with engine_with(tmp_path / "home", hangs) as (engine, server):
        call = _Call(engine, pdfs.bookmarked(tmp_path / "tides.pdf"))
        assert asked.wait(600)
        JobControl(engine._catalog()).cancel()
        (found,) = call.ended().files
        server.released.set()
        assert found.status == "indexed" and "the remaining work on this file was cancelled" in found.note
        assert run(engine.documents.get("tides.pdf")).published


def test_a_pause_is_kept_over_a_restart_and_gives_back_what_runs(
    engine: Engine, tmp_path: Path, long_file: LongFile
) -> None:
    file = long_file(tmp_path / "long.gated")
    run(engine.index(file, detach=True))
    control = JobControl(engine._catalog())
    worker = begun(engine.home, "worker", "--concurrency", "1")
    until(lambda: all_jobs(engine)[0].done)
    control.pause("all")
    until(lambda: all_jobs(engine)[0].status == "waiting")
    worker.kill()
    worker.communicate(timeout=600)
    worker = begun(engine.home, "worker", "--concurrency", "1")
    until(lambda: any(one.pid == worker.pid for one in Workers(engine._catalog()).all()))
    time.sleep(2)
    assert all_jobs(engine)[0].status == "waiting" and all_jobs(engine)[0].paused
    long_file.opened()
    control.resume("all")
    until(lambda: all_jobs(engine)[0].status == "done")
    worker.terminate()
    worker.communicate(timeout=600)
    assert all_jobs(engine)[0].attempts == 0


def test_jobs_that_only_a_stopped_call_waits_for_end_and_those_of_others_stay(
    engine: Engine, tmp_path: Path, long_file: LongFile
) -> None:
    mine, others = long_file(tmp_path / "mine.gated"), pdfs.numbered(tmp_path / "others.pdf", 1, "capes")
    run(engine.index(others, detach=True))
    engine.settings = replace(engine.settings, workers=1)
    process = begun(engine.home, "index", mine, others, "--workers", "1")
    until(lambda: any(job.status == "running" and job.done for job in all_jobs(engine)))
    process.send_signal(signal.SIGINT)
    assert process.wait(600) == 1
    process.communicate()
    statuses = {Path(job.subject).name: job.status for job in all_jobs(engine)}
    assert statuses["mine.gated"] == "cancelled" and statuses["others.pdf"] in ("done", "waiting")


def test_a_call_that_is_handed_back_leaves_its_jobs(engine: Engine, tmp_path: Path, long_file: LongFile) -> None:
    from hybrid_pageindex.engine.index.indexing import IndexCall, index_paths

    file, stop = long_file(tmp_path / "long.gated"), threading.Event()
    engine.jobs.hand_back()

    def on_progress(progress: IndexProgress) -> None:
        if progress.pages_done:
            stop.set()

    settings = replace(engine.settings, workers=1)
    with pytest.raises(Cancelled):
        index_paths(engine._parts(), "default", [file], settings, IndexCall(), on_progress, stop)
    assert [(job.status, job.attempts) for job in all_jobs(engine)] == [("waiting", 0)]


def test_whatever_is_killed_nothing_is_lost_or_half(tmp_path: Path) -> None:
    with scripted_server(answer) as model:
        killing = Killing(tmp_path / "home", mixed_folder(tmp_path / "files"), model, seed=3)
        killing.run(10)
        killing.finish()
        assert killing.killed.total() >= 5 and killing.repeated() <= AT_ONCE * killing.killed.total()
