"""The baselines against independent computations, on real indexed documents."""

from __future__ import annotations

import importlib.util
import math
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from eval.datasets.corpus import Corpus, offset, stretches
from eval.rankers.baselines import (
    OVERLAP,
    WORDS,
    ChunkDense,
    Okapi,
    PageBM25,
    StemmedPageBM25,
    chinese,
    chunks,
    stemmed,
)
from eval.records.progress import Progress
from eval.records.questions import Ranker
from eval.runs.models import RankerOptions, make_ranker
from eval.runs.plan import RANKERS
from eval.runs.scripted import scripted
from hybrid_core.embed.hashed import HashedEmbedder
from hybrid_core.errors import PageIndexError, UsageError
from hybrid_core.types.documents import Section
from hybrid_pageindex import Engine, run
from tests import pdfs

QUESTION, NAME, PAGE = pdfs.FISCAL_QUESTIONS[0]
QUIET = Progress(quiet=True)


@pytest.fixture(scope="module")
def corpus(library: Engine) -> Corpus:
    return Corpus(library)


def made(name: str, library: Engine, corpus: Corpus, cache: Path, embedder: str = "hashed:256") -> Ranker:
    options = RankerOptions(
        search={"expert": "none", "effort": "fast"},
        embedder=embedder,
        in_chinese=False,
        cache=cache,
        model=scripted("scripted:oracle", {QUESTION: [(NAME, PAGE)]}),
    )
    return make_ranker(name, library, corpus, options, QUIET)


@pytest.mark.parametrize("name", [name for name in RANKERS if name != "pageindex-tree"])
def test_rankers_answer_alike(name: str, library: Engine, corpus: Corpus, tmp_path: Path) -> None:
    ranker = made(name, library, corpus, tmp_path)
    whole = ranker.rank(QUESTION, None, 6)
    places = [(page.document, page.page) for page in whole.pages]
    assert 1 <= len(places) == len(set(places)) <= 6
    assert whole.documents[0] == whole.pages[0].document
    scores = [page.score for page in whole.pages]
    assert scores == sorted(scores, reverse=True)
    given = ranker.rank(QUESTION, [NAME, "book.pdf"], 50)
    assert given.pages
    assert {page.document for page in given.pages} <= {NAME, "book.pdf"}
    assert set(given.documents) <= {NAME, "book.pdf"}
    assert given.documents[0] == NAME
    assert ranker.name == name
    assert ranker.options


@pytest.mark.parametrize("name", ["engine", "page-bm25", "page-bm25-stemmed", "rank-bm25"])
def test_words_that_nobody_wrote_find_nothing(name: str, library: Engine, corpus: Corpus, tmp_path: Path) -> None:
    assert made(name, library, corpus, tmp_path).rank("qwxzv zzyqx", None, 5).pages == ()


def test_the_pinned_baseline_is_lucenes_bm25(corpus: Corpus) -> None:
    """Against the formula: idf = ln(1 + (N - n + 0.5) / (n + 0.5)), tf / (tf + k1 (1 - b + b len / mean len))."""
    ranker = PageBM25(corpus, in_chinese=False)
    words = [[w for w in _words(text) if w not in _stop_words()] for text in ranker.places.texts(corpus)]
    asked = [word for word in _words("net sales of Corvane Optics dividend") if word not in _stop_words()]
    mean = sum(map(len, words)) / len(words)
    expected = np.zeros(len(words))
    for term in asked:
        holders = sum(term in page for page in words)
        idf = math.log(1 + (len(words) - holders + 0.5) / (holders + 0.5))
        for at, page in enumerate(words):
            times = page.count(term)
            expected[at] += idf * times / (times + 1.2 * (0.25 + 0.75 * len(page) / mean))
    assert expected.any()
    assert ranker.scores("net sales of Corvane Optics dividend") == pytest.approx(expected, rel=1e-5)


def _words(text: str) -> list[str]:
    return re.findall(r"\b\w\w+\b", text.lower())


def _stop_words() -> frozenset[str]:
    from bm25s.stopwords import STOPWORDS_EN

    return frozenset(STOPWORDS_EN)


def test_chinese_questions_are_cut_into_words() -> None:
    assert chinese(["劳动合同的期限,2024年。"]) == [["劳动合同", "的", "期限", "2024", "年"]]


def test_stems_follow_the_language_of_the_question() -> None:
    assert stemmed(["The Ships' harbours", "Kündigungen"], "en") == [["the", "ship", "harbour"], ["kündigungen"]]
    assert stemmed(["Kündigungen der Häuser"], "de") == [["kundig", "der", "haus"]]
    assert stemmed(["検索は2つ", "한국어 문서"], "ja") == [["検索", "索は", "は2", "2つ"], ["한국", "국어", "문서"]]
    assert stemmed(["languages"], "xx") == stemmed(["languages"], "en"), "English rules serve an unknown language"


