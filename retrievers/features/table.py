"""The features of every candidate page of a question, one column each.

Each feature is computed for all candidates at once, and none filters or sorts by itself. ``FEATURES`` describes each
feature. Values are about 0 to 1. Higher means more relevant unless the model has a negative weight.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from math import fsum

import numpy as np
import numpy.typing as npt

from hybrid_core.text.bm25 import Bm25, idf
from hybrid_core.text.terms import TermOrder, form_check, word_hash
from hybrid_core.text.tokens import tokenise, written_terms, written_words
from hybrid_core.types.scoring import ScoringConfig
from retrievers.candidates.coarse_pass import Key
from retrievers.candidates.documents import CandidateDocument
from retrievers.features.pages import CandidatePages, ExpertTerms, QueryTerms, phrase_shares
from retrievers.features.word_order import WHOLE_PAGE, PageWords, TermPlaces, WordPlaces
from retrievers.query.expert import Expansion
from retrievers.query.question import Question
from retrievers.query.words import quotations
from retrievers.trees.contents import ContentGroup
from retrievers.trees.postings import Trees

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
_SURE = 0.4  # routing score from which a document counts as named
_BEHIND = 0.3  # distance to the best routing score at which a document counts as not named
_MOST_WORDS = 64  # maximum words of a question for finding passages, the rarest ones
_TINY = 1e-9  # replaces a best score of 0

_FEATURE_GROUPS: Mapping[str, Mapping[str, str]] = {
    "page": {
        "bm25": "BM25 of the page in the library, its best candidate 1",
        "bm25_size": "ln(1 + BM25 of the page in the library) / 4",
        "coarse": "score in the coarse pass, the best hit 1",
        "meaning": "nearness in meaning by vectors and learned term weights; that of its words without a vector",
        "inside": "BM25 of the page in its document's own statistics, the document's best 1",
        "inside_size": "ln(1 + BM25 of the page in its document's own statistics) / 4",
        "inside_best": "the same with expert knowledge, the best of all candidates 1",
        "window": "share of the question's terms, by idf, within 50 terms of the page",
        "window_near": "the same within 15 terms",
        "window_rest": "the same within 50 terms, of the terms that name no document",
        "cover": "share of the question's terms, by idf, on the page",
        "pairs": "share of the question's neighbouring terms that are neighbours on the page",
        "pairs_rest": "the same of the terms that name no document",
        "written": "share of the question's terms, by idf, that the page writes as the question does",
        "written_rest": "the same of the terms that name no document",
        "passage": "BM25 of the best 120 words of the page, as the question writes its words, its best candidate 1",
        "triples": "the question's words by three in a row that are so on the page, by rarity, the best candidate 1",
        "quoted": "share of what the question quotes, or all of it, that stands on the page word for word",
        "neighbour": "library BM25 of the better page beside it, the best candidate 1",
        "length": "words of the page / the candidates' mean, at most 2, halved",
        "figures": "share of numbers among the page's terms",
        "figures_asked": "the same where the question asks for a quantity",
        "pack": "BM25 of expert knowledge's terms in the document's own statistics, the document's best 1",
        "pack_phrase": "share of expert knowledge's phrases, by weight, that stand on the page",
    },
    "structure": {
        "heading": "BM25 of the headings that begin on the page, the best candidate 1",
        "title": "a title on the page that the question covers, the best candidate 1",
        "path": "share of the question's terms, by idf, in the titles above and on the page",
        "structure": "NodeScore of the page's sections among their siblings",
        "node": "NodeScore of the page's deepest section, the best candidate 1",
        "pack_heading": "BM25 of expert knowledge's headings on the page, the document's best 1",
        "pack_role": "whether the page has a role that expert knowledge asks for, by its section's title",
    },
    "document": {
        "document": "BM25 of the whole document, the best candidate document 1",
        "best_page": "library BM25 of the document's best page, the best candidate 1",
        "doc_score": "DocScore of the document, the best 1",
        "named": "how surely the question names the document, or it alone is searched, 0 to 1",
        "named_best": "how surely the question names the document, relative to the one named most surely",
        "leads": "how near the document comes to the one named most surely, where one is",
        "by_hand": "how near a document whose card was corrected by hand comes to that one",
        "name": "share of the question's terms, by idf, in the document's file name and title",
        "name_cover": "share of the terms of the file name or title that the question holds",
        "short": "1 / (1 + pages of the document / 5)",
    },
}
FEATURES: Mapping[str, str] = {name: about for group in _FEATURE_GROUPS.values() for name, about in group.items()}
GROUPS: Mapping[str, str] = {name: group for group, named in _FEATURE_GROUPS.items() for name in named}
"""The part of a receipt to which each feature belongs: the page's words, its place in the tree, or its document."""


