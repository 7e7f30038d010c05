"""Which version of a file's bytes is stored: by the pipeline that made it, and by how far its scans were read."""

from __future__ import annotations

import hashlib

from indexers.build import pipeline
from indexers.parse.ocr_pages import VERSION
from indexers.parse.tesseract import Tesseract


def content_id(sha256: str, format: str) -> str:
    """The identity of what this pipeline makes of a file's bytes, read as a format."""
    return hashlib.sha256(f"{sha256}|{pipeline(format)}".encode()).hexdigest()[:24]


def with_ocr(content: str, tesseract: Tesseract) -> str:
    """The identity of the same with pages read by OCR. Of a file without such pages there is none."""
    return f"{content}-{hashlib.sha256(f'{VERSION}|{tesseract.languages}'.encode()).hexdigest()[:8]}"


def with_some_ocr(content: str, tesseract: Tesseract, pages: int) -> str:
    """The identity of the same while only so many of these pages have been read."""
    return f"{with_ocr(content, tesseract)}-{pages}"


def without_ocr(version: str) -> str:
    return version.partition("-")[0]
