"""One state of a library: its documents, their router, and its storage in a memory-mapped file."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

from hybrid_core.cards.corrections import card_from_json, card_to_json
from hybrid_core.store.mapped import MappedFile, MappedTable, write_tables
from hybrid_core.text.names import short_paths
from hybrid_core.text.tokens import plain_words, tokenise
from hybrid_core.types.documents import Card, Document, unread_pages
from hybrid_core.types.notes import read, stored
from hybrid_core.types.results import UnreadDocument
from hybrid_core.types.scoring import ScoringConfig
from retrievers.candidates.layers import (
    COUNTS,
    PLAIN,
    SETS,
    TALLIES,
    Counts,
    KeySets,
    Kind,
    Layered,
    Stored,
    Tallies,
    WrittenTable,
    differences,
    restore,
    written,
)
from retrievers.candidates.router import Router

_SUBTITLE = re.compile(r":\s|\s[–—|-]\s")
_SHORTEST = 6  # characters of a title with the spaces around it


class LibraryView:
    """A library as it was at one position of its change log. It is immutable and shared by searches.

    Unaffected parts of the earlier view ``before`` are reused.
    """

    # As of an empty library.
    documents: Mapping[str, Document] = Layered[Document]()
    contents: Layered[str] = Layered()
    pages: int = 0
    _types: Layered[str] = Layered()  # by document
    _by_type: KeySets = KeySets()
    _by_name: KeySets = KeySets()  # paths by their last part
    _by_title: KeySets = KeySets()  # documents by the words of their titles
    _titles: Tallies = Tallies()  # how many titles begin with a word, by how many they have
    _unread: Layered[int] = Layered()  # how many pages without text documents have
    _naming: Counts = Counts()  # documents by term of their names

    KINDS: ClassVar[Mapping[str, Kind]] = {
        "contents": PLAIN, "_types": PLAIN, "_by_type": SETS, "_by_name": SETS, "_by_title": SETS, "_titles": TALLIES,
        "_unread": PLAIN,
        "_naming": COUNTS,
    }  # fmt: skip

    def __init__(
        self, position: int, documents: Mapping[str, Document], router: Router, before: LibraryView | None = None
    ) -> None:
        """Create a view. ``documents`` are the published documents by doc_id, in library order."""
        old = before or LibraryView.__new__(LibraryView)
        lost, new = differences(old.documents, documents)
        went, came = lost.values(), new.values()
        self._begin(position, documents, router)
        gone = [doc_id for doc_id in lost if doc_id not in new]
        self.contents = old.contents.updated({row.doc_id: row.content_id for row in came}, gone)
        self.pages = old.pages + sum(row.pages for row in came) - sum(row.pages for row in went)
        self._types = old._types.updated({row.doc_id: row.card.type for row in came}, gone)
        self._by_type = old._by_type.with_pairs(_key_pairs(went, _type), _key_pairs(came, _type))
        self._by_name = old._by_name.with_pairs(
            ((_last(document.path), document.path) for document in went),
            ((_last(document.path), document.path) for document in came),
        )
        self._by_title = old._by_title.with_pairs(_key_pairs(went, _titled), _key_pairs(came, _titled))
        self._titles = old._titles.counted(_begun(went), _begun(came))
        unread = {document.doc_id: document.unread for document in came if document.unread}
        self._unread = old._unread.updated(unread, [doc_id for doc_id in lost if doc_id not in unread])
        self._naming = old._naming.counted(_naming(went), _naming(came))

    @classmethod
    def restored(
        cls,
        tables: Mapping[str, MappedTable],
        position: int,
        pages: int,
        documents: Mapping[str, Document],
        router: Router,
    ) -> LibraryView:
        """Return a view read from stored tables."""
        view = cls.__new__(cls)
        view._begin(position, documents, router)
        view.pages = pages
        restore(view, cls.KINDS, tables)
        return view

    def written(self) -> Iterator[WrittenTable]:
        """Yield the view as tables for storage, without the documents."""
        yield from written(self, self.KINDS)
        yield from self.router.written()

    def _begin(self, position: int, documents: Mapping[str, Document], router: Router) -> None:
        self.position, self.documents, self.router = position, documents, router
        self._short_paths: dict[str, Mapping[str, str]] = {}  # by the last part, of those that were asked for

    def short_path(self, path: str) -> str:
        """Return the shortest end of a document's path that no other document's path has."""
        name = _last(path)
        if name not in self._short_paths:
            self._short_paths[name] = short_paths(self._by_name[name])
        return self._short_paths[name][path]

    def titled(self, text: str) -> Iterator[tuple[str, str]]:
        """Yield (title words, doc_id) for each title in the text that only one document has.

        Of a title, only the part before a colon or dash counts.
        """
        words = text.split()
        for at, word in enumerate(words):
            for length in sorted(map(int, self._titles.get(word, ()))):
                phrase = f" {' '.join(words[at : at + length])} "
                if at + length <= len(words) and len(titled := self._by_title[phrase]) == 1:
                    yield phrase, next(iter(titled))

    def name_terms(self) -> Collection[str]:
        """Return the terms in the names on all document cards."""
        return self._naming

    @cached_property
    def unread(self) -> Sequence[UnreadDocument]:
        """Return the documents that have pages without text, those with most such pages first."""
        holding = sorted(map(self.documents.__getitem__, self._unread), key=lambda d: (-d.unread, d.name, d.doc_id))
        return tuple(UnreadDocument(d.doc_id, d.name, d.unread, d.pages, unread_pages(d.warnings)[1]) for d in holding)

    def within(self, scope: frozenset[str] | None) -> Mapping[str, Document]:
        """Return the documents in a scope, or all documents if it is None."""
        return self.documents if scope is None else _Within(self.documents, scope)

    def pages_of(self, scope: frozenset[str] | None) -> int:
        """Return the total number of pages of the documents in a scope, or of all if it is None."""
        return self.pages if scope is None else sum(self.documents[doc_id].pages for doc_id in scope)

    def types(self, scope: Collection[str] | None) -> frozenset[str]:
        """Return the types of the documents in a scope, or of all documents if it is None."""
        return self._all_types if scope is None else frozenset(self._types[doc_id] for doc_id in scope)

    @cached_property
    def _all_types(self) -> frozenset[str]:
        return frozenset(self._by_type)

    def of_types(self, types: Collection[str], among: Collection[str] | None) -> frozenset[str]:
        """Return the doc_ids of documents of these types, only those in ``among`` unless it is None."""
        if among is None:
            return frozenset().union(*(self._by_type[kind] for kind in types))
        return frozenset(doc_id for doc_id in among if self._types[doc_id] in types)


class _Within(Mapping[str, Document]):
    """The documents in a scope, each looked up on access."""

    def __init__(self, documents: Mapping[str, Document], scope: frozenset[str]) -> None:
        self._documents, self._scope = documents, scope

    def __getitem__(self, doc_id: str) -> Document:
        if doc_id not in self._scope:
            raise KeyError(doc_id)
        return self._documents[doc_id]

    def __contains__(self, doc_id: object) -> bool:
        return doc_id in self._scope

    def __iter__(self) -> Iterator[str]:
        return iter(self._scope)

    def __len__(self) -> int:
        return len(self._scope)


def _last(path: str) -> str:
    return path.rpartition("/")[2]


def _type(document: Document) -> str:
    return document.card.type


def _key_pairs(documents: Iterable[Document], key: Callable[[Document], str | None]) -> Iterator[tuple[str, str]]:
    return ((value, document.doc_id) for document in documents if (value := key(document)) is not None)


def _naming(documents: Iterable[Document]) -> Iterator[str]:
    return (term for document in documents for term in set(tokenise(" . ".join(document.card.names))))


def _titled(document: Document) -> str | None:
    """Return a document's title up to a colon or a dash, as plain words.

    Return None for a short title, which may be a common word.
    """
    words = plain_words(_SUBTITLE.split(document.title)[0])
    return words if len(words) > _SHORTEST else None


def _begun(documents: Iterable[Document]) -> Iterator[tuple[str, str]]:
    """Yield (first word, number of words) of each document's title. By these, titles are found in a text."""
    for words in filter(None, map(_titled, documents)):
        yield words.split()[0], str(len(words.split()))