@dataclass(frozen=True, slots=True, eq=False)
class FeatureTable:
    """The features of candidate pages. ``values`` is float64 (pages, features), columns in the order of FEATURES."""

    candidates: CandidatePages
    values: Floats

    def column(self, name: str) -> Floats:
        return np.asarray(self.values[:, list(FEATURES).index(name)])


@dataclass(frozen=True, slots=True, eq=False)
class FeatureInputs:
    """The inputs of the features, except the ordered terms of pages.

    ``named`` are terms that name documents. ``contents`` and ``expansions`` have one item for each document. ``coarse``
    and ``meaning`` are scores of the coarse pass and of vectors by (doc_id, page), scaled so that the best is 1.
    ``unembedded`` are documents without vectors, if others have some. ``chosen`` is the prior probability of a
    document: 1 / number of searched documents.
    """

    question: Question
    query: QueryTerms
    named: Collection[str]
    documents: Sequence[CandidateDocument]
    contents: ContentGroup
    expansions: Sequence[Expansion]
    coarse: Mapping[Key, float]
    meaning: Mapping[Key, float]
    unembedded: Collection[str]
    chosen: float


class FeatureBuilder:
    """Computes the features of the candidate pages of one question.

    First read ``candidates``; then call ``table`` with the ordered terms of these pages.
    """

    def __init__(self, inputs: FeatureInputs, scoring: ScoringConfig) -> None:
        self._inputs, self._scoring, self._expansion = inputs, scoring.pages, scoring.expansion
        self._weights = inputs.query.idf
        self._body = body = inputs.contents.body(inputs.query.hashes)
        rest = np.array([term not in inputs.named for term in inputs.query.terms], bool)
        self._knowledge = ExpertTerms(inputs.expansions, inputs.contents, body.firsts)
        spoken = any(expansion.terms or expansion.headings for expansion in inputs.expansions)
        if not spoken and not (body.holding[:, rest] > 0).any():  # they contain only terms that name documents
            rest = np.ones(len(rest), bool)
        self._rest: Floats = rest.astype(np.float64)
        self.kept = [term for term, is_kept in zip(inputs.query.terms, rest.tolist(), strict=True) if is_kept]
        """The question's terms that pages are told apart by."""
        self._coarse, self._near = self._by_page(inputs.coarse), self._by_page(inputs.meaning)
        self._own = body.own_bm25(self._rest * inputs.query.worth, self._scoring.k1, self._scoring.b)
        self._pack, self._pack_headings = self._knowledge.bm25(self._scoring)
        self.inside: Floats = self._own + self._pack + self._scoring.headings * self._pack_headings
        """BM25 of every page in its own document, expert knowledge included, of which headings count by
        ``scoring.headings``: float64 (pages,), numbered through."""
        self.candidates = CandidatePages.of(inputs.documents, body.firsts, self._rows(scoring.documents.pages))

    def table(self, orders: Sequence[TermOrder]) -> FeatureTable:
        """Return the feature table. ``orders`` are the ordered terms of each candidate page."""
        inputs, body, weights, candidates = self._inputs, self._body, self._weights, self.candidates
        at, doc, count = candidates.at, candidates.doc, len(candidates)
        library = body.library_bm25(weights, Bm25(1.2, 0.75, _mean(body.lengths)))
        heading = inputs.contents.headings(inputs.query.hashes).own_bm25(
            inputs.query.worth, self._scoring.k1, self._scoring.b
        )
        trees = inputs.contents.trees(inputs.query.hashes, body.firsts)
        titles = trees.covered_titles(inputs.query.worth, self._scoring.title_power, len(body.lengths))
        nodes = trees.node_scores(self._coarse)
        self.nodes = [nodes[first:last] for first, last in pairwise(trees.firsts.tolist())]
        sections, rows = inputs.contents.covering(candidates.page - 1, doc, trees.firsts)
        phrases = self._knowledge.phrases(self._expansion)
        phrase_hashes = [term for _, sequences in phrases for sequence in sequences for term in sequence]
        stop_forms = [form_check(*word) for word in written_words(inputs.question.text) if not word[0]]
        words = PageWords.of(orders, np.array([*inputs.query.hashes.tolist(), *phrase_hashes], np.int64), stop_forms)
        places = TermPlaces.of(words, inputs.query.hashes)
        passage, triples = _as_written(words, places, inputs.question.text, inputs.query)
        terms = inputs.query.terms
        place_of = {term: place for place, term in enumerate(terms)}
        sequence = [place_of[term] for term in inputs.question.terms]
        by_term, total = dict(zip(terms, weights.tolist(), strict=True)), max(float(weights.sum()), _TINY)
        names = np.array([_name_shares(candidate, by_term, total) for candidate in inputs.documents]).reshape(-1, 2)
        by_hand = np.array([bool(candidate.document.corrections) for candidate in inputs.documents], np.float64)
        routing = np.array([max(candidate.routing, inputs.chosen) for candidate in inputs.documents])
        forms = _forms(inputs.question.text, inputs.query)
        quoted = [_term_places(tokenise(text), place_of) for text in quotations(inputs.question.text)]
        bm25 = _share(library[at])
        columns: dict[str, Floats] = {
            "bm25": bm25,
            "bm25_size": np.log1p(library[at]) / 4,
            "coarse": self._coarse[at],
            "meaning": self._meaning(bm25),
            "inside": self._own[at] / np.maximum(body.best_of(self._own)[doc], _TINY),
            "inside_size": np.log1p(self._own[at]) / 4,
            "inside_best": _share(self.inside[at]),
            "window": places.best_window(weights, 50),
            "window_near": places.best_window(weights, 15),
            "window_rest": places.best_window(weights * self._rest, 50),
            "cover": places.best_window(weights, WHOLE_PAGE),
            "pairs": places.pairs(sequence, weights),
            "pairs_rest": places.pairs([term for term in sequence if self._rest[term]], weights),
            "written": places.as_written(forms, weights),
            "written_rest": places.as_written(forms, weights * self._rest),
            "passage": _share(passage),
            "triples": _share(triples),
            "quoted": places.quoted(quoted, forms),
            "neighbour": _neighbours(library, body.firsts)[at] / max(float(library.max(initial=0.0)), _TINY),
            "length": np.minimum(2.0, body.lengths[at] / _mean(body.lengths[at])) / 2,
            "figures": places.figures,
            "figures_asked": places.figures * inputs.question.numeric,
            "pack": self._pack[at] / np.maximum(body.best_of(self._pack)[doc], _TINY),
            "pack_phrase": phrase_shares(phrases, candidates, words),
            "heading": _share(heading[at]),
            "title": _share(titles[at]),
            "path": _path_cover(trees, weights, sections, rows, count),
            "structure": _best_at(trees.path_shares(nodes)[sections], rows, count),
            "node": _share(_best_at(nodes[sections], rows, count)),
            "pack_heading": self._pack_headings[at] / np.maximum(body.best_of(self._pack_headings)[doc], _TINY),
            "pack_role": self._knowledge.roles(candidates),
            "document": _share(body.document_bm25(weights))[doc],
            "best_page": _share(body.best_of(library))[doc],
            "doc_score": np.array([candidate.doc_score for candidate in inputs.documents])[doc],
            "named": routing[doc],
            "named_best": _share(routing)[doc],
            "leads": _leads(routing)[doc],
            "by_hand": (_leads(routing) * by_hand)[doc],
            "name": names[doc, 0],
            "name_cover": names[doc, 1],
            "short": 1 / (1 + body.sizes[doc] / 5),
        }
        values = [columns[name] for name in FEATURES]
        return FeatureTable(candidates, np.stack(values, axis=1) if count else np.zeros((0, len(values))))

    def _rows(self, count: int) -> Ints:
        """Return the candidate pages, ascending: int64 (n,).

        These are the pages that the coarse pass or vectors found, and the ``count`` best pages of every document that
        is searched completely.
        """
        chosen = (self._coarse > 0) | (self._near > 0)
        for place, document in enumerate(self._inputs.documents):
            if document.searched:
                first, last = int(self._body.firsts[place]), int(self._body.firsts[place + 1])
                own = self.inside[first:last]
                best = np.argsort(-own, kind="stable")[:count]
                chosen[first + best[own[best] > 0]] = True
        return np.flatnonzero(chosen)

    def _by_page(self, scores: Mapping[Key, float]) -> Floats:
        """Return scores by (doc_id, page) as an array over all pages: float64 (pages,), 0 for missing pages."""
        firsts = {
            candidate.document.doc_id: int(self._body.firsts[at]) for at, candidate in enumerate(self._inputs.documents)
        }
        values = np.zeros(int(self._body.firsts[-1]))
        for (doc_id, page), score in scores.items():
            if doc_id in firsts:
                values[firsts[doc_id] + page - 1] = score
        return values

    def _meaning(self, words: Floats) -> Floats:
        if not self._inputs.meaning:
            return np.zeros(len(words))
        without = np.array(
            [candidate.document.doc_id in self._inputs.unembedded for candidate in self._inputs.documents]
        )
        return np.where(without[self.candidates.doc], words, self._near[self.candidates.at])


