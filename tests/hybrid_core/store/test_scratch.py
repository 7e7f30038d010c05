"""Folders that live as long as their process."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from hybrid_core.errors import StoreError
from hybrid_core.store.home import scratch_folder, sweep

_HOLDER = """
import sys, time
from pathlib import Path
from hybrid_core.store.home import scratch_folder
with scratch_folder(Path(sys.argv[1])) as folder:
    (folder / "work").write_text("x")
    print(folder, flush=True)
    time.sleep(60)
"""


def test_it_goes_at_the_end_also_after_an_error(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="inside"), scratch_folder(tmp_path / "tmp") as folder:
        (folder / "file").write_text("x")
        raise RuntimeError("inside")
    assert list((tmp_path / "tmp").iterdir()) == []


def test_a_living_process_keeps_its_folder_and_a_killed_one_does_not(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", _HOLDER, str(tmp_path / "tmp")], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout
    folder = Path(process.stdout.readline().strip())
    sweep(tmp_path / "tmp")
    assert (folder / "work").exists()
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    sweep(tmp_path / "tmp")
    assert list((tmp_path / "tmp").iterdir()) == []


def test_a_folder_that_cannot_be_made_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(StoreError, match="cannot be written"), scratch_folder(tmp_path / "file" / "tmp"):
        raise AssertionError("not reached")
