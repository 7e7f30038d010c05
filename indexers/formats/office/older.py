"""DOC and PPT, the formats before 2007: LibreOffice, where it is installed, makes DOCX and PPTX of them."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from hybrid_core.errors import DocumentError
from hybrid_core.system.parent import end_with_parent
from indexers.formats.flow.blocks import Flow
from indexers.formats.limits import ParseLimits
from indexers.formats.office.docx import read_docx
from indexers.formats.office.pptx import read_pptx

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


def read_doc(path: Path, limits: ParseLimits) -> Flow:
    return _converted(path, limits, "docx", read_docx)


def read_ppt(path: Path, limits: ParseLimits) -> Flow:
    return _converted(path, limits, "pptx", read_pptx)


def _converted(path: Path, limits: ParseLimits, ending: str, read: Callable[[Path, ParseLimits], Flow]) -> Flow:
    """Raises DocumentError where LibreOffice is missing, takes too long or makes nothing of the file."""
    program = _program()
    if program is None:
        raise DocumentError(
            f"{path}: a file of Office 97 to 2003, which is read through LibreOffice, and that is not installed.",
            f"Install LibreOffice, or save the file as {ending.upper()}.",
        )
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
        flow = read(made, limits)
        return Flow(iter(list(flow.parts)), flow.metadata, flow.warnings, flow.printed, flow.clauses, flow.close)


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


def _program() -> str | None:
    """LibreOffice itself: the script on the path starts it as a grandchild, which nobody could end."""
    script = shutil.which("soffice") or shutil.which("libreoffice")
    if script is None:
        return None
    program = Path(script).resolve().with_name("soffice.bin")
    return str(program if program.exists() else script)
