"""What a file says of itself, apart from its pages."""

from __future__ import annotations

from dataclasses import dataclass

from hybrid_core.types.documents import Bookmark, MarkedHeading


@dataclass(frozen=True, slots=True)
class FileInfo:
    """``warnings`` name what was damaged and had to be left out or repaired.

    ``headings`` as in ParsedDocument: None where the format has no markup.
    """

    pages: int
    bookmarks: tuple[Bookmark, ...]
    metadata: dict[str, str]
    warnings: tuple[str, ...]
    headings: tuple[MarkedHeading, ...] | None = None
