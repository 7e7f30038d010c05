"""Judge answers without a model: by numbers, by yes or no, and by the reference's words.

The rules cannot detect a contradiction beside the right figure, or the same fact in other words. They are compared with
the judging model, and replace it if there is none.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass

from eval.records.questions import Verdict
from hybrid_core.text import tokens as words

_DIGITS = re.compile(r"(?<![^\W\u2e80-\uffff])(?<![\d.,])(?:\d{1,3}(?:,\d{3})+|\d+)?(?:\.\d+|(?<=\d))(?![\d]|[.,]\d)")
_SCALES = {
    "thousand": 3, "k": 3, "million": 6, "mn": 6, "mm": 6, "m": 6, "billion": 9, "bn": 9, "b": 9, "trillion": 12,
    "%": -2, "％": -2, "percent": -2, "per cent": -2, "percentage point": -2, "bp": -4, "basis point": -4,
    "千": 3, "万": 4, "百万": 6, "亿": 8, "十亿": 9, "万亿": 12,
}  # fmt: skip
"""Scales as powers of ten. The s of a plural is removed before the look-up."""
_UNITS = "|".join(re.escape(unit) for unit in sorted(_SCALES, key=len, reverse=True))
_UNIT = re.compile(rf"(?:[\s-](?=\w\w|[^a-z])|)({_UNITS})s?(?![a-z])", re.IGNORECASE)  # "5bn", but not "10-K" or "5 b"
_MINUS = re.compile(r"(?:^|[^\w)%])[-−–][$€£¥]?$")
_OPEN_BRACKET = re.compile(r"\([$€£¥]? ?$")
_REQUESTED_UNIT = re.compile(rf"\bin (?:units of )?(?:US ?D? |U\.S\. )?(?:dollars? )?({_UNITS})s?\b", re.IGNORECASE)
_LETTERS, _MONEY = tuple("kmbKMB"), ("$", "€", "£", "¥")
_TOLERANCE = 0.01  # relative difference below which figures are nearly equal
_SMALL = 10  # a smaller number without a scale is taken literally
_ANY = (0, 3, -3, 6, -6, 9, -9)
_SHARES = (0, 2, -2)


@dataclass(frozen=True, slots=True)
class Figure:
    """A number in a text.

    ``digits`` are in plain form ("4210", "8.7"). ``scale`` is a power of ten (6 for millions, -2 for percent), None if
    unknown.
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


def figures(text: str) -> list[Figure]:
    """Return the numbers of a text in order.

    Years (1900 to 2099) and numbers in names ("Q2", "10-K", "364-day") are left out.
    """
    results = []
    for match in _DIGITS.finditer(text):
        unit = _UNIT.match(text, match.end())
        if unit and unit[0] in _LETTERS and not text[: match.start()].rstrip().endswith(_MONEY):
            continue  # "$3m" is an amount, "3M" a name
        after = text[unit.end() if unit else match.end() :]
        if not unit and re.match(r"-?[^\W\d_]", after):
            continue
        digits = words.number_term(match[0] if match[0][0] != "." else f"0{match[0]}")
        if words.is_year(digits) and not unit and "," not in match[0] and "." not in match[0]:
            continue
        results.append(
            Figure(digits, _SCALES[unit[1].lower()] if unit else None, _negative(text[: match.start()], after))
        )
    return results


def _negative(before: str, after: str) -> bool:
    """Return whether a number is negative: after a minus sign, or in brackets as in accounts.

    The minus sign of a range ("3-5") does not count.
    """
    return bool(_MINUS.search(before)) or bool(_OPEN_BRACKET.search(before) and after.lstrip().startswith(")"))


def asked_scale(question: str) -> int | None:
    """Return the scale that a question asks for as a power of ten, None if it names none.

    "in USD millions" gives 6.
    """
    match = _REQUESTED_UNIT.search(question)
    return _SCALES[match[1].lower()] if match else None


def same(gold: Figure, stated: Figure, scale: int | None) -> bool:
    """Return whether an answer's number (``stated``) equals the gold number.

    It may be in another scale or have more decimals. A number without a scale has the requested ``scale``; if that is
    None, any usual scale may be meant.
    """
    for shift in _shifts(gold, stated, scale):
        apart = abs(stated.value * 10.0**shift - gold.value)
        finer = stated.decimals - shift > gold.decimals
        if apart <= 1e-9 * abs(gold.value) or (finer and apart <= 0.5000001 * 10.0**-gold.decimals):
            return bool(stated.value) or not gold.value
    return False


def near(gold: Figure, stated: Figure, scale: int | None) -> bool:
    """Return whether an answer's number is within one percent of the gold number, in absolute value."""
    expected, actual = abs(gold.value), abs(stated.value)
    return any(abs(actual * 10.0**shift - expected) <= _TOLERANCE * expected for shift in _shifts(gold, stated, scale))


