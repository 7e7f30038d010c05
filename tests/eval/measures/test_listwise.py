"""Ranking weights learned from lists: they come out as they went in, alike each time, each set counting the same."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from eval.measures.learning import RankedList, first_gold, learn, prune

TRUE = np.array([3.0, -2.0, 0.0, 1.0])


def draw_lists(questions: int, seed: int, weights: np.ndarray = TRUE, candidates: int = 12) -> list[RankedList]:
    """Questions whose right candidate is drawn as the softmax of ``weights`` has it."""
    draw = np.random.default_rng(seed)
    lists = []
    for _ in range(questions):
        values = draw.normal(size=(candidates, len(weights))).astype(np.float32)
        chances = np.exp(values @ weights)
        gold = np.zeros(candidates, bool)
        gold[draw.choice(candidates, p=chances / chances.sum())] = True
        lists.append(RankedList(values, gold))
    return lists


def test_known_weights_are_recovered() -> None:
    weights = learn([draw_lists(1500, 1)], l2=1e-4)
    assert weights == pytest.approx(TRUE, abs=0.2)


def test_the_same_data_give_the_same_weights() -> None:
    assert (learn([draw_lists(40, 1), draw_lists(20, 2)]) == learn([draw_lists(40, 1), draw_lists(20, 2)])).all()


def test_every_set_counts_the_same() -> None:
    small, large = draw_lists(30, 1), draw_lists(30, 2, -TRUE)
    balanced = learn([small, large])
    assert learn([small, large * 5]) == pytest.approx(balanced, abs=1e-4)
    assert learn([[*small, *large * 5]]) != pytest.approx(balanced, abs=0.3)


def test_a_column_without_data_keeps_the_prior() -> None:
    lists = []
    for number, question in enumerate(draw_lists(50, 3)):
        values = question.values.copy()
        values[:, 2], values[:, 3] = 0, number  # 3 differs between questions alone
        lists.append(RankedList(values, question.gold))
    assert learn([lists])[2:].tolist() == [0, 0]
    assert learn([lists], prior=np.array([0.0, 0.0, 5.0, 7.0]))[2:] == pytest.approx([5, 7])


def test_a_strong_l2_holds_weights_at_the_prior() -> None:
    prior = np.array([1.0, 1.0, 1.0, 1.0])
    assert learn([draw_lists(50, 4)], l2=1000, prior=prior) == pytest.approx(prior, abs=0.05)
    far, near = learn([draw_lists(50, 4)], l2=0.001), learn([draw_lists(50, 4)], l2=0.3)
    assert np.abs(near).sum() < np.abs(far).sum()


def test_several_right_candidates_are_worth_as_one() -> None:
    """The loss is that of any of them being first: the gradient at 0, worked out by hand."""
    values = np.array([[1.0], [0.0], [0.0]], np.float32)
    both = RankedList(values, np.array([True, True, False]))
    assert learn([[both]], steps=1)[0] > 0
    assert learn([[RankedList(values, np.array([False, True, True]))]], steps=1)[0] < 0


def test_nothing_to_learn_from_is_an_error() -> None:
    empty = RankedList(np.zeros((3, 2), np.float32), np.zeros(3, bool))
    with pytest.raises(ValueError, match="no question"):
        learn([[empty], []])


def test_pruned_candidates_are_the_right_ones_and_those_high_in_a_column() -> None:
    draw = np.random.default_rng(0)
    columns = draw.random((500, 3)).astype(np.float32)
    gold = np.zeros(500, bool)
    worst = columns.max(axis=1).argmin()
    gold[worst] = True
    rows = prune(columns, gold, keep=110)
    assert len(rows) <= 110 and worst in rows
    assert all(first < second for first, second in pairwise(rows.tolist()))
    for column in columns.T:
        assert set(np.argsort(-column)[:20].tolist()) <= set(rows.tolist())
    assert prune(columns[:5], gold[:5]).tolist() == [0, 1, 2, 3, 4]


def test_ranks_of_the_first_right_candidate() -> None:
    gold = np.array([False, True, True])
    assert first_gold(np.array([1.0, 1.0, 0.5]), gold) == 2  # equal scores keep their order
    assert first_gold(np.array([0.0, 0.1, 0.5]), gold) == 1
    assert first_gold(np.array([0.0, 0.1, 0.5]), np.zeros(3, bool)) == 0
    assert first_gold(np.zeros(0), np.zeros(0, bool)) == 0
