"""The texts of a stored content that are embedded."""

from __future__ import annotations

from hybrid_core.embed.texts import EmbeddingText, embedding_texts
from hybrid_core.store.catalog.snapshot import Snapshot


def content_texts(snapshot: Snapshot, content_id: str) -> list[EmbeddingText]:
    """Nothing where the content is gone."""
    stored = snapshot.version(content_id)
    if stored is None:
        return []
    parts = (snapshot.pages(content_id), snapshot.sections(content_id), snapshot.chunks(content_id))
    return list(embedding_texts(*parts, stored.version.llm))
