"""Copies of PDFs with notes as annotations."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

import pymupdf

from indexers.formats.format import PageNote
from indexers.formats.limits import ParseLimits
from indexers.formats.pdf.document import drawing, open_pdf

_MARGIN = 20.0  # points between the corner of a page and the sign of a note on the page
_KEEP = 0  # PyMuPDF's PDF_ENCRYPT_KEEP, which its types lack
_STEP = 24.0  # points from one sign to the next


def annotate(path: Path, password: str | None, result: Path, notes: Sequence[PageNote], limits: ParseLimits) -> None:
    """Write a copy of a PDF with notes: highlights, or a sign in the corner of the page for a note without boxes.

    Signatures and encryption stay, because new objects are appended to the bytes of the file. Only a damaged file is
    written anew. Raise the errors of ``open_pdf``, and DocumentError if the notes cannot be written.
    """
    shutil.copyfile(path, result)
    result.chmod(0o600)
    with open_pdf(result, password, limits) as document, drawing("its notes", "max_objects", file=path):
        signs: dict[int, int] = {}
        for note in notes:
            page = document[note.page - 1]
            if note.boxes:
                quads = [_quad(page, box) for box in note.boxes]
                annotation = page.add_highlight_annot(quads=quads)
            else:
                at = _MARGIN + _STEP * signs.get(note.page, 0)
                signs[note.page] = signs.get(note.page, 0) + 1
                annotation = page.add_text_annot(pymupdf.Point(_MARGIN, at) * page.derotation_matrix, note.text)
            annotation.set_info(content=note.text, title=note.author)
            annotation.update()
        if document.can_save_incrementally():
            document.saveIncr()
            return
        mended = result.with_name(f"{result.name}.mended")
        document.save(mended, encryption=_KEEP)
    mended.replace(result)


def _quad(page: pymupdf.Page, box: tuple[float, float, float, float]) -> pymupdf.Quad:
    """Convert a box on the page image to coordinates of the page, which may be rotated."""
    quad: pymupdf.Quad = pymupdf.Rect(box).quad * page.derotation_matrix
    return quad
