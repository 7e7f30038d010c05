"""Samples keep the kinds in proportion and depend on seed and ids alone."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eval.datasets.variants import sample
from eval.records.questions import EvalQuestion
from hybrid_core.errors import UsageError


def asked(kinds: str) -> list[EvalQuestion]:
    return [EvalQuestion(f"q{at}", "?", (), kind=kind) for at, kind in enumerate(kinds)]


def test_shares_by_largest_remainder() -> None:
    # 7 of 20: a has 12 -> 4.2, b has 6 -> 2.1, c has 2 -> 0.7; the one left over goes to c
    chosen = sample(asked("a" * 12 + "b" * 6 + "c" * 2), 7)
    assert Counter(q.kind for q in chosen) == {"a": 4, "b": 2, "c": 1}


def test_equal_remainders_go_to_the_larger_kind() -> None:
    # 2 of 8: a has 5 -> 1.25, b has 2 -> 0.5, c has 1 -> 0.25; one left over, to b; 4 of 8: 2.5, 1, 0.5 -> a
    assert Counter(q.kind for q in sample(asked("aaaaabbc"), 2)) == {"a": 1, "b": 1}
    assert Counter(q.kind for q in sample(asked("aaaaabbc"), 4)) == {"a": 3, "b": 1}


@given(st.text("abc", min_size=1, max_size=60), st.integers(1, 70), st.integers(0, 5))
def test_a_sample_has_its_size_keeps_the_order_and_repeats(kinds: str, size: int, seed: int) -> None:
    questions = asked(kinds)
    chosen = sample(questions, size, seed)
    assert len(chosen) == min(size, len(questions))
    assert [q.id for q in questions if q in chosen] == [q.id for q in chosen]
    assert sample(questions, size, seed) == chosen
    assert set(sample(questions[::-1], size, seed)) == set(chosen)
    for kind, count in Counter(kinds).items():
        assert abs(Counter(q.kind for q in chosen)[kind] - len(chosen) * count / len(questions)) < 1


def test_another_seed_draws_others() -> None:
    assert sample(asked("a" * 50), 10, 0) != sample(asked("a" * 50), 10, 1)


def test_a_sample_of_nothing_is_refused() -> None:
    with pytest.raises(UsageError, match="at least one question, not 0"):
        sample(asked("a"), 0)
