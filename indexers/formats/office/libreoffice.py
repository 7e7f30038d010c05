"""Conversion of files with LibreOffice, if it is installed, in a separate profile and with a time limit.

The memory limit is that of the calling worker.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from hybrid_core.errors import DocumentError
from hybrid_core.system import child_options, kill_tree
from hybrid_core.text.tokens import tokenise
from indexers.formats.format import PictureOptions

_SECONDS = 60.0
_AGAIN = 81  # exit status after it has created a profile
_ITEM = (
    '<item oor:path="/org.openoffice.Office.Common/Security/Scripting"><prop oor:name="{}" oor:op="fuse">'
    "<value>{}</value></prop></item>"
)
_PROFILE = (  # links are not fetched, macros do not run
    '<?xml version="1.0"?><oor:items xmlns:oor="http://openoffice.org/2001/registry">'
    + _ITEM.format("BlockUntrustedRefererLinks", "true")
    + _ITEM.format("DisableMacrosExecution", "true")
    + "</oor:items>"
)


def find_libreoffice() -> str | None:
    """Return the path of the LibreOffice program, None if it is not installed.

    It is the binary, not the script on the search path, since the script would start the binary as a further process.
    """
    script = shutil.which("soffice") or shutil.which("libreoffice")
    if script is None:
        return None
    program = Path(script).resolve().with_name("soffice.bin")
    return str(program if program.exists() else script)


def convert(program: str, path: Path, ending: str) -> bytes:
    """Convert a file to another format and return it. Raise DocumentError if that takes too long or fails."""
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
        converted = Path(folder, f"{path.stem}.{ending}")
        if not converted.exists():
            raise DocumentError("LibreOffice cannot open the file, because it is encrypted or damaged.", file=path)
        return converted.read_bytes()


def _run(command: Sequence[str], path: Path) -> int:
    """Run a program and return its exit status. No process of it remains afterwards."""
    process = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        **child_options(bound=True),
    )  # fmt: skip
    try:
        return process.wait(_SECONDS)
    except subprocess.TimeoutExpired as error:
        raise DocumentError(f"LibreOffice took more than {_SECONDS:.0f} s to open the file.", file=path) from error
    finally:
        if process.poll() is None:
            kill_tree(process)
            process.wait()


_BEGINNING = 80  # words at the start of a page by which it is recognised


def office_pdf(path: Path) -> bytes:
    """Return a file as PDF printed by LibreOffice. Raise DocumentError if it is missing or cannot print the file."""
    program = find_libreoffice()
    if program is None:
        raise DocumentError(
            "the printed view of a page needs LibreOffice, which is not installed.",
            "Install LibreOffice, or request the page without the printed view.",
            file=path,
        )
    return convert(program, path, "pdf")


def draw_office(pdf: bytes, number: int, text: str, slide: bool, how: PictureOptions) -> bytes:
    """Draw the printed page on which the indexed page ``number`` (1-based) with this ``text`` begins.

    ``slide`` means that indexed pages are slides; then the number decides if no words match. Raise DocumentError if no
    printed page shows the text.
    """
    import pymupdf  # slow to import (half a second), and conversions do not need it

    from indexers.formats.pdf.picture import draw_page

    with pymupdf.open("pdf", pdf) as document:
        texts = [printed.get_text() for printed in document]
        at = _best_page(_word_pairs(text, _BEGINNING), texts, number, slide)
        if at is None:
            raise DocumentError(
                f"page {number} cannot be shown as printed, because no page that LibreOffice printed contains the "
                "text of this page."
            )
        return draw_page(document[at], how)


def _best_page(pairs: set[tuple[str, str]], printed: Sequence[str], number: int, slide: bool) -> int | None:
    """Return the index of the printed page that shares most word pairs with ``pairs``, None if there is none.

    Among equally good pages it is the first, for slides the one nearest to ``number``. If there are no words,
    ``number`` decides.
    """
    counts = [len(pairs & _word_pairs(text)) for text in printed]
    best = max(counts, default=0)
    if not best:
        return number - 1 if (slide or not pairs) and number <= len(printed) else None
    equal = [at for at, count in enumerate(counts) if count == best]
    return min(equal, key=lambda at: abs(at + 1 - number)) if slide else equal[0]


def _word_pairs(text: str, limit: int | None = None) -> set[tuple[str, str]]:
    """Return the pairs of consecutive words, and each single word as a pair with ""."""
    words = tokenise(text)[:limit]
    return {(word, "") for word in words} | set(pairwise(words))
