"""Measure how well questions are matched with the right documents by document cards.

    python -m benchmarks routing [--data DIR] [--errors]

A card is a short description of a document: organisation, period, type and date. DIR holds the evaluation sets; the
default is PAGEINDEX_EVAL_DATA. doc@k is the expected value if documents with equal scores come in random order.
"""

from __future__ import annotations

import argparse
import hashlib
import math
import os
import pickle
import re
import statistics
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import bm25s
import numpy as np

from benchmarks.routing_templates import Case, card_cases, same_subject, title_cases
from eval.datasets.registry import load
from hybrid_core.cards.card import read_card
from hybrid_core.errors import DocumentError
from hybrid_core.text.periods import find_periods
from hybrid_core.text.tokens import is_number, tokenise
from hybrid_core.types.documents import Card, ParsedPage
from indexers.formats.pdf.document import open_pdf
from indexers.formats.pdf.read import read_info, read_pages
from retrievers.candidates.router import Router
from retrievers.query.question import Question, read_question

WEIGHTS = (0.0, 0.1, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0)
TOP_PAGES = 200
Scores = Mapping[str, float]


@dataclass(frozen=True)
class Asked:
    text: str
    docs: frozenset[str]


@dataclass(frozen=True)
class Library:
    cards: dict[str, Card]
    pages: dict[str, list[str]]


# ---------------------------------------------------------------- reading


def read_file(path: Path) -> tuple[str, dict[str, str], list[str]]:
    document = open_pdf(path)
    info = read_info(document)
    pages = [p.text if isinstance(p, ParsedPage) else "" for p in read_pages(document, range(1, info.pages + 1))]
    return path.name, info.metadata, pages


def read_library(paths: Sequence[Path]) -> Library:
    """Read the cards and page texts of PDFs. The texts are cached in the temporary folder between runs."""
    stamp = hashlib.sha256("".join(f"{p}{p.stat().st_size}{p.stat().st_mtime}" for p in paths).encode()).hexdigest()
    cache_file = Path(tempfile.gettempdir()) / f"routing-{stamp[:16]}.pickle"
    if not cache_file.exists():
        with ProcessPoolExecutor(2) as pool:
            cache_file.write_bytes(pickle.dumps(list(pool.map(_read_or_nothing, paths))))
    read = pickle.loads(cache_file.read_bytes())
    cards, pages, times = {}, {}, []
    for name, metadata, texts in read:
        begun = time.perf_counter()
        cards[Path(name).stem] = read_card(name, metadata, "", texts)
        times.append(1e3 * (time.perf_counter() - begun))
        pages[Path(name).stem] = texts
    print(f"{len(cards)} documents; read_card {statistics.mean(times):.2f} ms mean, {max(times):.2f} ms worst")
    return Library(cards, pages)


def _read_or_nothing(path: Path) -> tuple[str, dict[str, str], list[str]]:
    try:
        return read_file(path)
    except DocumentError:
        return path.name, {}, [""]


# ---------------------------------------------------------------- measuring


def at(k: int, scores: Scores, relevant: frozenset[str], everyone: Sequence[str]) -> float:
    """Return the probability that a relevant document is among the first k, with equal scores in random order."""
    values = [scores.get(doc, 0.0) for doc in everyone]
    order = sorted(set(values), reverse=True)
    place, missed = 0, 1.0
    for value in order:
        tied = [doc for doc, own in zip(everyone, values, strict=True) if own == value]
        good = sum(doc in relevant for doc in tied)
        room = min(k - place, len(tied))
        if room <= 0:
            break
        missed *= math.comb(len(tied) - good, room) / math.comb(len(tied), room)
        place += len(tied)
    return 1.0 - missed


def document_scores(library: Library, questions: Iterable[Question]) -> list[dict[str, float]]:
    """Return the DocScore of each document for each question, divided by the best document's.

    DocScore is Σ s/√(N+1) over a document's N pages among the best 200 by page BM25 (k1 1.2, b 1). s is a page's score
    divided by the best page's.
    """
    owners = [doc for doc, pages in library.pages.items() for _ in pages]
    texts = [text for pages in library.pages.values() for text in pages]
    vocabulary: dict[str, int] = {}
    for text in texts:
        for term in _terms(tokenise(text)):
            vocabulary.setdefault(term, len(vocabulary))
    index = bm25s.BM25(method="lucene", k1=1.2, b=1.0)
    index.index([_terms(tokenise(text)) for text in texts], show_progress=False)
    result = []
    for question in questions:
        terms = [t for t in _terms(question.terms) if t in vocabulary]
        scores = index.get_scores(terms) if terms else np.zeros(len(texts))
        best = np.argsort(-scores)[:TOP_PAGES]
        best = best[scores[best] > 0]
        by_document: dict[str, list[float]] = {}
        for page in best:
            by_document.setdefault(owners[page], []).append(float(scores[page] / scores[best[0]]))
        docs = {doc: sum(s) / math.sqrt(len(s) + 1) for doc, s in by_document.items()}
        top = max(docs.values(), default=1.0)
        result.append({doc: score / top for doc, score in docs.items()})
    return result


def _terms(terms: Iterable[str]) -> list[str]:
    return [t for t in terms if not is_number(t)]


def combined(content: Scores, routing: Scores, weight: float) -> dict[str, float]:
    return {d: content.get(d, 0.0) + weight * routing.get(d, 0.0) for d in {*content, *routing}}


# ---------------------------------------------------------------- changing questions


def without_time(text: str) -> str:
    """Return the question without its years, quarters and dates."""
    pieces, position = [], 0
    for mention in find_periods(text):
        pieces.append(text[position : mention.start])
        position = mention.end
    text = "".join([*pieces, text[position:]])
    return re.sub(
        r"\s{2,}",
        " ",
        re.sub(r"\b(?:as of|in|for|during|of|on|between|from|to)\s+(?=[?.,)]|and\b|$)", "", text),
    )


