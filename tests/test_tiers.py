"""The tiers of these tests: what each leaves out, and that leaving out waits for nobody."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

_TESTS = """
import subprocess, sys, threading, time
import pytest

def start():
    subprocess.run([sys.executable, "-c", ""])

@pytest.fixture(scope="session")
def shared():
    start()

def test_plain(shared): pass
def test_starts(): start()
def test_waits_for_a_thread_that_starts():
    done = threading.Event()
    threading.Thread(target=lambda: (start(), done.set())).start()
    assert done.wait(600)
@pytest.mark.slow
def test_slow(): pass
@pytest.mark.endurance
def test_endures(): pass
def test_takes_long():
    end = time.process_time() + 2.5
    while FAST and time.process_time() < end: pass
"""


@pytest.mark.parametrize(
    ("tier", "said"),
    [
        ("fast", ["1 passed", "2 skipped", "2 deselected", "1 failed", "make it smaller, or mark it slow"]),
        ("whole", ["5 passed", "1 deselected"]),
        ("endurance", ["1 passed", "5 deselected"]),
    ],
)
def test_what_runs_in_each_tier(tier: str, said: list[str], tmp_path: Path) -> None:
    file = tmp_path / "test_it.py"
    file.write_text(f"FAST = {tier == 'fast'}\n{_TESTS}")
    root = Path(__file__).parents[1]
    program = [sys.executable, "-m", "pytest", "-p", "tests.tiers", "-p", "no:cacheprovider", "--tier", tier]
    done = subprocess.run(
        [*program, "--rootdir", str(tmp_path), "-c", "/dev/null", str(file)],
        capture_output=True, text=True, cwd=root, check=False,
    )  # fmt: skip
    assert all(one in done.stdout for one in said), done.stdout
