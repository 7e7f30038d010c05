"""Baselines: BM25 over whole pages (bm25s, rank-bm25), and a vector index of fixed-size chunks."""

from __future__ import annotations

import hashlib
import re
import unicodedata
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from eval.datasets.corpus import Corpus
from eval.records.progress import Progress
from eval.records.questions import RankedPage, Ranking
from hybrid_core.errors import UsageError
from hybrid_core.system import require

if TYPE_CHECKING:
    from hybrid_core.embed.embedder import Embedder


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
    """All pages of the library in one order: by document name, then by page number."""

    def __init__(self, corpus: Corpus) -> None:
        self.names = sorted(corpus.documents)
        self.pages = [(name, number) for name in self.names for number in range(1, corpus.documents[name].pages + 1)]
        numbers = {name: number for number, name in enumerate(self.names)}
        self.owner = np.array([numbers[name] for name, _ in self.pages], dtype=np.int64)

    def texts(self, corpus: Corpus) -> list[str]:
        return [text for name in self.names for text in corpus.texts(name)]

    def ranking(self, scores: Floats, documents: Sequence[str] | None, depth: int) -> Ranking:
        """Return the ``depth`` pages with the highest scores, and documents ranked by their best page."""
        order = np.argsort(-scores, kind="stable")
        order = order[scores[order] > 0]
        if documents is not None:
            numbers = [number for number, name in enumerate(self.names) if name in set(documents)]
            order = order[np.isin(self.owner[order], numbers)]
        return Ranking(
            pages=tuple(RankedPage(self.pages[at][0], self.pages[at][1], float(scores[at])) for at in order[:depth]),
            documents=tuple(self.names[number] for number in dict.fromkeys(self.owner[order].tolist())),
        )


def english(texts: Sequence[str]) -> list[list[str]]:
    """Tokenise English texts like bm25s: words of at least two letters, in lower case.

    Stop words are removed, and words are not stemmed.
    """
    bm25s = require("bm25s", "eval")
    tokens: list[list[str]] = bm25s.tokenize(
        list(texts), stopwords="en", stemmer=None, return_ids=False, show_progress=False
    )
    return tokens


def chinese(texts: Sequence[str]) -> list[list[str]]:
    """Tokenise Chinese texts with jieba, without punctuation and spaces."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the import warns of outdated escapes and of pkg_resources
        jieba = require("jieba", "eval")
    jieba.setLogLevel("ERROR")
    if not jieba.dt.initialized:  # otherwise it uses a fixed file name in the shared temporary folder
        with TemporaryDirectory() as jieba.dt.tmp_dir:
            jieba.initialize()
    return [[word for word in jieba.lcut(text.lower()) if any(c.isalnum() for c in word)] for text in texts]


def stemmed(texts: Sequence[str], language: str) -> list[list[str]]:
    """Return the stems of each text's words in order, in lower case and NFKC.

    ``language`` is an ISO 639-1 code; languages without a Snowball stemmer use the English rules. A word with Chinese,
    Japanese or Korean characters is split into its character bigrams.
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


class PageBM25:
    """BM25 over whole pages (bm25s, Lù 2024), in the "lucene" variant of Kamphuis et al. 2020.

    Statistics are over all pages of the library.
    """

    name = "page-bm25"

    def __init__(self, corpus: Corpus, *, in_chinese: bool) -> None:
        bm25s = require("bm25s", "eval")
        self.options: Mapping[str, Any] = {
            "method": "lucene", "k1": 1.2, "b": 0.75, "tokens": "jieba" if in_chinese else "english stop words",
        }  # fmt: skip
        self.places = Places(corpus)
        self._tokens = chinese if in_chinese else english
        self._index = bm25s.BM25(method="lucene", k1=1.2, b=0.75)
        self._index.index(self._tokens(self.places.texts(corpus)), show_progress=False)

    def scores(self, question: str) -> Floats:
        """Return a score for each of ``places.pages``, higher is better."""
        return _scores(self._index, self._tokens([question])[0], len(self.places.pages))

    def rank(self, question: str, documents: Sequence[str] | None, depth: int) -> Ranking:
        return self.places.ranking(self.scores(question), documents, depth)


class StemmedPageBM25:
    """BM25 over whole pages like ``PageBM25``, but with stems or character bigrams.

    Words are stemmed by the language of the question (Snowball); bigrams are used for Chinese, Japanese and Korean.
    Stop words remain in pages and questions. There is an index of all pages for each language of the questions.
    """

    name = "page-bm25-stemmed"

    def __init__(self, corpus: Corpus, languages: Mapping[str, str]) -> None:
        self.options: Mapping[str, Any] = {
            "method": "lucene", "k1": 1.2, "b": 0.75, "tokens": "Snowball stems, bigrams of CJK",
        }  # fmt: skip
        self.places = Places(corpus)
        self._texts = self.places.texts(corpus)
        self._languages = languages
        self._indexes: dict[str, Any] = {}

    def scores(self, question: str) -> Floats:
        """Return one score for each of ``places.pages``, shape (pages,), float64; higher is better."""
        language = self._languages.get(question, "")
        return _scores(self._index(language), stemmed([question], language)[0], len(self.places.pages))

    def rank(self, question: str, documents: Sequence[str] | None, depth: int) -> Ranking:
        return self.places.ranking(self.scores(question), documents, depth)

    def _index(self, language: str) -> Any:
        if language not in self._indexes:
            index = require("bm25s", "eval").BM25(method="lucene", k1=1.2, b=0.75)
            rows = [row or [""] for row in stemmed(self._texts, language)]  # bm25s rejects a page without words
            index.index(rows, show_progress=False)
            self._indexes[language] = index
        return self._indexes[language]


