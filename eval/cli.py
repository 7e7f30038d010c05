"""``hybrid-pageindex eval``: its actions with their arguments. An action imports its handler only when it runs."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import get_args

from eval.runs.plan import DEPTH, MODELS, OUTLINE_SETS, RANKERS, SETTINGS, VISION
from hybrid_core.types.documents import Effort, Fusion, Strategy

_HIT = "hit@5"
_SHOWN_SAMPLE, _FIT_SAMPLE = 60, 150


@dataclass(frozen=True, slots=True)
class Command:
    """An action of ``eval``.

    ``handler`` is ``module:function``; it prints on stdout, returns the exit code and may raise PageIndexError.
    """

    help: str
    add_arguments: Callable[[argparse.ArgumentParser], None]
    handler: str

    def run(self, options: argparse.Namespace) -> int:
        """Import the handler and run it."""
        module, _, function = self.handler.partition(":")
        code: int = getattr(import_module(module), function)(options)
        return code


def main(typed: Sequence[str] | None = None) -> int:
    """Run ``python -m eval`` like ``hybrid-pageindex eval``, with the same exit codes."""
    from hybrid_pageindex.doors.cli.main import main as door

    return door(["eval", *(sys.argv[1:] if typed is None else typed)])


def _list_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--data", type=Path, metavar="DIR", help="folder of the sets (PAGEINDEX_EVAL_DATA)")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run_list(options: argparse.Namespace) -> int:
    """Print the data sets, and whether they are in the data folder."""
    from eval.datasets.registry import SOURCES, VARIABLE, data_folder, sets_of
    from hybrid_core.errors import NotFoundError
    from hybrid_pageindex.doors.cli.output import dump

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
    print(f"Sets in {data}:" if data else f"No folder of sets: name one with --data or {VARIABLE}.")
    for source in SOURCES.values():
        print(f"  {source.name:<14}{source.about} ({source.licence})")
        if not present[source.name]:
            where = f"put it into {source.folder(data)}" if data else f"the folder is called {source.name}"
            print(f"  {'':<14}absent: get it from {source.address} ({source.layout}); {where}")
    for name in sets_of(data) if data else ():
        print(f"  {name}")
    print(f"  {'custom':<14}your own documents and questions: --docs DIR --questions FILE")
    return 0


def _run_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("dataset", metavar="DATASET", help="a set of `eval list`, or custom")
    add("--setting", choices=SETTINGS, default="library", help="what may be searched (default: library)")
    add("--ranker", choices=RANKERS, default="engine", help="what is measured (default: engine)")
    add("--expert", default="auto", metavar="auto|none|PACK|FILE", help="the engine's expert knowledge (default: auto)")
    add("--embedder", default="", metavar="MODEL", help="the engine's vectors, or those of chunk-dense")
    add("--fusion", choices=get_args(Fusion), default="weighted", help="of words and meaning (default: weighted)")
    add("--sample", type=int, default=0, metavar="N", help="ask only N questions, each kind with its share")
    add("--seed", type=int, default=0, metavar="S", help="which N questions, which slips (default: 0)")
    add("--distractors", type=Path, metavar="DIR", help="add these documents to the library")
    add("--kind", action="append", default=[], metavar="K", help="only questions of this kind (repeatable)")
    add("--min-pages", type=int, default=0, metavar="N", help="only questions about documents of N pages and more")
    add("--depth", type=int, default=DEPTH, metavar="K", help="results to ask for (default: %(default)s)")
    add("--docs", type=Path, metavar="DIR", help="of custom: the documents")
    add("--questions", type=Path, metavar="FILE", help="of custom: JSONL with question, evidence, answer")
    add("--effort", choices=get_args(Effort), default="fast", help="the engine's effort (default: fast)")
    add("--strategy", choices=get_args(Strategy), default="outline", help="how a model searches (default: outline)")
    add("--model", default="", metavar="M", help=f"{' or '.join(MODELS)} (ceiling, floor); without one your own")
    add("--answers", action="store_true", help="have the model answer each question, and judge the answers")
    add("--vision", choices=VISION, default="", help="pictures of pages for the answering model (default: its own)")
    add("--parallel", type=int, default=1, metavar="N", help="questions asked at once, for slow models (default: 1)")
    add("--judge-model", default="", metavar="M", help="who judges, asked where llm_model is (default: llm_model)")
    add("--wording", metavar="W", help="of cuad: official (default) or short")
    add("--paraphrases", type=Path, metavar="FILE", help='ask only these, in these words: JSONL with "id", "question"')
    add("--misspelt", type=int, default=0, metavar="N", help="misspell N words of each question, by --seed")
    add("--hide-names", action="store_true", help="give the files names that say nothing: document-001.pdf …")
    add("--data", type=Path, metavar="DIR", help="folder of the sets (PAGEINDEX_EVAL_DATA)")
    add("--home", type=Path, metavar="DIR", help="the engine's home (default: one beside the runs, used again)")
    add("--out", type=Path, metavar="DIR", help="the run's folder; a run that was stopped goes on there")
    add("--fail-under", action="append", default=[], metavar="MEASURE=FLOOR", help="exit with 1 below it (repeatable)")
    add("--json", action="store_true", help="print the summary as JSON")


def _baseline_arguments(parser: argparse.ArgumentParser) -> None:
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


def _fit_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("sets", nargs="*", metavar="DATASET", help="sets of `eval list`, or custom (default: all with gold pages)")
    add("--setting", action="append", default=[], metavar="S", help="library, given (default: library; repeatable)")
    add("--expert", action="append", default=[], metavar="E", help="as of `run` (default: none; repeatable)")
    add(
        "--sample",
        type=int,
        default=_FIT_SAMPLE,
        metavar="N",
        help="questions of each set, 0: all (default: %(default)s)",
    )
    add("--seed", type=int, default=0, metavar="S", help="which N questions (default: 0)")
    add("--l2", type=float, metavar="X", help="how much large weights cost (default: 0.1)")
    add("--folds", type=int, default=0, metavar="N", help="also N folds by document, for kinds with many questions")
    add("--evidence", action="store_true", help="also learn how likely the first pages answer, by the new weights")
    add("--feedback", action="store_true", help="learn from the ratings of the home's library")
    add("--library", metavar="NAME", help="of --feedback: the library whose ratings count")
    add("--docs", type=Path, metavar="DIR", help="of custom: the documents")
    add("--questions", type=Path, metavar="FILE", help="of custom: JSONL with question, evidence, answer")
    add("--data", type=Path, metavar="DIR", help="folder of the sets (PAGEINDEX_EVAL_DATA)")
    add("--homes", type=Path, metavar="DIR", help="folder of homes that are indexed, one a set (sets/NAME: sets-NAME)")
    add("--out", type=Path, metavar="DIR", help="folder of the features; those in it are read")
    add("--write", type=Path, metavar="FILE", help="write the weights there (default: into the folder of the features)")
    add("--markdown", metavar="FILE", help="write the tables as Markdown too")
    add("--json", action="store_true", help="print JSON instead of the tables")


def _trees_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("sets", nargs="*", metavar="DATASET", help=f"sets with outlines (default: {', '.join(OUTLINE_SETS)})")
    add("--rules", action="store_true", help="also the trees that the rules make without the learned model")
    add("--documents", action="store_true", help="a row for each document too")
    _output_arguments(parser)


def _fit_headings_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("sets", nargs="*", metavar="DATASET", help=f"sets with outlines (default: {', '.join(OUTLINE_SETS)})")
    add("--documents", action="store_true", help="a row for each document too")
    add("--write", type=Path, default=Path("headings.json"), metavar="FILE", help="the model (default: %(default)s)")
    _output_arguments(parser)


def _output_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--data", type=Path, metavar="DIR", help="folder of the sets (PAGEINDEX_EVAL_DATA)")
    add("--markdown", metavar="FILE", help="write the tables as Markdown too")
    add("--json", action="store_true", help="print JSON instead of the tables")


def _shown_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("sets", nargs="+", metavar="DATASET", help="sets of `eval list`, or custom")
    add("--setting", choices=("library", "given"), default="library", help="what may be searched (default: library)")
    add("--expert", default="auto", metavar="auto|none|PACK|FILE", help="the engine's expert knowledge (default: auto)")
    add(
        "--sample",
        type=int,
        default=_SHOWN_SAMPLE,
        metavar="N",
        help="questions of each set, 0: all (default: %(default)s)",
    )
    add("--seed", type=int, default=0, metavar="S", help="which N questions (default: 0)")
    add("--docs", type=Path, metavar="DIR", help="of custom: the documents")
    add("--questions", type=Path, metavar="FILE", help="of custom: JSONL with question, evidence, answer")
    add("--data", type=Path, metavar="DIR", help="folder of the sets (PAGEINDEX_EVAL_DATA)")
    add("--homes", type=Path, metavar="DIR", help="folder of homes that are indexed, one a set (sets/NAME: sets-NAME)")
    add("--misses", action="store_true", help="list the questions whose gold page has no line and no text")
    add("--markdown", metavar="FILE", help="write the tables as Markdown too")
    add("--json", action="store_true", help="print JSON instead of the tables")


def _judges_arguments(parser: argparse.ArgumentParser) -> None:
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


def _rejudge_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("run", type=Path, metavar="RUN", help="folder of a finished run with answers")
    add("--judge-model", default="", metavar="M", help="who judges, asked where llm_model is (default: llm_model)")
    add("--all", action="store_true", help="judge every answer again, not only those without a verdict")
    add("--json", action="store_true", help="print JSON")


def _runs_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "runs", nargs="+", metavar="RUN", help="folder of a run; the others are compared with the first"
    )
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")


def _measures_arguments(parser: argparse.ArgumentParser) -> None:
    _runs_arguments(parser)
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
    _runs_arguments(parser)
    parser.add_argument("--measure", default=_HIT, help="what chooses and is reported (default %(default)s)")
    parser.add_argument("--folds", type=int, default=5, help="how many (default %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="how groups are dealt (default %(default)s)")


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
    "list": Command(
        "the sets of questions: what they are, whether they are here", _list_arguments, "eval.cli:run_list"
    ),
    "run": Command("measure a set, or your own questions", _run_arguments, "eval.report.commands:run_measure"),
    "baseline": Command(
        "the engine beside page BM25 on all sets and settings", _baseline_arguments, "eval.report.studies:run_baseline"
    ),
    "fit": Command(
        "learn ranking weights from sets or ratings, judged on kinds held out",
        _fit_arguments,
        "eval.report.fit:run_fit",
    ),
    "trees": Command(
        "section trees beside outlines that people made", _trees_arguments, "eval.report.studies:run_trees"
    ),
    "fit-headings": Command(
        "learn the heading model from outlines, judged on kinds held out",
        _fit_headings_arguments,
        "eval.report.studies:run_fit_headings",
    ),
    "shown": Command(
        "how much of the gold a model is shown, without asking one", _shown_arguments, "eval.report.studies:run_shown"
    ),
    "judges": Command(
        "how far judges of answers agree with people's labels", _judges_arguments, "eval.report.judging:run_judges"
    ),
    "rejudge": Command("judge the answers of a run again", _rejudge_arguments, "eval.report.judging:run_rejudge"),
    "compare": Command(
        "two or more runs side by side, with intervals", _compare_arguments, "eval.report.commands:run_compare"
    ),
    "report": Command(
        "where a run lost its questions, its measures, its times", _report_arguments, "eval.report.commands:run_report"
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
    "folds": Command(
        "what the choice among runs is worth across folds", _folds_arguments, "eval.report.commands:run_folds"
    ),
}


class EvalCommand:
    """The command ``eval``, whose actions are ``COMMANDS``."""

    help = "how well pages are found: run question sets, compare, report"

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
