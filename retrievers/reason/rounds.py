"""Search with a model in rounds.

The first round shows an outline and passages. Each later round shows the searches, sections and pages that the model
requested. It shows only new text, and repeats the model's replies. A search uses the model's words, exact words in
quotation marks, or a section name ("section: Manual cleaning").
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from pydantic import BaseModel

from hybrid_core.errors import ChatError, PageIndexError
from hybrid_core.llm.budget import estimate
from hybrid_core.text.tokens import cached_hash, fold, tokenise
from retrievers.query.expert import Expansion, Role
from retrievers.ranking.walk import DocumentScores, PageRef
from retrievers.reason.asker import Asker
from retrievers.reason.board import Board, FoundAgain, SearchAgain, Verdict, unique
from retrievers.reason.outline import opened, outline

MOST_SEARCHES = 3  # searches in one round
_SEARCH_LENGTH = 300  # maximum characters of a search
_PAGES = 6  # pages shown for a search
_LOOKED_INTO = 40  # pages in which exact words are searched
_SECTIONS = 8
_QUOTED = re.compile(r"""^[“"«„'‘](.+)[”"»“'’]$""", re.DOTALL)
_SECTION = re.compile(r"^\s*(?:section|heading|chapter|abschnitt|kapitel)\s*:\s*(.+)$", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class SearchWish:
    """A search that a model requested: by words, by an exact phrase, or by a section name."""

    how: Literal["words", "exact", "section"]
    text: str


def search_wish(written: str) -> SearchWish | None:
    """Parse a model's request for a search. Return None for an empty request."""
    text = " ".join(written[: 2 * _SEARCH_LENGTH].split())[:_SEARCH_LENGTH]
    if match := _SECTION.match(text):
        named = _QUOTED.match(match[1].strip())
        return SearchWish("section", named[1].strip() if named else match[1].strip())
    if match := _QUOTED.match(text):
        return SearchWish("exact", match[1].strip())
    return SearchWish("words", text) if any(map(str.isalnum, text)) else None


class AnotherSearch:
    """Further searches for one question. Their results are added to the documents that the model sees.

    ``searched`` are the earlier requests.
    """

    def __init__(self, board: Board, asker: Asker, search: SearchAgain | None) -> None:
        self._board, self._asker, self._search = board, asker, search
        self.searched: dict[SearchWish, None] = {}

    def lines(self, wish: SearchWish, listed: set[int], room: int) -> list[str]:
        """Return lines with the results of a search, in at most ``room`` tokens.

        The numbers of its documents are added to the set ``listed``.
        """
        self.searched[wish] = None
        head = f"Search for {_describe_wish(wish)}"
        self._asker.widen(wish.text)
        try:
            hits = self._hits(wish)
        except PageIndexError as error:
            self._asker.step("dropped", f"{head}: {error}")
            return [f"{head} failed."]
        lines: list[str] = []
        room -= estimate(f"{head} found:") + 1
        for line, doc in hits:
            header = [] if doc in listed else [self._board.document_line(doc)]
            size = sum(estimate(text) + 1 for text in (*header, line))
            if size > room:
                break
            room -= size
            listed.add(doc)
            lines += [*header, line]
        self._asker.step(
            "searched", f"{_describe_wish(wish)}: " + (", ".join(line[:40] for line in lines) or "nothing")
        )
        return [f"{head} found:", *lines] if lines else [f"{head} found nothing."]

    def _hits(self, wish: SearchWish) -> list[tuple[str, int]]:
        """Run a search and return its results as (line, number of the document)."""
        if self._search is None:
            return []
        again = self._search(f'"{wish.text}"' if wish.how == "exact" else wish.text)
        visits = list(again.visits[:_LOOKED_INTO])
        if wish.how == "section":
            return self._sections(wish.text, again)
        if wish.how == "exact":
            page_texts = self._asker.texts.of([(again.pages[visit.doc].content, visit.page) for visit in visits])
            words = _fold_words(wish.text)
            visits = [
                visit
                for visit, page in zip(visits, page_texts, strict=True)
                if words and words in _fold_words(page.whole)
            ]
        best = [(again.pages[visit.doc], again.expansions[visit.doc], visit.page) for visit in visits[:_PAGES]]
        places = [(self._board.add(pages, expansion), page) for pages, expansion, page in best]
        return list(zip(self._asker.passage_lines(places), (doc for doc, _ in places), strict=True))

    def _sections(self, title: str, again: FoundAgain) -> list[tuple[str, int]]:
        """Return the sections whose titles contain all words of ``title``, as (line, document number).

        They are searched in the documents that the model already sees, then in those of the new search.
        """
        terms = {cached_hash(term) for term in tokenise(title)}
        documents = [*self._board.scores, *again.pages]
        sections: dict[PageRef, None] = {}
        for pages in {scores.candidate.document.doc_id: scores for scores in documents}.values():
            content = pages.content
            places = content.headings.occurrences(terms).pages if terms else np.zeros(0, np.int64)
            holding = np.flatnonzero(np.bincount(places, minlength=1) == len(terms)) + 1 if len(places) else ()
            starts = {int(page) for page in holding}
            if not starts:
                continue
            for at, section in enumerate(content.sections):
                if section.start_page in starts and terms <= {cached_hash(t) for t in tokenise(section.title)}:
                    sections[self._board.add(pages, _expansion(again, pages)), at] = None
            if len(sections) >= _SECTIONS:
                break
        shortest = sorted(sections, key=lambda node: len(self._board.scores[node[0]].content.sections[node[1]].title))
        return [(self._board.section_line(node).strip(), node[0]) for node in shortest[:_SECTIONS]]


def _expansion(again: FoundAgain, pages: DocumentScores) -> Expansion | None:
    return next((e for scores, e in zip(again.pages, again.expansions, strict=True) if scores is pages), None)


def _describe_wish(wish: SearchWish) -> str:
    return {"words": wish.text, "exact": f'"{wish.text}"', "section": f"section: {wish.text}"}[wish.how]


def _fold_words(text: str) -> str:
    return re.sub(r"[\W_]+", " ", fold(text)).strip()


_PROMPT, _MORE = "tree-outline", "tree-outline-more"  # names of the prompts of the first round and of later rounds
_OUTLINE, _PASSAGES = 0.11, 0.155  # maximum shares of all tokens for the outline and for passages of the best pages
_OUTLINE_TOKENS = 1500  # maximum tokens of an outline
_WORTH = 1100  # tokens of new texts in a round, before tokens are kept for the next one
_SECTIONS_PER_ROUND, _PAGES_PER_ROUND = 4, 4  # maximum sections opened and pages read in a round
_A_PAGE = 400  # tokens of what is shown of a page
_SAID = 180  # tokens of a later prompt for the model's earlier replies
_MAX_LISTED, _LAST_LISTED = 8, 4  # documents that later rounds list, and that the last one does
_OPENING = 500  # tokens reserved for sections and searches, at most a third
_HIT_TOKENS = 700  # tokens for the results of a search
_SHORT = " One of the pages shown is likely to answer: name it now, and ask for more only where none can."
_NOTHING = "No page of the library holds a word of the question. Search in other words, or in another language."
_LAST = "This is the last round: name pages now."


class PageOf(BaseModel):
    """A page of a document, by the names that the outline uses."""

    document: str
    page: int


class Turn(BaseModel):
    """A model's reply to the prompt. If it requests sections or pages, another round follows."""

    reasoning: str
    search: list[str] = []
    expand: list[str] = []
    read: list[PageOf] = []
    pages: list[PageOf]
    sections: list[str] = []


class Rounds:
    """A search with a model in at most ``rounds`` rounds and within the remaining tokens.

    ``roles`` are page roles that the question needs. At most ``page_count`` pages are chosen. ``named`` are the
    documents that the question names or that were chosen. ``search`` searches the library again. With ``short`` the
    search ends with the first reply that names a page.
    """

    def __init__(
        self,
        board: Board,
        asker: Asker,
        rounds: int,
        roles: Mapping[int, Sequence[Role]],
        page_count: int,
        named: Sequence[int] = (),
        search: SearchAgain | None = None,
        short: bool = False,
    ) -> None:
        self._board, self._asker, self._rounds, self._roles, self._page_count = board, asker, rounds, roles, page_count
        self._chosen, self._again = named, AnotherSearch(board, asker, search)
        self._short = short
        self._listed: set[int] = set()  # documents that have been listed
        self._looked: set[tuple[int, int, bool]] = set()  # (document, page or section, whether it is a page)
        self._docs: dict[int, None] = {}
        self._read: dict[PageRef, None] = {}  # pages read in earlier rounds; _new are those of this round
        self._new: list[PageRef] = []

    def verdict(self) -> Verdict:
        """Run the rounds. Return the pages that the model named in the last successful round."""
        verdict = Verdict()
        values = self._first()
        for number in range(1, self._rounds + 1):
            last = number == self._rounds
            try:
                prompt = _PROMPT if number == 1 else _MORE
                size = self._asker.size(prompt, Turn, values | {"turns": ""})
                turn = self._asker.ask(prompt, Turn, values | {"turns": self._turns(number, size)})
            except ChatError as error:
                if not verdict:
                    raise
                self._asker.step("failed", str(error))
                break
            verdict = self._named(turn) or verdict
            if last or (self._short and verdict) or not (seen := self._look(turn, number + 1)):
                break
            values = self._values(verdict, turn, seen, number + 1)
            self._read |= dict.fromkeys(self._new)
        return self._with_rest(verdict)

    def _turns(self, number: int, size: int = 0) -> str:
        """Return a sentence on the rounds left, and on the pages that fit after a prompt of ``size`` tokens."""
        room = self._asker.scope.budget.left - size - self._frame(number + 1)
        left = self._spendable(room, number + 1) // _A_PAGE
        more = f" There is room to read {left} more page{'s'[: left != 1]}." if left > 0 else ""
        turns = _LAST if number == self._rounds else f"Round {number} of {self._rounds}.{more}"
        if self._short and number < self._rounds:
            turns += _SHORT
        return f"{turns} Name {self._page_count} pages at most."

    def _frame(self, number: int) -> int:
        """Return the tokens of the prompt of a later round without the texts that it shows."""
        outline = "\n".join(self._board.document_line(doc) for doc in self._documents(number))
        return self._asker.size(_MORE, Turn, {"outline": outline, "seen": "", "turns": ""}) + _SAID

    def _spendable(self, room: int, number: int) -> int:
        """Return the tokens of ``room`` for new texts in a round. Enough to read a page later is kept if possible."""
        if number >= self._rounds:
            return room
        return max(room - self._frame(number + 1) - _A_PAGE, min(room, _WORTH))

    def _first(self) -> dict[str, str]:
        tokens = self._asker.scope.budget.tokens
        empty = {"outline": "", "seen": "", "turns": self._turns(1)}
        if not self._board.reached:
            return empty | {"outline": _NOTHING, "seen": "nothing yet"}
        room = self._asker.room(_PROMPT, Turn, empty)
        room_for_outline = min(int(_OUTLINE * tokens), _OUTLINE_TOKENS, room)
        shown = outline(self._board, self._roles, self._asker.marks(), room_for_outline, self._chosen)
        room -= estimate(shown.text) + 1
        passages = self._asker.passages(min(int(_PASSAGES * tokens), room), shown.documents)
        lines = list(dict.fromkeys(passages.values()))
        if language_note := self._asker.other_language():
            lines = [language_note, *lines][: max(1, len(lines))]
        self._listed = set(shown.documents)
        self._asker.step("shown", self._seen(shown.documents, lines[bool(language_note) :]))
        left = min(int((_OUTLINE + _PASSAGES) * tokens) - estimate(shown.text), room) - estimate("\n".join(lines)) - 1
        further = self._asker.further(shown.documents, left)
        self._listed |= {doc for doc, _ in further}
        lines += further.values()
        return empty | {"outline": shown.text, "seen": "\n".join(lines) or "nothing yet"}

    def _values(self, verdict: Verdict, turn: Turn, seen: Sequence[str], number: int) -> dict[str, str]:
        """Return the values for the prompt of a later round.

        They contain the relevant documents, the model's earlier replies, the pages it has read, and the new texts.
        """
        named = ", ".join(f"D{doc + 1} page {page}" for doc, page in verdict.pages)
        read = ", ".join(f"D{doc + 1} page {page}" for doc, page in self._read)
        before = [f"You said: {' '.join(turn.reasoning.split())}"]
        before += [f"You named: {named}"] if named else []
        before += [f"Read before this round: {read}"] if read else []
        documents = "\n".join(self._board.document_line(doc) for doc in self._documents(number))
        return {"outline": documents, "seen": "\n\n".join(["\n".join(before), *seen])}

    def _documents(self, number: int) -> list[int]:
        """Return the documents that a later prompt lists: those that the model looked into or named, then the best."""
        limit = _MAX_LISTED if number < self._rounds else _LAST_LISTED
        first = [doc for doc in dict.fromkeys(doc for doc, _ in self._board.reached) if doc in self._listed]
        return list(dict.fromkeys([*self._docs, *first]))[: max(limit, len(self._docs))]

    def _named(self, turn: Turn) -> Verdict:
        pages = [
            (page_of, self._board.page(page_of.document, page_of.page))
            for page_of in turn.pages[: self._page_count + 2]
        ]
        nodes = [(name, self._board.section(name)) for name in turn.sections[: self._page_count]]
        lost = [f"{page_of.document} page {page_of.page}" for page_of, place in pages if place is None]
        self._drop([*lost, *(name for name, node in nodes if node is None)])
        places = unique(place for _, place in pages if place is not None)
        sections = unique(node for _, node in nodes if node is not None)
        self._docs |= dict.fromkeys(doc for doc, _ in (*places, *sections))
        return Verdict(places, sections, turn.reasoning)

    def _with_rest(self, verdict: Verdict) -> Verdict:
        """Add to the chosen pages the next page of each whose list or table continues there."""
        rest = [(doc, page + 1) for doc, page in verdict.pages[: self._page_count] if self._asker.goes_on((doc, page))]
        if not verdict.pages or not (new := [place for place in rest if place not in verdict.pages]):
            return verdict
        self._asker.step("read", f"what goes on there: {self._names(new)}")
        return Verdict(unique([*verdict.pages[: self._page_count], *new]), verdict.nodes, verdict.reasoning)

    def _seen(self, documents: Iterable[int], passages: Sequence[str]) -> str:
        named = [f"D{doc + 1} {self._board.scores[doc].candidate.document.name}" for doc in sorted(documents)]
        return f"the outline of {', '.join(named)}" + (f"; {len(passages)} passages" if passages else "")

    def _look(self, turn: Turn, number: int) -> list[str]:
        """Return the texts that a reply requests and that are new, as far as they fit.

        They are pages, sections and search results.
        """
        nodes, pages = self._places_asked(turn)
        wishes = [wish for item in turn.search[:MOST_SEARCHES] if (wish := search_wish(item))]
        wishes = [wish for wish in dict.fromkeys(wishes) if wish not in self._again.searched]
        new_nodes = [item for item in nodes if (*item, False) not in self._looked]
        new_pages = [item for item in pages if (*item, True) not in self._looked]
        docs = dict.fromkeys(doc for doc, _ in (*new_nodes, *new_pages))
        empty = self._values(Verdict(pages=unique(self._read)), turn, (), number) | {"turns": self._turns(number)}
        headers = estimate("\n".join(self._board.document_line(doc) for doc in docs))
        room = self._spendable(self._asker.room(_MORE, Turn, empty) - headers, number)
        seen: list[str] = []
        reading = room - min(room // 3, _OPENING) if new_nodes or wishes else room
        self._new = fit = self._asker.fitting(new_pages, reading)
        if fit:
            self._asker.step("read", self._names(fit))
            texts = self._asker.page_texts(fit, reading)
            seen += texts
            room -= sum(estimate(text) + 2 for text in texts)
            self._looked |= {(*item, True) for item in fit}
        for doc, at in new_nodes:
            text = opened(self._board, doc, at, room)
            if estimate(text) <= room:
                seen.append(text)
                room -= estimate(text) + 1
                self._looked.add((doc, at, False))
        if shown_nodes := [item for item in new_nodes if (*item, False) in self._looked]:
            names = [self._board.name(item) if item[1] >= 0 else f"D{item[0] + 1}" for item in shown_nodes]
            self._asker.step("opened", ", ".join(names))
        self._docs |= docs
        listed = set(self._documents(number))
        for wish in wishes:
            lines = self._again.lines(wish, listed, min(room, _HIT_TOKENS))
            seen.append("\n".join(lines))
            room -= estimate(seen[-1]) + 2
        self._listed |= listed
        if seen and (missed := [item for item in new_pages[len(fit) :] if item in pages]):
            seen.append(f"No room to read {self._names(missed)}.")
        return seen

    def _places_asked(self, turn: Turn) -> tuple[tuple[PageRef, ...], tuple[PageRef, ...]]:
        """Return the sections (index -1 for a whole document) and the pages that a reply requests.

        A section without parts is replaced by its best page. If a page's text continues on the next page, the next page
        is added.
        """
        nodes = [(name, self._node(name)) for name in turn.expand[:_SECTIONS_PER_ROUND]]
        pages = [
            (page_of, self._board.page(page_of.document, page_of.page)) for page_of in turn.read[:_PAGES_PER_ROUND]
        ]
        self._drop(
            [
                *(name for name, node in nodes if node is None),
                *(f"{page_of.document} page {page_of.page}" for page_of, place in pages if place is None),
            ]
        )
        sections_asked = unique(node for _, node in nodes if node is not None)
        leaves = [node for node in sections_asked if node[1] >= 0 and not self._board.children(node)]
        pages_asked = [place for _, place in pages if place is not None]
        pages_asked += [(node[0], self._board.best_pages(node, 1)[0]) for node in leaves]
        pages_asked += self._asker.following(pages_asked)
        return tuple(node for node in sections_asked if node not in leaves), unique(pages_asked)

    def _node(self, name: str) -> PageRef | None:
        doc = self._board.document(name)
        return self._board.section(name) if doc is None else (doc, -1)

    def _names(self, places: Iterable[PageRef]) -> str:
        return ", ".join(f"D{doc + 1} page {page}" for doc, page in places)

    def _drop(self, names: list[str]) -> None:
        if names:
            self._asker.step("dropped", f"there is no {', '.join(names)}")
