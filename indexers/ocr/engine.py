"""What reads a picture of text: the one protocol of all engines, and what they answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Literal, Protocol

EngineName = Literal["Tesseract", "RapidOCR"]


@dataclass(frozen=True, slots=True)
class Word:
    """A word and its box in pixels from the top left. ``sure`` is the engine's confidence, 0 to 100."""

    text: str
    x0: float
    y0: float
    x1: float
    y1: float
    sure: float


@dataclass(frozen=True, slots=True)
class ReadLine:
    """Words of one line in reading order. ``size`` is from ascenders to descenders, in pixels."""

    words: tuple[Word, ...]
    size: float


class Engine(Protocol):
    def read(self, image: bytes, dpi: int) -> list[ReadLine]:
        """The lines of text on a grey image (PGM), whichever way up it is.

        Raises DocumentError where the engine fails.
        """


def sureness(lines: Sequence[ReadLine]) -> float:
    """Mean confidence in the words, 0 to 100; 0 where there are none."""
    return fmean(word.sure for line in lines for word in line.words) if lines else 0.0
