"""Handlers of the studies: ``eval baseline``, ``eval shown``, ``eval trees`` and ``eval fit-headings``."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from eval.datasets.registry import load
from eval.records.progress import Progress
from eval.report.table import Table, number, print_report, share, text
from eval.report.tables import difference
from eval.runs.headings import (
    NO_TREES,
    JudgedTree,
    OutlinedDocument,
    held_out,
    judge,
    learn,
    lesson,
    means,
    outlined_documents,
    written,
)
from eval.runs.plan import OUTLINE_SETS, Plan
from eval.runs.studies import (
    DEFAULT_OUT,
    EXPERTS,
    MISSES,
    SETTINGS,
    SHOWN,
    BaselinePair,
    ShownSet,
    against_baseline,
    home_of,
    measure_shown,
    plans_of,
    sets_at_hand,
)
from eval.runs.studies import RANKERS as BASELINES
from hybrid_core.errors import StoreError, UsageError


def run_baseline(options: argparse.Namespace) -> int:
    """Print the engine's measures beside those of the baselines.

    Return 1 if a measure of the engine is below a baseline by more than the confidence interval.
    """

    sets = tuple(options.sets) or sets_at_hand(options.data)
    plans = plans_of(
        sets, data=options.data, docs=options.docs, questions=options.questions, sample=options.sample,
        depth=options.depth,
    )  # fmt: skip
    settings, experts = options.setting or SETTINGS, options.expert or EXPERTS
    rankers = options.baseline or BASELINES
    pairs = list(against_baseline(plans, settings, experts, options.out or DEFAULT_OUT, Progress(), rankers))
    data = {"pairs": [asdict(pair) | {"below": pair.below} for pair in pairs]}
    print_report(options, [baseline_table(pairs)], data, ())
    fallen = [f"{p.dataset}, {p.setting}, {p.expert}: {', '.join(p.below)} below {p.ranker}" for p in pairs if p.below]
    for message in fallen:
        sys.stderr.write(f"{message}\n")
    return 1 if fallen else 0


def baseline_table(pairs: Sequence[BaselinePair]) -> Table:
    """Return a table with a row for each measure of each set, setting and expert knowledge."""

    rows = [
        (
            text(pair.dataset), text(pair.setting), text(pair.expert), number(pair.questions), text(pair.ranker),
            text(name),
            share(pair.baseline[name]), share(pair.engine[name]), difference(interval),
            text("below" if name in pair.below else ""),
        )
        for pair in pairs
        for name, interval in pair.differences.items()
    ]  # fmt: skip
    columns = (
        "set", "setting", "expert", "questions", "baseline", "measure", "value", "engine", "difference (95 %)", "",
    )  # fmt: skip
    note = 'Paired bootstrap over questions; * marks intervals without zero, "below" those wholly under it.'
    return Table("The engine beside page BM25", columns, tuple(rows), note if rows else "")


def run_shown(options: argparse.Namespace) -> int:
    """Measure which gold pages the first prompt shows to a model, and print the table."""

    progress = Progress()
    sets = [
        measure_shown(
            home_of(
                Plan(
                    name, setting=options.setting, expert=options.expert, sample=options.sample, seed=options.seed,
                    docs=options.docs, questions=options.questions, data=options.data,
                ),
                options.homes,
            ),
            progress,
        )
        for name in dict.fromkeys(options.sets)
    ]  # fmt: skip
    tables = [shown_table(sets)] + ([misses(sets)] if options.misses else [])
    print_report(options, tables, {"sets": [asdict(measured) for measured in sets]}, [])
    return 0


def shown_table(sets: Sequence[ShownSet]) -> Table:
    """Return a table of how much of their gold pages the first prompts show, by data set.

    Its columns are shares of questions.
    """

    rows = [
        (
            text(row.dataset), text(row.setting), number(len(row.questions)), share(row.share(*SHOWN[:2])),
            *(share(row.share(name)) for name in (*SHOWN, *MISSES)),
            share(sum(q.every for q in row.questions) / len(row.questions)), number(row.tokens),
            number(1000 * row.seconds, 0, " ms"),
        )
        for row in sets
        if row.questions
    ]  # fmt: skip
    columns = (
        "set", "setting", "questions", "shown", *SHOWN, *MISSES, "all documents", "tokens, median", "loop, median",
    )  # fmt: skip
    note = (
        'Of the best gold page. "shown": its text, a passage of it or a line of its own is in the first prompt. '
        '"section" and "document": the model must ask for more. "all documents": each document of the evidence '
        "has a page shown."
    )
    return Table("Gold that the model is shown", columns, tuple(rows), note)


def misses(sets: Sequence[ShownSet]) -> Table:
    """Return a table of the questions whose gold page the first prompt does not show.

    It states what the prompt shows instead.
    """

    rows = [
        (text(measured.dataset), text(q.id), text(q.shown), number(q.rank), text(q.question[:100]))
        for measured in sets
        for q in measured.questions
        if q.shown not in SHOWN[:2]
    ]
    note = "The rank is the first gold page's in the order without a model, 0 where it is not among the results."
    return Table("Not shown", ("set", "question", "shown", "rank", "asked"), tuple(rows), note)


_FIGURES = {
    "f1": "F1", "tolerant": "tolerant", "at_depth": "at the outline's depth", "precision": "precision",
    "recall": "recall", "parent": "parents",
}  # fmt: skip


def run_trees(options: argparse.Namespace) -> int:
    """Score the section trees that the engine builds without bookmarks and OCR."""

    documents = _documents(options)
    judged = {"rules": [judge(document, NO_TREES) for document in documents]} if options.rules else {}
    judged["shipped model"] = [judge(document) for document in documents]
    _show(options, judged, [])
    return 0


def run_fit_headings(options: argparse.Namespace) -> int:
    """Train the heading model on all sets. Print scores on kinds of documents that were held out.

    Each kind is scored by a model that was trained on the other kinds.
    """

    documents = _documents(options)
    if len({document.outline.kind for document in documents}) < 2:
        raise UsageError(
            "All documents are of one kind, so the weights cannot be tested on a kind that they were not learned from.",
            "Name data sets with documents of other kinds.",
        )
    lessons = [lesson(document) for document in documents]
    rules = [judge(document, NO_TREES) for document in documents]
    unseen = held_out(documents, lessons, Progress())
    model = written(learn(lessons), documents, rules, unseen)
    try:
        options.write.parent.mkdir(parents=True, exist_ok=True)
        options.write.write_text(_compact(model), encoding="utf-8")
    except OSError as error:
        message = f"{options.write}: the report of the study cannot be written ({error.strerror})."
        raise StoreError(message, "Choose another file with --write.") from error
    _show(options, {"rules": rules, "held out": unseen}, [f"The model is in {options.write}."])
    return 0


def _compact(model: Mapping[str, Any]) -> str:
    """Return the model as JSON with one line per tree."""
    trees = ",\n  ".join(json.dumps(tree) for tree in model["trees"])
    head = f'{{\n "learned": {json.dumps(model["learned"])},\n "quality": {json.dumps(model["quality"])},\n'
    return f'{head} "trees": [\n  {trees}\n ]\n}}\n'


def _documents(options: argparse.Namespace) -> list[OutlinedDocument]:

    datasets = [load(name, options.data) for name in dict.fromkeys(options.sets or OUTLINE_SETS)]
    return list(outlined_documents(datasets, Progress()))


def _show(options: argparse.Namespace, judged: Mapping[str, Sequence[JudgedTree]], notes: Sequence[str]) -> None:

    data = {which: [asdict(each) for each in own] for which, own in judged.items()}
    tables = [_means_table("Sets", judged, lambda each: each.dataset)]
    tables.append(_means_table("Kinds", judged, lambda each: f"{each.dataset}: {each.kind}"))
    tables.append(_means_table("Languages", judged, lambda each: f"{each.dataset}: {each.language or 'not said'}"))
    if options.documents:
        tables.append(_means_table("Documents", judged, lambda each: f"{each.dataset}: {each.name}"))
    print_report(options, tables, data, list(notes))


def _means_table(title: str, judged: Mapping[str, Sequence[JudgedTree]], group: Callable[[JudgedTree], str]) -> Table:
    """Return a table of mean scores over documents, by group of documents and by tree builder."""

    groups = dict.fromkeys(group(each) for own in judged.values() for each in own)
    rows = []
    for name in groups:
        for which, own in judged.items():
            inside = [each for each in own if group(each) == name]
            mean = means(inside)
            rows.append(
                (
                    text(name), text(which), number(len(inside)), *(share(mean[figure]) for figure in _FIGURES),
                    number(sum(each.score.f1 < 0.5 for each in inside)), number(mean["milliseconds"], 2, " ms"),
                )
            )  # fmt: skip
    return Table(title, ("", "trees", "documents", *_FIGURES.values(), "F1 below 0.5", "a page"), tuple(rows))
