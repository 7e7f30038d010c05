"""Learn ranking weights from data sets, and measure them on held-out kinds of documents."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from statistics import fmean
from typing import Any

import numpy as np
import numpy.typing as npt

from eval.datasets.files import kind_of
from eval.measures.comparison import Interval, assign, paired_bootstrap
from eval.measures.learning import L2, RankedList, first_gold, learn, prune
from eval.records.features import FeatureSet, QuestionFeatures
from eval.records.progress import Progress
from hybrid_core.errors import UsageError
from hybrid_core.types.scoring import weight_names

Floats = npt.NDArray[np.float64]
Place = tuple[str, str]
"""A question: the name of its set, and its id in the set."""
MEASURES = {"hit@1": 1, "hit@5": 5, "hit@10": 10}
"""The names of measures, with the number of results that each considers."""
_PRUNED_BY = ("bm25", "inside_best", "window")
_BASELINE = "bm25"
_FEW = 80  # with fewer questions of a kind, folds are unreliable
_BEST, _ELEVENTH = 1.0, 0.6  # median scores of the first and the eleventh page


@dataclass(frozen=True, slots=True)
class HeldOut:
    """The measures of a set as ranked by BM25, by the weights in use, and by held-out weights.

    Held-out weights are learned without the set's kind, or without the question's fold. bm25, in_use, held_out, and
    differences (held_out − bm25) are by the names of MEASURES. folds: 0 if the whole kind was left out.
    """

    dataset: str
    kind: str
    setting: str
    expert: str
    questions: int
    folds: int
    bm25: Mapping[str, float]
    in_use: Mapping[str, float]
    held_out: Mapping[str, float]
    differences: Mapping[str, Interval]


@dataclass(frozen=True, slots=True, eq=False)
class Question:
    """A question with its features. ``lists`` are the candidates that are used for learning."""

    features: QuestionFeatures
    place: Place
    lists: RankedList


class Fitter:
    """Learns weights from feature sets with the same features.

    Every data set has equal weight, whatever the number of its settings.
    """

    def __init__(self, sets: Sequence[FeatureSet], *, l2: float = L2) -> None:
        """Create a fitter. Raise UsageError if there is nothing to learn from."""
        if not sets:
            raise UsageError(
                "No data sets to learn from were found.",
                "Name data sets of `eval list`, or name the folder of the data sets with --data.",
            )
        self.sets, self._l2 = tuple(sets), l2
        self.names, self._pairs = sets[0].names, sets[0].pairs
        self.columns = weight_names(self.names, self._pairs)
        self._paired = [self.names.index(name) for name in self._pairs]
        self._named = self.names.index("named") if "named" in self.names else -1
        self.questions = {
            at: [Question(q, (features.dataset, q.id), self.lists(q)) for q in features.questions]
            for at, features in enumerate(self.sets)
        }

    def lists(self, question: QuestionFeatures) -> RankedList:
        """Return the candidates of a question that are used for learning.

        The products of the features in ``pairs`` with "named" are added as columns.
        """
        pruned_by = [self.names.index(name) for name in _PRUNED_BY if name in self.names]
        rows = prune(question.values[:, pruned_by], question.gold)
        values = question.values[rows]
        products = values[:, self._paired] * values[:, [self._named]]
        return RankedList(np.concatenate([values, products], axis=1), question.gold[rows])

    def learn(self, *, without_kind: str = "", without: Collection[Place] = (), prior: Floats | None = None) -> Floats:
        """Return learned weights, float64 in the order of ``columns``.

        The questions of one kind, or those whose places are in ``without``, can be left out. Raise UsageError if no
        question is left that has both right and wrong candidates.
        """
        by_set: dict[str, list[RankedList]] = {}
        for at, features in enumerate(self.sets):
            if kind_of(features.dataset) != without_kind:
                lists = (question.lists for question in self.questions[at] if question.place not in without)
                by_set.setdefault(features.dataset, []).extend(lists)
        try:
            return learn(list(by_set.values()), l2=self._l2, prior=prior)
        except ValueError as error:
            raise UsageError(
                f"No ranking weights can be learned from these data sets: {error}.",
                "Name more data sets, with documents of at least two kinds.",
            ) from error

    def scores(self, question: QuestionFeatures, weights: Floats) -> Floats:
        """Return the score of every candidate, without ``base``."""
        values, plain = question.values, len(self.names)
        products = values[:, self._paired] @ weights[plain:] * values[:, self._named]
        return np.asarray(values @ weights[:plain] + products, np.float64)

    def ranks(self, at: int, weights: Floats) -> list[int]:
        """Return the rank of the first right page for every question of a set, 0 for none."""
        return [first_gold(self.scores(q.features, weights), q.features.gold) for q in self.questions[at]]

    def vector(self, weights: Mapping[str, float]) -> Floats:
        """Return weights, given by name, as an array in the order of ``columns``."""
        return np.array([weights.get(name, 0.0) for name in self.columns], np.float64)

    @property
    def unlearned(self) -> list[str]:
        """Return the columns that are equal for all candidates of each question.

        No weight can be learned for them.
        """
        apart = np.zeros(len(self.columns), bool)
        for questions in self.questions.values():
            for question in questions:
                if question.lists.teaches:
                    apart |= np.ptp(question.lists.values, axis=0) > 0
        return [name for name, differs in zip(self.columns, apart.tolist(), strict=True) if not differs]

    def by_kind(self, in_use: Floats, progress: Progress) -> list[HeldOut]:
        """Return the measures of every set with weights learned only from the other kinds.

        Return [] if there is only one kind.
        """
        kinds = list(dict.fromkeys(kind_of(features.dataset) for features in self.sets))
        if len(kinds) < 2:
            return []
        rows: dict[int, HeldOut] = {}
        with progress.bar("learning without each kind", len(kinds)) as step:
            for kind in kinds:
                weights = self.learn(without_kind=kind)
                for at, features in enumerate(self.sets):
                    if kind_of(features.dataset) == kind:
                        rows[at] = self._row(at, in_use, self.ranks(at, weights), 0)
                step()
        return [rows[at] for at in range(len(self.sets))]

    def by_folds(self, in_use: Floats, folds: int, progress: Progress) -> list[HeldOut]:
        """Return the measures of sets of kinds with many questions, by cross-validation.

        A fold contains whole documents. The weights for a fold are learned from the other folds of the kind and from
        all other kinds.
        """
        rows = []
        for kind, ats in self._large_kinds():
            groups = {q.place: q.features.group for at in ats for q in self.questions[at]}
            numbered = {str(number): place for number, place in enumerate(groups)}
            if len(set(groups.values())) < folds:
                progress.say(f"{kind}: fewer than {folds} documents have gold pages, so no folds are made.")
                continue
            dealt = assign({number: groups[place] for number, place in numbered.items()}, folds=folds)
            fold_of = {numbered[number]: fold for number, fold in dealt.items()}
            ranks = {at: [0] * len(self.questions[at]) for at in ats}
            with progress.bar(f"folds of {kind}", folds) as step:
                for fold in range(folds):
                    weights = self.learn(without={place for place, other in fold_of.items() if other == fold})
                    for at in ats:
                        for number, question in enumerate(self.questions[at]):
                            if fold_of[question.place] == fold:
                                scores = self.scores(question.features, weights)
                                ranks[at][number] = first_gold(scores, question.features.gold)
                    step()
            rows += [self._row(at, in_use, ranks[at], folds) for at in ats]
        return rows

    def written(self, in_use: Mapping[str, float], weights: Floats, unlearned: Sequence[str]) -> dict[str, Any]:
        """Return weights in the format of their file, with ``base`` and ``scale``.

        They are scaled so that the median best page scores 1 and the median eleventh page 0.6. The weights named in
        ``unlearned`` have no data and keep the values of ``in_use``.
        """
        sorted_scores = [
            np.sort(self.scores(question.features, weights))[::-1]
            for questions in self.questions.values()
            for question in questions
            if len(question.features.gold) > 1
        ]
        long = [scores for scores in sorted_scores if len(scores) > 10]
        best = float(np.median([scores[0] for scores in long or sorted_scores]))
        eleventh = float(np.median([scores[min(10, len(scores) - 1)] for scores in long or sorted_scores]))
        scale = (_BEST - _ELEVENTH) / (best - eleventh) if best > eleventh else 1.0
        scaled = dict(zip(self.columns, (weights * scale).tolist(), strict=True))
        scaled |= {name: in_use.get(name, 0.0) for name in unlearned}
        return {
            "weights": {name: round(weight, 5) for name, weight in scaled.items() if abs(weight) > 1e-5},
            "base": round(_BEST - best * scale, 5),
            "scale": round(scale, 6),
        }

    def _large_kinds(self) -> Iterator[tuple[str, list[int]]]:
        kinds = sorted(range(len(self.sets)), key=lambda at: (kind_of(self.sets[at].dataset), at))
        for kind, group in groupby(kinds, lambda at: kind_of(self.sets[at].dataset)):
            ats = list(group)
            if len({question.place for at in ats for question in self.questions[at]}) >= _FEW:
                yield kind, ats

    def _row(self, at: int, in_use: Floats, ranks: Sequence[int], folds: int) -> HeldOut:
        features = self.sets[at]
        baseline = self.ranks(at, self.vector({_BASELINE: 1.0}))
        differences = {
            name: paired_bootstrap([hit(new, k) - hit(old, k) for new, old in zip(ranks, baseline, strict=True)])
            for name, k in MEASURES.items()
        }
        return HeldOut(
            features.dataset, kind_of(features.dataset), features.setting, features.expert, len(ranks), folds,
            hits(baseline), hits(self.ranks(at, in_use)), hits(ranks), differences,
        )  # fmt: skip


def hit(rank: int, k: int) -> float:
    """Return 1 if a right page is among the first k, otherwise 0. Rank 0 means none."""
    return float(0 < rank <= k)


def hits(ranks: Sequence[int]) -> dict[str, float]:
    """Return the share of questions with a right page among the first k, for each of MEASURES."""
    return {name: sum(hit(rank, k) for rank in ranks) / len(ranks) if ranks else 0.0 for name, k in MEASURES.items()}


def means(rows: Sequence[HeldOut]) -> dict[str, dict[str, float]]:
    """Return the mean measures over the sets: {ranking: {measure: mean}}.

    A set in several settings counts once.
    """
    by_set: dict[str, list[HeldOut]] = {}
    for row in rows:
        by_set.setdefault(row.dataset, []).append(row)
    return {
        ranking: {
            name: fmean(fmean(getattr(row, ranking)[name] for row in its) for its in by_set.values())
            for name in MEASURES
        }
        for ranking in ("bm25", "in_use", "held_out")
    }


def provenance(fitter: Fitter, rows: Sequence[HeldOut], options: Mapping[str, Any]) -> dict[str, Any]:
    """Return a description of the training data of weights, and their measures on held-out kinds."""
    return {
        **options,
        "sets": list(dict.fromkeys(features.dataset for features in fitter.sets)),
        "held_out": [
            {
                "set": row.dataset, "kind": row.kind, "setting": row.setting, "expert": row.expert,
                "questions": row.questions,
                **{name: [round(getattr(row, name)[k], 3) for k in MEASURES] for name in ("bm25", "held_out")},
            }
            for row in rows if not row.folds
        ],
    }  # fmt: skip
