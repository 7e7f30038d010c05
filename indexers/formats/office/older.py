"""DOC and PPT, the formats before 2007: LibreOffice, where it is installed, makes DOCX and PPTX of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from hybrid_core.errors import DocumentError
from indexers.formats.flow.blocks import Flow
from indexers.formats.flow.pictures import packed_pictures
from indexers.formats.limits import ParseLimits
from indexers.formats.office.docx import read_docx
from indexers.formats.office.libreoffice import convert, find_libreoffice
from indexers.formats.office.pptx import read_pptx


def read_doc(path: Path, limits: ParseLimits) -> Flow:
    return _converted(path, limits, "docx", read_docx)


def read_ppt(path: Path, limits: ParseLimits) -> Flow:
    return _converted(path, limits, "pptx", read_pptx)


def _converted(path: Path, limits: ParseLimits, ending: str, read: Callable[[Path, ParseLimits], Flow]) -> Flow:
    """Raises DocumentError where LibreOffice is missing, takes too long or makes nothing of the file."""
    program = find_libreoffice()
    if program is None:
        raise DocumentError(
            f"{path}: a file of Office 97 to 2003, which is read through LibreOffice, and that is not installed.",
            f"Install LibreOffice, or save the file as {ending.upper()}.",
        )
    data = convert(program, path, ending)
    with TemporaryDirectory() as folder:
        made = Path(folder, path.name)
        made.write_bytes(data)
        flow = read(made, limits)
        parts = list(flow.parts)
        flow.close()
    return replace(flow, parts=iter(parts), close=lambda: None, images=packed_pictures(path, limits, data))
