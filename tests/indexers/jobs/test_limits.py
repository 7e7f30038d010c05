"""Hostile files are stopped, cost nobody else anything, and the reason names the setting to change."""

from __future__ import annotations

import subprocess
import sys
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from dataclasses import fields
from pathlib import Path

import psutil
import pytest

from hybrid_core.errors import LimitError, UsageError
from hybrid_pageindex import Engine, Settings, run
from hybrid_pageindex.config.settings import load_settings
from indexers.formats.limits import MAX_BOOKMARK_DEPTH, ParseLimits
from indexers.formats.pdf.document import open_pdf
from indexers.formats.pdf.read import read_info
from indexers.jobs.options import IndexOptions
from indexers.jobs.report import FileResult
from indexers.workers import pool
from indexers.workers.pool import WorkerLimits
from indexers.workers.threads import Watch, resident_bytes
from tests import pdfs
from tests.homes import settings_of
from tests.indexers.formats import raw_pdf

pytestmark = pytest.mark.slow

EngineWith = Callable[..., Engine]


@pytest.fixture
def engine_with(tmp_path: Path) -> Iterator[EngineWith]:
    with ExitStack() as made:
        yield lambda **given: made.enter_context(closing(Engine(settings=settings_of(tmp_path / "home", **given))))


def endless(path: Path, pages: int = 1) -> Path:
    """The first page is plain; the others draw a form that draws the next one twenty times, and so on, twelve deep."""
    calls = b"/F%d Do "
    forms = {
        1000 + n: raw_pdf.stream(
            calls % (n + 1) * 20 if n < 11 else b"0 0 m 9 9 l S",
            b"/Type /XObject /Subtype /Form /BBox [0 0 600 850] /Resources << /XObject << /F%d %d 0 R >> >>"
            % (n + 1, 1001 + n),
        )
        for n in range(12)
    }
    contents = [raw_pdf.text()] + [b"/F0 Do"] * (pages - 1)
    return raw_pdf.write(path, {**raw_pdf.pages(contents, resources=b"/XObject << /F0 1000 0 R >>"), **forms})


def only(engine: Engine, path: Path) -> FileResult:
    (file,) = run(engine.index(path)).files
    return file


@pytest.mark.parametrize(
    ("limits", "said"),
    [
        ({"max_pages": 2}, "the file has 3 pages; the limit is 2"),
        ({"max_objects": 7}, r"the file has \d+ objects; the limit is 7"),
    ],
)
def test_a_file_over_a_limit_is_refused_with_the_setting_to_change(
    engine_with: EngineWith, tmp_path: Path, limits: dict[str, int], said: str
) -> None:
    path = pdfs.numbered(tmp_path / "a.pdf", 3, "dikes")
    (name,) = limits
    with pytest.raises(LimitError, match=f"{said}. Raise the setting {name}"):
        open_pdf(path, limits=ParseLimits(**limits))
    file = only(engine_with(**limits), path)
    assert file.status == "failed" and f"Raise the setting {name}" in (file.error or "")


@pytest.mark.parametrize(
    ("name", "most", "found"),
    [
        ("max_page_lines", 30, "page 2 has 40 lines of text; the limit is 30"),
        ("max_page_characters", 900, "page 2 has 1,240 characters; the limit is 900"),
    ],
)
def test_a_page_over_a_limit_is_left_out_and_the_others_are_read(
    engine_with: EngineWith, tmp_path: Path, name: str, most: int, found: str
) -> None:
    contents = [raw_pdf.text("before"), raw_pdf.text("a line of thirty-one letters!!!", 40), raw_pdf.text("after")]
    path = raw_pdf.write(tmp_path / "a.pdf", raw_pdf.pages(contents))
    engine = engine_with(**{name: most})
    file = only(engine, path)
    assert file.status == "indexed" and found in file.note
    assert f"Raise the setting {name}" in file.note
    assert [page.text for page in run(engine.pages("a.pdf", "1-3"))] == ["before", "", "after"]


