"""Numbers in answers: their values with scale and sign, and whether two of them are the same figure."""

from __future__ import annotations

import re
from dataclasses import dataclass

from hybrid_core.text import tokens as words

_DIGITS = re.compile(r"(?<![^\W\u2e80-\uffff])(?<![\d.,])(?:\d{1,3}(?:,\d{3})+|\d+)?(?:\.\d+|(?<=\d))(?![\d]|[.,]\d)")
_SCALES = {
    "thousand": 3, "k": 3, "million": 6, "mn": 6, "mm": 6, "m": 6, "billion": 9, "bn": 9, "b": 9, "trillion": 12,
    "%": -2, "％": -2, "percent": -2, "per cent": -2, "percentage point": -2, "bp": -4, "basis point": -4,
    "千": 3, "万": 4, "百万": 6, "亿": 8, "十亿": 9, "万亿": 12,
}  # fmt: skip
"""Powers of ten; a plural's s is cut off."""
_UNITS = "|".join(re.escape(unit) for unit in sorted(_SCALES, key=len, reverse=True))
_UNIT = re.compile(rf"(?:[\s-](?=\w\w|[^a-z])|)({_UNITS})s?(?![a-z])", re.IGNORECASE)  # «5bn», but not «10-K» or «5 b»
_MINUS = re.compile(r"(?:^|[^\w)%])[-−–][$€£¥]?$")
_OPENED = re.compile(r"\([$€£¥]? ?$")
_ASKED = re.compile(rf"\bin (?:units of )?(?:US ?D? |U\.S\. )?(?:dollars? )?({_UNITS})s?\b", re.IGNORECASE)
_LETTERS, _MONEY = tuple("kmbKMB"), ("$", "€", "£", "¥")
_ABOUT = 0.01  # relative: figures that are so far apart are about the same
_SMALL = 10  # a number below it, without a word for its scale, is taken as it is
_ANY = (0, 3, -3, 6, -6, 9, -9)
_SHARES = (0, 2, -2)


@dataclass(frozen=True, slots=True)
class Figure:
    """``digits`` in plain form («4210», «8.7»); ``scale`` is a power of ten (6: millions, -2: percent), None where
    nothing says one.
    """

    digits: str
    scale: int | None = None
    negative: bool = False

    @property
    def decimals(self) -> int:
        return len(self.digits.partition(".")[2])

    @property
    def value(self) -> float:
        return float(self.digits) * (-1 if self.negative else 1)


def figures(said: str) -> list[Figure]:
    """The numbers of a text in order, but for years (1900 to 2099) and those in names («Q2», «10-K», «364-day»)."""
    found = []
    for match in _DIGITS.finditer(said):
        unit = _UNIT.match(said, match.end())
        if unit and unit[0] in _LETTERS and not said[: match.start()].rstrip().endswith(_MONEY):
            continue  # «$3m» is a sum, «3M» a name
        after = said[unit.end() if unit else match.end() :]
        if not unit and re.match(r"-?[^\W\d_]", after):
            continue
        digits = words.number_term(match[0] if match[0][0] != "." else f"0{match[0]}")
        if words.is_year(digits) and not unit and "," not in match[0] and "." not in match[0]:
            continue
        found.append(
            Figure(digits, _SCALES[unit[1].lower()] if unit else None, _negative(said[: match.start()], after))
        )
    return found


def _negative(before: str, after: str) -> bool:
    """A minus sign that joins no range («3-5»), or brackets around the number alone, as in accounts."""
    return bool(_MINUS.search(before)) or bool(_OPENED.search(before) and after.lstrip().startswith(")"))


def asked_scale(question: str) -> int | None:
    """The scale that a question wants its answer in («in USD millions»), None where it says none."""
    found = _ASKED.search(question)
    return _SCALES[found[1].lower()] if found else None


def same(gold: Figure, said: Figure, asked: int | None) -> bool:
    """Whether an answer's number is the gold's: equal once both have one scale, or equal when rounded as the gold is.

    A number without a scale is in the one that the question asks for; where that says none, any usual one may be meant.
    """
    for shift in _shifts(gold, said, asked):
        apart = abs(said.value * 10.0**shift - gold.value)
        finer = said.decimals - shift > gold.decimals
        if apart <= 1e-9 * abs(gold.value) or (finer and apart <= 0.5000001 * 10.0**-gold.decimals):
            return bool(said.value) or not gold.value
    return False


def near(gold: Figure, said: Figure, asked: int | None) -> bool:
    """Whether it is about the gold's: within one percent, also of the other sign."""
    wanted, held = abs(gold.value), abs(said.value)
    return any(abs(held * 10.0**shift - wanted) <= _ABOUT * wanted for shift in _shifts(gold, said, asked))


def _shifts(gold: Figure, said: Figure, asked: int | None) -> tuple[int, ...]:
    """By what powers of ten the answer's number may be moved to stand beside the gold's."""
    left = asked if gold.scale is None else gold.scale
    right = asked if said.scale is None else said.scale
    if left is not None and right is not None:
        return (right - left,)
    if -2 in (left, right):
        return _SHARES
    if left is None and right is None and min(abs(gold.value), abs(said.value)) < _SMALL:
        return _SHARES if (abs(gold.value) < 1) != (abs(said.value) < 1) else (0,)
    return _ANY
