"""An outline and the best passages first, then what the model asks for: it searches again, opens sections and reads
pages until it can name some.

Each round shows what is new and says what the model had said; nothing is shown twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from pydantic import BaseModel

from hybrid_core.errors import ChatError
from hybrid_core.llm.token_estimate import estimate
from retrievers.pages.scores import Place
from retrievers.query.expert import Role
from retrievers.reason.again import MOST as SEARCHES
from retrievers.reason.again import AnotherSearch, search_wish
from retrievers.reason.asker import Asker
from retrievers.reason.board import Board, SearchAgain
from retrievers.reason.outline import opened, outline
from retrievers.reason.verdict import Verdict, unique

_PROMPT, _MORE = "tree-outline", "tree-outline-more"  # of the first round, and of those after it
_OUTLINE, _PASSAGES = 0.17, 0.14  # of all tokens at most, for the outline, and for passages of the best pages
_LONGEST = 1500  # tokens of an outline, however many there are
_NOW = 0.6  # of the tokens left, for what is opened and read where another round may follow,
_WORTH = 1100  # but so many, so that a page can be read whole
_OPENED, _READ = 4, 4  # sections opened and pages read in a round at most
_A_PAGE = 600  # tokens of a page that is read
_LISTED = 8  # documents that later rounds have a line of
_OPENING = 500  # tokens that pages leave to sections and searches, a third at most
_FOUND = 700  # tokens of what a search finds
_SHORT = " One of the pages shown is likely to answer: name it now, and ask for more only where none can."
_NOTHING = "No page of the library holds a word of the question. Search in other words, or in another language."
_LAST = "This is the last round: name pages now."


class PageOf(BaseModel):
    """A page of a document, both as the outline calls them."""

    document: str
    page: int


class Turn(BaseModel):
    """One reply of the model, as the prompt asks for it. With something to expand or read it gets another round."""

    reasoning: str
    search: list[str] = []
    expand: list[str] = []
    read: list[PageOf] = []
    pages: list[PageOf]
    sections: list[str] = []


class Rounds:
    """One search over a board in at most ``rounds`` rounds and the tokens that the asker has.

    ``roles`` are what pages of a document may be for; ``wanted`` pages answer the question at most. ``named`` are the
    documents that the question names or that were chosen for it. ``search`` searches the library again. ``short``: it
    ends with the first reply that names a page.
    """

    def __init__(
        self,
        board: Board,
        asker: Asker,
        rounds: int,
        roles: Mapping[int, Sequence[Role]],
        wanted: int,
        named: Sequence[int] = (),
        search: SearchAgain | None = None,
        short: bool = False,
    ) -> None:
        self._board, self._asker, self._rounds, self._roles, self._wanted = board, asker, rounds, roles, wanted
        self._chosen, self._again = named, AnotherSearch(board, asker, search)
        self._short = short
        self._listed: set[int] = set()  # documents that have had a line
        self._looked: set[tuple[int, int, bool]] = set()  # (document, page or section, whether it is a page)
        self._docs: dict[int, None] = {}
        self._read: dict[Place, None] = {}  # before this round, and in it:
        self._new: list[Place] = []

    def verdict(self) -> Verdict:
        """What the last round named; where a later call fails, what the one before it named, if anything."""
        verdict = Verdict()
        values = self._first()
        for number in range(1, self._rounds + 1):
            last = number == self._rounds
            try:
                turn = self._asker.ask(_PROMPT if number == 1 else _MORE, Turn, values | {"turns": self._turns(number)})
            except ChatError as error:
                if not verdict:
                    raise
                self._asker.step("failed", str(error))
                break
            verdict = self._named(turn) or verdict
            if last or (self._short and verdict) or not (seen := self._look(turn, number + 1)):
                break
            values = self._values(verdict, turn, seen)
            self._read |= dict.fromkeys(self._new)
        return self._with_rest(verdict)

    def _turns(self, number: int) -> str:
        left = self._asker.scope.budget.left // _A_PAGE - 1
        room = f" There is room to read {left} more page{'s'[: left != 1]}." if left > 0 else ""
        turns = _LAST if number == self._rounds else f"Round {number} of {self._rounds}.{room}"
        if self._short and number < self._rounds:
            turns += _SHORT
        return f"{turns} Name {self._wanted} pages at most."

    def _first(self) -> dict[str, str]:
        tokens = self._asker.scope.budget.tokens
        empty = {"outline": "", "seen": "", "turns": self._turns(1)}
        if not self._board.found:
            return empty | {"outline": _NOTHING, "seen": "nothing yet"}
        room = self._asker.room(_PROMPT, Turn, empty)
        most = min(int(_OUTLINE * tokens), _LONGEST, room)
        shown = outline(self._board, self._roles, self._asker.marks(), most, self._chosen)
        passages = self._asker.passages(min(int(_PASSAGES * tokens), room - estimate(shown.text) - 1), shown.documents)
        if said := self._asker.other_language():
            passages = [said, *passages][: max(1, len(passages))]
        self._listed = set(shown.documents)
        self._asker.step("shown", self._seen(shown.documents, passages[bool(said) :]))
        return empty | {"outline": shown.text, "seen": "\n".join(passages) or "nothing yet"}

    def _values(self, verdict: Verdict, turn: Turn, seen: Sequence[str]) -> dict[str, str]:
        """What a later round is given: the documents that matter, what was said and read before, and what is new."""
        named = ", ".join(f"D{doc + 1} page {page}" for doc, page in verdict.pages)
        read = ", ".join(f"D{doc + 1} page {page}" for doc, page in self._read)
        before = [f"You said: {' '.join(turn.reasoning.split())}"]
        before += [f"You named: {named}"] if named else []
        before += [f"Read before this round: {read}"] if read else []
        first = [doc for doc in dict.fromkeys(doc for doc, _ in self._board.found) if doc in self._listed]
        listed = list(dict.fromkeys([*self._docs, *first]))[: max(_LISTED, len(self._docs))]
        documents = "\n".join(self._board.document_line(doc) for doc in listed)
        return {"outline": documents, "seen": "\n\n".join(["\n".join(before), *seen])}

    def _named(self, turn: Turn) -> Verdict:
        pages = [(one, self._board.page(one.document, one.page)) for one in turn.pages[: self._wanted + 2]]
        nodes = [(name, self._board.section(name)) for name in turn.sections[: self._wanted]]
        lost = [f"{one.document} page {one.page}" for one, place in pages if place is None]
        self._drop([*lost, *(name for name, node in nodes if node is None)])
        found = unique(place for _, place in pages if place is not None)
        sections = unique(node for _, node in nodes if node is not None)
        self._docs |= dict.fromkeys(doc for doc, _ in (*found, *sections))
        return Verdict(found, sections, turn.reasoning)

    def _with_rest(self, verdict: Verdict) -> Verdict:
        """With the next page of each that breaks off in a list or a table, behind those that were named."""
        rest = [(doc, page + 1) for doc, page in verdict.pages[: self._wanted] if self._asker.goes_on((doc, page))]
        if not verdict.pages or not (new := [place for place in rest if place not in verdict.pages]):
            return verdict
        self._asker.step("read", f"what goes on there: {self._names(new)}")
        return Verdict(unique([*verdict.pages[: self._wanted], *new]), verdict.nodes, verdict.reasoning)

    def _seen(self, documents: Iterable[int], passages: Sequence[str]) -> str:
        named = [f"D{doc + 1} {self._board.scores[doc].candidate.document.name}" for doc in sorted(documents)]
        return f"the outline of {', '.join(named)}" + (f"; {len(passages)} passages" if passages else "")

    def _look(self, turn: Turn, number: int) -> list[str]:
        """What was asked for and is new, as far as there is room: pages read, sections opened, searches made."""
        nodes, pages = self._asked(turn)
        wishes = [wish for one in turn.search[:SEARCHES] if (wish := search_wish(one))]
        wishes = [wish for wish in dict.fromkeys(wishes) if wish not in self._again.searched]
        new_nodes = [one for one in nodes if (*one, False) not in self._looked]
        new_pages = [one for one in pages if (*one, True) not in self._looked]
        docs = dict.fromkeys(doc for doc, _ in (*new_nodes, *new_pages))
        empty = self._values(Verdict(pages=unique(self._read)), turn, ()) | {"turns": self._turns(number)}
        headers = estimate("\n".join(self._board.document_line(doc) for doc in docs))
        room = self._asker.room(_MORE, Turn, empty) - headers
        if number < self._rounds:
            room = max(int(_NOW * room), min(room, _WORTH))
        seen: list[str] = []
        reading = room - min(room // 3, _OPENING) if new_nodes or wishes else room
        self._new = fit = self._asker.fitting(new_pages, reading)
        if fit:
            self._asker.step("read", self._names(fit))
            texts = self._asker.page_texts(fit, reading)
            seen += texts
            room -= sum(estimate(text) + 2 for text in texts)
            self._looked |= {(*one, True) for one in fit}
        for doc, at in new_nodes:
            text = opened(self._board, doc, at, room)
            if estimate(text) <= room:
                seen.append(text)
                room -= estimate(text) + 1
                self._looked.add((doc, at, False))
        if shown_nodes := [one for one in new_nodes if (*one, False) in self._looked]:
            names = [self._board.name(one) if one[1] >= 0 else f"D{one[0] + 1}" for one in shown_nodes]
            self._asker.step("opened", ", ".join(names))
        for wish in wishes:
            lines = self._again.lines(wish, self._listed, min(room, _FOUND))
            seen.append("\n".join(lines))
            room -= estimate(seen[-1]) + 2
        if seen and (missed := [one for one in new_pages[len(fit) :] if one in pages]):
            seen.append(f"No room to read {self._names(missed)}.")
        self._docs |= docs
        return seen

    def _asked(self, turn: Turn) -> tuple[tuple[Place, ...], tuple[Place, ...]]:
        """Sections (-1: a whole document) to open, and pages to read. A section without parts is read instead: asking
        to open it means wanting to see what is in it. A page that breaks off brings the next one.
        """
        nodes = [(name, self._node(name)) for name in turn.expand[:_OPENED]]
        pages = [(one, self._board.page(one.document, one.page)) for one in turn.read[:_READ]]
        self._drop(
            [
                *(name for name, node in nodes if node is None),
                *(f"{one.document} page {one.page}" for one, place in pages if place is None),
            ]
        )
        there = unique(node for _, node in nodes if node is not None)
        leaves = [node for node in there if node[1] >= 0 and not self._board.children(node)]
        asked = [place for _, place in pages if place is not None]
        asked += [(node[0], self._board.best_pages(node, 1)[0]) for node in leaves]
        rest = [(doc, page + 1) for doc, page in asked if self._asker.goes_on((doc, page), prose=True)]
        return tuple(node for node in there if node not in leaves), unique([*asked, *rest])

    def _node(self, name: str) -> Place | None:
        doc = self._board.document(name)
        return self._board.section(name) if doc is None else (doc, -1)

    def _names(self, places: Iterable[Place]) -> str:
        return ", ".join(f"D{doc + 1} page {page}" for doc, page in places)

    def _drop(self, names: list[str]) -> None:
        if names:
            self._asker.step("dropped", f"there is no {', '.join(names)}")
