"""What splitting the filings over several libraries costs a search of all of them.

    python -m benchmarks libraries [--data DIR] [--home DIR] [--libraries 3] [--json]

Every question is asked of one library with all filings, and of several that hold every third one each.
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


def asked(engine: Engine, question: str, libraries: list[str]) -> tuple[SearchResult, float]:
    """What is found, and the milliseconds that it took."""
    began = time.perf_counter()
    found = engine.search_now(question, library=libraries, top_k=DEPTH, effort="fast")
    return found, (time.perf_counter() - began) * 1000


def hit(found: SearchResult, question: EvalQuestion, depth: int) -> bool:
    gold = {(one.document, page) for one in question.evidence for page in (one.page, *one.also)}
    return any((page.doc_name, page.page) in gold for page in found.results[:depth])


def main() -> int:
    parser = options_of(__doc__)
    parser.add_argument("--libraries", type=int, default=3)
    options = parser.parse_args()
    with indexed(options) as (_, engine, dataset):
        parts = [f"part {number}" for number in range(1, options.libraries + 1)]
        for at, name in enumerate(parts):
            run(engine.index(dataset.files[at :: len(parts)], library=name))
        questions = [one for one in dataset.questions if one.answerable]
        for libraries in (["default"], parts):
            asked(engine, questions[0].text, libraries)  # opens them
        figures: dict[str, float] = {"questions": len(questions), "libraries": len(parts)}
        rankings = []
        for name, libraries in (("one", ["default"]), ("split", parts)):
            found = [asked(engine, one.text, libraries) for one in questions]
            for depth in (1, 5, DEPTH):
                hits = sum(hit(result, one, depth) for (result, _), one in zip(found, questions, strict=True))
                figures[f"{name}_hit@{depth}"] = hits
            figures[f"{name}_p50_ms"] = round(statistics.median(took for _, took in found), 1)
            rankings.append([[(page.doc_name, page.page) for page in result.results] for result, _ in found])
        together = list(zip(*rankings, strict=True))
        figures["same_first_5"] = sum(one[:5] == split[:5] for one, split in together)
        figures[f"same_first_{DEPTH}"] = sum(one == split for one, split in together)
    print(json.dumps(figures) if options.json else "\n".join(f"{name:<16}{value}" for name, value in figures.items()))
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except PageIndexError as error:
        sys.exit(str(error))
