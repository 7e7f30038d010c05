"""The settings of a run: what of the library a question may be answered from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from eval.datasets.corpus import Corpus
from eval.records.questions import EvalQuestion
from eval.records.rankings import RankedPage, Ranker, Ranking
from eval.records.runs import GoldPlace
from hybrid_core.errors import NotFoundError

_MOST = 1000  # results that the engine returns at most


def ask(
    ranker: Ranker, corpus: Corpus, question: EvalQuestion, gold: Sequence[GoldPlace], setting: str, depth: int
) -> tuple[tuple[str, ...] | None, Ranking]:
    """The documents given (None: the whole library) and the ranking.

    A question with ``within`` is asked of those documents alone in the setting «library», too.
    «oracle-section» takes away the pages outside the deepest sections that hold gold. «oracle-pages» leaves only gold
    pages, those that were not found behind the others with score 0: an upper bound, and what a reader of right pages
    gets. Raises what the ranker raises, and NotFoundError where no document that is given was indexed.
    """
    if setting == "library" and not question.within:
        return None, _located(corpus, ranker.rank(question.text, None, depth))
    asked = question.within if setting == "library" else question.documents
    given = tuple(name for name in asked if name in corpus.documents)
    if not given:
        raise NotFoundError(
            f"Question {question.id} gives no document that was indexed ({', '.join(question.documents) or 'none'}).",
            "Look at the run's problems.",
        )
    if setting in ("library", "given"):
        return given, _located(corpus, ranker.rank(question.text, given, depth))
    everything = min(_MOST, max(depth, sum(corpus.documents[name].pages for name in given)))
    ranking = ranker.rank(question.text, given, everything)
    allowed = _sections(corpus, gold) if setting == "oracle-section" else _pages(gold)
    kept = [at for at, page in enumerate(ranking.pages) if (page.document, page.page) in allowed][:depth]
    pages = tuple(ranking.pages[at] for at in kept)
    if setting == "oracle-pages":
        found = {(page.document, page.page) for page in pages}
        pages += tuple(RankedPage(*place, 0.0) for place in sorted(allowed - found))
    receipts = tuple(ranking.receipts[at] for at in kept) if ranking.receipts else ()
    return given, _located(corpus, replace(ranking, pages=pages, receipts=receipts))


def _sections(corpus: Corpus, gold: Sequence[GoldPlace]) -> set[tuple[str, int]]:
    allowed = set()
    for place in gold:
        if place.section:
            first, last = corpus.section_range(place.document, place.section)
            allowed |= {(place.document, page) for page in range(first, last + 1)}
    return allowed


def _pages(gold: Sequence[GoldPlace]) -> set[tuple[str, int]]:
    return {(place.document, place.page) for place in gold if place.page is not None}


def _located(corpus: Corpus, ranking: Ranking) -> Ranking:
    """The sections of pages whose ranker knows none: the deepest that holds most of the page."""
    if all(page.section for page in ranking.pages):
        return ranking
    pages = []
    for page in ranking.pages:
        if not page.section:
            node = corpus.section_at(page.document, page.page)
            page = replace(page, section=node, node=corpus.section_range(page.document, node) if node else None)
        pages.append(page)
    return replace(ranking, pages=tuple(pages))
