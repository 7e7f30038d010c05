"""Long scans: published early, read on in turns, never twice; what was read before an interruption is kept."""

from __future__ import annotations

import math
import os
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from hybrid_core.errors import Cancelled
from hybrid_core.types.documents import ParsedPage
from hybrid_pageindex import Engine, run
from indexers.formats.limits import ParseLimits
from indexers.formats.registry import open_file
from indexers.jobs.options import IndexOptions
from indexers.jobs.pipeline import IndexRun, index
from indexers.jobs.report import FileResult, IndexProgress
from indexers.ocr.engines import find_ocr
from indexers.ocr.pages import pack, unpack
from tests import pdfs
from tests.ocr import reads, tesseract

pytestmark = reads


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a Tesseract that takes more than a second for every page and logs it.

    A file ``later`` there has a number of pages and what happens at every page after so many.
    """
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "log").touch()
    wrapper = tools / "tesseract"
    wrapper.write_text(f"""#!/bin/sh
if [ "$1" = stdin ]; then
    cd "{tools}"
    sleep 1.1
    [ -e later ] && read -r most then <later && [ $(wc -l <log) -ge $most ] && $then
    echo read >>log
fi
exec "{tesseract().program}" "$@"
""")
    wrapper.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}:{os.environ['PATH']}")
    return tools


@pytest.fixture
def calls(tools: Path) -> Callable[[], int]:
    """How many pages were read so far."""
    return lambda: len((tools / "log").read_text().splitlines())


def test_a_long_scan_is_published_early_and_read_on_after_the_other_files(
    engine: Engine, tmp_path: Path, calls: Callable[[], int]
) -> None:
    pdfs.scanned(tmp_path / "a.pdf", 4, dpi=150)
    pdfs.numbered(tmp_path / "b.pdf", 2, "quay")
    engine.settings = replace(engine.settings, ocr_seconds=3)
    seen: list[tuple[int, FileResult]] = []

    def on_progress(progress: IndexProgress) -> None:
        if progress.finished:
            seen.append((progress.files_done, progress.finished))

    scan, text = run(engine.index(tmp_path, workers=1, on_progress=on_progress)).files
    first = next(file for _, file in seen if file.path == scan.path)
    assert 0 < first.unread <= 4
    assert f"{first.unread} pages are not read by OCR yet: OCR continues in the background" in first.note
    assert [Path(file.path).name for _, file in seen][-1] == "a.pdf" and len(seen) >= 3
    assert [done for done, _ in seen] == sorted(done for done, _ in seen) and seen[-1][0] == 2
    assert (scan.note, scan.unread, scan.status) == ("4 of 4 pages were read by OCR: 1-4", 0, "indexed")
    assert scan.seconds == first.seconds and scan.ocr_seconds > 1 and text.ocr_seconds == 0
    assert calls() == 4, "no page is read twice"
    titles = [node.section.title for node in run(engine.outline("a.pdf")).nodes]
    assert titles == [f"Delivery note {n}" for n in range(1, 5)]
    assert run(engine.search("delivery note 4")).results[0].page == 4
    assert [file.status for file in run(engine.index(tmp_path)).files] == ["unchanged", "unchanged"]
    assert run(engine.admin.doctor()).ok


def test_no_file_waits_for_the_scans_of_others(engine: Engine, tmp_path: Path, calls: Callable[[], int]) -> None:
    for pages, name in enumerate(("a.pdf", "b.pdf"), 1):
        pdfs.scanned(tmp_path / name, pages, dpi=150)
    for topic in ("quay", "pier", "dock"):
        pdfs.numbered(tmp_path / f"{topic}.pdf", 1, topic)
    ended: list[FileResult] = []

    def on_progress(progress: IndexProgress) -> None:
        if progress.finished:
            ended.append(progress.finished)

    files = run(engine.index(tmp_path, workers=1, on_progress=on_progress)).files
    assert ended[0].unread == ended[0].pages > 0, "the others waited"
    assert [file.unread for file in files] == [0] * 5 and calls() == 3


def test_what_was_read_before_an_interruption_is_not_read_again(
    engine: Engine, tmp_path: Path, tools: Path, calls: Callable[[], int]
) -> None:
    path = pdfs.scanned(tmp_path / "a.pdf", 6, dpi=150)
    (tools / "later").write_text("2 sleep 6\n")  # its turns take 3 s and 6 s
    stop = threading.Event()

    def on_progress(progress: IndexProgress) -> None:
        if progress.finished and progress.scans_done:
            stop.set()

    options = IndexOptions(workers=1, ocr=lambda: find_ocr("auto", "eng"), ocr_seconds=3)
    with pytest.raises(Cancelled, match="Index them again"):
        index(
            IndexRun(engine._catalog(), engine._cache(), "default", options, tmp_path / "tmp", stop),
            [path],
            on_progress,
        )
    read = sum(page.ocr for page in run(engine.pages("a.pdf", "1-6")))
    assert 0 < read < 6, "it is published with the pages that could be read"
    assert "pages are not read by OCR yet" in run(engine.documents.get("a.pdf")).warnings[-1]
    before = calls()
    (tools / "later").unlink()
    assert run(engine.index(path, workers=1)).files[0].note == "6 of 6 pages were read by OCR: 1-6"
    assert calls() - before <= 6 - read
    assert run(engine.documents.get("a.pdf")).warnings == ("6 of 6 pages were read by OCR: 1-6",)


def test_a_scan_removed_between_its_turns_stays_removed(
    engine: Engine, tmp_path: Path, calls: Callable[[], int]
) -> None:
    path = pdfs.scanned(tmp_path / "a.pdf", 4, dpi=150)
    engine.settings = replace(engine.settings, ocr_seconds=1)
    catalog = engine._catalog()

    def on_progress(progress: IndexProgress) -> None:
        if progress.finished and progress.finished.unread:
            catalog.remove([progress.finished.doc_id or ""])

    file = run(engine.index(path, workers=1, on_progress=on_progress)).files[0]
    assert "removed" in file.note and run(engine.documents.list()) == []


def test_a_read_page_survives_being_kept(tmp_path: Path) -> None:
    from indexers.ocr.pages import read_page

    file = open_file(pdfs.scanned(tmp_path / "a.pdf", 1, dpi=150), None, ParseLimits())
    reading = read_page(file, 1, "Tesseract", tesseract())
    assert reading.engine == "Tesseract" and reading.sure > 85 and len(reading.lines or ()) > 5
    assert unpack(pack(reading)) == reading
    assert unpack(pack(reading)).onto(ParsedPage(1, needs_ocr=True)).ocr


def test_a_scan_that_has_had_its_time_is_published_as_far_as_it_is_and_goes_on_in_the_next_run(
    engine: Engine, tmp_path: Path, tools: Path, calls: Callable[[], int]
) -> None:
    began = time.monotonic()
    run(engine.index(pdfs.scanned(tmp_path / "one.pdf", 1, dpi=150), workers=1))
    most = math.ceil(3 * (time.monotonic() - began))  # seconds, on this machine and with what else it does now
    path = pdfs.scanned(tmp_path / "a.pdf", 6, dpi=150)
    ordinary = engine.settings
    engine.settings = replace(ordinary, seconds_per_file=most, ocr_seconds=600)
    (tools / "later").write_text("3 exec sleep 600\n")
    file = run(engine.index(path, workers=1)).files[0]
    assert file.status == "indexed"
    assert f"longer than {most} s. Raise the setting seconds_per_file" in file.note
    read = sum(page.ocr for page in run(engine.pages("a.pdf", "1-6")))
    assert 0 < read <= 2 and f"{6 - read} pages are not read by OCR yet" in file.note
    before = calls()
    (tools / "later").unlink()
    engine.settings = ordinary
    assert run(engine.index(path)).files[0].note == "6 of 6 pages were read by OCR: 1-6"
    assert calls() - before == 6 - read
