"""Learn ranking weights from users' ratings of result pages."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from eval.datasets.registry import SOURCES, data_folder, sets_of
from eval.measures.learning import first_gold
from eval.records.features import FeatureSet, QuestionFeatures
from eval.records.progress import Progress
from eval.runs.features import labelled
from eval.runs.fit import Fitter, hits
from hybrid_core.errors import NotFoundError, UsageError
from hybrid_core.types.conversations import Feedback
from hybrid_core.types.scoring import CandidateFeatures
from hybrid_pageindex import Engine, run
from hybrid_pageindex.config.experts import find_ranking

NEEDED = 30
"""The minimum number of questions with a page that was rated right. With fewer, nothing is learned."""
NAME = "feedback"
_L2 = 0.1  # regularisation towards the shipped weights, because ratings are few
_HELD_OUT = 3  # every third question, chosen by its hash
_CHECKED_MEASURES = ("hit@1", "hit@5")


@dataclass(frozen=True, slots=True)
class RatedQuestion:
    """A question with the pages, as (doc_id, number), that people rated right or wrong."""

    text: str
    right: set[tuple[str, int]] = field(default_factory=set)
    wrong: set[tuple[str, int]] = field(default_factory=set)

    @property
    def held_out(self) -> bool:
        """Return whether the question is held out from learning, so that it can test the weights."""
        return hashlib.sha256(self.text.encode()).digest()[0] % _HELD_OUT == 0


@dataclass(frozen=True, slots=True, eq=False)
class FeedbackFit:
    """Weights learned from ratings, compared with the shipped weights on held-out questions.

    shipped, learned: by the names of MEASURES. written: the file of weights, as returned by ``Fitter.written``.
    """

    learned_from: int
    judged_by: int
    sets: tuple[str, ...]
    shipped: Mapping[str, float]
    learned: Mapping[str, float]
    unlearned: tuple[str, ...]
    written: Mapping[str, Any]

    @property
    def worse(self) -> tuple[str, ...]:
        """Return the measures that are lower with the learned weights.

        If there are any, these weights must not be used.
        """
        return tuple(name for name in _CHECKED_MEASURES if self.learned[name] < self.shipped[name])


def rated_questions(feedback: Sequence[Feedback], documents: Mapping[str, tuple[str, int]]) -> list[RatedQuestion]:
    """Return the questions with rated pages that still exist, in the order of their first rating.

    ``documents`` maps paths to (doc_id, pages). The last rating of a page counts. A rating of a whole document as right
    applies to all of its pages.
    """
    questions: dict[str, RatedQuestion] = {}
    for rating in feedback:
        doc_id, pages = documents.get(rating.document, ("", 0))
        numbers = [rating.page] if rating.page else range(1, pages + 1) if rating.right else ()
        text = " ".join(rating.question.split())
        rated = {(doc_id, number) for number in numbers if 1 <= number <= pages}
        if not rated or not text:
            continue
        question = questions.setdefault(text, RatedQuestion(text))
        new, old = (question.right, question.wrong) if rating.right else (question.wrong, question.right)
        new |= rated
        old -= rated
    return list(questions.values())


def shipped_sets(data: Path | None) -> tuple[str, ...]:
    """Return the training sets of the shipped weights, () unless all of them are available.

    Raise NotFoundError if ``data`` is given and is not a folder.
    """
    names = tuple(find_ranking().learned.get("sets", ()))
    try:
        folder = data_folder(data)
    except NotFoundError:
        if data is not None:
            raise
        return ()
    at_hand = {*sets_of(folder), *(name for name, source in SOURCES.items() if source.folder(folder).is_dir())}
    return names if set(names) <= at_hand else ()


def read_ratings(engine: Engine, library: str | None) -> list[RatedQuestion]:
    """Return the rated questions of a library. Raise UsageError for fewer than NEEDED questions.

    Raise NotFoundError if the library does not exist.
    """
    name = library or engine.settings.library
    ids = [entry.id for entry in run(engine.libraries.named()) if entry.called(name)]
    if not ids:
        raise NotFoundError(
            f"The library '{name}' does not exist.", "List the libraries with: hybrid-pageindex libraries."
        )
    listed = run(engine.documents.list(library=name))
    documents = {document.path: (document.doc_id, document.pages) for document in listed if document.published}
    questions = rated_questions(engine.feedback.all(ids[0]), documents)
    right = sum(bool(question.right) for question in questions)
    if right < NEEDED:
        raise UsageError(
            f"{right} questions have a page that was rated right, but learning needs {NEEDED}.",
            "Rate more answers, and run the same command again.",
        )
    return questions


def fit_feedback(
    engine: Engine,
    library: str | None,
    questions: Sequence[RatedQuestion],
    sets: Sequence[FeatureSet],
    l2: float | None,
    progress: Progress,
) -> FeedbackFit:
    """Learn weights from two thirds of the rated questions, and measure them on the others.

    ``sets`` are the training sets of the shipped weights, to which the ratings are added. Without them, learning starts
    from the shipped weights, and ``l2`` regularises towards them. Raise UsageError if nothing can be learned.
    """
    shipped = find_ranking()
    taught: list[QuestionFeatures] = []
    judged: list[QuestionFeatures] = []
    names: tuple[str, ...] = ()
    pairs: tuple[str, ...] = ()
    with progress.bar("features of rated questions", len(questions)) as step:
        for question in questions:
            candidates = run(engine.candidate_features(question.text, library=library))
            names, pairs = candidates.names, candidates.pairs
            if not question.held_out:
                taught.append(_taught(question, candidates))
            elif question.right:
                judged.append(labelled(question.text, "", candidates, question.right))
            step()
    if not judged:
        raise UsageError(
            "No rated question is left to test the weights on.", "Rate more answers, and run the same command again."
        )
    own = FeatureSet(NAME, "library", "", names, pairs, tuple(taught))
    usual_l2 = {} if l2 is None and sets else {"l2": _L2 if l2 is None else l2}
    fitter = Fitter([*sets, own], **usual_l2)
    before = fitter.vector(shipped.weights(pairs))
    weights = fitter.learn(prior=None if sets else before / shipped.scale)
    unlearned = tuple(fitter.unlearned)
    written = fitter.written(shipped.weights(pairs), weights, unlearned)
    after = fitter.vector(written["weights"])

    def measured(vector: Any) -> dict[str, float]:
        return hits([first_gold(fitter.scores(question, vector), question.gold) for question in judged])

    learned_sets = tuple(dict.fromkeys(features.dataset for features in sets))
    return FeedbackFit(len(taught), len(judged), learned_sets, measured(before), measured(after), unlearned, written)


def _taught(question: RatedQuestion, candidates: CandidateFeatures) -> QuestionFeatures:
    """Return the features of a rated question's candidate pages, with the right pages marked.

    If no page was rated right, all pages except those rated wrong are marked.
    """
    if question.right:
        return labelled(question.text, "", candidates, question.right)
    gold = np.array([page not in question.wrong for page in candidates.pages], bool)
    return QuestionFeatures(question.text, "", candidates.values.astype(np.float32), gold)
