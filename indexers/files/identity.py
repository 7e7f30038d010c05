"""Which document a file is: the one at its path, one whose file was moved here, or a new one."""

from __future__ import annotations

import uuid
from pathlib import Path

from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.store.catalog.sources import others_sources
from hybrid_core.types.addresses import is_there
from hybrid_core.types.documents import Document

_NAMESPACE = uuid.UUID("5b1b5c0e-6f0e-4d3c-9f58-0d3b6f6c7a11")


def document_at(catalog: Catalog, library: str, file: Path) -> Document | None:
    with catalog.snapshot() as snapshot:
        return snapshot.document_at(library, str(file))


def moved_from(catalog: Catalog, library: str, sha256: str, format: str, machine: str = "") -> list[Document]:
    """The documents of a library with these bytes whose files are gone; of files of another machine nobody knows."""
    with catalog.snapshot() as snapshot:
        found = snapshot.documents_of_bytes(library, sha256, format)
    gone = [document for document in found if not is_there(document.path)]
    others = others_sources(catalog, library, machine) if gone else []
    return [document for document in gone if not any(one.holds(document.path) for one in others)]


def new_id(catalog: Catalog, library: str, file: Path) -> str:
    """Stable for a path in a library; another where a moved document has taken that one along."""
    number = 0
    while True:
        name = f"{library}\n{file}" + (f"\n{number}" if number else "")
        doc_id = uuid.uuid5(_NAMESPACE, name).hex[:12]
        with catalog.snapshot() as snapshot:
            path = snapshot.path_of(doc_id)
        if path is None or path == str(file):
            return doc_id
        number += 1