def test_a_question_is_stemmed_in_its_language(engine: Engine, tmp_path: Path) -> None:
    (tmp_path / "haus.md").write_text("Das Haus am Hafen.", encoding="utf-8")
    (tmp_path / "boot.md").write_text("Das Boot am Ufer.", encoding="utf-8")
    run(engine.index([tmp_path / "haus.md", tmp_path / "boot.md"]))
    places = {}
    for language in ("de", "en"):
        ranker = StemmedPageBM25(Corpus(engine), {"Häuser": language})
        places[language] = [page.document for page in ranker.rank("Häuser", None, 5).pages]
    assert places == {"de": ["haus.md"], "en": []}


def test_okapi_survives_a_library_of_empty_pages(engine: Engine, tmp_path: Path) -> None:
    run(engine.index(pdfs.one_blank_page(tmp_path / "blank.pdf")))
    assert Okapi(Corpus(engine), in_chinese=False).rank("anything at all", None, 5).pages == ()
    assert StemmedPageBM25(Corpus(engine), {}).rank("anything at all", None, 5).pages == ()


def test_chunks_cover_every_word_and_know_their_page() -> None:
    pages = [" ".join(f"a{n}" for n in range(100)), "", " ".join(f"b{n}" for n in range(400))]
    made = chunks(pages)
    assert [page for page, _ in made] == [1, 3, 3, 3] or [page for page, _ in made] == [1, 3, 3]
    cut = [text.split() for _, text in made]
    assert all(len(words) == WORDS for words in cut[:-1])
    assert all(left[-OVERLAP:] == right[:OVERLAP] for left, right in pairwise(cut))
    assert [*cut[0], *(word for words in cut[1:] for word in words[OVERLAP:])] == " ".join(pages).split()
    assert chunks(["", ""]) == []
    assert chunks(["one"]) == [(1, "one")]


def test_dense_pages_are_those_of_the_most_similar_chunks(corpus: Corpus, tmp_path: Path) -> None:
    embedder = HashedEmbedder(256)
    ranker = ChunkDense(corpus, embedder, tmp_path, QUIET)
    texts = [(name, page, text) for name in sorted(corpus.documents) for page, text in chunks(corpus.texts(name))]
    rows = embedder.embed([text for _, _, text in texts], "document")
    best = int(np.argmax(rows @ embedder.embed([QUESTION], "query")[0]))
    found = ranker.rank(QUESTION, None, 3).pages[0]
    assert (found.document, found.page, found.text) == texts[best]
    kept = {path.name: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    assert len(kept) == len(corpus.documents)
    again = ChunkDense(corpus, embedder, tmp_path, QUIET)
    assert {path.name: path.stat().st_mtime_ns for path in tmp_path.iterdir()} == kept
    assert again.rank(QUESTION, None, 3) == ranker.rank(QUESTION, None, 3)
    with pytest.raises(UsageError, match="needs an embedder"):
        ChunkDense(corpus, None, tmp_path, QUIET)


def test_trees_of_pageindex(library: Engine, corpus: Corpus, tmp_path: Path) -> None:
    if importlib.util.find_spec("pageindex") is None:
        with pytest.raises(PageIndexError, match="needs the package pageindex"):
            made("pageindex-tree", library, corpus, tmp_path)
        return
    ranker = made("pageindex-tree", library, corpus, tmp_path)
    found = ranker.rank(QUESTION, [NAME], 5)
    assert {page.document for page in found.pages} == {NAME}
    assert PAGE in [page.page for page in found.pages]


@pytest.fixture
def shared_page() -> Iterator[list[Section]]:
    yield [
        Section("0001", None, 1, "All", 1, 3),
        Section("0002", "0001", 2, "First", 1, 2, anchor=0, end_anchor=40),
        Section("0003", "0001", 2, "Second", 2, 2, anchor=40, end_anchor=60),
        Section("0004", "0001", 2, "Third", 2, 3, anchor=60),
    ]


def test_a_shared_page_is_cut_where_its_sections_begin(shared_page: list[Section]) -> None:
    assert stretches(shared_page, 2, 200) == [(0, 40, "0002"), (40, 60, "0003"), (60, 200, "0004")]
    assert stretches(shared_page, 1, 200) == [(0, 200, "0002")]
    assert stretches(shared_page, 3, 0) == [(0, 0, "0004")]
    assert stretches(shared_page, 9, 10) == []


def test_a_texts_place_is_found_past_spaces_and_signs() -> None:
    page = "Heading\n\nNet  sales -\nrose by 4 %."
    assert offset(page, "net sales rose") == page.index("Net")
    assert offset(page, "nothing like it") is None


def test_sections_of_a_real_page(corpus: Corpus) -> None:
    node = corpus.section_at("book.pdf", 3, "Plants")
    titles = {section.node_id: section.title for section in corpus.sections("book.pdf")}
    assert titles[node] == "Plants"
    assert {titles[found] for found in corpus.sections_on("book.pdf", 3)} >= {"Operations", "Plants"}
    assert corpus.section_at("book.pdf", 99) == ""
    assert corpus.section_at("unknown.pdf", 1) == ""
    assert corpus.section_range("book.pdf", node) == (3, 4)