VARIANTS: dict[str, Callable[[str], str]] = {
    "as is": str,
    "without years and quarters": without_time,
    "lower case": str.lower,
    "UPPER CASE": str.upper,
}


# ---------------------------------------------------------------- reporting


def report_questions(title: str, library: Library, cases: Sequence[Asked], errors: bool) -> None:
    router, everyone = Router(library.cards), list(library.cards)
    print(f"\n{title}: {len(cases)} questions over {len(everyone)} documents")
    print(f"  a guess among the right organisation's documents of the right type: {chance(library, cases):.3f}")
    print(f"{'':30}{'routing alone':>20}{'':4}doc@1 of DocScore + weight x routing; weight =")
    print(f"{'':30}{'doc@1':>10}{'doc@3':>10}{'':4}" + "".join(f"{w:>7}" for w in WEIGHTS))
    for name, change in VARIANTS.items():
        questions = [read_question(change(a.text)) for a in cases]
        routed = [router.route(q).scores for q in questions]
        content = document_scores(library, questions)
        alone = [
            statistics.mean(at(k, r, a.docs, everyone) for a, r in zip(cases, routed, strict=True)) for k in (1, 3)
        ]
        curve = []
        for weight in WEIGHTS:
            mixed = [combined(c, r, weight) for c, r in zip(content, routed, strict=True)]
            curve.append(statistics.mean(at(1, m, a.docs, everyone) for a, m in zip(cases, mixed, strict=True)))
            if errors and weight == 1.0:
                _show_errors(name, cases, mixed, everyone)
        print(f"{name:30}{alone[0]:>10.3f}{alone[1]:>10.3f}{'':4}" + "".join(f"{value:>7.3f}" for value in curve))


def chance(library: Library, questions: Sequence[Asked]) -> float:
    """Return the doc@1 of choosing at random among the documents of the right organisation and type.

    No method that ignores content can do better if the question names no time.
    """
    values = []
    for a in questions:
        own = library.cards[min(a.docs)]
        alike = [d for d, card in library.cards.items() if card.type == own.type and same_subject(own, card)]
        values.append(sum(d in a.docs for d in alike) / len(alike))
    return statistics.mean(values)


def _show_errors(name: str, questions: Sequence[Asked], mixed: Sequence[Scores], everyone: Sequence[str]) -> None:
    for a, scores in zip(questions, mixed, strict=True):
        if at(1, scores, a.docs, everyone) < 1.0:
            best = sorted(scores, key=lambda d: -scores[d])[:3]
            got = [(doc, round(scores[doc], 2)) for doc in best]
            print(f"  [{name}] {a.text[:100]!r} wants {sorted(a.docs)[:2]}, got {got}")


def report_cases(title: str, cards: Mapping[str, Card], cases: Sequence[Case], errors: bool) -> None:
    """Route generated questions, and print how often the best score is that of expected documents."""
    begun = time.perf_counter()
    router = Router(cards)
    built = time.perf_counter() - begun
    got: dict[str, list[float]] = {}
    wrong: Counter[str] = Counter()
    times = []
    for case in cases:
        question = read_question(case.text)
        begun = time.perf_counter()
        routing = router.route(question)
        times.append(1e3 * (time.perf_counter() - begun))
        scores = routing.scores
        top = max(scores.values(), default=0.0)
        best = list(routing.tied) or [d for d, s in scores.items() if s == top]
        value = sum(d in case.docs for d in best) / len(best) if best else 0.0
        for label in case.labels:
            got.setdefault(label, []).append(value)
        if value < 1.0 and errors and wrong[case.labels[0]] < 4:
            wrong[case.labels[0]] += 1
            print(f"  {case.text!r} wants {sorted(case.docs)[:2]}, got {[(b, round(scores[b], 3)) for b in best[:3]]}")
    print(f"\n{title}: {len(cases)} templated questions over {len(cards)} documents")
    print(f"  Router built in {1e3 * built:.0f} ms")
    print(f"  route() {statistics.median(times):.3f} ms median, {max(times):.2f} ms worst")
    for label, values in got.items():
        print(f"  {label:44}{len(values):>7}{statistics.mean(values):>8.3f}")


def questions(name: str, data: Path) -> tuple[Library, list[Asked]]:
    """Return a data set's documents, and its questions with the documents that they are about."""
    dataset = load(name, data)
    routed = [Asked(q.text, frozenset(Path(d).stem for d in q.documents)) for q in dataset.questions if q.documents]
    return read_library(dataset.files), routed


def statutes(data: Path) -> dict[str, Card]:
    files = load("statutes_zh", data).files
    return {path.stem: read_card(path.name, {}, "", [path.read_text()[:3_000]]) for path in files}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--data", type=Path, default=os.environ.get("PAGEINDEX_EVAL_DATA"))
    parser.add_argument("--errors", action="store_true", help="show what went wrong")
    options = parser.parse_args()
    if options.data is None:
        parser.error("no evaluation data: give --data or set PAGEINDEX_EVAL_DATA")
    data = Path(options.data)
    filings, routed = questions("financebench", data)
    report_questions("FinanceBench", filings, routed, options.errors)
    quarterly, routed = questions("sec10q", data)
    report_questions("sec10q", quarterly, routed, options.errors)
    both = filings.cards | quarterly.cards
    report_cases("Filings", both, card_cases(both), options.errors)
    contracts = read_library(load("cuad", data).files).cards
    report_cases("Contracts", contracts, card_cases(contracts), options.errors)
    laws = statutes(data)
    report_cases("Statutes (Chinese)", laws, title_cases(laws), options.errors)


if __name__ == "__main__":
    main()
