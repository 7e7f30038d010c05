"""The commands that read runs: ``compare``, ``report`` and ``folds``. What they need is imported when they run."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eval.measures import thresholds
from hybrid_core.errors import StoreError, UsageError

if TYPE_CHECKING:
    from eval.measures.folds import CrossFold
    from eval.records.runs import Run
    from eval.report.table import Table

_HIT = "hit@5"


@dataclass(frozen=True, slots=True)
class Command:
    """``run`` prints on stdout and returns the exit code; it raises the PageIndexErrors of what it calls."""

    help: str
    add_arguments: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], int]


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "runs", nargs="+", metavar="RUN", help="folder of a run; the others are compared with the first"
    )
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")


def _measures_arguments(parser: argparse.ArgumentParser) -> None:
    _arguments(parser)
    parser.add_argument("--all", action="store_true", help="tables with every measure, not the main ones alone")
    parser.add_argument("--markdown", metavar="FILE", help="write the tables as Markdown too")


def _compare_arguments(parser: argparse.ArgumentParser) -> None:
    _measures_arguments(parser)
    parser.add_argument(
        "--flips", metavar="MEASURE", default=_HIT, help="whose changes are listed (default %(default)s)"
    )
    parser.add_argument("--folds", action="store_true", help="also the differences fold by fold, at the same measure")
    parser.add_argument("--fail-under", metavar="MEASURE=FLOOR", action="append", default=[],
                        help="exit with 1 where a run after the first is under it; may be repeated")  # fmt: skip


def _report_arguments(parser: argparse.ArgumentParser) -> None:
    _measures_arguments(parser)
    parser.add_argument("--html", metavar="FILE", help="write one page that opens without a network")


def _folds_arguments(parser: argparse.ArgumentParser) -> None:
    _arguments(parser)
    parser.add_argument("--measure", default=_HIT, help="what chooses and is reported (default %(default)s)")
    parser.add_argument("--folds", type=int, default=5, help="how many (default %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="how groups are dealt (default %(default)s)")


def _compare(options: argparse.Namespace) -> int:
    floors = [thresholds.parse(text) for text in options.fail_under]
    from eval.measures.compare import compare
    from eval.report import tables

    runs = _read(options.runs)
    compared = compare(runs, flips_at=options.flips)
    shown = [tables.compared(compared, options.all), tables.flips(compared)]
    data: dict[str, Any] = asdict(compared)
    if options.folds:
        crossed = _cross(runs, options.flips)
        shown.append(tables.folds(crossed, compared.runs, options.flips))
        data["folds"] = asdict(crossed)
    short = [
        said
        for name, measures in zip(compared.runs[1:], compared.measures[1:], strict=True)
        for said in thresholds.shortfalls(name, measures, floors)
    ]
    data["fell_short"] = short
    out(options, shown, data, compared.notes)
    for said in short:
        sys.stderr.write(f"{said}\n")
    return 1 if short else 0


def _report(options: argparse.Namespace) -> int:
    from eval.measures.compare import compare, names_of
    from eval.report import tables
    from eval.report.answers import answer_tables, judges, missing
    from eval.report.degraded import degradation
    from eval.report.summary import summary

    runs = _read(options.runs)
    asked = all(run.questions for run in runs)
    summaries = [summary(name, run) for name, run in zip(names_of(runs), runs, strict=True)]
    compared = compare(runs) if len(runs) > 1 and asked else None
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
        "runs": [asdict(one) for one in summaries],
        "notes": notes,
        "comparison": asdict(compared) if compared else None,
    }
    if options.html:
        from eval.report.page import page

        _write(options.html, page(runs, summaries, compared))
    out(options, shown, data, notes)
    return 0


def _folds(options: argparse.Namespace) -> int:
    from eval.measures.compare import names_of
    from eval.report import tables

    runs = _read(options.runs)
    crossed = _cross(runs, options.measure, options.folds, options.seed)
    names = names_of(runs)
    out(options, [tables.folds(crossed, names, options.measure)], {"runs": names} | asdict(crossed), ())
    return 0


def _cross(runs: Sequence[Run], measure: str, folds: int = 5, seed: int = 0) -> CrossFold:
    """Over the questions that all runs asked and that have the measure."""
    from eval.measures.compare import by_id, shared_ids
    from eval.measures.folds import across
    from eval.measures.retrieval import per_question

    asked = [by_id(run) for run in runs]
    values = [per_question(run.questions) for run in runs]
    shared = [id for id in shared_ids(asked) if all(measure in each[id] for each in values)]
    if not shared:
        raise UsageError(
            f"No question of these runs has the measure {measure!r}.", "`eval compare` lists the measures."
        )
    groups = {id: asked[0][id].group for id in shared}
    return across([{id: each[id][measure] for id in shared} for each in values], groups, folds=folds, seed=seed)


def _read(folders: Sequence[str]) -> list[Run]:
    from eval.records.runs import read_run

    return [read_run(folder) for folder in folders]


def out(options: argparse.Namespace, tables: Sequence[Table], data: dict[str, Any], notes: Sequence[str]) -> None:
    """Print tables, or data as JSON, and write the tables as Markdown where that is asked for."""
    from eval.report.table import show, to_markdown
    from hybrid_pageindex.doors.cli.output import dump

    tables = [table for table in tables if table.shown]
    if getattr(options, "markdown", None):
        _write(options.markdown, "\n".join([*(f"{note}\n" for note in notes), *map(to_markdown, tables)]))
    if options.json:
        dump(data)
    else:
        show(tables, notes)


def _write(path: str, text: str) -> None:
    try:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_text(text, encoding="utf-8")
    except OSError as error:
        raise StoreError(f"{path}: cannot be written ({error.strerror}).", "Choose another file.") from error


COMMANDS = {
    "compare": Command("two or more runs side by side, with intervals", _compare_arguments, _compare),
    "report": Command("where a run lost its questions, its measures, its times", _report_arguments, _report),
    "folds": Command("what the choice among runs is worth across folds", _folds_arguments, _folds),
}