def test_warnings_of_many_bad_pages_are_few(engine_with: EngineWith, tmp_path: Path) -> None:
    path = raw_pdf.write(tmp_path / "a.pdf", raw_pdf.pages([raw_pdf.text("words", 9)] * 50))
    note = only(engine_with(max_page_lines=5), path).note
    assert "page 5 has 9 lines" in note and "page 6 " not in note and "45 other pages of 1-50" in note


def nested_bookmarks(path: Path, depth: int) -> Path:
    objects = raw_pdf.pages([raw_pdf.text()])
    objects[1] = b"<< /Type /Catalog /Pages 2 0 R /Outlines 1000 0 R >>"
    objects[1000] = b"<< /First 1001 0 R /Last 1001 0 R /Count 1 >>"
    for n in range(1, depth + 1):
        child = b" /First %d 0 R /Last %d 0 R /Count 1" % (1001 + n, 1001 + n) if n < depth else b""
        objects[1000 + n] = b"<< /Title (Level %d) /Parent %d 0 R /Dest [10 0 R /Fit]%s >>" % (n, 999 + n, child)
    return raw_pdf.write(path, objects)


def test_bookmarks_over_a_limit_are_ignored(engine_with: EngineWith, tmp_path: Path) -> None:
    deep = nested_bookmarks(tmp_path / "deep.pdf", 100_000)  # MuPDF's own reading of it overflows the stack
    fine = nested_bookmarks(tmp_path / "fine.pdf", MAX_BOOKMARK_DEPTH)
    many = pdfs.many_bookmarks(tmp_path / "many.pdf", 600)
    files = {Path(file.path).stem: file for file in run(engine_with(max_bookmarks=500).index([deep, fine, many])).files}
    assert {name: file.status for name, file in files.items()} == dict.fromkeys(("deep", "fine", "many"), "indexed")
    assert (
        files["deep"].note
        == f"the bookmarks of the file were ignored, because they are nested deeper than {MAX_BOOKMARK_DEPTH} levels"
    )
    assert files["fine"].note == ""
    with open_pdf(fine) as document:
        assert [bookmark.level for bookmark in read_info(document).bookmarks] == list(range(1, MAX_BOOKMARK_DEPTH + 1))
    assert "at least 501; the limit is 500. Raise the setting max_bookmarks" in files["many"].note


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[subprocess.Popen[bytes]]:
    """The worker processes that were started."""
    processes: list[subprocess.Popen[bytes]] = []
    real = subprocess.Popen

    def start(*args: object, **kwargs: object) -> subprocess.Popen[bytes]:
        processes.append(real(*args, **kwargs))  # type: ignore[call-overload]
        return processes[-1]

    monkeypatch.setattr(pool.subprocess, "Popen", start)
    return processes


def test_a_page_that_never_ends_costs_its_file_and_no_other(
    engine_with: EngineWith, tmp_path: Path, started: list[subprocess.Popen[bytes]]
) -> None:
    bad = endless(tmp_path / "0.pdf", 40)
    good = [pdfs.numbered(tmp_path / f"{n}.pdf", 25, f"bay {n}") for n in range(1, 6)]
    report = run(engine_with(workers=2, range_pages=1, seconds_per_task=4, seconds_per_page=99).index([bad, *good]))
    assert [file.status for file in report.files] == ["failed"] + ["indexed"] * 5
    assert report.files[0].error == (
        "reading a range of the pages took longer than 4 s. Raise the setting seconds_per_task."
    )
    assert all(file.pages == 25 for file in report.files[1:])
    assert len(started) <= 8, "a page without an end costs a worker: its other 38 must not be tried"


def unfolding(path: Path) -> Path:
    """The second of three pages is a few bytes, deflated three times, that unfold to half a gigabyte of operators."""
    packer, operators = zlib.compressobj(9), b"q Q \n" * 200_000
    packed = b"".join([packer.compress(operators) for _ in range(500)]) + packer.flush()
    for _ in range(2):
        packed = zlib.compress(packed, 9)
    objects = raw_pdf.pages([raw_pdf.text("before"), b"", raw_pdf.text("after")])
    entries = b"/Filter [/FlateDecode /FlateDecode /FlateDecode] /Length %d" % len(packed)
    objects[13] = b"<< %s >>\nstream\n%s\nendstream" % (entries, packed)
    return raw_pdf.write(path, objects)


