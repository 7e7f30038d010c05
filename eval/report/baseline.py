"""``eval baseline``: the table of the engine beside page BM25 on every set and setting."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from eval.runs.plan import DEPTH

if TYPE_CHECKING:
    from eval.report.table import Table
    from eval.runs.baseline import BaselinePair


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("sets", nargs="*", metavar="DATASET", help="sets of `eval list`, or custom (default: all at hand)")
    add("--setting", action="append", default=[], metavar="S", help="library, given (default: both; repeatable)")
    add(
        "--expert",
        action="append",
        default=[],
        metavar="E",
        help="as of `run` (default: none and auto; repeatable)",
    )
    add(
        "--baseline",
        action="append",
        default=[],
        metavar="R",
        help="page-bm25, page-bm25-stemmed (default: both; repeatable)",
    )
    add("--sample", type=int, default=0, metavar="N", help="ask only N questions of each set")
    add("--depth", type=int, default=DEPTH, metavar="K", help="results to ask for (default: %(default)s)")
    add("--docs", type=Path, metavar="DIR", help="of custom: the documents")
    add("--questions", type=Path, metavar="FILE", help="of custom: JSONL with question, evidence, answer")
    add("--data", type=Path, metavar="DIR", help="folder of the sets (PAGEINDEX_EVAL_DATA)")
    add("--out", type=Path, metavar="DIR", help="folder of the runs; finished ones in it are read")
    add("--markdown", metavar="FILE", help="write the table as Markdown too")
    add("--json", action="store_true", help="print JSON instead of the table")


def run(options: argparse.Namespace) -> int:
    """Print the table; 1 where a measure falls below the baseline beyond its interval."""
    from eval.records.progress import Progress
    from eval.report.commands import out
    from eval.runs.baseline import DEFAULT_OUT, EXPERTS, SETTINGS, against_baseline, plans_of, sets_at_hand
    from eval.runs.baseline import RANKERS as BASELINES

    sets = tuple(options.sets) or sets_at_hand(options.data)
    plans = plans_of(
        sets, data=options.data, docs=options.docs, questions=options.questions, sample=options.sample,
        depth=options.depth,
    )  # fmt: skip
    settings, experts = options.setting or SETTINGS, options.expert or EXPERTS
    rankers = options.baseline or BASELINES
    pairs = list(against_baseline(plans, settings, experts, options.out or DEFAULT_OUT, Progress(), rankers))
    data = {"pairs": [asdict(pair) | {"below": pair.below} for pair in pairs]}
    out(options, [table(pairs)], data, ())
    fallen = [f"{p.dataset}, {p.setting}, {p.expert}: {', '.join(p.below)} below {p.ranker}" for p in pairs if p.below]
    for said in fallen:
        sys.stderr.write(f"{said}\n")
    return 1 if fallen else 0


def table(pairs: Sequence[BaselinePair]) -> Table:
    """A row for each measure of each set, setting and expert."""
    from eval.report.table import Table, number, share, text
    from eval.report.tables import difference

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
    note = "Paired bootstrap over questions; * marks intervals without zero, «below» those wholly under it."
    return Table("The engine beside page BM25", columns, tuple(rows), note if rows else "")
