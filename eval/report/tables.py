"""Tables of ``eval report`` and ``eval compare``: measures, lost questions, times, settings."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from eval.measures.comparison import Comparison, CrossFold, Interval
from eval.records.questions import ANSWERS
from eval.report.summary import Summary
from eval.report.table import NONE, Cell, Table, number, share, text

_MAIN = (
    "hit@1", "hit@3", "hit@5", "hit@10", "hit@20", "mrr", "ndcg@10", "doc@1", "document.among@5",
    "document.r-precision", "section.hit@5",
    "citation.overlap", "evidence.auroc", "abstention.recall", "abstention.false", *ANSWERS,
)  # fmt: skip
_QUESTION = 100  # characters; the question's id links to the full text
_KINDS = ("hit@1", "hit@5", "hit@20", "mrr", "doc@1", "document.among@5", "document.r-precision", "citation.overlap",
          "answers-strict", "answers-lenient", "answers-rules")  # fmt: skip


def attributions(summaries: Sequence[Summary]) -> list[Table]:
    """Return a table for each run: how many questions each stage lost, and how many can still be won."""
    with_questions = sorted((run for run in summaries if run.questions), key=lambda run: not run.attribution)
    return [_attribution(run, f": {run.run}" if len(with_questions) > 1 else "") for run in with_questions]


def _attribution(run: Summary, named: str) -> Table:
    title = f"Where questions were lost{named}"
    columns = ("stage", "questions", "share", "ceiling after it")
    if not run.attribution:
        return Table(
            title, columns, (), f"{run.run} records no stages, so its lost questions cannot be assigned to a stage."
        )
    rows = [(text(loss.stage), number(loss.count), share(loss.share), share(loss.ceiling)) for loss in run.attribution]
    note = "A question counts at the stage that lost its page. The ceiling is hit@5 if all later stages were perfect."
    return Table(title, columns, tuple(rows), note)


def measures(summaries: Sequence[Summary], every: bool = True) -> Table:
    """Return the table of the main measures, with a column for each run. With ``every``, return all."""
    named = ordered([run.measures for run in summaries], every)
    rows = [(text(name), *(share(run.measures.get(name)) for run in summaries)) for name in named]
    note = "Means over the questions that have gold for the measure; a question without results counts as zero."
    return Table("Measures", ("measure", *(run.run for run in summaries)), tuple(rows), note if rows else "")


def compared(comparison: Comparison, every: bool = True) -> Table:
    """Return the measures over the shared questions, and the differences from the first run.

    The differences have 95 % confidence intervals.
    """
    columns = ["measure", *comparison.runs[:1]]
    for name in comparison.runs[1:]:
        columns += [name, "difference (95 %)"]
    rows = []
    for measure in ordered(comparison.measures, every):
        row = [text(measure), share(comparison.measures[0].get(measure))]
        for values, against in zip(comparison.measures[1:], comparison.against, strict=True):
            row += [share(values.get(measure)), difference(against.differences.get(measure))]
        rows.append(tuple(row))
    note = (
        f"{len(comparison.questions)} questions asked by all. Differences are to {comparison.runs[0]}: paired "
        "bootstrap over questions; * marks intervals without zero."
    )
    return Table("Measures compared", tuple(columns), tuple(rows), note)


def difference(interval: Interval | None) -> Cell:
    if interval is None:
        return NONE
    star = " *" if interval.clear else ""
    return Cell(f"{interval.mean:+.3f} [{interval.low:+.3f}, {interval.high:+.3f}]{star}", interval.mean)


def flips(comparison: Comparison) -> Table:
    """Return the table of the questions that improved or got worse."""
    rows = [
        (text(against.run), text(went), text(flip.id), share(flip.before), share(flip.after), text(_cut(flip.question)))
        for against in comparison.against
        for went, those in (("won", against.won), ("lost", against.lost))
        for flip in those
    ]
    counts = "; ".join(f"{run.run}: {len(run.won)} won, {len(run.lost)} lost" for run in comparison.against)
    columns = ("run", "went", "id", "before", "after", "question")
    return Table(f"Questions that flipped at {comparison.flips_at}", columns, tuple(rows), f"{counts}.")


def _cut(question: str) -> str:
    return question if len(question) <= _QUESTION else f"{question[:_QUESTION]}…"


def kinds(summaries: Sequence[Summary]) -> Table:
    """Return the main measures by kind of question; no rows if there is a single kind."""
    shown = [name for name in _KINDS if any(name in values for run in summaries for values in run.kinds.values())]
    rows = [
        (text(kind or "(none)"), text(run.run), number(run.kind_counts[kind]), *(share(values.get(m)) for m in shown))
        for kind in dict.fromkeys(kind for run in summaries for kind in run.kinds)
        for run in summaries
        if (values := run.kinds.get(kind)) is not None
    ]
    return Table("By kind of question", ("kind", "run", "questions", *shown), tuple(rows))


def latency(summaries: Sequence[Summary]) -> Table:
    """Return the table of time, tokens and cost."""
    rows = []
    for run in summaries:
        timed = (run.latency.median, run.latency.p95, run.latency.slowest) if run.latency else (None, None, None)
        inputs = (statistics.mean(run.search_inputs), max(run.search_inputs)) if run.search_inputs else (None, None)
        spent = (*map(number, inputs), number(run.tokens), number(run.cost, 4), number(run.failed))
        rows.append((text(run.run), *(number(value, 1) for value in timed), *spent))
    columns = ("run", "median ms", "95 % within ms", "slowest ms", "input", "most", "tokens", "cost", "failed")
    note = (
        "Times are for one question, and so are input, the mean of the tokens that a search's model read, and the most "
        "that it read; tokens and cost are sums, of searches and answers."
    )
    return Table("Time and cost of the questions", columns, tuple(rows), note)


def steps(summaries: Sequence[Summary]) -> Table:
    """Return the table of the search steps' times. It has no rows if the rankers report none."""
    timed = [run.latency.steps if run.latency else {} for run in summaries]
    named = dict.fromkeys(step for each in timed for step in each)
    rows = [(text(step), *(number(each.get(step), 2) for each in timed)) for step in named]
    note = "Median milliseconds of each step." if rows else ""
    return Table("Where the time goes", ("step", *(run.run for run in summaries)), tuple(rows), note)


