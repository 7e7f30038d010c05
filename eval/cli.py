"""``hybrid-pageindex eval``: the actions of the command and their arguments.

The handler of an action is imported only when the action runs.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, get_args

from eval.runs.plan import DEPTH, MODELS, OUTLINE_SETS, RANKERS, SETTINGS, VISION
from hybrid_core.types.documents import Effort, Fusion, Strategy

_HIT = "hit@5"
_SHOWN_SAMPLE, _FIT_SAMPLE = 60, 150


@dataclass(frozen=True, slots=True)
class Command:
    """An action of ``eval``.

    ``handler`` is ``module:function``. This function prints to stdout, returns the exit code and may raise
    PageIndexError.
    """

    help: str
    add_arguments: Callable[[argparse.ArgumentParser], None]
    handler: str

    def run(self, options: argparse.Namespace) -> int:
        """Import the handler, run it and return its exit code."""
        module, _, function = self.handler.partition(":")
        code: int = getattr(import_module(module), function)(options)
        return code


def main(typed: Sequence[str] | None = None) -> int:
    """Run ``python -m eval`` in the same way as ``hybrid-pageindex eval``, with the same exit codes."""
    from hybrid_pageindex.cli.main import main as command

    return command(["eval", *(sys.argv[1:] if typed is None else typed)])


def _add_data(add: Callable[..., Any]) -> None:
    add("--data", type=Path, metavar="DIR", help="folder of the data sets (default: PAGEINDEX_EVAL_DATA)")


def _add_custom_set(add: Callable[..., Any], fields: str = "question, evidence and answer") -> None:
    add("--docs", type=Path, metavar="DIR", help="folder of documents, for the data set custom")
    add("--questions", type=Path, metavar="FILE", help=f"JSONL file with {fields}, for the data set custom")


def _list_arguments(parser: argparse.ArgumentParser) -> None:
    _add_data(parser.add_argument)
    parser.add_argument("--json", action="store_true", help="print JSON")


def run_list(options: argparse.Namespace) -> int:
    """Print the data sets, and which of them are in the data folder. Return the exit code."""
    from eval.datasets.registry import SOURCES, VARIABLE, data_folder, sets_of
    from hybrid_core.errors import NotFoundError
    from hybrid_pageindex.cli.output import dump

    try:
        data = data_folder(options.data)
    except NotFoundError:
        data = None
    present = {name: data is not None and source.folder(data).is_dir() for name, source in SOURCES.items()}
    if options.json:
        sets = [
            {"name": s.name, "about": s.about, "address": s.address, "licence": s.licence, "present": present[s.name]}
            for s in SOURCES.values()
        ]
        sets += [{"name": name, "present": True} for name in (sets_of(data) if data else ())]
        dump({"data": str(data) if data else None, "sets": sets})
        return 0
    print(f"Sets in {data}:" if data else f"The folder of the data sets is not set: name it with --data or {VARIABLE}.")
    for source in SOURCES.values():
        print(f"  {source.name:<14}{source.about} ({source.licence})")
        if not present[source.name]:
            where = f"put it into {source.folder(data)}" if data else f"the folder is called {source.name}"
            print(f"  {'':<14}missing: get it from {source.address} ({source.layout}); {where}")
    for name in sets_of(data) if data else ():
        print(f"  {name}")
    print(f"  {'custom':<14}your own documents and questions: --docs DIR --questions FILE")
    return 0


def _run_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("dataset", metavar="DATASET", help="name of a data set (see `eval list`), or custom")
    add(
        "--setting",
        choices=SETTINGS,
        default="library",
        help="search the whole library, or only the given document of each question (default: library)",
    )
    add("--ranker", choices=RANKERS, default="engine", help="ranker to measure (default: engine)")
    add(
        "--expert", default="auto", metavar="auto|none|PACK|FILE", help="expert knowledge of the engine (default: auto)"
    )
    add("--embedder", default="", metavar="MODEL", help="embedder of the engine, or of the ranker chunk-dense")
    add(
        "--fusion",
        choices=get_args(Fusion),
        default="weighted",
        help="how scores of words and vectors are combined (default: weighted)",
    )
    add("--sample", type=int, default=0, metavar="N", help="ask only N questions, of each kind in proportion")
    add(
        "--seed",
        type=int,
        default=0,
        metavar="S",
        help="random seed that chooses questions and misspellings (default: 0)",
    )
    add("--distractors", type=Path, metavar="DIR", help="add these documents to the library")
    add("--kind", action="append", default=[], metavar="K", help="ask only questions of this kind (repeatable)")
    add("--min-pages", type=int, default=0, metavar="N", help="ask only questions about documents of N or more pages")
    add("--depth", type=int, default=DEPTH, metavar="K", help="number of results per question (default: %(default)s)")
    _add_custom_set(add)
    add("--effort", choices=get_args(Effort), default="fast", help="effort of the engine (default: fast)")
    add(
        "--strategy",
        choices=get_args(Strategy),
        default="outline",
        help="how a language model searches the section trees (default: outline)",
    )
    add(
        "--model",
        default="",
        metavar="M",
        help=f"{' or '.join(MODELS)} (best and worst case); default: the configured model",
    )
    add("--answers", action="store_true", help="have the model answer each question, and judge the answers")
    add(
        "--vision",
        choices=VISION,
        default="",
        help="which page images the answering model gets (default: as configured)",
    )
    add(
        "--parallel",
        type=int,
        default=1,
        metavar="N",
        help="number of questions to ask at once, for slow models (default: 1)",
    )
    add(
        "--judge-model",
        default="",
        metavar="M",
        help="model that judges answers, at the endpoint of llm_model (default: llm_model)",
    )
    add("--wording", metavar="W", help="wording of the questions of cuad: official (default) or short")
    add(
        "--paraphrases",
        type=Path,
        metavar="FILE",
        help='ask only the questions of this JSONL file ("id", "question"), in its wording; "before" lists earlier '
        "questions of a conversation",
    )
    add("--misspelt", type=int, default=0, metavar="N", help="misspell N words of each question, chosen by --seed")
    add("--hide-names", action="store_true", help="index the files under neutral names: document-001.pdf …")
    _add_data(add)
    add(
        "--home",
        type=Path,
        metavar="DIR",
        help="home of the engine (default: a folder beside the runs, which later runs reuse)",
    )
    add("--out", type=Path, metavar="DIR", help="folder of the run; if it holds a stopped run, continue that")
    add(
        "--fail-under",
        action="append",
        default=[],
        metavar="MEASURE=FLOOR",
        help="exit with status 1 if the measure is below FLOOR (repeatable)",
    )
    add("--json", action="store_true", help="print the summary as JSON")


def _baseline_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "sets",
        nargs="*",
        metavar="DATASET",
        help="names of data sets (see `eval list`), or custom (default: all present)",
    )
    add(
        "--setting",
        action="append",
        default=[],
        metavar="S",
        help="library or given, as for `eval run` (default: both; repeatable)",
    )
    add(
        "--expert",
        action="append",
        default=[],
        metavar="E",
        help="expert knowledge, as for `eval run` (default: none and auto; repeatable)",
    )
    add(
        "--baseline",
        action="append",
        default=[],
        metavar="R",
        help="baseline: page-bm25 or page-bm25-stemmed (default: both; repeatable)",
    )
    add("--sample", type=int, default=0, metavar="N", help="ask only N questions of each data set")
    add("--depth", type=int, default=DEPTH, metavar="K", help="number of results per question (default: %(default)s)")
    _add_custom_set(add)
    _add_data(add)
    add("--out", type=Path, metavar="DIR", help="folder of the runs; finished runs in it are reused")
    add("--markdown", metavar="FILE", help="also write the table to this Markdown file")
    add("--json", action="store_true", help="print JSON instead of the table")


def _fit_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "sets",
        nargs="*",
        metavar="DATASET",
        help="names of data sets (see `eval list`), or custom (default: all with gold pages)",
    )
    add(
        "--setting",
        action="append",
        default=[],
        metavar="S",
        help="library or given, as for `eval run` (default: library; repeatable)",
    )
    add(
        "--expert",
        action="append",
        default=[],
        metavar="E",
        help="expert knowledge, as for `eval run` (default: none; repeatable)",
    )
    add(
        "--sample",
        type=int,
        default=_FIT_SAMPLE,
        metavar="N",
        help="number of questions of each data set; 0: all (default: %(default)s)",
    )
    add("--seed", type=int, default=0, metavar="S", help="random seed that chooses the questions (default: 0)")
    add("--l2", type=float, metavar="X", help="strength of the L2 penalty on weights (default: 0.1)")
    add(
        "--folds",
        type=int,
        default=0,
        metavar="N",
        help="also cross-validate with N folds by document, for kinds with many questions",
    )
    add(
        "--evidence",
        action="store_true",
        help="also learn to predict whether the first pages answer, with the new weights",
    )
    add("--feedback", action="store_true", help="learn from the ratings of answers in a library")
    add("--library", metavar="NAME", help="library whose ratings --feedback uses")
    _add_custom_set(add)
    _add_data(add)
    add("--homes", type=Path, metavar="DIR", help="folder of indexed homes, one per data set (sets/NAME: sets-NAME)")
    add("--out", type=Path, metavar="DIR", help="folder of the computed features; existing ones are reused")
    add(
        "--write",
        type=Path,
        metavar="FILE",
        help="file to write the weights to (default: in the folder of the features)",
    )
    add("--markdown", metavar="FILE", help="also write the tables to this Markdown file")
    add("--json", action="store_true", help="print JSON instead of the tables")


def _trees_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("sets", nargs="*", metavar="DATASET", help=f"sets with outlines (default: {', '.join(OUTLINE_SETS)})")
    add("--rules", action="store_true", help="also measure trees made by rules, without the learned model")
    add("--documents", action="store_true", help="also print a row per document")
    _output_arguments(parser)


def _fit_headings_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("sets", nargs="*", metavar="DATASET", help=f"sets with outlines (default: {', '.join(OUTLINE_SETS)})")
    add("--documents", action="store_true", help="also print a row per document")
    add(
        "--write",
        type=Path,
        default=Path("headings.json"),
        metavar="FILE",
        help="file to write the model to (default: %(default)s)",
    )
    _output_arguments(parser)


def _output_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    _add_data(add)
    add("--markdown", metavar="FILE", help="also write the tables to this Markdown file")
    add("--json", action="store_true", help="print JSON instead of the tables")


def _shown_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("sets", nargs="+", metavar="DATASET", help="names of data sets (see `eval list`), or custom")
    add(
        "--setting",
        choices=("library", "given"),
        default="library",
        help="search the whole library, or only the given document of each question (default: library)",
    )
    add(
        "--expert", default="auto", metavar="auto|none|PACK|FILE", help="expert knowledge of the engine (default: auto)"
    )
    add(
        "--sample",
        type=int,
        default=_SHOWN_SAMPLE,
        metavar="N",
        help="number of questions of each data set; 0: all (default: %(default)s)",
    )
    add("--seed", type=int, default=0, metavar="S", help="random seed that chooses the questions (default: 0)")
    _add_custom_set(add)
    _add_data(add)
    add("--homes", type=Path, metavar="DIR", help="folder of indexed homes, one per data set (sets/NAME: sets-NAME)")
    add("--misses", action="store_true", help="list the questions whose gold page the model is not shown")
    add("--markdown", metavar="FILE", help="also write the tables to this Markdown file")
    add("--json", action="store_true", help="print JSON instead of the tables")


def _judges_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "dataset",
        metavar="DATASET",
        help="data set with labelled answers: financebench with its folder results/, or custom",
    )
    add(
        "--judge-model",
        default="",
        metavar="M",
        help="model that judges answers, at the endpoint of llm_model (default: llm_model)",
    )
    add("--sample", type=int, default=0, metavar="N", help="judge only N answers")
    add("--seed", type=int, default=0, metavar="S", help="random seed that chooses the answers (default: 0)")
    _add_custom_set(add, '"labelled": [{"answer", "label"}]')
    _add_data(add)
    add("--verdicts", type=Path, metavar="FILE", help="write every verdict to this JSONL file")
    add("--json", action="store_true", help="print JSON")


def _rejudge_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("run", type=Path, metavar="RUN", help="folder of a finished run with answers")
    add(
        "--judge-model",
        default="",
        metavar="M",
        help="model that judges answers, at the endpoint of llm_model (default: llm_model)",
    )
    add("--all", action="store_true", help="judge every answer again, not only those without a verdict")
    add("--json", action="store_true", help="print JSON")


def _runs_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "runs", nargs="+", metavar="RUN", help="folder of a run; the others are compared with the first"
    )
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")


def _measures_arguments(parser: argparse.ArgumentParser) -> None:
    _runs_arguments(parser)
    parser.add_argument("--all", action="store_true", help="print all measures, not only the main ones")
    parser.add_argument("--markdown", metavar="FILE", help="also write the tables to this Markdown file")


def _compare_arguments(parser: argparse.ArgumentParser) -> None:
    _measures_arguments(parser)
    parser.add_argument(
        "--flips",
        metavar="MEASURE",
        default=_HIT,
        help="measure whose changed questions are listed (default %(default)s)",
    )
    parser.add_argument("--folds", action="store_true", help="also print the differences of this measure fold by fold")
    parser.add_argument("--fail-under", metavar="MEASURE=FLOOR", action="append", default=[],
                        help="exit with status 1 if a later run is below FLOOR (repeatable)")  # fmt: skip


def _report_arguments(parser: argparse.ArgumentParser) -> None:
    _measures_arguments(parser)
    parser.add_argument("--html", metavar="FILE", help="write a self-contained HTML report")


def _folds_arguments(parser: argparse.ArgumentParser) -> None:
    _runs_arguments(parser)
    parser.add_argument(
        "--measure",
        default=_HIT,
        help="measure by which the best run is chosen, and which is reported (default %(default)s)",
    )
    parser.add_argument("--folds", type=int, default=5, help="number of folds (default %(default)s)")
    parser.add_argument(
        "--seed", type=int, default=0, help="random seed for dealing groups to folds (default %(default)s)"
    )


def _export_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("run", type=Path, metavar="RUN", help="folder of a finished run")
    add("--out", type=Path, metavar="DIR", help="folder of the files (default: trec in the run's folder)")
    add("--json", action="store_true", help="print JSON")


def _import_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("folder", type=Path, metavar="DIR", help="a BEIR folder: corpus.jsonl, queries.jsonl, qrels/SPLIT.tsv")
    add("--out", type=Path, required=True, metavar="DIR", help="where documents/ and questions.jsonl are written")
    add("--split", default="test", metavar="S", help="whose judgements (default: %(default)s)")
    add("--documents", type=int, default=0, metavar="N", help="at most N, judged ones first (default: all)")
    add("--json", action="store_true", help="print JSON")


COMMANDS = {
    "list": Command("list the data sets and whether they are present", _list_arguments, "eval.cli:run_list"),
    "run": Command(
        "run the questions of a data set, or your own, and measure the results",
        _run_arguments,
        "eval.report.commands:run_measure",
    ),
    "baseline": Command(
        "compare the engine with page BM25 on all data sets and settings",
        _baseline_arguments,
        "eval.report.studies:run_baseline",
    ),
    "fit": Command(
        "learn ranking weights from data sets or ratings, tested on held-out kinds",
        _fit_arguments,
        "eval.report.fit:run_fit",
    ),
    "trees": Command(
        "compare section trees with outlines made by people", _trees_arguments, "eval.report.studies:run_trees"
    ),
    "fit-headings": Command(
        "learn the heading model from outlines, tested on held-out kinds",
        _fit_headings_arguments,
        "eval.report.studies:run_fit_headings",
    ),
    "shown": Command(
        "measure how many gold pages a language model would be shown, without calling one",
        _shown_arguments,
        "eval.report.studies:run_shown",
    ),
    "judges": Command(
        "measure how well judging models agree with people's labels",
        _judges_arguments,
        "eval.report.judging:run_judges",
    ),
    "rejudge": Command("judge the answers of a run again", _rejudge_arguments, "eval.report.judging:run_rejudge"),
    "compare": Command(
        "compare runs, with confidence intervals", _compare_arguments, "eval.report.commands:run_compare"
    ),
    "report": Command(
        "report the measures, the times and the lost questions of runs",
        _report_arguments,
        "eval.report.commands:run_report",
    ),
    "export": Command(
        "write a run as TREC files, so that other tools compute its figures",
        _export_arguments,
        "eval.report.exchange:run_export",
    ),
    "import": Command(
        "turn a BEIR folder into documents and questions of custom",
        _import_arguments,
        "eval.report.exchange:run_import",
    ),
    "folds": Command("cross-validate the choice of the best run", _folds_arguments, "eval.report.commands:run_folds"),
}


class EvalCommand:
    """The command ``eval``. Its actions are ``COMMANDS``."""

    help = "evaluate retrieval: run question sets, compare runs, write reports"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
        for name, command in COMMANDS.items():
            action = actions.add_parser(name, help=command.help, description=command.help)
            command.add_arguments(action)
            action.set_defaults(action_run=command.run)

    def run(self, options: argparse.Namespace) -> int:
        code: int = options.action_run(options)
        return code


command = EvalCommand()
