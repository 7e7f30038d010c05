"""``eval list`` and ``eval run``, beside the commands that read runs. What they need is imported when they run."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import get_args

from eval.report import baseline, fit, headings, judging, shown
from eval.report.commands import COMMANDS as READING
from eval.report.commands import Command
from eval.runs.plan import DEPTH, MODELS, RANKERS, SETTINGS, VISION, Plan
from hybrid_core.types.documents import Effort, Fusion, Strategy

HEADLINE = (
    "hit@1", "hit@5", "hit@20", "mrr", "ndcg@10", "doc@1", "document.among@5", "document.r-precision",
    "section.hit@5",
    "citation.overlap", "evidence.auroc", "abstention.recall", "abstention.false",
)  # fmt: skip
"""What ``eval run`` shows on the terminal, with the measures of answers; ``eval report`` and ``--json`` show all."""


def main(typed: Sequence[str] | None = None) -> int:
    """``python -m eval``: the same as ``hybrid-pageindex eval``, with its exit codes."""
    from hybrid_pageindex.doors.cli.main import main as door

    return door(["eval", *(sys.argv[1:] if typed is None else typed)])


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    for name, command in COMMANDS.items():
        action = actions.add_parser(name, help=command.help, description=command.help)
        command.add_arguments(action)
        action.set_defaults(action_run=command.run)


def _run(options: argparse.Namespace) -> int:
    code: int = options.action_run(options)
    return code


def _list_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--data", type=Path, metavar="DIR", help="folder of the sets (PAGEINDEX_EVAL_DATA)")
    parser.add_argument("--json", action="store_true", help="print JSON")


def _list(options: argparse.Namespace) -> int:
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


def _measure(options: argparse.Namespace) -> int:
    from eval.measures import thresholds

    floors = [thresholds.parse(text) for text in options.fail_under]
    from eval.records.answers import ANSWERS
    from eval.records.progress import Progress
    from eval.records.runs import RUN_FILE
    from eval.report import tables
    from eval.report.answers import answer_tables, missing
    from eval.report.degraded import degradation
    from eval.report.left_out import unusable
    from eval.report.summary import summary
    from eval.report.table import show
    from eval.runs.run import measure
    from hybrid_pageindex.doors.cli.output import dump

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
    one = summary(run.name, run)
    floored = run.head.measures.get("all", {})
    short = thresholds.shortfalls(run.name, floored, floors) if floors else []
    if options.json:
        dump({"folder": str(run.folder), **asdict(one), "fell_short": short})
    else:
        shown = [degradation([one]), *(tables.attributions([one]) if one.attribution else [])]
        headline = {name: value for name, value in one.measures.items() if name in (*HEADLINE, *ANSWERS)}
        shown += [
            tables.measures([replace(one, measures=headline)]),
            *answer_tables([one]),
            tables.kinds([one]),
            tables.latency([one]),
            tables.trees([one]),
        ]
        left = sum(loss.count for loss in one.attribution if loss.stage == "no gold placed")
        notes = unusable(run.head.left_out, f"All are in {run.folder / RUN_FILE}.")
        notes += [f"{left} questions have gold that found no page: they count in no measure on pages."] if left else []
        if failed := [record.error for record in run.questions if record.error]:
            notes.append(f"{len(failed)} questions failed and count zero; the first: {failed[0]}")
        notes += missing([one])
        show([table for table in shown if table.rows], [*notes, f"The run is in {run.folder}."])
    for said in short:
        sys.stderr.write(f"{said}\n")
    return 1 if short else 0


COMMANDS = {
    "list": Command("the sets of questions: what they are, whether they are here", _list_arguments, _list),
    "run": Command("measure a set, or your own questions", _run_arguments, _measure),
    "baseline": Command("the engine beside page BM25 on all sets and settings", baseline.add_arguments, baseline.run),
    "fit": Command("learn ranking weights from sets or ratings, judged on kinds held out", fit.add_arguments, fit.run),
    "trees": Command("section trees beside outlines that people made", headings.add_arguments, headings.run),
    "fit-headings": Command(
        "learn the heading model from outlines, judged on kinds held out", headings.add_fit_arguments, headings.fit
    ),
    "shown": Command("how much of the gold a model is shown, without asking one", shown.add_arguments, shown.run),
    "judges": Command("how far judges of answers agree with people's labels", judging.add_arguments, judging.run),
    "rejudge": Command("judge the answers of a run again", judging.add_again_arguments, judging.run_again),
    **READING,
}
command = Command("how well pages are found: run question sets, compare, report", _add_arguments, _run)
