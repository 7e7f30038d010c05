"""What a parse task leaves on disk for the build task of the same document."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from hybrid_core.types import ParsedPage
from indexers.parse.info import FileInfo


@dataclass(frozen=True, slots=True)
class PageTerms:
    """Term counts of one page by hash, and its length in words (numbers do not count)."""

    counts: Counter[int]
    length: int


@dataclass(frozen=True, slots=True)
class Spool:
    """A parsed range of pages; ``info`` only with the first range."""

    pages: list[ParsedPage]
    terms: list[PageTerms]
    info: FileInfo | None
    warnings: list[str]
