"""A page without readable text, read from its picture; a page with pictures, read from these."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from statistics import fmean

from hybrid_core.errors import DocumentError, LimitError
from hybrid_core.text.tokens import clean, readable
from hybrid_core.types.documents import Line, ParsedPage
from indexers.formats.format import DrawnFile, OpenFile, PicturedFile
from indexers.formats.limits import out_of_memory
from indexers.formats.pdf.reading_order import Piece
from indexers.ocr.engine import Engine, EngineName, ReadLine, Word, sureness
from indexers.ocr.order import in_reading_order
from indexers.ocr.pages import PictureWords, Reading

_DPI = 200  # figures in small tables are wrong at 150; 300 takes half as long again and reads no more
_LEAST_SIDE, _MOST_PIXELS = 1_500, 25_000_000  # of the drawn page
_DOUBTFUL_WORD, _DOUBTFUL_LINE = 30, 50  # below these confidences it is a picture that was taken for letters
_WIDE = 1.5  # line heights between words that make them cells
_EAST_ASIAN = "\u2e80"  # the first of the characters that are written without spaces
_PICTURE = "[picture] "  # stands before what one shows


def read_page(file: OpenFile, number: int, name: EngineName, engine: Engine) -> Reading:
    """What the picture of a page (1-based) shows, or the pictures on it.

    Raises DocumentError where it cannot be drawn or what was read is no text.
    """
    try:
        if isinstance(file, PicturedFile):
            return _read_pictures(file, number, name, engine)
        if not isinstance(file, DrawnFile):
            raise DocumentError("pages of its format have no pictures")
        before = next(iter(file.read([number], lambda _: None)))
        if isinstance(before, DocumentError):
            raise before
        return _read_drawn(file, before, name, engine)
    except DocumentError:
        raise
    except Exception as error:
        if out_of_memory(error):
            raise LimitError("it needs more memory than a worker may use") from error
        raise DocumentError(f"it cannot be drawn ({error})") from error


def _read_drawn(file: DrawnFile, before: ParsedPage, name: EngineName, engine: Engine) -> Reading:
    number, dpi = before.number, _resolution(before)
    found = engine.read(file.grey(number, dpi), dpi)
    pieces = [piece for line in found for piece in _pieces(line, 72 / dpi)]
    own = before.lines if readable(before.text) else ()
    if own:  # a stamp or a running head, exact as the file has it
        pieces = [piece for piece in pieces if not any(_covers(line, piece.line) for line in own)]
        if not pieces:
            return Reading(number, name, round(sureness(found)))
        pieces = sorted((*pieces, *(Piece(line, True) for line in own)), key=lambda piece: piece.line.y0)
    lines = in_reading_order(pieces)
    if not readable("\n".join(line.text for line in lines)) and (lines or before.lines):
        raise DocumentError("what was read is not text")
    return Reading(number, name, round(sureness(found)), tuple(lines))


def _read_pictures(file: PicturedFile, number: int, name: EngineName, engine: Engine) -> Reading:
    pictures: list[PictureWords] = []
    sure: list[float] = []
    for line, image in file.page_pictures(number):
        found = engine.read(image, _DPI)
        pieces = [piece for one in found for piece in _pieces(one, 72 / _DPI)]
        words = [one.text for one in in_reading_order(pieces)]
        if words and readable("\n".join(words)):
            words[0] = _PICTURE + words[0]
            pictures.append(PictureWords(line, tuple(words)))
            sure.append(sureness(found))
    return Reading(number, name, round(fmean(sure)) if sure else 0, None, tuple(pictures))


def _resolution(page: ParsedPage) -> int:
    longest = max(page.width, page.height) / 72  # inches
    dpi = max(_DPI, round(_LEAST_SIDE / longest))
    pixels = page.width * page.height / 72**2 * dpi**2
    return max(1, int(dpi * min(1.0, (_MOST_PIXELS / pixels) ** 0.5)))


def _covers(line: Line, other: Line) -> bool:
    """Whether the middle of another line lies on a line."""
    x, y = (other.x0 + other.x1) / 2, (other.y0 + other.y1) / 2
    return line.x0 - 1 <= x <= line.x1 + 1 and line.y0 - 1 <= y <= line.y1 + 1


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
