"""Measure whether snippets show a number of the answer together with its row name and its column head.

    python -m benchmarks table_rows financebench [--data DIR] [--home DIR] [--depth 5] [--json] [--misses N]

A result counts if it is among the first ``--depth``, is the right page, and has the answer's number in a table row. If
the set names no pages, any page of the right document may count. The positions of the words in the file determine the
names: the row name is the text to the left of the number, and the column head is the nearest text above it.
"""

from __future__ import annotations

import argparse
import json
import re
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from eval.datasets import load
from eval.measures.rules import Figure, asked_scale, figures, same
from eval.records.questions import EvalQuestion
from hybrid_core.text import tokens
from hybrid_pageindex import Engine, run

_LABEL_HELD = 0.6  # share of the row's words that the snippet must hold
_PROSE = 14  # words of a line from which it is running text
_TELLING = 3  # digits of a figure, unless it is a share: smaller ones stand on every page
_FIGURE = re.compile(r"[($€£+−-]*\d[\d,.]*[)%]*")
_YEAR = re.compile(r"(?:19|20)\d\d")
_LETTERS = re.compile(r"[^\W\d_]{2}")
_Word = tuple[float, float, float, float, str]  # x0, y0, x1, y1, text


@dataclass(frozen=True, slots=True)
class Cell:
    """A number of the gold answer in a table.

    ``written`` is its text, ``row`` the words of its row name, and ``head`` the word at the head of its column.
    """

    written: str
    row: tuple[str, ...]
    head: str


def cells(words: Sequence[_Word], gold: Sequence[Figure], scale: int | None) -> list[Cell]:
    result = []
    for x0, y0, x1, y1, word in words:
        values = figures(word) if _FIGURE.fullmatch(word) and not word.endswith(",") else []
        if len(values) != 1 or not any(same(figure, values[0], scale) for figure in gold):
            continue
        middle = (y0 + y1) / 2
        level = sorted((w for w in words if w[1] < middle < w[3]), key=lambda w: w[0])
        named = [w[4] for w in level if w[2] <= x0 and _LETTERS.search(w[4])]
        others = [w for w in level if w[0] != x0 and _FIGURE.fullmatch(w[4])]
        if not named or not others or sum(bool(_LETTERS.search(w[4])) for w in level) > _PROSE:
            continue
        above = [w for w in words if w[3] <= y0 + 1 and w[0] < x1 + 2 and w[2] > x0 - 2]
        heads = [w for w in sorted(above, key=lambda w: -w[1]) if _YEAR.search(w[4]) or _LETTERS.search(w[4])]
        if heads:
            result.append(Cell(word, tuple(named), heads[0][4]))
    return result


def shown(cell: Cell, snippet: str) -> tuple[bool, bool, bool]:
    """Return whether a snippet contains the number, also its row name, and also its column head.

    Each of the three values requires those before it.
    """
    snippet_terms = set(tokens.tokenise(snippet))
    figure = cell.written.strip("$()%,.") in snippet
    names = set(tokens.tokenise(" ".join(cell.row)))
    row = figure and len(names & snippet_terms) >= _LABEL_HELD * len(names)
    return figure, row, row and cell.head.strip("(),:") in snippet


def judged(engine: Engine, question: EvalQuestion, paths: dict[str, Path], depth: int, library: str) -> Iterator[
    tuple[tuple[bool, bool, bool], str]
]:  # fmt: skip
    scale = asked_scale(question.text)
    gold = [
        figure
        for figure in figures(question.answer)
        if figure.scale == -2 or sum(map(str.isdigit, figure.digits)) >= _TELLING
    ]
    places = {(g.document, page) for g in question.evidence if g.page for page in (g.page, *g.also)}
    result = engine.search_now(
        question.text, documents=list(question.documents), library=library, top_k=depth, effort="fast"
    )
    import pymupdf  # here, behind the packages that switch its libraries' telemetry off

    for page in result.results:
        if places and (page.doc_name, page.page) not in places:
            continue
        with pymupdf.open(paths[page.doc_name]) as document:
            words = [word[:5] for word in document[page.page - 1].get_text("words")]
        page_cells = cells(words, gold, scale)
        if page_cells:
            best = max(shown(cell, page.snippet) for cell in page_cells)
            yield best, f"{question.text[:150]}\n  {page.doc_name} {page.page} {page_cells[:3]}\n  {page.snippet}"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("set")
    parser.add_argument("--data")
    parser.add_argument("--home", help="keep the index here (default: a temporary folder)")
    parser.add_argument("--depth", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--misses", type=int, default=0, help="show so many snippets that do not hold all three")
    options = parser.parse_args()
    dataset = load(options.set, options.data)
    paths = {path.name: path for path in dataset.files}
    counts, characters, left = [0, 0, 0, 0], 0, options.misses
    with tempfile.TemporaryDirectory() as temporary, closing(Engine(Path(options.home or temporary))) as engine:
        run(engine.index(dataset.files, library=options.set, enrich="never"))
        for question in dataset.questions:
            if not question.answerable:
                continue
            for flags, row in judged(engine, question, paths, options.depth, options.set):
                counts = [count + flag for count, flag in zip(counts, (True, *flags), strict=True)]
                characters += len(row.split("\n")[2]) - 2
                if not flags[2] and left:
                    print(f"{flags} {row}\n")
                    left -= 1
    names = ("hits", "figure", "with its row", "and its column")
    report = dict(zip(names, counts, strict=True)) | {"characters": round(characters / max(1, counts[0]))}
    print(json.dumps(report) if options.json else "\n".join(f"{name:<16}{count}" for name, count in report.items()))


if __name__ == "__main__":
    main()
