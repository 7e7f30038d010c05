"""Caches of parsed documents and page texts for searches. Documents are also kept in common arrays."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from hybrid_core.store.catalog.contents import Contents
from hybrid_core.text.terms import NO_ORDER, TermOrder
from hybrid_core.types.documents import PageText
from retrievers.trees.content import Content, children_of
from retrievers.trees.postings import FieldArrays, Postings, TreeArrays, Trees

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class ContentArrays:
    """The term counts and section trees of many documents, in common arrays that grow at their ends."""

    numbers: dict[str, int] = field(default_factory=dict)  # number by content_id, in the order of addition
    body: FieldArrays = field(default_factory=FieldArrays)
    headings: FieldArrays = field(default_factory=FieldArrays)
    trees: TreeArrays = field(default_factory=TreeArrays)

    def add(self, content: Content) -> None:
        """Append a document."""
        self.numbers[content.content_id] = self.body.add(content.body)
        self.headings.add(content.headings)
        self.trees.add(content)


@dataclass(frozen=True, slots=True, eq=False)
class ContentGroup:
    """Some of the documents in the common arrays. Their pages have one consecutive numbering.

    numbers: int64 (d,), the documents' numbers in the arrays.
    """

    arrays: ContentArrays
    numbers: Ints

    def body(self, hashes: Ints) -> Postings:
        """Return the postings of terms, int64 (t,), in the page texts."""
        return self.arrays.body.postings(self.numbers, hashes)

    def headings(self, hashes: Ints) -> Postings:
        """Return the postings of terms, int64 (t,), in the headings."""
        return self.arrays.headings.postings(self.numbers, hashes)

    def trees(self, hashes: Ints, first_pages: Ints) -> Trees:
        """Return the section trees of these documents, with the postings of terms in their titles.

        ``hashes`` are the terms. ``first_pages`` holds the offset of each document's pages.
        """
        return self.arrays.trees.trees(self.numbers, hashes, first_pages)

    def covering(self, pages: Ints, documents: Ints, first_sections: Ints) -> tuple[Ints, Ints]:
        """Return the sections that cover pages, and for each the index of its page in ``pages``.

        pages: int64 (n,), from 0 in their documents. documents: int64 (n,), indexes in this group. Both results are
        int64 (c,).
        """
        rows = self.arrays.body.first_pages(self.numbers[documents]) + pages
        return self.arrays.trees.covering(rows, first_sections[documents])

    def only(self, places: Sequence[int]) -> ContentGroup:
        """Return the group of the documents at these indexes."""
        return ContentGroup(self.arrays, self.numbers[np.asarray(places, np.int64)])


class ContentCache:
    """A cache of the most recently used documents, up to a number of pages. Several threads may use it."""

    def __init__(self, most_pages: int = 30_000, most_orders: int = 8_000) -> None:
        """Create a cache for documents with at most ``most_pages`` pages together.

        ``most_orders`` limits the number of pages whose ordered terms are cached, about 5 kB each.
        """
        self._most, self._most_orders = most_pages, most_orders
        self._orders: OrderedDict[tuple[str, int], TermOrder] = OrderedDict()
        self._held: OrderedDict[str, Content] = OrderedDict()
        self._pages = 0
        self._arrays = ContentArrays()
        self._lock = threading.Lock()

    def get(self, contents: Contents, content_id: str) -> Content | None:
        """Return a document from the cache or the catalog, None if it was removed."""
        return self.get_all(contents, [content_id]).get(content_id)

    def get_all(self, contents: Contents, content_ids: Sequence[str]) -> dict[str, Content]:
        """Return several documents by content id, without removed ones."""
        contents_by_id = dict[str, Content]()
        with self._lock:
            for content_id in content_ids:
                if (content := self._held.get(content_id)) is not None:
                    contents_by_id[content_id] = content
            if 2 * self._pages > self._most:  # a cache that is less full evicts nothing soon
                for content_id in contents_by_id:
                    self._held.move_to_end(content_id)
        missing = [content_id for content_id in content_ids if content_id not in contents_by_id]
        for content_id, (body, headings, sections) in (contents.looked_into(missing) if missing else {}).items():
            content = Content(content_id, body, headings, sections, children_of(sections))
            contents_by_id[content_id] = content
            with self._lock:
                if content_id not in self._held:
                    self._held[content_id] = content
                    self._pages += content.pages
                while self._pages > self._most and len(self._held) > 1:
                    _, dropped = self._held.popitem(last=False)
                    self._pages -= dropped.pages
        return contents_by_id

    def group(self, contents: Sequence[Content]) -> ContentGroup:
        """Return these documents as a group in common arrays.

        The arrays are rebuilt when they exceed twice the page limit.
        """
        with self._lock:
            if self._arrays.body.pages > 2 * self._most:
                self._arrays = ContentArrays()
            arrays = self._arrays
            for content in contents:
                if content.content_id not in arrays.numbers:
                    arrays.add(content)
            return ContentGroup(arrays, np.array([arrays.numbers[listed.content_id] for listed in contents], np.int64))

    def orders(self, contents: Contents, places: Sequence[tuple[Content, int]]) -> list[TermOrder]:
        """Return the ordered terms of pages, which are given as (content, page from 1).

        At most one query is sent to the catalog. Removed pages have no terms.
        """
        keys = [(content.content_id, page) for content, page in places]
        with self._lock:
            orders = {key: order for key in keys if (order := self._orders.get(key)) is not None}
            if 2 * len(self._orders) > self._most_orders:  # a cache that is less full evicts nothing soon
                for key in orders:
                    self._orders.move_to_end(key)
        missing = [key for key in keys if key not in orders]
        read = contents.page_orders(missing) if missing else {}
        with self._lock:
            self._orders.update(read)
            while len(self._orders) > self._most_orders:
                self._orders.popitem(last=False)
        orders |= read
        return [orders.get(key, NO_ORDER) for key in keys]

    def cached(self, content_id: str) -> Content | None:
        """Return a document if it is in memory, else None."""
        with self._lock:
            return self._held.get(content_id)

    def forget(self, content_ids: Iterable[str | None]) -> None:
        """Drop documents from the cache. This is needed because a repaired document keeps its content id."""
        with self._lock:
            wrong = set(filter(None, content_ids))
            for key in [key for key in self._orders if key[0] in wrong]:
                del self._orders[key]
            for content_id in wrong:
                self._arrays.numbers.pop(content_id, None)
                if (dropped := self._held.pop(content_id, None)) is not None:
                    self._pages -= dropped.pages


_GONE = PageText("", "")


class PageTexts:
    """The page texts of one search. Each text is read once, although several stages need it."""

    def __init__(self, contents: Contents) -> None:
        self._contents = contents
        self._held: dict[tuple[str, int], PageText] = {}

    def gone(self, place: tuple[Content, int]) -> bool:
        """Return whether a page was requested and missing in the catalog."""
        return self._held.get((place[0].content_id, place[1])) is _GONE

    def of(self, places: Sequence[tuple[Content, int]]) -> list[PageText]:
        """Return the text of each page (content, page from 1), an empty text for removed pages."""
        return self.by_id([(content.content_id, page) for content, page in places])

    def by_id(self, keys: Sequence[tuple[str, int]]) -> list[PageText]:
        """Return the text of each page by (content id, page)."""
        if missing := [key for key in dict.fromkeys(keys) if key not in self._held]:
            self._held |= dict.fromkeys(missing, _GONE) | self._contents.page_texts(missing)
        return [self._held[key] for key in keys]
