"""Write one answer in a conversation: make the question understandable by itself, find pages, and answer."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Protocol

from pydantic import BaseModel

from hybrid_core.errors import Cancelled, ChatError, PageIndexError
from hybrid_core.llm.client.chat_model import ChatModel
from hybrid_core.llm.client.scope import CallScope
from hybrid_core.llm.prompts import prompt
from hybrid_core.types.answers import Answer, Calculation, Claim, Source
from hybrid_core.types.conversations import Citation, QuestionFrom, TurnResult
from hybrid_core.types.notes import NONE, Note
from hybrid_core.types.requests import SearchRequest
from hybrid_core.types.results import ReasoningStep, SearchResult
from hybrid_core.types.usage import Usage
from hybrid_pageindex.config.settings import Settings
from hybrid_pageindex.conversations.memory import Exchange, Memory, remember
from hybrid_pageindex.engine.answers.asking import Answerer
from hybrid_pageindex.engine.answers.prompt import ToolUse
from hybrid_pageindex.engine.parts import Parts
from hybrid_pageindex.engine.search.searcher import charged_to, libraries_of
from retrievers.answer.sources import near
from retrievers.explain import passages as snippet
from retrievers.explain.passages import PassageTerms
from retrievers.query.intent import points_back, with_words_before
from retrievers.query.question import read_question

_LONGEST = 2000  # maximum characters of a rewritten question


class StandAlone(BaseModel):
    question: str


def stand_alone(
    question: str, memory: Memory, model: ChatModel | None, stopped: threading.Event
) -> tuple[str, QuestionFrom, Usage, Note]:
    """Return a question that is understandable without the conversation, its origin, the model usage, and a note.

    A question without references to earlier ones is unchanged. Otherwise a model rewrites it; without a model the words
    of the previous question are added. The note says that a model failed. Raise Cancelled once ``stopped`` is set.
    """
    before = memory.last
    if before is None or not points_back(question, before.searched):
        return question, "as asked", Usage(), NONE
    keywords = with_words_before(question, before.searched)
    if model is None:
        return keywords, "keywords", Usage(), NONE
    written = prompt("stand-alone")
    messages = written.messages({"question": question, "conversation": memory.text})
    try:
        reply = model.ask(
            messages, StandAlone, prompt=written.id, max_tokens=400, scope=CallScope(stopped=stopped)
        )  # fmt: skip
    except ChatError as error:
        return keywords, "keywords", error.usage, Note("turn.words-added", error=error.note)
    rewritten = " ".join(reply.value.question.split()) if reply.value else ""
    if not rewritten or len(rewritten) > _LONGEST:
        return keywords, "keywords", reply.usage, Note("turn.no-question")
    return rewritten, "model", reply.usage, NONE


_LINES = 120  # tokens of the lines quoted from a page
_MARKUP = re.compile(r"([\\`*_\[\]<>#|])")


def passages(answer: Answer, searched: str) -> str:
    """Return Markdown in place of an answer: the reason why none was written, and the best lines of each page."""
    if not answer.sources:
        return escaped(answer.why or "Nothing was found.")
    question_read = read_question(searched)
    terms = PassageTerms(dict.fromkeys(question_read.terms, 1.0))
    parts = [f"{escaped(_first_upper(answer.why))}:" if answer.why else "These pages match best:"]
    parts += [_page(source, terms, numeric=question_read.numeric) for source in answer.sources]
    if answer.evidence.hint:
        parts.append(escaped(answer.evidence.hint))
    return "\n\n".join(parts)


def _page(source: Source, terms: PassageTerms, *, numeric: bool) -> str:
    label = f" ({source.label})" if source.label and source.label != str(source.page) else ""
    where = " › ".join(source.section_path)
    head = f"**{escaped(source.doc_name)}, page {source.page}{escaped(label)}** [[source:{source.number}]]"
    lines = snippet.excerpt(source.text, terms, _LINES, numeric=numeric) if source.text else source.snippet
    quoted = [f"> {escaped(line)}" for line in _stripped_lines(lines.splitlines() or [source.snippet])]
    return "\n".join(
        [f"{source.number}. {head}", f"   {escaped(where)}", "", *(f"   {text_line}  " for text_line in quoted)]
    )


def _stripped_lines(lines: Sequence[str]) -> list[str]:
    return [line.strip() for line in lines if line.strip()]


def _first_upper(text: str) -> str:
    return text[:1].upper() + text[1:].rstrip(".:")


def escaped(text: str) -> str:
    """Return document text escaped for Markdown, so that it cannot act as markup."""
    return _MARKUP.sub(r"\\\1", text)


class Listener(Protocol):
    """Callbacks for the progress of an answer, called from its thread.

    ``text`` may also be called from a model's thread.
    """

    def searches(self, question: str, question_from: QuestionFrom) -> None: ...

    def step(self, step: ReasoningStep) -> None: ...

    def cites(self, sources: Sequence[Citation]) -> None: ...

    def text(self, piece: str) -> None: ...


@dataclass(frozen=True, slots=True)
class TextListener:
    """A listener that ignores all progress except the text."""

    text: Callable[[str], None]

    def searches(self, question: str, question_from: QuestionFrom) -> None:
        pass

    def step(self, step: ReasoningStep) -> None:
        pass

    def cites(self, sources: Sequence[Citation]) -> None:
        pass


@dataclass(frozen=True, slots=True)
class Turn:
    """A finished answer. ``text`` cites sources as ``[[source:n]]``; without a model it lists the pages found."""

    text: str
    answer: Answer
    searched: str
    searched_from: QuestionFrom
    citations: tuple[Citation, ...]

    @property
    def result(self) -> TurnResult:
        answer = self.answer
        return TurnResult(
            outcome=answer.status, why=answer.why, evidence=answer.evidence.level, effort=answer.effort.used,
            model=answer.model,
            unsupported=tuple((claim.text, claim.why) for claim in _not_borne_out(answer)), notes=answer.notes,
            usage=asdict(answer.usage), timings_ms=dict(answer.timings_ms),
        )  # fmt: skip


def _not_borne_out(answer: Answer) -> Iterator[Claim | Calculation]:
    """Yield the claims and calculations that no source text supports, including claims read from a picture."""
    yield from (*answer.unsupported, *answer.pictured)
    yield from (calculation for calculation in answer.calculations if not calculation.right)


class TurnMaker:
    """A writer of answers in conversations about the libraries of one home. Safe for several threads."""

    def __init__(self, parts: Parts, settings: Settings) -> None:
        self._parts, self.settings = parts, settings
        self._catalog, self._searcher, self._chat = parts.catalog, parts.searcher, parts.chat

    def make(
        self, request: SearchRequest, memory: Memory, listener: Listener, stopped: threading.Event, note: Note = NONE,
        tools: ToolUse | None = None,
    ) -> Turn:  # fmt: skip
        """Write and return the answer to a request, whose ``question`` is the user's original question.

        Report progress to ``listener``. With ``tools`` the model may call functions instead. Raise the errors of a
        search, and Cancelled once ``stopped`` is set.
        """
        model, why = self._model()
        with charged_to(libraries_of(self._catalog, request)):
            searched, made_from, spent, failed = stand_alone(request.question, memory, model, stopped)
        _check(stopped)
        listener.searches(searched, made_from)

        def step(reasoning_step: ReasoningStep) -> None:
            _check(stopped)
            listener.step(reasoning_step)

        def sources(passages: Sequence[Source]) -> None:
            _check(stopped)
            listener.cites(self._citations(passages))

        earlier = memory.last.pages if memory.last else ()
        search = replace(request, question=searched)
        answerer = Answerer(self._parts, self.settings)
        answer, tried = None, NONE
        if tools is None or not (tools.turns or tools.tools.demanded):
            answer, tried = answerer.count(search, on_text=listener.text, on_step=step, on_sources=sources)
        if answer is None:
            result = self._searcher.search(search, step, earlier)
            _check(stopped)
            answer = answerer.answer(
                result, model, request=search, on_text=listener.text, on_step=step, on_sources=sources,
                question=request.question, conversation=memory.text, stopped=stopped, tools=tools,
            )  # fmt: skip
        cited = self._citations(answer.sources)
        _check(stopped)
        notes = tuple(filter(None, (note, failed, why, tried)))
        answer = replace(answer, usage=answer.usage + spent, notes=(*answer.notes, *notes))
        text = answer.text if answer.status == "answered" else passages(answer, searched)
        if answer.status != "answered":
            listener.text(text)
        rests_on = {number for claim in answer.claims for number in claim.sources}
        if answer.status != "answered":  # without an answer, all sources count as cited
            rests_on = {source.number for source in answer.sources}
        cited = [replace(citation, cited=citation.number in rests_on) for citation in cited]
        return Turn(text, answer, searched, made_from, tuple(cited))

    def search(self, request: SearchRequest, before: Sequence[str]) -> SearchResult:
        """Return the pages for a question asked after the questions ``before``. Write no answer."""
        model, why = self._model() if request.effort != "fast" else (None, NONE)
        spent, notes, exchanges = Usage(), [why], list[Exchange]()
        earlier: tuple[tuple[str, int], ...] = ()
        for at, question in enumerate((*before, request.question), 1):
            memory = remember(exchanges, self.settings.conversation_tokens)
            searched, _, usage, failed = stand_alone(question, memory, model, threading.Event())
            spent, notes = spent + usage, [*notes, failed]
            if at == len(before):  # the pages that an answer to it rests on where no model writes one
                last = replace(request, question=searched, top_k=self.settings.top_k)
                earlier = tuple((page.doc_id, page.page) for page in near(self._searcher.search(last).results))
            exchanges.append(Exchange(question, "", searched, earlier if at == len(before) else ()))
        result = self._searcher.search(replace(request, question=searched), None, earlier)
        return replace(result, usage=result.usage + spent, notes=(*result.notes, *filter(None, notes)))

    def _model(self) -> tuple[ChatModel | None, Note]:
        """Return the language model, and a note with the reason if the configured model cannot be used."""
        try:
            return self._chat.model(), NONE
        except PageIndexError as error:
            return None, Note("turn.no-model", error=error.note)

    def _citations(self, sources: Sequence[Source]) -> list[Citation]:
        """Return the sources as citations to store, each with its library, content id and file hash."""
        with self._catalog.snapshot() as snapshot:
            documents = {source.doc_id: snapshot.document(source.doc_id) for source in sources}
        cited = []
        for source in sources:
            document = documents[source.doc_id]
            library, content, sha256 = ("", "", "") if document is None else (
                document.library, document.content_id, document.sha256
            )  # fmt: skip
            cited.append(
                Citation(
                    source.number, library, source.doc_id, source.doc_name, content, sha256, source.page, source.label,
                    source.section_path, source.snippet, cited=False,
                    doc_title="" if document is None else document.title,
                )
            )  # fmt: skip
        return cited


def _check(stopped: threading.Event) -> None:
    if stopped.is_set():
        raise Cancelled("The answer was stopped.")
