"""LibreOffice, where it is installed: files converted by it, in a profile of its own, within a time and a memory limit.

The memory is that of the worker it is started by, which hands its limit on.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from hybrid_core.errors import DocumentError
from hybrid_core.system.parent import end_with_parent

_SECONDS = 60.0
_AGAIN = 81  # its exit status after it made itself a profile
_ITEM = (
    '<item oor:path="/org.openoffice.Office.Common/Security/Scripting"><prop oor:name="{}" oor:op="fuse">'
    "<value>{}</value></prop></item>"
)
_PROFILE = (  # what is linked is not fetched, macros do not run
    '<?xml version="1.0"?><oor:items xmlns:oor="http://openoffice.org/2001/registry">'
    + _ITEM.format("BlockUntrustedRefererLinks", "true")
    + _ITEM.format("DisableMacrosExecution", "true")
    + "</oor:items>"
)


def find_libreoffice() -> str | None:
    """LibreOffice itself: the script on the path starts it as a grandchild, which nobody could end."""
    script = shutil.which("soffice") or shutil.which("libreoffice")
    if script is None:
        return None
    program = Path(script).resolve().with_name("soffice.bin")
    return str(program if program.exists() else script)


def convert(program: str, path: Path, ending: str) -> bytes:
    """A file as one of another kind. Raises DocumentError where it takes too long or nothing comes of it."""
    with tempfile.TemporaryDirectory() as folder:
        profile = Path(folder, "profile", "user")
        profile.mkdir(parents=True)
        (profile / "registrymodifications.xcu").write_text(_PROFILE)
        command = [
            program, "--headless", "--norestore", "--nolockcheck", "--nodefault", "--nologo",
            f"-env:UserInstallation={profile.parent.as_uri()}", "--convert-to", ending, "--outdir", folder, str(path),
        ]  # fmt: skip
        if _run(command, path) == _AGAIN:
            _run(command, path)
        made = Path(folder, f"{path.stem}.{ending}")
        if not made.exists():
            raise DocumentError(f"{path}: LibreOffice cannot open it: it is encrypted or damaged.")
        return made.read_bytes()


def _run(command: Sequence[str], path: Path) -> int:
    """Its exit status. Nothing of it is left when this returns."""
    process = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        start_new_session=True, preexec_fn=end_with_parent,
    )  # fmt: skip
    try:
        return process.wait(_SECONDS)
    except subprocess.TimeoutExpired as error:
        raise DocumentError(f"{path}: LibreOffice took more than {_SECONDS:.0f} s to open it.") from error
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
