"""Comparison of runs: intervals against exact ones, flips, folds, floors; and its command."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eval.cli import main
from eval.measures import comparison
from eval.measures.comparison import across, assign, compare, names_of, paired_bootstrap
from eval.records.runs import read_run
from hybrid_core.errors import DocumentError, UsageError
from tests.eval.made_runs import record, run_folder


@pytest.mark.parametrize("values", [[0.0, 0.2, 0.9, -0.4, 0.1], [0.3, -0.25, 0.5, 0.55, -0.1, 0.05]])
def test_the_bootstrap_finds_the_interval_of_all_resamples(values: list[float]) -> None:
    means = [sum(drawn) / len(values) for drawn in itertools.product(values, repeat=len(values))]  # every resample
    found = paired_bootstrap(values, resamples=60_000)
    assert found.mean == pytest.approx(sum(values) / len(values))
    for bound, below in ((found.low, 0.025), (found.high, 0.975)):
        under = sum(mean < bound - 1e-9 for mean in means) / len(means)
        up_to = sum(mean < bound + 1e-9 for mean in means) / len(means)
        assert under - 0.003 < below < up_to + 0.003


def test_the_bootstrap_of_one_in_four_is_the_binomial_one() -> None:
    # The mean of four draws from [1, 0, 0, 0] is Binomial(4, 1/4) / 4: P(0) = .316, P(at most 3/4) = .996, so that
    # the 2.5 % quantile is 0 and the 97.5 % quantile 3/4 (P(at most 1/2) = .949 is less than .975).
    found = paired_bootstrap([1.0, 0.0, 0.0, 0.0])
    assert (found.mean, found.low, found.high, found.clear) == (0.25, 0.0, 0.75, False)


@pytest.mark.slow
def test_the_bootstrap_is_seeded_and_takes_large_runs_in_pieces() -> None:
    values = [float(number % 3 - 1) for number in range(5_000)]
    assert paired_bootstrap(values, seed=4) == paired_bootstrap(values, seed=4) != paired_bootstrap(values, seed=5)
    spread = (2 / 3 / 5_000) ** 0.5  # of the mean of 5,000 values with variance 2/3
    assert paired_bootstrap(values).high == pytest.approx(1.96 * spread, rel=0.1)
    assert paired_bootstrap([0.5] * 7).clear
    assert paired_bootstrap([]).pairs == 0


def test_runs_are_paired_on_questions_and_what_flipped_is_listed(tmp_path: Path) -> None:
    first = run_folder(tmp_path / "first", [record("a", 1), record("b", None), record("c", 3), record("gone", 1)])
    second = run_folder(tmp_path / "second", [record("c", 9), record("b", 5), record("a", 1)])
    found = compare([read_run(first), read_run(second)])
    assert found.questions == ("a", "b", "c")
    assert found.left_out == {"first": 1, "second": 0}
    assert any("1 of its 4 questions" in note for note in found.notes)
    assert [values["hit@5"] for values in found.measures] == pytest.approx([2 / 3, 2 / 3])
    assert [values["hit@1"] for values in found.measures] == pytest.approx([1 / 3, 1 / 3])
    against = found.against[0]
    assert [flip.id for flip in against.won] == ["b"]
    assert [flip.id for flip in against.lost] == ["c"]
    assert against.differences["hit@5"].mean == 0.0
    assert against.differences["mrr"].mean == pytest.approx((1 / 5 + 1 / 9 - 1 / 3) / 3)  # b, c; a is the same
    assert against.differences["mrr"].low < 0 < against.differences["mrr"].high


def test_what_cannot_be_compared_is_refused(tmp_path: Path) -> None:
    first = read_run(run_folder(tmp_path / "first", [record("a", 1)]))
    other = read_run(run_folder(tmp_path / "other", [record("z", 1)]))
    twice = read_run(run_folder(tmp_path / "twice", [record("a", 1), record("a", 2)]))
    empty = read_run(run_folder(tmp_path / "empty", []))
    with pytest.raises(UsageError, match="no question in common"):
        compare([first, other])
    with pytest.raises(UsageError, match="needs at least two runs"):
        compare([first])
    with pytest.raises(UsageError, match="names the same run twice"):
        compare([first, first])
    with pytest.raises(DocumentError, match="contains the same question twice"):
        compare([first, twice])
    with pytest.raises(DocumentError, match="contains no question"):
        compare([first, empty])


def test_the_reader_is_told_of_unfinished_runs_and_other_words(tmp_path: Path) -> None:
    first = run_folder(tmp_path / "old" / "run", [record("a", 1)])
    second = run_folder(tmp_path / "new" / "run", [record("a", 1, question="Reworded?")], finished="", dataset="cuad")
    runs = [read_run(first), read_run(second)]
    assert names_of(runs) == ["old/run", "new/run"]
    notes = "\n".join(compare(runs).notes)
    assert "new/run is not finished" in notes
    assert "different data sets" in notes
    assert "asks 1 of the 1 questions in other words" in notes


GROUPS = st.dictionaries(st.text("abcdef", min_size=1, max_size=6), st.sampled_from(["", "x", "y", "z", "w", "v", "u"]))


@given(GROUPS, st.integers(0, 3))
def test_folds_keep_groups_together_and_are_balanced(groups: dict[str, str], seed: int) -> None:
    kept = {group or f"alone {question}" for question, group in groups.items()}
    if len(kept) < 3:
        with pytest.raises(UsageError, match="cannot be divided"):
            assign(groups, folds=3, seed=seed)
        return
    dealt = assign(groups, folds=3, seed=seed)
    assert dealt == assign(dict(reversed(groups.items())), folds=3, seed=seed)
    assert dealt.keys() == groups.keys()
    assert set(dealt.values()) == {0, 1, 2}
    for group in set(groups.values()) - {""}:
        assert len({dealt[question] for question in groups if groups[question] == group}) == 1
    sizes = [list(dealt.values()).count(fold) for fold in range(3)]
    largest = max(list(groups.values()).count(g) if g else 1 for g in groups.values())
    assert max(sizes) - min(sizes) <= largest


def test_the_seed_deals_equal_groups_otherwise() -> None:
    groups = {f"q{number}": f"company {number}" for number in range(20)}
    assert len({tuple(sorted(assign(groups, seed=seed).items())) for seed in range(5)}) == 5


def test_cross_fold_selection_is_scored_where_it_was_not_chosen() -> None:
    # Five companies with two questions each. Run A is right on companies 0 to 2, run B on 3, 4 and half of 2: chosen on
    # all questions it is A with .6. Without company 0, 1 or 2, A has 4 of 8 and B 5, 5 or 4 of 8; without 3 or 4, A
    # has 6 of 8. So the folds of 0 and 1 are scored by B (0 of 4), of 2 by A (a tie goes to the first: 2 of 2), of 3
    # and 4 by A (0 of 4): 2 of 10.
    groups = {f"{company}{part}": str(company) for company in range(5) for part in "ab"}
    first = {question: float(question[0] in "012") for question in groups}
    second = {question: float(question[0] in "34" or question == "2a") for question in groups}
    found = across([first, second], groups)
    assert found.means == pytest.approx((0.6, 0.5))
    assert (found.best, found.in_sample) == (0, pytest.approx(0.6))
    assert found.cross_fold == pytest.approx(0.2)
    assert sorted((fold.means, fold.chosen) for fold in found.folds) == [
        ((0.0, 1.0), 0), ((0.0, 1.0), 0), ((1.0, 0.0), 1), ((1.0, 0.0), 1), ((1.0, 0.5), 0),
    ]  # fmt: skip
    assert all((fold.questions, fold.groups) == (2, 1) for fold in found.folds)


def test_floors_are_read_and_what_falls_short_is_named() -> None:
    assert comparison.parse_floor("hit@5=0.6") == ("hit@5", 0.6)
    for wrong in ("hit@5", "hit@5=", "=0.6", "hit@5=high", "hit@5=nan", ""):
        with pytest.raises(UsageError, match="MEASURE=NUMBER"):
            comparison.parse_floor(wrong)
    assert comparison.shortfalls("run", {"hit@5": 0.6}, [("hit@5", 0.6)]) == []
    assert comparison.shortfalls("run", {"hit@5": 0.59}, [("hit@5", 0.6)]) == ["run: hit@5 is 0.590, under 0.6."]
    with pytest.raises(UsageError, match=r"no measure 'hits'.*hit@5"):
        comparison.shortfalls("run", {"hit@5": 0.59}, [("hits", 0.6)])


def test_the_command_judges_the_runs_after_the_first(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    weak = run_folder(tmp_path / "weak", [record(f"q{n}", None, group=f"g{n}") for n in range(6)])
    good = run_folder(tmp_path / "good", [record(f"q{n}", 2 if n else 9, group=f"g{n}") for n in range(6)])
    assert main(["compare", str(weak), str(good), "--fail-under", "hit@5=0.8"]) == 0
    shown = capsys.readouterr().out
    assert "+0.833" in shown
    assert "good: 5 won, 0 lost." in shown
    markdown = tmp_path / "made" / "compared.md"
    command = ["compare", str(weak), str(good), "--json", "--folds", "--markdown", str(markdown)]
    assert main([*command, "--fail-under", "hit@5=0.9"]) == 1
    said = capsys.readouterr()
    assert "good: hit@5 is 0.833, under 0.9." in said.err
    data = json.loads(said.out)
    assert data["runs"] == ["weak", "good"]
    assert data["against"][0]["differences"]["hit@5"]["mean"] == pytest.approx(5 / 6)
    assert data["folds"]["means"] == pytest.approx([0, 5 / 6])
    assert data["fell_short"] == ["good: hit@5 is 0.833, under 0.9."]
    assert "| hit@5 | 0.000 | 0.833 | +0.833 [" in markdown.read_text(encoding="utf-8")


def test_the_folds_command_shows_both_figures(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    right = {"first": "012", "second": "34"}
    folders = [
        run_folder(
            tmp_path / name,
            [record(f"{company}", 1 if company in hits else None, group=company) for company in "01234"],
        )
        for name, hits in right.items()
    ]
    assert main(["folds", *map(str, folders), "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["runs"] == ["first", "second"]
    assert (data["in_sample"], data["cross_fold"]) == pytest.approx((0.6, 0.6))
    assert main(["folds", *map(str, folders), "--folds", "6"]) == 2
    assert (
        "5 groups of questions (companies, laws, contracts) cannot be divided into 6 folds" in capsys.readouterr().err
    )
    assert main(["folds", *map(str, folders), "--measure", "nothing"]) == 2
    assert "no question of these runs has the measure" in capsys.readouterr().err.lower()
