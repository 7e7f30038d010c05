"""What a check of a home found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from hybrid_core.store.index.comparing import Difference


@dataclass(frozen=True, slots=True)
class DocumentList:
    """``names`` are those of the first thousand documents; a document that nobody knows is named by its id."""

    count: int
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Check:
    """``index`` names the documents of which a library's index differs from the catalog, by how."""

    name: str
    ok: bool
    detail: str
    index: Mapping[Difference, DocumentList] = field(default_factory=dict)
