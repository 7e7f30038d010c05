"""The texts of a document to embed: a short text of each page, and each chunk with its section's title and summary.

The short text of a page is its beginning of about 64 tokens. It ranks pages better than summaries do, and as well as
the first 256 tokens, which take five times as long (docs/lab/embedding.md). With title and summary, a chunk matches
queries for its subject; higher titles are left out, because every page shares them (docs/benchmarks.md).

A chunk's key consists of its text, its section's title and the summarising model. It excludes the summary, which
changes with any page. So a changed page needs new vectors only for itself.
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
_PAGE_CHARS = 16 * _PAGE_TOKENS  # characters examined for these tokens
_PIECE = re.compile(r"[\u2e80-\uffff]|[^\W\d_\u2e80-\uffff]+|\d+|[^\w\s]|_")  # East Asian characters are one piece each
_ASCII, _OTHER, _DIGITS = 6, 3, 2  # characters per token


@dataclass(frozen=True, slots=True)
class EmbeddingText:
    """A text to embed. ``chunk`` is the number of the chunk on the page, 0 for the text of the page itself.

    ``known_by`` is the text that is hashed for ``key`` in place of ``text``, "" to hash ``text``.
    """

    page: int
    chunk: int
    text: str
    known_by: str = ""

    @property
    def key(self) -> str:
        """Return the hash under which the vector of this text is stored.

        Equal texts are embedded once, in all documents and versions.
        """
        return hashlib.sha256((self.known_by or self.text).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def page_texts(pages: Sequence[Page]) -> Iterator[EmbeddingText]:
    """Yield the short text of each page in order: a model's description, else the beginning. Skip blank pages."""
    for page in pages:
        seen = f"{page.summary}\n{page.described}".strip() if page.described else ""
        if about := seen or beginning(page.text, _PAGE_TOKENS):
            yield EmbeddingText(page.number, 0, about)


def chunk_texts(
    pages: Sequence[Page], sections: Sequence[Section], chunks: Sequence[Chunk], summarised_by: str = ""
) -> Iterator[EmbeddingText]:
    """Yield the texts of a document's chunks, in order, without blank ones.

    ``summarised_by`` is the model that summarised the sections, "" if they were summarised without a model.
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
    """Return the beginning of a text with about ``tokens`` tokens, with white space as single spaces."""
    text = " ".join(text[:_PAGE_CHARS].split())
    left = tokens
    for piece in _PIECE.finditer(text):
        letters = piece[0]
        left -= math.ceil(len(letters) / (_DIGITS if letters.isdecimal() else _ASCII if letters.isascii() else _OTHER))
        if left < 0:
            return text[: piece.start()].rstrip()
    return text
