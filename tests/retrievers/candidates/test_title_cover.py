"""Titles that a question covers: by hand, by law, and what that does to the order of pages."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pymupdf
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid_core.text import bm25, tokens
from hybrid_core.types.documents import Section
from hybrid_pageindex import Engine, run
from retrievers.trees.content import Titles

WORDS = ("weir", "sluice", "lock", "gate", "basin")


def titles(*named: tuple[str, int]) -> Titles:
    """Sections of one level from (title, page); one without a heading comes first."""
    front = Section("0001", None, 1, "weir sluice", 1, 1, synthetic=True)
    return Titles.of(
        [front, *(Section(f"{n:04d}", None, 1, title, page, page) for n, (title, page) in enumerate(named, 2))]
    )


def query(**weights: float) -> dict[int, float]:
    return {tokens.term_hash(term): weight for term, weight in weights.items()}


def test_by_hand() -> None:
    """A half-covered title counts an eighth; of a page's titles the best counts; groups of pages have no title."""
    made = titles(("Weir", 2), ("Sluice and lock 7", 3), ("Gate", 3))
    once = float(bm25.idf(3, 1))
    assert made.covered(query(weir=1.0), 3, 3).tolist() == pytest.approx([0.0, once, 0.0])
    assert made.covered(query(sluic=1.0), 3, 3).tolist() == pytest.approx([0.0, 0.0, once / 8])
    assert made.covered(query(sluic=1.0, lock=1.0), 3, 3).tolist() == pytest.approx([0.0, 0.0, 2 * once])
    assert made.covered(query(sluic=1.0, gate=0.5), 3, 3).tolist() == pytest.approx([0.0, 0.0, once / 8])
    assert made.covered(query(basin=1.0), 3, 3).tolist() == [0.0, 0.0, 0.0]
    assert titles().covered(query(weir=1.0), 2, 3).tolist() == [0.0, 0.0]


@given(
    st.lists(st.tuples(st.lists(st.sampled_from(WORDS), min_size=1, max_size=4).map(" ".join), st.integers(1, 4))),
    st.dictionaries(st.sampled_from([tokens.stem(word) for word in WORDS]), st.floats(0.1, 1.0)),
)
def test_what_each_term_adds_is_the_score(named: list[tuple[str, int]], weights: dict[str, float]) -> None:
    made, asked = titles(*named), query(**weights)
    covered = made.covered(asked, 4, 3)
    assert [sum(made.adds(asked, page, 3).values()) for page in range(1, 5)] == pytest.approx(covered.tolist())
    assert np.all(covered <= sum(w * bm25.idf(max(1, len(named)), 1) for w in weights.values()) + 1e-9)


def test_a_section_asked_for_by_its_name_comes_before_pages_that_say_its_words(engine: Engine, tmp_path: Path) -> None:
    pages = (
        ("Duties of the keeper under the law governing locks and basins", "The keeper keeps the law."),
        ("Law governing fees, tolls and fines", "The governing body sets fees by law."),
        ("Governing Law", "This lease follows the rules of the town."),
        ("Opening hours", "The gate opens at six."),
    )
    document = pymupdf.open()
    for heading, sentence in pages:
        page = document.new_page()
        page.insert_text((72, 90), heading, fontsize=17, fontname="hebo")
        for line in range(12):
            said = sentence if line == 3 else f"Boats wait below lock {line} until it is full."
            page.insert_text((72, 130 + 20 * line), said, fontsize=10)
    document.save(tmp_path / "lock.pdf")
    run(engine.index(tmp_path / "lock.pdf"))
    assert run(engine.search("governing law")).results[0].page == 3
