"""RapidOCR: an OCR engine with the models of PaddleOCR, run by onnxruntime in this process.

One model reads Chinese, Japanese and some 45 languages in Latin script, which need not be named. A page takes about 5 s
of one core and a gigabyte of memory.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from statistics import fmean, median
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image

from hybrid_core.errors import DocumentError, LimitError
from hybrid_core.system import out_of_memory, require
from indexers.formats.limits import plain_reason
from indexers.ocr.engines import ReadLine, Word, sureness

_UPSIDE_DOWN = 85  # mean confidence below which the page is also read in other orientations
_TALL = 2.0  # ratio of height to width of the box of a vertical line
_SAME_ROW = 0.5  # of a line's height: maximum vertical difference of lines in a row
_WORD = re.compile(r"\S+")
_EAST_ASIAN = re.compile("[\u3040-\u30ff\u3400-\u9fff]")

_Quad = npt.NDArray[np.float64]
"""The four corners of a box, x and y in pixels, (4, 2): clockwise from the top left, in the direction of the text."""


class RapidOcr:
    """The RapidOCR engine. Raise PageIndexError if its packages (the extra "ocr") are not installed."""

    def __init__(self) -> None:
        self._models = _models()

    def read(self, image: bytes, dpi: int) -> list[ReadLine]:
        shown = np.asarray(Image.open(io.BytesIO(image)).convert("L"))
        lines = self._ask(shown, lambda quad: quad)
        if sureness(lines) >= _UPSIDE_DOWN and not _on_its_side(lines):
            return lines
        height, width = shown.shape
        turns: dict[int, Callable[[_Quad], _Quad]] = {  # quarter turns anticlockwise
            1: lambda quad: np.stack((width - quad[:, 1], quad[:, 0]), axis=1),
            2: lambda quad: np.stack((width - quad[:, 0], height - quad[:, 1]), axis=1),
            3: lambda quad: np.stack((quad[:, 1], height - quad[:, 0]), axis=1),
        }
        sideways = _on_its_side(lines)
        likely = () if not lines else (1, 3) if sideways else (2,)
        turned = [self._ask(np.rot90(shown, turn), turns[turn]) for turn in likely]
        return max(filter(None, turned if sideways else [lines, *turned]), key=sureness, default=lines)

    def _ask(self, image: npt.NDArray[np.uint8], back: Callable[[_Quad], _Quad]) -> list[ReadLine]:
        """Return the lines of text in an image, which may have been rotated.

        ``back`` converts positions to those before the rotation.
        """
        try:
            output = self._models(np.ascontiguousarray(np.stack((image,) * 3, axis=-1)))
        except Exception as error:
            if out_of_memory(error):
                raise LimitError(
                    "OCR of this page needs more memory than the setting max_ocr_memory allows",
                    "Raise the setting max_ocr_memory.",
                ) from error
            raise DocumentError(f"RapidOCR failed ({plain_reason(error, 'RapidOCR')})") from error
        if output.txts is None or output.boxes is None:
            return []
        split = output.word_results if output.word_results and len(output.word_results) == len(output.txts) else None
        lines = [
            (np.asarray(box, dtype=np.float64), text, 100 * float(score), split[at] if split else ())
            for at, (box, text, score) in enumerate(zip(output.boxes, output.txts, output.scores, strict=True))
        ]
        return [_make_line(*lines[at], back) for at in _reading_order([quad for quad, *_ in lines])]


@cache
def _models() -> Callable[..., Any]:
    """Return the models of RapidOCR. They are loaded once per process, and use one thread."""
    require("cv2", "ocr").setNumThreads(1)
    engine: Callable[..., Any] = require("rapidocr", "ocr").RapidOCR(
        params={
            "Global.log_level": "critical",
            "Global.use_cls": False,  # confidences show the orientation of a page in a third of the time
            "Global.return_word_box": True,
            "EngineConfig.onnxruntime.intra_op_num_threads": 1,
            "EngineConfig.onnxruntime.inter_op_num_threads": 1,
        }
    )
    return engine


def _reading_order(quads: Sequence[_Quad]) -> list[int]:
    """Return the indexes of boxes from top to bottom and left to right, also for a skewed page."""
    if not quads:
        return []
    slopes = [(q[1][1] - q[0][1]) / (q[1][0] - q[0][0]) for q in quads if q[1][0] - q[0][0] > 40]
    slope = median(slopes) if slopes else 0.0
    middle = [float(q[:, 1].mean() - slope * q[:, 0].mean()) for q in quads]
    tall = [float(abs(q[3][1] - q[0][1])) for q in quads]
    rows: list[list[int]] = []
    for at in sorted(range(len(quads)), key=middle.__getitem__):
        last = rows[-1] if rows else []
        if last and middle[at] - fmean(middle[item] for item in last) < _SAME_ROW * min(tall[at], tall[last[-1]]):
            last.append(at)
        else:
            rows.append([at])
    return [at for row in rows for at in sorted(row, key=lambda item: quads[item][0][0])]


def _make_line(
    quad: _Quad, text: str, sure: float, split: Sequence[tuple[str, float, Any]], back: Callable[[_Quad], _Quad]
) -> ReadLine:
    size = float(np.hypot(*(quad[3] - quad[0])))
    return ReadLine(tuple(_box_words(quad, text, sure, split, back)), size)


def _box_words(
    quad: _Quad, text: str, sure: float, split: Sequence[tuple[str, float, Any]], back: Callable[[_Quad], _Quad]
) -> Iterator[Word]:
    """Yield the words of a line with the boxes that the model gives.

    If the model divides the line into other words, boxes are computed from the share of letters.
    """
    words = list(_WORD.finditer(text))
    consistent = len(split) == len(words) and all(
        word[0] == part for word, (part, *_) in zip(words, split, strict=True)
    )
    for at, word in enumerate(words):
        if consistent:
            corners, mine = np.asarray(split[at][2], dtype=np.float64), 100 * float(split[at][1])
        else:
            start, end = word.start() / len(text), word.end() / len(text)
            top, bottom = quad[1] - quad[0], quad[2] - quad[3]
            corners = np.stack(
                (quad[0] + start * top, quad[0] + end * top, quad[3] + end * bottom, quad[3] + start * bottom)
            )
            mine = sure
        corners = back(corners)
        (x0, y0), (x1, y1) = corners.min(axis=0), corners.max(axis=0)
        yield Word(word[0], float(x0), float(y0), float(x1), float(y1), mine)


def _on_its_side(lines: Sequence[ReadLine]) -> bool:
    """Return whether most lines are vertical. In Latin script this shows that the page lies on its side."""
    down = latin = 0
    for line in lines:
        if not _EAST_ASIAN.search("".join(word.text for word in line.words)) and len(line.words) > 1:
            first, last = line.words[0], line.words[-1]
            latin += 1
            down += abs(last.y0 - first.y0) > _TALL * abs(last.x0 - first.x0)
    return down > 0.5 * len(lines) and latin > 0.5 * len(lines)
