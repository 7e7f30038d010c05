"""The scored outline in a few rounds: the model opens sections and reads pages until it can name the right ones."""

from __future__ import annotations

from pydantic import BaseModel

from hybrid_core.errors import ChatError
from hybrid_core.llm.token_estimate import estimate
from retrievers.pages.scores import Place
from retrievers.reason.asker import Asker
from retrievers.reason.board import Board
from retrievers.reason.verdict import Verdict, unique

_PROMPT = "tree-outline"
_OUTLINE = 0.3  # of all tokens, for the outline of the first round
_PASSAGES = 0.1  # of all tokens, for passages of the best pages, which every round repeats
_AGAIN = 0.15  # of all tokens, for the outline that later rounds repeat
_OPENED, _READ = 4, 4  # sections opened and pages read in a round at most
_NAMED = 5  # names read; a verdict moves fewer
_LAST = "This is the last round: name pages now."


class PageOf(BaseModel):
    """A page of a document, both as the outline calls them."""

    document: str
    page: int


class Turn(BaseModel):
    """One reply of the model, as the prompt asks for it. With something to expand or read it gets another round."""

    reasoning: str
    expand: list[str] = []
    read: list[PageOf] = []
    pages: list[PageOf]
    sections: list[str] = []


class Rounds:
    """One search over a board in at most ``rounds`` rounds and the tokens that the asker has."""

    def __init__(self, board: Board, asker: Asker, rounds: int) -> None:
        self._board, self._asker, self._rounds = board, asker, rounds
        passages = asker.passages(int(_PASSAGES * asker.scope.budget.tokens))
        self._seen = dict.fromkeys(passages)  # these, and what was opened and read, as texts, in order
        self._looked: set[Place] = set()
        self._docs: set[int] = set()

    def verdict(self) -> Verdict:
        """What the last round named; where a later call fails, what the one before it named, if anything."""
        verdict = Verdict()
        for number in range(1, self._rounds + 1):
            last = number == self._rounds
            try:
                turn = self._asker.ask(_PROMPT, Turn, self._values(number, last))
            except ChatError as error:
                if not verdict:
                    raise
                self._asker.step("failed", str(error))
                break
            verdict = self._named(turn) or verdict
            if last or not self._look(turn):
                break
        return verdict

    def _values(self, number: int, last: bool) -> dict[str, str]:
        turns = _LAST if last else f"Round {number} of {self._rounds}."
        values = {"outline": "", "seen": "\n\n".join(self._seen) or "nothing yet", "turns": turns}
        share = int((_OUTLINE if number == 1 else _AGAIN) * self._asker.scope.budget.tokens)
        most = min(share, self._asker.room(_PROMPT, Turn, values))
        only = None if number == 1 else self._docs or None
        return values | {"outline": self._board.outline(most, only)}

    def _named(self, turn: Turn) -> Verdict:
        pages = [(one, self._board.page(one.document, one.page)) for one in turn.pages[:_NAMED]]
        nodes = [(name, self._board.section(name)) for name in turn.sections[:_NAMED]]
        lost = [f"{one.document} page {one.page}" for one, place in pages if place is None]
        self._drop([*lost, *(name for name, node in nodes if node is None)])
        found = unique(place for _, place in pages if place is not None)
        sections = unique(node for _, node in nodes if node is not None)
        self._docs |= {doc for doc, _ in (*found, *sections)}
        return Verdict(found, sections, turn.reasoning)

    def _look(self, turn: Turn) -> bool:
        """Open and read what was asked for, as far as there is room; whether anything new was to be seen."""
        nodes = [(name, self._board.section(name)) for name in turn.expand[:_OPENED]]
        pages = [(one, self._board.page(one.document, one.page)) for one in turn.read[:_READ]]
        lost = [f"{one.document} page {one.page}" for one, place in pages if place is None]
        self._drop([*(name for name, node in nodes if node is None), *lost])
        opened = [node for node in unique(n for _, n in nodes if n is not None) if self._board.children(node)]
        places = unique(place for _, place in pages if place is not None)
        # a section without parts is read instead: asking to open it means wanting to see what is in it
        leaves = [node for node in unique(n for _, n in nodes if n is not None) if not self._board.children(node)]
        places = unique([*places, *((node[0], self._board.best_pages(node, 1)[0]) for node in leaves)])
        new_nodes = [node for node in opened if (node[0], -1 - node[1]) not in self._looked]
        new_pages = [place for place in places if place not in self._looked]
        self._looked |= {(node[0], -1 - node[1]) for node in new_nodes} | set(new_pages)
        self._docs |= {doc for doc, _ in (*new_nodes, *new_pages)}
        next_round = {"outline": "", "seen": "\n\n".join(self._seen), "turns": _LAST}
        room = self._asker.room(_PROMPT, Turn, next_round) - int(_AGAIN * self._asker.scope.budget.tokens)
        if room <= 0:
            return False
        if new_nodes:
            self._asker.step("opened", ", ".join(map(self._board.name, new_nodes)))
        for node in new_nodes:
            text = self._board.opened(node)
            if estimate(text) <= room:
                self._seen[text] = None
                room -= estimate(text) + 1
        if new_pages:
            self._asker.step("read", ", ".join(f"D{doc + 1} page {page}" for doc, page in new_pages))
            self._seen |= dict.fromkeys(self._asker.page_texts(new_pages, room))
        return bool(new_nodes or new_pages)

    def _drop(self, names: list[str]) -> None:
        if names:
            self._asker.step("dropped", f"there is no {', '.join(names)}")
