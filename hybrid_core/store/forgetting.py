"""The files of a home, once its catalog knows of nothing any more."""

from __future__ import annotations

import shutil
from contextlib import suppress
from pathlib import Path

from hybrid_core.store.home import CATALOG, FOLDERS, ORIGINALS
from hybrid_core.store.scratch import sweep


def forget_files(home: Path) -> None:
    """Delete the folders of a home, but for kept files that a document came to use meanwhile, and working files of
    processes that live.
    """
    for name in FOLDERS - {ORIGINALS, "tmp"}:
        shutil.rmtree(home / name, ignore_errors=True)
    for file in home.glob(f"{CATALOG}.damaged-*"):  # what a recovery left beside the new catalog
        file.unlink(missing_ok=True)
    sweep(home / "tmp")
    for folder in (*(home / ORIGINALS).glob("*"), home / ORIGINALS, home / "tmp"):
        with suppress(OSError):  # it is not empty, or was never there
            folder.rmdir()