def trees(summaries: Sequence[Summary]) -> Table:
    """Return the table of how well section trees match human outlines.

    It has no rows if no trees were measured.
    """
    named = ordered([values for run in summaries for values in run.trees.values()])
    rows = [
        (text(run.run), text(kind), *(share(values.get(name)) for name in named))
        for run in summaries
        for kind, values in run.trees.items()
    ]
    return Table("Section trees", ("run", "bookmarks", *named), tuple(rows), "Means over documents." if rows else "")


def index(summaries: Sequence[Summary]) -> Table:
    """Return the table of indexing costs."""
    return _facts("Index", [run.head.index for run in summaries], summaries)


def settings(summaries: Sequence[Summary]) -> Table:
    """Return the table of the runs' settings."""
    facts = [
        {
            "dataset": run.head.dataset, "setting": run.head.setting, "ranker": run.head.ranker,
            "embedder": run.head.embedder or "none", "model": run.head.model or "none", "counts": run.head.counts,
            "options": run.head.options, "engine": run.head.engine, "settings": run.head.settings,
            "machine": run.head.machine, "started": run.head.started, "finished": run.head.finished or "not finished",
        }
        for run in summaries
    ]  # fmt: skip
    return _facts("Settings", facts, summaries)


def problems(summaries: Sequence[Summary]) -> Table:
    """Return the table of set entries and gold places that could not be used."""
    heads = [(summary.run, summary.head) for summary in summaries]
    rows = [(text(run), text(problem)) for run, head in heads for problem in (*head.left_out, *head.problems)]
    return Table("What could not be used", ("run", "problem"), tuple(rows))


