"""A changed tree's flags and summaries: those of sections that stayed as they were, made anew for the others."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate

from hybrid_core.text import tokens
from hybrid_core.types.documents import Page, ParsedPage, Section
from indexers.build import summaries
from indexers.build.chunks import own_ranges
from indexers.build.flags import FLAGS, find_flags

_PARSED = frozenset({"has_code", "has_figure"})  # told by type faces and images, which are not stored
Span = tuple[int, int]


def finish(
    sections: Sequence[Section], before: Sequence[Section], pages: Sequence[Page], parsed: Sequence[ParsedPage]
) -> tuple[Section, ...]:
    """``before`` is the tree as it was. What only a parser can see of a section passes to the one that has most of
    its text.
    """
    texts = [page.text for page in pages]
    counts = [tokens.counts(tokens.tokenise(page)) for page in texts]
    said = summaries.summarise(texts, sections, counts, summaries.find_furniture(texts)).sections
    old = dict(zip(map(_key, before, _spans(before, pages)), before, strict=True))
    spans = _spans(sections, pages)
    passed = _passed(spans, before, pages)
    made = []
    for at, (section, flags) in enumerate(zip(sections, find_flags(sections, parsed), strict=True)):
        same = old.get(_key(section, spans[at]))
        if same is not None:
            made.append(replace(section, flags=same.flags, summary=same.summary or said[at], gaps=same.gaps))
        else:
            held = passed[at].union(flags)
            made.append(replace(section, flags=tuple(flag for flag in FLAGS if flag in held), summary=said[at]))
    return tuple(made)


def _key(section: Section, span: Span) -> tuple[str, Span, int, int | None]:
    return section.title, span, section.end_page, section.end_anchor


def _spans(sections: Sequence[Section], pages: Sequence[Page]) -> list[Span]:
    """Each section's own text as characters of the whole document."""
    starts = [0, *accumulate(len(page.text) for page in pages)]

    def at(page: int, anchor: int | None) -> int:
        return starts[page] if anchor is None else starts[page - 1] + anchor

    return [(at(*first), at(*last)) for _, first, last in own_ranges(sections)]


def _passed(spans: Sequence[Span], before: Sequence[Section], pages: Sequence[Page]) -> list[set[str]]:
    passed: list[set[str]] = [set() for _ in spans]
    ends = [end for _, end in spans]
    for section, (start, end) in zip(before, _spans(before, pages), strict=True):
        held = _PARSED.intersection(section.flags)
        at = bisect_left(ends, start + 1)
        while held and at < len(spans) and spans[at][0] < end:
            if 2 * (min(end, spans[at][1]) - max(start, spans[at][0])) > end - start:
                passed[at] |= held
            at += 1
    return passed
