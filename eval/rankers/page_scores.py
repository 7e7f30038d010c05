"""What the baselines that score whole pages share: the pages, their tokens, and a ranking from one score for each."""

from __future__ import annotations

import re
import unicodedata
import warnings
from collections.abc import Callable, Sequence
from tempfile import TemporaryDirectory

import numpy as np
import numpy.typing as npt

from eval.datasets.corpus import Corpus
from eval.records.rankings import RankedPage, Ranking
from hybrid_core.system.extras import require

_WORD = re.compile(r"[^\W_]+")
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_SNOWBALL = {
    "ar": "arabic", "da": "danish", "de": "german", "el": "greek", "en": "english", "es": "spanish", "fi": "finnish",
    "fr": "french", "hi": "hindi", "hu": "hungarian", "it": "italian", "nl": "dutch", "no": "norwegian",
    "pt": "portuguese", "ro": "romanian", "ru": "russian", "sv": "swedish", "tr": "turkish",
}  # fmt: skip

Floats = npt.NDArray[np.float64]
Tokens = Callable[[Sequence[str]], list[list[str]]]


class Places:
    """Every page of the library in one order: documents by name, pages by number."""

    def __init__(self, corpus: Corpus) -> None:
        self.names = sorted(corpus.documents)
        self.pages = [(name, number) for name in self.names for number in range(1, corpus.documents[name].pages + 1)]
        numbers = {name: number for number, name in enumerate(self.names)}
        self.owner = np.array([numbers[name] for name, _ in self.pages], dtype=np.int64)

    def texts(self, corpus: Corpus) -> list[str]:
        return [text for name in self.names for text in corpus.texts(name)]

    def ranking(self, scores: Floats, documents: Sequence[str] | None, depth: int) -> Ranking:
        """The pages of highest score, those without any left out; documents in the order of their best pages."""
        order = np.argsort(-scores, kind="stable")
        order = order[scores[order] > 0]
        if documents is not None:
            asked = [number for number, name in enumerate(self.names) if name in set(documents)]
            order = order[np.isin(self.owner[order], asked)]
        return Ranking(
            pages=tuple(RankedPage(self.pages[at][0], self.pages[at][1], float(scores[at])) for at in order[:depth]),
            documents=tuple(self.names[number] for number in dict.fromkeys(self.owner[order].tolist())),
        )


def english(texts: Sequence[str]) -> list[list[str]]:
    """bm25s' own tokens: lower case, two letters at least, English stop words dropped, no stemming."""
    bm25s = require("bm25s", "eval")
    found: list[list[str]] = bm25s.tokenize(
        list(texts), stopwords="en", stemmer=None, return_ids=False, show_progress=False
    )
    return found


def chinese(texts: Sequence[str]) -> list[list[str]]:
    """jieba's words, those of punctuation and space left out."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the import speaks of outdated escapes and of pkg_resources
        jieba = require("jieba", "eval")
    jieba.setLogLevel("ERROR")
    if not jieba.dt.initialized:  # else it reads, and leaves, a file of a known name in the shared temporary folder
        with TemporaryDirectory() as jieba.dt.tmp_dir:
            jieba.initialize()
    return [[word for word in jieba.lcut(text.lower()) if any(c.isalnum() for c in word)] for text in texts]


def stemmed(texts: Sequence[str], language: str) -> list[list[str]]:
    """Return the stems of each text's words, lower case and NFKC, in order.

    ``language`` is an ISO 639-1 code; English rules serve where Snowball has no stemmer for it. A word with Chinese,
    Japanese or Korean characters becomes its character bigrams.
    """
    import Stemmer

    name = _SNOWBALL.get(language, "english")
    stemmer = Stemmer.Stemmer(name if name in Stemmer.algorithms() else "english")
    rows = []
    for text in texts:
        row: list[str] = []
        for word in _WORD.findall(unicodedata.normalize("NFKC", text.lower())):
            if _CJK.search(word):
                row += [word[at : at + 2] for at in range(max(1, len(word) - 1))]
            else:
                row.append(stemmer.stemWord(word))
        rows.append(row)
    return rows
