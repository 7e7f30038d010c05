"""The trees of the package ``pageindex`` with the pinned page scorer: what trees alone add to page BM25."""

from __future__ import annotations

import contextlib
import importlib
import io
import json
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from eval.datasets.corpus import Corpus
from eval.rankers.page_bm25 import PageBM25
from eval.rankers.page_scores import Floats
from eval.records.progress import Progress
from eval.records.rankings import Ranking
from hybrid_core.errors import PageIndexError

HITS = 200
"""Pages that count as hits for a question."""
Leaf = tuple[int, int]
Pages = npt.NDArray[np.int64]


class PageIndexTree:
    """Sections by NodeScore over the best page scores (PageIndex's Σ s / √(N + 1)), then their pages by score.

    Trees come from ``page_index_flash(pdf, summary=False, optimize=False)``, which uses no model, and are kept in
    ``cache``. Only its deepest sections are ranked, so that every page is in few of them.
    """

    name = "pageindex-tree"

    def __init__(self, corpus: Corpus, cache: Path, progress: Progress, *, in_chinese: bool) -> None:
        """Raises PageIndexError where the package is not installed or refuses a document."""
        self._pages = PageBM25(corpus, in_chinese=in_chinese)
        _installed()
        self.options: Mapping[str, Any] = {"pageindex": version("pageindex"), **self._pages.options}
        self._sections: list[Pages] = []
        first = {name: at for at, (name, number) in enumerate(self._pages.places.pages) if number == 1}
        names = self._pages.places.names
        with progress.bar("trees of pageindex", len(names)) as step:
            for name in names:
                document = corpus.documents[name]
                for start, end in _leaves(Path(document.path), cache / f"{document.sha256}.json", document.pages):
                    self._sections.append(np.arange(start - 1, end) + first[name])
                step()

    def rank(self, question: str, documents: Sequence[str] | None, depth: int) -> Ranking:
        scores = self._pages.scores(question)
        if documents is not None:
            places = self._pages.places
            asked = [number for number, name in enumerate(places.names) if name in set(documents)]
            scores = np.where(np.isin(places.owner, asked), scores, 0.0)
        return self._pages.places.ranking(self._by_section(scores), documents, depth)

    def _by_section(self, scores: Floats) -> Floats:
        """Each page's place as a score: sections best first, within them pages best first."""
        hits = np.zeros(len(scores))
        best = np.argsort(-scores, kind="stable")[:HITS]
        hits[best] = scores[best]
        rated = []
        for at, pages in enumerate(self._sections):
            found = hits[pages]
            count = int((found > 0).sum())
            if count:
                rated.append((-float(found.sum()) / (count + 1) ** 0.5, at))
        order: dict[int, None] = {}
        for _, at in sorted(rated):
            pages = self._sections[at]
            order |= dict.fromkeys(int(page) for page in pages[np.argsort(-hits[pages], kind="stable")] if hits[page])
        placed = np.zeros(len(scores))
        for rank, page in enumerate(order):
            placed[page] = 1.0 / (rank + 1)
        return placed


def _installed() -> Any:
    """The package's tree builder. It is no extra of this project: its requirements are its own."""
    try:
        return importlib.import_module("pageindex").page_index_flash
    except (ImportError, AttributeError) as error:
        raise PageIndexError(
            f"The ranker pageindex-tree needs the package pageindex, 0.4 or newer ({error}).",
            "Install it with: pip install 'pageindex>=0.4'",
        ) from error


def _leaves(pdf: Path, kept: Path, pages: int) -> list[Leaf]:
    """(first page, last page) of the deepest sections; a document without a tree is one section."""
    if kept.exists():
        tree = json.loads(kept.read_text(encoding="utf-8"))
    else:
        try:
            with contextlib.redirect_stdout(io.StringIO()):  # it prints, and stdout is for results
                tree = _installed()(str(pdf), summary=False, optimize=False)["structure"]
        except Exception as error:  # a foreign package raises what it likes
            raise PageIndexError(
                f"{pdf}: pageindex made no tree of it ({error}).", "Leave the document out."
            ) from error
        kept.parent.mkdir(parents=True, exist_ok=True)
        draft = kept.with_suffix(".new")
        draft.write_text(json.dumps(tree), encoding="utf-8")
        draft.replace(kept)
    found: list[Leaf] = []
    waiting = list(tree)
    while waiting:
        node = waiting.pop()
        if node.get("nodes"):
            waiting += node["nodes"]
        # A section's own pages before its first child are a leaf, too.
        start = max(1, int(node["start_index"]))
        end = min(pages, int(node["nodes"][0]["start_index"]) if node.get("nodes") else int(node["end_index"]))
        if start <= end:
            found.append((start, end))
    return sorted(found) or [(1, pages)]
