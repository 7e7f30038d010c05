"""Where sentences end."""

from __future__ import annotations

import re

END = re.compile(r"[.!?](?=\s+[^\sa-z])|[。！？](?=.)")  # of one that another follows, unless it is ``abbreviated``
_ABBREVIATED = re.compile(
    r"(?:\b(?:inc|corp|co|ltd|llc|plc|no|nos|vs|mr|ms|mrs|dr|st|fig|approx|etc|cf|jr|sr|art|sec|pp?|[a-z])|\d)\.$",
    re.IGNORECASE,
)


def abbreviated(text: str) -> bool:
    """Whether the full stop that ends it is that of an abbreviation or of a number in a list."""
    return _ABBREVIATED.search(text) is not None


def first_sentence(text: str) -> str:
    """A text up to the end of its first sentence; all of it where there is one alone."""
    for end in END.finditer(text):
        if not abbreviated(text[: end.end()]):
            return text[: end.end()]
    return text
