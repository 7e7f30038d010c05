"""``eval shown``: what of the gold the model's first prompt shows, the ceiling of a search with a model."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from eval.report.table import Table
    from eval.runs.shown import ShownSet

_SAMPLE = 60


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("sets", nargs="+", metavar="DATASET", help="sets of `eval list`, or custom")
    add("--setting", choices=("library", "given"), default="library", help="what may be searched (default: library)")
    add("--expert", default="auto", metavar="auto|none|PACK|FILE", help="the engine's expert knowledge (default: auto)")
    add("--sample", type=int, default=_SAMPLE, metavar="N", help="questions of each set, 0: all (default: %(default)s)")
    add("--seed", type=int, default=0, metavar="S", help="which N questions (default: 0)")
    add("--docs", type=Path, metavar="DIR", help="of custom: the documents")
    add("--questions", type=Path, metavar="FILE", help="of custom: JSONL with question, evidence, answer")
    add("--data", type=Path, metavar="DIR", help="folder of the sets (PAGEINDEX_EVAL_DATA)")
    add("--homes", type=Path, metavar="DIR", help="folder of homes that are indexed, one a set (sets/NAME: sets-NAME)")
    add("--misses", action="store_true", help="list the questions whose gold page has no line and no text")
    add("--markdown", metavar="FILE", help="write the tables as Markdown too")
    add("--json", action="store_true", help="print JSON instead of the tables")


def run(options: argparse.Namespace) -> int:
    """Measure and print."""
    from eval.records.progress import Progress
    from eval.report.commands import out
    from eval.runs.plan import Plan
    from eval.runs.shown import home_of, measure_shown

    progress = Progress()
    found = [
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
    tables = [table(found)] + ([misses(found)] if options.misses else [])
    out(options, tables, {"sets": [asdict(one) for one in found]}, [])
    return 0


def table(found: Sequence[ShownSet]) -> Table:
    """Return a row for each set: the shares of questions by what is shown of their gold."""
    from eval.report.table import Table, number, share, text
    from eval.runs.shown import MISSES, SHOWN

    rows = [
        (
            text(one.dataset), text(one.setting), number(len(one.questions)), share(one.share(*SHOWN[:2])),
            *(share(one.share(name)) for name in (*SHOWN, *MISSES)),
            share(sum(q.every for q in one.questions) / len(one.questions)), number(one.tokens),
            number(1000 * one.seconds, 0, " ms"),
        )
        for one in found
        if one.questions
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


def misses(found: Sequence[ShownSet]) -> Table:
    """Return the questions whose gold page the first prompt does not show, with what it shows instead."""
    from eval.report.table import Table, number, text
    from eval.runs.shown import SHOWN

    rows = [
        (text(one.dataset), text(q.id), text(q.shown), number(q.rank), text(q.question[:100]))
        for one in found
        for q in one.questions
        if q.shown not in SHOWN[:2]
    ]
    note = "The rank is the first gold page's in the order without a model, 0 where it is not among the results."
    return Table("Not shown", ("set", "question", "shown", "rank", "asked"), tuple(rows), note)
