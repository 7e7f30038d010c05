"""Learn how likely the first pages answer, from questions that a set's documents answer and from others'."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

import numpy as np
import numpy.typing as npt

from eval.datasets.corpus import Corpus
from eval.datasets.kinds import kind_of
from eval.datasets.locate import locate
from eval.datasets.registry import load
from eval.datasets.sampling import sample
from eval.measures.logistic import calibration_error, fit_logistic
from eval.measures.retrieval import auroc
from eval.records.progress import Progress
from eval.records.questions import EvalQuestion
from eval.runs.features import candidates_of, gold_of, has_pages
from eval.runs.home import prepare
from eval.runs.plan import Plan
from eval.runs.run import within
from hybrid_pageindex import run
from hybrid_pageindex.config.settings import load_settings

Floats = npt.NDArray[np.float64]
FOREIGN = 80
"""Questions of other kinds that each set is asked: its documents do not answer them."""
L2 = 0.01


@dataclass(frozen=True, slots=True)
class Judged:
    """A question as it was found: its signals, whether its first page answers, and whether one of the first five does.

    answerable: False for a question of another set, or one that its set calls unanswerable.
    """

    dataset: str
    signals: Mapping[str, float]
    first: bool
    five: bool
    answerable: bool


@dataclass(frozen=True, slots=True)
class EvidenceRow:
    """One set by probabilities that learned without its kind. what: first or five.

    auroc: that a question answered by these pages has more evidence than another. answerable: the same of questions
    that the set answers and others; NaN where it was asked one sort only. calibration: expected calibration error.
    """

    dataset: str
    what: str
    questions: int
    right: float
    auroc: float
    answerable: float
    calibration: float


def collect_evidence(
    plans: Sequence[Plan], weights: Path, homes: Path | None, progress: Progress, foreign: int = FOREIGN
) -> list[Judged]:
    """Ask every set its questions, those that it cannot answer, and ``foreign`` ones of sets of other kinds, ranked by
    the ``weights`` of a file. Questions that make sense within a document alone are asked of no other set."""
    sets = {plan.dataset: load(plan.dataset, plan.data) for plan in plans}
    free = {name: [q.text for q in one.questions if q.answerable and not q.within] for name, one in sets.items()}
    found: list[Judged] = []
    for plan in plans:
        dataset = sets[plan.dataset]
        home = homes / plan.label if homes is not None else plan.home_folder(dataset.files)
        settings = replace(load_settings(home), ranking_weights=str(weights))
        prepared = prepare(home, dataset.files, "", progress, ours=homes is None, settings=settings)
        others = [
            EvalQuestion(id=f"foreign {at}", text=text, evidence=(), answerable=False)
            for name, texts in sorted(free.items())
            if kind_of(name) != kind_of(plan.dataset)
            for at, text in enumerate(texts)
        ]
        with closing(prepared.engine) as engine:
            corpus = Corpus(engine)
            own = [question for question in within(dataset, corpus).questions if has_pages(question)]
            located = run(locate(engine, sample(tuple(own), plan.sample, plan.seed) if plan.sample else own)).questions
            unanswered = [question for question in dataset.questions if not question.answerable][: plan.sample or None]
            strange = Random(f"{plan.seed} {plan.dataset}").sample(others, min(foreign, len(others)))
            if not free[plan.dataset]:
                strange = []  # all its questions are asked within a document
            asked = [*located, *unanswered, *strange]
            with progress.bar(f"evidence of {plan.label}", len(asked)) as step:
                for question in asked:
                    seen = candidates_of(engine, plan, question, corpus)
                    if seen is not None and seen.signals:
                        gold = gold_of(question, corpus) if question.answerable else set()
                        right = [page in gold for page in seen.first]
                        outcome = (any(right[:1]), any(right), question.answerable)
                        found.append(Judged(plan.dataset, seen.signals, *outcome))
                    step()
    return found


def learn_evidence(judged: Sequence[Judged]) -> tuple[dict[str, dict[str, float]], list[EvidenceRow]]:
    """Return the weights of signals and «base», by «first» and «five», and for each set what they are worth where its
    kind is held out. Each set weighs the same."""
    names = list(judged[0].signals)
    values = np.array([[one.signals[name] for name in names] for one in judged])
    sets = np.array([one.dataset for one in judged])
    kinds = np.array([kind_of(one.dataset) for one in judged])
    shares = np.array([1 / np.count_nonzero(sets == name) for name in sets])
    answerable = np.array([one.answerable for one in judged])
    weights: dict[str, dict[str, float]] = {}
    rows: list[EvidenceRow] = []
    for what, right in (("first", [one.first for one in judged]), ("five", [one.five for one in judged])):
        outcome = np.array(right, bool)
        likely = np.zeros(len(judged))
        for kind in sorted(set(kinds.tolist())):
            inside = kinds == kind
            if inside.all():
                continue
            learned, base = fit_logistic(values[~inside], outcome[~inside], shares[~inside], L2)
            likely[inside] = 1 / (1 + np.exp(-(values[inside] @ learned + base)))
        for name in sorted(set(sets.tolist())):
            own = sets == name
            rows.append(
                EvidenceRow(
                    name,
                    what,
                    int(own.sum()),
                    float(outcome[own].mean()),
                    _auroc(likely[own], outcome[own]),
                    _auroc(likely[own], answerable[own]),
                    calibration_error(likely[own].tolist(), outcome[own].tolist()),
                )
            )
        learned, base = fit_logistic(values, outcome, shares, L2)
        weights[what] = {name: round(float(one), 4) for name, one in zip(names, learned, strict=True)}
        weights[what]["base"] = round(base, 4)
    return weights, rows


def _auroc(likely: Floats, right: npt.NDArray[np.bool_]) -> float:
    above, below = likely[right].tolist(), likely[~right].tolist()
    return auroc(above, below) if above and below else float("nan")
