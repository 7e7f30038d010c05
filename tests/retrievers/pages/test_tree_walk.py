"""The walk is the same whether it looks at all that is worth something, or leaves out what it cannot reach."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from hybrid_core.text.term_counts import TermCounts
from hybrid_core.types.documents import Section
from retrievers.documents.content import Content, children_of
from retrievers.pages.tree_walk import Tree, WalkTrace, walk


def tree(values: list[float], cuts: list[int]) -> Tree:
    """A top section over all pages, and one below it from each cut to the next."""
    pages = len(values)
    starts = sorted({1, *(cut % pages + 1 for cut in cuts)})
    ends = [*(start - 1 for start in starts[1:]), pages]
    below = [
        Section(f"{at:04}", "0001", 2, "s", start, end)
        for at, (start, end) in enumerate(zip(starts, ends, strict=True), 2)
    ]
    sections = (Section("0001", None, 1, "top", 1, pages), *below)
    counts = TermCounts.build([{}] * pages, [1] * pages)
    return Content("c", counts, counts, sections, children_of(sections)), np.array(values)


some_values = st.lists(st.sampled_from([0.0, 0.1, 0.25, 0.25, 0.5, 1.0]), min_size=1, max_size=12)
trees = st.lists(st.builds(tree, some_values, st.lists(st.integers(0, 11), max_size=4)), min_size=1, max_size=4)


@given(trees, st.integers(1, 30))
def test_what_cannot_be_reached_changes_nothing(given_trees: list[Tree], limit: int) -> None:
    found = walk(given_trees, limit)
    assert found == walk(given_trees, limit, WalkTrace()), "which puts everything in its queue"
    worth = sorted((value for _, values in given_trees for value in values.tolist() if value > 0), reverse=True)
    assert [float(given_trees[one.doc][1][one.page - 1]) for one in found] == worth[:limit]


@given(trees, st.integers(1, 30), st.integers(1, 30))
def test_a_smaller_limit_gives_the_beginning(given_trees: list[Tree], one: int, other: int) -> None:
    few, many = sorted((one, other))
    assert walk(given_trees, few) == walk(given_trees, many)[:few]
