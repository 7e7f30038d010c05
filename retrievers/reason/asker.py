"""Calls of a model that looks for the pages of one question, and the texts that it is shown."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hybrid_core.llm.client.chat_model import ChatModel
from hybrid_core.llm.client.scope import CallScope
from hybrid_core.llm.token_estimate import estimate, shares
from hybrid_core.types.documents import PageText
from hybrid_core.types.results import ReasoningStep
from retrievers.pages import snippet
from retrievers.pages.page_texts import PageTexts
from retrievers.pages.scores import Place
from retrievers.query.expert import Expansion
from retrievers.query.question import read_question
from retrievers.reason.board import Board
from retrievers.reason.session import QuestionSession
from retrievers.reason.verdict import Verdict

_PASSAGES = 12  # of as many pages at most
_PAGE = 900  # tokens shown of a page at most


class Asker(QuestionSession):
    """Asks about one board, in what is left of the question's tokens."""

    def __init__(
        self,
        model: ChatModel,
        scope: CallScope,
        told: Callable[[ReasoningStep], None],
        question: str,
        expansion: Expansion,
        board: Board,
        texts: PageTexts,
    ) -> None:
        given = {"question": question, "expert": "\n".join(expert_lines(expansion)) or "none"}
        super().__init__(model, scope, told, given)
        self._board, self._texts = board, texts
        self._terms = {**expansion.terms, **dict.fromkeys(read_question(question).terms, 1.0)}

    def page_texts(self, places: Sequence[Place], tokens: int) -> list[str]:
        """The texts of pages, each behind its name, of long ones what matches, to fit ``tokens`` together."""
        texts = [page.text for page in self._held(places)]
        most = min(tokens, len(texts) * _PAGE)
        given = shares([estimate(text) for text in texts], max(0, most - 20 * len(texts)))
        shown = []
        for (doc, page), text, size in zip(places, texts, given, strict=True):
            shown.append(f"D{doc + 1} page {page}:\n{snippet.excerpt(text, self._terms, size)}")
        return shown

    def passages(self, tokens: int) -> list[str]:
        """The passage that matches best of each of the best pages, as many as fit ``tokens``."""
        found = self._board.found[:_PASSAGES]
        shown: list[str] = []
        for (doc, page), held in zip(found, self._held(found), strict=True):
            line = f"D{doc + 1} page {page}, a passage: {snippet.best_window(held.text, self._terms)[1]}"
            tokens -= estimate(line)
            if tokens < 0:
                break
            shown.append(line)
        return shown

    def _held(self, places: Sequence[Place]) -> list[PageText]:
        return self._texts.of([(self._board.scores[doc].candidate.content, page) for doc, page in places])

    def verdict(self, verdict: Verdict) -> None:
        """Tell what was chosen."""
        pages = [f"D{doc + 1} page {page} ({self._name(doc)})" for doc, page in verdict.pages]
        nodes = [f"{self._board.name(node)} ({self._name(node[0])})" for node in verdict.nodes]
        self.step("verdict", ", ".join([*pages, *nodes]) or "nothing")

    def _name(self, doc: int) -> str:
        return self._board.scores[doc].candidate.document.name


def expert_lines(expansion: Expansion) -> list[str]:
    """What the expert knowledge that matched says, for a model."""
    said = (
        ("Kinds of pages that such a question needs", [role.name for role in expansion.roles]),
        ("Pages may call it", tuple(expansion.phrases)),
        ("Headings it may stand under", expansion.titles),
    )
    return [f"{what}: {'; '.join(words)}." for what, words in said if words]
