"""Measure how much a model improves section trees: F1 against human outlines, model calls and tokens.

    python -m benchmarks model_trees [--data DIR]

The set hips has twelve legal books with outlines by people. Bookmarks are removed. Two scripted models improve the
trees and see what a real model would see. One answers from the outline and shows the upper bound; the other guesses and
shows the lower bound. Each model starts from three states:

- the tree built by rules;
- no tree, so that the model must read the printed table of contents;
- no tree and no contents pages, so that it must read the pages themselves.

F1, precision, recall and parents are computed as in eval/runs/trees.py and averaged over the books. Input tokens are
estimated at four characters each. No endpoint is needed.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import mean
from typing import Any

from eval.datasets.registry import load
from eval.runs.trees import score
from hybrid_core.llm.chat import Request
from hybrid_core.llm.client.chat_model import ChatModel
from hybrid_core.llm.client.scope import CallScope
from hybrid_core.types.documents import Page, ParsedDocument, ParsedPage, Section
from indexers.assembly.content import level_sizes
from indexers.enrich.tree import improve_tree
from indexers.enrich.tree.marks import seen
from indexers.formats.pdf.document import open_pdf
from indexers.formats.pdf.read import read_info, read_pages
from indexers.outline.toc import find_contents
from indexers.outline.tree import TreeLimits, build_tree, tree_of
from tests.doubles.replies import FakeEndpoint
from tests.doubles.scripted_trees import TreeOracle, guess

SEARCH = TreeLimits().toc_pages


@dataclass(frozen=True)
class Book:
    name: str
    pages: tuple[Page, ...]
    sections: tuple[Section, ...]


def read(path: Path, *, bookmarks: bool) -> Book:
    """Read a PDF's pages as the index stores them, and the section tree that rules build from them."""
    with open_pdf(path) as pdf:
        info = read_info(pdf)
        pages = [page for page in read_pages(pdf, range(1, info.pages + 1)) if isinstance(page, ParsedPage)]
    parsed = tuple(level_sizes(pages))
    document = ParsedDocument("pdf", parsed, info.bookmarks if bookmarks else (), info.metadata)
    return Book(path.name, tuple(map(stored, parsed)), build_tree(document))


def stored(page: ParsedPage) -> Page:
    boxes = tuple((round(s.x0), round(s.y0), round(s.x1), round(s.y1)) for s in page.lines)
    return Page(page.number, page.label, page.width, page.height, page.text, page.text[:200], boxes)


def starts(book: Book) -> Iterator[tuple[str, Book]]:
    yield "the tree by rules", book
    doc = seen(book.pages)
    parsed = [page.page for page in doc.pages]
    yield "no tree", replace(book, sections=tree_of([], parsed))
    gone = {number for contents in find_contents(doc, SEARCH) for number in contents.pages}
    pages = tuple(replace(page, text="", boxes=()) if page.number in gone else page for page in book.pages)
    yield "no tree, no contents", replace(book, pages=pages, sections=tree_of([], [p.page for p in seen(pages).pages]))


def trees(files: Sequence[Path], outlines: Any) -> None:
    rows: dict[tuple[str, str], list[tuple[float, ...]]] = {}
    for path in files:
        outline = outlines[path.name]
        for start, book in starts(read(path, bookmarks=False)):
            before = score(outline, book.sections)
            rows.setdefault((start, "rules"), []).append(
                (before.f1, before.precision, before.recall, before.parent, 0, 0, 0)
            )
            models: dict[str, Callable[[Request], Any]] = {
                "from the outline": TreeOracle(outline, [page.text for page in book.pages]), "by chance": guess,
            }  # fmt: skip
            for name, answer in models.items():
                scope = CallScope()
                improved = improve_tree(ChatModel(FakeEndpoint(answer)), scope, book.pages, book.sections, book.name)
                got, per = score(outline, improved.sections), 100 / len(book.pages)
                rows.setdefault((start, name), []).append(
                    (got.f1, got.precision, got.recall, got.parent, scope.usage.calls * per,
                     scope.usage.input_tokens * per, got.f1 - before.f1)
                )  # fmt: skip
    print("| start | model | F1 | precision | recall | parent | calls / 100 pages | tokens / 100 pages | worst book |")
    print("|---|---|---|---|---|---|---|---|---|")
    for (start, name), values in rows.items():
        f1, precision, recall, parent, calls, tokens, _ = (mean(column) for column in zip(*values, strict=True))
        worst = min(value[-1] for value in values)
        quality = f"{f1:.3f} | {precision:.3f} | {recall:.3f} | {parent:.3f}"
        print(f"| {start} | {name} | {quality} | {calls:.1f} | {tokens:,.0f} | {worst:+.3f} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--data", type=Path, help="the folder of the sets, else the one in PAGEINDEX_EVAL_DATA")
    options = parser.parse_args()
    books = load("hips", options.data and options.data / "hips")
    trees(books.files, books.outlines)


if __name__ == "__main__":
    main()
