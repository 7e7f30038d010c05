"""Monte Carlo tree search of section trees, rated by a model.

The value of a section is the probability that it contains the answer. The search follows AlphaGo Zero (Silver 2017; the
bound is Rosin 2011's PUCT). In each step it descends by the highest mean value + c · prior · bound, where bound is
√(visits of the parent) / (1 + visits). It rates the children found there and updates the ancestors. Model calls replace
random play-outs: one call rates the children of a section, or reads its pages.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from pydantic import BaseModel

from hybrid_core.errors import ChatError
from retrievers.ranking.walk import PageRef
from retrievers.reason.asker import Asker, fitted
from retrievers.reason.board import Board, Verdict, unique

EXPLORE = 1.4  # c in the formula above
PAGE_TOKENS = 250  # minimum tokens of a page that are worth a call
_PAGES_PER_CALL = 3  # pages read in one call; a section with no more pages is read instead of opened
_PARTS_PER_CALL = 30  # maximum parts rated in one call
_SURE = 0.9  # probability of a page that ends the search
_LIKELY = 0.4  # minimum probability of named pages and sections
_MAX_PLACES = 3


class Rating(BaseModel):
    """A model's rating of a part: the part's number, and the probability that it contains the answer."""

    part: int
    probability: float


class Ratings(BaseModel):
    """The ratings in a model's reply to either kind of call."""

    reasoning: str
    ratings: list[Rating]


@dataclass(eq=False, slots=True)
class _Node:
    """A node of the search: a document, a section, or pages before a section's first child (``own``)."""

    doc: int
    at: int  # index of the section, -1 for a document
    prior: float
    own: bool = False
    parent: _Node | None = None
    children: list[_Node] = field(default_factory=list)
    opened: bool = False
    done: bool = False  # nothing below is left to search
    visits: int = 0
    total: float = 0.0

    def bound(self, visits: int) -> float:
        mean = self.total / self.visits if self.visits else self.prior
        return mean + EXPLORE * self.prior * math.sqrt(visits) / (1 + self.visits)


