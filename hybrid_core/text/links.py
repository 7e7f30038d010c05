"""Links in Markdown: what a reader sees of them, without their targets."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from itertools import accumulate, pairwise

_TITLE = r"""(?:[ \t]+(?:"[^"\n]{0,500}"|'[^'\n]{0,500}'|\([^()\n]{0,500}\)))"""
_TARGET = r"(?:<[^<>\n]{0,2000}>|[^\s()<>]{0,2000}(?:\([^\s()<>]{0,500}\)[^\s()<>]{0,2000}){0,4})"
_TEXT = (
    r"[^\[\]]{0,500}(?:\[[^\[\]]{0,500}\](?:\([^\s()]{0,2000}\))?[^\[\]]{0,500}){0,3}"  # with links or pictures in it
)
_LINK = re.compile(rf"(?<![\w)\]])(!?\[)(?={_TEXT}(\]\([ \t]*{_TARGET}{_TITLE}?[ \t]*\)))")
_END = re.compile(  # of a link whose text holds brackets; code such as table[key](event) is none
    rf"\]\((?:(?=[^\s()]{{0,2000}}(?:[/#:]|\.[^\W\d_]{{2,5}}\b))|(?=<)){_TARGET}{_TITLE}?[ \t]*\)"
)
_DEFINITION = re.compile(
    rf"^[ \t]{{0,3}}\[[^\]\[^\n][^\]\[\n]{{0,300}}\]:[ \t]*(?:<[^<>\n]{{0,2000}}>|(?=\S*[/#.:])\S{{1,2000}})"
    rf"{_TITLE}?[ \t]*$",
    re.MULTILINE,
)
Spans = Sequence[tuple[int, int]]


def has_links(text: str) -> bool:
    """Return False where a text surely holds no links: a cheap test."""
    return "](" in text or "]:" in text


def hidden(text: str) -> list[tuple[int, int]]:
    """Return the (start, end) of all markup and targets of links in order; line ends are never among them."""
    if not has_links(text):
        return []
    spans = [match.span() for match in _DEFINITION.finditer(text)]
    for match in _LINK.finditer(text):
        spans += [match.span(1), match.span(2)]
    spans += [match.span() for match in _END.finditer(text)]
    apart: list[tuple[int, int]] = []
    for start, end in sorted(set(spans)):
        if not apart or start >= apart[-1][1]:
            apart.append((start, end))
    return apart


def visible(text: str, spans: Spans | None = None) -> str:
    """Return a text without what is ``hidden`` in it; it has as many lines as before."""
    spans = hidden(text) if spans is None else spans
    if not spans:
        return text
    edges = [0, *(edge for span in spans for edge in span), len(text)]
    return "".join(text[start:end] for start, end in list(pairwise(edges))[::2])


class Offsets:
    """From places in a visible text to those in its source."""

    def __init__(self, spans: Spans) -> None:
        gone = [0, *accumulate(end - start for start, end in spans)]
        self._starts = [start - before for (start, _), before in zip(spans, gone, strict=False)]
        self._gone = gone

    def source(self, place: int) -> int:
        """Return the place of a visible character in the source, before what is hidden in front of it."""
        return place + self._gone[bisect_left(self._starts, place)]
