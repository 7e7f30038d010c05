"""One turn: a question of a conversation becomes one that stands alone, pages are found for it, and the question as it
was asked is answered from them.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Protocol

from hybrid_core.errors import Cancelled, PageIndexError
from hybrid_core.llm.client.chat_model import ChatModel
from hybrid_core.types.answers import Answer, Calculation, Claim, Source
from hybrid_core.types.conversations import Citation, QuestionFrom, TurnResult
from hybrid_core.types.requests import SearchRequest
from hybrid_core.types.results import ReasoningStep
from hybrid_pageindex.config.settings import Settings
from hybrid_pageindex.services.answering.asking import Answerer
from hybrid_pageindex.services.conversations.memory import Memory
from hybrid_pageindex.services.conversations.passages import passages
from hybrid_pageindex.services.conversations.questions import stand_alone
from hybrid_pageindex.services.parts import Parts
from hybrid_pageindex.services.scope import libraries_of
from hybrid_pageindex.services.searching import charged_to


class Listener(Protocol):
    """Hears of a turn as it is made, from its thread; of text also from that of a model's call."""

    def searches(self, question: str, question_from: QuestionFrom) -> None: ...

    def step(self, step: ReasoningStep) -> None: ...

    def found(self, sources: Sequence[Citation]) -> None: ...

    def text(self, piece: str) -> None: ...


@dataclass(frozen=True, slots=True)
class TextListener:
    """Who hears of the text alone."""

    text: Callable[[str], None]

    def searches(self, question: str, question_from: QuestionFrom) -> None:
        pass

    def step(self, step: ReasoningStep) -> None:
        pass

    def found(self, sources: Sequence[Citation]) -> None:
        pass


@dataclass(frozen=True, slots=True)
class Turn:
    """``text`` is the answer, with citations as ``[[source:n]]``; without a model the pages set out."""

    text: str
    answer: Answer
    searched: str
    searched_from: QuestionFrom
    citations: tuple[Citation, ...]

    @property
    def result(self) -> TurnResult:
        said = self.answer
        return TurnResult(
            outcome=said.status, why=said.why, evidence=said.evidence.level, effort=said.effort.used, model=said.model,
            unsupported=tuple((one.text, one.why) for one in _not_borne_out(said)), notes=said.notes,
            usage=asdict(said.usage), timings_ms=dict(said.timings_ms),
        )  # fmt: skip


def _not_borne_out(said: Answer) -> Iterator[Claim | Calculation]:
    """What texts do not bear out: claims, also those that may be read from pictures, and calculations."""
    yield from (*said.unsupported, *said.pictured)
    yield from (one for one in said.calculations if not one.right)


class TurnMaker:
    """Makes turns over the libraries of one home. Safe for several threads."""

    def __init__(self, parts: Parts, settings: Settings) -> None:
        self._parts, self.settings = parts, settings
        self._catalog, self._searcher, self._chat = parts.catalog, parts.searcher, parts.chat

    def make(
        self, request: SearchRequest, memory: Memory, listener: Listener, stopped: threading.Event, note: str = ""
    ) -> Turn:
        """``request`` is complete, with the question as it was asked. Raises what a search raises, and Cancelled."""
        model, why = self._model()
        with charged_to(libraries_of(self._catalog, request)):
            searched, made_from, spent, failed = stand_alone(request.question, memory, model, stopped)
        _check(stopped)
        listener.searches(searched, made_from)

        def step(one: ReasoningStep) -> None:
            _check(stopped)
            listener.step(one)

        def sources(given: Sequence[Source]) -> None:
            _check(stopped)
            listener.found(self._citations(given))

        earlier = memory.last.pages if memory.last else ()
        search = replace(request, question=searched)
        answerer = Answerer(self._parts, self.settings)
        said, tried = answerer.count(search, on_text=listener.text, on_step=step, on_sources=sources)
        if said is None:
            found = self._searcher.search(search, step, earlier)
            _check(stopped)
            said = answerer.answer(
                found, model, request=search, on_text=listener.text, on_step=step, on_sources=sources,
                question=request.question, conversation=memory.text, stopped=stopped,
            )  # fmt: skip
        cited = self._citations(said.sources)
        _check(stopped)
        notes = tuple(one for one in (note, failed, why, tried) if one)
        said = replace(said, usage=said.usage + spent, notes=(*said.notes, *notes))
        text = said.text if said.status == "answered" else passages(said, searched)
        if said.status != "answered":
            listener.text(text)
        rests_on = {number for claim in said.claims for number in claim.sources}
        if said.status != "answered":  # all of them are what there is
            rests_on = {source.number for source in said.sources}
        cited = [replace(one, cited=one.number in rests_on) for one in cited]
        return Turn(text, said, searched, made_from, tuple(cited))

    def _model(self) -> tuple[ChatModel | None, str]:
        """The model, or why the one that is configured cannot be used."""
        try:
            return self._chat.model(), ""
        except PageIndexError as error:
            return None, f"the language model cannot be used: {error}"

    def _citations(self, sources: Sequence[Source]) -> list[Citation]:
        """The sources with what they are, to be kept."""
        with self._catalog.snapshot() as snapshot:
            documents = {one.doc_id: snapshot.document(one.doc_id) for one in sources}
        cited = []
        for one in sources:
            document = documents[one.doc_id]
            library, content, sha256 = ("", "", "") if document is None else (
                document.library, document.content_id, document.sha256
            )  # fmt: skip
            cited.append(
                Citation(
                    one.number, library, one.doc_id, one.doc_name, content, sha256, one.page, one.label,
                    one.section_path, one.snippet, cited=False, doc_title="" if document is None else document.title,
                )
            )  # fmt: skip
        return cited


def _check(stopped: threading.Event) -> None:
    if stopped.is_set():
        raise Cancelled("The turn was stopped.")
