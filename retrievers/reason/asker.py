"""Calls of a model that looks for the pages of one question, and the texts that it is shown."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Sequence

from hybrid_core.llm.client.chat_model import ChatModel
from hybrid_core.llm.client.scope import CallScope
from hybrid_core.llm.prompts.fence import guarded
from hybrid_core.llm.token_estimate import estimate, shares
from hybrid_core.text.languages import common_language, language_of
from hybrid_core.types.documents import PageText
from hybrid_core.types.results import ReasoningStep
from retrievers.pages import snippet
from retrievers.pages.going_on import breaks_off, goes_on
from retrievers.pages.page_texts import PageTexts
from retrievers.pages.scores import Place
from retrievers.pages.windows import PassageTerms
from retrievers.query.expert import Expansion
from retrievers.query.question import read_question
from retrievers.reason.board import Board, short
from retrievers.reason.hints import hint_lines
from retrievers.reason.page_marks import mark, unlabelled
from retrievers.reason.session import QuestionSession
from retrievers.reason.verdict import Verdict

_PASSAGES, _WHOLE = 18, 3  # of as many pages at most, and as many of them whole
_MARK = 110  # characters of the others
_PAGE, _LEAST = 1000, 250  # tokens shown of a page at most (3,000 characters), and as few as are worth reading
_BARE = 30  # letters of a page that is a picture
_NO_TEXT = "(picture only: the page has no text to read)"
_LITTLE = "(the rest of the page is a picture)"
_UNLABELLED = "(figures of a chart without their names: only its picture tells which is whose)"
_NAME = 10  # of its name
_MARKED = 14  # best pages of which is said what is drawn on them
_HINTED = 3  # best pages whose documents hints must fit
_TOP = 200  # characters at the top of a page: a heading there begins something else


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
        likely = [board.scores[doc].content for doc in dict.fromkeys(doc for doc, _ in board.found[:_HINTED])]
        given = {"question": question, "expert": "\n".join(hint_lines(expansion, likely)) or "none"}
        super().__init__(model, scope, told, given)
        self._board, self.texts, self._question = board, texts, question
        self._terms = PassageTerms(dict.fromkeys(read_question(question).terms, 1.0), expansion.terms)

    def widen(self, words: str) -> None:
        """Let passages also show what a model searches for, as expert knowledge does."""
        terms = dict.fromkeys(read_question(words).terms, 1.0)
        self._terms = PassageTerms(self._terms.own, {**terms, **self._terms.expert})

    def fitting(self, places: Sequence[Place], tokens: int) -> list[Place]:
        """The first of these pages that can be read in so many tokens, none of them as a scrap."""
        kept: list[Place] = []
        for place, page in zip(places, self._held(places), strict=True):
            tokens -= min(estimate(page.whole), _LEAST) + _NAME
            if tokens < 0:
                break
            kept.append(place)
        return kept

    def page_texts(self, places: Sequence[Place], tokens: int) -> list[str]:
        """The texts of pages, each behind its name, of long ones what matches, to fit ``tokens`` together."""
        texts = [page.whole for page in self._held(places)]
        most = min(tokens, len(texts) * (_PAGE + _NAME))
        given = shares([estimate(text) for text in texts], max(0, most - _NAME * len(texts)))
        shown = []
        for (doc, page), text, size in zip(places, texts, given, strict=True):
            read = guarded(snippet.excerpt(text, self._terms, size))
            if (letters := sum(map(str.isalnum, text))) < _BARE:
                read = f"{read.strip()}\n{_LITTLE}" if letters else _NO_TEXT
            elif unlabelled(text):
                read = f"{read.rstrip()}\n{_UNLABELLED}"
            shown.append(f"D{doc + 1} page {page}:\n{read}")
        return shown

    def passages(self, tokens: int, documents: Collection[int]) -> list[str]:
        """Return the best passage of each of the best pages of these documents, as many as fit ``tokens``."""
        found = [place for place in self._board.found if place[0] in documents][:_PASSAGES]
        shown: list[str] = []
        for line in self.passage_lines(found, _WHOLE):
            tokens -= estimate(line) + 1
            if tokens < 0:
                break
            shown.append(line)
        return shown

    def passage_lines(self, places: Sequence[Place], whole: int = sys.maxsize) -> list[str]:
        """Return a line for each page: its name, and the passage that matches best, of those after the first
        ``whole`` ones only the statement that does.
        """
        lines = []
        for at, ((doc, page), held) in enumerate(zip(places, self._held(places), strict=True)):
            passage = snippet.best_passage(held.whole, self._terms)
            text = passage.text if at < whole else short(passage.mark or passage.text, _MARK)
            lines.append(f"D{doc + 1} page {page}, a passage: {text or _NO_TEXT}")
        return lines

    def other_language(self) -> str:
        """Return what to say where the question is in another language than the best pages, "" where it is not."""
        asked = language_of(self._question)
        best = self._board.found[:_MARKED]
        held = common_language(page.text for page in self._held(best)) if asked else ""
        if not held or held == asked:
            return ""
        return (
            f"The question is in {asked}, these documents are in {held}: its words do not find their pages, and the "
            f"passages are chance hits. Search in {held}."
        )

    def marks(self) -> dict[Place, str]:
        """What is drawn on the best pages, as far as their texts and descriptions tell."""
        best = self._board.found[:_MARKED]
        return {place: mark(page.text, page.described) for place, page in zip(best, self._held(best), strict=True)}

    def goes_on(self, place: Place, *, prose: bool = False) -> bool:
        """Return whether a list or a table of a page goes on on the next, or with ``prose`` a sentence."""
        doc, page = place
        content = self._board.scores[doc].content
        if page >= content.pages:
            return False
        here, after = self._held([place, (doc, page + 1)])
        top = any(at <= _TOP for at in content.headings_at.get(page + 1, ()))
        return goes_on(here.text, after.text, top) or (prose and not top and breaks_off(here.text, after.text))

    def _held(self, places: Sequence[Place]) -> list[PageText]:
        return self.texts.of([(self._board.scores[doc].candidate.content, page) for doc, page in places])

    def verdict(self, verdict: Verdict) -> None:
        """Tell what was chosen."""
        pages = [f"D{doc + 1} page {page} ({self._name(doc)})" for doc, page in verdict.pages]
        nodes = [f"{self._board.name(node)} ({self._name(node[0])})" for node in verdict.nodes]
        self.step("verdict", ", ".join([*pages, *nodes]) or "nothing")

    def _name(self, doc: int) -> str:
        return self._board.scores[doc].candidate.document.name
