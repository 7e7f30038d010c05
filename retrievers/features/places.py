"""What a page's place in its tree tells: headings on it and above it, its sections' NodeScore, its neighbours."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from retrievers.documents.content import Content
from retrievers.pages.node_score import node_scores, page_structure, path_shares

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


def path_cover(content: Content, hashes: Ints, weights: Floats) -> Floats:
    """The share of ``weights``, float64 (t,), of the question's terms that the titles above and on each page hold
    together: float64 (pages,), 0 to 1."""
    found = content.titles.terms.occurrences(hashes.tolist())
    total = float(weights.sum())
    if not len(found.pages) or not total:
        return np.zeros(content.pages)
    masks = np.zeros(len(content.sections), np.int64)
    np.bitwise_or.at(masks, found.pages.astype(np.int64), np.int64(1) << np.minimum(found.terms, 62))
    for level in content.levels[1:]:
        masks[level] |= masks[content.parents[level]]
    sections, begins = content.covering
    if not len(begins):
        return np.zeros(content.pages)
    pages = np.bitwise_or.reduceat(masks[sections], begins)
    held = (pages[:, None] >> np.arange(min(len(weights), 63))) & 1
    return np.asarray(held @ weights[:63] / total)


def structure(content: Content, coarse: Floats) -> tuple[Floats, Floats]:
    """NodeScore of every section, float64 (sections,), and what the sections' places earn each page, float64
    (pages,); ``coarse`` are the hits' scores, the question's best 1."""
    nodes = node_scores(content.spans, coarse)
    return nodes, page_structure(content, path_shares(content, nodes))


def neighbours(scores: Floats, firsts: Ints) -> Floats:
    """The better score of the page before and after, of the same document: float64 (pages,)."""
    before, after = np.zeros(len(scores)), np.zeros(len(scores))
    before[1:], after[:-1] = scores[:-1], scores[1:]
    inner = firsts[(firsts > 0) & (firsts < len(scores))]
    before[inner] = 0.0
    after[inner - 1] = 0.0
    return np.maximum(before, after)


def on_pages(values: Sequence[Floats]) -> Floats:
    """Values of several documents' pages, numbered through: float64 (pages,)."""
    return np.concatenate([np.zeros(0), *values])
