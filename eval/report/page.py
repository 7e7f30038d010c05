"""The report as one HTML page: nothing outside it is loaded, and what runs say stays text."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from importlib.resources import files

from eval.measures.compare import Comparison
from eval.records.runs import Run
from eval.report import plots, tables
from eval.report.answers import answer_tables, missing
from eval.report.degraded import degradation
from eval.report.markup import Markup, element, join
from eval.report.questions import questions
from eval.report.summary import HIT, Summary
from eval.report.table import Table

_UNBROKEN = 36  # characters: a column of such texts is not broken into lines


def page(runs: Sequence[Run], summaries: Sequence[Summary], comparison: Comparison | None) -> str:
    """The whole page. A policy in its head lets no script run but its own, and nothing be fetched."""
    script, style = _asset("page.js"), _asset("page.css")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = (
        f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; base-uri 'none'; "
        "form-action 'none'"
    )
    title = "Retrieval report: " + ", ".join(dict.fromkeys(one.head.dataset for one in summaries))
    sections = _sections(runs, summaries, comparison)
    links = [element("a", name, href=f"#{identity}") for identity, name, _ in sections]
    body = [
        element("header", element("h1", title), *(_headline(one) for one in summaries), *_notes(summaries, comparison),
                element("nav", *links, aria_label="Sections")),
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
    """(id, name in the navigation, content), those without content left out; where questions were lost comes first."""
    lost = [table for table in (degradation(summaries), *tables.attributions(summaries)) if table.rows or table.note]
    traced, untraced = ([_table(table) for table in lost if bool(table.rows) is known] for known in (True, False))
    parts: list[tuple[str, str, list[Markup]]] = [
        ("lost", "Where questions were lost", [*traced, *_stages(summaries), *untraced]),
        ("measures", "Measures", _measures(summaries, comparison)),
        ("answers", "Answers", _answers(summaries)),
        ("kinds", "By kind", [_table(tables.kinds(summaries))]),
        (
            "time",
            "Time and cost",
            [_table(tables.latency(summaries)), *_times(summaries), _table(tables.steps(summaries))],
        ),
        ("trees", "Section trees", [_table(tables.trees(summaries))]),
        ("flips", "Flips", [_table(tables.flips(comparison))] if comparison else []),
        ("problems", "Gold", [_table(tables.problems(summaries))]),
        ("questions", "Questions", [questions(runs, [one.run for one in summaries])]),
        ("index", "Index", [_table(tables.index(summaries))]),
        ("settings", "Settings", [_table(tables.settings(summaries))]),
        ("judge", "Judge", _judges(summaries)),
    ]
    return [(identity, name, content) for identity, name, made in parts if (content := join(made))]


def _headline(one: Summary) -> Markup:
    said = f" {one.head.ranker} on {one.head.dataset}, setting {one.head.setting}, {one.questions} questions"
    if HIT in one.measures:
        said += f", {HIT} {one.measures[HIT]:.3f}"
    if one.latency:
        said += f", median {one.latency.median:.1f} ms"
    if not one.head.finished:
        said += ", not finished"
    return element("p", element("strong", one.run), f":{said}.", class_="soft")


def _notes(summaries: Sequence[Summary], comparison: Comparison | None) -> list[Markup]:
    notes = [*(comparison.notes if comparison else ()), *missing(summaries)]
    return [element("p", note, class_="soft") for note in notes]


def _table(table: Table) -> Markup:
    """The table under its title; without rows only its note."""
    if not table.shown:
        return Markup("")
    made = [element("h2", table.title)]
    if table.note:
        made.append(element("p", table.note, class_="soft"))
    if table.rows:
        made.append(element("div", _grid(table), class_="wide"))
    return join(made)


def _grid(table: Table) -> Markup:
    columns = range(len(table.columns))
    short = [all(len(row[column].text) <= _UNBROKEN for row in table.rows) for column in columns]
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
    counts = {one.run: {loss.stage: loss.count for loss in one.attribution} for one in summaries}
    if not any(counts.values()):
        return []
    return [_figure("Questions by the stage at which they ended", plots.attribution_bars(counts))]


def _measures(summaries: Sequence[Summary], comparison: Comparison | None) -> list[Markup]:
    if not any(one.measures for one in summaries):
        return []
    main, every = (
        tables.compared(comparison, every) if comparison else tables.measures(summaries, every)
        for every in (False, True)
    )
    made = [_table(main), element("details", element("summary", "Every measure"), _grid(every), class_="more")]
    curves = {one.run: one.curve for one in summaries}
    if any(curves.values()):
        made.append(_figure("Share of questions with a gold page among the first k", plots.hit_curves(curves)))
    return made


def _answers(summaries: Sequence[Summary]) -> list[Markup]:
    return [*map(_table, answer_tables(summaries)), *_accuracy(summaries)]


def _accuracy(summaries: Sequence[Summary]) -> list[Markup]:
    """Right answers against what a question takes: by the judge where every run with answers has one, else by rules."""
    held = [one for one in summaries if one.answers]
    measure = "answers-strict" if all("answers-strict" in one.measures for one in held) else "answers-rules"
    drawn = [
        _figure("Right answers against cost", plots.scatter(points, measure, across, f"answers-{identity}"))
        for identity, across, points in _against_cost(summaries, measure)
    ]
    return [element("div", *drawn, class_="plots")] if drawn else []


def _judges(summaries: Sequence[Summary]) -> list[Markup]:
    """Who judged; each prompt once, as it is written."""
    judges = [(one.run, one.head.judge) for one in summaries if one.head.judge]
    if not judges:
        return []
    said = [
        element("p", element("strong", run), f": {judge['model']}, prompt {judge['prompt']}") for run, judge in judges
    ]
    texts = [element("pre", text, class_="wide") for text in dict.fromkeys(str(judge["text"]) for _, judge in judges)]
    return [element("h2", "How the judge was asked"), *said, *texts]


def _against_cost(
    summaries: Sequence[Summary], measure: str
) -> list[tuple[str, str, dict[str, tuple[float, float] | None]]]:
    """(id, what is across, points by run) for tokens and for money, where anything was spent."""
    held = [one for one in summaries if measure in one.measures]
    spent = (("tokens", {one.run: float(one.tokens) for one in held}), ("cost", {one.run: one.cost for one in held}))
    return [
        (
            name,
            f"{name} of one question",
            {
                one.run: (by_run[one.run] / one.questions, one.measures[measure]) if one in held else None
                for one in summaries
            },
        )
        for name, by_run in spent
        if any(by_run.values())
    ]


def _times(summaries: Sequence[Summary]) -> list[Markup]:
    if not any(one.times for one in summaries):
        return []
    drawn = plots.latency_histogram({one.run: one.times for one in summaries})
    made, after = [_figure("Questions by the time they took", drawn)], []
    scored = [one for one in summaries if HIT in one.measures]
    latencies = {one.run: (one.latency.median, one.measures[HIT]) for one in scored if one.latency}
    if latencies:
        points = {one.run: latencies.get(one.run) for one in summaries}
        drawn = plots.scatter(points, HIT, "median milliseconds for one question", "accuracy-latency")
        made.append(_figure("Accuracy against latency", drawn))
    spent = _against_cost(summaries, HIT)
    for identity, across, points in spent:
        made.append(_figure("Accuracy against cost", plots.scatter(points, HIT, across, f"accuracy-{identity}")))
    if not spent:
        said = "Accuracy against cost is not drawn: no question of these runs took a model's tokens or cost anything."
        after.append(element("p", said, class_="soft"))
    return [element("div", *made, class_="plots"), *after]


def _asset(name: str) -> str:
    return files("eval.report").joinpath(name).read_text(encoding="utf-8")
