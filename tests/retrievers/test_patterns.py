"""Patterns of expert files: many at once find what each finds alone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrievers import patterns
from retrievers.patterns import matching, pattern

WRITTEN = (r"\bnet (sales|revenues?)\b", "cap\\s?ex", "^what", "离婚|抚养费", r"(a|b)+c$", "é", r"\d{4}", "")
TEXTS = st.text(st.sampled_from("abc é离婚0123 \ud800"), max_size=40) | st.sampled_from(
    ["What is CapEx 2018", "NET  sales", "net Sales of 2018", "É", "离婚后抚养费怎么算", "whatabc"]
)


@given(TEXTS, st.permutations(WRITTEN))
def test_together_they_find_what_each_finds(text: str, written: list[str]) -> None:
    each = [pattern(one, "here") for one in written]
    assert matching(each, text) == [place for place, one in enumerate(each) if one.search(text)]


class OutOfMemory:
    def Match(self, text: bytes) -> None:  # noqa: N802 - as RE2 calls it
        """What RE2's sets say when they ran out of memory, and when nothing matches."""


def test_none_is_lost_where_they_have_no_room_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patterns, "_together", lambda written: OutOfMemory())
    assert matching([pattern("a", "here"), pattern("b", "here"), pattern("c", "here")], "cab"[:2]) == [0, 2]


def test_case_does_not_matter() -> None:
    assert pattern("ÉTÉ|straße", "here").search("Été")
    assert matching([], "anything") == []
