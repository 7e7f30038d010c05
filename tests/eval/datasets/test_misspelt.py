"""Slips in a set's questions."""

from __future__ import annotations

import random
from pathlib import Path

from eval.datasets.variants import misspell, misspelt
from eval.records.questions import Dataset, EvalQuestion


def test_a_seed_decides_which_words_have_a_slip() -> None:
    question = EvalQuestion("q", "How large was the goodwill of Lumen in 2018?", ())
    dataset = Dataset("d", (Path("a.pdf"),), (question,))
    once, again, other = (misspelt(dataset, 1, seed).questions[0].text for seed in (1, 1, 2))
    assert once == again != other
    changed = [(a, b) for a, b in zip(question.text.split(), once.split(), strict=True) if a != b]
    assert len(changed) == 1
    assert changed[0][0][0] == changed[0][1][0]


def test_short_words_numbers_and_other_scripts_stay() -> None:
    assert misspell("FY18 net 2,018 刑法第133条", 2, random.Random(0)) == "FY18 net 2,018 刑法第133条"
