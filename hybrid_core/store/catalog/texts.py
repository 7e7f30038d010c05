"""The texts of a stored content that are embedded."""

from __future__ import annotations

from hybrid_core.embed.texts import EmbeddingText, chunk_texts, page_texts
from hybrid_core.store.catalog.snapshot import Snapshot


def content_texts(snapshot: Snapshot, content_id: str, *, chunks: bool) -> list[EmbeddingText]:
    """The short texts of its pages, and with ``chunks`` those of its chunks too; nothing where the content is gone."""
    stored = snapshot.version(content_id)
    if stored is None:
        return []
    pages = snapshot.pages(content_id)
    found = list(page_texts(pages))
    if chunks:
        parts = (snapshot.sections(content_id), snapshot.chunks(content_id))
        found += chunk_texts(pages, *parts, stored.version.llm)
    return found
