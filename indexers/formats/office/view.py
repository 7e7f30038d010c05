"""Pages as LibreOffice prints them, to look at: which of its pages shows what one of ours says, and its picture."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import pymupdf

from hybrid_core.errors import DocumentError
from hybrid_core.text.tokens import tokenise
from indexers.formats.drawing import Picture
from indexers.formats.office.libreoffice import convert, find_libreoffice
from indexers.formats.pdf.picture import draw_page

_BEGINNING = 80  # words by which a page is found


def office_pdf(path: Path) -> bytes:
    """A file as LibreOffice prints it. Raises DocumentError where it is not installed, or makes nothing of the file."""
    program = find_libreoffice()
    if program is None:
        raise DocumentError(
            f"{path}: its view as printed is LibreOffice's, and that is not installed.",
            "Install LibreOffice, or look at the page without this view.",
        )
    return convert(program, path, "pdf")


def draw_office(pdf: bytes, number: int, text: str, slide: bool, how: Picture) -> bytes:
    """The picture of the printed page on which our page ``number`` (1-based) with this ``text`` begins.

    ``slide``: a page of ours is one of the file's own, so its number counts where words do not tell. Raises
    DocumentError where no printed page shows it.
    """
    with pymupdf.open("pdf", pdf) as document:
        said = [printed.get_text() for printed in document]
        at = _found(_pairs(text, _BEGINNING), said, number, slide)
        if at is None:
            raise DocumentError(f"page {number}: no page that LibreOffice prints shows its words.")
        return draw_page(document[at], how)


def _found(wanted: set[tuple[str, str]], printed: Sequence[str], number: int, slide: bool) -> int | None:
    """The page, from 0, that holds most of the wanted words; of equal ones the first, of slides that nearest to
    ``number``, which alone counts where nothing is wanted.
    """
    held = [len(wanted & _pairs(text)) for text in printed]
    best = max(held, default=0)
    if not best:
        return number - 1 if (slide or not wanted) and number <= len(printed) else None
    equal = [at for at, count in enumerate(held) if count == best]
    return min(equal, key=lambda at: abs(at + 1 - number)) if slide else equal[0]


def _pairs(text: str, most: int | None = None) -> set[tuple[str, str]]:
    """Words with the one after each; single ones too, so that a page of few words is found."""
    words = tokenise(text)[:most]
    return {(word, "") for word in words} | set(pairwise(words))
