"""Files become documents: what is skipped, moved, shared, replaced, pruned, refused."""

from __future__ import annotations

import asyncio
import os
import shutil
import threading
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from hybrid_core.errors import Cancelled, UsageError
from hybrid_pageindex import Engine, run
from indexers.jobs.options import IndexOptions
from indexers.jobs.pipeline import IndexRun, index
from indexers.jobs.report import IndexProgress, IndexReport
from tests import pdfs
from tests.homes import OwnHome, settings_of

pytestmark = pytest.mark.slow


def statuses(report: IndexReport) -> dict[str, str]:
    return {Path(file.path).name: file.status for file in report.files}


def test_unchanged_files_are_skipped_by_their_bytes(engine: Engine, tmp_path: Path) -> None:
    path = pdfs.numbered(tmp_path / "a.pdf", 3, "tides")
    first = run(engine.index(path)).files[0]
    os.utime(path, (1, 1))  # another time stamp, the same bytes
    again = run(engine.index(path)).files[0]
    assert (first.status, again.status) == ("indexed", "unchanged")
    assert (again.doc_id, again.pages, again.sections) == (first.doc_id, 3, first.sections)


def test_folders_and_globs_are_searched_and_repeats_counted_once(engine: Engine, tmp_path: Path) -> None:
    (tmp_path / "in" / "deep").mkdir(parents=True)
    (tmp_path / "in" / ".hidden").mkdir()
    for name in ("in/a.pdf", "in/deep/b.PDF", "in/.hidden/c.pdf", "in/._d.pdf"):
        pdfs.numbered(tmp_path / name, 1, name)
    (tmp_path / "in" / "notes.dwg").write_text("a drawing")
    report = run(engine.index([tmp_path / "in", tmp_path / "in" / "a.pdf", str(tmp_path / "in" / "**" / "*.PDF")]))
    assert statuses(report) == {"a.pdf": "indexed", "b.PDF": "indexed"}
    assert len(report.files) == 2