def folds(crossed: CrossFold, runs: Sequence[str], measure: str) -> Table:
    """Return the table of a cross-validation, with a row for each fold.

    It shows the mean of each run, gains over the first run, and the score of the run that is best on the other folds.
    """
    columns = [
        "fold",
        "groups",
        "questions",
        *runs,
        *(f"gain of {run}" for run in runs[1:]),
        "best elsewhere",
        "scores",
    ]
    rows = [
        (text(place), number(fold.groups), number(fold.questions), *_gains(fold.means), text(runs[fold.chosen]),
         share(fold.means[fold.chosen]))
        for place, fold in enumerate(crossed.folds, 1)
    ]  # fmt: skip
    counts = number(sum(fold.groups for fold in crossed.folds)), number(sum(fold.questions for fold in crossed.folds))
    rows.append((text("all"), *counts, *_gains(crossed.means), text("cross-fold"), share(crossed.cross_fold)))
    note = (
        f"Chosen on the other folds and scored on each, {measure} is {crossed.cross_fold:.3f}; chosen on all questions "
        f"({runs[crossed.best]}) it is {crossed.in_sample:.3f} in sample."
    )
    return Table(f"{measure} by fold", tuple(columns), tuple(rows), note)


def _gains(means: Sequence[float]) -> list[Cell]:
    return [share(value) for value in means] + [Cell(f"{v - means[0]:+.3f}", v - means[0]) for v in means[1:]]


def ordered(columns: Sequence[Mapping[str, float]], every: bool = True) -> list[str]:
    """Return the names of the main measures, sorted by family and cutoff.

    With ``every``, the other measures follow.
    """
    named = {name for values in columns for name in values}
    return sorted(named if every else named.intersection(_MAIN), key=_measure_order)


def _measure_order(name: str) -> tuple[int, int, str, int]:
    family, _, cutoff = name.partition("@")
    main = _MAIN.index(name) if name in _MAIN else len(_MAIN)
    level = next((at for at, start in enumerate(("section.", "document.", "citation.")) if name.startswith(start)), -1)
    return main, level, family, int(cutoff) if cutoff.isdigit() else 0


def _facts(title: str, facts: Sequence[Mapping[str, Any]], summaries: Sequence[Summary]) -> Table:
    """Return a table with a row for each key in ``facts`` and a column for each run.

    Keys of nested mappings are joined with a dot.
    """
    flat = [dict(_flat("", run)) for run in facts]
    rows = [
        (text(key), *(_fact(run.get(key)) for run in flat)) for key in dict.fromkeys(key for run in flat for key in run)
    ]
    return Table(title, ("", *(run.run for run in summaries)), tuple(rows))


def _flat(prefix: str, value: Any) -> list[tuple[str, Any]]:
    if isinstance(value, Mapping):
        return [
            pair for key, inner in value.items() for pair in _flat(f"{prefix}.{key}" if prefix else str(key), inner)
        ]
    return [(prefix, value)]


def _fact(value: Any) -> Cell:
    if value is None:
        return NONE
    if isinstance(value, bool):
        return Cell("yes" if value else "no")
    if isinstance(value, int | float):
        return Cell(f"{value:,.6g}" if isinstance(value, float) else str(value), float(value))
    if isinstance(value, Sequence) and not isinstance(value, str):
        return Cell(", ".join(map(str, value)) or "none")
    return Cell(str(value))


def degradation(summaries: Sequence[Summary]) -> Table:
    """Return the table of degraded questions, in which something failed, with counts by cause.

    It has no rows if no run has any.
    """
    rows = [
        (
            text(run.run), number(run.questions), number(len(lacking)), number(sum(bool(d.error) for d in lacking)),
            number(sum(bool(d.search) for d in lacking)), number(sum(bool(d.answer) for d in lacking)),
            number(sum(bool(d.judge) for d in lacking)),
        )
        for run in summaries
        if (lacking := run.degraded)
    ]  # fmt: skip
    columns = ("run", "questions", "degraded", "failed", "search without its model", "answer failed", "not judged")
    note = (
        "Degraded records count with the figures that they have, which may be too low. "
        "The same command asks these questions again."
    )
    return Table("Degraded records", columns, tuple(rows), note if rows else "")
