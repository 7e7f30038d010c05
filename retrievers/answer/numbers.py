"""The numbers of a text, and whether one stands there, as it is or rounded."""

from __future__ import annotations

import re
from collections.abc import Mapping

from hybrid_core.text import tokens as words

_NUMBER = re.compile(
    r"(?<![^\W\u3040-\uffff])(?<!\d[.,])\d+(?:,\d{3})*(?:\.\d+)?(?![^\W\u3040-\uffff])"
)  # not «3M», «Q2»
_SHIFTS = (0, 3, -3, 6, -6, 9, -9, 2, -2)  # thousands, millions, billions; percent
_TELLING_DIGITS = 3  # a number with fewer must stand there as it is


def numbers(text: str) -> dict[str, None]:
    """The numbers in a text in plain form («4,210.0» -> «4210»), in order."""
    return dict.fromkeys(words.number_term(match.group()) for match in _NUMBER.finditer(text))


def stands(number: str, there: Mapping[str, None]) -> bool:
    """Whether a number stands on a page as it is, or rounded and in thousands, millions, billions or percent."""
    if number in there:
        return True
    if len(number.replace(".", "").strip("0")) < _TELLING_DIGITS or number.count(".") > 1 or words.is_year(number):
        return False
    decimals = len(number.partition(".")[2])
    value = float(number)
    for other in there:
        if other.count(".") <= 1 and len(other) < 20:
            held = float(other)
            if any(round(held * 10.0**shift, decimals) == value for shift in _SHIFTS):
                return True
    return False
