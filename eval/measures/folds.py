"""Figures across folds: what a choice gains on companies, laws or contracts that it was not made on."""

from __future__ import annotations

import random
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

from hybrid_core.errors import UsageError

FOLDS = 5

Scores = Mapping[str, float]
"""A measure of every question, by the question's id."""


@dataclass(frozen=True, slots=True)
class Fold:
    """One fold of several runs. ``means`` has one figure for each run; ``chosen`` is the run that is best elsewhere."""

    questions: int
    groups: int
    means: tuple[float, ...]
    chosen: int


@dataclass(frozen=True, slots=True)
class CrossFold:
    """``cross_fold`` is the mean over all questions, each scored by the run that is best on the other folds.

    ``in_sample`` is the mean of the run that is best on all of them (``best``, its place among the runs), and
    ``means`` the mean of each run. Where ``cross_fold`` is lower, the choice does not carry over.
    """

    folds: tuple[Fold, ...]
    means: tuple[float, ...]
    best: int
    in_sample: float
    cross_fold: float


def assign(groups: Mapping[str, str], *, folds: int = FOLDS, seed: int = 0) -> dict[str, int]:
    """The fold, from 0, of every question id of ``groups``. A group never spans two folds.

    Groups are dealt from the largest to the smallest, equals in a seeded order, each to the fold that holds the
    fewest questions. A question whose group is "" stands alone. The order of ``groups`` does not matter.
    Raises UsageError where there are fewer groups than folds.
    """
    members: dict[Hashable, list[str]] = {}
    for question, group in sorted(groups.items()):
        members.setdefault(group or (question,), []).append(question)
    if folds < 2 or len(members) < folds:
        raise UsageError(
            f"{len(members)} groups of questions cannot be dealt to {folds} folds.",
            "Use at least two folds and no more than there are groups (companies, laws, contracts).",
        )
    shuffled = sorted(members.values())
    random.Random(seed).shuffle(shuffled)
    dealt: dict[str, int] = {}
    sizes = [0] * folds
    for together in sorted(shuffled, key=len, reverse=True):  # sorted is stable: equals stay shuffled
        smallest = sizes.index(min(sizes))
        sizes[smallest] += len(together)
        dealt.update(dict.fromkeys(together, smallest))
    return dealt


def across(runs: Sequence[Scores], groups: Mapping[str, str], *, folds: int = FOLDS, seed: int = 0) -> CrossFold:
    """Choose the best of ``runs`` on four folds, score it on the fifth, for every fold in turn.

    All runs have a score, higher is better, for every question of ``groups``; ties go to the run named first.
    """
    dealt = assign(groups, folds=folds, seed=seed)
    made, earned = [], 0.0
    for fold in range(folds):
        inside = [question for question, at in dealt.items() if at == fold]
        outside = [question for question, at in dealt.items() if at != fold]
        chosen = _best([_mean(run, outside) for run in runs])
        means = tuple(_mean(run, inside) for run in runs)
        earned += means[chosen] * len(inside)
        made.append(Fold(len(inside), len({groups[q] or (q,) for q in inside}), means, chosen))
    means = tuple(_mean(run, list(dealt)) for run in runs)
    best = _best(means)
    return CrossFold(tuple(made), means, best, means[best], earned / len(dealt))


def _mean(scores: Scores, questions: Sequence[str]) -> float:
    return sum(scores[question] for question in questions) / len(questions)


def _best(means: Sequence[float]) -> int:
    return max(range(len(means)), key=lambda run: (means[run], -run))
