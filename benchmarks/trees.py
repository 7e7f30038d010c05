"""How good and how fast the section trees of the books are, against their human outlines.

usage: python benchmarks/trees.py [--data DIR] [--match NAME]

DIR (default: $PAGEINDEX_EVAL_DATA) holds ``hips/*.pdf``, each with a ``.toc`` of ``level,heading,page`` rows.
A heading of the tree is right where its title matches one of the outline (case, spacing, punctuation and leading
numbering aside, difflib ratio of at least 0.85) at most one page away, each used once. Synthetic sections (front
matter, page groups) are not counted. ``parent`` is the share of right headings whose parent is right too. Every
book is scored twice: with its bookmarks taken away, and with them.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from pathlib import Path

from hybrid_core.types import ParsedDocument, ParsedPage, Section
from indexers.parse.pdf import open_pdf, read_info, read_pages
from indexers.tree import build_tree

_NUMBERING = re.compile(
    r"^(?:(?:chapter|part|section|article|appendix|item)\s+(?:\d+[a-z]?|[ivxlc]+|[a-z])\b[.:)]?"
    r"|\d+(?:\.\d+)*[.:)]?(?=\s)|(?:[ivxlc]+|[a-z])[.:)](?=\s))\s*"
)
_ROW = re.compile(r"\s*(\d+),(.*),(\d+)\s*$")
_ALIKE = 0.85


@dataclass(frozen=True)
class Heading:
    level: int
    title: str  # folded
    page: int


@dataclass(frozen=True)
class Score:
    f1: float
    precision: float
    recall: float
    parent: float


def fold(title: str) -> str:
    """Lower case without leading numbering and punctuation; a title that is only numbering stays."""
    lowered = title.strip().lower()
    return re.sub(r"\W+", " ", _NUMBERING.sub("", lowered) or lowered).strip()


def read_gold(path: Path) -> list[Heading]:
    text = path.read_text(encoding="utf-8-sig", errors="replace")
    rows = filter(None, map(_ROW.match, text.splitlines()))
    return [Heading(int(row[1]), fold(row[2].strip('" ')), int(row[3])) for row in rows]


def headings(sections: Sequence[Section]) -> list[Heading]:
    """A tree's headings, levels counted without its synthetic sections."""
    depth: dict[str | None, int] = {None: 0}
    found = []
    for section in sections:
        depth[section.node_id] = depth[section.parent_id] + (not section.synthetic)
        if not section.synthetic:
            found.append(Heading(depth[section.node_id], fold(section.title), section.start_page))
    return found


def _parents(found: Sequence[Heading]) -> list[str | None]:
    path: list[Heading] = []
    out = []
    for heading in found:
        while path and path[-1].level >= heading.level:
            path.pop()
        out.append(path[-1].title if path else None)
        path.append(heading)
    return out


def _likeness(left: str | None, right: str | None) -> float:
    if left is None or right is None:
        return float(left is right)
    return 1.0 if left == right else SequenceMatcher(None, left, right).ratio()


def score(gold: Sequence[Heading], found: Sequence[Heading]) -> Score:
    free = set(range(len(gold)))
    pairs: list[tuple[int, int]] = []
    for i, heading in enumerate(found):
        near = [j for j in sorted(free) if abs(gold[j].page - heading.page) <= 1 and gold[j].title and heading.title]
        rated = [(_likeness(gold[j].title, heading.title), -j) for j in near]
        best, j = max(rated, default=(0.0, 0))
        if best >= _ALIKE:
            free.discard(-j)
            pairs.append((-j, i))
    precision = len(pairs) / len(found) if found else 0.0
    recall = len(pairs) / len(gold) if gold else 0.0
    f1 = 2 * precision * recall / (precision + recall) if pairs else 0.0
    gold_parents, found_parents = _parents(gold), _parents(found)
    same = sum(_likeness(gold_parents[j], found_parents[i]) >= _ALIKE for j, i in pairs)
    return Score(f1, precision, recall, same / len(pairs) if pairs else 0.0)


def parse(path: Path) -> ParsedDocument:
    with open_pdf(path) as pdf:
        info = read_info(pdf)
        pages = tuple(
            page if isinstance(page, ParsedPage) else ParsedPage(number, "", 0.0, 0.0, (), 0)
            for number, page in enumerate(read_pages(pdf, range(1, info.pages + 1)), 1)
        )
    return ParsedDocument("pdf", pages, info.bookmarks, info.metadata)


def main() -> int:
    parser = argparse.ArgumentParser(description="Score the section trees of the books.")
    parser.add_argument("--data", type=Path, default=os.environ.get("PAGEINDEX_EVAL_DATA"))
    parser.add_argument("--match", default="", help="only books whose file name contains this")
    options = parser.parse_args()
    books = sorted(options.data.glob("hips/*.pdf")) if options.data else []
    books = [book for book in books if options.match in book.name]
    if not books:
        print("No books: name the folder with --data or PAGEINDEX_EVAL_DATA.", file=sys.stderr)
        return 1
    print(f"{'bookmarks':<10}{'book':<42}{'F1':>7}{'P':>7}{'R':>7}{'parent':>8}{'nodes':>7}{'ms/page':>9}")
    totals: dict[str, list[tuple[Score, float, int]]] = {"stripped": [], "kept": []}
    for book in books:
        document = parse(book)
        gold = read_gold(book.with_suffix(".toc"))
        for kind, scored in totals.items():
            given = document if kind == "kept" else replace(document, bookmarks=())
            began = time.process_time()
            sections = build_tree(given)
            spent = time.process_time() - began
            result = score(gold, headings(sections))
            scored.append((result, spent, len(document.pages)))
            _print_row(kind, book.stem[:40], result, len(sections), 1000 * spent / len(document.pages))
    for kind, scored in totals.items():
        means = [
            sum(getattr(s, name) for s, _, _ in scored) / len(scored)
            for name in ("f1", "precision", "recall", "parent")
        ]
        pages = sum(count for _, _, count in scored)
        _print_row(
            kind, f"mean of {len(scored)}", Score(*means), 0, 1000 * sum(spent for _, spent, _ in scored) / pages
        )
    return 0


def _print_row(kind: str, name: str, s: Score, nodes: int, speed: float) -> None:
    figures = f"{s.f1:7.3f}{s.precision:7.3f}{s.recall:7.3f}{s.parent:8.3f}"
    print(f"{kind:<10}{name:<42}{figures}{nodes or '':>7}{speed:9.2f}")


if __name__ == "__main__":
    sys.exit(main())
