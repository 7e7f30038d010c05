"""A page that was read by OCR as bytes: what a worker hands over, and what is kept so that no page is read twice."""

from __future__ import annotations

import json
import zlib

from hybrid_core.types.documents import Line, ParsedPage

VERSION = "tesseract-2"
"""Of what reads pages from their pictures: raising it reads them again."""


def pack(page: ParsedPage) -> bytes:
    lines = [(line.text, line.x0, line.y0, line.x1, line.y1, line.size) for line in page.lines]
    held = (page.number, page.label, page.width, page.height, lines)
    return zlib.compress(json.dumps(held, ensure_ascii=False).encode())


def unpack(data: bytes) -> ParsedPage:
    number, label, width, height, lines = json.loads(zlib.decompress(data))
    read = tuple(
        Line(text, x0, y0, x1, y1, size, bold=False, italic=False, font="")  # a picture tells neither
        for text, x0, y0, x1, y1, size in lines
    )
    return ParsedPage(number, label, width, height, read, images=0, ocr=True)


def cache_key(sha256: str, languages: str, number: int) -> str:
    return f"ocr/{sha256}/{VERSION}/{languages}/{number}"
