"""What was read from a page's picture, or from the pictures on it, as bytes: kept so that no page is read twice."""

from __future__ import annotations

import json
import zlib
from dataclasses import dataclass, replace

from hybrid_core.types.documents import Line, ParsedPage
from indexers.ocr.engine import EngineName


@dataclass(frozen=True, slots=True)
class PictureWords:
    """The lines that a picture shows; on its page they come before ``line`` (from 0)."""

    line: int
    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Reading:
    """``sure`` is the mean confidence in the words, 0 to 100. ``lines`` are all of the page, where it was drawn;
    ``pictures`` what pictures show on a page that has text of its own, or has no look.
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
        """The page as it was parsed, with what was read."""
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
        """Where a line of the page, from 0, stands once it is read."""
        return line + sum(len(picture.words) for picture in self.pictures if picture.line <= line)


def pack(reading: Reading) -> bytes:
    lines = None
    if reading.lines is not None:
        lines = [(line.text, line.x0, line.y0, line.x1, line.y1, line.size) for line in reading.lines]
    pictures = [(picture.line, picture.words) for picture in reading.pictures]
    held = (reading.number, reading.engine, reading.sure, lines, pictures)
    return zlib.compress(json.dumps(held, ensure_ascii=False).encode())


def unpack(data: bytes) -> Reading:
    number, engine, sure, held, pictures = json.loads(zlib.decompress(data))
    lines = None
    if held is not None:  # a picture tells neither fonts nor weights
        lines = tuple(Line(text, x0, y0, x1, y1, size) for text, x0, y0, x1, y1, size in held)
    read = tuple(PictureWords(line, tuple(words)) for line, words in pictures)
    return Reading(number, engine, sure, lines, read)


def cache_key(sha256: str, tag: str, number: int) -> str:
    """``tag`` is of what reads it."""
    return f"ocr/{sha256}/{tag}/{number}"
