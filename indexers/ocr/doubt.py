"""Whether what was read from a picture is to be read again by another engine, and which of the two readings is taken.

Figures are of made pages in five languages, clean and poor (benchmarks/ocr.py): what Tesseract reads right has a mean
confidence of 89 to 96, poor tables of which it loses half 56 to 60, and Chinese that it takes for English 14 to 22.
A language for which it has no data costs it the accents and hardly any confidence (89 to 93), so its little words tell.
"""

from __future__ import annotations

import re
from collections import Counter

_DOUBTFUL = 80  # mean confidence of Tesseract's
_SURE = 85  # and of RapidOCR's, which is 97 to 99 where it reads rightly
_LEAST_WORDS = 6  # of a language by which it is told

_WORD = re.compile(r"[^\W\d_]+")
_LITTLE = {
    "eng": "the of and to in is for that with on by be this are as it or from not which",
    "deu": "der die und das ist nicht mit von den dem des ein eine zu auf sich wird sind auch bei nach zur zum oder",
    "fra": "le la les des du et une est dans pour par sur au aux que qui ne pas avec ou ce sont",
    "spa": "el la los las del y una es en por para con que se no su al como o este",
    "ita": "il lo gli della del di che e un una per con non sono nel alla dei le da si",
    "por": "o os as da do das dos e um uma para com que não se em no na por ao",
    "nld": "de het een van en in is dat op te voor met niet zijn aan er door bij ook of",
    "pol": "w na do nie się z jest że oraz po od przez dla jak przy lub ich ma tego",
    "swe": "och att det en som på är av för med den till inte har om ett från eller vid",
    "dan": "og at det en som på er af for med den til ikke har om et fra eller ved",
}
_WORDS = {language: frozenset(words.split()) for language, words in _LITTLE.items()}


def doubtful(text: str, sure: float, languages: str) -> bool:
    """Whether a page that was read as in ``languages`` ("eng+deu"), with a mean confidence of ``sure`` (0 to 100), may
    say something else.
    """
    return sure < _DOUBTFUL or language_of(text) not in ("", *languages.split("+"))


def language_of(text: str) -> str:
    """By its little words, as Tesseract calls it; "" where they do not tell."""
    counts = Counter(word.casefold() for word in _WORD.findall(text))
    found = {language: sum(counts[word] for word in words) for language, words in _WORDS.items()}
    best = max(found, key=lambda language: found[language])
    return best if found[best] >= _LEAST_WORDS and found[best] >= 0.1 * counts.total() else ""


def better(second: str, sure: float, first: str) -> bool:
    """Whether the second of two texts, read with a mean confidence of ``sure`` (0 to 100), is taken."""
    return bool(second) and (sure >= _SURE or not first)
