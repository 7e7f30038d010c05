"""Windows, pairs and written forms, computed over all pages at once, against their definitions."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid_core.text.terms import STOP_WORD, TermOrder, form_check, word_hash
from hybrid_core.text.tokens import cached_hash, is_number, tokenise, written_words
from retrievers.features.word_order import WHOLE_PAGE, PageWords, TermPlaces, WordPlaces

WORDS = ["weir", "weirs", "lock", "sluice", "gate", "1,204", "2023", "zander", "the", "of"]
PAGES = st.lists(st.lists(st.sampled_from(WORDS), max_size=30), min_size=1, max_size=5)
ASKED = ["weir", "lock", "sluic", "2023"]
HASHES = np.array([cached_hash(term) for term in ASKED], np.int64)
WEIGHTS = np.array([1.0, 2.0, 0.5, 4.0])


def orders(pages: list[list[str]]) -> PageWords:
    return PageWords.of([TermOrder.of_text(" ".join(page)) for page in pages])


@given(st.lists(st.sampled_from([*WORDS, "Größe", "東京都", "don't", "C++", "E-1047/B", "[a](b.md)"]), max_size=40))
def test_terms_are_those_of_the_tokeniser_and_survive_being_stored(words: list[str]) -> None:
    text = " ".join(words)
    order = TermOrder.of_text(text)
    assert [term for term in order.terms.tolist() if term != STOP_WORD] == [
        cached_hash(term) for term in tokenise(text)
    ]
    assert [form for form in order.forms.tolist() if form != 0] == [
        form_check(term, word) for term, word in written_words(text) if not is_number(term)
    ]
    again = TermOrder.from_bytes(order.to_bytes())
    assert again.terms.tolist() == order.terms.tolist() and again.forms.tolist() == order.forms.tolist()
    with pytest.raises(ValueError, match="damaged"):
        TermOrder.from_bytes(order.to_bytes() + b"x")


@given(PAGES, st.sampled_from([1, 2, 5, WHOLE_PAGE]))
def test_the_best_window_holds_the_greatest_share(pages: list[list[str]], size: int) -> None:
    found = TermPlaces.of(orders(pages), HASHES).best_window(WEIGHTS, size)
    for page, share in zip(pages, found.tolist(), strict=True):
        terms = tokenise(" ".join(page))
        windows = [set(terms[at : at + size]) for at in range(len(terms))]
        held = [sum(w for term, w in zip(ASKED, WEIGHTS, strict=True) if term in one) for one in windows]
        assert share == pytest.approx(max(held, default=0.0) / WEIGHTS.sum())


@given(PAGES)
def test_pairs_are_neighbours_in_the_questions_order(pages: list[list[str]]) -> None:
    found = TermPlaces.of(orders(pages), HASHES).pairs([0, 1, 2, 1], WEIGHTS)
    asked = {("weir", "lock"): 3.0, ("lock", "sluic"): 2.5, ("sluic", "lock"): 2.5}
    for page, share in zip(pages, found.tolist(), strict=True):
        held = set(pairwise(tokenise(" ".join(page))))
        assert share == pytest.approx(sum(w for pair, w in asked.items() if pair in held) / 8.0)


@given(PAGES)
def test_forms_tell_words_as_they_are_written(pages: list[list[str]]) -> None:
    forms = np.array([form_check("weir", "weirs"), form_check("lock", "lock"), 0, form_check("2023", "2023")], np.uint8)
    places = TermPlaces.of(orders(pages), HASHES)
    for page, share, figures in zip(pages, places.as_written(forms, WEIGHTS), places.figures, strict=True):
        held = 1.0 * ("weirs" in page) + 2.0 * ("lock" in page) + 4.0 * ("2023" in page)
        assert share == pytest.approx(held / WEIGHTS.sum())
        terms = tokenise(" ".join(page))
        assert figures == pytest.approx(terms.count("1204") / max(1, len(terms)))


@given(PAGES)
def test_the_words_of_a_question_suffice(pages: list[list[str]]) -> None:
    page_orders = [TermOrder.of_text(" ".join(page)) for page in pages]
    written = [("lock", "lock"), ("", "the"), ("weir", "weirs")]
    hashes = np.array([word_hash(term) for term, _ in written], np.int64)
    forms = np.array([form_check(*word) for word in written], np.uint8)
    every, some = PageWords.of(page_orders), PageWords.of(page_orders, HASHES, [form_check("", "the")])
    for name in ("places", "pages", "terms", "forms", "lengths", "figures"):
        assert (
            getattr(TermPlaces.of(every, HASHES), name).tolist() == getattr(TermPlaces.of(some, HASHES), name).tolist()
        )
    for name in ("places", "pages", "words", "lengths"):
        assert (
            getattr(WordPlaces.of(every, hashes, forms), name).tolist()
            == getattr(WordPlaces.of(some, hashes, forms), name).tolist()
        )
    assert len(some.terms) <= len(every.terms) == every.lengths.sum()


def test_a_question_without_terms_finds_nothing() -> None:
    places = TermPlaces.of(orders([["weir"], []]), np.zeros(0, np.int64))
    none = np.zeros(0)
    assert not places.best_window(none, 5).any() and not places.pairs([], none).any()
    assert not places.as_written(np.zeros(0, np.uint8), none).any()


SAID = ["weirs", "the", "lock", "of", "weir"]
RARITY = np.array([3.0, 0.5, 2.0, 0.25, 1.0])


def word_places(pages: list[list[str]]) -> WordPlaces:
    words = [written_words(word)[0] for word in SAID]
    hashes = np.array([word_hash(term) for term, _ in words], np.int64)
    return WordPlaces.of(orders(pages), hashes, np.array([form_check(*word) for word in words], np.uint8))


LONG_PAGES = st.lists(st.lists(st.sampled_from(WORDS), max_size=300), min_size=1, max_size=4)


@given(LONG_PAGES)
def test_the_best_passage_counts_words_as_they_are_written_and_stop_words(pages: list[list[str]]) -> None:
    found = word_places(pages).best_passage(RARITY)
    for page, best in zip(pages, found.tolist(), strict=True):
        scores = []
        for start in range(0, max(1, len(page)), 60):
            counts = [page[start : start + 120].count(word) for word in SAID]
            scores.append(sum(idf * n * 2.2 / (n + 1.2) for idf, n in zip(RARITY.tolist(), counts, strict=True)))
        assert best == pytest.approx(max(scores))


@given(PAGES)
def test_triples_stand_on_a_page_in_their_order(pages: list[list[str]]) -> None:
    sequence = [0, 1, 2, 1, 4]
    asked = {tuple(SAID[at] for at in three) for three in zip(sequence, sequence[1:], sequence[2:], strict=False)}
    held = [set(zip(page, page[1:], page[2:], strict=False)) for page in pages]
    found = word_places(pages).triples(sequence, 100)
    for mine, score in zip(held, found.tolist(), strict=True):
        holding = [sum(three in other for other in held) for three in asked if three in mine]
        assert score == pytest.approx(sum(np.log1p((100.5 - n) / (n + 0.5)) for n in holding))


def test_pages_that_hold_a_word_are_counted_once() -> None:
    pages = [["weir", "the", "weir"], ["weirs"], []]
    assert word_places(pages).holding(5).tolist() == [1, 1, 0, 0, 1]
    assert not word_places([[]]).best_passage(RARITY).any() and not word_places([[]]).triples([0, 1, 2], 9).any()
