"""A page without readable text, read from its picture."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from statistics import fmean

from hybrid_core.errors import DocumentError, LimitError
from hybrid_core.text.tokens import clean, readable
from hybrid_core.types.documents import Line, ParsedPage
from indexers.formats.format import DrawnFile
from indexers.formats.limits import ParseLimits, out_of_memory
from indexers.formats.pdf.reading_order import Piece, arrange
from indexers.formats.registry import open_file
from indexers.ocr.tesseract import ReadLine, Tesseract, Word, read_image

_DPI = 200  # figures in small tables are wrong at 150; 300 takes half as long again and reads no more
_LEAST_SIDE, _MOST_PIXELS = 1_500, 25_000_000  # of the drawn page
_DOUBTFUL_WORD, _DOUBTFUL_LINE = 30, 50  # below these confidences it is a picture that was taken for letters
_UPSIDE_DOWN = 55  # mean confidence: pages on their head or on their right side have about 30, others from 75
_WIDE = 1.5  # line heights between words that make them cells
_EAST_ASIAN = "\u2e80"  # the first of the characters that are written without spaces


def read_scan(
    path: Path, password: str | None, number: int, tesseract: Tesseract, limits: ParseLimits = ParseLimits()
) -> ParsedPage:
    """A page (1-based) of a file with the text that its picture shows.

    Raises DocumentError where the page cannot be drawn or what was read is no text.
    """
    file = open_file(path, password, limits)
    try:
        if not isinstance(file, DrawnFile):
            raise DocumentError("pages of its format have no pictures")
        before = next(iter(file.read([number], lambda _: None)))
        if isinstance(before, DocumentError):
            raise before
        lines = _read(file, before, tesseract)
    except DocumentError:
        raise
    except Exception as error:
        if out_of_memory(error):
            raise LimitError("it needs more memory than a worker may use") from error
        raise DocumentError(f"it cannot be drawn ({error})") from error
    finally:
        file.close()
    page = replace(before, lines=tuple(lines), images=0, needs_ocr=False, ocr=True)
    if readable(page.text) or not (lines or before.lines):
        return page
    raise DocumentError("what was read is not text")


def _read(file: DrawnFile, page: ParsedPage, tesseract: Tesseract) -> list[Line]:
    longest = max(page.width, page.height) / 72  # inches
    dpi = max(_DPI, round(_LEAST_SIDE / longest))
    pixels = page.width * page.height / 72**2 * dpi**2
    dpi = max(1, int(dpi * min(1.0, (_MOST_PIXELS / pixels) ** 0.5)))
    image = file.grey(page.number, dpi)
    found = read_image(tesseract, image, dpi)
    if tesseract.turns and found and _sure(found) < _UPSIDE_DOWN:
        found = max(found, read_image(tesseract, image, dpi, turned=True), key=_sure)
    return arrange([piece for line in found for piece in _pieces(line, 72 / dpi)])


def _sure(lines: Sequence[ReadLine]) -> float:
    return fmean(word.sure for line in lines for word in line.words) if lines else 0.0


def _pieces(line: ReadLine, scale: float) -> Iterator[Piece]:
    """A line in points, split into cells where a gap is wide; nothing where it is all doubtful."""
    words = [word for word in line.words if word.sure >= _DOUBTFUL_WORD]
    if not words or fmean(word.sure for word in words) < _DOUBTFUL_LINE:
        return
    top, bottom = min(word.y0 for word in words), max(word.y1 for word in words)
    cells = [[words[0]]]
    for before, word in pairwise(words):
        if word.x0 - before.x1 > _WIDE * line.size:
            cells.append([])
        cells[-1].append(word)
    for cell in cells:
        text = clean(_joined(cell)).strip()
        if any(map(str.isalnum, text)):
            left, right = min(word.x0 for word in cell), max(word.x1 for word in cell)
            level = len(text) == 1 or right - left >= bottom - top
            box = (left * scale, top * scale, right * scale, bottom * scale)
            yield Piece(Line(text, *box, round(line.size * scale, 1), False, False, ""), level)


def _joined(words: Sequence[Word]) -> str:
    text = words[0].text
    for word in words[1:]:
        text += word.text if min(text[-1], word.text[0]) >= _EAST_ASIAN else f" {word.text}"
    return text
