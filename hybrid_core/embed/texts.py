"""What of a document is embedded: what is said of each page, and each chunk under its section's title and summary.

The title and the beginning of the summary make a chunk findable by what it is about; the titles above its
section are left out, since every page inherits them (docs/benchmarks.md).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from hybrid_core.types.documents import Chunk, Page, Section

_SUMMARY_CHARS = 160


@dataclass(frozen=True, slots=True)
class EmbeddingText:
    """One text to embed. ``chunk`` is 0 for what is said of a page."""

    page: int
    chunk: int
    text: str

    @property
    def key(self) -> str:
        """Hash of the text: the same text is embedded once, wherever and in whichever version it stands."""
        return hashlib.sha256(self.text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def embedding_texts(
    pages: Sequence[Page], sections: Sequence[Section], chunks: Sequence[Chunk]
) -> Iterator[EmbeddingText]:
    """The texts of one document: pages' first, then chunks', both in order. Blank ones are left out."""
    for page in pages:
        about_page = f"{page.summary}\n{page.described}".strip() if page.described else page.summary
        if about_page.strip():
            yield EmbeddingText(page.number, 0, about_page)
    by_id = {section.node_id: section for section in sections}
    for chunk in chunks:
        section = by_id[chunk.node_id]
        body = pages[chunk.page - 1].text[chunk.start : chunk.end].strip()
        about = "" if section.synthetic else f"{section.title}\n{section.summary[:_SUMMARY_CHARS]}\n"
        if body:
            yield EmbeddingText(chunk.page, chunk.number, about + body)
