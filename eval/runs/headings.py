"""Learn the heading model from human outlines, and measure it on held-out kinds of documents."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import numpy.typing as npt

from eval.measures.learning import BoostingPlan, fit_logistic, fit_trees
from eval.records.progress import Progress
from eval.records.questions import Dataset, HumanOutline, Row
from eval.runs.trees import TreeScore, score
from hybrid_core.types.documents import ParsedDocument
from hybrid_pageindex.engine.index.formats import (
    FEATURES,
    PRIOR,
    SIGNS,
    BoostedTrees,
    Possible,
    bare,
    compact,
    make_tree,
    parse_document,
    possibilities,  # fmt: skip
)

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Parse = Callable[[Path], ParsedDocument]
NO_TREES = BoostedTrees(np.zeros((0, 1), np.int64), np.zeros((0, 1)), np.zeros((0, 2)))
"""A model without trees, so that the rules alone decide."""
_ALIKE, _OTHER_PAGE = 0.85, 0.03  # required similarity of a title, and the penalty for a page of distance
_MODELS = 3
_DIGITS = 5
_QUALITY_L2 = 0.1
_REFINED = 1 / 3  # maximum share of all pages that the layout model may read if the estimate decides


@dataclass(frozen=True, slots=True, eq=False)
class OutlinedDocument:
    """A parsed document without its own bookmarks, and its human outline."""

    dataset: str
    name: str
    outline: HumanOutline
    parsed: ParsedDocument


@dataclass(frozen=True, slots=True, eq=False)
class Lesson:
    """Training data from one document: the features of its possible headings.

    ``likely`` is the verdict of the rules on each, and ``right`` whether it is a heading of the human outline.
    """

    evidence: Floats
    likely: Bools
    right: Bools


@dataclass(frozen=True, slots=True)
class JudgedTree:
    """The score of a document's tree.

    ``milliseconds`` is the processor time per page to build the tree of a parsed document. ``signs`` are the features
    for the estimate of its quality.
    """

    dataset: str
    name: str
    kind: str
    language: str
    pages: int
    headings: int
    score: TreeScore
    milliseconds: float
    signs: tuple[float, ...] = ()


def outlined_documents(
    datasets: Iterable[Dataset], progress: Progress, parse: Parse = parse_document
) -> Iterator[OutlinedDocument]:
    """Parse the documents of sets that have outlines."""
    for dataset in datasets:
        for path in dataset.files:
            if path.name in dataset.outlines:
                progress.say(f"{dataset.name}: {path.name}")
                yield OutlinedDocument(dataset.name, path.name, dataset.outlines[path.name], parse(path))


def judge(document: OutlinedDocument, trees: BoostedTrees | None = None) -> JudgedTree:
    """Build a document's section tree and score it by the human outline.

    The tree is built as the engine does it, or with other boosted trees. ``NO_TREES`` stands for the rules alone.
    """
    begun = time.process_time()
    sections, signs = make_tree(document.parsed, trees)
    spent = time.process_time() - begun
    outline, pages = document.outline, len(document.parsed.pages)
    return JudgedTree(
        document.dataset, document.name, outline.kind, outline.language, pages,
        sum(not section.synthetic for section in sections), score(outline, sections), 1000 * spent / max(1, pages),
        signs,
    )  # fmt: skip


def lesson(document: OutlinedDocument) -> Lesson:
    """Return the training data of a document.

    Optional headings, and headings on pages that are not scored, are left out.
    """
    outline, possible = document.outline, possibilities(document.parsed)
    right = matches(possible.items, outline.rows)
    optional = matches(possible.items, outline.optional) & ~right
    last = outline.last or len(document.parsed.pages)
    inside = np.array([outline.first <= item.heading.page <= last for item in possible.items], bool) & ~optional
    likely = np.array([item.likely for item in possible.items], bool)
    return Lesson(possible.evidence[inside], likely[inside], right[inside])


def matches(items: Sequence[Possible], rows: Sequence[Row]) -> Bools:
    """Return which items match a heading of an outline: bool, one for each item.

    Numbering and spacing are ignored, and the page may differ by one. Every row of the outline matches one item: the
    most similar, and among equals the largest.
    """
    rows_on = defaultdict(list)
    for at, (_, title, page) in enumerate(rows):
        rows_on[page].append((at, compact(title)))
    pairs = []
    for i, item in enumerate(items):
        titles = {compact(item.heading.title), bare(item.heading.title)}
        size = item.look.size if item.look else 0.0
        for page in (item.heading.page + away for away in (0, -1, 1)):
            for at, goal in rows_on[page]:
                likeness = max(_likeness(title, goal) for title in titles)
                if likeness >= _ALIKE:
                    pairs.append((-likeness + _OTHER_PAGE * (page != item.heading.page), -size, i, at))
    out = np.zeros(len(items), bool)
    taken: set[int] = set()
    for _, _, i, at in sorted(pairs):
        if not out[i] and at not in taken:
            out[i] = True
            taken.add(at)
    return out


def _likeness(title: str, goal: str) -> float:
    if title == goal:
        return float(bool(title))
    longer = max(len(title), len(goal))
    if not title or not goal or abs(len(title) - len(goal)) > 0.35 * longer:
        return 0.0
    return SequenceMatcher(None, goal, title).ratio()


def learn(lessons: Sequence[Lesson], plan: BoostingPlan = BoostingPlan()) -> BoostedTrees:
    """Train boosted trees on lessons.

    The result is the mean of several models whose trees use different features. A document has the weight of the square
    root of its number of possible headings.
    """
    lessons = [each for each in lessons if len(each.right)]
    shares = np.concatenate([np.full(len(each.right), len(each.right) ** -0.5) for each in lessons])
    likely = np.concatenate([each.likely for each in lessons])
    values, right = (np.concatenate([getattr(each, name) for each in lessons]) for name in ("evidence", "right"))
    prior = np.where(likely, PRIOR, -PRIOR)
    models = [
        fit_trees(values, right, shares / shares.mean(), prior, replace(plan, seed=plan.seed + at))
        for at in range(_MODELS)
    ]
    columns, bounds = (np.concatenate([getattr(each, name) for each in models]) for name in ("columns", "bounds"))
    return BoostedTrees(columns, bounds, np.concatenate([each.leaves for each in models]) / _MODELS)


def held_out(documents: Sequence[OutlinedDocument], lessons: Sequence[Lesson], progress: Progress) -> list[JudgedTree]:
    """Score every document's tree by a model that was trained without the document's kind."""
    kinds = list(dict.fromkeys(document.outline.kind for document in documents))
    out = []
    for kind in kinds:
        progress.say(f"learning without {kind}")
        trees = learn([each for each, d in zip(lessons, documents, strict=True) if d.outline.kind != kind])
        out += [judge(document, trees) for document in documents if document.outline.kind == kind]
    return out


def learn_quality(judged: Sequence[JudgedTree], unseen: Callable[[JudgedTree], str]) -> tuple[dict[str, Any], Floats]:
    """Learn to estimate the F1 of section trees from their signs.

    Return the estimator as in ``headings.json``, and an estimate for each tree with signs. An estimate comes from
    weights learned on trees with another value of ``unseen`` (their kind). The threshold of a low estimate is chosen so
    that documents below it have a third of all pages.
    """
    rows = [each for each in judged if each.signs]
    weights, base = _quality_weights(rows)
    groups = [unseen(each) for each in rows]
    estimates = np.zeros(len(rows))
    for group in dict.fromkeys(groups):
        own_weights, own_base = _quality_weights([r for r, other in zip(rows, groups, strict=True) if other != group])
        for at, (row, other) in enumerate(zip(rows, groups, strict=True)):
            if other == group:
                estimates[at] = 1 / (1 + np.exp(-own_base - np.dot(own_weights, row.signs)))
    order = np.argsort(estimates)
    pages = np.cumsum([rows[at].pages for at in order])
    low = float(estimates[order[int(np.searchsorted(pages, _REFINED * pages[-1]))]])
    named = {name: round(float(weight), _DIGITS) for name, weight in zip(SIGNS, weights, strict=True)}
    return {"weights": named, "base": round(base, _DIGITS), "low": round(low, 3)}, estimates


def _quality_weights(rows: Sequence[JudgedTree]) -> tuple[Floats, float]:
    """Return the weights and the intercept of a logistic regression that estimates a tree's F1 from its features.

    Each tree enters twice: as a success with the weight F1, and as a failure with the weight 1 - F1.
    """
    signs, f1 = np.array([row.signs for row in rows]), np.array([row.score.f1 for row in rows])
    right = np.repeat([True, False], len(rows))
    return fit_logistic(np.vstack([signs, signs]), right, np.concatenate([f1, 1 - f1]), _QUALITY_L2)


def means(judged: Sequence[JudgedTree]) -> dict[str, float]:
    """Return the mean of each measure over the documents."""
    names = ("f1", "tolerant", "at_depth", "precision", "recall", "parent")
    figures = {name: fmean(getattr(each.score, name) for each in judged) for name in names}
    return figures | {"milliseconds": fmean(each.milliseconds for each in judged)}


def written(
    trees: BoostedTrees,
    documents: Sequence[OutlinedDocument],
    rules: Sequence[JudgedTree],
    unseen: Sequence[JudgedTree],
) -> dict[str, Any]:
    """Return boosted trees in the format of ``headings.json``.

    Their training data and measures on held-out kinds are included.
    """
    counts = Counter(document.dataset for document in documents)
    learned: dict[str, Mapping[str, Any]] = {}
    for name in counts:
        figures = {}
        for which, judged in (("rules", rules), ("held_out", unseen)):
            own = means([each for each in judged if each.dataset == name])
            figures[which] = {key: round(own[key], 3) for key in ("f1", "tolerant", "at_depth", "parent")}
        learned[name] = {"documents": counts[name], **figures}
    plan = BoostingPlan()
    rows = [
        {
            "features": [FEATURES[column] for column in columns],
            "bounds": [float(f"{bound:.{_DIGITS}g}") for bound in bounds],
            "leaves": [round(leaf, _DIGITS) for leaf in leaves],
        }
        for columns, bounds, leaves in zip(
            trees.columns.tolist(), trees.bounds.tolist(), trees.leaves.tolist(), strict=True
        )
    ]
    how = {"models": _MODELS, "trees": plan.trees, "depth": plan.depth, "rate": plan.rate, "l2": plan.l2}
    quality, _ = learn_quality(unseen, lambda each: each.kind)
    return {"learned": {"sets": learned, **how, "seed": plan.seed}, "quality": quality, "trees": rows}
