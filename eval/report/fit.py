"""Handler of ``eval fit``: learn ranking weights, and print their measures on held-out kinds."""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from statistics import fmean
from typing import Any

from eval.measures.learning import L2
from eval.records.progress import Progress
from eval.report.table import NONE, Table, number, print_report, share, text
from eval.report.tables import difference
from eval.runs.features import (
    DEFAULT_OUT,
    EvidenceRow,
    collect,
    collect_evidence,
    learn_evidence,
    plans_for,
    sets_to_learn_from,
)
from eval.runs.feedback import FeedbackFit, fit_feedback, read_ratings, shipped_sets
from eval.runs.fit import MEASURES, Fitter, HeldOut, means, provenance
from eval.runs.plan import Plan
from hybrid_core.errors import StoreError, UsageError
from hybrid_pageindex import Engine
from hybrid_pageindex.config.experts import find_ranking
from hybrid_pageindex.config.settings import load_settings


def run_fit(options: argparse.Namespace) -> int:
    """Learn ranking weights, print a report and write them.

    Return 1 if weights learned from ratings are refused because they are worse.
    """

    if options.l2 is not None and not options.l2 > 0:
        raise UsageError(f"--l2 is {options.l2}, but must be above 0.", "Set --l2 to a number above 0.")
    if options.folds and options.folds < 2:
        raise UsageError(f"--folds is {options.folds}, but must be at least 2.", "Set --folds to 2 or more.")
    if options.library and not options.feedback:
        raise UsageError(
            "--library can be used only with --feedback.",
            "Leave --library out. Data sets do not use the libraries of a home.",
        )
    folder = options.out or DEFAULT_OUT
    return _fit_feedback(options, folder) if options.feedback else _fit_sets(options, folder)


def _fit_sets(options: argparse.Namespace, folder: Path) -> int:

    progress = Progress()
    model = find_ranking(load_settings(getattr(options, "home", None)).ranking_weights)
    sets = tuple(dict.fromkeys(options.sets)) or sets_to_learn_from(options.data)
    settings, experts = options.setting or ["library"], options.expert or ["none"]
    usual = Plan(
        "", sample=options.sample, seed=options.seed, docs=options.docs, questions=options.questions,
        data=options.data, out=folder,
    )  # fmt: skip
    features = collect(plans_for(sets, settings, experts, usual), folder, options.homes, progress)
    l2 = options.l2 or L2
    fitter = Fitter(features, l2=l2)
    in_use = model.weights(features[0].pairs)
    rows = fitter.by_kind(fitter.vector(in_use), progress)
    folds = fitter.by_folds(fitter.vector(in_use), options.folds, progress) if options.folds else []
    progress.say("learning from all sets")
    unlearned = fitter.unlearned
    learned = {"sample": options.sample, "seed": options.seed, "l2": l2, "settings": settings,
               "experts": [Path(expert).name for expert in experts]}  # fmt: skip
    written = fitter.written(in_use, fitter.learn(), unlearned)
    written["learned"] = provenance(fitter, rows, learned)
    file = _write_weights(options.write or folder / "weights.json", written)
    evidence: list[EvidenceRow] = []
    if options.evidence:
        plans = plans_for(sets, ["library"], ["none"], usual)
        written["evidence"], evidence = learn_evidence(collect_evidence(plans, file, options.homes, progress))
        _write_weights(file, written)
    notes = [f"{own.dataset}, {own.setting}, {own.expert}: {note}" for own in features for note in own.notes]
    notes += _closing_notes(file, unlearned) + (
        [] if rows else ["All data sets are of one kind, so no kind could be held out."]
    )
    data = {
        "rows": [asdict(row) for row in (*rows, *folds)], "means": means(rows) if rows else {}, "unlearned": unlearned,
        "weights": written["weights"], "evidence": [asdict(row) for row in evidence], "file": str(file), "notes": notes,
    }  # fmt: skip
    tables = [table("Held out: the whole kind", rows), table("Held out: folds by document", folds)]
    tables += [evidence_table(evidence)] if evidence else []
    print_report(options, [*tables, weights_table(written["weights"], in_use)], data, notes)
    return 0


def _fit_feedback(options: argparse.Namespace, folder: Path) -> int:

    if options.sets or options.setting or options.expert or options.folds:
        raise UsageError(
            "--feedback learns from ratings, so it cannot be used with data sets, --setting, --expert or --folds.", ""
        )
    progress = Progress()
    with closing(Engine(getattr(options, "home", None))) as engine:
        questions = read_ratings(engine, options.library)
        names, learned = shipped_sets(options.data), find_ranking().learned
        usual = Plan(
            "", sample=learned.get("sample", options.sample), seed=learned.get("seed", 0), data=options.data, out=folder
        )
        plans = plans_for(names, learned.get("settings", ["library"]), learned.get("experts", ["none"]), usual)
        sets = collect(plans, folder, options.homes, progress)
        fitted = fit_feedback(engine, options.library, questions, sets, options.l2, progress)
    refused = fitted.worse
    notes = [
        f"Learned from {fitted.learned_from} rated questions, judged by {fitted.judged_by} others.",
        "The data sets of the shipped weights are present, and the weights were learned from them, too."
        if fitted.sets
        else "The data sets of the shipped weights are missing, so learning starts from the shipped weights.",
    ]
    data = asdict(fitted) | {"refused": refused, "file": ""}
    if not refused:
        learned_from = {"feedback": fitted.learned_from, "sets": list(fitted.sets),
                        "held_out": {name: round(value, 3) for name, value in fitted.learned.items()}}  # fmt: skip
        file = options.write or folder / "feedback-weights.json"
        data["file"] = str(_write_weights(file, dict(fitted.written) | {"learned": learned_from}))
        notes += _closing_notes(file, fitted.unlearned)
    print_report(options, [feedback_table(fitted)], data | {"notes": notes}, notes)
    if refused:
        sys.stderr.write(
            f"Refused: on rated questions that were held out the learned weights are worse than the shipped ones at "
            f"{' and '.join(refused)}. No weights were written.\n"
        )
    return 1 if refused else 0


