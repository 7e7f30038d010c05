"""Estimate the quality of a section tree, from the tree and the certainty of the heading model.

The weights are in ``headings.json``, learned with the heading model from authors' outlines.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from math import exp, log1p
from typing import Any

import numpy as np
import numpy.typing as npt

from hybrid_core.types.documents import Section
from indexers.outline.heading_model import SHIPPED, Possible

KEY = "tree_quality"
"""The key of the estimated quality of a tree (0 to 1) in the record of the models."""
SIGNS = (
    "expected", "agreement", "doubtful", "listed", "numbered", "proposed", "headings", "pages", "covered", "depth",
    "largest",
)  # fmt: skip
"""The features from which the quality of a tree is estimated, in order."""
_FEWEST = 6  # minimum pages of a document whose tree is worth refining
_SURE = (0.15, 0.85)  # probabilities between these are doubtful


def signs_of_headings(
    items: Sequence[Possible], chances: npt.NDArray[np.float64], chosen: npt.NDArray[np.bool_], pages: int
) -> tuple[float, ...]:
    """Return the quality features that depend only on the headings: those before "pages" in ``SIGNS``.

    The first is the expected F1 of the chosen headings, the second their F1 against the headings of the rules.
    """
    likely = np.array([item.likely for item in items], bool)
    count, right = max(1, int(chosen.sum())), float(chances[chosen].sum())
    doubtful = (chances > _SURE[0]) & (chances < _SURE[1])
    inside = [item for item, is_chosen in zip(items, chosen.tolist(), strict=True) if is_chosen]
    return (
        2 * right / max(1.0, count + float(chances.sum())),
        2 * float((likely & chosen).sum()) / max(1, count + int(likely.sum())),
        float(doubtful.sum()) / count,
        sum(item.entry for item in inside) / count,
        sum(item.number is not None for item in inside) / count,
        log1p(len(items) / max(1, pages)),
        log1p(len(inside) / max(1, pages)),
    )


def signs_of_tree(headings: Sequence[float], sections: Sequence[Section], pages: int) -> tuple[float, ...]:
    """Return the features ``headings``, followed by features of the section tree made from the headings.

    The latter include the share of pages outside page groups, and the share of pages in the longest section without
    children.
    """
    grouped = set[int]()
    for section in sections:
        if section.synthetic:
            grouped.update(range(section.start_page, section.end_page + 1))
    depth = max((section.level for section in sections if not section.synthetic), default=0)
    holders = {section.parent_id for section in sections}
    longest = max((s.end_page - s.start_page + 1 for s in sections if s.node_id not in holders), default=pages)
    return (*headings, log1p(pages), 1 - len(grouped) / max(1, pages), depth, longest / max(1, pages))


def quality(signs: Sequence[float]) -> float:
    """Return the expected F1 of a tree with these features, 0 to 1."""
    weights, base, _ = _learned()
    return 1 / (1 + exp(-base - sum(weight * sign for weight, sign in zip(weights, signs, strict=True))))


def is_low(models: Mapping[str, Any], pages: int) -> bool:
    """Return whether the estimated quality of a tree is low enough to use the layout model.

    It is always False for documents of a few pages: reading their pages is as fast as reading the tree.
    """
    estimate = models.get(KEY)
    return pages >= _FEWEST and isinstance(estimate, float) and estimate < _learned()[2]


@cache
def _learned() -> tuple[tuple[float, ...], float, float]:
    written = json.loads(SHIPPED.read_text(encoding="utf-8"))["quality"]
    return tuple(written["weights"][name] for name in SIGNS), written["base"], written["low"]
