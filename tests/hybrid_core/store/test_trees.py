"""Trees are stored as one value, and read back as they were."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid_core.store.catalog.trees import StoredSections, column, node_id, packed, terms_of_titles
from hybrid_core.store.tables import clean
from hybrid_core.text import tokens
from hybrid_core.text.terms import TermCounts
from hybrid_core.types.documents import Section

numbers = st.integers(0, 2**31 - 1)
titles = st.text(max_size=12) | st.sampled_from(["Item 7. Cash flows", "现金流量表", "2024", "cash cash Cash"])


@st.composite
def trees(draw: st.DrawFn) -> tuple[Section, ...]:
    sections = list[Section]()
    for position in range(1, draw(st.integers(1, 12)) + 1):
        parent, start = draw(st.integers(0, position - 1)), draw(st.integers(1, 2**31 - 1))
        sections.append(
            Section(
                node_id(position),
                node_id(parent) if parent else None,
                draw(numbers),
                draw(titles),
                start,
                draw(st.integers(start, 2**31 - 1)),
                draw(numbers),
                draw(st.none() | numbers),
                draw(st.floats(allow_nan=False)),
                "layout",
                draw(st.booleans()),
                draw(st.text(max_size=9)),
                tuple(draw(st.lists(st.text(min_size=1), max_size=2))),
                tuple(draw(st.lists(st.text(), max_size=2))),
            )
        )
    return tuple(sections)


@given(trees())
def test_a_tree_is_read_back_as_it_was(sections: tuple[Section, ...]) -> None:
    stored = StoredSections(*packed(sections))
    assert len(stored) == len(sections)
    for one, other in zip(stored, sections, strict=True):
        for name in Section.__slots__:
            assert getattr(one, name) == _cleaned(getattr(other, name)), name
    for name in ("parent", "level", "start_page", "end_page", "anchor", "title", "synthetic"):
        assert stored.column(name) == [_cleaned(value) for value in column(sections, name)], name
    assert stored[-1] == list(stored)[-1] and list(stored[1:]) == list(stored)[1:]
    assert packed(list(stored)) == packed(sections)


@given(st.lists(titles, min_size=1, max_size=8))
def test_terms_of_titles_are_those_of_each_title_counted(named: list[str]) -> None:
    sections = [Section(node_id(at), None, 1, title, 1, 1, synthetic=at % 4 == 0) for at, title in enumerate(named, 1)]
    words = [[] if one.synthetic else tokens.word_hashes(clean(one.title)) for one in sections]
    expected = TermCounts.build([tokens_counted(row) for row in words], list(map(len, words)))
    for found in (StoredSections(*packed(sections)).title_terms, terms_of_titles(sections)):
        for name in ("terms", "starts", "pages", "counts", "lengths"):
            assert np.array_equal(getattr(found, name), getattr(expected, name)), name


@pytest.mark.parametrize("damage", [lambda tree: tree[:10], lambda tree: tree[:-1], lambda tree: b"????" + tree[4:]])
def test_what_is_damaged_is_not_read(damage: object) -> None:
    tree, named = packed((Section("0001", None, 1, "Cash", 1, 2),))
    assert callable(damage)
    with pytest.raises(ValueError, match="a section tree is"):
        StoredSections(damage(tree), named)


def tokens_counted(words: list[int]) -> dict[int, int]:
    return {word: words.count(word) for word in words}


def _cleaned(value: object) -> object:
    if isinstance(value, tuple):
        return tuple(map(_cleaned, value))
    return clean(value) if isinstance(value, str) else value
