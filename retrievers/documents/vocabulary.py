"""Which terms the documents of a library hold, looked up when a question has a word that the best documents lack."""

from __future__ import annotations

import threading
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hybrid_core.store.catalog.contents import Contents
from hybrid_core.store.catalog.snapshot import TermHashes
from hybrid_core.text.tokens import term_hash


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """terms: uint32 (t,), ascending hashes. holding: int64 (t,), how many pages hold each."""

    terms: npt.NDArray[np.uint32]
    holding: npt.NDArray[np.int64]

    def holding_each(self, terms: Sequence[str]) -> list[int]:
        """How many pages hold each term."""
        wanted = np.fromiter(map(term_hash, terms), np.uint32, len(terms))
        at = np.minimum(self.terms.searchsorted(wanted), len(self.terms) - 1)
        held: list[int] = np.where(self.terms[at] == wanted, self.holding[at], 0).tolist() if len(self.terms) else []
        return held or [0] * len(terms)


NOTHING = Vocabulary(np.zeros(0, np.uint32), np.zeros(0, np.int64))


class VocabularyCache:
    """The vocabulary of the contents asked for last. Safe for several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._of: frozenset[str] = frozenset()
        self._held = NOTHING

    def of(self, contents: Contents, content_ids: Collection[str]) -> Vocabulary:
        """That of these contents; only those that came since the last time are read."""
        wanted = frozenset(content_ids)
        with self._lock:
            if wanted != self._of:
                before, held = (self._of, self._held) if self._of <= wanted else (frozenset[str](), NOTHING)
                self._held = _added(held, contents.terms_held(sorted(wanted - before)))
                self._of = wanted
            return self._held


def _added(held: Vocabulary, came: Sequence[tuple[TermHashes, TermHashes]]) -> Vocabulary:
    terms = np.concatenate([held.terms, *(terms for terms, _ in came)])
    pages = np.concatenate([held.holding, *(pages for _, pages in came)])
    unique, at = np.unique(terms, return_inverse=True)
    return Vocabulary(unique, np.bincount(at, pages, len(unique)).astype(np.int64))
