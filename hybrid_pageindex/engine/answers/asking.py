"""Prepare an answer: choose the models, draw page images, count mentions, and search again if needed."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial

from hybrid_core.errors import PageIndexError
from hybrid_core.llm.client.chat_model import ChatModel
from hybrid_core.types.answers import Answer, Source
from hybrid_core.types.exhaustive import GrepRequest
from hybrid_core.types.notes import NONE, Note
from hybrid_core.types.requests import SearchRequest
from hybrid_core.types.results import ReasoningStep, SearchResult
from hybrid_pageindex.config.settings import Settings
from hybrid_pageindex.engine.answers.answering import answer
from hybrid_pageindex.engine.answers.counting import Counting
from hybrid_pageindex.engine.answers.pages import PagePictures
from hybrid_pageindex.engine.answers.prompt import AskOptions, ToolUse, Vision
from hybrid_pageindex.engine.parts import Parts
from hybrid_pageindex.engine.search.searcher import libraries_of
from retrievers.answer.searches import Spellings
from retrievers.query.counting import count_question


class Answerer:
    """A writer of answers to questions, from search results of one home. Safe for several threads."""

    def __init__(self, parts: Parts, settings: Settings) -> None:
        self._parts, self._settings = parts, settings

    def answer(
        self,
        result: SearchResult,
        model: ChatModel | None,
        *,
        request: SearchRequest | None = None,
        force: bool = False,
        vision: bool | None = None,
        on_text: Callable[[str], None] | None = None,
        on_step: Callable[[ReasoningStep], None] | None = None,
        on_sources: Callable[[Sequence[Source]], None] | None = None,
        question: str = "",
        conversation: str = "",
        stopped: threading.Event | None = None,
        tools: ToolUse | None = None,
    ) -> Answer:
        """Answer a question from the pages that a search found.

        ``request`` is the completed request of that search; it allows further searches, and a question to the user
        which document is meant. ``vision`` sends images of all pages (True), of none (False), or as the settings say
        (None). The other arguments are those of ``AskOptions``.
        """
        settings, parts = self._settings, self._parts
        wished: Vision = settings.answer_vision if vision is None else "always" if vision else "never"
        sees, notes = self._sees(wished)
        holders = {page.doc_id: page.library for page in result.results if page.library}
        pictures = PagePictures(parts.pages, result.library, holders)
        deeper: Callable[[], SearchResult] | None = None
        documents: Callable[[], int] | None = None
        search: Callable[[str], SearchResult] | None = None
        spellings: Spellings | None = None
        if request is not None:
            again = replace(request, effort="deep")
            search, spellings = partial(self._search, request), partial(self._spellings, request)
            if model is not None and settings.reason_below > 0:
                deeper = lambda: parts.searcher.search(again, on_step)  # noqa: E731
            if request.documents is None and not request.where:
                documents = lambda: self._count(request)  # noqa: E731
        options = AskOptions(
            min_evidence=settings.answer_evidence, tokens=settings.answer_tokens, force=force, on_text=on_text,
            on_step=on_step, on_sources=on_sources, sees=sees, pictures=pictures, vision=wished, question=question,
            conversation=conversation, deeper=deeper, documents=documents, stopped=stopped,
            search=search, spellings=spellings, tools=tools,
            now=None if settings.replay_replies else datetime.now().astimezone(),
        )  # fmt: skip
        answered = answer(result, parts.catalog, model, options)
        return replace(answered, notes=(*answered.notes, *notes)) if notes else answered

    def count(
        self,
        request: SearchRequest,
        *,
        on_text: Callable[[str], None] | None = None,
        on_step: Callable[[ReasoningStep], None] | None = None,
        on_sources: Callable[[Sequence[Source]], None] | None = None,
    ) -> tuple[Answer | None, Note]:
        """Answer a question for a count or a complete list of mentions by an exhaustive search, without a model.

        Return the answer and a note on what was tried. The answer is None if the question asks for something else.
        """
        counted = count_question(request.question)
        if counted is None:
            return None, NONE
        parts = self._parts
        result = self._search(request, request.question)
        counting = Counting(parts, request, counted)
        answer = counting.answer(result, usable=bool(parts.chat.named("llm")))
        if answer is not None:
            for step in answer.steps if on_step else ():
                on_step(step)  # type: ignore[misc]
            if on_sources is not None:
                on_sources(answer.sources)
            if on_text is not None:
                on_text(answer.text)
        return answer, counting.note

    def _search(self, request: SearchRequest, words: str) -> SearchResult:
        return self._parts.searcher.search(replace(request, question=words, effort="fast", trace=False))

    def _spellings(self, request: SearchRequest, word: str) -> list[str]:
        named = tuple(request.documents) if request.documents else None
        grep_request = GrepRequest(word, documents=named, where=tuple(request.where))
        return self._parts.grep.spellings(libraries_of(self._parts.catalog, request), grep_request, word)

    def _sees(self, vision: Vision) -> tuple[ChatModel | None, tuple[Note, ...]]:
        """Return the vision model that reads page images, and notes about it.

        The model is None if none is configured or no images are requested.
        """
        chat = self._parts.chat
        if vision == "never" or (vision == "auto" and not chat.named("vlm")):
            return None, ()
        try:
            model = chat.model(vision=True)
        except PageIndexError as error:
            if vision == "always":
                raise
            return None, (Note("answer.vision-failed", error=error.note),)
        if model is None:
            return None, (Note("answer.no-vision"),)
        return model, ()

    def _count(self, request: SearchRequest) -> int:
        libraries = libraries_of(self._parts.catalog, request)
        with self._parts.catalog.snapshot() as snapshot:
            return sum(len(snapshot.published(library.id)) for library in libraries)
