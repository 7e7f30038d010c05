"""Two machines that share a catalog, a bucket and nothing else: two homes, each with paths of its own."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from hybrid_core.errors import DocumentError, PageIndexError, UsageError
from hybrid_core.store.home import COPIES
from hybrid_core.store.jobs.queue import JobQueue
from hybrid_core.store.jobs.reader import JobReader
from hybrid_core.store.jobs.workers import Workers
from hybrid_core.types.jobs import Worker
from hybrid_pageindex import Engine, run
from hybrid_pageindex.config.settings import load_settings
from hybrid_pageindex.engine.index.uploads import Upload
from indexers.workers.pool import WorkerPool
from indexers.workers.protocol import ScanTask
from tests import buckets, pdfs, postgres
from tests.ocr import reads

pytestmark = pytest.mark.slow
Machines = tuple[Engine, Engine]


@pytest.fixture
def shared(postgres_url: str) -> Iterator[dict[str, str]]:
    """What machines are told."""
    url = postgres.new_database(postgres_url)
    with buckets.bucket() as address:
        more = {"PAGEINDEX_OBJECTS_LINKS": "signed", "PAGEINDEX_WORKERS": "1"}
        yield buckets.variables(address) | {"PAGEINDEX_POSTGRES_URL": url} | more


@pytest.fixture
def machines(tmp_path: Path, shared: dict[str, str]) -> Iterator[Machines]:
    """One that is asked, and one that works."""
    made = [
        Engine(
            settings=load_settings(tmp_path / name, {**shared, "PAGEINDEX_MACHINE": name, "PAGEINDEX_OUTLINE": "fast"})
        )
        for name in ("alpha", "beta")
    ]
    yield made[0], made[1]
    for engine in made:
        engine.close()


def states(engine: Engine) -> list[str]:
    return [view.state for view in run(engine.jobs.list()).jobs]


def work(engine: Engine) -> None:
    run(engine.jobs.work(enough=lambda: True))


def found(engine: Engine, word: str) -> list[tuple[str, int]]:
    return [(page.doc_name, page.page) for page in run(engine.search(word)).results]


def test_what_is_uploaded_on_one_is_indexed_on_the_other_and_read_on_both(machines: Machines, tmp_path: Path) -> None:
    alpha, beta = machines
    data = pdfs.numbered(tmp_path / "made.pdf", 2, "albatross").read_bytes()
    run(alpha.upload([Upload("tides/albatross.pdf", data)]))
    assert not (beta.home / COPIES).exists()
    work(beta)
    assert states(alpha) == ["done"]
    assert found(alpha, "albatross") == found(beta, "albatross") != []
    kept = f"{hashlib.sha256(data).hexdigest()}.pdf"
    assert [file.name for file in (beta.home / COPIES).glob("*/*")] == [kept]

    first = run(alpha.pictures.page("albatross.pdf", 1))
    for file in (beta.home / COPIES).glob("*/*"):
        file.unlink()
    assert run(beta.pictures.page("albatross.pdf", 1)) == first
    assert not list((beta.home / COPIES).glob("*/*")), "the picture was in the bucket"
    assert run(beta.documents.original("albatross.pdf")).read_bytes() == data
    link = run(beta.documents.original_link("albatross.pdf"))
    assert link is not None and kept in link and "X-Amz-Signature" in link

    assert len(run(alpha.documents.remove(["albatross.pdf"], for_good=True))) == 1
    assert list(alpha._catalog().objects.names()) == []


@reads
def test_pages_that_a_machine_had_read_when_it_died_are_not_read_again(
    machines: Machines, shared: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pages = 16
    alpha, beta = machines
    run(alpha.upload([Upload("scan.pdf", pdfs.scanned(tmp_path / "scan.pdf", pages, dpi=150).read_bytes())]))
    catalog = beta._catalog()

    def kept() -> int:
        listed = catalog.objects._obstore.list(catalog.objects._store, prefix="readings/")  # type: ignore[attr-defined]
        return sum(map(len, listed))

    command = [sys.executable, "-m", "hybrid_pageindex", "--home", str(tmp_path / "gamma"), "worker"]
    environment = os.environ | shared | {"PAGEINDEX_MACHINE": "gamma", "PAGEINDEX_OUTLINE": "fast"}
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    dies = subprocess.Popen(command, env=environment, process_group=0, **quiet)  # type: ignore[call-overload]
    until = time.monotonic() + 600
    while kept() < 2:
        assert dies.poll() is None and time.monotonic() < until
        time.sleep(0.05)
    os.killpg(dies.pid, signal.SIGKILL)
    dies.wait(600)
    before = kept()
    assert before < pages
    (job,) = JobReader(catalog).listed(status=["running"])
    JobQueue(catalog).lapse([job.worker])

    read = set[int]()
    submit = WorkerPool.submit

    def counted(self: WorkerPool, task: object, *rest: object, **options: object) -> object:
        if isinstance(task, ScanTask):
            read.add(task.page)  # in some steps
        return submit(self, task, *rest, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(WorkerPool, "submit", counted)
    work(beta)
    assert states(alpha) == ["done"] and kept() == pages
    assert len(read) == pages - before
    assert [page.ocr for page in run(alpha.pages("scan.pdf", f"1-{pages}"))] == [True] * pages
    assert len(run(alpha.documents.list())) == 1 and found(alpha, "delivery note 9")[0] == ("scan.pdf", 9)


def test_a_file_of_one_machine_is_read_there_and_nowhere_else(machines: Machines, tmp_path: Path) -> None:
    alpha, beta = machines
    folder = tmp_path / "documents"
    folder.mkdir()
    file = pdfs.numbered(folder / "curlew.pdf", 2, "curlew")
    run(alpha.index(folder, detach=True))
    work(beta)
    assert states(beta) == ["waiting for a worker, but none is running"]
    Workers(beta._catalog()).register(Worker("w", "there", 1, "worker", frozenset({"machine:beta"})))
    assert states(beta)[0].startswith("waiting for a worker that has machine:alpha")
    work(alpha)
    assert states(beta) == ["done"] and found(beta, "curlew")

    # the same path on the other machine is another file
    for path in (folder, file, tmp_path):
        with pytest.raises(UsageError, match="was indexed on the machine 'alpha'"):
            run(beta.index(path))
    with pytest.raises(PageIndexError, match="is not updated from any file or folder"):
        run(beta.update())
    assert [(one.path, one.machine) for one in run(beta.sources.list())] == [(str(folder), "alpha")]
    # the same bytes elsewhere on it have not moved there: alpha has its file
    file.rename(tmp_path / "aside.pdf")
    copy = tmp_path / "copy.pdf"
    copy.write_bytes((tmp_path / "aside.pdf").read_bytes())
    assert [one.status for one in run(beta.index(copy)).files] == ["indexed"]
    assert {one.path for one in run(alpha.documents.list())} == {str(file), str(copy)}
    # where both see the same files they have one name
    beta.settings = replace(beta.settings, machine="alpha")
    (tmp_path / "aside.pdf").rename(file)
    assert [one.status for one in run(beta.index(folder)).files] == ["unchanged"]


def test_a_folder_is_uploaded_by_its_name(machines: Machines, tmp_path: Path) -> None:
    alpha, beta = machines
    folder = tmp_path / "reports" / "2024"
    folder.mkdir(parents=True)
    pdfs.numbered(folder / "dunlin.pdf", 1, "dunlin")
    run(alpha.index(folder.parent, upload=True, detach=True))
    work(beta)
    assert states(alpha) == ["done"] and run(alpha.sources.list()) == []
    (document,) = run(beta.documents.list())
    assert document.path == "upload:/reports/2024/dunlin.pdf" and (folder / "dunlin.pdf").exists()


def test_originals_that_are_gone_from_the_bucket_are_said(machines: Machines, tmp_path: Path) -> None:
    alpha, beta = machines
    data = pdfs.numbered(tmp_path / "made.pdf", 1, "albatross").read_bytes()
    run(alpha.upload([Upload("albatross.pdf", data), Upload("second.pdf", data + b"\n")]))
    objects = alpha._catalog().objects
    objects.delete([f"{hashlib.sha256(data).hexdigest()}.pdf"], lambda _: set())
    work(beta)
    assert sorted(states(beta)) == ["done", "failed: the uploaded file is not stored any more."]
    failed = next(view.job for view in run(beta.jobs.list()).jobs if view.job.status == "failed")
    assert failed.subject.endswith("albatross.pdf")


def test_originals_of_a_home_are_brought_to_the_bucket(
    machines: Machines, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    alpha, beta = machines
    monkeypatch.setenv("PAGEINDEX_POSTGRES_URL", alpha.settings.postgres_url)
    before = Engine(tmp_path / "alpha")
    data = pdfs.numbered(tmp_path / "made.pdf", 1, "albatross").read_bytes()
    run(before.index(data, name="albatross.pdf"))
    before.close()
    with pytest.raises(DocumentError, match="is missing"):
        run(beta.documents.original("albatross.pdf"))
    assert [run(alpha.admin.upload_originals()) for _ in range(2)] == [1, 1]
    assert run(beta.documents.original("albatross.pdf")).read_bytes() == data
    again = Engine(tmp_path / "alpha")  # without the bucket
    with pytest.raises(UsageError, match="Set PAGEINDEX_OBJECTS_URL"):
        run(again.index(data, name="curlew.pdf"))
    again.close()
