"""The versions of contents that this pipeline makes."""

from __future__ import annotations

from dataclasses import replace

from hybrid_core.text.tokens import TOKENISER
from hybrid_core.types.versions import ContentVersion
from indexers.build.chunks import ChunkSize
from indexers.formats.format import Format
from indexers.ocr.find import Ocr

_BUILD = f"tree-5+summaries-1+cards-4+titles-1+flags-1+gaps-2+{TOKENISER}"


def version_of(sha256: str, format: Format, chunks: ChunkSize = ChunkSize()) -> ContentVersion:
    """What is made of a file's bytes, read as a format, before OCR and models; another one is made on the next run."""
    return ContentVersion(sha256, format.name, format.version, chunks.policy, _BUILD)


def with_ocr(version: ContentVersion, ocr: Ocr, pages: int | None = None) -> ContentVersion:
    """The same with pages read by OCR, tried on so many of those that need it; None: on all."""
    return replace(version, ocr=ocr.tag, ocr_pages="" if pages is None else str(pages))
