"""Section summaries from those of their pages, where a model described the pages and none summarises sections."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import replace

from hybrid_core.types.documents import Page, Section

_CHARS = 480
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[\"'“(]?[^\Wa-z_])|(?<=[。！？])")


def compose(sections: Sequence[Section], pages: Sequence[Page], described: Collection[int]) -> tuple[Section, ...]:
    """Every section of which at least half of the whole pages were described gets the first sentences of their
    summaries, from its beginning to its end; the others keep what they have.

    Only pages that a section has for itself count: two sections on a page never get the same words from it.
    """
    return tuple(_composed(section, pages, described) for section in sections)


def _composed(section: Section, pages: Sequence[Page], described: Collection[int]) -> Section:
    first = section.start_page + (section.anchor > 0)
    last = section.end_page - (section.end_anchor is not None)
    whole = [pages[number - 1] for number in range(first, last + 1)]
    said = [_SENTENCE.split(page.summary.strip(), 1)[0] for page in whole if page.summary.strip()]
    if not said or 2 * sum(page.number in described for page in whole) < len(whole):
        return section
    return replace(section, summary=_spread(said))


def _spread(sentences: Sequence[str]) -> str:
    """As many sentences as fit, evenly over all; at least the first, shortened if need be."""
    for count in range(len(sentences), 0, -1):
        chosen = [sentences[at * len(sentences) // count] for at in range(count)]
        line = " ".join(dict.fromkeys(chosen))
        if len(line) <= _CHARS:
            return line
    return sentences[0][: _CHARS - 1].rstrip() + "…"
