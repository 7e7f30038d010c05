"""Patterns of expert files: many at once find what each finds alone."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid_core.errors import UsageError
from retrievers.query.expert import matching, pattern

WRITTEN = (r"\bnet (sales|revenues?)\b", "cap\\s?ex", "^what", "离婚|抚养费", r"(a|b)+c$", "é", r"\d{4}", "")
TEXTS = st.text(st.sampled_from("abc é离婚0123 \ud800"), max_size=40) | st.sampled_from(
    ["What is CapEx 2018", "NET  sales", "net Sales of 2018", "É", "离婚后抚养费怎么算", "whatabc"]
)


@given(TEXTS, st.permutations(WRITTEN))
def test_together_they_find_what_each_finds(text: str, written: list[str]) -> None:
    each = [pattern(one, "here") for one in written]
    assert matching(each, text) == [place for place, one in enumerate(each) if one.search(text)]


def test_case_does_not_matter() -> None:
    assert pattern("ÉTÉ|straße", "here").search("Été")
    assert matching([], "anything") == []


@pytest.mark.parametrize(
    ("written", "text", "found"),
    [
        ("venue", "What was the total revenue?", False),
        ("venue", "the Venue, then", True),
        ("options?", "adoption", False),
        ("options?", "an optional part", False),
        ("option\\w*", "an optional part", True),
        ("a|buy", "Buying", False),
        ("union", "une réunion", False),  # an accented letter is a letter
        ("reunion", "reunión", False),
        ("союз", "союзник", False),
        ("%|percent", "20% of it", True),
        ("^what", "Whatever", False),
        ("离婚", "我5G离婚A", True),  # Chinese has no spaces: nothing is asked of what stands beside a match
        ("qq号", "我的QQ号丢了", True),
        ("ai", "怎么用AI画画", True),
        ("ai", "a chain", False),
        ("70年", "170年", False),
    ],
)
def test_patterns_are_of_whole_words(written: str, text: str, found: bool) -> None:
    one = pattern(written, "here")
    assert one.search(text) is found
    assert matching([one], text) == ([0] if found else [])


def test_brackets_must_be_the_patterns_own() -> None:
    with pytest.raises(UsageError, match="here has an invalid regular expression"):
        pattern("a)|(b", "here")


@given(st.sampled_from(["venue", "net (sales|income)", "options?"]), st.text("abz é年3_- ", max_size=8))
def test_a_match_is_never_within_a_word(written: str, beside: str) -> None:
    word = {"venue": "venue", "net (sales|income)": "net sales", "options?": "option"}[written]
    before, after = beside[-1:], beside[:1]
    parted = not (re.match(r"[a-z\d_é]", before) or re.match(r"[a-z\d_é]", after))
    assert pattern(written, "here").search(f"{beside}{word}{beside}") is parted