def _shifts(gold: Figure, stated: Figure, scale: int | None) -> tuple[int, ...]:
    """Return possible powers of ten between the scales of an answer's number and the gold number."""
    left = scale if gold.scale is None else gold.scale
    right = scale if stated.scale is None else stated.scale
    if left is not None and right is not None:
        return (right - left,)
    if -2 in (left, right):
        return _SHARES
    if left is None and right is None and min(abs(gold.value), abs(stated.value)) < _SMALL:
        return _SHARES if (abs(gold.value) < 1) != (abs(stated.value) < 1) else (0,)
    return _ANY


CITATION = re.compile(r"\s*\[\[source:\d+\]\]")
MOST, HALF = 0.7, 0.4
"""The shares of the reference's words that an answer must contain to be right, and to be partly right."""
_YES, _NO = (
    re.compile(r"\W*(?:yes\b|是|有|可以|能)", re.IGNORECASE),
    re.compile(r"\W*(?:no\b(?!\.\s?\d)|not\b|否|不|没有)", re.IGNORECASE),
)
_SHORT = 8  # maximum terms of a reference with a number that states only that number


def judge_by_rules(question: str, reference: str, answer: str) -> Verdict:
    """Return the verdict on an answer by its reference answer. Citations are ignored.

    Yes or no must agree. Then the answer must contain every number of the reference that is not in the question. If
    there is no such number, or the reference says more, the words of the reference count. Words of the question do not.
    """
    plain_answer, reference = CITATION.sub("", answer), _plain_list(reference)
    expected, actual = _polarity(reference), _polarity(plain_answer)
    if expected and actual and expected != actual:
        return "wrong"
    verdict = _by_facts(question, reference, plain_answer)
    if expected:
        if not actual:  # the answer may express it in other words, which must agree
            return verdict if verdict == "wrong" else "partly"
        return "right" if _only_polarity(reference) else max(verdict, "partly", key=_worth)
    return verdict


def _by_facts(question: str, reference: str, answer: str) -> Verdict:
    if words.fold(reference).strip(" .") and _contains(answer, reference):
        return "right"
    scale = asked_scale(question)
    question_figures = figures(question)
    gold = [figure for figure in figures(reference) if not _in(figure, question_figures)]
    by_words = _by_words(question, reference, answer)
    if not gold:
        return by_words
    answer_figures = figures(answer)
    matched = sum(any(same(figure, other, scale) for other in answer_figures) for figure in gold)
    about = sum(
        any(same(figure, other, scale) or near(figure, other, scale) for other in answer_figures) for figure in gold
    )
    by_numbers: Verdict = "right" if matched == len(gold) else "partly" if 2 * about >= len(gold) else "wrong"
    if len(words.tokenise(reference)) <= _SHORT or by_numbers == "wrong":
        return by_numbers
    return min(by_numbers, "partly" if by_words == "wrong" else "right", key=_worth)


def _in(figure: Figure, others: list[Figure]) -> bool:
    return any(figure.digits == other.digits for other in others)


def _by_words(question: str, reference: str, answer: str) -> Verdict:
    """Return the verdict on an answer by the share of the reference's terms that it contains.

    Terms of the question do not count, unless the reference has no others.
    """
    terms, question_terms = set(words.tokenise(reference)), set(words.tokenise(question))
    new = {term for term in terms - question_terms if not term[0].isdigit()} or terms
    if not new:
        return "wrong"
    share = len(new & set(words.tokenise(answer))) / len(new)
    return "right" if share >= MOST else "partly" if share >= HALF else "wrong"


def _polarity(text: str) -> str:
    """Return "yes" or "no" if a text begins with it, else ""."""
    return "yes" if _YES.match(text) else "no" if _NO.match(text) else ""


def _only_polarity(reference: str) -> bool:
    return len(words.tokenise(_YES.sub("", _NO.sub("", reference, count=1), count=1))) == 0


def _contains(answer: str, reference: str) -> bool:
    """Return whether an answer contains the reference literally, word for word.

    Return False for a reference with only numbers.
    """
    letters = words.tokenise(reference)
    if not letters or all(term[0].isdigit() for term in letters):
        return False
    return f" {' '.join(letters)} " in f" {' '.join(words.tokenise(answer))} "


def _plain_list(reference: str) -> str:
    """Return the items of a reference that is a Python list as plain text, others unchanged."""
    if reference.startswith("[") and reference.endswith("]"):
        try:
            items = ast.literal_eval(reference)
        except (ValueError, SyntaxError):
            return reference
        return ", ".join(map(str, items)) if isinstance(items, list) else reference
    return reference


def _worth(verdict: Verdict) -> int:
    return ("wrong", "partly", "right").index(verdict)
