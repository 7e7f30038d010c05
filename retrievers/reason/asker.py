"""Model calls for one question: their tokens and steps, and the texts that the model is shown."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TypeVar

import numpy as np
from pydantic import BaseModel

from hybrid_core.llm.budget import cut, estimate, shares
from hybrid_core.llm.client.chat_model import ChatModel, Session
from hybrid_core.llm.client.scope import CallScope
from hybrid_core.llm.prompts import guarded
from hybrid_core.text.markup import visible
from hybrid_core.text.prose import common_language, language_of
from hybrid_core.text.terms import TermCounts
from hybrid_core.text.tokens import cached_hash, tokenise
from hybrid_core.types.documents import PageText
from hybrid_core.types.results import ReasoningStep, StepKind
from hybrid_core.types.usage import Usage
from retrievers.explain.passages import Passage, PassageTerms, best_passage, excerpt
from retrievers.explain.statements import breaks_off, goes_on
from retrievers.query.expert import Expansion
from retrievers.query.question import read_question
from retrievers.ranking.walk import PageRef
from retrievers.reason.board import Board, Verdict, file_name, mark, short, unlabelled
from retrievers.trees.content import Content
from retrievers.trees.contents import PageTexts

T = TypeVar("T", bound=BaseModel)
_REPLY = 1500  # tokens that a reply may have
_LINE = 3  # tokens of an item's number and of the end of its line


class QuestionSession(Session):
    """The model calls for one question.

    Each call adds to ``steps``. ``usage`` counts only these calls. Their limits are those of the question's scope.
    """

    def __init__(
        self, model: ChatModel, scope: CallScope, on_step: Callable[[ReasoningStep], None], values: Mapping[str, str]
    ) -> None:
        super().__init__(model, scope.part(), shared=values)
        self.steps: list[ReasoningStep] = []
        self._on_step = on_step

    @property
    def usage(self) -> Usage:
        return self.scope.usage

    def ask(
        self,
        name: str,
        schema: type[T],
        values: Mapping[str, str],
        *,
        tokens: int = _REPLY,
        images: tuple[bytes, ...] = (),
    ) -> T:
        size = self.size(name, schema, values)
        self.scope.budget.require(size)
        self.step("asked", f"{name}, about {size} tokens")
        reply = super().ask(name, schema, values, tokens=tokens, images=images)
        if thought := " ".join(getattr(reply, "reasoning", "").split()):
            self.step("thought", thought)
        return reply

    def step(self, kind: StepKind, text: str) -> None:
        step = ReasoningStep(kind, text)
        self.steps.append(step)
        self._on_step(step)


def fitted(lines: Sequence[str], tokens: int) -> list[str]:
    """Return the lines of a list, with long lines shortened so that all fit ``tokens``."""
    sizes = shares([estimate(line) for line in lines], max(0, tokens - _LINE * len(lines)))
    return [cut(line, size) for line, size in zip(lines, sizes, strict=True)]


def hint_lines(expansion: Expansion, contents: Sequence[Content]) -> list[str]:
    """Return lines with the roles, phrases and headings of expert knowledge that occur in documents.

    Roles and headings are matched with section titles, phrases with pages.
    """
    roles = [role.name for role in expansion.roles if any(content.titled(role.title) for content in contents)]
    phrases = [words for words in expansion.phrases if any(_together(content.body, words) for content in contents)]
    titles = [words for words in expansion.titles if any(_together(content.headings, words) for content in contents)]
    hints = (
        ("Kinds of pages that such a question needs", roles),
        ("Pages may call it", phrases),
        ("Headings it may stand under", titles),
    )
    return [f"{what}: {'; '.join(words)}." for what, words in hints if words]


def _together(counts: TermCounts, words: str) -> bool:
    """Return whether any page contains all of the words."""
    terms = set(map(cached_hash, tokenise(words)))
    occurrences = counts.occurrences(terms)
    return bool(terms) and int(np.bincount(occurrences.pages, minlength=1).max(initial=0)) == len(terms)


_PASSAGES, _WHOLE = 26, 5  # maximum number of pages with a passage, and of those shown in full
_MARK = 80  # characters of the others
_OTHER_DOCUMENTS = 24  # other documents of which the best page is named,
_LABEL = 36  # each with so many characters of its heading, or of what matches
_READ_LABELS = 12  # such pages without a heading whose text is read for that
_PAGE, _LEAST = 1000, 180  # tokens shown of a page at most (3,000 characters), and as few as are worth reading
_SURROUNDINGS, _MOST_KEPT = 60, 380  # tokens around a passage by which a page was shown; tokens of all of these
_BARE = 30  # letters of a page that is a picture
_NO_TEXT = "(picture only: the page has no text to read)"
_LITTLE = "(the rest of the page is a picture)"
_UNLABELLED_CHART = "(figures of a chart without their names: only its picture tells which is whose)"
_NAME = 10  # tokens of a page's name
_DRAWING_PAGES = 14  # best pages of which is said what is drawn on them
_HINT_PAGES = 3  # best pages whose documents hints must fit
_TOP = 200  # characters at the top of a page: a heading there begins something else


def _passage_line(places: Sequence[PageRef], passage: str) -> str:
    """Return one line for a passage that occurs on all these pages."""
    names = [f"D{doc + 1} page {page}" for doc, page in places]
    also = f" [also {', '.join(names[1:])}]" if len(names) > 1 else ""
    return f"{names[0]}, a passage: {passage}{also}"


class Asker(QuestionSession):
    """The model calls about the documents on a board, within the remaining tokens of the question."""

    def __init__(
        self,
        model: ChatModel,
        scope: CallScope,
        on_step: Callable[[ReasoningStep], None],
        question: str,
        expansion: Expansion,
        board: Board,
        texts: PageTexts,
    ) -> None:
        likely = [board.scores[doc].content for doc in dict.fromkeys(doc for doc, _ in board.reached[:_HINT_PAGES])]
        values = {"question": question, "expert": "\n".join(hint_lines(expansion, likely)) or "none"}
        super().__init__(model, scope, on_step, values)
        self._board, self.texts, self._question = board, texts, question
        self._terms = PassageTerms(dict.fromkeys(read_question(question).terms, 1.0), expansion.terms)
        self._kept: dict[PageRef, dict[Passage, None]] = {}  # the passages by which a page was shown

    def widen(self, words: str) -> None:
        """Add ``words``, for which a model has searched, to the terms by which passages are chosen."""
        terms = dict.fromkeys(read_question(words).terms, 1.0)
        self._terms = PassageTerms({**self._terms.own, **terms}, self._terms.expert)

    def fitting(self, places: Sequence[PageRef], tokens: int) -> list[PageRef]:
        """Return the first of these pages that fit into ``tokens`` with a useful length of each."""
        fitting: list[PageRef] = []
        for place, text in zip(places, self._visible(places), strict=True):
            tokens -= self._minimum_size(place, text) + _NAME
            if tokens < 0:
                break
            fitting.append(place)
        return fitting

    def _minimum_size(self, place: PageRef, text: str) -> int:
        """Return the fewest tokens of a page that are worth reading: all, or the passages by which it was shown."""
        size = sum(estimate(passage.text) + _SURROUNDINGS for passage in self._kept.get(place, ()))
        return min(estimate(text), max(_LEAST, min(size, _MOST_KEPT)))

    def page_texts(self, places: Sequence[PageRef], tokens: int) -> list[str]:
        """Return the texts of pages, each under the name of its page.

        Long pages are shortened so that all fit ``tokens``. The passages by which a page was shown are kept, and parts
        that match the question and the searches.
        """
        texts = self._visible(places)
        room = max(0, min(tokens, len(texts) * (_PAGE + _NAME)) - _NAME * len(texts))
        minimums = shares([self._minimum_size(place, text) for place, text in zip(places, texts, strict=True)], room)
        longer = [estimate(text) - size for text, size in zip(texts, minimums, strict=True)]
        sizes = map(sum, zip(minimums, shares(longer, room - sum(minimums)), strict=True))
        shown = []
        for place, text, size in zip(places, texts, sizes, strict=True):
            kept_lines = {line for passage in self._kept.get(place, ()) for line in passage.lines}
            read = guarded(excerpt(text, self._terms, size, kept_lines=kept_lines))
            if (letters := sum(map(str.isalnum, text))) < _BARE:
                read = f"{read.strip()}\n{_LITTLE}" if letters else _NO_TEXT
            elif unlabelled(text):
                read = f"{read.rstrip()}\n{_UNLABELLED_CHART}"
            shown.append(f"D{place[0] + 1} page {place[1]}:\n{read}")
        return shown

    def passages(self, tokens: int, documents: Collection[int]) -> dict[PageRef, str]:
        """Return a line with the best passage of each of the best pages of these documents.

        As many pages are returned as fit ``tokens``. Pages with equal passages share one line, so that further pages
        fit.
        """
        places = [place for place in self._board.reached if place[0] in documents]
        passages = self._passages_of(places[:_PASSAGES], _WHOLE)
        alike = len(passages) - len(set(passages.values()))
        passages |= self._passages_of(places[_PASSAGES : _PASSAGES + alike], 0)
        groups: dict[str, list[PageRef]] = {}
        for place, passage in passages.items():
            before = estimate(_passage_line(groups[passage], passage)) if passage in groups else -1
            grown = [*groups.get(passage, ()), place]
            tokens -= estimate(_passage_line(grown, passage)) - before
            if tokens < 0:
                break
            groups[passage] = grown
        return {place: _passage_line(group, passage) for passage, group in groups.items() for place in group}

    def further(self, documents: Collection[int], tokens: int) -> dict[PageRef, str]:
        """Return a line with the best page of each document outside ``documents``, as many as fit ``tokens``."""
        firsts = {doc: (doc, page) for doc, page in reversed(self._board.reached) if doc not in documents}
        others = [place for place in self._board.reached if firsts.get(place[0]) == place][:_OTHER_DOCUMENTS]
        labels = self._labels(others)
        lines: dict[PageRef, str] = {}
        for doc, page in others:
            name = file_name(self._board.scores[doc].candidate.document)
            line = f"D{doc + 1} · {name} · less likely page {page} {labels[doc, page]}".rstrip()
            tokens -= estimate(line) + 1
            if tokens < 0:
                break
            lines[doc, page] = line
        return lines

    def _labels(self, places: Sequence[PageRef]) -> dict[PageRef, str]:
        """Return a short label for each page: a heading that begins on it, otherwise matching words."""
        titles = {place: self._heading_on(place) for place in places}
        bare = [place for place in places if not titles[place]][:_READ_LABELS]
        texts = zip(bare, self._page_texts(bare), strict=True)
        titles |= {place: best_passage(page.text, self._terms).mark for place, page in texts}
        return {place: short(title.replace("|", " "), _LABEL) for place, title in titles.items()}

    def _heading_on(self, place: PageRef) -> str:
        """Return the heading on a page with most of the question's words, "" if no heading begins there."""
        doc, page = place
        content = self._board.scores[doc].content
        sections, starts = content.covering
        covering = sections[starts[page - 1] : starts[page] if page < len(starts) else len(sections)].tolist()
        titles = [content.sections[at].title for at in covering if content.beginnings[at] == (page, False)]
        return max(titles, key=lambda title: len(self._terms.own.keys() & set(tokenise(title))), default="")

    def passage_lines(self, places: Sequence[PageRef]) -> list[str]:
        """Return a line for each page: its name and the passage that matches best."""
        passages = self._passages_of(places, len(places))
        return [_passage_line([place], passages[place]) for place in places]

    def following(self, places: Sequence[PageRef]) -> list[PageRef]:
        """Return the pages on which a list, table or sentence of these pages continues. Keep their beginnings."""
        after = [(doc, page + 1) for doc, page in places if self.goes_on((doc, page), prose=True)]
        for place, text in zip(after, self._visible(after), strict=True):
            self._kept.setdefault(place, {})[best_passage(text, PassageTerms({}))] = None
        return after

    def _passages_of(self, places: Sequence[PageRef], whole: int) -> dict[PageRef, str]:
        """Return the best matching passage of each page.

        Pages after the first ``whole`` get only the best statement.
        """
        shown = {}
        for at, (place, page_text) in enumerate(zip(places, self._visible(places), strict=True)):
            passage = best_passage(page_text, self._terms)
            self._kept.setdefault(place, {})[passage] = None
            text = passage.text if at < whole else short(passage.mark or passage.text, _MARK)
            shown[place] = text or _NO_TEXT
        return shown

    def other_language(self) -> str:
        """Return a remark if the question and the best pages are in different languages, otherwise ""."""
        language = language_of(self._question)
        best = self._board.reached[:_DRAWING_PAGES]
        page_language = common_language(page.text for page in self._page_texts(best)) if language else ""
        if not page_language or page_language == language:
            return ""
        return (
            f"The question is in {language}, these documents are in {page_language}: its words do not find their "
            f"pages, and the passages are chance hits. Search in {page_language}."
        )

    def marks(self) -> dict[PageRef, str]:
        """Return a description of the figures on each of the best pages, "" for a page without figures.

        It is derived from the page's text and the description by a vision model.
        """
        best = self._board.reached[:_DRAWING_PAGES]
        return {
            place: mark(page.text, page.described) for place, page in zip(best, self._page_texts(best), strict=True)
        }

    def goes_on(self, place: PageRef, *, prose: bool = False) -> bool:
        """Return whether a list or table of a page continues on the next page.

        With ``prose``, a sentence that continues counts too.
        """
        doc, page = place
        content = self._board.scores[doc].content
        if page >= content.pages:
            return False
        page_text, after = self._page_texts([place, (doc, page + 1)])
        top = any(at <= _TOP for at in content.headings_at.get(page + 1, ()))
        return goes_on(page_text.text, after.text, top) or (
            prose and not top and breaks_off(page_text.text, after.text)
        )

    def _page_texts(self, places: Sequence[PageRef]) -> list[PageText]:
        return self.texts.of([(self._board.scores[doc].candidate.content, page) for doc, page in places])

    def _visible(self, places: Sequence[PageRef]) -> list[str]:
        """Return the texts of pages with the visible texts of links in place of the links."""
        return [visible(page.whole) for page in self._page_texts(places)]

    def verdict(self, verdict: Verdict) -> None:
        """Report, as a reasoning step, the pages that the model chose."""
        pages = [f"D{doc + 1} page {page} ({self._name(doc)})" for doc, page in verdict.pages]
        nodes = [f"{self._board.name(node)} ({self._name(node[0])})" for node in verdict.nodes]
        self.step("verdict", ", ".join([*pages, *nodes]) or "nothing")

    def _name(self, doc: int) -> str:
        return self._board.scores[doc].candidate.document.name
