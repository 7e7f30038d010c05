"""Which engines of OCR are here, and what tests that need one are marked with."""

from __future__ import annotations

import pytest

from hybrid_core.errors import PageIndexError
from indexers.ocr.engines import NoOcr, Ocr, Tesseract, find_ocr


def _found() -> Ocr | NoOcr:
    try:
        return find_ocr("auto", "eng")
    except PageIndexError as error:
        return NoOcr(str(error))


FOUND = _found()
TESSERACT = FOUND.tesseract if isinstance(FOUND, Ocr) else None
reads = pytest.mark.skipif(TESSERACT is None, reason="Tesseract with its English data is not installed")
rapid = pytest.mark.skipif(
    not (isinstance(FOUND, Ocr) and FOUND.rapid), reason="the extra ocr (RapidOCR) is not installed"
)


def tesseract() -> Tesseract:
    assert TESSERACT is not None
    return TESSERACT