def test_pipes_and_devices_are_refused_and_an_empty_path_is_a_mistake(engine: Engine, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    pdfs.numbered(folder / "a.pdf", 1, "kelp")
    os.mkfifo(folder / "pipe.pdf")
    (folder / "zero.pdf").symlink_to("/dev/zero")
    report = run(engine.index(folder))
    assert statuses(report) == {"a.pdf": "indexed", "pipe.pdf": "failed", "zero.pdf": "failed"}
    with pytest.raises(UsageError, match="A path is empty"):
        run(engine.index(""))


def test_a_moved_file_keeps_its_identity(engine: Engine, tmp_path: Path) -> None:
    old = pdfs.numbered(tmp_path / "old.pdf", 2, "moors")
    first = run(engine.index(old)).files[0]
    new = old.rename(tmp_path / "new.pdf")
    moved = run(engine.index(new)).files[0]
    assert (moved.status, moved.doc_id) == ("unchanged", first.doc_id)
    assert moved.note == f"moved from {old}"
    assert [d.name for d in run(engine.documents.list())] == ["new.pdf"]
    assert run(engine.search(pdfs.landmark("moors", 2))).results[0].doc_name == "new.pdf"


def test_another_file_at_a_moved_documents_old_path_is_another_document(engine: Engine, tmp_path: Path) -> None:
    old = pdfs.numbered(tmp_path / "old.pdf", 2, "moors")
    first = run(engine.index(old)).files[0]
    run(engine.index(old.rename(tmp_path / "new.pdf")))
    other = run(engine.index(pdfs.numbered(old, 3, "glens"))).files[0]
    assert other.doc_id != first.doc_id
    assert {d.name: d.pages for d in run(engine.documents.list())} == {"new.pdf": 2, "old.pdf": 3}


def test_a_changed_file_replaces_its_version_and_nothing_of_the_old_is_found(engine: Engine, tmp_path: Path) -> None:
    path = pdfs.numbered(tmp_path / "a.pdf", 4, "ferns")
    first = run(engine.index(path)).files[0]
    assert run(engine.search(pdfs.landmark("ferns", 4))).results[0].page == 4
    pdfs.numbered(path, 2, "mosses")
    second = run(engine.index(path)).files[0]
    assert (second.status, second.doc_id, second.pages) == ("indexed", first.doc_id, 2)
    assert run(engine.search(pdfs.landmark("mosses", 2))).results[0].page == 2
    assert all(r.page <= 2 for r in run(engine.search(pdfs.landmark("ferns", 4), top_k=20)).results)
    assert run(engine.admin.doctor()).ok


def test_a_file_that_broke_keeps_its_published_version(engine: Engine, tmp_path: Path) -> None:
    path = pdfs.numbered(tmp_path / "a.pdf", 2, "ferns")
    run(engine.index(path))
    pdfs.not_a_pdf(path)
    failed = run(engine.index(path)).files[0]
    assert failed.status == "failed" and failed.error is not None and failed.error.startswith("the file is not a PDF")
    assert run(engine.search(pdfs.landmark("ferns", 2))).results[0].page == 2
    document = run(engine.documents.get("a.pdf"))
    assert document.pages == 2 and document.error == failed.error
    pdfs.numbered(path, 2, "ferns")
    assert run(engine.index(path)).files[0].status == "unchanged"
    assert run(engine.documents.get("a.pdf")).error == ""


def test_the_same_bytes_at_two_paths_share_their_work_and_are_shown_once(engine: Engine, tmp_path: Path) -> None:
    one = pdfs.numbered(tmp_path / "one.pdf", 3, "reefs")
    two = Path(shutil.copy(one, tmp_path / "two.pdf"))
    report = run(engine.index([one, two]))
    assert statuses(report) == {"one.pdf": "indexed", "two.pdf": "indexed"}
    assert len({d.content_id for d in run(engine.documents.list())}) == 1
    results = run(engine.search(pdfs.landmark("reefs", 2))).results
    assert [r.page for r in results].count(2) == 1
    other = {"one.pdf": "two.pdf", "two.pdf": "one.pdf"}[results[0].doc_name]
    assert results[0].also_in == (f"{other}, page 2",)
    run(engine.documents.remove(["one.pdf"]))
    assert run(engine.search(pdfs.landmark("reefs", 2))).results[0].doc_name == "two.pdf"


def test_prune_removes_what_is_gone_below_the_paths_and_nothing_else(engine: Engine, tmp_path: Path) -> None:
    for folder in ("in", "out"):
        (tmp_path / folder).mkdir()
        for name in ("stays", "goes"):
            pdfs.numbered(tmp_path / folder / f"{name}.pdf", 1, f"{folder} {name}")
    run(engine.index(tmp_path))
    for folder in ("in", "out"):
        (tmp_path / folder / "goes.pdf").unlink()
    report = run(engine.index(tmp_path / "in", prune=True))
    assert report.removed == (str(tmp_path / "in" / "goes.pdf"),)
    assert sorted(d.path for d in run(engine.documents.list())) == sorted(
        str(tmp_path / name) for name in ("in/stays.pdf", "out/goes.pdf", "out/stays.pdf")
    )


def test_prune_spares_a_library_whose_folder_is_missing(engine: Engine, tmp_path: Path) -> None:
    folder = tmp_path / "disk"
    folder.mkdir()
    pdfs.numbered(folder / "a.pdf", 1, "kelp")
    run(engine.index(folder))
    shutil.rmtree(folder)  # a disk that is not mounted looks the same
    report = run(engine.index(folder, prune=True))
    assert report.removed == () and report.files[0].status == "failed"
    assert len(run(engine.documents.list())) == 1


REFUSED: list[tuple[Callable[[Path], Path], str]] = [
    (pdfs.not_a_pdf, "not a PDF"),
    (pdfs.empty_file, "the file is empty"),
    (pdfs.no_pages, "no pages"),
    (pdfs.encrypted, "encrypted"),
    (pdfs.truncated, ""),
]


def test_bad_files_are_refused_with_a_line_and_the_good_ones_indexed(engine: Engine, tmp_path: Path) -> None:
    good = pdfs.numbered(tmp_path / "good.pdf", 2, "peat")
    bad = [make(tmp_path / f"{make.__name__}.pdf") for make, _ in REFUSED]
    report = run(engine.index([*bad[:2], good, *bad[2:], tmp_path / "missing.pdf"]))
    found = {Path(file.path).name: file for file in report.files}
    assert found["good.pdf"].status == "indexed"
    assert found["missing.pdf"].error == "no such file or folder."
    for make, reason in REFUSED:
        failed = found[f"{make.__name__}.pdf"]
        assert failed.status == "failed" and failed.error and reason in failed.error
        assert "\n" not in failed.error
    assert "Give the password of the file" in (found["encrypted.pdf"].error or "")
    assert run(engine.search(pdfs.landmark("peat", 1))).results[0].doc_name == "good.pdf"


def test_encrypted_files_open_with_their_password_and_permission_only_ones_without(
    engine: Engine, tmp_path: Path
) -> None:
    locked, open_to_all = pdfs.encrypted(tmp_path / "locked.pdf"), pdfs.permissions_only(tmp_path / "free.pdf")
    assert run(engine.index(open_to_all)).files[0].status == "indexed"
    wrong = run(engine.index(locked, password="wrong")).files[0]
    assert wrong.status == "failed" and "password is wrong" in (wrong.error or "")
    assert run(engine.index(locked, password=pdfs.PASSWORD)).files[0].status == "indexed"


def test_who_does_not_know_the_password_does_not_get_the_text_from_another_library(
    engine: Engine, tmp_path: Path
) -> None:
    locked, open_to_all = pdfs.encrypted(tmp_path / "locked.pdf"), pdfs.permissions_only(tmp_path / "free.pdf")
    run(engine.index([locked, open_to_all], password=pdfs.PASSWORD))
    for password, reason in ((None, "encrypted"), ("wrong", "password is wrong")):
        file = run(engine.index(locked, library="other", password=password)).files[0]
        assert file.status == "failed" and reason in (file.error or "")
    assert run(engine.search("report", library="other")).results == ()
    shared = [run(engine.index(open_to_all, library="other")).files[0]]
    shared += run(engine.index(locked, library="other", password=pdfs.PASSWORD)).files
    assert [(file.status, file.note) for file in shared] == [("indexed", "same content as a file indexed before")] * 2


def test_pages_without_text_are_indexed_and_marked(engine: Engine, tmp_path: Path) -> None:
    engine.settings = replace(engine.settings, ocr="never")
    file = run(engine.index(pdfs.scanned(tmp_path / "scan.pdf", 3))).files[0]
    assert (file.status, file.pages) == ("indexed", 3)
    assert "3 of 3 pages have no readable text (scanned?): 1-3" in file.note
    assert [page.needs_ocr for page in run(engine.pages("scan.pdf", "1-3"))] == [True] * 3
    blank = run(engine.index(pdfs.one_blank_page(tmp_path / "blank.pdf"))).files[0]
    assert blank.status == "indexed" and blank.note == "no page of this document has text"
    assert [page.needs_ocr for page in run(engine.pages("blank.pdf", "1"))] == [False]


@pytest.mark.parametrize(
    "make", [pdfs.cyclic_bookmarks, pdfs.outside_bookmarks, pdfs.far_bookmarks, pdfs.many_bookmarks]
)
def test_odd_bookmarks_do_not_stop_a_document(engine: Engine, tmp_path: Path, make: Callable[[Path], Path]) -> None:
    file = run(engine.index(make(tmp_path / "odd.pdf"))).files[0]
    assert file.status == "indexed" and file.sections > 0 and file.seconds < 100
    nodes = run(engine.outline("odd.pdf")).nodes
    assert all(1 <= n.section.start_page <= n.section.end_page <= file.pages for n in nodes)


@pytest.mark.parametrize("name", ["報告書 2024.pdf", "تقرير.pdf", "naïve – ö.pdf", "'; drop table--.pdf", "a\nb.pdf"])
def test_file_names_of_any_script(engine: Engine, tmp_path: Path, name: str) -> None:
    path = pdfs.numbered(tmp_path / name, 1, "quay")
    assert run(engine.index(path)).files[0].status == "indexed"
    assert run(engine.search("quay", documents=[name])).results[0].doc_name == name


def test_a_name_that_is_no_text_is_refused_and_the_rest_indexed(engine: Engine, tmp_path: Path) -> None:
    pdfs.numbered(tmp_path / "good.pdf", 1, "quay")
    shutil.copy(tmp_path / "good.pdf", os.fsencode(tmp_path) + b"/bad-\xff.pdf")
    report = run(engine.index(tmp_path))
    assert sorted(file.status for file in report.files) == ["failed", "indexed"]
    assert "not valid UTF-8" in next(file.error or "" for file in report.files if file.status == "failed")


def test_a_worker_that_dies_costs_only_its_file(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first worker is killed while it reads; the others and the next files are not touched."""
    import subprocess

    from indexers.workers import pool

    started: list[subprocess.Popen[bytes]] = []
    real = subprocess.Popen

    def start(*args: object, **kwargs: object) -> subprocess.Popen[bytes]:
        process = real(*args, **kwargs)  # type: ignore[call-overload]
        started.append(process)
        if len(started) == 1:
            process.kill()
        return process

    monkeypatch.setattr(pool.subprocess, "Popen", start)
    files = [pdfs.numbered(tmp_path / f"{n}.pdf", 3, f"bay {n}") for n in range(4)]
    report = run(engine.index(files, workers=1))
    assert sorted(file.status for file in report.files) == ["failed", "indexed", "indexed", "indexed"]
    failed = next(file for file in report.files if file.status == "failed")
    assert "ended unexpectedly (exit status -9)" in (failed.error or "")
    again = run(engine.index(files))  # whichever file the first worker had is done now, the others are not done twice
    assert sorted(file.status for file in again.files) == ["indexed", "unchanged", "unchanged", "unchanged"]


def test_cancelling_stops_soon_and_keeps_what_was_published(engine: Engine, tmp_path: Path) -> None:
    files = [pdfs.numbered(tmp_path / f"{n:02}.pdf", 40, f"cape {n}") for n in range(12)]
    stop = threading.Event()

    def on_progress(progress: IndexProgress) -> None:
        if progress.files_done >= 2:
            stop.set()

    with pytest.raises(Cancelled, match="Index them again"):
        index(
            IndexRun(engine._catalog(), engine._cache(), "default", IndexOptions(workers=2), tmp_path / "tmp", stop),
            files,
            on_progress,
        )
    done = run(engine.documents.list())
    assert 2 <= len(done) < 12
    assert not list((tmp_path / "tmp").iterdir()), "working files must be gone"
    again = run(engine.index(files))
    assert sorted(file.status for file in again.files) == ["indexed"] * (12 - len(done)) + ["unchanged"] * len(done)


async def test_cancelling_the_async_call_stops_the_work(engine: Engine, tmp_path: Path) -> None:
    files = [pdfs.numbered(tmp_path / f"{n:02}.pdf", 60, f"cape {n}") for n in range(10)]
    started = asyncio.Event()
    loop = asyncio.get_running_loop()
    on_progress = lambda p: loop.call_soon_threadsafe(started.set) if p.pages_done else None  # noqa: E731
    task = asyncio.create_task(engine.index(files, workers=1, on_progress=on_progress))
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert len(await engine.documents.list()) < 10


def test_progress_counts_every_page_and_ends_at_the_end(engine: Engine, tmp_path: Path) -> None:
    files = [pdfs.numbered(tmp_path / f"{n}.pdf", 130, f"isle {n}") for n in range(2)]  # more than one range each
    seen: list[IndexProgress] = []
    run(engine.index(files, on_progress=seen.append))
    last = seen[-1]
    assert (last.files, last.files_done, last.pages_done) == (2, 2, 260)
    assert last.bytes_done == last.bytes > 0
    assert [p.bytes_done for p in seen] == sorted(p.bytes_done for p in seen)
    assert sum(p.finished is not None for p in seen) == 2


def test_a_file_that_is_told_of_a_moment_after_it_was_published_is_counted_once(engine: Engine, tmp_path: Path) -> None:
    files = [pdfs.numbered(tmp_path / f"{n}.pdf", 3, f"rock {n}") for n in range(2)]
    told: list[IndexProgress] = []

    def slow(progress: IndexProgress) -> None:
        told.append(progress)
        if progress.finished is not None:
            time.sleep(1)  # meanwhile whoever waits looks at all rows

    run(engine.index(files, on_progress=slow))
    assert sum(progress.finished is not None for progress in told) == 2
    assert (told[-1].files_done, told[-1].pages_done) == (2, 6)


def test_a_long_document_read_in_ranges_is_the_same_as_in_one(tmp_path: Path, databases: Callable[[], str]) -> None:
    path = pdfs.numbered(tmp_path / "a.pdf", 60, "rill")
    trees = []
    for range_pages in (7, 1000):
        home = OwnHome(tmp_path / f"home{range_pages}", databases())
        engine = Engine(settings=home.settings(range_pages=range_pages))
        run(engine.index(path))
        trees.append(
            [(n.section.title, n.section.start_page, n.section.summary) for n in run(engine.outline("a.pdf")).nodes]
        )
        assert [p.page for p in run(engine.search(pdfs.landmark("rill", 59), top_k=1)).results] == [59]
        engine.close()
    assert trees[0] == trees[1]


def test_library_names_are_checked(engine: Engine, tmp_path: Path) -> None:
    path = pdfs.numbered(tmp_path / "a.pdf", 1, "cove")
    for name in ("", "..", " padded", "two\nlines", "x" * 101):
        with pytest.raises(UsageError, match="cannot be a library's name"):
            run(engine.index(path, library=name or " "))
    assert run(engine.index(path, library="法規 2024")).files[0].status == "indexed"
    assert [size.name for size in run(engine.libraries.list())] == ["法規 2024"]


def test_another_size_of_chunks_makes_documents_again(tmp_path: Path, filings: list[Path]) -> None:
    def indexed(**settings: int) -> tuple[set[str], int]:
        with closing(Engine(settings=settings_of(tmp_path / "home", **settings))) as engine:
            report = run(engine.index(filings[:1], workers=1))
            (document,) = run(engine.documents.list())
            with engine._catalog().snapshot() as snapshot:
                longest = max(chunk.end - chunk.start for chunk in snapshot.chunks(document.content_id))
        return {file.status for file in report.files}, longest

    assert indexed()[0] == {"indexed"}
    small = {"chunk_least": 150, "chunk_most": 300, "chunk_overlap": 30}
    status, longest = indexed(**small)
    assert status == {"indexed"} and longest <= 300
    assert indexed(**small)[0] == {"unchanged"}
    with pytest.raises(UsageError, match="chunk_overlap below chunk_least"):
        indexed(chunk_overlap=1000)