class TreeSearch:
    """A search of the section trees on a board, in at most ``calls`` model calls and the remaining tokens."""

    def __init__(self, board: Board, asker: Asker, calls: int) -> None:
        self._board, self._asker, self._calls = board, asker, calls
        best = max((scores.candidate.score for scores in board.scores), default=0.0) or 1.0
        self._root = _Node(-1, -1, 1.0, opened=True)
        for doc, scores in enumerate(board.scores):
            prior = min(1.0, max(0.05, scores.candidate.score / best))
            self._root.children.append(_Node(doc, -1, prior, parent=self._root))
        self._pages: dict[PageRef, float] = {}
        self._thoughts: list[str] = []

    def verdict(self) -> Verdict:
        """Search until a page probably answers, or until no node, call or token is left.

        Return the chosen pages and sections.
        """
        for _ in range(self._calls):
            node = self._select()
            if node is None:
                break
            prompt, look = ("tree-read", self._read) if self._readable(node) else ("tree-rate", self._rate)
            where = self._where(node)
            room = self._asker.room(prompt, Ratings, {"where": where, "parts": ""})
            if room < PAGE_TOKENS and not self._thoughts:
                raise ChatError(
                    "the input tokens for this question are used up.",
                    "Raise the setting reason_tokens.",
                    failure="too long",
                )
            if room < PAGE_TOKENS:
                break
            try:
                value = look(node, where, room)
            except ChatError as error:
                if not self._thoughts:
                    raise
                self._asker.step("failed", str(error))
                break
            while node is not None:
                node.visits, node.total = node.visits + 1, node.total + value
                node.done = node.done or (node.opened and all(child.done for child in node.children))
                node = node.parent
            if max(self._pages.values(), default=0.0) >= _SURE:
                break
        return self._chosen()

    def _select(self) -> _Node | None:
        node = self._root
        while node.opened:
            left = [child for child in node.children if not child.done]
            if not left:
                return None
            visits = max(1, node.visits)
            node = max(left, key=lambda child: child.bound(visits))
            if not node.opened and not self._readable(node):
                parts = self._parts(node)
                if len(parts) == 1:  # a single part needs no call
                    parts[0].prior = node.prior
                    node.children, node.opened = parts, True
        return node

    def _readable(self, node: _Node) -> bool:
        return (
            node.own
            or not self._parts(node)
            or (node.at >= 0 and len(self._board.pages_of((node.doc, node.at))) <= _PAGES_PER_CALL)
        )

    def _parts(self, node: _Node) -> list[_Node]:
        content = self._board.scores[node.doc].candidate.content
        below = content.children[node.at]  # -1 gives the top sections
        parts = [_Node(node.doc, child, 0.0, parent=node) for child in below]
        if node.at >= 0 and below:
            first, begins = content.sections[node.at], content.sections[below[0]]
            if (first.start_page, first.anchor) != (
                begins.start_page,
                begins.anchor,
            ) and begins.start_page > first.start_page:
                parts.insert(0, _Node(node.doc, node.at, 0.0, own=True, parent=node))
        promises = self._board.promises(node.doc)
        if len(parts) > _PARTS_PER_CALL:
            best_parts = sorted(parts, key=lambda part: -promises[part.at])[:_PARTS_PER_CALL]
            parts = [part for part in parts if part in best_parts]
        return parts

    def _pages_of(self, node: _Node) -> range:
        pages = self._board.pages_of((node.doc, node.at))
        if node.own:
            content = self._board.scores[node.doc].candidate.content
            return range(pages.start, content.sections[content.children[node.at][0]].start_page + 1)
        return pages

    def _where(self, node: _Node) -> str:
        document = self._board.document_line(node.doc)
        if node.at < 0 or self._readable(node):
            return document
        return f"{document}\n{self._board.section_line((node.doc, node.at)).strip()}"

    def _rate(self, node: _Node, where: str, room: int) -> float:
        parts = self._parts(node)
        lines = fitted([self._line(part) for part in parts], room)
        ratings = self._asker.ask("tree-rate", Ratings, {"where": where, "parts": _listed(lines)})
        rated = self._rated_parts(ratings, len(parts))
        for number, part in enumerate(parts, 1):
            part.prior = rated.get(number, 0.0)
        node.children, node.opened = parts, True
        named = sorted(rated.items(), key=lambda item: -item[1])[:3]
        self._asker.step("rated", "; ".join(f"{lines[n - 1].strip()}: {p:.2f}" for n, p in named))
        return max(rated.values(), default=0.0)

    def _read(self, node: _Node, where: str, room: int) -> float:
        pages = self._pages_of(node)
        values = self._board.scores[node.doc].values
        unread = [page for page in pages if (node.doc, page) not in self._pages]
        count = min(_PAGES_PER_CALL, room // PAGE_TOKENS)
        chosen = sorted(sorted(unread, key=lambda page: (-values[page - 1], page))[:count])
        node.done = len(unread) <= count
        if not chosen:
            return max((self._pages[node.doc, page] for page in pages), default=0.0)
        places = [(node.doc, page) for page in chosen]
        self._asker.step("read", ", ".join(f"D{doc + 1} page {page}" for doc, page in places))
        texts = self._asker.page_texts(places, room - 2 * len(places))
        ratings = self._asker.ask("tree-read", Ratings, {"where": where, "parts": _listed(texts)})
        rated = self._rated_parts(ratings, len(places))
        for number, place in enumerate(places, 1):
            self._pages[place] = rated.get(number, 0.0)
        return max(rated.values(), default=0.0)

    def _rated_parts(self, ratings: Ratings, parts: int) -> dict[int, float]:
        self._thoughts.append(ratings.reasoning)
        if wrong := [str(rating.part) for rating in ratings.ratings if not 1 <= rating.part <= parts]:
            self._asker.step("dropped", f"parts that do not exist: {', '.join(wrong)}")
        return {
            rating.part: min(1.0, max(0.0, rating.probability))
            for rating in ratings.ratings
            if 1 <= rating.part <= parts
        }

    def _line(self, part: _Node) -> str:
        if part.own:
            pages = self._pages_of(part)
            return f"what stands before its first part · pages {pages.start}-{pages[-1]}"
        return self._board.section_line((part.doc, part.at), summary=True).strip()

    def _chosen(self) -> Verdict:
        likely = sorted(((p, place) for place, p in self._pages.items() if p >= _LIKELY), key=lambda item: -item[0])
        pages = unique(place for _, place in likely[:_MAX_PLACES])
        sections = sorted(self._leaves(self._root), key=lambda node: -node.prior)
        nodes = unique((node.doc, node.at) for node in sections if node.prior >= _LIKELY and node.at >= 0)
        return Verdict(pages, nodes[: max(0, _MAX_PLACES - len(pages))], self._thoughts[-1] if self._thoughts else "")

    def _leaves(self, node: _Node) -> list[_Node]:
        """Return the rated sections that were neither opened nor read."""
        if node.opened:
            return [leaf for child in node.children for leaf in self._leaves(child)]
        return [] if node.visits or node.parent is self._root else [node]


def _listed(parts: Sequence[str]) -> str:
    return "\n".join(f"{number}. {part}" for number, part in enumerate(parts, 1))
