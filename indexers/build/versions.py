"""Which version of a file's bytes is stored: by the pipeline that made it, how far its scans were read, which models
improved it.

A version is CONTENT, CONTENT-OCR or CONTENT-OCR-PAGES, then ``-m`` with a hash for each model (``0`` where it had
none) where models improved it, and one more of what came out where they did not do all they should.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from typing import Literal

from indexers.build.content import pipeline
from indexers.ocr.pages import VERSION
from indexers.ocr.tesseract import Tesseract

Kind = Literal["llm", "vlm"]
"""A language model, or one that sees."""

_IMPROVED = re.compile(r"(?P<before>.+)-m(?P<llm>\w+)\.(?P<vlm>\w+)(?P<rest>\.\w+)?")


def content_id(sha256: str, format: str) -> str:
    """The identity of what this pipeline makes of a file's bytes, read as a format."""
    return hashlib.sha256(f"{sha256}|{pipeline(format)}".encode()).hexdigest()[:24]


def with_ocr(content: str, tesseract: Tesseract) -> str:
    """The identity of the same with pages read by OCR. Of a file without such pages there is none."""
    return f"{content}-{hashlib.sha256(f'{VERSION}|{tesseract.languages}'.encode()).hexdigest()[:8]}"


def with_some_ocr(content: str, tesseract: Tesseract, pages: int) -> str:
    """The identity of the same while only so many of these pages have been read."""
    return f"{with_ocr(content, tesseract)}-{pages}"


def with_models(version: str, tags: Mapping[Kind, str], partly: str = "") -> str:
    """The identity of the same improved by models; ``partly`` is a hash of what came out where something failed."""
    rest = f".{partly}" if partly else ""
    return f"{without_models(version)}-m{tags.get('llm', '0')}.{tags.get('vlm', '0')}{rest}"


def improved(version: str, tags: Mapping[Kind, str]) -> bool:
    """Whether every model of ``tags`` has done all it should for a version; others may have too."""
    found = _IMPROVED.fullmatch(version)
    done = found is not None and completely_improved(version)
    return not tags or bool(found and done and all(found[kind] == tag for kind, tag in tags.items()))


def completely_improved(version: str) -> bool:
    """Whether models have done all they should for a version, whichever they were."""
    found = _IMPROVED.fullmatch(version)
    return bool(found and not found["rest"])


def without_models(version: str) -> str:
    found = _IMPROVED.fullmatch(version)
    return found["before"] if found else version


def without_ocr(version: str) -> str:
    """The content of any version."""
    return version.partition("-")[0]
