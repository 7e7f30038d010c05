"""Measure the cost of dividing the filings among several libraries that are searched together.

    python -m benchmarks libraries [--data DIR] [--home DIR] [--libraries 3] [--json]

Every question is searched in one library with all filings, and in N libraries with every Nth filing each.
"""

from __future__ import annotations

import json
import statistics
import sys
import time

from benchmarks.filings import indexed, options_of
from eval.records.questions import EvalQuestion
from hybrid_core.errors import PageIndexError
from hybrid_core.types.results import SearchResult
from hybrid_pageindex import Engine, run

DEPTH = 20


def timed_search(engine: Engine, question: str, libraries: list[str]) -> tuple[SearchResult, float]:
    """Search, and return the result with the time that the search took in milliseconds."""
    began = time.perf_counter()
    result = engine.search_now(question, library=libraries, top_k=DEPTH, effort="fast")
    return result, (time.perf_counter() - began) * 1000


def hit(result: SearchResult, question: EvalQuestion, depth: int) -> bool:
    gold = {(place.document, page) for place in question.evidence for page in (place.page, *place.also)}
    return any((page.doc_name, page.page) in gold for page in result.results[:depth])


def main() -> int:
    parser = options_of(__doc__)
    parser.add_argument("--libraries", type=int, default=3)
    options = parser.parse_args()
    with indexed(options) as (_, engine, dataset):
        parts = [f"part {number}" for number in range(1, options.libraries + 1)]
        for at, name in enumerate(parts):
            run(engine.index(dataset.files[at :: len(parts)], library=name))
        questions = [question for question in dataset.questions if question.answerable]
        for libraries in (["default"], parts):
            timed_search(engine, questions[0].text, libraries)  # opens them
        figures: dict[str, float] = {"questions": len(questions), "libraries": len(parts)}
        rankings = []
        for name, libraries in (("one", ["default"]), ("split", parts)):
            results = [timed_search(engine, question.text, libraries) for question in questions]
            for depth in (1, 5, DEPTH):
                hits = sum(
                    hit(result, question, depth) for (result, _), question in zip(results, questions, strict=True)
                )
                figures[f"{name}_hit@{depth}"] = hits
            figures[f"{name}_p50_ms"] = round(statistics.median(took for _, took in results), 1)
            rankings.append([[(page.doc_name, page.page) for page in result.results] for result, _ in results])
        together = list(zip(*rankings, strict=True))
        figures["same_first_5"] = sum(question[:5] == split[:5] for question, split in together)
        figures[f"same_first_{DEPTH}"] = sum(question == split for question, split in together)
    print(json.dumps(figures) if options.json else "\n".join(f"{name:<16}{value}" for name, value in figures.items()))
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except PageIndexError as error:
        sys.exit(str(error))
