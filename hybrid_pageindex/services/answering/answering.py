"""Answers: a search, its pages as numbered sources, a model's answer, and every citation in it checked."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal

from hybrid_core.errors import ChatError, PageIndexError
from hybrid_core.llm.chat import Message
from hybrid_core.llm.client.chat_model import ChatModel
from hybrid_core.llm.client.scope import CallScope
from hybrid_core.llm.metering import charged
from hybrid_core.llm.prompts import prompt
from hybrid_core.llm.prompts.fence import guarded
from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.types.answers import Answer, AnswerStatus, Calculation, Claim, Source
from hybrid_core.types.results import PageFound, ReasoningStep, SearchResult, StepKind
from hybrid_core.types.usage import Usage
from hybrid_pageindex.services.answering.library_pages import LibraryPages, outline
from hybrid_pageindex.services.answering.page_pictures import TOKENS, PagePictures
from hybrid_pageindex.services.answering.streaming import NOT_THERE, HeldBack
from retrievers.answer import citations
from retrievers.answer.far import near
from retrievers.answer.other_searches import Spellings, other_searches
from retrievers.answer.showing import MOST, Showing, pictured
from retrievers.answer.sources import sources
from retrievers.answer.wishes import searches, wishes
from retrievers.query.unnamed_document import unnamed_document
from retrievers.reason.page_marks import unlabelled

NO_MODEL = "no language model is configured: these are the best passages"
Vision = Literal["auto", "always", "never"]
_REFUSED = {
    "none": "Not in the library: none of the pages holds enough of what the question asks for",
    "weak": "Not in the library: the best pages hold only part of what the question asks for",
}
_LOOKED = "Not in the library: the model that looked named no page, and the best ones hold too little of the question"
_ENOUGH = {"strong": ("strong",), "weak": ("strong", "weak"), "none": ("strong", "weak", "none")}
_REPLY = 1500  # tokens that an answer may have
_READS = 2  # rounds in which the model may ask for more
_CONTINUED = 2  # best pages whose next ones are brought where they break off
_NEW = 3  # pages that another search adds
_OUTLINE = 0.04  # of the sources' tokens, for the outlines of their documents
_PICTURES = 0.5  # of these tokens at most, for pictures that nobody asked for
_LIKELY, _NAMED = 3, 0.4  # documents that are offered; the routing score from which a question names one
_MANY = 5  # documents of a library from which «this document» says nothing


@dataclass(frozen=True, slots=True)
class AskOptions:
    """``least`` is the evidence below which no model is asked unless ``force`` is set or one has looked for the pages;
    ``tokens`` are for all sources together, pictures included. ``on_text`` hears the answer as it comes, ``on_step``
    what is done besides, ``on_sources`` the sources before each call. ``sees`` is the model that is asked where pages
    are sent as pictures, which ``pictures`` draws; ``vision`` says which.

    ``question`` is what is answered where that is not what was searched for, and ``conversation`` what was said before
    it. ``search`` searches in other words, without a model; ``spellings`` are the library's words that are spelled like
    one. ``now`` is the time at the user's place, None where no model is to hear of it. ``deeper`` searches again with a
    model that looks through the trees, None where that would be the same. ``documents`` counts those that were
    searched, where none was named. ``stopped`` ends the model's call, with Cancelled.
    """

    least: str = "weak"
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


@dataclass(slots=True)
class _Draft:
    """What becomes an Answer."""

    status: AnswerStatus
    why: str = ""
    text: str = ""
    claims: tuple[Claim, ...] = ()
    notes: tuple[str, ...] = ()
    definition: str = ""
    calculations: tuple[Calculation, ...] = ()


def answer(found: SearchResult, catalog: Catalog, model: ChatModel | None, options: AskOptions) -> Answer:
    """What a model answers from the pages of a search; without one, and where it fails, only the sources."""
    began = time.perf_counter()
    work = _Answering(found, LibraryPages(catalog), model, options)
    draft = work.draft()
    found = work.found
    spent = round((time.perf_counter() - began) * 1000, 3)
    total = round(found.timings_ms.get("total", 0.0) + spent, 3)
    asked = work.asked or model
    return Answer(
        query=options.question or found.query,
        library=found.library,
        status=draft.status,
        text=draft.text,
        why=draft.why,
        claims=draft.claims,
        sources=tuple(work.sources),
        evidence=found.evidence,
        effort=found.effort,
        model="" if asked is None else asked.name,
        usage=found.usage + work.usage,
        notes=tuple(dict.fromkeys((*found.notes, *work.notes, *draft.notes))),
        timings_ms={**found.timings_ms, "answer": spent, "total": total},
        steps=tuple(work.steps),
        definition=draft.definition,
        calculations=draft.calculations,
    )


class _Answering:
    """One question's way to its answer."""

    def __init__(
        self, found: SearchResult, library: LibraryPages, model: ChatModel | None, options: AskOptions
    ) -> None:
        self.found, self._library, self._model, self._options = found, library, model, options
        self.asked: ChatModel | None = None  # the one that answered
        self.usage = Usage()
        self.notes: list[str] = []
        self.steps: list[ReasoningStep] = []
        self.sources: list[Source] = []
        self._pages = list(near(found.results))
        self._tried = {found.query, options.question}  # what was searched for
        self._prompt: list[Message] = []  # the last one
        self._whole: set[int] = set()  # sources to be given whole
        self._going_on: set[int] = set()  # sources that go on from another
        self._showing: dict[tuple[str, int], Showing | None] = {}
        self._deeper = options.deeper if found.reasoning is None and found.effort.asked == "auto" else None
        with charged(library=library.library(self._pages)):
            self._scope = CallScope(stopped=options.stopped)

    def draft(self) -> _Draft:
        if which := self._which():
            self._told()
            return _Draft("which_document", which)
        usable = self._model is not None or self._options.sees is not None
        if usable and self._pages and self.found.evidence.level == "weak":
            self._search_deeper("the evidence is weak")
        if (refusal := self._refusal()) and not (usable and self._search_otherwise(least=True)):
            self._told()
            return _Draft("not_in_library", refusal)
        if not usable:
            self._told()
            return _Draft("no_model", NO_MODEL)
        try:
            draft = self._answered()
            if draft.status == "not_in_library" and self._search_deeper("the pages found do not answer it"):
                draft = self._answered()
            if draft.status == "not_in_library" and self._search_otherwise():
                draft = self._answered(reads=1)
        except ChatError as error:
            self.usage += self._scope.usage
            return _Draft("model_failed", f"the model failed ({error}): these are the best passages")
        self.usage += self._scope.usage
        return draft

    def _told(self, given: Sequence[Source] | None = None) -> None:
        """The sources as they are now, which whoever listens hears of."""
        texts, gone = self._library.texts(self._pages)
        self.notes += gone
        plain = sources(self.found.query, self._pages, texts, self._options.tokens) if given is None else given
        self.sources = list(plain)
        if self._options.on_sources is not None:
            self._options.on_sources(self.sources)

    def _which(self) -> str:
        """What is asked back of a question that could mean any document, "" where it tells which."""
        count = self._options.documents
        if count is None or self._options.conversation or not unnamed_document(self.found.query):
            return ""
        ranked = self.found.documents
        if any(one.routing >= _NAMED for one in ranked) or (many := count()) < _MANY:
            return ""
        likely = list(dict.fromkeys(one.doc_name for one in ranked))[:_LIKELY]
        offered = f"; the likeliest are {', '.join(likely)}" if likely else ""
        return (
            f"Which document is meant? The question names none of the {many} that were searched{offered}. "
            "Name it in the question, or ask of it alone"
        )

    def _search_deeper(self, why: str) -> bool:
        """Go back to the trees, once; whether that brought other pages."""
        deeper, self._deeper = self._deeper, None
        if deeper is None:
            return False
        self._step("asked", f"to look through the section trees: {why}")
        before, spent = {(page.doc_id, page.page) for page in self._pages}, self.found.usage
        found = deeper()
        self.found = replace(found, usage=found.usage + spent)
        self._pages, self._whole, self._going_on = list(near(found.results)), set(), set()
        return not {(page.doc_id, page.page) for page in self._pages} <= before

    def _search_otherwise(self, *, least: bool = False) -> bool:
        """Search for the parts of the question and for its words as the library spells them; return whether that
        brought pages that were not there. With ``least`` each of these searches must have enough evidence.
        """
        if self._options.search is None:
            return False
        texts, _ = self._library.texts(self._pages)
        if not least:
            texts += [page.snippet for page in self.found.results]
        made = [
            (words, self._searched(words)) for words in other_searches(self.found.query, texts, self._options.spellings)
        ]
        found = [(words, one) for words, one in made if one is not None]
        if least and any(one.evidence.level not in _ENOUGH[self._options.least] for _, one in found):
            return False
        taken = [self._take(words, one) for words, one in found]
        return any(taken)

    def _searched(self, words: str) -> SearchResult | None:
        """Return what a search finds that was not made before; None for one that was, or that fails."""
        if self._options.search is None or words in self._tried:
            return None
        self._tried.add(words)
        try:
            return self._options.search(words)
        except PageIndexError as error:
            self._step("dropped", f"a search for {words}: {error}")
            return None

    def _take(self, words: str, found: SearchResult) -> bool:
        """Add the first pages of a search; return whether there is anything new."""
        have = {(page.doc_id, page.page) for page in self._pages}
        new = [page for page in found.results if (page.doc_id, page.page) not in have][:_NEW]
        self._pages += new
        names = ", ".join(f"{page.doc_name} page {page.page}" for page in new) or "nothing new"
        self._step("searched", f"{words}: {names}")
        return bool(new)

    def _refusal(self) -> str:
        """Why no model is asked to answer, "" where one is.

        The measure of words decides by itself only where no model was asked for the pages: one that named some has
        looked closer, and one that failed has said nothing against them. Of an unclear question it says nothing: «what
        is this about?» can be answered from the pages of one document. Nor does it of what only pictures show.
        """
        found, options = self.found, self._options
        if not found.results:
            unclear = f"Nothing was found: {found.evidence.hint}"
            return unclear if found.evidence.level == "unclear" else _REFUSED["none"]
        looked_in_vain = found.reasoning is not None and found.reasoning.outcome == "nothing"
        if found.evidence.level == "unclear":
            return _LOOKED if looked_in_vain and not options.force else ""
        if options.force or found.evidence.level in _ENOUGH[options.least] or self._chosen(self._pages):
            return ""
        if found.reasoning is None:
            return _REFUSED[found.evidence.level]
        return _LOOKED if looked_in_vain else ""

    def _answered(self, reads: int = _READS) -> _Draft:
        """Raises ChatError."""
        self._bring_next_pages()
        for left in range(reads, -1, -1):
            text, finished, held = self._said(left)
            if not left or not (wishes(text) or searches(text)) or not self._read(text):
                break
        if text.strip().upper().startswith(NOT_THERE):
            reason = text.strip()[len(NOT_THERE) :].strip(" .:—–-\n")
            why = "Not in the library: the model found no answer in the sources"
            return _Draft("not_in_library", f"{why}: {reason}" if reason else why)
        if wishes(text) or searches(text):
            return _Draft("not_in_library", "Not in the library: the model asked for more than it may read")
        question = f"{self._options.question or self.found.query}\n{self.found.query}"
        seen = [source.number for source in self.sources if source.image]
        checked = citations.check(text, held, question, seen)
        notes = [] if finished else ["the answer was cut off at its longest length"]
        if checked.dropped:
            lost = ", ".join(checked.dropped)
            notes.append(f"citations of sources that were not given were taken out: {lost}")
        cited = {number for claim in checked.claims for number in claim.sources}
        notes += [
            f"the picture of source {source.number} ({source.doc_name}, page {source.page}) was not looked at, "
            "and its text lacks what a chart or figure shows: open the page to compare"
            for source in self.sources
            if source.number in cited and not source.image and (source.figures or unlabelled(held[source.number]))
        ]
        return _Draft(
            "answered", "", checked.text, checked.claims, tuple(notes), checked.definition, checked.calculations
        )

    def _bring_next_pages(self) -> None:
        """Add the next page of each of the best ones whose answering passage may go on there."""
        if self._going_on:
            return
        texts, _ = self._library.texts(self._pages[:_CONTINUED])
        for page, text in zip(self._pages[:_CONTINUED], texts, strict=True):
            brought = self._library.next_page(page, text)
            if brought is None or any((one.doc_id, one.page) == (page.doc_id, page.page + 1) for one in self._pages):
                continue
            self._pages.append(brought)
            self._going_on.add(len(self._pages))
            self._step("read", f"what goes on there: {brought.doc_name} page {brought.page}")

    def _read(self, text: str) -> bool:
        """Take in what the model asked for; whether there is anything new."""
        listed = self._library.listed(self._pages)
        new, whole, lost = self._library.wished(wishes(text), listed, self._pages)
        fresh = [number for number in whole if number not in self._whole]
        self._whole |= {*whole, *range(len(self._pages) + 1, len(self._pages) + 1 + len(new))}
        self._pages += new
        if lost:
            self._step("dropped", f"what does not exist: {', '.join(lost)}")
        taken = [f"{page.doc_name} page {page.page}" for page in new]
        taken += [f"all of source {number}" for number in fresh]
        if taken:
            self._step("read", f"as the model asked before it answers: {', '.join(taken)}")
        for words in searches(text):
            found = self._searched(words)
            if found is not None and self._take(words, found):
                taken.append(words)
        return bool(taken)

    def _said(self, left: int) -> tuple[str, bool, dict[int, str]]:
        """A reply, whether it is whole, and what of each source it can be compared with."""
        options, found = self._options, self.found
        texts, gone = self._library.texts(self._pages)
        self.notes += gone
        chosen = self._chosen(self._pages)
        by_eyes = bool(chosen) or options.vision == "always" or self._model is None
        model = (options.sees if by_eyes else None) or self._model
        if model is None:
            raise ChatError("no model is left.", failure="model")
        self.asked = model
        room = int(options.tokens * (1 - _OUTLINE))
        if options.vision == "auto":
            room -= TOKENS * len(chosen)
        given = sources(found.query, self._pages, texts, room, self._whole, self._going_on)
        given, images, chosen = self._pictured(given, chosen)
        shown = [source for source in given if source.image or source.text or not source.cut]
        if missing := len(given) - len(shown):
            self.notes.append(
                f"{missing} of {len(given)} pages were not given to the model: answer_tokens has no room for them"
            )
        self._told(given)
        held = {one.number: texts[one.number - 1] if one.image else one.text for one in shown}
        listed = outline(self._library.listed(self._pages), int(options.tokens * _OUTLINE))
        written = prompt("follow-up-answer" if options.conversation else "answer")
        question = options.question or found.query
        values = {
            "question": question, "evidence": _rated(found), "documents": listed, "now": _today(options.now),
            "sources": "\n\n".join(_shown(source, chosen) for source in shown),
            "reading": f"You may read more {left} times." if left > 1 else "You may read more once."
            if left else "You cannot read more: answer now.",
        }  # fmt: skip
        if options.conversation:
            values["conversation"] = options.conversation
        messages = self._prompt = written.messages(values, self._prompt)
        if images:
            messages = [*messages[:-1], replace(messages[-1], images=tuple(images))]
        heard = None if options.on_text is None else HeldBack(options.on_text)
        reply = model.say(messages, on_text=heard, prompt=written.id, max_tokens=_REPLY, scope=self._scope)
        said = reply.text.strip()
        if heard is not None and not said.upper().startswith(NOT_THERE) and not (wishes(said) or searches(said)):
            heard.release()
        return reply.text, reply.finished, held

    def _chosen(self, pages: Sequence[PageFound]) -> list[tuple[int, ...]]:
        """The sources (numbers) that each picture shows."""
        options = self._options
        if options.sees is None or options.pictures is None or options.vision == "never":
            return []
        if options.vision == "always":
            return [(number,) for number in range(1, len(pages) + 1)]
        most = min(MOST, int(options.tokens * _PICTURES) // TOKENS)
        seen = [self._shows(page) for page in pages]
        together = pictured(seen, [page.doc_id for page in pages], most)
        return [tuple(at + 1 for at in one) for one in together]

    def _shows(self, page: PageFound) -> Showing | None:
        key = (page.doc_id, page.page)
        if key not in self._showing:
            pictures = self._options.pictures
            self._showing[key] = None if pictures is None else pictures.showing(page)
        return self._showing[key]

    def _pictured(
        self, given: Sequence[Source], chosen: Sequence[tuple[int, ...]]
    ) -> tuple[list[Source], list[bytes], list[tuple[int, ...]]]:
        """The sources with their pages drawn, the pictures, and the sources that each shows; those that cannot be drawn
        stay text, and it is said why.
        """
        pictures, always = self._options.pictures, self._options.vision == "always"
        images: list[bytes] = []
        drawn: list[tuple[int, ...]] = []
        for numbers in chosen:
            if pictures is None:  # then none is chosen
                break
            pages = {number: self._pages[number - 1] for number in numbers}
            showing = self._shows(pages[numbers[0]]) if not always else None
            try:
                images.append(pictures.draw(pages, clip=showing.clip if showing else None, whole_size=always))
                drawn.append(numbers)
            except PageIndexError as error:
                named = "source " + ", ".join(map(str, numbers))
                self.notes.append(f"{named} was sent as text only: {error}")
        seen = {number for numbers in drawn for number in numbers}
        made = []
        for source, page in zip(given, self._pages, strict=True):
            showing = self._showing.get((page.doc_id, page.page))
            unread = showing is not None and showing.unread
            made.append(replace(source, figures=unread, image=source.number in seen))
        return made, images, drawn

    def _step(self, kind: StepKind, text: str) -> None:
        step = ReasoningStep(kind, text)
        self.steps.append(step)
        if self._options.on_step is not None:
            self._options.on_step(step)


def _rated(found: SearchResult) -> str:
    """Return what a model that looked for the pages says of them, for the one that answers."""
    named = [str(number) for number, page in enumerate(found.results, 1) if page.receipt.reasoning is not None]
    return f"A model that looked through the documents named source {', '.join(named)}. " if named else ""


def _today(now: datetime | None) -> str:
    """Return the day, time and time zone at the user's place in a sentence, "" where it is not to be told."""
    if now is None:
        return ""
    zone = f" ({now.tzname()}, UTC{now:%z})" if now.tzinfo is not None else ""
    return f"It is {now:%A, %Y-%m-%d}{zone}. "


def _shown(source: Source, pictures: Sequence[tuple[int, ...]]) -> str:
    label = f" ({source.label})" if source.label and source.label != str(source.page) else ""
    where = " ".join(f"{source.doc_name}, page {source.page}{label}, {' › '.join(source.section_path)}".split())
    seen = ""
    if source.image:
        at, numbers = next((at, one) for at, one in enumerate(pictures, 1) if source.number in one)
        others = " beside others" if len(numbers) > 1 else ""
        seen = f"\n(picture {at} shows this page{others}" + (
            "; its figures are in the picture)" if source.figures else ")"
        )
    elif unlabelled(source.text):
        seen = "\n(figures of a chart stand without their names: only the picture of the page tells which is whose)"
    elif source.figures:
        seen = "\n(it has figures or pictures that this text lacks, and they are not shown)"
    return f"Source {source.number}: {where}{seen}\n{guarded(source.text)}"
