"""NodeScore and DocScore: the formula by hand, and its laws."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid_core.text.terms import TermCounts
from hybrid_core.types.documents import Hit, Section
from retrievers.candidates.documents import doc_scores, node_score
from retrievers.ranking.walk import Tree, best_first, walk
from retrievers.trees.content import Content, children_of
from retrievers.trees.contents import ContentCache
from retrievers.trees.postings import Trees

scores = st.lists(st.floats(0.001, 1.0), max_size=30)


def hit(doc: str, page: int, score: float) -> Hit:
    return Hit(doc, "c", page, score)


def content(pages: int, *sections: tuple[int, int, int]) -> Content:
    """A tree from (level, first page, last page) in preorder."""
    made: list[Section] = []
    path: list[Section] = []
    for number, (level, start, end) in enumerate(sections, 1):
        path = path[: level - 1]
        section = Section(f"{number:04d}", path[-1].node_id if path else None, level, f"S{number}", start, end)
        made.append(section)
        path.append(section)
    empty = TermCounts.build([{} for _ in range(pages)], [0] * pages)
    return Content("c", empty, empty, tuple(made), children_of(tuple(made)))


def trees(*contents: Content) -> Trees:
    """Those of documents that are numbered through."""
    firsts = np.concatenate(([0], np.cumsum([one.pages for one in contents])))
    return ContentCache().group(contents).trees(np.zeros(0, np.int64), firsts)


def test_by_hand() -> None:
    assert node_score([]) == 0.0
    assert node_score([1.0]) == pytest.approx(1 / math.sqrt(2))
    assert node_score([1.0, 0.5, 0.5]) == pytest.approx(2 / math.sqrt(4))


def test_doc_scores_divide_by_the_questions_best() -> None:
    found = doc_scores([hit("a", 1, 8.0), hit("b", 1, 4.0), hit("b", 2, 4.0)])
    assert found == pytest.approx({"a": 1 / math.sqrt(2), "b": 1.0 / math.sqrt(3)})
    assert doc_scores([]) == {} == doc_scores([hit("a", 1, 0.0)])


@given(scores, st.floats(0.001, 1.0))
def test_more_hits_of_the_same_strength_never_hurt(found: list[float], score: float) -> None:
    same = [score] * len(found)
    assert node_score([*same, score]) > node_score(same)


@given(scores, st.randoms())
def test_order_does_not_matter(found: list[float], shuffle: object) -> None:
    mixed = list(found)
    shuffle.shuffle(mixed)  # type: ignore[attr-defined]
    assert node_score(mixed) == pytest.approx(node_score(found))


@given(st.lists(st.floats(0, 1), min_size=1, max_size=40), st.data())
def test_a_node_is_the_gathering_of_its_pages(page_hits: list[float], data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(page_hits) - 1))
    end = data.draw(st.integers(start + 1, len(page_hits)))
    before = replace(content(3, (1, 1, 3)), content_id="before")
    tree = content(len(page_hits), (1, 1, len(page_hits)), (2, start + 1, end))
    _, whole, part = trees(before, tree).node_scores(np.array([0.3, 0.0, 0.9, *page_hits]))
    assert part == pytest.approx(node_score([s for s in page_hits[start:end] if s > 0]))
    assert whole == pytest.approx(node_score([s for s in page_hits if s > 0]))


def test_path_shares_compare_siblings_only() -> None:
    tree = content(6, (1, 1, 4), (2, 1, 2), (2, 3, 4), (1, 5, 6))
    other = replace(content(2, (1, 1, 1), (1, 2, 2)), content_id="other")
    shares = trees(other, tree).path_shares(np.array([9.0, 3.0, 0.8, 0.2, 0.4, 0.4]))
    # S1 is the best top section; S2 has half of S3 beside it; S4 half of S1
    assert shares == pytest.approx([1.0, 1 / 3, 1.0, (1 + 0.5) / 2, (1 + 1) / 2, 0.5])
    group = ContentCache().group([other, tree])
    sections, rows = group.covering(np.arange(6), np.ones(6, np.int64), np.array([0, 2, 6]))
    assert [sections[rows == page].tolist() for page in range(6)] == [[2, 3], [2, 3], [2, 4], [2, 4], [5], [5]]


def test_no_hits_give_no_structure() -> None:
    tree = content(2, (1, 1, 1), (1, 2, 2))
    assert trees(tree).path_shares(np.zeros(2)).tolist() == [0.0, 0.0]


@st.composite
def walkables(draw: st.DrawFn) -> list[Tree]:
    documents = []
    for _ in range(draw(st.integers(1, 3))):
        pages = draw(st.integers(1, 12))
        cuts = sorted({1, *draw(st.lists(st.integers(1, pages), max_size=4))})
        sections: list[tuple[int, int, int]] = []
        for start, end in zip(cuts, [*[c - 1 for c in cuts[1:]], pages], strict=True):
            sections.append((1, start, end))
            middle = draw(st.integers(start, end))
            sections += [(2, start, middle), (2, middle, end)]
        made = content(pages, *sections)
        values = np.array(draw(st.lists(st.sampled_from([0.0, 0.1, 0.5, 0.9]), min_size=pages, max_size=pages)))
        documents.append((made, values))
    return documents


@given(walkables(), st.integers(1, 20))
def test_the_walk_returns_the_best_pages_once_each_best_first(documents: list[Tree], limit: int) -> None:
    reached = best_first([values for _, values in documents], limit)
    assert walk(documents, limit)[0] == reached
    values = [float(documents[r.doc][1][r.page - 1]) for r in reached]
    everything = sorted((float(v) for _, page_values in documents for v in page_values if v > 0), reverse=True)
    assert values == everything[:limit]
    assert len({(r.doc, r.page) for r in reached}) == len(reached)
    assert best_first([values for _, values in documents], limit + 3)[:limit] == reached


def test_the_walk_opens_only_what_leads_to_a_result() -> None:
    tree = content(6, (1, 1, 3), (2, 1, 1), (2, 2, 3), (1, 4, 6), (2, 4, 5), (2, 6, 6))
    values = np.array([0.1, 0.1, 0.9, 0.1, 0.1, 0.1])
    (best,), steps = walk([(tree, values)], 1)
    assert best.page == 3
    assert steps.opened == [(0, 0), (0, 2)]
    assert steps.seen == [(0, 0), (0, 3), (0, 1), (0, 2)]
