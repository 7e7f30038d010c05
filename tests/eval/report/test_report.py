"""The report's figures and tables, against numbers worked out by hand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from eval.cli import main
from eval.records.runs import TreeRecord, append, read_run
from eval.report import tables
from eval.report.summary import quantile, summary
from eval.report.table import Cell, Table, show, to_markdown
from tests.eval.made_runs import record, run_folder


def test_a_run_is_summed_up(tmp_path: Path) -> None:
    records = [
        record("a", 1, kind="figures", timings_ms={"total": 10.0, "coarse": 1.0}, tokens=5, input_tokens=4, cost=0.25),
        record("b", 4, kind="figures", timings_ms={"total": 20.0, "coarse": 3.0}),
        record("c", None, kind="prose", timings_ms={"total": 40.0, "coarse": 8.0}),
        record("d", None, kind="prose", pages=(), stage="failed", error="It broke.", timings_ms={}),
    ]
    found = summary("run", read_run(run_folder(tmp_path / "run", records)))
    assert (found.questions, found.failed, found.tokens, found.cost) == (4, 1, 5, 0.25)
    assert [cell.text for cell in tables.latency([found]).rows[0][4:7]] == ["1", "4", "5"], "mean and most"
    assert found.curve == pytest.approx([0.25] * 3 + [0.5] * 17)
    assert found.times == (10.0, 20.0, 40.0)
    assert found.latency is not None
    assert (found.latency.median, found.latency.p95, found.latency.slowest) == pytest.approx((20.0, 38.0, 40.0))
    assert found.latency.steps == {"coarse": 3.0}
    assert found.kind_counts == {"figures": 2, "prose": 2}
    assert found.kinds["figures"]["hit@5"] == 1.0
    lost = {loss.stage: (loss.count, loss.share, loss.ceiling) for loss in found.attribution}
    assert lost["failed"] == (1, 0.25, 0.75)
    assert lost["wrong document"] == (1, 0.25, 0.5)
    assert lost["hit"] == (2, 0.5, 0.5)


def test_a_ranker_without_trace_is_not_shown_as_if_it_only_hit(tmp_path: Path) -> None:
    run = read_run(run_folder(tmp_path / "run", [record("a", 1), record("b", None, stage="")]))
    [table] = tables.attributions([summary("run", run)])
    assert table.rows == ()
    assert "records no stages" in table.note


def test_a_run_of_trees_alone_has_its_table_and_no_measures(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = run_folder(tmp_path / "trees", [], dataset="hips")
    for name, f1 in (("a.pdf", 0.9), ("b.pdf", 0.7)):
        append(folder, TreeRecord(name, "kept", f1, 1.0, 0.5, 1.0, 12))
    page = tmp_path / "page.html"
    assert main(["report", str(folder), "--html", str(page)]) == 0
    shown = capsys.readouterr().out
    assert "bookmarks kept" in shown
    assert "0.800" in shown
    assert "Where questions were lost" not in shown + page.read_text(encoding="utf-8")


def test_the_terminal_and_json_begin_with_where_questions_were_lost(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = str(run_folder(tmp_path / "run", [record("a", 1), record("b", 9)], problems=("x.pdf has no page 900.",)))
    assert main(["report", folder]) == 0
    shown = capsys.readouterr().out
    titles = [
        "Where questions were lost",
        "Measures",
        "Time and cost",
        "What could not be used",
        "Index",
        "Settings",
    ]
    places = [shown.index(f"\n{title}") for title in titles]
    assert places == sorted(places)
    assert "x.pdf has no page 900." in shown
    assert "section.recall@20" not in shown
    assert main(["report", folder, "--all"]) == 0
    assert "section.recall@20" in capsys.readouterr().out
    assert main(["report", folder, "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["comparison"] is None
    assert data["runs"][0]["attribution"][-1] == {"stage": "hit", "count": 1, "share": 0.5, "ceiling": 0.5}
    assert data["runs"][0]["head"]["index"]["pages"] == 120


def test_two_runs_are_reported_with_their_differences_and_flips(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folders = [
        str(run_folder(tmp_path / "before", [record("a", 1), record("b", None)], settings={"effort": "low"})),
        str(run_folder(tmp_path / "after", [record("a", 1), record("b", 2)], settings={"effort": "high", "mmr": None})),
    ]
    assert main(["report", *folders, "--markdown", str(tmp_path / "report.md")]) == 0
    shown = capsys.readouterr().out
    assert "after: 1 won, 0 lost." in shown
    written = (tmp_path / "report.md").read_text(encoding="utf-8")
    assert "| hit@5 | 0.500 | 1.000 | +0.500 [+0.000, +1.000] |" in written
    assert "| settings.effort | low | high |" in written
    assert "| settings.mmr | – | – |" in written
    assert "| after | won | b | 0.000 | 1.000 | What of b? |" in written


def test_no_text_breaks_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    evil = "a|b <img onerror=x> `code` [red]\nline\x1b[31m"
    table = Table(evil, ("name", "figure"), ((Cell(evil), Cell("1", 1.0)),), evil)
    lines = to_markdown(table).splitlines()
    assert [line.count("|") for line in lines if line.startswith("|")] == [3, 3, 3]
    assert "<img" not in to_markdown(table)
    show([table])
    shown = capsys.readouterr().out
    assert "\x1b[31m" not in shown
    assert "[red]" in shown


def test_a_report_that_cannot_be_written_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = str(run_folder(tmp_path / "run", [record("a", 1)]))
    assert main(["report", folder, "--html", str(tmp_path)]) == 1
    assert "cannot be written" in capsys.readouterr().err
    assert main(["report", str(tmp_path / "nothing")]) == 1
    assert "is not the folder of a run" in capsys.readouterr().err


def test_measures_stand_in_a_fixed_order() -> None:
    named = [{"section.hit@10": 0.0, "recall@20": 0.0, "recall@3": 0.0, "mrr": 0.0, "section.hit@3": 0.0, "hit@5": 0.0}]
    assert tables.ordered(named) == ["hit@5", "mrr", "recall@3", "recall@20", "section.hit@3", "section.hit@10"]
    assert tables.ordered(named, every=False) == ["hit@5", "mrr"]


def test_quantiles_are_numpys() -> None:
    import numpy

    values = [5.0, 1.0, 9.0, 2.5]
    for at in (0.0, 0.3, 0.5, 0.95, 1.0):
        assert quantile(values, at) == pytest.approx(float(numpy.quantile(values, at)))
