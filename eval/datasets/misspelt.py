"""A set's questions with misspelt words: slips on a keyboard, and letters that a scan confuses."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from dataclasses import replace

from eval.records.questions import Dataset

_WORD = re.compile(r"\b[A-Za-z]{5,}\b")  # a slip in a shorter word often makes another word
_ROWS = ("qwertyuiop", "asdfghjkl", "zxcvbnm")
_BESIDE = {
    letter: [other for other in row[max(0, at - 1) : at + 2] if other != letter]
    for row in _ROWS
    for at, letter in enumerate(row)
}
_SCANNED = (("rn", "m"), ("m", "rn"), ("cl", "d"), ("d", "cl"), ("e", "c"), ("c", "e"), ("h", "b"), ("i", "l"))


def misspelt(dataset: Dataset, words: int, seed: int) -> Dataset:
    """The set with so many of each question's words misspelt, the same ones for the same ``seed``; questions that have
    fewer of five letters and more are left as they are."""
    asked = (replace(q, text=misspell(q.text, words, random.Random(f"{seed} {q.id}"))) for q in dataset.questions)
    return replace(dataset, questions=tuple(asked))


def misspell(text: str, words: int, chance: random.Random) -> str:
    """The text with one slip in each of so many words of it. The first letter stays, as it does when people type."""
    found = list(_WORD.finditer(text))
    for match in sorted(chance.sample(found, min(words, len(found))), key=lambda one: -one.start()):
        text = text[: match.start()] + _slip(match.group(), chance) + text[match.end() :]
    return text


def _slip(word: str, chance: random.Random) -> str:
    while True:
        slipped = chance.choice(_SLIPS)(word, chance.randrange(1, len(word) - 1), chance)
        if slipped != word:
            return slipped


def _beside(word: str, at: int, chance: random.Random) -> str:
    return word[:at] + chance.choice(_BESIDE[word[at].lower()]) + word[at + 1 :]


def _swapped(word: str, at: int, _: random.Random) -> str:
    return word[:at] + word[at + 1] + word[at] + word[at + 2 :]


def _dropped(word: str, at: int, _: random.Random) -> str:
    return word[:at] + word[at + 1 :]


def _doubled(word: str, at: int, _: random.Random) -> str:
    return word[:at] + word[at] + word[at:]


def _scanned(word: str, at: int, chance: random.Random) -> str:
    read, shown = chance.choice(_SCANNED)
    return word[:at] + word[at:].replace(read, shown, 1)


_SLIPS: tuple[Callable[[str, int, random.Random], str], ...] = (_beside, _swapped, _dropped, _doubled, _scanned)
