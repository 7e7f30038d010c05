"""``eval judges``: how far rules and a model agree with labels. ``eval rejudge``: the answers of a run judged again."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from eval.measures.judges.labels import JudgeFigures
    from eval.report.table import Table


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("dataset", metavar="DATASET", help="a set with labelled answers: financebench with its results/, or custom")
    add("--judge-model", default="", metavar="M", help="who judges, asked where llm_model is (default: llm_model)")
    add("--sample", type=int, default=0, metavar="N", help="judge only N answers")
    add("--seed", type=int, default=0, metavar="S", help="which N (default: 0)")
    add("--docs", type=Path, metavar="DIR", help="of custom: the documents")
    add("--questions", type=Path, metavar="FILE", help='of custom: JSONL with "labelled": [{"answer", "label"}]')
    add("--data", type=Path, metavar="DIR", help="folder of the sets (PAGEINDEX_EVAL_DATA)")
    add("--verdicts", type=Path, metavar="FILE", help="write every verdict as JSONL")
    add("--json", action="store_true", help="print JSON")


def run(options: argparse.Namespace) -> int:
    """Raises UsageError for a set without labelled answers."""
    from eval.datasets.registry import load
    from eval.measures.judges.labels import judge_figures, judge_labelled
    from eval.measures.judges.model import load_judge
    from eval.records.progress import Progress
    from eval.report.left_out import unusable
    from eval.report.table import show
    from hybrid_core.errors import UsageError
    from hybrid_pageindex.config.settings import load_settings
    from hybrid_pageindex.doors.cli.output import dump

    dataset = load(options.dataset, options.data, docs=options.docs, questions=options.questions)
    if not dataset.labelled:
        raise UsageError(
            f"{dataset.name} holds no labelled answers here.",
            'FinanceBench\'s are in the folder results of its repository; in custom they stand under "labelled".',
        )
    judge = load_judge(options.judge_model, load_settings(getattr(options, "home", None)))
    try:
        judged = judge_labelled(dataset.labelled, judge, Progress(), sample=options.sample, seed=options.seed)
    finally:
        if judge is not None:
            judge.close()
    about = dict(judge.about) if judge is not None else {}
    found = judge_figures(judged, str(about.get("model", "")))
    if options.verdicts:
        _write(options.verdicts, [json.dumps(asdict(one), ensure_ascii=False) for one in judged])
    if options.json:
        agreed = [
            asdict(one) | {name: asdict(a) | {"accuracy": a.accuracy, "kappa": a.kappa}
                           for name, a in (("strict", one.strict), ("lenient", one.lenient))}
            for one in found
        ]  # fmt: skip
        left_out = list(dataset.left_out)
        dump({"dataset": dataset.name, "answers": len(judged), "judge": about, "judges": agreed, "left_out": left_out})
        return 0
    notes = [
        f"{one.judge}: {one.not_judged} were not judged; the first: {one.failure}" for one in found if one.not_judged
    ]
    notes = notes if judge else ["No judge was named (--judge-model): only the rules are compared."]
    show([_table(found)], [*unusable(dataset.left_out), *notes])
    return 0


def add_again_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("run", type=Path, metavar="RUN", help="folder of a finished run with answers")
    add("--judge-model", default="", metavar="M", help="who judges, asked where llm_model is (default: llm_model)")
    add("--all", action="store_true", help="judge every answer again, not only those without a verdict")
    add("--json", action="store_true", help="print JSON")


def run_again(options: argparse.Namespace) -> int:
    """Raises UsageError where no judge is named."""
    from eval.measures.judges.model import load_judge
    from eval.records.progress import Progress
    from eval.report.answers import answer_tables, missing
    from eval.report.summary import summary
    from eval.report.table import show
    from eval.runs.rejudge import judge_again
    from hybrid_core.errors import UsageError
    from hybrid_pageindex.config.settings import load_settings
    from hybrid_pageindex.doors.cli.output import dump

    judge = load_judge(options.judge_model, load_settings(getattr(options, "home", None)))
    if judge is None:
        raise UsageError("No judge is named.", "Set llm_model, or name one with --judge-model.")
    try:
        made = judge_again(options.run, judge, Progress(), everything=options.all)
    finally:
        judge.close()
    one = summary(made.name, made)
    if options.json:
        dump({"folder": str(made.folder), **asdict(one)})
    else:
        show([table for table in answer_tables([one]) if table.rows], missing([one]))
    return 0


def _table(found: list[JudgeFigures]) -> Table:
    from eval.report.table import Table, number, share, text

    rows = [
        (
            text(one.judge), text(name), number(agreed.answers), number(one.not_judged), share(agreed.accuracy),
            number(agreed.kappa, 2), number(agreed.second), number(agreed.first),
            number(one.usage.input_tokens + one.usage.output_tokens), number(one.usage.cost, 4),
        )
        for one in found
        for name, agreed in (("strict", one.strict), ("lenient", one.lenient))
    ]  # fmt: skip
    columns = (
        "judge", "as", "judged", "not judged", "agree", "kappa", "right, label says wrong", "wrong, label says right",
        "tokens", "cost",
    )  # fmt: skip
    note = "Against the labels. Kappa is Cohen's: 0 is what chance would give, 1 is agreement."
    return Table("Judges against labels", columns, tuple(rows), note)


def _write(path: Path, lines: list[str]) -> None:
    from hybrid_core.errors import StoreError

    try:
        path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    except OSError as error:
        raise StoreError(f"{path}: cannot be written ({error.strerror}).", "Choose another file.") from error
