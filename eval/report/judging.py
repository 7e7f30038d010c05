"""Handlers of ``eval judges`` (agreement with labels) and ``eval rejudge`` (judge a run's answers again)."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from eval.datasets.registry import load
from eval.measures.judging import JudgeFigures, judge_figures, judge_labelled, load_judge
from eval.records.progress import Progress
from eval.report.summary import answer_tables, missing, summary
from eval.report.table import Table, number, share, show, text
from eval.runs.asking import judge_again
from hybrid_core.errors import StoreError, UsageError
from hybrid_core.text.prose import counted
from hybrid_pageindex.cli.output import dump
from hybrid_pageindex.config.settings import load_settings


def run_judges(options: argparse.Namespace) -> int:
    """Print how far judges agree with human labels. Raise UsageError for a set without labelled answers."""

    dataset = load(options.dataset, options.data, docs=options.docs, questions=options.questions)
    if not dataset.labelled:
        raise UsageError(
            f"{dataset.name} has no labelled answers in this folder.",
            "FinanceBench has labelled answers in the folder results of its repository. For "
            'custom, add them under "labelled".',
        )
    judge = load_judge(options.judge_model, load_settings(getattr(options, "home", None)))
    try:
        judged = judge_labelled(dataset.labelled, judge, Progress(), sample=options.sample, seed=options.seed)
    finally:
        if judge is not None:
            judge.close()
    about = dict(judge.about) if judge is not None else {}
    figures = judge_figures(judged, str(about.get("model", "")))
    if options.verdicts:
        _write_lines(options.verdicts, [json.dumps(asdict(judge_row), ensure_ascii=False) for judge_row in judged])
    if options.json:
        agreed = [
            asdict(judge_row) | {name: asdict(a) | {"accuracy": a.accuracy, "kappa": a.kappa}
                           for name, a in (("strict", judge_row.strict), ("lenient", judge_row.lenient))}
            for judge_row in figures
        ]  # fmt: skip
        left_out = list(dataset.left_out)
        dump({"dataset": dataset.name, "answers": len(judged), "judge": about, "judges": agreed, "left_out": left_out})
        return 0
    notes = [
        f"{judge_row.judge}: {judge_row.not_judged} were not judged; the first: {judge_row.failure}"
        for judge_row in figures
        if judge_row.not_judged
    ]
    notes = notes if judge else ["--judge-model is not set, so only the rules are compared with the labels."]
    show([_judge_table(figures)], [*unusable(dataset.left_out), *notes])
    return 0


def run_rejudge(options: argparse.Namespace) -> int:
    """Judge the answers of a run again. Raise UsageError if no judging model is configured."""

    judge = load_judge(options.judge_model, load_settings(getattr(options, "home", None)))
    if judge is None:
        raise UsageError("No judging model is configured.", "Set llm_model, or name a model with --judge-model.")
    try:
        run = judge_again(options.run, judge, Progress(), everything=options.all)
    finally:
        judge.close()
    figures = summary(run.name, run)
    if options.json:
        dump({"folder": str(run.folder), **asdict(figures)})
    else:
        show([table for table in answer_tables([figures]) if table.rows], missing([figures]))
    return 0


def _judge_table(judges: list[JudgeFigures]) -> Table:
    rows = [
        (
            text(row.judge), text(name), number(agreed.answers), number(row.not_judged), share(agreed.accuracy),
            number(agreed.kappa, 2), number(agreed.second), number(agreed.first),
            number(row.usage.input_tokens + row.usage.output_tokens), number(row.usage.cost, 4),
        )
        for row in judges
        for name, agreed in (("strict", row.strict), ("lenient", row.lenient))
    ]  # fmt: skip
    columns = (
        "judge", "as", "judged", "not judged", "agree", "kappa", "right, label says wrong", "wrong, label says right",
        "tokens", "cost",
    )  # fmt: skip
    note = "Against the labels. Kappa is Cohen's: 0 is what chance would give, 1 is agreement."
    return Table("Judges against labels", columns, tuple(rows), note)


def _write_lines(path: Path, lines: list[str]) -> None:

    try:
        path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    except OSError as error:
        raise StoreError(
            f"{path}: the report cannot be written ({error.strerror}).", "Choose another path for the report."
        ) from error


_MAX_NAMED = 5


def unusable(left_out: Sequence[str], where: str = "") -> list[str]:
    """Return a note with the number of left-out entries and the first of them, in a list.

    The list is empty if no entry was left out. ``where`` tells where all of them are listed.
    """
    if not left_out:
        return []
    what = counted(len(left_out), "entry of the set cannot be used and is", "entries of the set cannot be used and are")
    named = [
        f"{what} left out: {left_out[0]}",
        *left_out[1:_MAX_NAMED],
        *([where] if len(left_out) > _MAX_NAMED else []),
    ]
    return [" ".join(filter(None, named))]
