"""What a document has been: each content that was published of it."""

from __future__ import annotations

from dataclasses import dataclass

from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.types.versions import ContentVersion
from hybrid_pageindex.services import reading


@dataclass(frozen=True, slots=True)
class DocumentVersion:
    """``number`` is its place in the library's change log, higher for later. ``made`` says of which bytes, by which
    rules and models it was made; None where the content is not kept any more, as those that were replaced are not.
    """

    number: int
    content_id: str
    current: bool
    made: ContentVersion | None


def versions(catalog: Catalog, library: str, name: str) -> list[DocumentVersion]:
    """The newest first. Raises NotFoundError."""
    with catalog.snapshot() as snapshot:
        found = reading.one(snapshot, library, name, published=False)
        listed: list[DocumentVersion] = []
        before = None
        for change in snapshot.changes_of(snapshot.library(library).id, found.doc_id):
            if change.content_id is not None and change.content_id != before:
                kept = snapshot.version(change.content_id)
                current = change.content_id == found.content_id
                listed.append(DocumentVersion(change.seq, change.content_id, current, kept.version if kept else None))
            before = change.content_id
        return listed[::-1]
