"""Compare runs: differences with bootstrap intervals, changed questions, and cross-validation.

Measures can also be compared with minimums. With ``--fail-under hit@5=0.6`` a build fails if hit@5 is below 0.6.
"""

from __future__ import annotations

import math
import random
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from eval.measures.retrieval import per_question, summarise
from eval.records.runs import QuestionRecord, Run
from hybrid_core.errors import DocumentError, UsageError

RESAMPLES = 10_000
_AT_ONCE = 2_000_000  # values drawn in one step; limits the memory use for many questions


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean difference and the bounds of its confidence interval, from ``pairs`` paired values."""

    mean: float
    low: float
    high: float
    pairs: int

    @property
    def clear(self) -> bool:
        """Return whether the interval excludes zero."""
        return self.low > 0 or self.high < 0


def paired_bootstrap(
    differences: Sequence[float], *, resamples: int = RESAMPLES, level: float = 0.95, seed: int = 0
) -> Interval:
    """Return the percentile interval of the mean of paired differences (Efron and Tibshirani 1993, chapter 13).

    The bootstrap draws questions with replacement. Equal seeds give equal intervals. Without pairs all values are zero.
    """
    values = np.asarray(differences, dtype=np.float64)
    if not values.size:
        return Interval(0.0, 0.0, 0.0, 0)
    draw = np.random.default_rng(seed)
    rows = max(1, _AT_ONCE // values.size)
    means = np.concatenate(
        [
            values[draw.integers(values.size, size=(min(rows, resamples - start), values.size))].mean(axis=1)
            for start in range(0, resamples, rows)
        ]
    )
    low, high = np.quantile(means, ((1 - level) / 2, (1 + level) / 2))
    return Interval(float(values.mean()), float(low), float(high), values.size)


FLIPS_AT = "hit@5"


@dataclass(frozen=True, slots=True)
class Flip:
    """A question whose measure changed from ``before`` in the first run to ``after`` in the other."""

    id: str
    question: str
    before: float
    after: float


@dataclass(frozen=True, slots=True)
class RunDifference:
    """A run compared with the first one. Differences are this run minus the first run.

    A positive difference is an improvement. ``won`` contains the questions that improved, ``lost`` those that got
    worse.
    """

    run: str
    differences: Mapping[str, Interval]
    won: tuple[Flip, ...]
    lost: tuple[Flip, ...]


@dataclass(frozen=True, slots=True)
class Comparison:
    """A comparison of runs with the first one.

    ``runs`` are their names, and ``measures`` has one mapping for each. All measures cover ``questions``, the ids that
    all runs asked; ``left_out`` counts the other questions of each run. ``notes`` warn of differences between the runs.
    """

    runs: tuple[str, ...]
    questions: tuple[str, ...]
    left_out: Mapping[str, int]
    measures: tuple[Mapping[str, float], ...]
    against: tuple[RunDifference, ...]
    flips_at: str
    notes: tuple[str, ...]


def compare(runs: Sequence[Run], *, flips_at: str = FLIPS_AT, resamples: int = 10_000, seed: int = 0) -> Comparison:
    """Pair the questions of runs by id and compare them.

    Raise UsageError for fewer than two runs or if no question is in all of them.
    """
    if len(runs) < 2:
        raise UsageError("A comparison needs at least two runs.", "Name the folders of at least two runs.")
    names = names_of(runs)
    by_run = [by_id(run) for run in runs]
    shared = shared_ids(by_run)
    if not shared:
        raise UsageError(
            f"The runs {', '.join(names)} have no question in common.",
            "Compare runs of the same data set with the same sample.",
        )
    values = [per_question([records[question] for question in shared]) for records in by_run]
    against = []
    for name, other in zip(names[1:], values[1:], strict=True):
        changes = _differences(values[0], other)
        intervals = {measure: paired_bootstrap(changes[measure], resamples=resamples, seed=seed) for measure in changes}
        against.append(RunDifference(name, intervals, *_flips(by_run[0], values[0], other, flips_at)))
    return Comparison(
        tuple(names), tuple(shared),
        {name: len(records) - len(shared) for name, records in zip(names, by_run, strict=True)},
        tuple(summarise([records[question] for question in shared]) for records in by_run),
        tuple(against), flips_at, tuple(_comparison_notes(runs, names, by_run, shared)),
    )  # fmt: skip


def names_of(runs: Sequence[Run]) -> list[str]:
    """Return the names of the run folders, with as many parent folders as needed to distinguish them."""
    paths = [Path(run.folder).resolve().parts for run in runs]
    if len(set(paths)) < len(paths):
        raise UsageError("The command names the same run twice.", "Name each run once.")
    depth = 1
    while len({path[-depth:] for path in paths}) < len(paths):
        depth += 1
    return ["/".join(path[-depth:]) for path in paths]


def by_id(run: Run) -> dict[str, QuestionRecord]:
    """Return a run's records by question id.

    Raise DocumentError if an id is repeated or the run has no records.
    """
    records = {record.id: record for record in run.questions}
    if len(records) < len(run.questions):
        raise DocumentError(
            "the run contains the same question twice.", "Repeat the run with a new --out folder.", file=run.folder
        )
    if not records:
        raise DocumentError("the run contains no question.", "Name a run that has asked questions.", file=run.folder)
    return records


def shared_ids(runs: Sequence[Mapping[str, QuestionRecord]]) -> list[str]:
    """Return the ids that every run asked, in the order of the first run."""
    return [question for question in runs[0] if all(question in records for records in runs[1:])]


def _differences(
    first: Mapping[str, Mapping[str, float]], other: Mapping[str, Mapping[str, float]]
) -> dict[str, list[float]]:
    """Return the differences by measure, for the questions that have the measure in both runs."""
    differences: dict[str, list[float]] = {}
    for question, before in first.items():
        after = other[question]
        for measure, value in before.items():
            if measure in after:
                differences.setdefault(measure, []).append(after[measure] - value)
    return differences


def _flips(
    records: Mapping[str, QuestionRecord],
    first: Mapping[str, Mapping[str, float]],
    other: Mapping[str, Mapping[str, float]],
    measure: str,
) -> tuple[tuple[Flip, ...], tuple[Flip, ...]]:
    both = [
        Flip(question, records[question].question, before[measure], other[question][measure])
        for question, before in first.items()
        if measure in before and measure in other[question]
    ]
    return tuple(f for f in both if f.after > f.before), tuple(f for f in both if f.after < f.before)


def _comparison_notes(
    runs: Sequence[Run], names: Sequence[str], by_run: Sequence[Mapping[str, QuestionRecord]], shared: Sequence[str]
) -> list[str]:
    notes = []
    for name, records in zip(names, by_run, strict=True):
        if left := len(records) - len(shared):
            notes.append(
                f"{name}: {left} of its {len(records)} questions are left out, because the other runs did not ask them."
            )
    notes += [f"{name} is not finished." for name, run in zip(names, runs, strict=True) if not run.head.finished]
    if len({run.head.dataset for run in runs}) > 1:
        notes.append("The runs use different data sets, so questions are paired only by their ids.")
    for name, records in zip(names[1:], by_run[1:], strict=True):
        worded = sum(records[question].question != by_run[0][question].question for question in shared)
        if worded:
            notes.append(f"{name} asks {worded} of the {len(shared)} questions in other words than {names[0]}.")
    return notes


FOLDS = 5

Scores = Mapping[str, float]
"""The values of a measure by question id."""


@dataclass(frozen=True, slots=True)
class Fold:
    """A fold of cross-validation: the ``means`` of each run in it.

    ``chosen`` is the index of the run that is best on the other folds.
    """

    questions: int
    groups: int
    means: tuple[float, ...]
    chosen: int


@dataclass(frozen=True, slots=True)
class CrossFold:
    """The result of cross-validation over runs.

    ``cross_fold`` is the mean over all questions, where each is scored by the run that is best on the other folds.
    ``means`` are the means of each run on all questions, ``best`` the index of the best run, and ``in_sample`` its
    mean. If ``cross_fold`` is lower than ``in_sample``, the choice of the run does not generalise.
    """

    folds: tuple[Fold, ...]
    means: tuple[float, ...]
    best: int
    in_sample: float
    cross_fold: float


def assign(groups: Mapping[str, str], *, folds: int = FOLDS, seed: int = 0) -> dict[str, int]:
    """Assign every question id to a fold (from 0), keeping groups together.

    Groups are assigned from the largest to the smallest, each to the fold with the fewest questions; ties are shuffled
    by the seed. A question with the group "" forms its own group. Raise UsageError for fewer groups than folds.
    """
    members: dict[Hashable, list[str]] = {}
    for question, group in sorted(groups.items()):
        members.setdefault(group or (question,), []).append(question)
    if folds < 2 or len(members) < folds:
        raise UsageError(
            f"{len(members)} groups of questions (companies, laws, contracts) cannot be divided into {folds} folds.",
            "Use at least two folds, and at most as many folds as groups.",
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
    """Cross-validate the choice of the best run.

    For every fold, the run that is best on the other folds is chosen and scored on this fold. Every run must have a
    score, higher is better, for every question of ``groups``. If runs are equally good, the first is chosen.
    """
    dealt = assign(groups, folds=folds, seed=seed)
    scored_folds, earned = [], 0.0
    for fold in range(folds):
        inside = [question for question, at in dealt.items() if at == fold]
        outside = [question for question, at in dealt.items() if at != fold]
        chosen = _best([_mean(run, outside) for run in runs])
        means = tuple(_mean(run, inside) for run in runs)
        earned += means[chosen] * len(inside)
        scored_folds.append(Fold(len(inside), len({groups[q] or (q,) for q in inside}), means, chosen))
    means = tuple(_mean(run, list(dealt)) for run in runs)
    best = _best(means)
    return CrossFold(tuple(scored_folds), means, best, means[best], earned / len(dealt))


def _mean(scores: Scores, questions: Sequence[str]) -> float:
    return sum(scores[question] for question in questions) / len(questions)


def _best(means: Sequence[float]) -> int:
    return max(range(len(means)), key=lambda run: (means[run], -run))


Floor = tuple[str, float]


def parse_floor(text: str) -> Floor:
    """Parse "hit@5=0.6" to ("hit@5", 0.6). Raise UsageError for another form."""
    name, _, number = text.rpartition("=")
    try:
        floor = float(number)
    except ValueError:
        floor = math.nan
    if not name.strip() or not math.isfinite(floor):
        raise UsageError(
            f"--fail-under {text!r} does not have the form MEASURE=NUMBER.",
            "Write the option like --fail-under hit@5=0.6.",
        )
    return name.strip(), floor


def shortfalls(run: str, measures: Mapping[str, float], floors: Sequence[Floor]) -> list[str]:
    """Return a sentence for each minimum in ``floors`` that the run misses.

    Raise UsageError for an unknown measure.
    """
    short = []
    for name, floor in floors:
        if name not in measures:
            names = ", ".join(sorted(measures)) or "none at all"
            raise UsageError(f"The run {run} has no measure {name!r}.", f"The measures of this run are {names}.")
        if measures[name] < floor:
            short.append(f"{run}: {name} is {measures[name]:.3f}, under {floor:g}.")
    return short
