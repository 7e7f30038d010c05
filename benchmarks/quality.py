"""Page retrieval on FinanceBench-style questions: the whole library, and with the document given.

    python benchmarks/quality.py [--data DIR] [--home DIR] [--expert PACK] [--embedder MODEL] [--top-k 20] [--json]

Indexes the filings into HOME unless they are there, asks every question through the public engine, and prints
doc@1, hit@k and MRR. Without options no model and no expert knowledge is used. --top-k 5 asks for five pages as
users do: then the slots for required roles are among the five. --baseline measures plain page BM25 instead
(bm25s, method «lucene», k1 1.2, b 0.75, English stop words, no stemming; needs the dev extra).
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path

from eval.datasets import Dataset, EvalQuestion, data_folder, financebench
from eval.measures import hit_at, mean, reciprocal_rank
from hybrid_core.errors import PageIndexError
from hybrid_pageindex import Engine, run

SETTINGS = ("library", "document given")


def ask(engine: Engine, question: EvalQuestion, given: bool, expert: str, top_k: int) -> list[tuple[str, int]]:
    documents = sorted({gold.document for gold in question.evidence}) if given else []
    found = engine.search_now(question.text, documents=documents, top_k=top_k, effort="fast", expert=expert)
    return [(page.doc_name, page.page) for page in found.results]


def plain_bm25(engine: Engine, dataset: Dataset) -> dict[str, dict[str, float]]:
    """The pinned baseline over the same page texts."""
    import bm25s

    places: list[tuple[str, int]] = []
    texts: list[str] = []
    for document in run(engine.documents()):
        for page in run(engine.pages(document.doc_id, range(1, document.pages + 1))):
            places.append((document.name, page.page))
            texts.append(page.text)
    index = bm25s.BM25(method="lucene", k1=1.2, b=0.75)
    index.index(bm25s.tokenize(texts, stopwords="en", stemmer=None, show_progress=False), show_progress=False)
    rows: dict[str, dict[str, list[float]]] = {s: {"doc@1": [], "hit@5": [], "hit@20": []} for s in SETTINGS}
    for question in dataset.questions:
        tokens = bm25s.tokenize([question.text], stopwords="en", stemmer=None, return_ids=False, show_progress=False)[0]
        known = [token for token in tokens if token in index.vocab_dict]
        scores = index.get_scores(known) if known else [0.0] * len(places)
        names = {gold.document for gold in question.evidence}
        order = sorted(range(len(places)), key=lambda at: -scores[at])
        for setting in SETTINGS:
            ranked = [places[at] for at in order if setting == "library" or places[at][0] in names]
            gold = {(g.document, g.page) for g in question.evidence}
            rows[setting]["doc@1"].append(hit_at(1, [name for name, _ in ranked], names))
            rows[setting]["hit@5"].append(hit_at(5, ranked, gold))
            rows[setting]["hit@20"].append(hit_at(20, ranked, gold))
    return {s: {name: round(mean(values), 3) for name, values in row.items()} for s, row in rows.items()}


def measure(
    engine: Engine, dataset: Dataset, given: bool, expert: str, top_k: int
) -> tuple[dict[str, float], list[str]]:
    cutoffs = [k for k in (1, 3, 5, 10, 20) if k <= top_k]
    rows: dict[str, list[float]] = {name: [] for name in ("doc@1", *(f"hit@{k}" for k in cutoffs), "mrr")}
    misses = []
    for question in dataset.questions:
        ranked = ask(engine, question, given, expert, top_k)
        gold = {(g.document, g.page) for g in question.evidence}
        rows["doc@1"].append(hit_at(1, [d for d, _ in ranked], {g.document for g in question.evidence}))
        for k in cutoffs:
            rows[f"hit@{k}"].append(hit_at(k, ranked, gold))
        rows["mrr"].append(reciprocal_rank(ranked, gold))
        if not rows["hit@5"][-1]:
            misses.append(f"{question.id} {question.text[:110]!r} gold {sorted(gold)} got {ranked[:5]}")
    return {name: round(mean(values), 3) for name, values in rows.items()}, misses


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data")
    parser.add_argument("--home", help="keep the index here (default: a temporary folder)")
    parser.add_argument("--expert", default="none")
    parser.add_argument("--embedder", help="embed the library with this model first")
    parser.add_argument("--baseline", action="store_true")
    parser.add_argument("--top-k", type=int, default=20)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--misses", action="store_true", help="print the questions that missed")
    options = parser.parse_args()
    dataset = financebench(data_folder(options.data))
    with tempfile.TemporaryDirectory() as temporary:
        engine = Engine(options.home or Path(temporary))
        run(engine.index(dataset.files))
        if options.embedder:
            run(engine.embed(options.embedder))
        figures = {}
        if options.baseline:
            figures = plain_bm25(engine, dataset)
        for setting in () if options.baseline else SETTINGS:
            given = setting != "library"
            figures[setting], misses = measure(engine, dataset, given, options.expert, options.top_k)
            if options.misses:
                print(f"\n{setting}: missed at 5\n" + "\n".join(misses))
        engine.close()
    if options.json:
        print(json.dumps(figures))
    else:
        print(f"{dataset.name}: {len(dataset.files)} documents, {len(dataset.questions)} questions")
        for setting, row in figures.items():
            print(f"{setting:<16}" + "  ".join(f"{name} {value:.3f}" for name, value in row.items()))
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except PageIndexError as error:
        sys.exit(str(error))
