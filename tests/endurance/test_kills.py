"""Indexing that is killed again and again, at any moment."""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from hybrid_pageindex import Engine, run
from hybrid_pageindex.sample import write_sample_report
from tests import pdfs

pytestmark = pytest.mark.endurance

Stored = dict[str, list[object]]  # of each document its tree with all text


def _stored(home: Path) -> Stored:
    with_engine = Engine(home)
    try:
        names = [one.name for one in run(with_engine.documents.list()) if one.published]
        return {name: list(run(with_engine.outline(name, text=True)).nodes) for name in names}
    finally:
        with_engine.close()


def test_whenever_indexing_is_killed_what_is_seen_is_whole_and_the_end_is_right(
    tmp_path: Path, endurance_seconds: float, record_property: Callable[[str, object], None]
) -> None:
    """kill -9 of the process that indexes; its workers end with it. Nothing is repaired by hand in between."""
    files = [write_sample_report(tmp_path / "report.pdf"), *pdfs.fiscal_reports(tmp_path)]
    home, quiet = tmp_path / "home", tmp_path / "quiet"

    def indexing(into: Path) -> subprocess.Popen[bytes]:
        program = [sys.executable, "-m", "hybrid_pageindex", "--home", str(into), "index", *map(str, files)]
        return subprocess.Popen(program, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    began = time.monotonic()
    assert indexing(quiet).wait() == 0
    whole = time.monotonic() - began
    right = _stored(quiet)
    assert len(right) == len(files)

    moments = random.Random(1)
    kills = homes = unfinished = 0
    end = time.monotonic() + endurance_seconds
    while time.monotonic() < end:
        process = indexing(home)
        try:
            process.wait(moments.uniform(0, 1.2 * whole))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            kills += 1
        if not home.exists():
            continue
        seen = _stored(home)
        assert all(tree == right[name] for name, tree in seen.items())
        unfinished += 0 < len(seen) < len(files)
        if len(seen) == len(files):
            shutil.rmtree(home)
            homes += 1
    assert indexing(home).wait() == 0
    assert _stored(home) == right
    record_property("indexing killed (kill -9), times", kills)
    record_property("of which some documents were published, not all", unfinished)
    record_property("homes that were finished all the same", homes + 1)
