"""OCR of pages: reading order, cached results, and when to use the second engine.

Engines that look for blocks mistake table columns for text columns; engines that only find lines mix text columns. The
lines of both kinds are joined into rows here. The thresholds come from synthetic pages in five languages
(benchmarks/ocr.py).
"""

from __future__ import annotations

import json
import re
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import fmean, median

from hybrid_core.errors import DocumentError, LimitError
from hybrid_core.system import out_of_memory
from hybrid_core.text.tokens import clean, readable
from hybrid_core.types.documents import Line, ParsedPage
from indexers.formats.format import DrawnFile, OpenFile, PicturedFile
from indexers.formats.pdf.reading_order import Piece, arrange
from indexers.ocr.engines import Engine, EngineName, ReadLine, Word, sureness


@dataclass(frozen=True, slots=True)
class PictureWords:
    """The lines of text read in a picture. They are inserted into the page's lines before ``line`` (from 0)."""

    line: int
    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Reading:
    """The text recognised on a page. ``sure`` is the mean confidence in the words, 0 to 100.

    ``lines`` are the lines of the whole page, None if OCR read only pictures on it or found nothing new. ``pictures``
    are the texts of these pictures. They are read on a page that has text of its own or no page image.
    """

    number: int
    engine: EngineName
    sure: int
    lines: tuple[Line, ...] | None = None
    pictures: tuple[PictureWords, ...] = ()

    @property
    def text(self) -> str:
        lines = [line.text for line in self.lines or ()]
        return "\n".join((*lines, *(word for picture in self.pictures for word in picture.words)))

    def onto(self, page: ParsedPage) -> ParsedPage:
        """Return the parsed page with the recognised text inserted."""
        read = replace(page, needs_ocr=False, ocr=True, pictures=0, engine=self.engine, sure=self.sure)
        if self.lines is not None:
            return replace(read, lines=self.lines, images=0)
        if not self.text and page.lines:
            return replace(page, needs_ocr=False, pictures=0)
        lines = list(page.lines)
        for picture in reversed(self.pictures):
            lines[picture.line : picture.line] = [Line(words, role="image") for words in picture.words]
        places = tuple((self.moved(line), place) for line, place in page.places)
        return replace(read, lines=tuple(lines), places=places)

    def moved(self, line: int) -> int:
        """Return the new index (from 0) of a line of the page, after the recognised text has been inserted."""
        return line + sum(len(picture.words) for picture in self.pictures if picture.line <= line)


def pack(reading: Reading) -> bytes:
    lines = None
    if reading.lines is not None:
        lines = [(line.text, line.x0, line.y0, line.x1, line.y1, line.size) for line in reading.lines]
    pictures = [(picture.line, picture.words) for picture in reading.pictures]
    fields = (reading.number, reading.engine, reading.sure, lines, pictures)
    return zlib.compress(json.dumps(fields, ensure_ascii=False).encode())


def unpack(data: bytes) -> Reading:
    number, engine, sure, lines_data, pictures = json.loads(zlib.decompress(data))
    lines = None
    if lines_data is not None:  # OCR does not recognise fonts or weights
        lines = tuple(Line(text, x0, y0, x1, y1, size) for text, x0, y0, x1, y1, size in lines_data)
    read = tuple(PictureWords(line, tuple(words)) for line, words in pictures)
    return Reading(number, engine, sure, lines, read)


def cache_key(sha256: str, tag: str, number: int) -> str:
    """Return the cache key of the recognised text of a page. ``tag`` identifies the engines and languages."""
    return f"ocr/{sha256}/{tag}/{number}"


_CELL = 22  # maximum letters of a table cell beside other pieces
_TORN = 0.5  # minimum share of cells among pieces beside others on a page that is a table
_LEVEL = 0.9  # minimum share of horizontal pieces on a page that is not rotated
_SAME_ROW = 0.5  # of a line's height: maximum vertical difference of pieces in a row


def in_reading_order(pieces: Sequence[Piece]) -> list[Line]:
    """Return pieces of text as the lines of a page in reading order."""
    return arrange(_sort_by_row(pieces) if _torn(pieces) else pieces)


