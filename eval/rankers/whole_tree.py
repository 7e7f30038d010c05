"""Whole-tree reasoning: a model reads the complete section trees and names the sections, as PageIndex does it.

PageIndex's tree search puts a document's whole tree, with titles, page ranges and summaries, into one prompt and takes
a list of nodes; among several documents its search by description first lets the model pick by one-line descriptions.
No words are matched and no page is scored.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from eval.datasets.corpus import Corpus
from eval.records.rankings import RankedPage, Ranking
from hybrid_core.llm.client.scope import CallScope
from hybrid_core.llm.prompts import prompt
from hybrid_core.llm.token_estimate import estimate
from hybrid_core.types.documents import Section
from hybrid_core.types.usage import Usage

if TYPE_CHECKING:
    from hybrid_core.llm.client.chat_model import ChatModel

MOST_PICKED = 3  # documents whose trees are read, where the whole library is asked
TREE_TOKENS = 100_000  # of all trees in a prompt, by estimate: what models with windows of 128,000 can read
LIST_TOKENS = 50_000  # of the descriptions of all documents
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
    """The pages of the sections that the model names, in its order and, within a section, in theirs."""

    name = "whole-tree"

    def __init__(self, corpus: Corpus, model: ChatModel) -> None:
        self._corpus, self._model = corpus, model
        self.options: Mapping[str, Any] = {
            "model": model.name, "prompts": [prompt(name).id for name in ("documents-pick", "tree-whole")],
            "most_picked": MOST_PICKED, "tree_tokens": TREE_TOKENS, "list_tokens": LIST_TOKENS,
        }  # fmt: skip

    def rank(self, question: str, documents: Sequence[str] | None, depth: int) -> Ranking:
        """Raises ChatError where the model fails."""
        usage, notes = Usage(), []
        if documents is None:
            documents, usage, said = self._picked(question)
            notes += said
        shown, said = self._trees(documents)
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
            notes.append(f"named {len(unknown)} sections that are not there: {', '.join(unknown[:5])}")
        pages: dict[tuple[str, int], RankedPage] = {}
        for rank, (document, section) in enumerate((named[name] for name in listed if name in named), 1):
            node = (section.start_page, section.end_page)
            for page in range(node[0], node[1] + 1):
                pages.setdefault((document, page), RankedPage(document, page, 1 / rank, section.node_id, node))
        ranked = list(pages.values())[:depth]
        return Ranking(
            tuple(ranked), tuple(dict.fromkeys([*(page.document for page in ranked), *documents])),
            notes=(*notes, *said), tokens=_tokens(usage), input_tokens=usage.input_tokens, cost=usage.cost,
        )  # fmt: skip

    def _picked(self, question: str) -> tuple[list[str], Usage, list[str]]:
        """The documents that the model picks by their descriptions, best first."""
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
        known = {f"D{number}": name for number, name in enumerate(names[: len(lines)], 1)}
        said = list(dict.fromkeys(reply.value.documents if reply.value else []))
        if unknown := [short for short in said if short not in known]:
            notes.append(f"picked {len(unknown)} documents that are not there: {', '.join(unknown[:5])}")
        return [known[short] for short in said if short in known][:MOST_PICKED], reply.usage, notes

    def _trees(self, documents: Sequence[str]) -> tuple[list[tuple[tuple[str, Section] | None, str]], list[str]]:
        """((document, section), line) of everything shown, and what was left out for want of room."""
        whole = self._lines(documents, summaries=True)
        if _size(whole) <= TREE_TOKENS:
            return whole, []
        bare = self._lines(documents, summaries=False)
        deepest = max(place[1].level for place, _ in bare if place)
        for level in range(deepest, 0, -1):
            kept = [(place, line) for place, line in bare if place is None or place[1].level <= level]
            if _size(kept) <= TREE_TOKENS:
                cut = f" and {len(bare) - len(kept)} deep sections" if len(kept) < len(bare) else ""
                return kept, [f"the trees were too long for one prompt: summaries{cut} were left out"]
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