def _path_cover(trees: Trees, weights: Floats, sections: Ints, rows: Ints, count: int) -> Floats:
    """Return the weighted share of query terms in the section titles above each candidate page.

    The result is float64 (n,), 0 to 1.
    """
    total = float(weights.sum())
    if not total:
        return np.zeros(count)
    masks = np.zeros(count, np.int64)
    np.bitwise_or.at(masks, rows, trees.path_masks()[sections])
    bits = (masks[:, None] >> np.arange(min(len(weights), 63))) & 1
    return np.asarray(bits @ weights[:63] / total)


def _best_at(values: Floats, rows: Ints, count: int) -> Floats:
    """Return the highest of the values in each of ``count`` rows, at least 0: float64 (count,).

    ``rows`` gives the row of each value.
    """
    best = np.zeros(count)
    np.maximum.at(best, rows, values)
    return best


def _neighbours(scores: Floats, firsts: Ints) -> Floats:
    """Return the higher score of the previous and the next page in the document: float64 (pages,)."""
    before, after = np.zeros(len(scores)), np.zeros(len(scores))
    before[1:], after[:-1] = scores[:-1], scores[1:]
    inner = firsts[(firsts > 0) & (firsts < len(scores))]
    before[inner] = 0.0
    after[inner - 1] = 0.0
    return np.maximum(before, after)


