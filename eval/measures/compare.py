"""Two or more runs side by side: measures, differences to the first with intervals, questions that flipped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from eval.measures.retrieval import per_question, summarise
from eval.measures.significance import Interval, paired_bootstrap
from eval.records.runs import QuestionRecord, Run
from hybrid_core.errors import DocumentError, UsageError

FLIPS_AT = "hit@5"


@dataclass(frozen=True, slots=True)
class Flip:
    """A question whose figure changed: ``before`` in the first run, ``after`` in the other."""

    id: str
    question: str
    before: float
    after: float


@dataclass(frozen=True, slots=True)
class RunDifference:
    """A run against the first one. Differences are this run's minus the first's: above zero is better.

    ``won`` and ``lost`` are the questions that went up and down.
    """

    run: str
    differences: Mapping[str, Interval]
    won: tuple[Flip, ...]
    lost: tuple[Flip, ...]


@dataclass(frozen=True, slots=True)
class Comparison:
    """``runs`` are names, the first being what the others are compared with; ``measures`` has one mapping for each.

    Everything is over ``questions``, the ids that all runs asked; ``left_out`` counts the others by run.
    ``notes`` say what the reader should know (other questions, unfinished runs).
    """

    runs: tuple[str, ...]
    questions: tuple[str, ...]
    left_out: Mapping[str, int]
    measures: tuple[Mapping[str, float], ...]
    against: tuple[RunDifference, ...]
    flips_at: str
    notes: tuple[str, ...]


def compare(runs: Sequence[Run], *, flips_at: str = FLIPS_AT, resamples: int = 10_000, seed: int = 0) -> Comparison:
    """Pair the runs on question ids. Raises UsageError where there are fewer than two runs or no question in common."""
    if len(runs) < 2:
        raise UsageError("One run has nothing to be compared with.", "Name the folders of two runs or more.")
    names = names_of(runs)
    asked = [by_id(run) for run in runs]
    shared = shared_ids(asked)
    if not shared:
        raise UsageError(
            f"{', '.join(names)} have no question in common.", "Compare runs of the same data set with the same sample."
        )
    values = [per_question([records[question] for question in shared]) for records in asked]
    against = []
    for name, other in zip(names[1:], values[1:], strict=True):
        changes = _differences(values[0], other)
        intervals = {measure: paired_bootstrap(changes[measure], resamples=resamples, seed=seed) for measure in changes}
        against.append(RunDifference(name, intervals, *_flips(asked[0], values[0], other, flips_at)))
    return Comparison(
        tuple(names), tuple(shared),
        {name: len(records) - len(shared) for name, records in zip(names, asked, strict=True)},
        tuple(summarise([records[question] for question in shared]) for records in asked),
        tuple(against), flips_at, tuple(_notes(runs, names, asked, shared)),
    )  # fmt: skip


def names_of(runs: Sequence[Run]) -> list[str]:
    """The folders' names, with as many of their parents as it takes to tell them apart."""
    paths = [Path(run.folder).resolve().parts for run in runs]
    if len(set(paths)) < len(paths):
        raise UsageError("The same run is named twice.", "Name each run once.")
    depth = 1
    while len({path[-depth:] for path in paths}) < len(paths):
        depth += 1
    return ["/".join(path[-depth:]) for path in paths]


def by_id(run: Run) -> dict[str, QuestionRecord]:
    """The run's records by question id. Raises DocumentError where one was asked twice, or none at all."""
    found = {record.id: record for record in run.questions}
    if len(found) < len(run.questions):
        raise DocumentError(f"{run.folder}: a question was written twice.", "Run it again into a new folder.")
    if not found:
        raise DocumentError(f"{run.folder}: the run holds no question.", "Name a run that asked questions.")
    return found


def shared_ids(asked: Sequence[Mapping[str, QuestionRecord]]) -> list[str]:
    """The ids that every run asked, in the first one's order."""
    return [question for question in asked[0] if all(question in records for records in asked[1:])]


def _differences(
    first: Mapping[str, Mapping[str, float]], other: Mapping[str, Mapping[str, float]]
) -> dict[str, list[float]]:
    """By measure, the differences on the questions for which both have it."""
    found: dict[str, list[float]] = {}
    for question, before in first.items():
        after = other[question]
        for measure, value in before.items():
            if measure in after:
                found.setdefault(measure, []).append(after[measure] - value)
    return found


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


def _notes(
    runs: Sequence[Run], names: Sequence[str], asked: Sequence[Mapping[str, QuestionRecord]], shared: Sequence[str]
) -> list[str]:
    notes = []
    for name, records in zip(names, asked, strict=True):
        if left := len(records) - len(shared):
            notes.append(f"{name}: {left} of its {len(records)} questions are left out, the others did not ask them.")
    notes += [f"{name} is not finished." for name, run in zip(names, runs, strict=True) if not run.head.finished]
    if len({run.head.dataset for run in runs}) > 1:
        notes.append("The runs are of different data sets: questions are paired by id alone.")
    for name, records in zip(names[1:], asked[1:], strict=True):
        worded = sum(records[question].question != asked[0][question].question for question in shared)
        if worded:
            notes.append(f"{name} asks {worded} of the {len(shared)} questions in other words than {names[0]}.")
    return notes
