"""How far an index run is: measured, and shown on a terminal, in lines and in events."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest

from hybrid_pageindex.cli import index_progress as shown
from hybrid_pageindex.cli.index_progress import Meter
from indexers.enrich.steps import Stage
from indexers.jobs.report import FileResult, IndexProgress
from tests import pdfs
from tests.conftest import Cli


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def heard(done: int, bytes_done: int, finished: FileResult | None = None, **more: object) -> IndexProgress:
    return IndexProgress(10, done, bytes_done // 10, 1000, bytes_done, finished, **more)  # type: ignore[arg-type]


def at(path: str, stage: Stage, done: int, pages: int, **more: int) -> IndexProgress:
    return heard(1, 100, file=path, stage=stage, stage_done=done, stage_pages=pages, **more)


def test_time_left_is_that_of_the_bytes_that_took_time() -> None:
    clock = Clock()
    meter = Meter(clock)
    assert meter.overview() is None
    meter.hear(heard(0, 0))
    meter.hear(heard(1, 500, FileResult("/a", "unchanged")))  # half of all, at once
    overview = meter.overview()
    assert overview is not None and overview.seconds_left is None, "nothing was measured"
    clock.now = 10
    meter.hear(heard(2, 600, FileResult("/b", "indexed")))
    overview = meter.overview()
    assert overview is not None and overview.seconds_left == pytest.approx(40), "400 bytes at 10 a second"
    assert (overview.searchable, overview.documents, overview.failed) == (2, 10, 0)


def test_time_left_holds_ocr_and_what_models_do_beside_it() -> None:
    clock = Clock()
    meter = Meter(clock)
    meter.hear(heard(0, 0))
    clock.now = 10
    meter.hear(at("/scan", "ocr", 0, 40, scans=40, scans_done=0))
    clock.now = 20
    meter.hear(at("/scan", "ocr", 10, 40, scans=40, scans_done=10))
    overview = meter.overview()
    assert overview is not None
    parsing, reading = 900 / 5, 30 / 1
    assert overview.seconds_left == pytest.approx(parsing + reading)
    [scan] = overview.working
    assert (scan.path, scan.stage, scan.done, scan.pages, scan.rate) == ("/scan", "ocr", 10, 40, pytest.approx(1))
    assert scan.seconds_left == pytest.approx(30)
    meter.hear(at("/b", "describe", 1, 3, scans=40, scans_done=10))
    clock.now = 120
    meter.hear(heard(10, 1000, over="/b", scans=40, scans_done=40))
    overview = meter.overview()
    assert overview is not None and overview.seconds_left == pytest.approx(900), "nine documents at one in 100 s"
    assert [file.path for file in overview.working] == ["/scan"], "nothing is left to do for the other"


def test_a_run_of_a_minute_foretells_no_day() -> None:
    clock = Clock()
    meter = Meter(clock)
    meter.hear(heard(0, 0))
    clock.now = 60
    meter.hear(heard(1, 1, FileResult("/small", "indexed")))  # while others stand still
    overview = meter.overview()
    assert overview is not None and overview.seconds_left is None and "left" not in shown.summary(overview)
    clock.now = 90
    meter.hear(heard(2, 100, FileResult("/large", "indexed")))
    overview = meter.overview()
    assert overview is not None and overview.seconds_left is not None and overview.seconds_left < 1_000


def test_vectors_are_made_after_the_files() -> None:
    clock = Clock()
    meter = Meter(clock)
    meter.hear(heard(10, 1000, file="", stage="embed", stage_done=0, stage_pages=90))
    clock.now = 10
    meter.hear(heard(10, 1000, file="", stage="embed", stage_done=30, stage_pages=90))
    overview = meter.overview()
    assert overview is not None and overview.seconds_left == pytest.approx(20)
    assert shown.summary(overview).endswith("0:00:20 left; vectors: embedding 30 of 90")


def test_a_rate_follows_the_last_minute() -> None:
    clock = Clock()
    meter = Meter(clock)
    for second in range(200):
        clock.now = float(second)
        meter.hear(at("/scan", "ocr", min(second, 100), 400))
    overview = meter.overview()
    assert overview is not None and overview.working[0].rate == 0 and overview.working[0].seconds_left is None


def progress_of(monkeypatch: pytest.MonkeyPatch, *, json: bool) -> str:
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(shown, "LINE_EVERY", 0.05)
    monkeypatch.setattr(shown, "_EVENT_EVERY", 0.05)
    with shown.index_progress(json=json) as hear:
        hear(heard(0, 0, notes=("a model is missing",)))
        hear(heard(1, 100, FileResult("/b\n.pdf", "failed", "it is empty")))
        hear(at("/scan.pdf", "ocr", 3, 40))
        until = 200
        while ("3 of 40" if not json else '"progress"') not in stream.getvalue() and (until := until - 1):
            shown.threading.Event().wait(0.05)
    return stream.getvalue()


def test_lines_come_also_where_nothing_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    note, failed, *lines = progress_of(monkeypatch, json=False).splitlines()
    assert note == "note: a model is missing" and failed == "[1/10] failed     b\\n.pdf: it is empty"
    assert lines[-1].startswith("1 of 10 documents (1 failed), 10 pages") and lines[-1].endswith(
        "scan.pdf: OCR 3 of 40"
    )


def test_events_are_json_line_by_line(monkeypatch: pytest.MonkeyPatch) -> None:
    note, document, progress = [json.loads(line) for line in progress_of(monkeypatch, json=True).splitlines()[:3]]
    assert note == {"event": "note", "note": "a model is missing"}
    assert (document["event"], document["path"], document["error"]) == ("document", "/b\n.pdf", "it is empty")
    assert progress["event"] == "progress" and progress["documents"] == 10 and progress["failed"] == 1
    assert progress["working"][0]["stage"] == "ocr"


def test_a_report_in_json_is_alone_on_stdout_and_events_on_stderr(cli: Cli, tmp_path: Path) -> None:
    done = cli("index", pdfs.numbered(tmp_path / "a.pdf", 3, "spits"), "--json")
    assert json.loads(done.stdout)["files"][0]["pages"] == 3
    events = [json.loads(line) for line in done.stderr.splitlines()]
    assert [event["status"] for event in events if event["event"] == "document"] == ["indexed"]