def _torn(pieces: Sequence[Piece]) -> bool:
    """Return whether OCR read a table column by column, so that neighbouring cells do not follow each other."""
    level = [piece.line for piece in pieces if piece.level]
    backs = sum(after.y1 < before.y0 and after.x0 > before.x0 for before, after in pairwise(level))
    if not backs or len(level) < _LEVEL * len(pieces):
        return False
    neighbours = [line for line in level if any(_side_by_side(line, other) for other in level)]
    cells = sum(len(line.text) <= _CELL for line in neighbours)
    return len(neighbours) > 4 and cells > _TORN * len(neighbours)


def _side_by_side(line: Line, other: Line) -> bool:
    overlap = min(line.y1, other.y1) - max(line.y0, other.y0)
    apart = line.x0 >= other.x1 or other.x0 >= line.x1
    return apart and overlap > _SAME_ROW * min(line.y1 - line.y0, other.y1 - other.y0)


def _sort_by_row(pieces: Sequence[Piece]) -> list[Piece]:
    rows: list[list[Piece]] = []
    for piece in sorted(pieces, key=_middle):
        height = piece.line.y1 - piece.line.y0
        if rows and _middle(piece) - fmean(map(_middle, rows[-1])) < _SAME_ROW * min(height, _height(rows[-1])):
            rows[-1].append(piece)
        else:
            rows.append([piece])
    return [piece for row in rows for piece in sorted(row, key=lambda piece: piece.line.x0)]


def _middle(piece: Piece) -> float:
    return (piece.line.y0 + piece.line.y1) / 2


def _height(row: Sequence[Piece]) -> float:
    return median(piece.line.y1 - piece.line.y0 for piece in row)


_DPI = 200  # at 150, digits in small tables are wrong; 300 takes half as long again and reads no more
_LEAST_SIDE, _MOST_PIXELS = 1_500, 25_000_000  # minimum pixels of the longer side, and maximum pixels of the drawn page
_DOUBTFUL_WORD, _DOUBTFUL_LINE = 30, 50  # below these confidences, the text is a picture mistaken for letters
_WIDE = 1.5  # gap in line heights that separates cells
_EAST_ASIAN = "\u2e80"  # first character of scripts written without spaces
_PICTURE = "[picture] "  # prefix of the text of a picture


def read_page(file: OpenFile, number: int, name: EngineName, engine: Engine) -> Reading:
    """Recognise the text of a page (from 1), or of the pictures on it.

    Raise DocumentError if it cannot be drawn or the result is not text.
    """
    try:
        if isinstance(file, PicturedFile):
            return _read_pictures(file, number, name, engine)
        if not isinstance(file, DrawnFile):
            raise DocumentError("files of this format have no page images to recognise")
        before = next(iter(file.read([number], lambda _: None)))
        if isinstance(before, DocumentError):
            raise before
        return _read_drawn(file, before, name, engine)
    except DocumentError:
        raise
    except Exception as error:
        if out_of_memory(error):
            raise LimitError("reading the page needs more memory than a worker process may use") from error
        raise DocumentError(f"the page cannot be drawn ({error})") from error


def _read_drawn(file: DrawnFile, before: ParsedPage, name: EngineName, engine: Engine) -> Reading:
    number, dpi = before.number, _resolution(before)
    read_lines = engine.read(file.grey(number, dpi), dpi)
    pieces = [piece for line in read_lines for piece in _line_pieces(line, 72 / dpi)]
    own = before.lines if readable(before.text) else ()
    if own:  # a stamp or running head, with the exact text from the file
        pieces = [piece for piece in pieces if not any(_covers(line, piece.line) for line in own)]
        if not pieces:
            return Reading(number, name, round(sureness(read_lines)))
        pieces = sorted((*pieces, *(Piece(line, True) for line in own)), key=lambda piece: piece.line.y0)
    lines = in_reading_order(pieces)
    if not readable("\n".join(line.text for line in lines)) and (lines or before.lines):
        raise DocumentError("the result of OCR is not readable text")
    return Reading(number, name, round(sureness(read_lines)), tuple(lines))


