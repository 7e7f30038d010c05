"""The library as it stands: what a search goes by from beginning to end."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import ClassVar

from hybrid_core.store.mapped import MappedTable
from hybrid_core.text.plain_words import plain_words
from hybrid_core.text.short_paths import short_paths
from hybrid_core.text.tokens import tokenise
from hybrid_core.types.documents import Document
from hybrid_core.types.results import UnreadDocument
from hybrid_core.types.unread import unread_pages
from retrievers.documents.layers import (
    COUNTS,
    PLAIN,
    SETS,
    TALLIES,
    Counts,
    Kind,
    Layered,
    Postings,
    Tallies,
    WrittenTable,
    differences,
    restore,
    written,
)
from retrievers.documents.route import Router

_SUBTITLE = re.compile(r":\s|\s[–—|-]\s")
_SHORTEST = 6  # characters of a title with the spaces around it


class LibraryView:
    """One library at one log position, used by every search until the log moves, and never changed.

    Of the view ``before``, where one is given, everything is taken over that differing documents do not change.
    """

    # As of an empty library.
    documents: Mapping[str, Document] = Layered[Document]()
    contents: Layered[str] = Layered()
    pages: int = 0
    _types: Layered[str] = Layered()  # by document
    _by_type: Postings = Postings()
    _by_name: Postings = Postings()  # paths by their last part
    _by_title: Postings = Postings()  # documents by the words of their titles
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
        """``documents`` are the published ones by doc_id, in the library's order; ``contents`` are their contents' ids,
        ``pages`` how many they have together.
        """
        old = before or LibraryView.__new__(LibraryView)
        lost, new = differences(old.documents, documents)
        went, came = lost.values(), new.values()
        self._begin(position, documents, router)
        gone = [doc_id for doc_id in lost if doc_id not in new]
        self.contents = old.contents.updated({one.doc_id: one.content_id for one in came}, gone)
        self.pages = old.pages + sum(one.pages for one in came) - sum(one.pages for one in went)
        self._types = old._types.updated({one.doc_id: one.card.type for one in came}, gone)
        self._by_type = old._by_type.with_pairs(_pairs(went, _type), _pairs(came, _type))
        self._by_name = old._by_name.with_pairs(
            ((_last(document.path), document.path) for document in went),
            ((_last(document.path), document.path) for document in came),
        )
        self._by_title = old._by_title.with_pairs(_pairs(went, _titled), _pairs(came, _titled))
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
        """The one that was written as tables."""
        one = cls.__new__(cls)
        one._begin(position, documents, router)
        one.pages = pages
        restore(one, cls.KINDS, tables)
        return one

    def written(self) -> Iterator[WrittenTable]:
        """As tables, without the documents."""
        yield from written(self, self.KINDS)
        yield from self.router.written()

    def _begin(self, position: int, documents: Mapping[str, Document], router: Router) -> None:
        self.position, self.documents, self.router = position, documents, router
        self._short_paths: dict[str, Mapping[str, str]] = {}  # by the last part, of those that were asked for

    def short_path(self, path: str) -> str:
        """What tells a document's path from the others'."""
        name = _last(path)
        if name not in self._short_paths:
            self._short_paths[name] = short_paths(self._by_name[name])
        return self._short_paths[name][path]

    def titled(self, text: str) -> Iterator[tuple[str, str]]:
        """(words, doc_id) of the titles, up to a colon, that stand in plain words, and are no other document's."""
        words = text.split()
        for at, word in enumerate(words):
            for length in sorted(map(int, self._titles.get(word, ()))):
                phrase = f" {' '.join(words[at : at + length])} "
                if at + length <= len(words) and len(titled := self._by_title[phrase]) == 1:
                    yield phrase, next(iter(titled))

    def name_terms(self) -> Collection[str]:
        """The terms that the names on the documents' cards hold."""
        return self._naming

    @cached_property
    def unread(self) -> Sequence[UnreadDocument]:
        """The documents that hold pages without text, those with most of them first."""
        holding = sorted(map(self.documents.__getitem__, self._unread), key=lambda d: (-d.unread, d.name, d.doc_id))
        return tuple(UnreadDocument(d.doc_id, d.name, d.unread, d.pages, unread_pages(d.warnings)[1]) for d in holding)

    def within(self, scope: frozenset[str] | None) -> Mapping[str, Document]:
        """The documents of a scope, None for all."""
        return self.documents if scope is None else _Within(self.documents, scope)

    def pages_of(self, scope: frozenset[str] | None) -> int:
        """How many pages the documents of a scope have together, None for all."""
        return self.pages if scope is None else sum(self.documents[doc_id].pages for doc_id in scope)

    def types(self, scope: Collection[str] | None) -> frozenset[str]:
        """The types of the documents in a scope, None for all."""
        return self._all_types if scope is None else frozenset(self._types[doc_id] for doc_id in scope)

    @cached_property
    def _all_types(self) -> frozenset[str]:
        return frozenset(self._by_type)

    def of_types(self, types: Collection[str], among: Collection[str] | None) -> frozenset[str]:
        """The documents of these types, of all or of those ``among``."""
        if among is None:
            return frozenset().union(*(self._by_type[kind] for kind in types))
        return frozenset(doc_id for doc_id in among if self._types[doc_id] in types)


class _Within(Mapping[str, Document]):
    """The documents of a scope, each looked up when it is asked for."""

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


def _pairs(documents: Iterable[Document], key: Callable[[Document], str | None]) -> Iterator[tuple[str, str]]:
    return ((value, one.doc_id) for one in documents if (value := key(one)) is not None)


def _naming(documents: Iterable[Document]) -> Iterator[str]:
    return (term for one in documents for term in set(tokenise(" . ".join(one.card.names))))


def _titled(document: Document) -> str | None:
    """The title up to a colon or a dash, as plain words; a short word by itself is no title to go by."""
    words = plain_words(_SUBTITLE.split(document.title)[0])
    return words if len(words) > _SHORTEST else None


def _begun(documents: Iterable[Document]) -> Iterator[tuple[str, str]]:
    """The first word of titles, and how many words they have."""
    for words in filter(None, map(_titled, documents)):
        yield words.split()[0], str(len(words.split()))
