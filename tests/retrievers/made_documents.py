"""Documents that exist as records only."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hybrid_core.types.documents import Card, Document


def document(doc_id: str, *, metadata: Mapping[str, str] | None = None, **card: Any) -> Document:
    return Document(
        doc_id=doc_id, library="default", path=f"/files/{doc_id}.pdf", name=f"{doc_id}.pdf", sha256="", content_id="c",
        format="pdf", pages=9, sections=2, title=f"Title of {doc_id}", description=f"All about {doc_id}",
        metadata=metadata or {}, card=Card(**card), size=1, mtime=0.0, indexed_at="",
    )  # fmt: skip


def held(*documents: Document) -> dict[str, Document]:
    return {one.doc_id: one for one in documents}
