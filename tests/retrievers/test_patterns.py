"""Patterns of expert files: many at once find what each finds alone."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from retrievers.patterns import matching, pattern

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
