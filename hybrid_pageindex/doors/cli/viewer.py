"""A file in the program that the system shows such files with."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from hybrid_core.errors import DocumentError

_OPENERS = ("open",) if sys.platform == "darwin" else ("xdg-open", "gio", "wslview")
_PAGED = (".pdf",)  # «#page=3» behind the address means something to what shows these


def show_file(file: Path, page: int | None) -> None:
    """Raises DocumentError where the system has no program for it."""
    target = file.as_uri() + f"#page={page}" if page and file.suffix.lower() in _PAGED else str(file)
    if sys.platform == "win32":
        os.startfile(target)
        return
    opener = next((found for name in _OPENERS if (found := shutil.which(name))), None)
    if opener is None:
        raise DocumentError(f"{file}: this system has no program to open it with ({', '.join(_OPENERS)}).")
    command = [opener, "open", target] if Path(opener).name == "gio" else [opener, target]
    quiet = subprocess.DEVNULL
    done = subprocess.run(command, stdin=quiet, stdout=quiet, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        said = " ".join(done.stderr.split()) or f"{Path(opener).name} ended with {done.returncode}"
        raise DocumentError(f"{file}: it could not be opened ({said}).")
