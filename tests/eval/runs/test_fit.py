"""Ranking weights from sets: held out by kind and by documents, unchanged where there are no data."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import numpy as np
import pytest

from eval.datasets.files import kind_of
from eval.datasets.registry import SOURCES
from eval.records.features import FeatureSet, QuestionFeatures, read_features, write_features
from eval.records.progress import Progress
from eval.runs.fit import Fitter, Floats, Place, means
from hybrid_core.errors import UsageError

NAMES = ("bm25", "luck", "named", "meaning")
QUIET = Progress(quiet=True)


def make_set(
    dataset: str, sign: float, *, clear: float = 1.0, questions: int = 40, setting: str = "library"
) -> FeatureSet:
    """A set in which the feature «luck» speaks for the right page (``sign`` 1) or against it, in a share ``clear``."""
    draw = np.random.default_rng(len(dataset))
    questions_made = []
    for number in range(questions):
        values = np.zeros((12, len(NAMES)), np.float32)
        values[:, 0] = draw.random(12)
        values[:, 1] = draw.random(12) * 0.5
        gold = np.zeros(12, bool)
        gold[number % 12] = True
        right = sign if number < clear * questions else -sign
        values[gold, 1] = 1 if right > 0 else -1
        questions_made.append(QuestionFeatures(str(number), f"d{number % 7}.md", values, gold))
    return FeatureSet(dataset, setting, "none", NAMES, ("bm25",), tuple(questions_made))


def test_a_kind_is_never_learned_from_when_it_is_judged() -> None:
    """In technical documentation luck is right, elsewhere mostly wrong. Whoever learns from one technical set for the
    other finds that it is right."""
    sets = [make_set("sets/aws_docs", 1), make_set("sets/openshift", 1), make_set("sets/contoso", -1, clear=0.7)]
    assert kind_of("sets/aws_docs") == kind_of("sets/openshift") != kind_of("sets/contoso")
    fitter = Fitter(sets)
    rows = {row.dataset: row for row in fitter.by_kind(fitter.vector({"bm25": 1}), QUIET)}
    assert rows["sets/aws_docs"].held_out["hit@1"] == rows["sets/openshift"].held_out["hit@1"] == 0
    leaking = fitter.learn(without={("sets/aws_docs", str(number)) for number in range(40)})
    assert all(rank == 1 for rank in fitter.ranks(0, leaking))  # what it would be if the other one taught
    assert rows["sets/aws_docs"].in_use == rows["sets/aws_docs"].bm25
    assert rows["sets/aws_docs"].differences["hit@10"].mean == pytest.approx(
        rows["sets/aws_docs"].held_out["hit@10"] - rows["sets/aws_docs"].bm25["hit@10"]
    )


def test_folds_hold_whole_documents_out() -> None:
    left_out: list[set[Place]] = []

    class Recording(Fitter):
        def learn(
            self, *, without_kind: str = "", without: Collection[Place] = (), prior: Floats | None = None
        ) -> Floats:
            left_out.append(set(without))
            return super().learn(without_kind=without_kind, without=without, prior=prior)

    sets = [make_set("sets/aws_docs", 1, questions=110), make_set("sets/contoso", -1)]
    fitter = Recording(sets)
    rows = fitter.by_folds(fitter.vector({"bm25": 1}), 3, QUIET)
    assert [(row.dataset, row.folds) for row in rows] == [("sets/aws_docs", 3)]  # 40 questions are too few
    assert sorted(place for places in left_out for place in places) == sorted(q.place for q in fitter.questions[0])
    documents = {q.place: q.features.group for q in fitter.questions[0]}
    groups = [{documents[place] for place in places} for places in left_out]
    assert sum(len(group) for group in groups) == len(set(documents.values())) == 7


def test_a_set_in_several_settings_counts_once() -> None:
    usual, other = make_set("sets/aws_docs", 1), make_set("sets/contoso", -1)
    again = make_set("sets/aws_docs", 1, setting="given")
    assert Fitter([usual, again, other]).learn() == pytest.approx(Fitter([usual, other]).learn(), abs=1e-4)
    rows = Fitter([usual, again, other]).by_kind(np.zeros(5), QUIET)
    assert [(row.dataset, row.setting) for row in rows] == [
        ("sets/aws_docs", "library"), ("sets/aws_docs", "given"), ("sets/contoso", "library"),
    ]  # fmt: skip
    assert means(rows)["bm25"]["hit@1"] == pytest.approx((rows[0].bm25["hit@1"] + rows[2].bm25["hit@1"]) / 2)


def test_features_without_data_keep_the_weights_in_use() -> None:
    fitter = Fitter([make_set("sets/aws_docs", 1), make_set("sets/contoso", 1)])
    assert fitter.unlearned == ["named", "meaning", "bm25*named"]
    weights = fitter.learn()
    assert weights[2:].tolist() == [0, 0, 0]
    written = fitter.written({"meaning": 0.25, "luck": 9.0}, weights, fitter.unlearned)
    assert written["weights"]["meaning"] == 0.25 and "bm25*named" not in written["weights"]
    assert written == fitter.written({"meaning": 0.25, "luck": 9.0}, fitter.learn(), fitter.unlearned)
    used = fitter.vector(written["weights"])
    scores = [
        np.sort(fitter.scores(q.features, used) + written["base"])[::-1] for at in (0, 1) for q in fitter.questions[at]
    ]
    assert np.median([sorted_scores[0] for sorted_scores in scores]) == pytest.approx(1.0, abs=1e-3)
    assert np.median([sorted_scores[10] for sorted_scores in scores]) == pytest.approx(0.6, abs=1e-3)


def test_one_kind_alone_and_nothing_to_learn_from() -> None:
    assert Fitter([make_set("sets/aws_docs", 1)]).by_kind(np.zeros(5), QUIET) == []
    with pytest.raises(UsageError, match="No data sets to learn from"):
        Fitter([])
    nothing = FeatureSet("x", "library", "none", NAMES, ("bm25",), ())
    with pytest.raises(UsageError, match="No ranking weights can be learned"):
        Fitter([nothing]).learn()


def test_stored_features_are_read_back_unless_something_else_was_asked_for(tmp_path: Path) -> None:
    features, path = make_set("sets/aws_docs", 1, questions=3), tmp_path / "a" / "features.npz"
    write_features(path, features, {"code": "1"})
    again = read_features(path, {"code": "1"})
    assert again is not None and features.same_features(again)
    assert (again.names, again.pairs, again.questions[0].group) == (NAMES, ("bm25",), "d0.md")
    assert read_features(path, {"code": "2"}) is None
    assert read_features(tmp_path / "none.npz", {"code": "1"}) is None
    path.write_bytes(path.read_bytes()[:100])
    assert read_features(path, {"code": "1"}) is None
    assert not features.same_features(make_set("sets/aws_docs", -1, questions=3))


def test_every_set_with_a_kind_is_one_that_can_be_loaded() -> None:
    assert kind_of("sets/nobody-knows") == "sets/nobody-knows"
    assert all(kind_of(name) != name for name in SOURCES if name in ("financebench", "sec10q", "cuad", "mmlongbench"))
    assert kind_of("financebench") == kind_of("sec10q")