_FIELDS = tuple(field.name for field in fields(Document) if field.name != "card")


class Documents(Layered[Document]):
    """Published documents by doc_id, in path order.

    ``order`` maps each doc_id to its sort key, and ``cards`` to its card.
    """

    cards: Layered[Card]
    order: Layered[str]

    @classmethod
    def of(cls, documents: Iterable[Document]) -> Documents:
        documents_view = cls()
        documents_view.cards, documents_view.order = Layered(), Layered()
        return documents_view.published(documents)

    @classmethod
    def restored(cls, tables: Mapping[str, MappedTable]) -> Documents:
        """Return documents read from stored tables."""
        documents = cls(Stored(tables["documents"], _document_from_row))
        documents.cards = Layered(Stored(tables["documents"], lambda row: card_from_json(row[-1])))
        documents.order = Layered(Stored(tables["order"], str))
        return documents

    def written(self) -> Iterator[WrittenTable]:
        """Yield the documents as tables for storage."""
        yield "documents", ((doc_id, _document_to_row(document)) for doc_id, document in self.entries())
        yield "order", self.order.entries()

    def published(self, documents: Iterable[Document], went: Iterable[str] = ()) -> Documents:
        """Return a copy with these documents published, and those in ``went`` removed."""
        came = {document.doc_id: document for document in documents}
        lost = [doc_id for doc_id in went if doc_id not in came]
        updated = self.updated(came, lost)
        updated.cards = self.cards.updated({doc_id: document.card for doc_id, document in came.items()}, lost)
        updated.order = self.order.updated({doc_id: _order(document) for doc_id, document in came.items()}, lost)
        return updated

    def __iter__(self) -> Iterator[str]:
        return (doc_id for doc_id, _ in sorted(self.order.entries(), key=lambda entry: entry[1]))

    def items(self) -> Any:
        return dict(sorted(self.entries(), key=lambda entry: _order(entry[1]))).items()

    def values(self) -> Any:
        return dict(self.items()).values()


