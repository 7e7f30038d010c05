"""Options of an answer, the blocks of its prompt, and the stream of a reply."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from hybrid_core.llm.chat import Message, ToolCall, Tools
from hybrid_core.llm.client.chat_model import ChatModel
from hybrid_core.llm.prompts import guarded
from hybrid_core.types.answers import Source
from hybrid_core.types.results import ReasoningStep, SearchResult
from hybrid_pageindex.engine.answers.pages import PagePictures
from retrievers.answer.searches import MARK, SEARCH, Spellings
from retrievers.reason.board import unlabelled

NOT_THERE = "NOT IN THE SOURCES"  # first words of a model's reply if the sources contain no answer
_MARKS = (*(f"{MARK}{what}" for what in ("D", "SOURCE")), SEARCH)


class HeldBack:
    """A filter of a model's reply while it is streamed.

    It holds back a beginning that may be a refusal or a request for pages, and passes other text to ``on_text``.
    """

    def __init__(self, on_text: Callable[[str], None]) -> None:
        self._on_text, self._held, self._passing = on_text, "", False

    def __call__(self, piece: str) -> None:
        if self._passing:
            self._on_text(piece)
            return
        self._held += piece
        begun = self._held.strip().upper()
        if begun and not any(mark.startswith(begun[: len(mark)]) for mark in (NOT_THERE, *_MARKS)):
            self.release()

    def release(self) -> None:
        """Pass on the text held back so far, and all later pieces."""
        if not self._passing:
            self._passing = True
            if self._held:
                self._on_text(self._held)


Vision = Literal["auto", "always", "never"]


@dataclass(frozen=True, slots=True)
class ToolUse:
    """Functions of the program that asks. ``turns`` are earlier calls for the same question, with their results.

    ``calls`` receives the model's calls. The answer is then not complete: the program asks again with the results.
    """

    tools: Tools
    turns: tuple[Message, ...] = ()
    calls: list[ToolCall] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class AskOptions:
    """Options of one answer.

    No model is called below the evidence level ``min_evidence``, unless ``force`` is set or a model has looked for the
    pages. ``tokens`` limits all sources together, pictures included. ``on_text`` receives the answer in pieces,
    ``on_step`` each other step, and ``on_sources`` the sources before each call. ``sees`` is the model for pages sent
    as pictures, ``pictures`` draws the pages, and ``vision`` selects them.

    ``question`` is answered instead of the query that was searched; ``conversation`` is the text before it. ``search``
    runs a further search without a model. ``spellings`` returns words of the library with similar spelling. ``now`` is
    the user's local time, None to keep it from the model. ``deeper`` repeats the search with a model that reads the
    section trees, None if this would change nothing. ``documents`` counts the searched documents, None if the request
    names documents. ``stopped`` cancels the model call with Cancelled. With ``tools`` a model is called whatever the
    evidence is.
    """

    min_evidence: str = "weak"
    tokens: int = 8000
    force: bool = False
    on_text: Callable[[str], None] | None = None
    on_step: Callable[[ReasoningStep], None] | None = None
    on_sources: Callable[[Sequence[Source]], None] | None = None
    sees: ChatModel | None = None
    pictures: PagePictures | None = None
    vision: Vision = "auto"
    question: str = ""
    conversation: str = ""
    deeper: Callable[[], SearchResult] | None = None
    search: Callable[[str], SearchResult] | None = None
    spellings: Spellings | None = None
    now: datetime | None = None
    documents: Callable[[], int] | None = None
    stopped: threading.Event | None = None
    tools: ToolUse | None = None


def model_remark(result: SearchResult) -> str:
    """Return a sentence that names the sources a model chose during the search, "" if no model searched."""
    named = [str(number) for number, page in enumerate(result.results, 1) if page.receipt.reasoning is not None]
    return f"A model that looked through the documents named source {', '.join(named)}. " if named else ""


def today(now: datetime | None) -> str:
    """Return a sentence with the day and time zone of the user, "" if ``now`` is None."""
    if now is None:
        return ""
    zone = f" ({now.tzname()}, UTC{now:%z})" if now.tzinfo is not None else ""
    return f"It is {now:%A, %Y-%m-%d}{zone}. "


def source_block(source: Source, pictures: Sequence[tuple[int, ...]]) -> str:
    label = f" ({source.label})" if source.label and source.label != str(source.page) else ""
    where = " ".join(f"{source.doc_name}, page {source.page}{label}, {' › '.join(source.section_path)}".split())
    seen = ""
    if source.image:
        at, numbers = next(
            (at, numbers_shown) for at, numbers_shown in enumerate(pictures, 1) if source.number in numbers_shown
        )
        others = " beside others" if len(numbers) > 1 else ""
        seen = f"\n(picture {at} shows this page{others}" + (
            "; its figures are in the picture)" if source.figures else ")"
        )
    elif unlabelled(source.text):
        seen = "\n(figures of a chart stand without their names: only the picture of the page tells which is whose)"
    elif source.figures:
        seen = "\n(it has figures or pictures that this text lacks, and they are not shown)"
    return f"Source {source.number}: {where}{seen}\n{guarded(source.text)}"
