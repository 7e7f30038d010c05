"""The published documents of a library in one state."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields
from typing import Any

from hybrid_core.cards.as_json import card_from_json, card_to_json
from hybrid_core.store.mapped import MappedTable
from hybrid_core.types.documents import Card, Document
from retrievers.documents.layers import Layered, Stored, WrittenTable

_FIELDS = tuple(field.name for field in fields(Document) if field.name != "card")


class Documents(Layered[Document]):
    """By doc_id, in the order of their paths: ``order`` says where each stands among them. ``cards`` are theirs."""

    cards: Layered[Card]
    order: Layered[str]

    @classmethod
    def of(cls, documents: Iterable[Document]) -> Documents:
        made = cls()
        made.cards, made.order = Layered(), Layered()
        return made.published(documents)

    @classmethod
    def restored(cls, tables: Mapping[str, MappedTable]) -> Documents:
        """Those that were written as tables."""
        made = cls(Stored(tables["documents"], _read))
        made.cards = Layered(Stored(tables["documents"], lambda said: card_from_json(said[-1])))
        made.order = Layered(Stored(tables["order"], str))
        return made

    def written(self) -> Iterator[WrittenTable]:
        """As tables."""
        yield "documents", ((doc_id, _write(one)) for doc_id, one in self.entries())
        yield "order", self.order.entries()

    def published(self, documents: Iterable[Document], went: Iterable[str] = ()) -> Documents:
        """The same with these documents, and without others."""
        came = {one.doc_id: one for one in documents}
        lost = [doc_id for doc_id in went if doc_id not in came]
        made = self.updated(came, lost)
        made.cards = self.cards.updated({doc_id: one.card for doc_id, one in came.items()}, lost)
        made.order = self.order.updated({doc_id: _order(one) for doc_id, one in came.items()}, lost)
        return made

    def __iter__(self) -> Iterator[str]:
        return (doc_id for doc_id, _ in sorted(self.order.entries(), key=lambda entry: entry[1]))

    def items(self) -> Any:
        return dict(sorted(self.entries(), key=lambda entry: _order(entry[1]))).items()

    def values(self) -> Any:
        return dict(self.items()).values()


def _order(document: Document) -> str:
    return f"{document.path}\0{document.doc_id}"  # of several libraries, some may have one path


def _write(document: Document) -> list[Any]:
    held = [getattr(document, name) for name in _FIELDS]
    return [*(dict(value) if isinstance(value, Mapping) else value for value in held), card_to_json(document.card)]


def _read(said: list[Any]) -> Document:
    values = dict(zip(_FIELDS, said, strict=False))
    values["warnings"] = tuple(values["warnings"])
    return Document(card=card_from_json(said[-1]), **values)
