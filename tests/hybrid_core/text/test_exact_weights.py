"""A score of exact weights is the same in whatever order it is added up."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid_core.text.bm25 import document_weights, query_weights

WEIGHTS = st.lists(st.floats(1e-4, 50.0), min_size=1, max_size=200)


@given(wanted=WEIGHTS, seed=st.integers(0, 1000))
def test_no_order_changes_a_sum(wanted: list[float], seed: int) -> None:
    rng = np.random.default_rng(seed)
    query, document = query_weights(wanted), document_weights(rng.random(len(wanted)) + 1e-9)
    exact = math.fsum(float(a) * float(b) for a, b in zip(query, document, strict=True))
    for _ in range(3):
        total = np.float32(0)
        for at in rng.permutation(len(wanted)).tolist():
            total += query[at] * document[at]
        assert float(total) == exact


def test_plain_weights_are_added_in_an_order() -> None:
    """What the law is for: the same three products, twice."""
    plain = np.array([0.1, 0.2, 1.3], np.float32)
    assert (plain[0] + plain[1]) + plain[2] != plain[0] + (plain[1] + plain[2])


@given(WEIGHTS)
def test_they_stay_near_and_none_becomes_nothing(wanted: list[float]) -> None:
    made, step = query_weights(wanted), 4 * sum(wanted) / 2**14
    assert (made > 0).all()
    assert made == pytest.approx(wanted, abs=step)
    held = np.array([min(1.0, one) for one in wanted])
    assert document_weights(held) == pytest.approx(held, abs=2**-10)
    assert (document_weights(held) > 0).all()


def test_of_no_weight_nothing_is_made() -> None:
    assert query_weights([]).tolist() == []
    assert query_weights([0.0, 2.0, -1.0]).tolist() == [0.0, 2.0, -1.0]
    assert len(query_weights(np.ones(20_000))) == 20_000, "too many to be exact, and no reason to wait"