def _read_pictures(file: PicturedFile, number: int, name: EngineName, engine: Engine) -> Reading:
    pictures: list[PictureWords] = []
    sure: list[float] = []
    for line, image in file.page_pictures(number):
        lines = engine.read(image, _DPI)
        pieces = [piece for read_line in lines for piece in _line_pieces(read_line, 72 / _DPI)]
        words = [read_line.text for read_line in in_reading_order(pieces)]
        if words and readable("\n".join(words)):
            words[0] = _PICTURE + words[0]
            pictures.append(PictureWords(line, tuple(words)))
            sure.append(sureness(lines))
    return Reading(number, name, round(fmean(sure)) if sure else 0, None, tuple(pictures))


def _resolution(page: ParsedPage) -> int:
    longest = max(page.width, page.height) / 72  # inches
    dpi = max(_DPI, round(_LEAST_SIDE / longest))
    pixels = page.width * page.height / 72**2 * dpi**2
    return max(1, int(dpi * min(1.0, (_MOST_PIXELS / pixels) ** 0.5)))


def _covers(line: Line, other: Line) -> bool:
    """Return whether the middle of the box of ``other`` is inside the box of ``line``."""
    x, y = (other.x0 + other.x1) / 2, (other.y0 + other.y1) / 2
    return line.x0 - 1 <= x <= line.x1 + 1 and line.y0 - 1 <= y <= line.y1 + 1


def _line_pieces(line: ReadLine, scale: float) -> Iterator[Piece]:
    """Yield the pieces of a line, split into cells at wide gaps, with positions in points.

    Yield nothing if the words of the line are doubtful.
    """
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
        text = clean(_join_words(cell)).strip()
        if any(map(str.isalnum, text)):
            left, right = min(word.x0 for word in cell), max(word.x1 for word in cell)
            level = len(text) == 1 or right - left >= bottom - top
            box = (left * scale, top * scale, right * scale, bottom * scale)
            yield Piece(Line(text, *box, round(line.size * scale, 1), False, False, ""), level)


def _join_words(words: Sequence[Word]) -> str:
    text = words[0].text
    for word in words[1:]:
        text += word.text if min(text[-1], word.text[0]) >= _EAST_ASIAN else f" {word.text}"
    return text


_DOUBTFUL = 80  # mean confidence of Tesseract
_SURE = 85  # mean confidence of RapidOCR, which is 97 to 99 for correct text
_LEAST_WORDS = 6  # minimum words by which a language is detected

_WORD = re.compile(r"[^\W\d_]+")
_LITTLE = {
    "eng": "the of and to in is for that with on by be this are as it or from not which",
    "deu": "der die und das ist nicht mit von den dem des ein eine zu auf sich wird sind auch bei nach zur zum oder",
    "fra": "le la les des du et une est dans pour par sur au aux que qui ne pas avec ou ce sont",
    "spa": "el la los las del y una es en por para con que se no su al como o este",
    "ita": "il lo gli della del di che e un una per con non sono nel alla dei le da si",
    "por": "o os as da do das dos e um uma para com que não se em no na por ao",
    "nld": "de het een van en in is dat op te voor met niet zijn aan er door bij ook of",
    "pol": "w na do nie się z jest że oraz po od przez dla jak przy lub ich ma tego",
    "swe": "och att det en som på är av för med den till inte har om ett från eller vid",
    "dan": "og at det en som på er af for med den til ikke har om et fra eller ved",
}
_WORDS = {language: frozenset(words.split()) for language, words in _LITTLE.items()}


def doubtful(text: str, sure: float, languages: str) -> bool:
    """Return whether the text of a page may be wrong if it was read as ``languages`` ("eng+deu").

    ``sure`` is the mean confidence of the reading, 0 to 100.
    """
    return sure < _DOUBTFUL or language_of(text) not in ("", *languages.split("+"))


def language_of(text: str) -> str:
    """Return Tesseract's code of a text's language, recognised by common short words; "" if unknown."""
    counts = Counter(word.casefold() for word in _WORD.findall(text))
    scores = {language: sum(counts[word] for word in words) for language, words in _WORDS.items()}
    best = max(scores, key=lambda language: scores[language])
    return best if scores[best] >= _LEAST_WORDS and scores[best] >= 0.1 * counts.total() else ""


def better(second: str, sure: float, first: str) -> bool:
    """Return whether the text of the second engine is better than that of the first.

    ``sure`` is the mean confidence of the second engine, 0 to 100.
    """
    return bool(second) and (sure >= _SURE or not first)
