"""A browser without a window, for tests of what only a browser shows."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
needs_browser = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium or Chrome on this machine")


def browse(url: str, profile: Path, *options: str) -> tuple[str, str]:
    """(the document after its scripts, what the browser's console says)."""
    assert CHROMIUM is not None
    ran = subprocess.run(
        [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run",
         "--disable-dev-shm-usage", f"--user-data-dir={profile}", "--enable-logging=stderr",
         "--virtual-time-budget=3000", *options, "--dump-dom", url],
        capture_output=True, text=True, timeout=600, check=True,
    )  # fmt: skip
    return ran.stdout, "\n".join(line for line in ran.stderr.splitlines() if "CONSOLE" in line)
