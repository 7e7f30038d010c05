"""The report as one HTML page. It loads nothing else, and escapes texts of runs."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from importlib.resources import files

from eval.measures.comparison import Comparison
from eval.records.runs import Run
from eval.report import plots, tables
from eval.report.questions import Markup, element, join, questions
from eval.report.summary import HIT, Summary, answer_tables, missing
from eval.report.table import Table
from eval.report.tables import degradation

_UNBROKEN_LENGTH = 36  # characters; a column with texts up to this length is not wrapped


def page(runs: Sequence[Run], summaries: Sequence[Summary], comparison: Comparison | None) -> str:
    """Return the whole HTML page of a report.

    A Content Security Policy in its head permits only its own script and forbids loading anything.
    """
    script, style = _asset("page.js"), _asset("page.css")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = (
        f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; base-uri 'none'; "
        "form-action 'none'"
    )
    title = "Retrieval report: " + ", ".join(dict.fromkeys(run.head.dataset for run in summaries))
    sections = _sections(runs, summaries, comparison)
    links = [element("a", name, href=f"#{identity}") for identity, name, _ in sections]
    body = [
        element("header", element("h1", title), *(_headline(run) for run in summaries),
                *_render_notes(summaries, comparison), element("nav", *links, aria_label="Sections")),
        element("main", *(element("section", content, id=identity) for identity, _, content in sections)),
        element("footer", "Made by ", element("code", "eval report"), " from the runs' folders: everything here can be "
                "computed again from them."),
    ]  # fmt: skip
    head = [
        Markup('<meta charset="utf-8">'),
        Markup(f'<meta http-equiv="Content-Security-Policy" content="{policy}">'),
        Markup('<meta name="viewport" content="width=device-width, initial-scale=1">'),
        element("title", title),
        Markup(f"<style>{style}</style>"),
    ]
    document = element("html", element("head", *head), element("body", *body, Markup(f"<script>{script}</script>")),
                       lang="en")  # fmt: skip
    return f"<!doctype html>\n{document}\n"


def _sections(
    runs: Sequence[Run], summaries: Sequence[Summary], comparison: Comparison | None
) -> list[tuple[str, str, Markup]]:
    """Return (id, name in the navigation, content) of all sections that have content.

    The section on lost questions comes first.
    """
    lost = [table for table in (degradation(summaries), *tables.attributions(summaries)) if table.rows or table.note]
    traced, untraced = (
        [_render_table(table) for table in lost if bool(table.rows) is has_rows] for has_rows in (True, False)
    )
    parts: list[tuple[str, str, list[Markup]]] = [
        ("lost", "Where questions were lost", [*traced, *_stages(summaries), *untraced]),
        ("measures", "Measures", _measures(summaries, comparison)),
        ("answers", "Answers", _answers(summaries)),
        ("kinds", "By kind", [_render_table(tables.kinds(summaries))]),
        (
            "time",
            "Time and cost",
            [_render_table(tables.latency(summaries)), *_times(summaries), _render_table(tables.steps(summaries))],
        ),
        ("trees", "Section trees", [_render_table(tables.trees(summaries))]),
        ("flips", "Flips", [_render_table(tables.flips(comparison))] if comparison else []),
        ("problems", "Gold", [_render_table(tables.problems(summaries))]),
        ("questions", "Questions", [questions(runs, [run.run for run in summaries])]),
        ("index", "Index", [_render_table(tables.index(summaries))]),
        ("settings", "Settings", [_render_table(tables.settings(summaries))]),
        ("judge", "Judge", _judges(summaries)),
    ]
    return [(identity, name, content) for identity, name, elements in parts if (content := join(elements))]


def _headline(run: Summary) -> Markup:
    description = f" {run.head.ranker} on {run.head.dataset}, setting {run.head.setting}, {run.questions} questions"
    if HIT in run.measures:
        description += f", {HIT} {run.measures[HIT]:.3f}"
    if run.latency:
        description += f", median {run.latency.median:.1f} ms"
    if not run.head.finished:
        description += ", not finished"
    return element("p", element("strong", run.run), f":{description}.", class_="soft")


def _render_notes(summaries: Sequence[Summary], comparison: Comparison | None) -> list[Markup]:
    notes = [*(comparison.notes if comparison else ()), *missing(summaries)]
    return [element("p", note, class_="soft") for note in notes]


def _render_table(table: Table) -> Markup:
    """Return a table with its title as HTML, or only its note if it has no rows."""
    if not table.shown:
        return Markup("")
    parts = [element("h2", table.title)]
    if table.note:
        parts.append(element("p", table.note, class_="soft"))
    if table.rows:
        parts.append(element("div", _grid(table), class_="wide"))
    return join(parts)


def _grid(table: Table) -> Markup:
    columns = range(len(table.columns))
    short = [all(len(row[column].text) <= _UNBROKEN_LENGTH for row in table.rows) for column in columns]
    numeric = ["n" if table.numeric(column) else "s" if short[column] else "t" for column in columns]
    head = [
        element("th", element("button", name, type="button"), scope="col", class_=kind)
        for name, kind in zip(table.columns, numeric, strict=True)
    ]
    body = []
    for row in table.rows:
        cells = []
        for cell, kind in zip(row, numeric, strict=True):
            sorts = {} if cell.value is None else {"data_value": repr(cell.value)}
            cells.append(element("td", cell.text, class_=kind, **sorts))
        body.append(element("tr", *cells))
    return element("table", element("thead", element("tr", *head)), element("tbody", *body))


def _figure(caption: str, drawn: str) -> Markup:
    return element("figure", element("figcaption", caption), Markup(drawn))


def _stages(summaries: Sequence[Summary]) -> list[Markup]:
    counts = {run.run: {loss.stage: loss.count for loss in run.attribution} for run in summaries}
    if not any(counts.values()):
        return []
    return [_figure("Questions by the stage at which they ended", plots.attribution_bars(counts))]


def _measures(summaries: Sequence[Summary], comparison: Comparison | None) -> list[Markup]:
    if not any(run.measures for run in summaries):
        return []
    main, every = (
        tables.compared(comparison, every) if comparison else tables.measures(summaries, every)
        for every in (False, True)
    )
    parts = [_render_table(main), element("details", element("summary", "Every measure"), _grid(every), class_="more")]
    curves = {run.run: run.curve for run in summaries}
    if any(curves.values()):
        parts.append(_figure("Share of questions with a gold page among the first k", plots.hit_curves(curves)))
    return parts


def _answers(summaries: Sequence[Summary]) -> list[Markup]:
    return [*map(_render_table, answer_tables(summaries)), *_accuracy(summaries)]


def _accuracy(summaries: Sequence[Summary]) -> list[Markup]:
    """Return plots of the share of right answers against tokens and cost.

    The judge decides which answers are right if every run with answers has one, otherwise the rules do.
    """
    answered = [run for run in summaries if run.answers]
    measure = "answers-strict" if all("answers-strict" in run.measures for run in answered) else "answers-rules"
    drawn = [
        _figure("Right answers against cost", plots.scatter(points, measure, across, f"answers-{identity}"))
        for identity, across, points in _against_cost(summaries, measure)
    ]
    return [element("div", *drawn, class_="plots")] if drawn else []


def _judges(summaries: Sequence[Summary]) -> list[Markup]:
    """Return the judges of all runs with their prompts. Each prompt is shown once."""
    judges = [(summary.run, summary.head.judge) for summary in summaries if summary.head.judge]
    if not judges:
        return []
    parts = [
        element("p", element("strong", run), f": {judge['model']}, prompt {judge['prompt']}") for run, judge in judges
    ]
    texts = [element("pre", text, class_="wide") for text in dict.fromkeys(str(judge["text"]) for _, judge in judges)]
    return [element("h2", "How the judge was asked"), *parts, *texts]


def _against_cost(
    summaries: Sequence[Summary], measure: str
) -> list[tuple[str, str, dict[str, tuple[float, float] | None]]]:
    """Return (id, x axis, points by run) for plots of ``measure`` against tokens and cost.

    A plot is left out if no run has tokens or cost.
    """
    measured = [run for run in summaries if measure in run.measures]
    spent = (
        ("tokens", {run.run: float(run.tokens) for run in measured}),
        ("cost", {run.run: run.cost for run in measured}),
    )
    return [
        (
            name,
            f"{name} of one question",
            {
                run.run: (by_run[run.run] / run.questions, run.measures[measure]) if run in measured else None
                for run in summaries
            },
        )
        for name, by_run in spent
        if any(by_run.values())
    ]


def _times(summaries: Sequence[Summary]) -> list[Markup]:
    if not any(run.times for run in summaries):
        return []
    drawn = plots.latency_histogram({run.run: run.times for run in summaries})
    parts, after = [_figure("Questions by the time they took", drawn)], []
    scored = [run for run in summaries if HIT in run.measures]
    latencies = {run.run: (run.latency.median, run.measures[HIT]) for run in scored if run.latency}
    if latencies:
        points = {run.run: latencies.get(run.run) for run in summaries}
        drawn = plots.scatter(points, HIT, "median milliseconds for one question", "accuracy-latency")
        parts.append(_figure("Accuracy against latency", drawn))
    spent = _against_cost(summaries, HIT)
    for identity, across, points in spent:
        parts.append(_figure("Accuracy against cost", plots.scatter(points, HIT, across, f"accuracy-{identity}")))
    if not spent:
        message = (
            "Accuracy against cost is not drawn: no question of these runs took a model's tokens or cost anything."
        )
        after.append(element("p", message, class_="soft"))
    return [element("div", *parts, class_="plots"), *after]


def _asset(name: str) -> str:
    return files("eval.report").joinpath(name).read_text(encoding="utf-8")