@pytest.mark.parametrize("made", [lambda path: endless(path, 2), unfolding], ids=["nested", "unfolding"])
def test_a_page_that_takes_too_long_is_left_out_and_the_others_are_read(
    engine_with: EngineWith, tmp_path: Path, made: Callable[[Path], Path], started: list[subprocess.Popen[bytes]]
) -> None:
    path = made(tmp_path / "a.pdf")
    assert path.stat().st_size < 5_000
    engine = engine_with(workers=1, seconds_per_page=2)
    file = only(engine, path)
    assert file.status == "indexed"
    advice = "Raise the setting seconds_per_page, and index the file again"
    assert file.note == f"page 2 took longer than 2 s to read. {advice}"
    texts = [page.text for page in run(engine.pages("a.pdf", f"1-{file.pages}"))]
    assert texts[0] and not any(texts[1:2]) and all(texts[2:])
    assert len(started) == 2, "one that the page ended, one that read the others"


def test_a_file_with_many_pages_that_take_too_long_is_refused(
    engine_with: EngineWith, tmp_path: Path, started: list[subprocess.Popen[bytes]]
) -> None:
    file = only(engine_with(workers=1, seconds_per_page=1), endless(tmp_path / "a.pdf", 40))
    assert file.error == (
        "more than 3 pages of the file took longer than 1 s each to read. Raise the setting seconds_per_page, and "
        "index the file again."
    )
    assert len(started) == 4


