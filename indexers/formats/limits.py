"""How much of a file is read before it is taken to be hostile or damaged."""

from __future__ import annotations

from dataclasses import dataclass, fields

from hybrid_core.errors import LimitError


@dataclass(frozen=True, slots=True)
class ParseLimits:
    """Each is also a setting of the same name. Over the first two the file is refused, over the others less is read.

    ``max_objects``: entries of the cross-reference table. ``max_page_lines``, ``max_page_characters``:
    a page with more comes without text and with a warning. ``seconds_per_page``: of computing, the same for a page
    that needs more, up to MAX_SLOW_PAGES of a file. ``max_bookmarks``: bookmarks in all;
    where there are more, or where they are nested deeper than MAX_BOOKMARK_DEPTH, all are ignored.
    """

    max_pages: int = 50_000
    max_objects: int = 2_000_000
    max_page_lines: int = 50_000
    max_page_characters: int = 2_000_000
    max_bookmarks: int = 20_000
    seconds_per_page: float = 15.0

    def __post_init__(self) -> None:
        for field in fields(self):
            if getattr(self, field.name) < 1:
                raise ValueError(f"{field.name} must be at least 1.")

    def check(self, name: str, found: int, what: str) -> None:
        """Raise LimitError where ``found`` is over the limit ``name``; ``what`` says who has so many of what."""
        most = getattr(self, name)
        if found > most:
            raise LimitError(f"{what}; the limit is {most:,}.", f"Raise the setting {name} to read it.")


MAX_SLOW_PAGES = 3  # each costs its seconds and a worker: with more, the file is refused
MAX_BOOKMARK_DEPTH = 256  # MuPDF reads an outline by recursion: far deeper ones overflow its stack
