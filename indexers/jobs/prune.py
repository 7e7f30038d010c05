"""Documents whose files are gone leave their library."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.types.documents import Document


def prune(catalog: Catalog, library: str, roots: Sequence[Path]) -> tuple[str, ...]:
    """Remove a library's documents below ``roots`` whose files are gone. Returns their paths."""
    found = gone(catalog, library, roots)
    catalog.remove([document.doc_id for document in found])
    return tuple(document.path for document in found)


def gone(catalog: Catalog, library: str, roots: Sequence[Path]) -> list[Document]:
    """A library's documents below ``roots`` whose files are gone."""
    with catalog.snapshot() as snapshot:
        documents = snapshot.documents(library)
    return [
        document
        for document in documents
        if not Path(document.path).exists()
        and any(
            root == Path(document.path)
            or (root.is_dir() and root in Path(document.path).parents)  # a missing folder may be a disk not mounted
            for root in roots
        )
    ]