def test_a_worker_does_not_outlive_a_killed_parent(tmp_path: Path) -> None:
    path = endless(tmp_path / "a.pdf", 2)
    program = [sys.executable, "-m", "hybrid_pageindex", "--home", str(tmp_path / "home"), "index", str(path)]
    with subprocess.Popen(program, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as parent:
        workers: list[psutil.Process] = []
        while parent.poll() is None and not any(map(_in_the_endless_page, workers)):
            time.sleep(0.05)
            workers = psutil.Process(parent.pid).children()
        assert any(map(_in_the_endless_page, workers))
        parent.kill()
    assert psutil.wait_procs(workers, timeout=600)[1] == []


def _in_the_endless_page(process: psutil.Process) -> bool:
    """Whether a child is a worker that has computed for longer than its start takes."""
    try:
        return "indexers.workers.start" in process.cmdline() and process.cpu_times().user > 2
    except psutil.NoSuchProcess:
        return False


def test_the_work_on_a_file_is_limited_in_all(engine_with: EngineWith, tmp_path: Path) -> None:
    path = endless(tmp_path / "a.pdf", 3)
    file = only(engine_with(workers=1, range_pages=1, seconds_per_file=1), path)
    assert file.error == "reading the file took longer than 1 s. Raise the setting seconds_per_file."


def test_a_page_that_needs_too_much_memory_is_left_out(engine_with: EngineWith, tmp_path: Path) -> None:
    bomb = b"BT /F1 9 Tf " + b"1 0 0 1 10 700 Tm (words here) Tj 0 -9 Td (more) Tj " * 1_000_000 + b"ET"
    path = raw_pdf.write(tmp_path / "a.pdf", raw_pdf.pages([raw_pdf.text("before"), bomb, raw_pdf.text("after")]))
    assert path.stat().st_size < 400_000
    engine = engine_with(workers=1, max_worker_memory=300 * 10**6)
    file = only(engine, path)
    assert "page 2 needs more memory than a worker process may use. Raise the setting max_worker_memory" in file.note
    assert [page.text for page in run(engine.pages("a.pdf", "1-3"))] == ["before", "", "after"]


HOLD = "import time; held = bytearray(150_000_000); print('ready', flush=True); time.sleep(60)"


@pytest.mark.parametrize(("memory", "seconds", "verdict"), [(100, 60, "memory"), (1000, 0.5, "time"), (1000, 60, None)])
def test_the_watch_ends_what_holds_too_much_or_runs_too_long(memory: int, seconds: float, verdict: str | None) -> None:
    watch = Watch(memory * 10**6)
    with subprocess.Popen([sys.executable, "-c", HOLD], stdout=subprocess.PIPE) as process:
        assert process.stdout and process.stdout.readline() == b"ready\n"
        assert 150e6 < resident_bytes(process.pid) < 250e6
        watch.begin(process, seconds)
        if verdict:
            assert process.wait(600) == -9
        else:
            until = time.monotonic() + 600
            while not watch._watched[process].largest and time.monotonic() < until:
                time.sleep(0.05)
            time.sleep(0.3)  # time to end it
            assert process.poll() is None
        found, largest = watch.finish(process)
        process.kill()
    watch.close()
    assert found == verdict
    assert largest > 140e6 or verdict == "time"
    assert resident_bytes(process.pid) == 0, "it is gone"


def test_a_worn_worker_is_replaced_before_the_next_file(
    engine_with: EngineWith,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    started: list[subprocess.Popen[bytes]],
) -> None:
    files = [pdfs.numbered(tmp_path / f"{n}.pdf", 2, f"weir {n}") for n in range(2)]
    assert [f.status for f in run(engine_with(workers=1).index(files[0])).files] == ["indexed"]
    assert len(started) == 1, "an ordinary file leaves its worker fresh"
    monkeypatch.setattr(pool, "_WORN", 0.01)
    assert [f.status for f in run(engine_with(workers=1).index(files[1])).files] == ["indexed"]
    assert len(started) == 3, "one for its pages, one to build its index"
    assert all(process.poll() is not None for process in started)


def test_a_markdown_file_is_parsed_once_however_many_pages_it_has(
    engine_with: EngineWith,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    started: list[subprocess.Popen[bytes]],
) -> None:
    path = tmp_path / "a.md"
    path.write_text("".join(f"## Heading {n}\n\nwords\n\n" for n in range(2_000)))
    monkeypatch.setattr(pool, "_WORN", 0.01)  # every task has a worker of its own, which must open the file anew
    file = only(engine_with(workers=1, range_pages=1), path)
    assert (file.status, file.sections) == ("indexed", 2_000) and (file.pages or 0) > 10
    assert len(started) == 2, "one for its pages, one to build its index"


def test_limits_are_settings_with_the_same_defaults(tmp_path: Path) -> None:
    settings, options = Settings(), IndexOptions()
    for owner in (ParseLimits(), WorkerLimits()):
        for field in fields(owner):
            assert getattr(settings, field.name) == getattr(owner, field.name), field.name
    shared = (
        "seconds_per_task",
        "seconds_per_file",
        "max_worker_memory",
        "range_pages",
        "ocr_seconds",
    )
    for name in shared:
        assert getattr(settings, name) == getattr(options, name), name
    read = load_settings(tmp_path, {"PAGEINDEX_MAX_WORKER_MEMORY": "2GB", "PAGEINDEX_MAX_PAGES": "9"})
    assert (read.max_worker_memory, read.max_pages) == (2 * 10**9, 9)


@pytest.mark.parametrize(
    ("variable", "value", "said"),
    [
        ("PAGEINDEX_MAX_WORKER_MEMORY", "10MB", "max_worker_memory is 10000000.*at least 300000000"),
        ("PAGEINDEX_MAX_WORKER_MEMORY", "much", "PAGEINDEX_MAX_WORKER_MEMORY is 'much'"),
        ("PAGEINDEX_MAX_PAGES", "0", "max_pages is 0"),
        ("PAGEINDEX_SECONDS_PER_FILE", "0", "seconds_per_file is 0"),
        ("PAGEINDEX_MAX_BOOKMARKS", "-1", "max_bookmarks is -1"),
    ],
)
def test_limits_that_cannot_be(tmp_path: Path, variable: str, value: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        load_settings(tmp_path, {variable: value})