def _order(document: Document) -> str:
    return f"{document.path}\0{document.doc_id}"  # documents of several libraries may have the same path


def _document_to_row(document: Document) -> list[Any]:
    values = [stored(document.warnings) if name == "warnings" else getattr(document, name) for name in _FIELDS]
    return [*(dict(value) if isinstance(value, Mapping) else value for value in values), card_to_json(document.card)]


def _document_from_row(row: list[Any]) -> Document:
    values = dict(zip(_FIELDS, row, strict=False))
    values["warnings"] = read(values["warnings"])
    return Document(card=card_from_json(row[-1]), **values)


VERSION = 4  # version of the data derived from cards, such as name keys and title words


def write_view(path: Path, head: Mapping[str, Any], view: LibraryView) -> None:
    """Write a view to a file. Its documents must be ``Documents``. Raise StoreError if this fails."""
    assert isinstance(view.documents, Documents)
    own = {"version": VERSION, "position": view.position, "pages": view.pages}
    write_tables(path, {**head, **own}, (*view.documents.written(), *view.written()))


def read_view(file: MappedFile, aliases: Mapping[str, Sequence[str]], scoring: ScoringConfig) -> LibraryView:
    """Return a view from a file that ``write_view`` wrote with the same nicknames and scoring parameters."""
    documents = Documents.restored(file.tables)
    router = Router.restored(file.tables, documents.cards, aliases, scoring, documents.order)
    return LibraryView.restored(file.tables, file.head["position"], file.head["pages"], documents, router)
