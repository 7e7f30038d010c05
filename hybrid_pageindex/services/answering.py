"""Answers: a search, its pages as numbered sources, a model's answer, and every citation in it checked."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from hybrid_core.errors import ChatError, PageIndexError
from hybrid_core.llm.client.chat_model import ChatModel
from hybrid_core.llm.client.scope import CallScope
from hybrid_core.llm.metering import charged
from hybrid_core.llm.prompts import prompt
from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.types.answers import Answer, AnswerStatus, Claim, Source
from hybrid_core.types.results import SearchResult
from hybrid_core.types.usage import Usage
from retrievers.answer import citations
from retrievers.answer.sources import sources

NOT_THERE = "NOT IN THE SOURCES"  # what the prompt has the model begin with where they hold no answer
NO_MODEL = "no language model is configured: these are the best passages"
_REFUSED = {
    "none": "Not in the library: none of the pages holds enough of what the question asks for",
    "weak": "Not in the library: the best pages hold only part of what the question asks for",
}
_LOOKED = "Not in the library: the model that looked named no page, and the best ones hold too little of the question"
_REPLY = 1500  # tokens that an answer may have


@dataclass(frozen=True, slots=True)
class AskOptions:
    """``least`` is the evidence below which no model is asked unless ``force`` is set or one has looked for the pages;
    ``tokens`` are for all sources together. ``on_text`` hears the answer as it comes. ``image`` draws a page, where
    pages are to be sent as pictures. ``question`` is what is answered where that is not what was searched for, and
    ``conversation`` what was said before it. ``stopped`` ends the model's call, with Cancelled.
    """

    least: str = "weak"
    tokens: int = 8000
    force: bool = False
    on_text: Callable[[str], None] | None = None
    image: Callable[[str, int], bytes] | None = None
    question: str = ""
    conversation: str = ""
    stopped: threading.Event | None = None


@dataclass(slots=True)
class _Draft:
    """What becomes an Answer."""

    status: AnswerStatus
    why: str = ""
    text: str = ""
    claims: tuple[Claim, ...] = ()
    usage: Usage = field(default_factory=Usage)
    notes: tuple[str, ...] = ()


class _HeldBack:
    """Passes an answer on as it comes, but for a beginning that may still turn out to say that there is none."""

    def __init__(self, on_text: Callable[[str], None]) -> None:
        self._on_text, self._held, self._passing = on_text, "", False

    def __call__(self, piece: str) -> None:
        if self._passing:
            self._on_text(piece)
            return
        self._held += piece
        begun = self._held.strip().upper()
        if begun and not NOT_THERE.startswith(begun[: len(NOT_THERE)]):
            self._passing = True
            self._on_text(self._held)


def answer(found: SearchResult, catalog: Catalog, model: ChatModel | None, options: AskOptions) -> Answer:
    """What a model answers from the pages of a search; without one, and where it fails, only the sources."""
    began = time.perf_counter()
    texts, notes, libraries = _texts(found, catalog)
    given = sources(found.query, found.results, texts, options.tokens)
    seen: list[Source] = given
    pictures: list[bytes] = []
    if refusal := _refusal(found, options):
        draft = _Draft("not_in_library", refusal)
    elif model is None:
        draft = _Draft("no_model", NO_MODEL)
    else:
        if options.image is not None:
            seen, pictures, undrawn = _pictures(given, options.image)
            notes += undrawn
        shown = [source for source in seen if source.image or source.text or not source.cut]
        if left := len(seen) - len(shown):
            notes.append(f"{left} of {len(seen)} pages were not given to the model: answer_tokens has no room for them")
        held = {one.number: texts[one.number - 1] if one.image else one.text for one in shown}
        with charged(library=libraries.pop() if len(libraries) == 1 else ""):
            draft = _asked(found, model, shown, held, pictures, options)
    spent = round((time.perf_counter() - began) * 1000, 3)
    total = round(found.timings_ms.get("total", 0.0) + spent, 3)
    return Answer(
        query=options.question or found.query,
        library=found.library,
        status=draft.status,
        text=draft.text,
        why=draft.why,
        claims=draft.claims,
        sources=tuple(seen),
        evidence=found.evidence,
        effort=found.effort,
        model="" if model is None else model.name,
        usage=found.usage + draft.usage,
        notes=(*found.notes, *notes, *draft.notes),
        timings_ms={**found.timings_ms, "answer": spent, "total": total},
    )


def _refusal(found: SearchResult, options: AskOptions) -> str:
    """Why no model is asked to answer, "" where one is.

    The measure of words decides by itself only where no model was asked for the pages: one that named some has looked
    closer, and one that failed has said nothing against them. Of an unclear question it says nothing: «what is this
    about?» can be answered from the pages of one document.
    """
    if not found.results:
        unclear = f"Nothing was found: {found.evidence.hint}"
        return unclear if found.evidence.level == "unclear" else _REFUSED["none"]
    looked_in_vain = found.reasoning is not None and found.reasoning.outcome == "nothing"
    if found.evidence.level == "unclear":
        return _LOOKED if looked_in_vain and not options.force else ""
    enough = {"strong": ("strong",), "weak": ("strong", "weak"), "none": ("strong", "weak", "none")}
    if options.force or found.evidence.level in enough[options.least]:
        return ""
    if found.reasoning is None:
        return _REFUSED[found.evidence.level]
    return _LOOKED if looked_in_vain else ""


def _asked(
    found: SearchResult,
    model: ChatModel,
    given: Sequence[Source],
    pages: dict[int, str],
    pictures: Sequence[bytes],
    options: AskOptions,
) -> _Draft:
    written = prompt("follow-up-answer" if options.conversation else "answer")
    question = options.question or found.query
    pictured = [source.number for source in given if source.image]
    shown = [_shown(source, pictured) for source in given]
    values = {"question": question, "evidence": _rated(found), "sources": "\n\n".join(shown)}
    if options.conversation:
        values["conversation"] = options.conversation
    messages = written.messages(values)
    if pictures:
        messages[-1] = replace(messages[-1], images=tuple(pictures))
    try:
        heard = None if options.on_text is None else _HeldBack(options.on_text)
        scope = CallScope(stopped=options.stopped)
        reply = model.say(messages, on_text=heard, prompt=written.id, max_tokens=_REPLY, scope=scope)
    except ChatError as error:
        why = f"the model failed ({error}): these are the best passages"
        return _Draft("model_failed", why, usage=error.usage)
    if reply.text.strip().upper().startswith(NOT_THERE):
        why = "Not in the library: the model found no answer in the sources"
        return _Draft("not_in_library", why, usage=reply.usage)
    text, claims, dropped = citations.check(reply.text, pages, f"{question}\n{found.query}")
    cut = () if reply.finished else ("the answer was cut off at its longest length",)
    notes = (f"citations of sources that were not given were taken out: {', '.join(dropped)}",) if dropped else ()
    return _Draft("answered", "", text, claims, reply.usage, (*cut, *notes))


def _rated(found: SearchResult) -> str:
    """What the search says of its pages, for a model."""
    named = [str(number) for number, page in enumerate(found.results, 1) if page.receipt.reasoning is not None]
    looked = f"; a model that looked through the documents named source {', '.join(named)}" if named else ""
    return f"{found.evidence.level}{looked}"


def _shown(source: Source, pictured: Sequence[int]) -> str:
    label = f" ({source.label})" if source.label and source.label != str(source.page) else ""
    where = f"{source.doc_name}, page {source.page}{label}, {' › '.join(source.section_path)}"
    picture = f"\n(picture {pictured.index(source.number) + 1} shows this page)" if source.image else ""
    return f"Source {source.number}: {where}{picture}\n{source.text}"


def _texts(found: SearchResult, catalog: Catalog) -> tuple[list[str], list[str], set[str]]:
    """The full texts of the pages that were found; of one that has been removed since its passage, and it is said. Last
    the ids of their libraries.
    """
    with catalog.snapshot() as snapshot:
        documents = [snapshot.document(page.doc_id) for page in found.results]
        contents = {one.doc_id: one.content_id for one in documents if one is not None}
        places = [(contents.get(page.doc_id, ""), page.page) for page in found.results]
        held = snapshot.page_texts(places)
    texts = [
        held[place].text if place in held else page.snippet for place, page in zip(places, found.results, strict=True)
    ]
    gone = [f"{p.doc_name}, page {p.page}" for place, p in zip(places, found.results, strict=True) if place not in held]
    notes = [f"removed since it was found, so only the passage is left: {page}" for page in gone]
    return texts, notes, {one.library for one in documents if one is not None}


def _pictures(
    given: Sequence[Source], image: Callable[[str, int], bytes]
) -> tuple[list[Source], list[bytes], list[str]]:
    """The sources with their pages drawn; those that cannot be drawn stay text, and it is said why."""
    seen: list[Source] = []
    pictures: list[bytes] = []
    notes: list[str] = []
    for source in given:
        try:
            pictures.append(image(source.doc_id, source.page))
            seen.append(replace(source, image=True))
        except PageIndexError as error:
            seen.append(source)
            notes.append(f"source {source.number} was sent as text only: {error}")
    return seen, pictures, notes
