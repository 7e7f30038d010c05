"""The estimate that a section tree has of its own quality."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hybrid_core.types.documents import Bookmark
from indexers.outline import heading_model
from indexers.outline.quality import KEY, SIGNS, is_low, quality
from indexers.outline.tree import TreeLimits, estimated_tree
from tests.indexers.outline.outline_pages import Sheet, document


def _numbered(sections: int = 8) -> list[Sheet]:
    sheets = [Sheet(1).head("The Yard Guide", 26)]
    sheets += [Sheet(at + 1).head(f"{at} Yard {'ABCDEFGHI'[at]}", 16).prose(24) for at in range(1, sections + 1)]
    return sheets


def _labels(pages: int = 9) -> list[Sheet]:
    """Bold lines of the size of the text, each another one, most with little below."""
    sheets = []
    for number in range(1, pages + 1):
        sheet = Sheet(number).prose(4)
        for at in range(5):
            sheet.row(f"{'Ropes Gates Sails Wages Carts'.split()[at]} of yard {number}", bold=True).prose(1 + at)
        sheets.append(sheet)
    return sheets


def test_a_tree_has_every_sign() -> None:
    sections, signs = estimated_tree(document(_numbered()), TreeLimits(50))
    by_name = dict(zip(SIGNS, signs, strict=True))
    assert sections and 0 < by_name["expected"] <= 1 and by_name["covered"] > 0.8
    assert by_name["depth"] == 1 and by_name["numbered"] > 0.8 and by_name["listed"] == 0


def test_clear_headings_are_estimated_higher_than_labels() -> None:
    _, clear = estimated_tree(document(_numbered()), TreeLimits(50))
    _, unclear = estimated_tree(document(_labels()), TreeLimits(50))
    assert 0 < quality(unclear) < quality(clear) < 1


@pytest.mark.parametrize(
    "told",
    [
        document(_numbered(), [Bookmark(1, f"{at} Yard {'ABCDEFGHI'[at]}", at + 1, 0.0) for at in range(1, 9)]),
        document([]),
    ],
)
def test_what_the_author_told_and_what_is_empty_has_no_signs(told: object) -> None:
    assert estimated_tree(told)[1] == ()  # type: ignore[arg-type]


def test_low_is_below_the_learned_bound_and_nothing_else() -> None:
    written = json.loads(Path(heading_model.__file__).with_name("headings.json").read_text(encoding="utf-8"))["quality"]
    assert set(written["weights"]) == set(SIGNS)
    assert is_low({KEY: written["low"] - 0.01}, 10) and not is_low({KEY: written["low"]}, 10)
    assert not is_low({}, 10) and not is_low({KEY: "low"}, 10) and not is_low({KEY: 0.1}, 3)
