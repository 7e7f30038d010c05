"""What of a document is embedded: what is said of each page, and each chunk under its section's title and summary.

The title and the beginning of the summary make a chunk findable by what it is about; the titles above its
section are left out, since every page inherits them (docs/benchmarks.md).

A section's summary changes with any of its pages. So a chunk is known by its own text, its section's title and what
summarised the section, and keeps the vector that it was given under the summary of then: a changed page costs the
vectors of that page alone.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from hybrid_core.types.documents import Chunk, Page, Section

_SUMMARY_CHARS = 160


@dataclass(frozen=True, slots=True)
class EmbeddingText:
    """One text to embed. ``chunk`` is 0 for what is said of a page. ``known_by`` is what tells it from others, "" where
    that is the text itself.
    """

    page: int
    chunk: int
    text: str
    known_by: str = ""

    @property
    def key(self) -> str:
        """A hash: the same is embedded once, wherever and in whichever version it stands."""
        return hashlib.sha256((self.known_by or self.text).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def embedding_texts(
    pages: Sequence[Page], sections: Sequence[Section], chunks: Sequence[Chunk], summarised_by: str = ""
) -> Iterator[EmbeddingText]:
    """The texts of one document: pages' first, then chunks', both in order. Blank ones are left out.

    ``summarised_by``: which model summarised its sections, "" where the rules did.
    """
    for page in pages:
        about_page = f"{page.summary}\n{page.described}".strip() if page.described else page.summary
        if about_page.strip():
            yield EmbeddingText(page.number, 0, about_page)
    by_id = {section.node_id: section for section in sections}
    for chunk in chunks:
        section = by_id[chunk.node_id]
        body = pages[chunk.page - 1].text[chunk.start : chunk.end].strip()
        if not body:
            continue
        if section.synthetic:
            yield EmbeddingText(chunk.page, chunk.number, body)
        else:
            text = f"{section.title}\n{section.summary[:_SUMMARY_CHARS]}\n{body}"
            known_by = "\0".join((summarised_by, section.title, body))
            yield EmbeddingText(chunk.page, chunk.number, text, known_by)
