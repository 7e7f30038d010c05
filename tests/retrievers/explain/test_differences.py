"""A draft and its final form are told apart by what differs."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from hybrid_pageindex import Engine, run
from retrievers.explain.receipts import differences

_TEXT = "# Offer\n\nThe harbour offers to mend the {what} for {sum} euros before {when}. " + (
    "Stones, planks and ropes are brought by boat, and twelve masons work on the quay in two shifts. " * 12
)


def test_differences_are_few_and_short() -> None:
    assert differences("a b c d", "a  b c d") == ""
    assert differences("pay 300 euros now", "pay 400 euros") == "'400' for '300', 'now' missing"
    assert differences("a x b y c z d", "a 1 b 2 c 3 d").endswith(" and 1 more")


@pytest.mark.parametrize(("separator", "vocabulary"), [(" ", "mill toll ferry"), ("\n", "0 1"), ("\n", "a0 a1 b0")])
def test_texts_of_few_words_are_told_apart_at_once(separator: str, vocabulary: str) -> None:
    """Word by word, the comparison of such texts takes up to a second, and a search compares dozens."""
    chance = random.Random(1)
    head, tail = "# Tide table", "The end."
    before, after = (separator.join(chance.choices(vocabulary.split(), k=2_000)) for _ in range(2))
    listed = differences(f"{head}\nx {before}\n{tail}", f"{head}\ny {after}\n{tail}")
    assert listed.startswith("'y ") and "' for 'x " in listed and " more" not in listed
    assert differences(f"{head}\n{before}", f"{head}\n{before}") == ""


def test_a_copy_that_differs_in_a_word_says_so(engine: Engine, tmp_path: Path) -> None:
    texts = {
        "draft": _TEXT.format(what="pier", sum="3,900", when="May"),
        "final": _TEXT.format(what="pier", sum="4,200", when="May"),
        "other": _TEXT.format(what="lighthouse", sum="880", when="winter")
        + "The lamp room and its stairs follow. " * 3,
    }
    for name, text in texts.items():
        (tmp_path / f"{name}.md").write_text(text)
    run(engine.index([tmp_path / f"{name}.md" for name in texts]))
    found = run(engine.search("What does the harbour offer to mend the pier for?")).results
    told = " ".join([*(copy for one in found for copy in one.also_in), *(one.near for one in found)])
    assert "'4,200' for '3,900'" in told or "'3,900' for '4,200'" in told
    other = next(one for one in found if one.doc_name == "other.md")
    assert other.near.startswith(("draft.md, page 1: ", "final.md, page 1: "))
    assert "lighthouse" in other.near
