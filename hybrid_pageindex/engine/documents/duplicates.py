"""Group documents of a library that are the same file, or have nearly the same words. No model is used."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import mmh3
import numpy as np
from numpy.typing import NDArray

from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.types.documents import DocumentRow

MIN_SHARE = 0.8
_SHINGLE = 5  # words of a sequence
_SKETCH = 256  # smallest hashes of sequences that stand for a document
_MIN_SHINGLES = 20  # a document with fewer sequences is not compared
_MAX_PAGES = 500  # pages of a document that are read
_MAX_PAGES_READ = 20_000  # pages of a library that are read
_PAGES_AT_ONCE = 100
_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]|[^\W_\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]+")
_FACTOR = np.uint64(0x9E3779B97F4A7C15)

Hashes = NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class Duplicate:
    """A document in a group of duplicates.

    ``share`` is the estimated share of words that it has in common with the group's first document, 0 to 1.
    """

    doc_id: str
    share: float


@dataclass(frozen=True, slots=True)
class DuplicateGroup:
    """A group of duplicates. ``same`` tells whether they are the same file, or only have nearly the same words."""

    same: bool
    documents: tuple[Duplicate, ...]


@dataclass(frozen=True, slots=True)
class Duplicates:
    """Groups of two or more documents of a library that are equal or nearly equal, and how they were found.

    The words of ``compared`` of the ``documents`` were compared. The others have hardly any words, or exceed the limit
    ``pages_limit`` on pages read in all. Of each document only the first ``document_pages`` pages are read. Each
    document shares at least ``min_share`` of its runs of ``sequence`` words with the first of its group, by estimate.
    """

    groups: tuple[DuplicateGroup, ...]
    compared: int
    documents: int
    min_share: float = MIN_SHARE
    sequence: int = _SHINGLE
    document_pages: int = _MAX_PAGES
    pages_limit: int = _MAX_PAGES_READ


def find_duplicates(catalog: Catalog, library: str, max_pages: int = _MAX_PAGES_READ) -> Duplicates:
    """Return the duplicates and near-duplicates of a library. Raise NotFoundError for an unknown library.

    At most ``max_pages`` stored pages are read.
    """
    with catalog.snapshot() as snapshot:
        rows = snapshot.document_rows(snapshot.library(library).id)
    copies: dict[str, list[DocumentRow]] = defaultdict(list)
    for row in rows:
        if row.content_id:
            copies[row.content_id].append(row)
    sketches = _sketches(catalog, [same[0] for same in copies.values()], max_pages)
    groups = []
    for alike in _group(sketches, copies):
        documents = [Duplicate(row.doc_id, round(share, 3)) for content, share in alike for row in copies[content]]
        if len(documents) > 1:
            groups.append(DuplicateGroup(len(alike) == 1, tuple(documents)))
    compared = sum(len(copies[content]) for content in sketches)
    return Duplicates(tuple(groups), compared, sum(map(len, copies.values())), pages_limit=max_pages)


def _sketches(catalog: Catalog, rows: Sequence[DocumentRow], max_pages: int) -> dict[str, Hashes]:
    """Return by content id a sketch of each document: the smallest hashes of its word sequences.

    Leave out documents that have hardly any words or exceed the limit ``max_pages``.
    """
    sketches, left, hashes = dict[str, Hashes](), max_pages, _WordHashes()
    for row in rows:
        last = min(row.pages, _MAX_PAGES)
        if last > left:
            continue
        left -= last
        texts = list[str]()
        for first in range(1, last + 1, _PAGES_AT_ONCE):
            with catalog.snapshot() as snapshot:
                end = min(first + _PAGES_AT_ONCE - 1, last)
                texts += [text for _, text in snapshot.texts(row.content_id, first, end)]
        shingles = hashes.shingles(texts)
        if len(shingles) >= _MIN_SHINGLES:
            sketches[row.content_id] = shingles[:_SKETCH]
    return sketches


class _WordHashes(dict[str, int]):
    """A cache of word hashes."""

    def __missing__(self, word: str) -> int:
        value = self[word] = mmh3.hash64(word, signed=False)[0]
        return value

    def shingles(self, texts: Iterable[str]) -> Hashes:
        """Return the sorted hashes of all sequences of ``_SHINGLE`` consecutive words in texts."""
        words = [self[word] for text in texts for word in _WORD.findall(text.lower())]
        if len(words) < _SHINGLE:
            return np.empty(0, np.uint64)
        values = np.array(words, np.uint64)
        total = np.zeros(len(words) - _SHINGLE + 1, np.uint64)
        for place in range(_SHINGLE):  # arithmetic of these arrays wraps around
            total = total * _FACTOR + values[place : place + len(total)]
        total ^= total >> np.uint64(31)
        return np.unique(total * _FACTOR)


def _group(sketches: Mapping[str, Hashes], contents: Iterable[str]) -> list[list[tuple[str, float]]]:
    """Return groups of similar contents, as lists of (content id, share of common words with the group's first).

    Each content joins the group whose first content is most similar, or begins a new group.
    """
    groups: list[list[tuple[str, float]]] = []
    holding: dict[int, list[int]] = defaultdict(list)  # groups whose first content has a hash
    for content in contents:
        sketch = sketches.get(content)
        values = [] if sketch is None else sketch.tolist()
        candidates = Counter(group for value in values for group in holding.get(value, ()))
        shares = [(_share(sketches[groups[group][0][0]], sketches[content]), -group) for group in candidates]
        share, group = max(shares, default=(0.0, 0))
        if share >= MIN_SHARE:
            groups[-group].append((content, share))
            continue
        for value in values:
            holding[value].append(len(groups))
        groups.append([(content, 1.0)])
    return groups


def _share(first: Hashes, second: Hashes) -> float:
    """Return the Jaccard similarity of two documents, estimated from their sketches (Broder, 1997)."""
    smallest = np.union1d(first, second)[:_SKETCH]
    return float((np.isin(smallest, first) & np.isin(smallest, second)).mean())