def _scores(index: Any, terms: Sequence[str], pages: int) -> Floats:
    """Return each page's score for those terms that a bm25s index contains: float64 (pages,)."""
    indexed_terms = [term for term in terms if term in index.vocab_dict]
    return np.asarray(index.get_scores(indexed_terms), dtype=np.float64) if indexed_terms else np.zeros(pages)


class Okapi:
    """Okapi BM25 of the package rank-bm25, common in tutorials and RAG frameworks."""

    name = "rank-bm25"

    def __init__(self, corpus: Corpus, *, in_chinese: bool) -> None:
        rank_bm25 = require("rank_bm25", "eval")
        self.options: Mapping[str, Any] = {
            "k1": 1.5, "b": 0.75, "tokens": "jieba" if in_chinese else "english stop words",
        }  # fmt: skip
        self._places = Places(corpus)
        self._tokens = chinese if in_chinese else english
        # Without any word in the library the package would divide by zero, so a page with a placeholder is added.
        self._index = rank_bm25.BM25Okapi([tokens or [""] for tokens in self._tokens(self._places.texts(corpus))])

    def rank(self, question: str, documents: Sequence[str] | None, depth: int) -> Ranking:
        scores = np.asarray(self._index.get_scores(self._tokens([question])[0]), dtype=np.float64)
        return self._places.ranking(scores, documents, depth)


WORDS, OVERLAP = 190, 40
Vectors = npt.NDArray[np.float32]


def chunks(pages: Sequence[str]) -> list[tuple[int, str]]:
    """Split a document into chunks of 190 words that overlap by 40 words.

    Return (page with most of the chunk's words, text) of each.
    """
    words = [(number, word) for number, text in enumerate(pages, 1) for word in text.split()]
    pieces = []
    for start in range(0, max(len(words) - OVERLAP, min(len(words), 1)), WORDS - OVERLAP):
        taken = words[start : start + WORDS]
        numbers = [number for number, _ in taken]
        pieces.append((max(dict.fromkeys(numbers), key=numbers.count), " ".join(word for _, word in taken)))
    return pieces


class ChunkDense:
    """Rank pages by the cosine similarity of the question with all chunks, computed exactly.

    Vectors are stored in ``cache``, one file for each document.
    """

    name = "chunk-dense"

    def __init__(self, corpus: Corpus, embedder: Embedder | None, cache: Path, progress: Progress) -> None:
        """Create the ranker. Raise UsageError without an embedder, ModelError if the embedder fails."""
        if embedder is None:
            raise UsageError(
                "The ranker chunk-dense needs an embedder.",
                "Name an embedder, for example --embedder bge-m3 or hashed:256.",
            )
        self._embedder = embedder
        self.options: Mapping[str, Any] = {"words": WORDS, "overlap": OVERLAP, "embedder": embedder.id.name}
        self._places: list[tuple[str, int]] = []
        self._texts: list[str] = []
        rows: list[Vectors] = []
        names = sorted(corpus.documents)
        with progress.bar("embedding chunks", len(names)) as step:
            for name in names:
                pieces = chunks(corpus.texts(name))
                self._places += [(name, page) for page, _ in pieces]
                self._texts += [text for _, text in pieces]
                rows.append(self._vectors([text for _, text in pieces], cache))
                step()
        self._vectors_all = np.vstack(rows) if rows else np.zeros((0, embedder.id.dimension), np.float32)

    def rank(self, question: str, documents: Sequence[str] | None, depth: int) -> Ranking:
        scores = self._vectors_all @ self._embedder.embed([question], "query")[0]
        names = None if documents is None else set(documents)
        pages: dict[tuple[str, int], RankedPage] = {}
        for at in np.argsort(-scores, kind="stable").tolist():
            place = self._places[at]
            if place not in pages and (names is None or place[0] in names):
                pages[place] = RankedPage(place[0], place[1], float(scores[at]), text=self._texts[at])
        ranked = tuple(pages.values())
        return Ranking(pages=ranked[:depth], documents=tuple(dict.fromkeys(page.document for page in ranked)))

    def _vectors(self, texts: list[str], cache: Path) -> Vectors:
        """Return the unit vectors of texts, which are stored in ``cache``: float32 (n, dimension)."""
        if not texts:
            return np.zeros((0, self._embedder.id.dimension), np.float32)
        key = hashlib.sha256("\0".join([self._embedder.id.fingerprint, *texts]).encode()).hexdigest()[:32]
        file = cache / f"{key}.npy"
        if file.exists():
            return np.asarray(np.load(file), dtype=np.float32)
        vectors = self._embedder.embed(texts, "document")
        cache.mkdir(parents=True, exist_ok=True)
        draft = file.with_suffix(".new.npy")
        np.save(draft, vectors)
        draft.replace(file)
        return vectors
