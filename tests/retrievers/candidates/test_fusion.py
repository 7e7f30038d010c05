"""Fusion: the laws that any way of adding up scores has to keep."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrievers.candidates.documents import normalised, ranked, reciprocal_ranks, weighted

scores = st.dictionaries(st.sampled_from("abcdefgh"), st.just(0.0) | st.floats(1e-6, 1e6), max_size=8)
weights = st.floats(0.01, 100)


def test_by_hand() -> None:
    assert normalised({"a": 4.0, "b": 1.0, "c": -2.0}) == {"a": 1.0, "b": 0.25, "c": 0.0}
    assert weighted([(1.0, {"a": 1.0, "b": 0.5}), (3.0, {"b": 0.5, "c": 0.1})]) == pytest.approx(
        {"a": 1, "b": 2, "c": 0.3}
    )
    assert ranked({"b": 1.0, "a": 1.0, "c": 2.0}) == ["c", "a", "b"]
    assert normalised({}) == {} == weighted([])
    assert reciprocal_ranks([{"a": 9.0, "b": 1.0, "c": 0.0}, {"b": 0.3, "d": 0.2}], 60) == pytest.approx(
        {"a": 1 / 61, "b": 1 / 62 + 1 / 61, "d": 1 / 62}
    )
    assert reciprocal_ranks([], 60) == {}


@given(scores, st.floats(0.001, 1000))
def test_the_unit_of_a_score_does_not_matter(found: dict[str, float], factor: float) -> None:
    assert normalised({k: v * factor for k, v in found.items()}) == pytest.approx(normalised(found), abs=1e-6)


@given(scores)
def test_normalising_keeps_the_order_and_reaches_one(found: dict[str, float]) -> None:
    made = normalised(found)
    assert made.keys() == found.keys() and all(0 <= v <= 1 for v in made.values())
    if any(v > 0 for v in found.values()):
        assert max(made.values()) == 1.0
    for a in found:
        for b in found:
            if found[a] >= found[b]:
                assert made[a] >= made[b]


@given(st.lists(st.tuples(weights, scores), max_size=4), st.randoms())
def test_the_order_of_the_parts_does_not_matter(parts: list[tuple[float, dict[str, float]]], shuffle: object) -> None:
    mixed = list(parts)
    shuffle.shuffle(mixed)  # type: ignore[attr-defined]
    assert weighted(mixed) == pytest.approx(weighted(parts))


@given(weights, scores, weights, scores)
def test_what_is_at_least_as_good_in_every_part_is_not_ranked_below(
    w1: float, first: dict[str, float], w2: float, second: dict[str, float]
) -> None:
    total = weighted([(w1, first), (w2, second)])
    for a in total:
        for b in total:
            if first.get(a, 0) >= first.get(b, 0) and second.get(a, 0) >= second.get(b, 0):
                assert total[a] >= total[b]


@given(scores)
def test_one_part_alone_keeps_its_ranking(found: dict[str, float]) -> None:
    assert ranked(weighted([(2.0, found)])) == ranked(found)


@given(scores, scores, st.sampled_from((0.25, 8.0)))
def test_reciprocal_ranks_see_the_order_alone(first: dict[str, float], second: dict[str, float], factor: float) -> None:
    stretched = {key: score * factor for key, score in first.items()}
    total = reciprocal_ranks([first, second], 60)
    assert reciprocal_ranks([stretched, second], 60) == total
    assert all(0 < score <= 2 / 61 for score in total.values())
    assert ranked(reciprocal_ranks([first], 60)) == [key for key in ranked(first) if first[key] > 0]
