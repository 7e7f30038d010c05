"""Sentences of a text, the language it is written in, counted nouns ("1 page", "2 pages") and ranges of numbers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise

END = re.compile(r"[.!?؟।。！？](?:(?<=[。！？])(?=\s*\S)|(?=\s+[^\sa-z]))")
"""The end of a sentence before another one. Check ``abbreviated`` as well."""
_ABBREVIATION_END = re.compile(
    r"(?:\b(?:inc|corp|co|ltd|llc|plc|nos?|nr|vs|mr|ms|mrs|dr|st|fig|approx|etc|cf|jr|sr|art|abs|vgl|bzw|sec|pp?|[a-z])"
    r"|(?<![\d.,])\d{1,2})\.$",
    re.IGNORECASE,
)
_LONGEST_ABBREVIATION = 12  # characters that tell an abbreviation


def abbreviated(text: str) -> bool:
    """Return whether the full stop at the end of a text ends no sentence.

    It belongs to an abbreviation ("Inc."), or to the number of a list entry or a day ("12.").
    """
    return _ABBREVIATION_END.search(text[-_LONGEST_ABBREVIATION:]) is not None


def sentences(text: str) -> list[tuple[int, int]]:
    """Return the (start, end) of each sentence in order. Together they cover the whole text."""
    if not (ends := [end.end() for end in END.finditer(text)]):
        return [(0, len(text))]
    starts = [0, *(end for end in ends if not abbreviated(text[max(0, end - _LONGEST_ABBREVIATION) : end])), len(text)]
    return [(start, end) for start, end in pairwise(starts) if end > start]


def first_sentence(text: str) -> str:
    """Return a text up to the end of its first sentence."""
    for end in END.finditer(text):
        if not abbreviated(text[: end.end()]):
            return text[: end.end()]
    return text


_WORDS = {
    "English": "the a an of and to in is no that for it with as was on are be by this which or from at not have do does"
    " how what can you i your my when where who why if will did has there",
    "German": "der die und das ist den von zu mit des auf für dem nicht ein eine im sich werden wird als auch wie oder"
    " in was wer wann welche welcher welches hat kann wenn bei nach an unter einer einem einen zum zur über wo"
    " warum worauf es",
    "French": "le la les des et est un une que dans pour qui sur par au du pas avec sont ne ce cette quel quelle où"
    " il a quand comment en de à",
    "Spanish": "el la los las de y en que es por un una con para del se su al como más qué cómo cuál cuándo quién no",
    "Italian": "il di che è e la per un una con del della non sono gli nel si da alla in quale chi quando come",
    "Portuguese": "o os a as das de e que em um uma para com não do da na no por mais são qual quando quem como",
    "Turkish": "ve bir bu ne için ile olan da de hangi nedir kaç en çok nasıl mi kim",
    "Dutch": "de het een van en is dat op te voor met zijn niet aan er ook bij in wat wie welke hoe wanneer",
}  # fmt: skip
_SCRIPTS = (
    ("Japanese", re.compile("[\u3040-\u30ff]")), ("Korean", re.compile("[\uac00-\ud7af]")),
    ("Chinese", re.compile("[\u3400-\u9fff]")), ("Russian", re.compile("[\u0400-\u04ff]")),
    ("Greek", re.compile("[\u0370-\u03ff]")), ("Arabic", re.compile("[\u0600-\u06ff]")),
    ("Hebrew", re.compile("[\u0590-\u05ff]")), ("Thai", re.compile("[\u0e00-\u0e7f]")),
    ("Hindi", re.compile("[\u0900-\u097f]")),
)  # fmt: skip
_OF = {word: [name for name, words in _WORDS.items() if word in words.split()] for words in _WORDS.values()
       for word in words.split()}  # fmt: skip
_SHARE = 0.25  # minimum share of a text's letters in a script, to assign the text to its language
_LEAD = 1.5  # times as many words as of the next language
_SAMPLE = 2000  # characters that are looked at


def language_of(text: str) -> str:
    """Return the English name of a text's language, "" if it is uncertain."""
    text = text[:_SAMPLE]
    letters = sum(map(str.isalpha, text))
    for name, script in _SCRIPTS:
        if letters and len(script.findall(text)) >= _SHARE * letters:
            return name
    counts: dict[str, float] = {}
    for word in re.findall(r"[^\W\d_]+", text.casefold()):
        for name in (languages := _OF.get(word, ())):
            counts[name] = counts.get(name, 0.0) + 1 / len(languages)
    best = sorted(counts.items(), key=lambda entry: -entry[1])[:2]
    if not best or best[0][1] < 1 or (len(best) > 1 and best[0][1] < _LEAD * best[1][1]):
        return ""
    return best[0][0]


def common(word: str, language: str) -> bool:
    """Return whether a word is one of the most common words of a language, which are never names."""
    return language in _OF.get(word.casefold(), ())


def common_language(texts: Iterable[str]) -> str:
    """Return the language of more than half of several texts, "" if there is none."""
    languages = [language_of(text) for text in texts]
    best = max(filter(None, languages), key=languages.count, default="")
    return best if 2 * languages.count(best) > len(languages) else ""


def counted(number: int, singular: str, plural: str = "") -> str:
    """Return a number with its noun in the singular or plural (default: an added s)."""
    return f"{number} {singular if number == 1 else plural or singular + 's'}"


def ranges(numbers: Sequence[int]) -> str:
    """Return ascending numbers as a text of ranges: ``[1, 2, 3, 7]`` gives ``1-3, 7``. A long text is cut."""
    spans: list[list[int]] = []
    for number in numbers:
        if spans and number == spans[-1][1] + 1:
            spans[-1][1] = number
        else:
            spans.append([number, number])
    shown = [str(a) if a == b else f"{a}-{b}" for a, b in spans[:12]]
    return ", ".join(shown) + (", …" if len(spans) > 12 else "")
