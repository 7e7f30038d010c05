"""Training data from a data set, for ranking weights and for evidence.

It consists of the features of candidate pages with the right pages marked, and of signals with whether the first pages
answer.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import numpy.typing as npt

from eval.datasets.corpus import Corpus, locate
from eval.datasets.files import kind_of
from eval.datasets.registry import SOURCES, data_folder, load, sets_of
from eval.datasets.variants import sample
from eval.measures.learning import calibration_error, fit_logistic
from eval.measures.retrieval import auroc
from eval.records.features import FeatureSet, QuestionFeatures, read_features, write_features
from eval.records.progress import Progress
from eval.records.questions import Dataset, EvalQuestion
from eval.runs.home import engine_code, prepare
from eval.runs.plan import RUNS, Plan
from eval.runs.run import within
from hybrid_core.errors import PageIndexError, UsageError
from hybrid_core.types.requests import SearchFields
from hybrid_core.types.scoring import CandidateFeatures
from hybrid_pageindex import Engine, run
from hybrid_pageindex.config.settings import load_settings

DEFAULT_OUT = Path(RUNS) / "fit"
SAMPLE = 150
_NO_FILES: dict[str, Any] = {"docs": None, "questions": None}


def sets_to_learn_from(data: Path | None = None) -> tuple[str, ...]:
    """Return the names of the available sets with gold pages.

    Sets over the documents of other sets are left out.
    """
    folder = data_folder(data)
    own = (name for name, source in SOURCES.items() if not source.of_others and source.folder(folder).is_dir())
    return tuple(name for name in (*own, *sets_of(folder)) if any(map(has_pages, load(name, folder).questions)))


def has_pages(question: EvalQuestion) -> bool:
    """Return whether the right answer of a question is known by its page, or by a text that can be located."""
    return any(gold.page is not None or gold.text or gold.match != "place" for gold in question.evidence)


def collect(plans: Sequence[Plan], folder: Path, homes: Path | None, progress: Progress) -> list[FeatureSet]:
    """Return the features of the questions of every plan.

    Features that the same code wrote to ``folder`` are read. A plan with the same features as an earlier plan of its
    set is left out, because its setting or expert knowledge changes nothing. ``homes`` contains the indexed home of
    each set, in a folder named by ``Plan.label``. Without it homes are created as in ``eval run``. Raise the errors of
    ``eval run``, and UsageError if a plan has no question with gold.
    """
    collected: list[FeatureSet] = []
    for _, group in groupby(plans, lambda plan: plan.dataset):
        of_set: list[FeatureSet] = []
        for features in _collect(list(group), folder, homes, progress):
            same = next((other for other in of_set if features.same_features(other)), None)
            if same is None:
                of_set.append(features)
            else:
                label = f"{features.dataset}, {features.setting}, {features.expert}"
                progress.say(
                    f"{label}: left out, because its features are the same as those of {same.setting}, {same.expert}."
                )
        collected += of_set
    return collected


def _collect(plans: Sequence[Plan], folder: Path, homes: Path | None, progress: Progress) -> Iterator[FeatureSet]:
    """Yield the features of one set's questions for each plan.

    The home of the set is opened only if a search has to run.
    """
    first = plans[0]
    dataset = load(first.dataset, first.data, docs=first.docs, questions=first.questions)
    if not any(map(has_pages, dataset.questions)):
        raise UsageError(
            f"No question of {dataset.name} has known right pages (gold).",
            "Name data sets whose questions have right pages.",
        )
    home = homes / first.label if homes is not None else first.home_folder(dataset.files)
    with ExitStack() as opened:
        located: tuple[EvalQuestion, ...] | None = None
        for plan in plans:
            path = folder / f"{plan.label}-{plan.setting}-{Path(plan.expert).stem}.npz"
            stamp = _stamp(plan, dataset)
            features = read_features(path, stamp)
            if features is None:
                if located is None:
                    engine = prepare(home, dataset.files, "", progress, ours=homes is None).engine
                    opened.callback(engine.close)
                    corpus = Corpus(engine)
                    usable = tuple(question for question in within(dataset, corpus).questions if has_pages(question))
                    located = run(
                        locate(engine, sample(usable, plan.sample, plan.seed) if plan.sample else usable)
                    ).questions
                features = _ask(plan, dataset.name, located, engine, corpus, progress)
                write_features(path, features, stamp)
            yield features


def _stamp(plan: Plan, dataset: Dataset) -> dict[str, Any]:
    """Return everything that determines features: code, options, questions and documents."""
    digest = hashlib.sha256(repr(dataset.questions).encode())
    for path in dataset.files:
        digest.update(f"{path.name} {path.stat().st_size} {path.stat().st_mtime_ns}\n".encode())
    expert = Path(plan.expert)
    knowledge = expert.read_text(encoding="utf-8") if expert.is_file() else plan.expert
    options = [plan.dataset, plan.setting, knowledge, plan.sample, plan.seed]
    return {"code": engine_code()["code"], "options": options, "set": digest.hexdigest()}


def _ask(
    plan: Plan, name: str, located: Sequence[EvalQuestion], engine: Engine, corpus: Corpus, progress: Progress
) -> FeatureSet:
    notes: list[str] = []
    questions = []
    names: tuple[str, ...] = ()
    pairs: tuple[str, ...] = ()
    with progress.bar(f"features of {plan.label}, {plan.setting}, {plan.expert}", len(located)) as step:
        for question in located:
            gold = gold_of(question, corpus)
            try:
                candidates = candidates_of(engine, plan, question, corpus) if gold else None
            except PageIndexError as error:
                notes.append(f"question {question.id} failed: {error}")
                candidates = None
            if candidates is not None:
                names, pairs = candidates.names, candidates.pairs
                questions.append(labelled(question.id, question.evidence[0].document, candidates, gold))
            elif not gold:
                notes.append(f"question {question.id} has no gold page")
            step()
    if not questions:
        reason = notes[0] if notes else "their documents are not indexed"
        raise UsageError(
            f"The questions of {name} cannot be used for learning ({reason}).",
            "Name data sets whose questions have right pages.",
        )
    return FeatureSet(name, plan.setting, plan.expert, names, pairs, tuple(questions), tuple(notes))


def gold_of(question: EvalQuestion, corpus: Corpus) -> set[tuple[str, int]]:
    """Return (doc_id, page) of every right page of a question."""
    return {
        (corpus.ids[gold.document], page)
        for gold in question.evidence
        if gold.page is not None and gold.document in corpus.ids
        for page in (gold.page, *gold.also)
    }


def candidates_of(engine: Engine, plan: Plan, question: EvalQuestion, corpus: Corpus) -> CandidateFeatures | None:
    """Return the candidate pages of a question with their features.

    Return None if none of the question's documents is indexed.
    """
    fields: SearchFields = {"expert": plan.expert}
    documents = question.documents if plan.setting == "given" else question.within
    if documents:
        fields["documents"] = [corpus.ids[name] for name in documents if name in corpus.ids]
        if not fields["documents"]:
            return None
    return run(engine.candidate_features(question.text, **fields))


def labelled(id: str, group: str, candidates: CandidateFeatures, gold: set[tuple[str, int]]) -> QuestionFeatures:
    """Return the features of the candidate pages, with the right pages marked."""
    right = np.array([page in gold for page in candidates.pages], bool)
    return QuestionFeatures(id, group, candidates.values.astype(np.float32), right)


def plans_for(sets: Sequence[str], settings: Sequence[str], experts: Sequence[str], usual: Plan) -> list[Plan]:
    """Return a plan for each combination of set, setting and expert knowledge.

    They have the other options of ``usual``. The files of the user's own set are passed only to the plans of the set
    "custom".
    """
    return [
        replace(usual, dataset=name, setting=setting, expert=expert, **({} if name == "custom" else _NO_FILES))
        for name in sets
        for setting in settings
        for expert in experts
    ]


Floats = npt.NDArray[np.float64]
FOREIGN = 80
"""The number of questions of other kinds that each set is asked. Its documents do not answer them."""
L2 = 0.01


@dataclass(frozen=True, slots=True)
class Judged:
    """A question with its evidence signals, and whether its first page (or first five) answers.

    answerable: False for a question of another set, or one that its set calls unanswerable.
    """

    dataset: str
    signals: Mapping[str, float]
    first: bool
    five: bool
    answerable: bool


@dataclass(frozen=True, slots=True)
class EvidenceRow:
    """Measures of the evidence on a set, with probabilities learned without the set's kind.

    what: "first" (the first page answers) or "five" (one of the first five does). auroc: the probability that an
    answered question has more evidence than one that is not. answerable: the probability that a question of the set has
    more evidence than a foreign or unanswerable one; NaN if there is only one sort. calibration: expected calibration
    error.
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
    """Search for the questions of every set, and return their evidence signals.

    They include unanswerable questions, and ``foreign`` questions of sets of other kinds. The pages are ranked by the
    ``weights`` of a file. Questions that only make sense within a document are not asked of other sets.
    """
    sets = {plan.dataset: load(plan.dataset, plan.data) for plan in plans}
    free = {
        name: [q.text for q in dataset.questions if q.answerable and not q.within] for name, dataset in sets.items()
    }
    judged_questions: list[Judged] = []
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
            all_questions = [*located, *unanswered, *strange]
            with progress.bar(f"evidence of {plan.label}", len(all_questions)) as step:
                for question in all_questions:
                    seen = candidates_of(engine, plan, question, corpus)
                    if seen is not None and seen.signals:
                        gold = gold_of(question, corpus) if question.answerable else set()
                        right = [page in gold for page in seen.first]
                        outcome = (any(right[:1]), any(right), question.answerable)
                        judged_questions.append(Judged(plan.dataset, seen.signals, *outcome))
                    step()
    return judged_questions


def learn_evidence(judged: Sequence[Judged]) -> tuple[dict[str, dict[str, float]], list[EvidenceRow]]:
    """Return the learned weights for evidence, and a row of measures for each set.

    The weights are by "first" and "five", and by signal or "base". The measures are those of weights learned without
    the set's kind. Each set has equal weight.
    """
    names = list(judged[0].signals)
    values = np.array([[question.signals[name] for name in names] for question in judged])
    sets = np.array([question.dataset for question in judged])
    kinds = np.array([kind_of(question.dataset) for question in judged])
    shares = np.array([1 / np.count_nonzero(sets == name) for name in sets])
    answerable = np.array([question.answerable for question in judged])
    weights: dict[str, dict[str, float]] = {}
    rows: list[EvidenceRow] = []
    for what, right in (
        ("first", [question.first for question in judged]),
        ("five", [question.five for question in judged]),
    ):
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
        weights[what] = {name: round(float(question), 4) for name, question in zip(names, learned, strict=True)}
        weights[what]["base"] = round(base, 4)
    return weights, rows


def _auroc(likely: Floats, right: npt.NDArray[np.bool_]) -> float:
    above, below = likely[right].tolist(), likely[~right].tolist()
    return auroc(above, below) if above and below else float("nan")
