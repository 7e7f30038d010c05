"""Small documents are indexed in batches, with the results, reasons and guarantees that each would have alone."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from hybrid_core.store.catalog import schema
from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.store.catalog.frequencies import frequencies
from hybrid_core.store.jobs.control import JobControl
from hybrid_core.store.jobs.reader import JobReader
from hybrid_core.types.jobs import JobRequest, JobUpdate
from hybrid_pageindex import Engine, run
from indexers.jobs import file_stages
from indexers.jobs.report import IndexProgress, Tally
from indexers.jobs.runner import Lane, Runner, workplace
from indexers.jobs.stage_run import StageRun
from indexers.workers import pool
from indexers.workers.protocol import BatchTask, Task
from tests import pdfs
from tests.homes import settings_of

WORDS = "harbour lantern granite meadow orchard copper saddle thistle willow anchor ember quarry".split()


def small_files(folder: Path, count: int) -> list[Path]:
    folder.mkdir(exist_ok=True)
    files = []
    for number in range(count):
        some = [WORDS[(number * step + step) % len(WORDS)] for step in range(1, 40)]
        body = f"# Report {number}\n\n{' '.join(some)} item{number}.\n\n## Details\n\n{' '.join(reversed(some))}.\n"
        file = folder / f"{number:03}.md"
        file.write_text(body)
        files.append(file)
    return files


def mixed_files(folder: Path) -> Path:
    """Small files of many formats among which some are large, equal, empty, or no text."""
    small_files(folder, 12)
    (folder / "copy.md").write_bytes((folder / "003.md").read_bytes())
    (folder / "empty.md").write_bytes(b"")
    (folder / "notes.txt").write_text("Tide tables\n\nHigh water at the harbour at noon.\n")
    (folder / "page.html").write_text("<h1>Quarry</h1><p>Granite and copper.</p><h2>Depth</h2><p>Forty metres.</p>")
    (folder / "table.csv").write_text("place,depth\nharbour,12\nquarry,40\n")
    (folder / "long.txt").write_text("\n".join(f"Line {n} of the long orchard list." for n in range(4_000)))
    (folder / "shows.md").write_text("# Plan\n\n![the plan](plan.png)\n\nThe anchor lies here.\n")
    (folder / "plan.png").write_bytes(b"no picture")
    (folder / "binary.txt").write_bytes(bytes(range(256)) * 8)
    pdfs.numbered(folder / "pages.pdf", 3, "saddle")
    return folder


def stored(engine: Engine) -> dict[str, list[Any]]:
    """Return all rows that indexing makes, without times and numbers of the log."""
    times = {"indexed_at", "read_at", "mtime", "ctime", "inode", "seq", "mark"}
    tables = (
        schema.documents, schema.contents, schema.pages, schema.orders, schema.terms, schema.trees, schema.chunks,
        schema.changes, frequencies,
    )  # fmt: skip
    with engine._catalog().reading() as connection:
        return {
            table.name: sorted(
                repr({name: value for name, value in row._mapping.items() if name not in times})
                for row in connection.execute(select(table))
            )
            for table in tables
        }


def test_a_batch_stores_what_single_documents_store(
    tmp_path: Path, databases: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = mixed_files(tmp_path / "in")
    seen: list[tuple[dict[str, list[Any]], list[Any], list[Any]]] = []
    for alone in (False, True):
        if alone:
            monkeypatch.setattr(file_stages, "batch_key", lambda _: None)
        engine = Engine(settings=settings_of(tmp_path / f"home-{alone}", postgres_url=databases()))
        report = run(engine.index(folder))
        files = sorted((file.path, file.status, file.error, file.doc_id, file.pages) for file in report.files)
        hits = [
            [(hit.doc_name, hit.page, hit.score) for hit in run(engine.search(question)).results]
            for question in ("granite orchard", "item7", "harbour depth", "the long list", "saddle 2")
        ]
        seen.append((stored(engine), files, hits))
        engine.close()
    assert seen[0] == seen[1]
    assert len(seen[0][0]["documents"]) >= 18 and any("empty" in str(error) for _, _, error, *_ in seen[0][1])


def test_a_batch_is_few_transactions_and_counts_single_documents(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes: list[int] = []
    publish = Catalog.publish_together

    def count(catalog: Catalog, publications: Sequence[Any]) -> Any:
        sizes.append(len(publications))
        return publish(catalog, publications)

    monkeypatch.setattr(Catalog, "publish_together", count)
    seen: list[IndexProgress] = []
    files = small_files(tmp_path / "in", 150)
    run(engine.index(files, on_progress=seen.append))
    assert sum(sizes) >= 140 and len(sizes) <= 20 and max(sizes) <= 32
    finished = [progress for progress in seen if progress.finished is not None]
    assert len({progress.finished.path for progress in finished if progress.finished}) == 150
    assert [progress.files_done for progress in finished] == list(range(1, 151))
    assert (seen[-1].pages_done, seen[-1].bytes_done) == (150, sum(file.stat().st_size for file in files))
    assert {len(run(engine.documents.list())), len(run(engine.search("item149")).results[:1])} == {150, 1}


@pytest.mark.parametrize("failure", ["database", "worker"])
def test_a_batch_that_fails_is_done_one_by_one(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failure: str
) -> None:
    """Whatever breaks the batch breaks at most the document that is to blame."""
    if failure == "database":

        def refuse(*_: object) -> None:
            raise ValueError("a row that the database refuses")

        monkeypatch.setattr(Catalog, "publish_together", refuse)
    else:
        converse = pool._converse

        def die(process: Any, task: Task, *callbacks: Any) -> Any:
            if isinstance(task, BatchTask):
                process.kill()
            return converse(process, task, *callbacks)

        monkeypatch.setattr(pool, "_converse", die)
    files = small_files(tmp_path / "in", 24)
    files[5].write_bytes(b"")
    report = run(engine.index(files))
    failed = [file for file in report.files if file.status != "indexed"]
    assert [(Path(file.path).name, file.status) for file in failed] == [("005.md", "failed")]
    assert "the file is empty" in (failed[0].error or "")


def test_changed_documents_replace_what_they_were(engine: Engine, tmp_path: Path) -> None:
    files = small_files(tmp_path / "in", 40)
    first = {file.path: file.doc_id for file in run(engine.index(files)).files}
    for file in files:
        file.write_text(f"# New\n\nNothing of it stays but {file.stem} and marigold.\n")
    second = run(engine.index(files))
    assert {file.path: file.doc_id for file in second.files} == first
    assert {file.status for file in second.files} == {"indexed"}
    rows = stored(engine)
    assert len(rows["documents"]) == len(rows["contents"]) == len(rows["trees"]) == 40
    assert run(engine.search("granite")).results == ()
    assert len(run(engine.search("marigold")).results) > 0


def held_batches(monkeypatch: pytest.MonkeyPatch) -> tuple[threading.Event, list[BatchTask], Callable[[], None]]:
    """Hold every batch, and list it, until the returned function is called; the event tells of the first."""
    tasks: list[BatchTask] = []
    begun, released = threading.Event(), threading.Event()
    waiting_tasks = list[tuple[Future[object], Callable[[], Future[object]]]]()
    submit = pool.WorkerPool.submit

    def hold(workers: pool.WorkerPool, task: Task, *args: Any, **named: Any) -> Future[object]:
        if released.is_set() or not isinstance(task, BatchTask):
            return submit(workers, task, *args, **named)
        waiting: Future[object] = Future()
        waiting_tasks.append((waiting, lambda: submit(workers, task, *args, **named)))
        tasks.append(task)
        begun.set()
        return waiting

    def release() -> None:
        released.set()
        for waiting, begin in waiting_tasks:
            if not waiting.cancelled():
                begin().add_done_callback(lambda done, waiting=waiting: waiting.set_result(done.result()))  # type: ignore[misc]

    monkeypatch.setattr(pool.WorkerPool, "submit", hold)
    return begun, tasks, release


def test_one_file_of_a_batch_is_cancelled_at_once_and_the_others_go_on(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = small_files(tmp_path / "in", 60)
    begun, tasks, release = held_batches(monkeypatch)
    reader, control = JobReader(engine._catalog()), JobControl(engine._catalog())
    took: list[float] = []

    def cancel_one() -> None:
        assert begun.wait(500)
        name = tasks[0].files[0].name
        job = next(job for job in reader.listed(status=["running"]) if Path(job.subject).name == name)
        start = time.monotonic()
        control.cancel([job.id])
        while reader.job(job.id).status != "cancelled" and time.monotonic() < start + 60:
            time.sleep(0.05)
        took.append(time.monotonic() - start)
        release()

    canceller = threading.Thread(target=cancel_one)
    canceller.start()
    # Only files after the first claims come into batches: the others are read alone at once.
    report = run(engine.index(files, workers=1))
    canceller.join()
    states = [file.status for file in report.files]
    assert took and took[0] < 2 * _patience()
    assert states.count("indexed") == 59 and len(states) == 60


def _patience() -> float:
    """Return how many seconds one second may take on this machine now."""
    return max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))


def test_a_pause_gives_a_batch_back_at_once(engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = small_files(tmp_path / "in", 40)
    begun, _, release = held_batches(monkeypatch)
    reader, control = JobReader(engine._catalog()), JobControl(engine._catalog())
    took: list[float] = []

    def pause() -> None:
        assert begun.wait(500)
        start = time.monotonic()
        control.pause("all")
        while reader.listed(status=["running"]) and time.monotonic() < start + 60:
            time.sleep(0.05)
        took.append(time.monotonic() - start)
        release()
        control.resume("all")

    pausing = threading.Thread(target=pause)
    pausing.start()
    report = run(engine.index(files, workers=1))
    pausing.join()
    assert took and took[0] < 2 * _patience()
    assert [file.status for file in report.files] == ["indexed"] * 40


def test_a_killed_process_loses_its_batches_alone_and_they_are_done_again(tmp_path: Path) -> None:
    """Each document is there as a whole or not at all, and the jobs of the dead process are redone."""
    folder, home = tmp_path / "in", tmp_path / "home"
    files = small_files(folder, 400)
    command = [sys.executable, "-m", "hybrid_pageindex", "--home", str(home), "index", str(folder)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert process.stdout is not None
    for line in process.stdout:
        if "indexed    " in line and "[60/" in line:
            break
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    engine = Engine(home)
    before = {document.path: document for document in run(engine.documents.list())}
    rows = stored(engine)
    assert 60 <= len(before) < 400
    whole = {len(rows[name]) for name in ("documents", "contents", "pages", "orders", "terms", "trees")}
    assert whole == {len(before)}
    assert len(JobReader(engine._catalog()).listed(status=["running"], limit=1_000)) <= 3 * 32
    report = run(engine.index(folder))
    assert sorted(file.status for file in report.files) == ["indexed"] * (400 - len(before)) + ["unchanged"] * len(
        before
    )
    after = {document.path: document for document in run(engine.documents.list())}
    assert len(after) == 400 == len(files) and all(after[path] == document for path, document in before.items())
    engine.close()


class _Recorder:
    """Batches all files whose names begin with "small", and notes what runs together."""

    def __init__(self) -> None:
        self.batches: list[list[str]] = []
        self.single: list[str] = []

    def key(self, stage_run: StageRun) -> str | None:
        return "small" if stage_run.file.name.startswith("small") else None

    def run(
        self,
        stage_runs: Sequence[StageRun],
        end: Callable[[StageRun, JobUpdate], None],
        alone: Callable[[StageRun], None],
    ) -> None:
        self.batches.append([f"{stage_run.library}/{stage_run.file.name}" for stage_run in stage_runs])
        for stage_run in stage_runs[1:]:
            end(stage_run, JobUpdate("done", result={}))
        alone(stage_runs[0])

    def work(self, stage_run: StageRun) -> JobUpdate:
        self.single.append(f"{stage_run.library}/{stage_run.file.name}")
        return JobUpdate("done", result={})


def recorded(tmp_path: Path, requests: Sequence[JobRequest]) -> _Recorder:
    catalog, recorder, ended = Catalog(tmp_path / "catalog.sqlite"), _Recorder(), list[str]()
    with workplace(catalog, tmp_path / "tmp", "worker", (), 1) as place:
        place.queue.enqueue(requests)
        runner = Runner(
            place, [Lane(frozenset({"parse"}), 2, recorder.work, batching=recorder)],
            lambda job: StageRun(job, Path(job.subject), Tally(lambda _: None, 0, 0)),
            lambda stage_run, advance: ended.append(advance.status), only_awaited=False, for_caller=False,
        )  # fmt: skip
        runner.run(lambda: len(ended) == len(requests), threading.Event())
        runner.close()
        assert not JobReader(catalog).listed(status=["running", "waiting"])
    catalog.close()
    assert ended == ["done"] * len(requests)
    return recorder


def test_large_files_are_in_no_batch_and_wait_for_none(tmp_path: Path) -> None:
    names = ["large" if number % 60 == 59 else "small" for number in range(300)]
    requests = [JobRequest("a", "index", f"/{name}{at}", "parse") for at, name in enumerate(names)]
    recorder = recorded(tmp_path, requests)
    assert all("large" not in name for batch in recorder.batches for name in batch)
    large = [at for at, name in enumerate(recorder.single) if "large" in name]
    assert len(large) == 5 and max(map(len, recorder.batches)) <= 32
    assert sum(map(len, recorder.batches)) > 150, "most small files come into batches"


def test_a_small_library_has_its_turn_beside_a_large_one(tmp_path: Path) -> None:
    requests = [JobRequest("large", "index", f"/small{n}", "parse") for n in range(300)]
    requests += [JobRequest("little", "index", f"/small{n}", "parse") for n in range(10)]
    recorder = recorded(tmp_path, requests)
    at = [number for number, batch in enumerate(recorder.batches) if any("little/" in name for name in batch)]
    assert at and max(at) < len(recorder.batches) // 2
