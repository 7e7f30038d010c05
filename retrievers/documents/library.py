"""The library as it stands: what a search goes by from beginning to end."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from hybrid_core.text.short_paths import short_paths
from hybrid_core.types.documents import Document
from retrievers.documents.route import Router


@dataclass(frozen=True)
class LibraryView:
    """One library at one log position: derived once, used by every search until the log moves."""

    position: int
    documents: Mapping[str, Document]  # published ones, by doc_id
    router: Router

    @cached_property
    def short_paths(self) -> Mapping[str, str]:
        """Path -> what tells it from the others."""
        return short_paths(document.path for document in self.documents.values())

    @cached_property
    def unread(self) -> Sequence[Document]:
        """The documents that hold pages without text."""
        return [document for document in self.documents.values() if document.unread]

    def types(self, scope: Collection[str] | None) -> frozenset[str]:
        """The types of the documents in a scope, None for all."""
        return self._all_types if scope is None else self._types(scope)

    @cached_property
    def _all_types(self) -> frozenset[str]:
        return self._types(self.documents)

    def of_types(self, types: Collection[str], among: Collection[str] | None) -> frozenset[str]:
        """The documents of these types, of all or of those ``among``."""
        if among is None:
            return frozenset().union(*(self._by_type.get(kind, ()) for kind in types))
        return frozenset(doc_id for doc_id in among if self.documents[doc_id].card.type in types)

    @cached_property
    def _by_type(self) -> Mapping[str, Sequence[str]]:
        found: dict[str, list[str]] = {}
        for doc_id, document in self.documents.items():
            found.setdefault(document.card.type, []).append(doc_id)
        return found

    def _types(self, doc_ids: Collection[str]) -> frozenset[str]:
        return frozenset(self.documents[doc_id].card.type for doc_id in doc_ids)
