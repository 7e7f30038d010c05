"""Figures that a text states in whole sentences, and the question that such a sentence answers."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import log10

from hybrid_core.text.names import has_cjk
from hybrid_core.text.tokens import STOP_WORDS
from hybrid_core.types.documents import Page

_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z])|(?<=[。！？])")
_AMOUNT = re.compile(
    r"[$€£¥]\s?\d[\d.,]*(?:\s(?:thousand|million|billion|trillion))?"
    r"|\d[\d.,]*\s?(?:%|percent|per cent|thousand|million|billion|trillion|[一-鿿]?元|万|亿|％)"
)
_WORD = re.compile(r"[^\W\d_]{3,}")
_NUMBER = re.compile(r"\d[\d.,]*")
_STATES = re.compile(
    r"^(?P<subject>(?:(?:The|Our|Total|Net) )?[A-Z]?[\w'’&-]*(?: [\w'’&.,-]+){0,10}?) "
    r"(?P<verb>was|were|is|are|totalled|totaled|reached|amounted to)(?: (?:about|approximately|roughly|nearly))? "
    r"(?P<amount>[$€£¥]?\d)"
)
_POINTS_BACK = re.compile(
    r"^(?:it|its|this|that|these|those|they|their|there|he|she|we|i|which|what|both|each)\b", re.I
)
_SHORTEST, _LONGEST = 24, 220  # characters of a sentence
_NUMBERS = 6  # in a sentence; more are a row of a table
_SUBJECT = 80  # characters


@dataclass(frozen=True, slots=True)
class Figure:
    """A sentence that states an amount, as it stands on a page."""

    text: str
    page: int
    question: str = ""  # what it answers, where its words tell


def figures(pages: Sequence[Page], most: int) -> list[Figure]:
    """Sentences that state an amount, no two of a page, in the order of their pages: those first that are short, and
    about what the pages speak of most.
    """
    spoken = Counter(word for page in pages for word in _words(page.text))
    best: dict[int, tuple[float, Figure]] = {}
    for page in pages:
        for sentence in _sentences(page.text):
            if (weight := _plainness(sentence)) > 0:
                found = Figure(sentence, page.number, question_of(sentence))
                weight += _centrality(found.question or sentence, spoken) + bool(found.question)
                if page.number not in best or weight > best[page.number][0]:
                    best[page.number] = (weight, found)
    chosen = sorted(best.values(), key=lambda one: -one[0])[:most]
    return sorted((figure for _, figure in chosen), key=lambda one: one.page)


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())


def _centrality(text: str, spoken: Counter[str]) -> float:
    """From 0: how often the pages say its words."""
    words = set(_words(text)) - STOP_WORDS
    return sum(log10(1 + spoken[word]) for word in words) / len(words) if words else 0.0


def question_of(sentence: str) -> str:
    """What a sentence such as «Net sales in 2025 were $418.2 million.» answers; "" where its words do not tell."""
    stated = _STATES.match(sentence)
    if not stated or len(stated["subject"]) > _SUBJECT or _POINTS_BACK.match(stated["subject"]):
        return ""
    first, _, rest = stated["subject"].partition(" ")
    plain = first.lower() if first.isalpha() and not first.isupper() and rest and not rest[0].isupper() else first
    verb = stated["verb"] if stated["verb"] in ("were", "is", "are") else "was"
    return f"What {verb} {f'{plain} {rest}'.strip()}?"


def _sentences(text: str) -> Iterator[str]:
    for paragraph in re.split(r"\n\s*\n", text):
        joined = " ".join(paragraph.split())
        for sentence in _SENTENCE.split(joined):
            if len(sentence) * (2 if has_cjk(sentence) else 1) >= _SHORTEST and len(sentence) <= _LONGEST:
                yield sentence.strip()


def _plainness(sentence: str) -> float:
    """0 for none; more for fewer words around its amounts."""
    if sentence[-1:] not in ".。" or len(_NUMBER.findall(sentence)) > _NUMBERS or not _AMOUNT.search(sentence):
        return 0.0
    if not (sentence[0].isupper() or has_cjk(sentence[0])):
        return 0.0
    return 1.0 + 1.0 / (1 + len(sentence) / 80)
