"""Where sentences end."""

from __future__ import annotations

import re
from itertools import pairwise

END = re.compile(r"[.!?؟।。！？](?:(?<=[。！？])(?=\s*\S)|(?=\s+[^\sa-z]))")
"""The end of a sentence before another, unless it is ``abbreviated``."""
_ABBREVIATED = re.compile(
    r"(?:\b(?:inc|corp|co|ltd|llc|plc|nos?|nr|vs|mr|ms|mrs|dr|st|fig|approx|etc|cf|jr|sr|art|abs|vgl|bzw|sec|pp?|[a-z])"
    r"|(?<![\d.,])\d{1,2})\.$",
    re.IGNORECASE,
)
_LONGEST = 12  # characters that tell an abbreviation


def abbreviated(text: str) -> bool:
    """Return whether the full stop that ends a text is that of an abbreviation, a list number or a day."""
    return _ABBREVIATED.search(text[-_LONGEST:]) is not None


def sentences(text: str) -> list[tuple[int, int]]:
    """Return the (start, end) of each sentence in order; together they are the whole text."""
    if not (ends := [end.end() for end in END.finditer(text)]):
        return [(0, len(text))]
    starts = [0, *(end for end in ends if not abbreviated(text[max(0, end - _LONGEST) : end])), len(text)]
    return [(start, end) for start, end in pairwise(starts) if end > start]


def first_sentence(text: str) -> str:
    """A text up to the end of its first sentence; all of it where there is one alone."""
    for end in END.finditer(text):
        if not abbreviated(text[: end.end()]):
            return text[: end.end()]
    return text
