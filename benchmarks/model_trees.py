"""What a model adds to section trees, and what it costs: F1 against human outlines, calls and tokens, no endpoint.

    python benchmarks/model_trees.py [--data DIR] [--filings 24]

Twelve legal books with outlines by people (hips), without their bookmarks. Their trees are improved by two scripted
models that read what any model is shown: one answers from the outline (the ceiling), one by chance (the floor). Three
starts: the tree that rules make; none, so that printed contents must be read; none, and the pages with the printed
contents taken away, so that the pages themselves must be. F1, precision, recall and parents as in eval/trees.py, means
over the books. Then what trees, section summaries and descriptions cost for filings whose trees rules made, and again
after one page of each has changed: a model that finds a heading right where its words stand in the passage, and
repeats forty words of each section. Tokens are of the input, four characters each.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import mean
from typing import Any

from eval.datasets.registry import load
from eval.scripted_trees import TreeOracle, data, guess
from eval.trees import score
from hybrid_core.models.caller import Caller
from hybrid_core.models.endpoint import Request
from hybrid_core.models.fakes import ScriptedEndpoint
from hybrid_core.types import Page, ParsedDocument, ParsedPage, Section
from hybrid_core.usage import Usage
from indexers.enrich.describe import describe_document
from indexers.enrich.sections import summarise_sections
from indexers.enrich.tree import improve_tree
from indexers.enrich.tree.shown import seen
from indexers.outline.toc_pages import find_contents
from indexers.parse.ocr_sizes import level_sizes
from indexers.parse.pdf import open_pdf, read_info, read_pages
from indexers.tree import TreeLimits, build_tree, tree_of

SEARCH = TreeLimits().toc_pages
WORDS = 40


@dataclass(frozen=True)
class Book:
    name: str
    pages: tuple[Page, ...]
    sections: tuple[Section, ...]


class Kept(dict[str, str]):
    def put(self, key: str, value: str) -> None:
        self[key] = value


def read(path: Path, *, bookmarks: bool) -> Book:
    """A PDF's pages as they are stored, and the tree that rules make of it."""
    with open_pdf(path) as pdf:
        info = read_info(pdf)
        found = [page for page in read_pages(pdf, range(1, info.pages + 1)) if isinstance(page, ParsedPage)]
    parsed = tuple(level_sizes(found))
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
                made = improve_tree(Caller(ScriptedEndpoint(answer)), book.pages, book.sections, book.name, Kept())
                got, per = score(outline, made.sections), 100 / len(book.pages)
                rows.setdefault((start, name), []).append(
                    (got.f1, got.precision, got.recall, got.parent, made.usage.calls * per,
                     made.usage.input_tokens * per, got.f1 - before.f1)
                )  # fmt: skip
    print("| start | model | F1 | precision | recall | parent | calls / 100 pages | tokens / 100 pages | worst book |")
    print("|---|---|---|---|---|---|---|---|---|")
    for (start, name), values in rows.items():
        f1, precision, recall, parent, calls, tokens, _ = (mean(column) for column in zip(*values, strict=True))
        worst = min(value[-1] for value in values)
        quality = f"{f1:.3f} | {precision:.3f} | {recall:.3f} | {parent:.3f}"
        print(f"| {start} | {name} | {quality} | {calls:.1f} | {tokens:,.0f} | {worst:+.3f} |")


def content(request: Request) -> Any:
    """Finds every title that stands in its passage, no headings beside them, and says the first words of sections."""
    text = request.messages[-1].text
    if request.title == "SectionSummaries":
        parts = re.split(r"^\[section (\d+)\]\n", data(text, "Sections"), flags=re.MULTILINE)
        said = zip(parts[1::2], parts[2::2], strict=True)
        return {
            "summaries": [{"section": int(n), "summary": " ".join(of.split()[:WORDS]), "gaps": []} for n, of in said]
        }
    if request.title == "Checks":
        entries = re.split(r"^(\d+)\. Title: (.*)$", data(text, "Entries"), flags=re.MULTILINE)
        plain = [re.sub(r"\W+", "", part.lower()) for part in entries]
        checks = zip(entries[1::3], plain[2::3], plain[3::3], strict=True)
        return {"checks": [{"entry": int(n), "begins": title[:14] in of} for n, title, of in checks]}
    nothing = {"headings": [], "places": [], "is_contents": False, "entries": []}
    return {"description": "An annual report."} if request.title == "Description" else nothing


def costs(files: Sequence[Path]) -> None:
    spent: dict[tuple[str, str], list[tuple[float, float]]] = {}
    changed: list[tuple[int, ...]] = []
    for path in files:
        book, cache = read(path, bookmarks=True), Kept()
        for step, usage in enriched(book, cache):
            per = 100 / len(book.pages)
            spent.setdefault(("whole", step), []).append((usage.calls * per, usage.input_tokens * per))
        middle = len(book.pages) // 2
        page = book.pages[middle]
        other = replace(page, text=re.sub(r"\d", lambda d: str((int(d[0]) + 1) % 10), page.text))
        again = replace(book, pages=(*book.pages[:middle], other, *book.pages[middle + 1 :]))
        changed.append(tuple(usage.calls for _, usage in enriched(again, cache)))
    print("\n| step | calls / 100 pages | input tokens / 100 pages | calls after one changed page, mean | most |")
    print("|---|---|---|---|---|")
    for at, ((_, step), values) in enumerate(spent.items()):
        calls, tokens = (mean(column) for column in zip(*values, strict=True))
        later = [one[at] for one in changed]
        print(f"| {step} | {calls:.1f} | {tokens:,.0f} | {mean(later):.1f} | {max(later)} |")
    print(f"\nAll steps after one changed page: {mean(map(sum, changed)):.1f} calls, at most {max(map(sum, changed))}")


def enriched(book: Book, cache: Kept) -> list[tuple[str, Usage]]:
    model = Caller(ScriptedEndpoint(content))
    tree = improve_tree(model, book.pages, book.sections, book.name, cache)
    said = summarise_sections(model, book.pages, tree.sections, cache)
    line = describe_document(model, book.name, said.sections, book.pages, cache)
    return [("tree", tree.usage), ("section summaries", said.usage), ("description", line.usage)]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--data", type=Path, help="the folder of the sets, else the one in PAGEINDEX_EVAL_DATA")
    parser.add_argument("--filings", type=int, default=24)
    given = parser.parse_args()
    books = load("hips", given.data and given.data / "hips")
    trees(books.files, books.outlines)
    costs(load("financebench", given.data and given.data / "financebench").files[: given.filings])


if __name__ == "__main__":
    main()
