"""Measure whether the answer is contained in the text that a model is given, not only on the result pages.

    python -m benchmarks sources SET [--setting library|given] [--data DIR] [--home DIR] [--tokens N] [--depth N …]

No model is called. ``text``: the gold text (the passage that answers) is in a source, comparing only letters and
digits. ``answer``: the gold answer is in a source, or all of its numbers are. Calculated numbers are usually in no
source. Each figure is printed three times: for the first prompt, after a model has requested the rest of all truncated
right sources, and with all pages in full.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

from eval.datasets import load
from eval.datasets.corpus import letters, locate
from eval.records.questions import EvalQuestion
from hybrid_pageindex import Engine, run
from retrievers.answer.citations import check
from retrievers.answer.searches import MOST_PAGES
from retrievers.answer.sources import sources

LEAST = 3  # letters of an answer that is looked for
Shown = Mapping[tuple[str, int], str]  # the text of (document, page)


def gold_of(question: EvalQuestion) -> list[tuple[tuple[str, int], str]]:
    """Return ((document, page), text) for all gold evidence with a page."""
    return [
        ((gold.document, page), gold.text)
        for gold in question.evidence
        if gold.page is not None
        for page in (gold.page, *gold.also)
    ]


def holds(question: EvalQuestion, shown: Shown) -> dict[str, bool]:
    """Return whether the gold pages among ``shown`` contain the gold text and the answer.

    The keys are "text" and "answer". Without shown gold pages both are False.
    """
    gold = gold_of(question)
    counts = {}
    if texts := [(place, letters(text)) for place, text in gold if text]:
        counts["text"] = any(text in letters(shown.get(place, "")) for place, text in texts)
    pages = [shown.get(place, "") for place, _ in gold]
    if any(map(str.isdigit, question.answer)):
        counts["answer"] = any("not on the cited page" not in _why(question.answer, page) for page in pages)
    elif len(answer := letters(question.answer)) >= LEAST:
        counts["answer"] = any(answer in letters(page) for page in pages)
    return counts


def _why(answer: str, page: str) -> str:
    """Return the result of the citation check for only the numbers of an answer."""
    numbers = " ".join(word for word in answer.split() if any(map(str.isdigit, word))).rstrip(".")
    return check(f"{numbers} [[source:1]]", {1: page}, "")[1][0].why


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("set")
    parser.add_argument("--setting", choices=("library", "given"), default="library")
    parser.add_argument("--data")
    parser.add_argument("--home", help="keep the index here (default: a temporary folder)")
    parser.add_argument("--tokens", type=int, default=7200, help="what answer_tokens leaves beside outlines")
    parser.add_argument("--depth", type=int, nargs="+", default=[5, 20])
    options = parser.parse_args()
    dataset = load(options.set, options.data)
    counts: dict[tuple[int, str], list[int]] = {}
    with tempfile.TemporaryDirectory() as temporary, closing(Engine(Path(options.home or temporary))) as engine:
        run(engine.index(dataset.files, enrich="never"))
        for question in run(locate(engine, (q for q in dataset.questions if q.answerable))).questions:
            only = list(question.documents) if options.setting == "given" else None
            pages = engine.search_now(question.text, documents=only, top_k=max(options.depth), effort="fast").results
            texts = [run(engine.pages(page.doc_id, page.page))[0].text for page in pages]
            places = [(page.doc_name, page.page) for page in pages]
            for depth in options.depth:
                sources_given = sources(question.text, pages[:depth], texts[:depth], options.tokens)
                shown = holds(question, dict(zip(places, (source.text for source in sources_given), strict=False)))
                gold = {place for place, _ in gold_of(question)}
                cut = [source.number for source in sources_given if source.cut and places[source.number - 1] in gold]
                sources_cut = sources(
                    question.text, pages[:depth], texts[:depth], options.tokens, set(cut[:MOST_PAGES])
                )
                read = holds(question, dict(zip(places, (source.text for source in sources_cut), strict=False)))
                whole = holds(question, dict(zip(places[:depth], texts, strict=False)))
                for name, totals in shown.items():
                    row = counts.setdefault((depth, name), [0, 0, 0, 0])
                    row[:] = row[0] + totals, row[1] + read[name], row[2] + whole[name], row[3] + 1
    for (depth, name), (shown_in, read_in, held_in, asked_of) in sorted(counts.items()):
        line = f"cut ones read: {read_in}; whole pages: {held_in}"
        print(f"{depth:3} sources: {name:6} stands in {shown_in} ({line}) of {asked_of} questions")


if __name__ == "__main__":
    main()
