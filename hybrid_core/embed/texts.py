"""What of a document is embedded: a short text of each page, and each chunk under its section's title and summary.

A page's short text is what it begins with, in about 64 tokens: measured, that ranks pages better than their summaries,
and as well as their first 256 tokens, which take a model five times as long (docs/lab/embedding.md).

The title and the beginning of the summary make a chunk findable by what it is about; the titles above its
section are left out, since every page inherits them (docs/benchmarks.md).

A section's summary changes with any of its pages. So a chunk is known by its own text, its section's title and what
summarised the section, and keeps the vector that it was given under the summary of then: a changed page costs the
vectors of that page alone.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from hybrid_core.types.documents import Chunk, Page, Section

_SUMMARY_CHARS = 160
_PAGE_TOKENS = 64
_PAGE_CHARS = 16 * _PAGE_TOKENS  # looked at for them
_PIECE = re.compile(r"[\u2e80-\uffff]|[^\W\d_\u2e80-\uffff]+|\d+|[^\w\s]|_")  # signs of East Asia are one each
_ASCII, _OTHER, _DIGITS = 6, 3, 2  # characters of a token


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


def page_texts(pages: Sequence[Page]) -> Iterator[EmbeddingText]:
    """The short text of each page, in order: what a model saw on it, else what it begins with; none of a blank one."""
    for page in pages:
        seen = f"{page.summary}\n{page.described}".strip() if page.described else ""
        if about := seen or beginning(page.text, _PAGE_TOKENS):
            yield EmbeddingText(page.number, 0, about)


def chunk_texts(
    pages: Sequence[Page], sections: Sequence[Section], chunks: Sequence[Chunk], summarised_by: str = ""
) -> Iterator[EmbeddingText]:
    """The texts of a document's chunks, in order. Blank ones are left out.

    ``summarised_by``: which model summarised its sections, "" where the rules did.
    """
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


def beginning(text: str, tokens: int) -> str:
    """The first pieces of a text that a model's tokeniser makes about so many tokens of, its white space one space."""
    text = " ".join(text[:_PAGE_CHARS].split())
    left = tokens
    for piece in _PIECE.finditer(text):
        found = piece[0]
        left -= math.ceil(len(found) / (_DIGITS if found.isdecimal() else _ASCII if found.isascii() else _OTHER))
        if left < 0:
            return text[: piece.start()].rstrip()
    return text
