"""Corrections by hand of what a document is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hybrid_core.cards.corrections import FIELDS, correction
from hybrid_core.errors import Advice, ChangedError, NotFoundError, UsageError
from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.store.catalog.correcting import correct
from hybrid_core.types.documents import Document
from hybrid_pageindex.services import reading


def edit(
    catalog: Catalog,
    library: str,
    name: str,
    changes: Mapping[str, str],
    undone: Sequence[str] = (),
    seen: Document | None = None,
) -> Document:
    """The document as it is afterwards. Raises NotFoundError, UsageError as ``correction`` does, and ChangedError where
    the document is another than when it was ``seen``.
    """
    new = {field.strip().casefold(): value for field, value in changes.items()}
    back = [field.strip().casefold() for field in undone]
    if not new and not back:
        raise UsageError(
            "Nothing to correct.", Advice("Set a field, or unset one.", "Add --set year=2022, or --unset year.")
        )
    if unknown := [field for field in back if field not in FIELDS]:
        raise UsageError(f"'{unknown[0]}' cannot be corrected.", f"Fields: {', '.join(FIELDS)}.")
    if both := [field for field in back if field in new]:
        raise UsageError(f"{both[0]} is set and unset.", "Do one of both.")
    kept = {field: correction(field, value) for field, value in new.items()}
    found = reading.document(catalog, library, name)
    done = correct(catalog, found.doc_id, kept, back, seen)
    if done == "changed":
        raise ChangedError(f"{found.name} has changed meanwhile.", "Look at it again.")
    if done == "gone":
        raise NotFoundError(f"{found.name} was removed meanwhile.", "Index it again.")
    return reading.document(catalog, library, found.doc_id)
