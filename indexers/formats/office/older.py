"""DOC and PPT, the formats before 2007: LibreOffice, where it is installed, makes DOCX and PPTX of them.

Where it is not, their text, headings and slides are read as they lie in the file, and a note says so.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from indexers.formats.flow.blocks import Flow
from indexers.formats.flow.pictures import packed_pictures
from indexers.formats.limits import ParseLimits
from indexers.formats.office.docx import read_docx
from indexers.formats.office.libreoffice import convert, find_libreoffice
from indexers.formats.office.powerpoint97 import read_powerpoint97
from indexers.formats.office.pptx import read_pptx
from indexers.formats.office.word97 import read_word97

Read = Callable[[Path, ParseLimits], Flow]
_PLAIN = "read without LibreOffice: its text, headings and tables, not its lists' numbers and pictures"


def read_doc(path: Path, limits: ParseLimits) -> Flow:
    return _converted(path, limits, "docx", read_docx, read_word97)


def read_ppt(path: Path, limits: ParseLimits) -> Flow:
    return _converted(path, limits, "pptx", read_pptx, read_powerpoint97)


def _converted(path: Path, limits: ParseLimits, ending: str, read: Read, read_itself: Read) -> Flow:
    """Raises DocumentError where nothing can be made of the file, or where LibreOffice takes too long."""
    program = find_libreoffice()
    if program is None:
        flow = read_itself(path, limits)
        return replace(flow, warnings=[*flow.warnings, _PLAIN])
    data = convert(program, path, ending)
    with TemporaryDirectory() as folder:
        made = Path(folder, path.name)
        made.write_bytes(data)
        flow = read(made, limits)
        parts = list(flow.parts)
        flow.close()
    return replace(flow, parts=iter(parts), close=lambda: None, images=packed_pictures(path, limits, data))
