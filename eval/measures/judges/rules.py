"""A judge without a model: numbers with their scale, yes and no, and how much of the reference's words is said.

It cannot see a contradiction beside the right figure, nor the same fact in other words: what it says is a check on the
model that judges, and the figure where there is none.
"""

from __future__ import annotations

import ast
import re

from eval.measures.judges.numbers import Figure, asked_scale, figures, near, same
from eval.records.answers import Verdict
from hybrid_core.text import tokens as words

CITATION = re.compile(r"\s*\[\[source:\d+\]\]")
MOST, HALF = 0.7, 0.4
"""Shares of the reference's words that an answer must say to be right, and to be partly right."""
_YES, _NO = (
    re.compile(r"\W*(?:yes\b|是|有|可以|能)", re.IGNORECASE),
    re.compile(r"\W*(?:no\b(?!\.\s?\d)|not\b|否|不|没有)", re.IGNORECASE),
)
_SHORT = 8  # terms: a reference of so few and a number says that number and nothing else


def judge_by_rules(question: str, reference: str, answer: str) -> Verdict:
    """What an answer is worth beside the reference answer; citations in it do not count.

    A yes or no must be the same. Then every number of the reference that the question does not hold must stand in the
    answer, where there are any and they are what the reference says; otherwise its words, but for the question's own.
    """
    said, reference = CITATION.sub("", answer), _plain_list(reference)
    wanted, given = _polarity(reference), _polarity(said)
    if wanted and given and wanted != given:
        return "wrong"
    verdict = _said(question, reference, said)
    if wanted:
        if not given:  # it may say so in other words: the rest must then bear it out
            return verdict if verdict == "wrong" else "partly"
        return "right" if _only_polarity(reference) else max(verdict, "partly", key=_worth)
    return verdict


def _said(question: str, reference: str, said: str) -> Verdict:
    if words.fold(reference).strip(" .") and _contains(said, reference):
        return "right"
    asked = asked_scale(question)
    held = figures(question)
    gold = [figure for figure in figures(reference) if not _in(figure, held)]
    by_words = _by_words(question, reference, said)
    if not gold:
        return by_words
    there = figures(said)
    found = sum(any(same(figure, other, asked) for other in there) for figure in gold)
    about = sum(any(same(figure, other, asked) or near(figure, other, asked) for other in there) for figure in gold)
    by_numbers: Verdict = "right" if found == len(gold) else "partly" if 2 * about >= len(gold) else "wrong"
    if len(words.tokenise(reference)) <= _SHORT or by_numbers == "wrong":
        return by_numbers
    return min(by_numbers, "partly" if by_words == "wrong" else "right", key=_worth)


def _in(figure: Figure, held: list[Figure]) -> bool:
    return any(figure.digits == other.digits for other in held)


def _by_words(question: str, reference: str, said: str) -> Verdict:
    """By the share of the reference's terms that the answer says, without those of the question if others remain."""
    terms, asked = set(words.tokenise(reference)), set(words.tokenise(question))
    new = {term for term in terms - asked if not term[0].isdigit()} or terms
    if not new:
        return "wrong"
    share = len(new & set(words.tokenise(said))) / len(new)
    return "right" if share >= MOST else "partly" if share >= HALF else "wrong"


def _polarity(said: str) -> str:
    """ "yes", "no", or "" where a text does not begin with either."""
    return "yes" if _YES.match(said) else "no" if _NO.match(said) else ""


def _only_polarity(reference: str) -> bool:
    return len(words.tokenise(_YES.sub("", _NO.sub("", reference, count=1), count=1))) == 0


def _contains(said: str, reference: str) -> bool:
    """Whether the reference stands in the answer word by word; one of numbers alone is not compared so."""
    letters = words.tokenise(reference)
    if not letters or all(term[0].isdigit() for term in letters):
        return False
    return f" {' '.join(letters)} " in f" {' '.join(words.tokenise(said))} "


def _plain_list(reference: str) -> str:
    """The items of a list that is written as Python text, as some sets have them."""
    if reference.startswith("[") and reference.endswith("]"):
        try:
            found = ast.literal_eval(reference)
        except (ValueError, SyntaxError):
            return reference
        return ", ".join(map(str, found)) if isinstance(found, list) else reference
    return reference


def _worth(verdict: Verdict) -> int:
    return ("wrong", "partly", "right").index(verdict)