def _closing_notes(file: Path, unlearned: Sequence[str]) -> list[str]:
    notes = [f"The weights are in {file}. To use them, set ranking_weights to this file."]
    if unlearned:
        notes.append(
            f"These features have no data to learn from and keep their present weights: {', '.join(unlearned)}."
        )
    return notes


def _write_weights(file: Path, written: Mapping[str, Any]) -> Path:
    """Write weights to a file, and return its path. Raise StoreError if this fails."""

    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps(written, indent=1, ensure_ascii=False)
        text = re.sub(r"\[[\s\d.,]+\]", lambda numbers: "".join(numbers[0].split()).replace(",", ", "), text)
        file.write_text(text + "\n", encoding="utf-8")
    except OSError as error:
        raise StoreError(
            f"{file}: the file of weights cannot be written ({error.strerror}).", "Choose another file with --write."
        ) from error
    return file


def table(title: str, rows: Sequence[HeldOut]) -> Table:
    """Return a table with a row for each measure of each set, and the means over the sets."""

    cells = [
        (
            text(row.dataset), text(row.kind), text(row.setting), text(row.expert), number(row.questions), text(name),
            share(row.bm25[name]), share(row.in_use[name]), share(row.held_out[name]), difference(interval),
            text("below" if interval.high < 0 else ""),
        )
        for row in rows
        for name, interval in row.differences.items()
    ]  # fmt: skip
    mean = means(rows) if rows else {}
    cells += [
        (
            text("mean of the sets"), NONE, NONE, NONE, number(sum(row.questions for row in rows)), text(name),
            share(mean["bm25"][name]), share(mean["in_use"][name]), share(mean["held_out"][name]),
            number(mean["held_out"][name] - mean["bm25"][name], 3), text(""),
        )
        for name in (MEASURES if rows else ())
    ]  # fmt: skip
    columns = (
        "set", "kind", "setting", "expert", "questions", "measure", "page BM25", "in use", "held out",
        "held out − BM25 (95 %)", "",
    )  # fmt: skip
    note = (
        "All rank the same candidates. The weights in use may have learned from these sets. Paired bootstrap over "
        'questions; * marks intervals without zero, "below" those wholly under it.'
    )
    return Table(title, columns, tuple(cells), note if rows else "")


def evidence_table(rows: Sequence[EvidenceRow]) -> Table:
    """Return a table of how well evidence separates right pages from wrong ones.

    It has a row for each set, measured by weights learned without the set's kind of documents, and the means.
    """

    names = {"first": "the first page", "five": "one of the first five"}
    cells = [
        (
            text(row.dataset), text(names[row.what]), number(row.questions), share(row.right), share(row.auroc),
            NONE if row.answerable != row.answerable else share(row.answerable), share(row.calibration),
        )
        for row in rows
    ]  # fmt: skip
    for what, name in names.items():
        own = [row for row in rows if row.what == what]
        judged = [row.answerable for row in own if row.answerable == row.answerable]
        cells.append(
            (
                text("mean of the sets"),
                text(name),
                number(sum(row.questions for row in own)),
                share(fmean(row.right for row in own)),
                share(fmean(row.auroc for row in own if row.auroc == row.auroc)),
                share(fmean(judged)) if judged else NONE,
                share(fmean(row.calibration for row in own)),
            )
        )
    columns = ("set", "answers", "questions", "right", "AUROC", "AUROC answerable", "calibration error")
    note = "Kinds held out. Asked: the set's questions, those it calls unanswerable, and questions of other kinds."
    return Table("Evidence", columns, tuple(cells), note)


def weights_table(weights: Mapping[str, float], in_use: Mapping[str, float]) -> Table:
    """Return a table of the learned weights and the weights in use."""

    rows = [
        (text(name), number(weights.get(name, 0.0), 4), number(weight, 4))
        for name, weight in in_use.items()
        if weights.get(name) or weight
    ]
    return Table("Weights", ("feature", "learned", "in use"), tuple(rows))


def feedback_table(fitted: FeedbackFit) -> Table:
    """Return a table of measures on held-out rated questions, by shipped and learned weights."""

    rows = [(text(name), share(fitted.shipped[name]), share(value)) for name, value in fitted.learned.items()]
    return Table("Rated questions, held out", ("measure", "shipped", "learned"), tuple(rows))
