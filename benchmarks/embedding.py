"""Measure the speed of an embedder, its effect on search times, and how its rankings compare with another's.

    python -m benchmarks embedding --embedder onnx:NAME [--beside SPEC] [--set NAME] [--texts 1500] [--documents N]
                                   [--data DIR] [--home DIR] [--embed]

The benchmark embeds texts of about 64 and 245 tokens, and questions. It prints wall time and processor time. With
--embed it also times searches of an indexed set before and after its pages are embedded. --beside names a second
embedder, such as the same model in full precision. The benchmark then prints the cosine similarity of both vectors of
each page. It also prints how often each embedder ranks a right page first, using vectors alone, and the 95 % interval
of the difference.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

import numpy as np

from eval.datasets import load
from eval.measures.comparison import paired_bootstrap
from eval.records.questions import EvalQuestion
from hybrid_core.embed.embedder import Embedder, Vectors
from hybrid_core.embed.load import load_embedder
from hybrid_core.embed.local_models import ModelPlaces
from hybrid_core.embed.texts import beginning
from hybrid_core.errors import PageIndexError
from hybrid_pageindex import Engine, load_settings, run

_TOKENS = {"short": 64, "long": 245}
_AT = (1, 5, 10)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--embedder", required=True)
    parser.add_argument("--beside", help="an embedder to compare with")
    parser.add_argument("--set", default="mmlongbench")
    parser.add_argument("--texts", type=int, default=1500, help="how many short texts are timed; long ones a fifth")
    parser.add_argument("--documents", type=int, help="compare over the first so many documents and their questions")
    parser.add_argument("--embed", action="store_true", help="embed the pages, and time searches before and after")
    parser.add_argument("--data", type=Path, help="folder of the sets (PAGEINDEX_EVAL_DATA)")
    parser.add_argument("--home", type=Path, help="keep the index here (default: a temporary folder)")
    options = parser.parse_args()
    dataset = load(options.set, options.data)
    questions = [q for q in dataset.questions if q.answerable and any(gold.page for gold in q.evidence)]
    folder = load_settings().models_dir
    places = ModelPlaces(Path(folder) if folder else None)
    with tempfile.TemporaryDirectory() as temporary, closing(Engine(options.home or temporary)) as engine:
        if not run(engine.documents.list()):
            run(engine.index(list(dataset.files), enrich="never"))
        pages = pages_of(engine, options.documents)
        names = {name for name, _ in pages}
        questions = [q for q in questions if {gold.document for gold in q.evidence} <= names]
        models = {spec: load_embedder(spec, places=places) for spec in (options.embedder, options.beside) if spec}
        for spec, model in models.items():
            speed(spec, model, list(pages.values()), [q.text for q in questions], options.texts)
        if options.embed:
            searches(engine, options.embedder, [q.text for q in questions])
        if options.beside:
            compare(list(models.values()), pages, questions)
    return 0


def pages_of(engine: Engine, limit: int | None) -> dict[tuple[str, int], str]:
    texts = {}
    for document in run(engine.documents.list())[:limit]:
        if document.pages:
            for page in run(engine.pages(document.doc_id, f"1-{document.pages}")):
                if page.text.strip():
                    texts[document.name, page.page] = page.text
    return texts


def timed(work: Callable[[], object]) -> tuple[float, float]:
    """Run ``work`` and return its wall time and its processor time in seconds."""
    clock, processor = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - clock, time.process_time() - processor


def speed(spec: str, model: Embedder, texts: Sequence[str], questions: Sequence[str], count: int) -> None:
    model.embed(texts[:5], "document")
    for name, tokens in _TOKENS.items():
        some = [beginning(text, tokens) for text in texts][: count if name == "short" else count // 5]
        clock, processor = timed(lambda some=some: model.embed(some, "document"))  # type: ignore[misc]
        print(f"{spec}: {len(some)} {name} texts, {len(some) / processor:.1f} a processor second, "
              f"{len(some) / clock:.1f} a second by the clock", flush=True)  # fmt: skip
    taken = [timed(lambda q=q: model.embed([q], "query")) for q in questions]  # type: ignore[misc]
    print(f"{spec}: a question, {p50(taken)}", flush=True)


def searches(engine: Engine, spec: str, questions: Sequence[str]) -> None:
    """Time searches before and after the pages are embedded, and print the medians.

    Each timed question is searched once before and once after, so that its vector is not cached.
    """
    run(engine.models.embed("none"))
    some, others = questions[::2], questions[1::2]
    for name in ("without", "with"):
        if name == "with":
            run(engine.models.embed(spec))
        for question in others[:5]:
            engine.search_now(question, effort="fast")
        taken = [timed(lambda q=q: engine.search_now(q, effort="fast")) for q in some]  # type: ignore[misc]
        print(f"a search {name} vectors: {p50(taken)}", flush=True)


def p50(taken: Sequence[tuple[float, float]]) -> str:
    clock, processor = (1000 * statistics.median(values) for values in zip(*taken, strict=True))
    return f"p50 {processor:.1f} ms of the processor, {clock:.1f} by the clock"


def compare(models: Sequence[Embedder], pages: dict[tuple[str, int], str], questions: Sequence[EvalQuestion]) -> None:
    places, texts = list(pages), [beginning(text, _TOKENS["short"]) for text in pages.values()]
    vectors = [model.embed(texts, "document") for model in models]
    cosines = (vectors[0] * vectors[1]).sum(axis=1)
    print(f"{len(texts)} pages, cosine {cosines.mean():.4f}, least {cosines.min():.4f}")
    query_vectors = [model.embed([q.text for q in questions], "query") for model in models]
    for setting in ("given", "library"):
        ranks = [
            [rank(rows, query, places, question, setting) for query, question in zip(queries, questions, strict=True)]
            for rows, queries in zip(vectors, query_vectors, strict=True)
        ]
        for at in _AT:
            hits = [[float(place <= at) for place in each] for each in ranks]
            differences = [a - b for a, b in zip(*hits, strict=True)]
            between = paired_bootstrap(differences)
            means = [statistics.mean(each) for each in hits]
            print(f"{setting} hit@{at}: {means[0]:.3f} beside {means[1]:.3f}, difference {between.mean:+.3f} "
                  f"[{between.low:+.3f}, {between.high:+.3f}], {sum(map(abs, differences)):.0f} of {len(questions)} "
                  "questions differ", flush=True)  # fmt: skip


def rank(rows: Vectors, query: Vectors, places: list[tuple[str, int]], question: EvalQuestion, setting: str) -> int:
    """Return the rank, from 1, of the first page that answers the question.

    Return one more than the number of pages if no such page has text.
    """
    gold = {(gold.document, gold.page) for gold in question.evidence}
    documents = {document for document, _ in gold}
    order = np.argsort(-(rows @ query), kind="stable")
    among = [places[i] for i in order if setting == "library" or places[i][0] in documents]
    return next((i for i, place in enumerate(among, 1) if place in gold), len(among) + 1)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except PageIndexError as error:
        sys.exit(str(error))
