"""Cut sections into chunks: the text of one section on one page, about a thousand characters long."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from hybrid_core.errors import UsageError
from hybrid_core.types.documents import Chunk, Page, Section

_RULE, _USUAL = "chunks-1", (800, 1200, 150)
_BREAK = re.compile(r"(?<=[.!?。！？])\s|\n")


@dataclass(frozen=True, slots=True)
class ChunkSize:
    """Chunk sizes in characters. Raise UsageError for impossible values.

    A chunk ends at a line or sentence end between ``chunk_least`` and ``chunk_most``; the next one repeats at most
    ``chunk_overlap`` characters of it.
    """

    chunk_least: int = 800
    chunk_most: int = 1200
    chunk_overlap: int = 150

    def __post_init__(self) -> None:
        if not 0 <= self.chunk_overlap < self.chunk_least <= self.chunk_most:
            raise UsageError(
                f"Chunks of {self.chunk_least} to {self.chunk_most} characters cannot overlap by "
                f"{self.chunk_overlap} characters.",
                "Choose chunk_overlap below chunk_least, and chunk_least not above chunk_most.",
            )

    @property
    def policy(self) -> str:
        """Return a short text that identifies the chunk sizes and the version of the chunking rules.

        It is stored with each document. For the default sizes it is only the version of the rules.
        """
        sizes = (self.chunk_least, self.chunk_most, self.chunk_overlap)
        return _RULE if sizes == _USUAL else f"{_RULE}({'-'.join(map(str, sizes))})"


def own_ranges(sections: Sequence[Section]) -> list[tuple[Section, tuple[int, int], tuple[int, int | None]]]:
    """Return the range of each section's text before its first child, in preorder.

    A range is (section, start, end). Start and end are (page, offset in the page's text); the end offset is None for
    the end of the page. Together the ranges cover every character of the document once.
    """
    ranges = []
    for at, section in enumerate(sections):
        following = sections[at + 1] if at + 1 < len(sections) else None
        if following is not None and following.parent_id == section.node_id:
            end: tuple[int, int | None] = (following.start_page, following.anchor)
        else:
            end = (section.end_page, section.end_anchor)
        ranges.append((section, (section.start_page, section.anchor), end))
    return ranges


def cut(sections: Sequence[Section], pages: Sequence[Page], size: ChunkSize = ChunkSize()) -> list[Chunk]:
    """Return chunks of every section, numbered in reading order. Blank text has no chunks."""
    chunks: list[Chunk] = []
    for section, (first, start), (last, end) in own_ranges(sections):
        for number in range(first, last + 1):
            text = pages[number - 1].text
            begin = start if number == first else 0
            stop = len(text) if number != last or end is None else end
            for a, b in _split_range(text, begin, stop, size):
                chunks.append(Chunk(len(chunks) + 1, section.node_id, number, a, b))
    return chunks


def _split_range(text: str, start: int, stop: int, size: ChunkSize) -> list[tuple[int, int]]:
    pieces = []
    while start < stop:
        end = stop
        if stop - start > size.chunk_most:
            breaks = [m.end() for m in _BREAK.finditer(text, start + size.chunk_least, start + size.chunk_most)]
            end = breaks[-1] if breaks else start + size.chunk_most
        if text[start:end].strip():
            pieces.append((start, end))
        if end >= stop:
            break
        back = _BREAK.search(text, end - size.chunk_overlap, end)
        start = back.end() if back and back.end() < end else end
    return pieces
