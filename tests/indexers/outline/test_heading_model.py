"""The learned heading model: its evidence, how styles decide together, and titles as people write them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from indexers.outline import heading_model as model
from indexers.outline.heading import clean_title, continues
from indexers.outline.heading_model import FEATURES, style_numbers
from indexers.outline.merge import possible_headings
from indexers.outline.tree import TreeLimits, build_tree
from indexers.outline.view import view
from tests.indexers.outline.outline_pages import Sheet, document, outline_of

_NONE = model.BoostedTrees(np.zeros((0, 1), np.int64), np.zeros((0, 1)), np.zeros((0, 2)))


def _guide(sections: int = 6) -> list[Sheet]:
    sheets = [Sheet(1).head("The Yard Guide", 26)]
    sheets += [
        Sheet(at + 1).head(f"{at} Yard {'ABCDEFGH'[at]}", 16).prose(12).head(f"{at}.1 Ropes", 12).prose(12)
        for at in range(1, sections + 1)
    ]
    return sheets


def test_evidence_has_a_row_of_finite_features_for_each_possible_heading() -> None:
    possible = possible_headings([], view(document(_guide()).pages), 30)
    assert possible.evidence.shape == (len(possible.items), len(FEATURES)) and len(possible.items) >= 12
    assert np.isfinite(possible.evidence).all()
    sizes = dict(zip((item.heading.title for item in possible.items), possible.evidence[:, 0].tolist(), strict=True))
    assert sizes["1 Yard B"] == pytest.approx(1.6) and sizes["1.1 Ropes"] == pytest.approx(1.2)


def test_lines_of_one_style_have_one_number() -> None:
    items = possible_headings([], view(document(_guide()).pages), 30).items
    numbers = dict(zip((item.heading.title for item in items), style_numbers(items).tolist(), strict=True))
    assert numbers["1 Yard B"] == numbers["2 Yard C"] != numbers["1.1 Ropes"] == numbers["2.1 Ropes"]


def test_a_document_without_lines_that_stand_out_has_page_groups_alone() -> None:
    tree = build_tree(document(Sheet(n).prose(30) for n in range(1, 15)))
    assert outline_of(tree) == [] and tree


def test_without_trees_the_rules_decide() -> None:
    tree = outline_of(build_tree(document(_guide()), TreeLimits(50), trees=_NONE))
    assert [title for _, title, _ in tree if title.startswith(("1", "2"))] == [
        "1 Yard B", "1.1 Ropes", "2 Yard C", "2.1 Ropes",
    ]  # fmt: skip


def test_trees_add_the_leaf_that_their_questions_lead_to() -> None:
    trees = model.BoostedTrees(np.array([[0, 1]]), np.array([[0.5, 2.0]]), np.array([[1.0, 2.0, 3.0, 4.0]]))
    rows = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 3.0], [1.0, 3.0], [0.5, 2.0]])
    assert trees.scores(rows).tolist() == [1.0, 2.0, 3.0, 4.0, 1.0]


def test_the_lines_of_a_style_decide_together() -> None:
    values, likely = np.zeros((4, 1)), np.array([True, True, True, False])
    apart = model.likelihoods(_NONE, values, likely, np.array([0, 1, 2, 3]))
    together = model.likelihoods(_NONE, values, likely, np.array([0, 0, 0, 0]))
    assert apart[3] < together[3] < together[0] < apart[0]


@pytest.mark.parametrize(
    ("chances", "chosen"),
    [
        ([0.9, 0.9, 0.1], [True, True, False]),
        ([0.4, 0.3, 0.05], [True, True, False]),  # where all is doubtful, the likeliest are better than nothing
        ([0.99, 0.98, 0.97, 0.35], [True, True, True, False]),
        ([], []),
    ],
)
def test_the_bound_goes_by_what_the_document_makes_of_its_lines(chances: list[float], chosen: list[bool]) -> None:
    assert model.choose(np.array(chances)).tolist() == chosen


def test_the_shipped_model_says_what_it_learned_from() -> None:
    written = json.loads(Path(model.__file__).with_name("headings.json").read_text(encoding="utf-8"))
    assert {"bookmarks", "outlines", "hips"} <= set(written["learned"]["sets"])
    assert all(figures["held_out"]["f1"] > 0.7 for figures in written["learned"]["sets"].values())
    trees = model.heading_model()
    assert trees.leaves.shape == (len(written["trees"]), 2 ** trees.columns.shape[1])


def test_a_model_of_features_that_do_not_exist_is_refused() -> None:
    with pytest.raises(KeyError, match="luck"):
        model.read_trees({"trees": [{"features": ["luck"], "bounds": [0.5], "leaves": [0.0, 1.0]}]})


@pytest.mark.parametrize(
    ("written", "clean"),
    [
        ("C A M R Y  C O L O R S", "CAMRY COLORS"),
        ("E X H I B I T S", "EXHIBITS"),
        ("A B testing", "A B testing"),
        ("Management Overview Management Overview", "Management Overview"),
        ("Walla Walla", "Walla Walla"),
        ("1 Introduction . . . . . . . . 12", "1 Introduction"),
        ("Vorwort ........ iv", "Vorwort"),
        ("Figures for 2024", "Figures for 2024"),
        ("Einfüh- rung in die Physik", "Einführung in die Physik"),
        ("Short- and long-term debt", "Short- and long-term debt"),
        ("Vor- und Nachteile", "Vor- und Nachteile"),
        ("  2.1   Ropes ", "2.1 Ropes"),
    ],
)
def test_titles_are_written_as_people_write_them(written: str, clean: str) -> None:
    assert clean_title(written) == clean


@pytest.mark.parametrize(
    ("title", "earlier"),
    [
        ("Note 4 – Debt (continued)", "Note 4 – Debt"),
        ("Liquidity — Continued", "Liquidity"),
        ("Bilanz (Fortsetzung)", "Bilanz"),
        ("Ropes (cont’d)", "Ropes"),
        ("Continued operations", ""),
        ("Discontinued", ""),
        ("(continued)", ""),
    ],
)
def test_a_title_that_carries_another_on_says_which(title: str, earlier: str) -> None:
    assert continues(title) == earlier


def test_a_section_goes_on_under_its_title_without_beginning_anew() -> None:
    sheets = [Sheet(1).head("The Yard Report", 26).prose(6)]
    for at, name in enumerate(("Ropes and Cables", "Sails of Canvas", "Wages of Crews"), 1):
        sheets.append(Sheet(2 * at).head(name, 16).prose(20))
        sheets.append(Sheet(2 * at + 1).head(f"{name} (continued)", 16).prose(20))
    titles = [title for _, title, _ in outline_of(build_tree(document(sheets), TreeLimits(50)))]
    assert [title for title in titles if "continued" in title] == []
    assert {"Ropes and Cables", "Sails of Canvas", "Wages of Crews"} <= set(titles)
