"""The library as it stands: what a search goes by from beginning to end."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType

from hybrid_core.text.plain_words import plain_words
from hybrid_core.text.short_paths import short_paths
from hybrid_core.text.tokens import tokenise
from hybrid_core.types.documents import Document
from retrievers.documents.postings import Postings, differences
from retrievers.documents.route import Router

_SUBTITLE = re.compile(r":\s|\s[–—|-]\s")
_SHORTEST = 6  # characters of a title with the spaces around it


class LibraryView:
    """One library at one log position, used by every search until the log moves, and never changed.

    Of the view ``before``, where one is given, everything is taken over that differing documents do not change.
    """

    # As of an empty library.
    documents: Mapping[str, Document] = MappingProxyType({})
    _by_type: Postings[str, str] = Postings()
    _by_name: Postings[str, str] = Postings()  # paths by their last part
    _by_title: Postings[str, tuple[str, str]] = Postings()  # (words of a title, doc_id) by the first of them
    _unread: Mapping[str, Document] = MappingProxyType({})
    _naming: Counter[str] | None = None  # documents by term of their names; None until somebody asks

    def __init__(
        self, position: int, documents: Mapping[str, Document], router: Router, before: LibraryView | None = None
    ) -> None:
        """``documents`` are the published ones by doc_id, in the library's order."""
        old = before or self
        went, came = (part.values() for part in differences(old.documents, documents))
        self.position, self.documents, self.router = position, documents, router
        self._by_type = old._by_type.updated(
            ((document.card.type, document.doc_id) for document in went),
            ((document.card.type, document.doc_id) for document in came),
        )
        self._by_name = old._by_name.updated(
            ((_last(document.path), document.path) for document in went),
            ((_last(document.path), document.path) for document in came),
        )
        self._by_title = old._by_title.updated(
            (pair for document in went for pair in _titled(document)),
            (pair for document in came for pair in _titled(document)),
        )
        unread = {document.doc_id: document for document in came if document.unread}
        lost = {document.doc_id for document in went}
        self._short_paths: dict[str, Mapping[str, str]] = {}  # by the last part, of those that were asked for
        self._unread = {d: document for d, document in old._unread.items() if d not in lost} | unread
        if old._naming is not None:
            self._naming = old._naming + _naming(came)
            self._naming -= _naming(went)  # what is not there any more is left out

    def short_path(self, path: str) -> str:
        """What tells a document's path from the others'."""
        name = _last(path)
        if name not in self._short_paths:
            self._short_paths[name] = short_paths(self._by_name[name])
        return self._short_paths[name][path]

    def titled(self, word: str) -> Collection[tuple[str, str]]:
        """(words, doc_id) of the titles that begin with a word, up to a colon."""
        return self._by_title[word]

    def titled_alike(self, words: str) -> list[str]:
        """The documents whose titles are these words, up to a colon."""
        return [doc_id for own, doc_id in self._by_title[words.split()[0]] if own == words]

    def name_terms(self) -> Collection[str]:
        """The terms that the names on the documents' cards hold."""
        if self._naming is None:
            self._naming = _naming(self.documents.values())
        return self._naming.keys()

    @cached_property
    def unread(self) -> Sequence[Document]:
        """The documents that hold pages without text."""
        return sorted(self._unread.values(), key=lambda document: document.path)

    def types(self, scope: Collection[str] | None) -> frozenset[str]:
        """The types of the documents in a scope, None for all."""
        if scope is None:
            return frozenset(self._by_type)
        return frozenset(self.documents[doc_id].card.type for doc_id in scope)

    def of_types(self, types: Collection[str], among: Collection[str] | None) -> frozenset[str]:
        """The documents of these types, of all or of those ``among``."""
        if among is None:
            return frozenset().union(*(self._by_type[kind] for kind in types))
        return frozenset(doc_id for doc_id in among if self.documents[doc_id].card.type in types)


def _last(path: str) -> str:
    return path.rpartition("/")[2]


def _naming(documents: Iterable[Document]) -> Counter[str]:
    return Counter(term for one in documents for term in set(tokenise(" . ".join(one.card.names))))


def _titled(document: Document) -> Iterator[tuple[str, tuple[str, str]]]:
    """The title up to a colon or a dash, by its first word; a short word by itself is no title to go by."""
    words = plain_words(_SUBTITLE.split(document.title)[0])
    if len(words) > _SHORTEST:
        yield words.split()[0], (words, document.doc_id)