def _mean(values: Floats) -> float:
    """Return the mean number of words, at least 1."""
    return max(1.0, float(values.mean())) if len(values) else 1.0


def _share(values: Floats) -> Floats:
    """Return the values divided by the highest value."""
    return values / max(float(values.max(initial=0.0)), _TINY)


def _leads(named: Floats) -> Floats:
    """Return how clearly the question names each document: float64 (documents,).

    The value is the best routing score for the best document, and lower for documents behind it. If no document is
    named clearly, all values are 0.
    """
    best = float(named.max(initial=0.0))
    if best < _SURE:
        return np.zeros(len(named))
    return np.asarray(best * np.maximum(0.0, 1 - (best - named) / _BEHIND))


def _term_places(terms: Sequence[str], places: Mapping[str, int]) -> list[int]:
    """Return the column of each term, or [] if one of the terms has no column."""
    return [places[term] for term in terms] if places.keys() >= set(terms) else []


def _forms(text: str, query: QueryTerms) -> npt.NDArray[np.uint8]:
    """Return the check byte of each term's spelling in the question: uint8 (t,).

    ``TermOrder`` stores the same check byte for each word of a page.
    """
    written = {term: form_check(term, word) for term, word in reversed(written_terms(text))}
    return np.array([written.get(term, 0) for term in query.terms], np.uint8)


def _as_written(words: PageWords, places: TermPlaces, text: str, query: QueryTerms) -> tuple[Floats, Floats]:
    """Return two scores of each page by words in the question's exact form: float64 (n,) each.

    The first is the score of its best passage, the second that of its word triples. The number of library pages with a
    word in this form is estimated. It is the share with this form among the candidates with the term, times the library
    pages with the term.
    """
    number = {term: at for at, term in enumerate(query.terms)}
    sequence = [(term, word) for term, word in written_words(text) if not term or term in number]
    rare = sorted(dict.fromkeys(sequence), key=lambda word: -query.idf[number[word[0]]] if word[0] else 0.0)
    word_rows = {word: at for at, word in enumerate(rare[:_MOST_WORDS])}
    hashes = np.array([word_hash(term) for term, _ in word_rows], np.int64)
    written = WordPlaces.of(words, hashes, np.array([form_check(*word) for word in word_rows], np.uint8))
    holding_counts, worth = (
        np.append(query.holding, query.pages),
        np.append(query.worth, 1.0),
    )  # the last entry is for stop words
    among = np.append(places.holding(len(query.terms)), len(places.lengths))
    of = np.array([number[term] if term else -1 for term, _ in word_rows], np.int64)
    holding = holding_counts[of] * written.holding(len(word_rows)) / np.maximum(1, among[of])
    rarity = worth[of] * idf(query.pages, np.minimum(holding, query.pages))
    return written.best_passage(rarity), written.triples([word_rows.get(word, -1) for word in sequence], query.pages)


def _name_shares(
    candidate: CandidateDocument, question_terms: Mapping[str, float], total: float
) -> tuple[float, float]:
    """Return two shares, 0 to 1, that match a document's file name and title with the question.

    The first is the weighted share of the question's terms that either of them contains. The second is the share of the
    name's or the title's terms that the question contains, whichever is higher.
    """
    names = _name_terms(candidate.document.name, candidate.document.title)
    if names[0].isdisjoint(question_terms) and names[1].isdisjoint(question_terms):
        return 0.0, 0.0
    shared = [name.intersection(question_terms) for name in names]
    share = fsum(question_terms[term] for term in shared[0] | shared[1])
    return share / total, max(len(terms) / len(name) for terms, name in zip(shared, names, strict=True) if name)


@lru_cache(maxsize=20_000)
def _name_terms(name: str, title: str) -> tuple[frozenset[str], frozenset[str]]:
    """Return the terms of a file name without its ending, and of a title."""
    stem = name.rsplit(".", 1)[0].replace("_", " ").replace("-", " ")
    return frozenset(tokenise(stem)), frozenset(tokenise(title))
