"""``eval trees`` and ``eval fit-headings``: section trees beside human outlines, and the model that makes them."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from eval.report.table import Table
    from eval.runs.headings import JudgedTree, OutlinedDocument

SETS = ("bookmarks", "outlines", "hips")
_FIGURES = {
    "f1": "F1", "tolerant": "tolerant", "at_depth": "at the outline's depth", "precision": "precision",
    "recall": "recall", "parent": "parents",
}  # fmt: skip


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("sets", nargs="*", metavar="DATASET", help=f"sets with outlines (default: {', '.join(SETS)})")
    add("--rules", action="store_true", help="also the trees that the rules make without the learned model")
    add("--documents", action="store_true", help="a row for each document too")
    _add_common(parser)


def add_fit_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("sets", nargs="*", metavar="DATASET", help=f"sets with outlines (default: {', '.join(SETS)})")
    add("--documents", action="store_true", help="a row for each document too")
    add("--write", type=Path, default=Path("headings.json"), metavar="FILE", help="the model (default: %(default)s)")
    _add_common(parser)


def _add_common(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--data", type=Path, metavar="DIR", help="folder of the sets (PAGEINDEX_EVAL_DATA)")
    add("--markdown", metavar="FILE", help="write the tables as Markdown too")
    add("--json", action="store_true", help="print JSON instead of the tables")


def run(options: argparse.Namespace) -> int:
    """Score the trees that the engine makes without bookmarks and without OCR."""
    from eval.runs.headings import NO_TREES, judge

    documents = _documents(options)
    judged = {"rules": [judge(document, NO_TREES) for document in documents]} if options.rules else {}
    judged["shipped model"] = [judge(document) for document in documents]
    _show(options, judged, [])
    return 0


def fit(options: argparse.Namespace) -> int:
    """Learn the heading model from all sets, and judge each kind by what was learned without it."""
    from eval.records.progress import Progress
    from eval.runs.headings import NO_TREES, held_out, judge, learn, lesson, written
    from hybrid_core.errors import StoreError, UsageError

    documents = _documents(options)
    if len({document.outline.kind for document in documents}) < 2:
        raise UsageError("All documents are of one kind, so that nothing can be held out.", "Name more sets.")
    lessons = [lesson(document) for document in documents]
    rules = [judge(document, NO_TREES) for document in documents]
    unseen = held_out(documents, lessons, Progress())
    model = written(learn(lessons), documents, rules, unseen)
    try:
        options.write.parent.mkdir(parents=True, exist_ok=True)
        options.write.write_text(_compact(model), encoding="utf-8")
    except OSError as error:
        message = f"{options.write}: cannot be written ({error.strerror})."
        raise StoreError(message, "Choose another --write.") from error
    _show(options, {"rules": rules, "held out": unseen}, [f"The model is in {options.write}."])
    return 0


def _compact(model: Mapping[str, Any]) -> str:
    """JSON with a line for each tree."""
    trees = ",\n  ".join(json.dumps(tree) for tree in model["trees"])
    return f'{{\n "learned": {json.dumps(model["learned"])},\n "trees": [\n  {trees}\n ]\n}}\n'


def _documents(options: argparse.Namespace) -> list[OutlinedDocument]:
    from eval.datasets.registry import load
    from eval.records.progress import Progress
    from eval.runs.headings import outlined_documents

    datasets = [load(name, options.data) for name in dict.fromkeys(options.sets or SETS)]
    return list(outlined_documents(datasets, Progress()))


def _show(options: argparse.Namespace, judged: Mapping[str, Sequence[JudgedTree]], notes: Sequence[str]) -> None:
    from eval.report.commands import out

    data = {which: [asdict(each) for each in own] for which, own in judged.items()}
    tables = [_means_table("Sets", judged, lambda each: each.dataset)]
    tables.append(_means_table("Kinds", judged, lambda each: f"{each.dataset}: {each.kind}"))
    tables.append(_means_table("Languages", judged, lambda each: f"{each.dataset}: {each.language or 'not said'}"))
    if options.documents:
        tables.append(_means_table("Documents", judged, lambda each: f"{each.dataset}: {each.name}"))
    out(options, tables, data, list(notes))


def _means_table(title: str, judged: Mapping[str, Sequence[JudgedTree]], group: Callable[[JudgedTree], str]) -> Table:
    """Return a row for each group of documents and way of making trees: means over the documents."""
    from eval.report.table import Table, number, share, text
    from eval.runs.headings import means

    groups = dict.fromkeys(group(each) for own in judged.values() for each in own)
    rows = []
    for name in groups:
        for which, own in judged.items():
            inside = [each for each in own if group(each) == name]
            mean = means(inside)
            rows.append(
                (
                    text(name), text(which), number(len(inside)), *(share(mean[figure]) for figure in _FIGURES),
                    number(sum(each.score.f1 < 0.5 for each in inside)), number(mean["milliseconds"], 2, " ms"),
                )
            )  # fmt: skip
    return Table(title, ("", "trees", "documents", *_FIGURES.values(), "F1 below 0.5", "a page"), tuple(rows))
