"""The words of section titles, as they are looked for."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

import numpy as np

from hybrid_core.text import tokens
from hybrid_core.text.term_counts import TermCounts


def title_terms(titles: Sequence[str]) -> TermCounts:
    """Term counts with a row for each title, numbers left out; a row's length is how many words it has.

    The same as ``TermCounts.build`` of each title counted, at a third of its time.
    """
    rows = [tokens.word_hashes(title) if title else [] for title in titles]
    sizes = [len(row) for row in rows]
    places = np.repeat(np.arange(len(rows), dtype=np.uint64), sizes)
    words = np.fromiter(chain.from_iterable(rows), np.uint64, sum(sizes))
    both, counts = np.unique(words << np.uint64(32) | places, return_counts=True)
    terms, starts = np.unique((both >> np.uint64(32)).astype(np.uint32), return_index=True)
    return TermCounts(
        terms, np.append(starts, len(both)).astype(np.int64),
        both.astype(np.uint32),  # its lower half
        np.minimum(counts, 255).astype(np.uint16), np.array(sizes, np.uint32),
    )  # fmt: skip
