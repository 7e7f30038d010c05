"""Handlers of ``eval run``, and of the commands that read runs: ``compare``, ``report``, ``folds``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

from eval.measures import comparison
from eval.measures.comparison import CrossFold, across, by_id, compare, names_of, shared_ids
from eval.measures.retrieval import per_question
from eval.records.progress import Progress
from eval.records.questions import ANSWERS
from eval.records.runs import RUN_FILE, Run, read_run
from eval.report import tables
from eval.report.judging import unusable
from eval.report.page import page
from eval.report.summary import answer_tables, judges, missing, summary
from eval.report.table import print_report, show, write_text
from eval.report.tables import degradation
from eval.runs.plan import Plan
from eval.runs.run import measure
from hybrid_core.errors import UsageError
from hybrid_pageindex.cli.output import dump

HEADLINE = (
    "hit@1", "hit@5", "hit@20", "mrr", "ndcg@10", "doc@1", "document.among@5", "document.r-precision",
    "section.hit@5",
    "citation.overlap", "evidence.auroc", "abstention.recall", "abstention.false",
)  # fmt: skip
"""The measures that ``eval run`` prints together with those of answers. ``eval report`` and ``--json`` have all
measures.
"""


def run_measure(options: argparse.Namespace) -> int:

    floors = [comparison.parse_floor(text) for text in options.fail_under]

    plan = Plan(
        dataset=options.dataset, setting=options.setting, ranker=options.ranker, expert=options.expert,
        embedder=options.embedder, sample=options.sample, seed=options.seed, distractors=options.distractors,
        kinds=tuple(options.kind), min_pages=options.min_pages, depth=options.depth, docs=options.docs,
        questions=options.questions, fusion=options.fusion, effort=options.effort,
        strategy=options.strategy, model=options.model, answers=options.answers, judge_model=options.judge_model,
        wording=options.wording, paraphrases=options.paraphrases, misspelt=options.misspelt,
        vision=options.vision, parallel=options.parallel, hide_names=options.hide_names,
        data=options.data, home=getattr(options, "home", None), out=options.out,
    )  # fmt: skip
    run = measure(plan, Progress())
    figures = summary(run.name, run)
    floored = run.head.measures.get("all", {})
    short = comparison.shortfalls(run.name, floored, floors) if floors else []
    if options.json:
        dump({"folder": str(run.folder), **asdict(figures), "fell_short": short})
    else:
        shown = [degradation([figures]), *(tables.attributions([figures]) if figures.attribution else [])]
        headline = {name: value for name, value in figures.measures.items() if name in (*HEADLINE, *ANSWERS)}
        shown += [
            tables.measures([replace(figures, measures=headline)]),
            *answer_tables([figures]),
            tables.kinds([figures]),
            tables.latency([figures]),
            tables.trees([figures]),
        ]
        left = sum(loss.count for loss in figures.attribution if loss.stage == "no gold placed")
        notes = unusable(run.head.left_out, f"All are in {run.folder / RUN_FILE}.")
        notes += (
            [f"{left} questions have gold passages that were found on no page; measures on pages leave them out."]
            if left
            else []
        )
        if failed := [record.error for record in run.questions if record.error]:
            notes.append(f"{len(failed)} questions failed and count as zero; the first: {failed[0]}")
        notes += missing([figures])
        show([table for table in shown if table.rows], [*notes, f"The run is in {run.folder}."])
    for message in short:
        sys.stderr.write(f"{message}\n")
    return 1 if short else 0


def run_compare(options: argparse.Namespace) -> int:
    floors = [comparison.parse_floor(text) for text in options.fail_under]

    runs = _read_runs(options.runs)
    compared = compare(runs, flips_at=options.flips)
    shown = [tables.compared(compared, options.all), tables.flips(compared)]
    data: dict[str, Any] = asdict(compared)
    if options.folds:
        crossed = _cross(runs, options.flips)
        shown.append(tables.folds(crossed, compared.runs, options.flips))
        data["folds"] = asdict(crossed)
    short = [
        message
        for name, measures in zip(compared.runs[1:], compared.measures[1:], strict=True)
        for message in comparison.shortfalls(name, measures, floors)
    ]
    data["fell_short"] = short
    print_report(options, shown, data, compared.notes)
    for message in short:
        sys.stderr.write(f"{message}\n")
    return 1 if short else 0


def run_report(options: argparse.Namespace) -> int:

    runs = _read_runs(options.runs)
    all_asked = all(run.questions for run in runs)
    summaries = [summary(name, run) for name, run in zip(names_of(runs), runs, strict=True)]
    compared = compare(runs) if len(runs) > 1 and all_asked else None
    shown = [degradation(summaries), *tables.attributions(summaries)]
    shown.append(tables.compared(compared, options.all) if compared else tables.measures(summaries, options.all))
    shown += answer_tables(summaries)
    shown += [tables.kinds(summaries), tables.latency(summaries), tables.steps(summaries)]
    shown.append(tables.trees(summaries))
    shown += [tables.flips(compared)] if compared else []
    shown += [tables.problems(summaries), tables.index(summaries), tables.settings(summaries), judges(summaries)]
    notes = [
        *(compared.notes if compared else ()),
        *missing(summaries),
    ]
    data = {
        "runs": [asdict(figures) for figures in summaries],
        "notes": notes,
        "comparison": asdict(compared) if compared else None,
    }
    if options.html:
        write_text(options.html, page(runs, summaries, compared))
    print_report(options, shown, data, notes)
    return 0


def run_folds(options: argparse.Namespace) -> int:

    runs = _read_runs(options.runs)
    crossed = _cross(runs, options.measure, options.folds, options.seed)
    names = names_of(runs)
    print_report(options, [tables.folds(crossed, names, options.measure)], {"runs": names} | asdict(crossed), ())
    return 0


def _cross(runs: Sequence[Run], measure: str, folds: int = 5, seed: int = 0) -> CrossFold:
    """Cross-validate the choice of the best run by one measure.

    Only questions count that all runs asked and that have the measure.
    """

    by_run = [by_id(run) for run in runs]
    values = [per_question(run.questions) for run in runs]
    shared = [id for id in shared_ids(by_run) if all(measure in each[id] for each in values)]
    if not shared:
        raise UsageError(
            f"No question of these runs has the measure {measure!r}.", "Use a measure that `eval compare` lists."
        )
    groups = {id: by_run[0][id].group for id in shared}
    return across([{id: each[id][measure] for id in shared} for each in values], groups, folds=folds, seed=seed)


def _read_runs(folders: Sequence[str]) -> list[Run]:

    return [read_run(folder) for folder in folders]
