"""The file that a document was made of."""

from __future__ import annotations

import os
from pathlib import Path

from hybrid_core.errors import DocumentError
from hybrid_core.store.catalog.catalog import Catalog
from hybrid_pageindex.services import reading


def original(catalog: Catalog, library: str, name: str) -> Path:
    """Raises NotFoundError for an unknown document, DocumentError where its file is gone."""
    with catalog.snapshot() as snapshot:
        found = reading.one(snapshot, library, name, published=False)
        held_by = snapshot.library(library).id
    file = catalog.locate(held_by, found.path)
    if not os.access(file, os.R_OK):
        advice = "Its text and outline still work; index the file again where it lies now."
        raise DocumentError(f"{found.path}: the original is gone or cannot be read.", advice)
    return file
