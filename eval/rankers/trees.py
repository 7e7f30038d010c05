"""Rankers by section trees: of the package ``pageindex``, and a model that reads whole trees.

``PageIndexTree`` combines the package's trees with page scores by BM25, so its gain over page BM25 comes from the
trees.

``WholeTree`` puts a document's whole tree, with titles, page ranges and summaries, into one prompt, as PageIndex does.
It receives a list of nodes. For several documents the model first selects some by one-line descriptions. It neither
matches words nor scores pages.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import json
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel

from eval.datasets.corpus import Corpus
from eval.rankers.baselines import Floats, PageBM25
from eval.records.progress import Progress
from eval.records.questions import RankedPage, Ranking
from hybrid_core.errors import PageIndexError
from hybrid_core.llm.budget import estimate
from hybrid_core.llm.client.scope import CallScope
from hybrid_core.llm.prompts import prompt
from hybrid_core.types.documents import Section
from hybrid_core.types.usage import Usage

if TYPE_CHECKING:
    from hybrid_core.llm.client.chat_model import ChatModel


HITS = 200
"""The number of pages that count as hits for a question."""
Leaf = tuple[int, int]
Pages = npt.NDArray[np.int64]


class PageIndexTree:
    """Rank sections by NodeScore over page scores (PageIndex's Σ s / √(N + 1)), then their pages by score.

    Trees come from ``page_index_flash(pdf, summary=False, optimize=False)``, which uses no model, and are stored in
    ``cache``. Only the deepest sections are ranked.
    """

    name = "pageindex-tree"

    def __init__(self, corpus: Corpus, cache: Path, progress: Progress, *, in_chinese: bool) -> None:
        """Build or read the trees of all documents. Raise PageIndexError if the package is missing or rejects a
        document.
        """
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
            numbers = [number for number, name in enumerate(places.names) if name in set(documents)]
            scores = np.where(np.isin(places.owner, numbers), scores, 0.0)
        return self._pages.places.ranking(self._by_section(scores), documents, depth)

    def _by_section(self, scores: Floats) -> Floats:
        """Return a score for each page, so that pages of better sections come first.

        Within a section, better pages come first.
        """
        hits = np.zeros(len(scores))
        best = np.argsort(-scores, kind="stable")[:HITS]
        hits[best] = scores[best]
        rated = []
        for at, pages in enumerate(self._sections):
            section_hits = hits[pages]
            count = int((section_hits > 0).sum())
            if count:
                rated.append((-float(section_hits.sum()) / (count + 1) ** 0.5, at))
        order: dict[int, None] = {}
        for _, at in sorted(rated):
            pages = self._sections[at]
            order |= dict.fromkeys(int(page) for page in pages[np.argsort(-hits[pages], kind="stable")] if hits[page])
        placed = np.zeros(len(scores))
        for rank, page in enumerate(order):
            placed[page] = 1.0 / (rank + 1)
        return placed


def _installed() -> Any:
    """Return the tree builder of the package ``pageindex``. Raise PageIndexError if it is missing.

    The package is not an extra of this project, because it has its own requirements.
    """
    try:
        return importlib.import_module("pageindex").page_index_flash
    except (ImportError, AttributeError) as error:
        raise PageIndexError(
            f"The ranker pageindex-tree needs the package pageindex 0.4 or newer ({error}).",
            "Install it with: pip install 'pageindex>=0.4'",
        ) from error


def _leaves(pdf: Path, cache_file: Path, pages: int) -> list[Leaf]:
    """Return (first page, last page) of each part of a document that has no subsections.

    The pages of a section before its first subsection are such a part. A document without a tree is one part.
    """
    if cache_file.exists():
        tree = json.loads(cache_file.read_text(encoding="utf-8"))
    else:
        try:
            with contextlib.redirect_stdout(io.StringIO()):  # the package prints, but stdout is for results
                tree = _installed()(str(pdf), summary=False, optimize=False)["structure"]
        except Exception as error:  # the package may raise any exception
            raise PageIndexError(
                f"{pdf}: pageindex could not make a tree of this file ({error}).",
                "Leave this document out of the data set.",
            ) from error
        cache_file.parent.mkdir(parents=True, exist_ok=True)
        draft = cache_file.with_suffix(".new")
        draft.write_text(json.dumps(tree), encoding="utf-8")
        draft.replace(cache_file)
    leaves: list[Leaf] = []
    waiting = list(tree)
    while waiting:
        node = waiting.pop()
        if node.get("nodes"):
            waiting += node["nodes"]
        # A section's own pages before its first child are a leaf, too.
        start = max(1, int(node["start_index"]))
        end = min(pages, int(node["nodes"][0]["start_index"]) if node.get("nodes") else int(node["end_index"]))
        if start <= end:
            leaves.append((start, end))
    return sorted(leaves) or [(1, pages)]


MOST_PICKED = 3  # documents whose trees are read for a question about the whole library
TREE_TOKENS = 100_000  # estimated tokens of all trees in a prompt, suitable for models with a context of 128,000
LIST_TOKENS = 50_000  # maximum tokens of the descriptions of all documents
_REPLY = 2000


class PicksReply(BaseModel):
    """The reply to the prompt ``documents-pick``."""

    thinking: str
    documents: list[str]


class NodeList(BaseModel):
    """The reply to the prompt ``tree-whole``."""

    thinking: str
    node_list: list[str]


class WholeTree:
    """Rank the pages of the sections that a model names after reading the whole tree."""

    name = "whole-tree"

    def __init__(self, corpus: Corpus, model: ChatModel) -> None:
        self._corpus, self._model = corpus, model
        self.options: Mapping[str, Any] = {
            "model": model.name, "prompts": [prompt(name).id for name in ("documents-pick", "tree-whole")],
            "most_picked": MOST_PICKED, "tree_tokens": TREE_TOKENS, "list_tokens": LIST_TOKENS,
        }  # fmt: skip

    def rank(self, question: str, documents: Sequence[str] | None, depth: int) -> Ranking:
        """Return the ranking of a model that reads the whole tree. Raise ChatError if the model fails."""
        usage, notes = Usage(), []
        if documents is None:
            documents, usage, reasoning = self._picked(question)
            notes += reasoning
        shown, reasoning = self._trees(documents)
        if not shown:
            return Ranking(
                (),
                tuple(documents),
                notes=tuple(notes),
                tokens=_tokens(usage),
                input_tokens=usage.input_tokens,
                cost=usage.cost,
            )
        outline = "\n".join(line for _, line in shown)
        written = prompt("tree-whole")
        messages = written.messages({"question": question, "outline": outline})
        reply = self._model.ask(messages, NodeList, prompt=written.id, max_tokens=_REPLY, scope=CallScope(patient=True))
        usage += reply.usage
        named = {name: place for place, line in shown if place and (name := line.split()[0])}
        listed = reply.value.node_list if reply.value else []
        if unknown := [name for name in listed if name not in named]:
            notes.append(f"The model named {len(unknown)} sections that do not exist: {', '.join(unknown[:5])}")
        pages: dict[tuple[str, int], RankedPage] = {}
        for rank, (document, section) in enumerate((named[name] for name in listed if name in named), 1):
            node = (section.start_page, section.end_page)
            for page in range(node[0], node[1] + 1):
                pages.setdefault((document, page), RankedPage(document, page, 1 / rank, section.node_id, node))
        ranked = list(pages.values())[:depth]
        return Ranking(
            tuple(ranked), tuple(dict.fromkeys([*(page.document for page in ranked), *documents])),
            notes=(*notes, *reasoning), tokens=_tokens(usage), input_tokens=usage.input_tokens, cost=usage.cost,
        )  # fmt: skip

    def _picked(self, question: str) -> tuple[list[str], Usage, list[str]]:
        """Return the documents that the model selects by their descriptions, best first.

        Also return the usage of the call, and notes.
        """
        names = sorted(self._corpus.documents)
        lines, left = [], LIST_TOKENS
        for number, name in enumerate(names, 1):
            line = f"D{number} · {name} · {self._corpus.documents[name].description}"
            left -= estimate(line)
            if left < 0:
                break
            lines.append(line)
        notes = (
            [f"{len(names) - len(lines)} of {len(names)} documents were not shown"] if len(lines) < len(names) else []
        )
        values = {"question": question, "documents": "\n".join(lines), "most": str(MOST_PICKED)}
        written = prompt("documents-pick")
        reply = self._model.ask(
            written.messages(values), PicksReply, prompt=written.id, max_tokens=_REPLY, scope=CallScope(patient=True)
        )
        candidates = {f"D{number}": name for number, name in enumerate(names[: len(lines)], 1)}
        picked = list(dict.fromkeys(reply.value.documents if reply.value else []))
        if unknown := [short for short in picked if short not in candidates]:
            notes.append(f"The model chose {len(unknown)} documents that do not exist: {', '.join(unknown[:5])}")
        return [candidates[short] for short in picked if short in candidates][:MOST_PICKED], reply.usage, notes

    def _trees(self, documents: Sequence[str]) -> tuple[list[tuple[tuple[str, Section] | None, str]], list[str]]:
        """Return the lines of the trees that the model is shown, as ((document, section), line).

        The first value is None for a line without a section. Also return notes on what was left out because of the
        token limit.
        """
        whole = self._lines(documents, summaries=True)
        if _size(whole) <= TREE_TOKENS:
            return whole, []
        bare = self._lines(documents, summaries=False)
        deepest = max(place[1].level for place, _ in bare if place)
        for level in range(deepest, 0, -1):
            visible = [(place, line) for place, line in bare if place is None or place[1].level <= level]
            if _size(visible) <= TREE_TOKENS:
                cut = f" and {len(bare) - len(visible)} deep sections" if len(visible) < len(bare) else ""
                return visible, [f"the trees were too long for one prompt: summaries{cut} were left out"]
        return [], ["the trees were too long for one prompt, even their top levels"]

    def _lines(self, documents: Sequence[str], *, summaries: bool) -> list[tuple[tuple[str, Section] | None, str]]:
        lines: list[tuple[tuple[str, Section] | None, str]] = []
        for number, name in enumerate(documents, 1):
            document = self._corpus.documents[name]
            lines.append((None, f"D{number} · {name} · {document.pages} pages"))
            for section in self._corpus.sections(name):
                first, last = section.start_page, section.end_page
                pages = f"page {first}" if first == last else f"pages {first}-{last}"
                summary = f" · {' '.join(section.summary.split())}" if summaries and section.summary else ""
                title = " ".join(section.title.split())
                line = f"{'  ' * section.level}D{number}.{section.node_id} {title} · {pages}{summary}"
                lines.append(((name, section), line))
        return lines


def _size(lines: Sequence[tuple[object, str]]) -> int:
    return sum(estimate(line) + 1 for _, line in lines)


def _tokens(usage: Usage) -> int:
    return usage.input_tokens + usage.output_tokens
