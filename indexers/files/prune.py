"""Documents whose files are gone leave their library."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.types.addresses import containers, is_there


def prune(catalog: Catalog, library: str, roots: Sequence[Path]) -> tuple[str, ...]:
    """Remove a library's documents below ``roots`` whose files are gone. Returns their paths."""
    found = gone(catalog, library, roots)
    catalog.remove(list(found))
    return tuple(found.values())


def gone(catalog: Catalog, library: str, roots: Sequence[Path]) -> dict[str, str]:
    """The paths of a library's documents below ``roots`` whose files are gone, by doc_id."""
    with catalog.snapshot() as snapshot:
        paths = snapshot.paths(library)
    return {
        doc_id: path
        for doc_id, path in paths.items()
        if not is_there(path)
        and any(
            root in map(Path, (path, *containers(path)))
            or (root.is_dir() and root in Path(path).parents)  # a missing folder may be a disk not mounted
            for root in roots
        )
    }
