"""Measure OCR errors on generated pages and tables, for each engine alone and for both together.

    python -m benchmarks ocr [--json]

The pages are in five languages. They are read as ``index`` reads them, in clean and in poor quality. The columns are:

- CER (character error rate): the edit distance to the true text, divided by its length. White space is ignored, text is
  normalised (NFKC), and words are in reading order.
- recall: the share of the distinct words that were read; in Chinese and Japanese, of the distinct characters.
- sure: the engine's mean confidence.
- seconds: wall time.

"Together" is what ``index`` does if Tesseract has English only: Tesseract reads first.
"""

from __future__ import annotations

import argparse
import json
import re
import time
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from benchmarks.ocr_pages import KnownPage, known_pages
from hybrid_core.errors import DocumentError
from hybrid_core.types.documents import ParsedPage
from indexers.formats.format import FileInfo
from indexers.ocr.engines import Engine, EngineName, Ocr, find_ocr
from indexers.ocr.pages import Reading, better, doubtful, read_page


@dataclass(frozen=True, slots=True)
class Figure:
    page: str
    engine: str
    cer: float
    recall: float
    sure: int
    seconds: float


class _Drawn:
    """A file with one A4 page that shows a known picture."""

    pages = 1

    def __init__(self, page: KnownPage) -> None:
        self._image = page.image

    def info(self) -> FileInfo:
        return FileInfo(1, (), {}, ())

    def read(self, numbers: Iterable[int], on_page: Callable[[int], None]) -> Iterator[ParsedPage | DocumentError]:
        for number in numbers:
            yield ParsedPage(number, "", 595, 842, images=1, needs_ocr=True)
            on_page(number)

    def grey(self, number: int, dpi: int) -> bytes:
        return self._image

    def close(self) -> None:
        pass


def cer(truth: str, read: str) -> float:
    a, b = _plain(truth), np.array([ord(c) for c in _plain(read)])
    steps = np.arange(len(b) + 1)
    row = steps.copy()
    for at, letter in enumerate(a, 1):
        new = np.concatenate(([at], np.minimum(row[1:] + 1, row[:-1] + (b != ord(letter)))))
        row = np.minimum.accumulate(new - steps) + steps
    return float(row[-1] / len(a))


def recall(page: KnownPage, read: str) -> float:
    parts: Callable[[str], set[str]] = (lambda s: set(_plain(s))) if page.language in ("zh", "ja") else _words
    truth = parts(page.words)
    return len(truth & parts(read)) / len(truth)


def _words(text: str) -> set[str]:
    return set(unicodedata.normalize("NFKC", text).split())


def _plain(text: str) -> str:
    return re.sub(r"\s", "", unicodedata.normalize("NFKC", text))


def figures(ocr: Ocr) -> Iterator[Figure]:
    from indexers.ocr.rapid import RapidOcr

    engines: dict[EngineName, Engine] = {}
    if ocr.tesseract is not None:
        engines["Tesseract"] = ocr.tesseract
    if ocr.rapid:
        engines["RapidOCR"] = RapidOcr()
    for page in known_pages():
        read: list[tuple[Reading, float]] = []
        for name, engine in engines.items():
            began = time.monotonic()
            try:
                reading = read_page(_Drawn(page), 1, name, engine)
            except DocumentError:
                reading = Reading(1, name, 0, ())
            read.append((reading, time.monotonic() - began))
            yield _figure(page, name, *read[-1])
        if len(read) == 2:
            (first, a), (second, b) = read
            unsure = doubtful(first.text, first.sure, ocr.languages)
            taken = second if unsure and better(second.text, second.sure, first.text) else first
            yield _figure(page, "together", taken, a + b * unsure)


def _figure(page: KnownPage, name: str, reading: Reading, seconds: float) -> Figure:
    rates = (round(cer(page.words, reading.text), 3), round(recall(page, reading.text), 3))
    return Figure(page.name, name, *rates, reading.sure, round(seconds, 1))


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--pictures", type=Path, help="a folder to which the pages are written as PGM")
    options = parser.parse_args()
    if options.pictures:
        for page in known_pages():
            (options.pictures / f"{page.name.replace(' ', '-')}.pgm").write_bytes(page.image)
    ocr = find_ocr("auto", "eng")
    if not isinstance(ocr, Ocr):
        print(ocr.reason)
        return 1
    rows = []
    for row in figures(ocr):
        rows.append(asdict(row))
        if not options.json:
            print(
                f"{row.page:18}{row.engine:11}CER {row.cer:.3f}  recall {row.recall:.3f}  sure {row.sure:3}"
                f"{row.seconds:6.1f} s",
                flush=True,
            )
    if options.json:
        print(json.dumps(rows))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
