"""Let a model write an answer from numbered sources, and check every citation."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from hybrid_core.errors import ChatError, PageIndexError
from hybrid_core.llm.budget import charged
from hybrid_core.llm.chat import Message, Reply
from hybrid_core.llm.client.chat_model import ChatModel
from hybrid_core.llm.client.scope import CallScope
from hybrid_core.llm.prompts import prompt
from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.types.answers import Answer, AnswerStatus, Calculation, Claim, Source
from hybrid_core.types.notes import NONE, Note
from hybrid_core.types.results import PageFound, ReasoningStep, SearchResult, StepKind
from hybrid_core.types.usage import Usage
from hybrid_pageindex.engine.answers.pages import TOKENS, LibraryPages, outline
from hybrid_pageindex.engine.answers.prompt import NOT_THERE, AskOptions, HeldBack, model_remark, source_block, today
from retrievers.answer import citations
from retrievers.answer.searches import other_searches, searches, wishes
from retrievers.answer.sources import MOST, Showing, near, pictured, sources
from retrievers.query.references import unnamed_document
from retrievers.reason.board import unlabelled

NO_MODEL = Note("answer.no-model")
_REFUSALS = {
    "none": Note("answer.nothing-held"),
    "weak": Note("answer.partly-held"),
}
_NO_PAGE_NAMED = Note("answer.no-page-named")
_ENOUGH = {"strong": ("strong",), "weak": ("strong", "weak"), "none": ("strong", "weak", "none")}
_REPLY = 1500  # tokens that an answer may have
_READS = 2  # rounds in which the model may ask for more
_CONTINUED_PAGES = 2  # best pages whose next ones are brought where they break off
_NEW = 3  # pages that another search adds
_OUTLINE = 0.04  # share of the sources' tokens for the outlines of their documents
_PICTURES = 0.5  # maximum share of these tokens for pictures that the user did not request
_LIKELY, _NAMED = 3, 0.4  # documents that are offered; the routing score from which a question names one
_MANY = 5  # documents of a library from which "this document" says nothing


@dataclass(slots=True)
class _Draft:
    """An answer without its sources."""

    status: AnswerStatus
    why: Note = NONE
    text: str = ""
    claims: tuple[Claim, ...] = ()
    notes: tuple[Note, ...] = ()
    definition: str = ""
    calculations: tuple[Calculation, ...] = ()


def answer(result: SearchResult, catalog: Catalog, model: ChatModel | None, options: AskOptions) -> Answer:
    """Return an answer to a question, written by the model from the pages of a search result.

    Without a model, or if the model fails, the answer contains only the sources.
    """
    began = time.perf_counter()
    work = _AnswerRun(result, LibraryPages(catalog), model, options)
    draft = work.draft()
    result = work.found
    spent = round((time.perf_counter() - began) * 1000, 3)
    total = round(result.timings_ms.get("total", 0.0) + spent, 3)
    answered_by = work.asked or model
    return Answer(
        query=options.question or result.query,
        library=result.library,
        status=draft.status,
        text=draft.text,
        why=draft.why,
        claims=draft.claims,
        sources=tuple(work.sources),
        evidence=result.evidence,
        effort=result.effort,
        model="" if answered_by is None else answered_by.name,
        usage=result.usage + work.usage,
        notes=tuple(dict.fromkeys((*result.notes, *work.notes, *draft.notes))),
        timings_ms={**result.timings_ms, "answer": spent, "total": total},
        steps=tuple(work.steps),
        definition=draft.definition,
        calculations=draft.calculations,
    )


class _AnswerRun:
    """The state and steps of answering one question: pages, sources, searches and model calls."""

    def __init__(
        self, result: SearchResult, library: LibraryPages, model: ChatModel | None, options: AskOptions
    ) -> None:
        self.found, self._library, self._model, self._options = result, library, model, options
        self.asked: ChatModel | None = None  # the one that answered
        self.usage = Usage()
        self.notes: list[Note] = []
        self.steps: list[ReasoningStep] = []
        self.sources: list[Source] = []
        self._pages = list(near(result.results))
        self._tried = {result.query, options.question}  # texts that were already searched
        self._prompt: list[Message] = []  # the last one
        self._whole: set[int] = set()  # sources to be given whole
        self._going_on: set[int] = set()  # sources that go on from another
        self._showing: dict[tuple[str, int], Showing | None] = {}
        self._deeper = options.deeper if result.reasoning is None and result.effort.asked == "auto" else None
        with charged(library=library.library(self._pages)):
            self._scope = CallScope(stopped=options.stopped)

    def draft(self) -> _Draft:
        usable = self._model is not None or self._options.sees is not None
        if not (usable and self._options.tools) and (draft := self._without_call(usable)) is not None:
            return draft
        try:
            draft = self._answered()
            if draft.status == "not_in_library" and self._search_deeper("the pages found do not answer it"):
                draft = self._answered()
            if draft.status == "not_in_library" and self._search_otherwise():
                draft = self._answered(reads=1)
        except ChatError as error:
            self.usage += self._scope.usage
            return _Draft("model_failed", Note("answer.model-failed", error=error.note))
        self.usage += self._scope.usage
        return draft

    def _without_call(self, usable: bool) -> _Draft | None:
        """Return the draft if no model is to be called, None if one is. Search deeper if the evidence is weak."""
        if which := self._which():
            self._report_sources()
            return _Draft("which_document", which)
        if usable and self._pages and self.found.evidence.level == "weak":
            self._search_deeper("the evidence is weak")
        if (refusal := self._refusal()) and not (usable and self._search_otherwise(enough=True)):
            self._report_sources()
            return _Draft("not_in_library", refusal)
        if not usable:
            self._report_sources()
            return _Draft("no_model", NO_MODEL)
        return None

    def _report_sources(self, passages: Sequence[Source] | None = None) -> None:
        """Build the sources from the current pages, and report them to ``on_sources``."""
        texts, gone = self._library.texts(self._pages)
        self.notes += gone
        plain = sources(self.found.query, self._pages, texts, self._options.tokens) if passages is None else passages
        self.sources = list(plain)
        if self._options.on_sources is not None:
            self._options.on_sources(self.sources)

    def _which(self) -> Note:
        """Return a note that asks the user which document is meant, the empty ``NONE`` if that is clear."""
        count = self._options.documents
        if count is None or self._options.conversation or not unnamed_document(self.found.query):
            return NONE
        ranked = self.found.documents
        if any(document.routing >= _NAMED for document in ranked) or (many := count()) < _MANY:
            return NONE
        likely = list(dict.fromkeys(document.doc_name for document in ranked))[:_LIKELY]
        if likely:
            return Note("answer.which-of", documents=many, names=likely)
        return Note("answer.which-document", documents=many)

    def _search_deeper(self, why: str) -> bool:
        """Search once more, with a model that reads the section trees. Return whether this found new pages."""
        deeper, self._deeper = self._deeper, None
        if deeper is None:
            return False
        self._step("asked", f"to look through the section trees: {why}")
        before, spent = {(page.doc_id, page.page) for page in self._pages}, self.found.usage
        result = deeper()
        self.found = replace(result, usage=result.usage + spent)
        self._pages, self._whole, self._going_on = list(near(result.results)), set(), set()
        return not {(page.doc_id, page.page) for page in self._pages} <= before

    def _search_otherwise(self, *, enough: bool = False) -> bool:
        """Search again with parts of the question and with similar words that the library uses.

        Return whether pages were added. With ``enough``, add none unless every such search has enough evidence.
        """
        if self._options.search is None:
            return False
        texts, _ = self._library.texts(self._pages)
        if not enough:
            texts += [page.snippet for page in self.found.results]
        searches_made = [
            (words, self._searched(words)) for words in other_searches(self.found.query, texts, self._options.spellings)
        ]
        results = [(words, result) for words, result in searches_made if result is not None]
        if enough and any(result.evidence.level not in _ENOUGH[self._options.min_evidence] for _, result in results):
            return False
        taken = [self._take(words, result) for words, result in results]
        return any(taken)

    def _searched(self, words: str) -> SearchResult | None:
        """Search for words, and return the result. Return None for repeated words or a failed search."""
        if self._options.search is None or words in self._tried:
            return None
        self._tried.add(words)
        try:
            return self._options.search(words)
        except PageIndexError as error:
            self._step("dropped", f"a search for {words}: {error}")
            return None

    def _take(self, words: str, result: SearchResult) -> bool:
        """Add the pages of a search result that are not yet among the answer's pages. Return whether any was added."""
        have = {(page.doc_id, page.page) for page in self._pages}
        new = [page for page in result.results if (page.doc_id, page.page) not in have][:_NEW]
        self._pages += new
        names = ", ".join(f"{page.doc_name} page {page.page}" for page in new) or "nothing new"
        self._step("searched", f"{words}: {names}")
        return bool(new)

    def _refusal(self) -> Note:
        """Return the reason for not letting a model answer, the empty ``NONE`` if a model should answer.

        A low evidence level is a reason only if no model chose the pages and no pictures are sent. It is no reason for
        an unclear question such as "what is this about?".
        """
        result, options = self.found, self._options
        if not result.results:
            unclear = Note("answer.nothing-found", hint=result.evidence.hint)
            return unclear if result.evidence.level == "unclear" else _REFUSALS["none"]
        looked_in_vain = result.reasoning is not None and result.reasoning.outcome == "nothing"
        if result.evidence.level == "unclear":
            return _NO_PAGE_NAMED if looked_in_vain and not options.force else NONE
        if options.force or result.evidence.level in _ENOUGH[options.min_evidence] or self._chosen(self._pages):
            return NONE
        if result.reasoning is None:
            return _REFUSALS[result.evidence.level]
        return _NO_PAGE_NAMED if looked_in_vain else NONE

    def _answered(self, reads: int = _READS) -> _Draft:
        """Let the model write the answer, with further rounds of reading if it requests them. Return the answer.

        Raise ChatError if the model fails.
        """
        self._bring_next_pages()
        for left in range(reads, -1, -1):
            reply, texts = self._ask_model(left)
            text, finished = reply.text, reply.finished
            if self._options.tools is not None and reply.calls:
                self._options.tools.calls.extend(reply.calls)
                return _Draft("answered", text=text.strip())
            if not left or not (wishes(text) or searches(text)) or not self._read(text):
                break
        if text.strip().upper().startswith(NOT_THERE):
            reason = text.strip()[len(NOT_THERE) :].strip(" .:—–-\n")
            why = Note("answer.not-in-sources-because", reason=reason) if reason else Note("answer.not-in-sources")
            return _Draft("not_in_library", why)
        if wishes(text) or searches(text):
            return _Draft("not_in_library", Note("answer.asked-too-much"))
        question = f"{self._options.question or self.found.query}\n{self.found.query}"
        seen = [source.number for source in self.sources if source.image]
        checked = citations.check(text, texts, question, seen)
        notes = [] if finished else [Note("answer.cut-off")]
        if checked.dropped:
            notes.append(Note("answer.citations-dropped", citations=list(checked.dropped)))
        cited = {number for claim in checked.claims for number in claim.sources}
        notes += [
            Note("answer.picture-not-seen", source=source.number, document=source.doc_name, page=source.page)
            for source in self.sources
            if source.number in cited and not source.image and (source.figures or unlabelled(texts[source.number]))
        ]
        return _Draft(
            "answered", NONE, checked.text, checked.claims, tuple(notes), checked.definition, checked.calculations
        )

    def _bring_next_pages(self) -> None:
        """Add the page that follows each of the best pages, if the answering passage may continue there."""
        if self._going_on:
            return
        texts, _ = self._library.texts(self._pages[:_CONTINUED_PAGES])
        for page, text in zip(self._pages[:_CONTINUED_PAGES], texts, strict=True):
            brought = self._library.next_page(page, text)
            if brought is None or any(
                (other.doc_id, other.page) == (page.doc_id, page.page + 1) for other in self._pages
            ):
                continue
            self._pages.append(brought)
            self._going_on.add(len(self._pages))
            self._step("read", f"what goes on there: {brought.doc_name} page {brought.page}")

    def _read(self, text: str) -> bool:
        """Add the pages, full texts and search results that a model's reply requests. Return whether anything was
        added.
        """
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
            result = self._searched(words)
            if result is not None and self._take(words, result):
                taken.append(words)
        return bool(taken)

    def _ask_model(self, left: int) -> tuple[Reply[Any], dict[int, str]]:
        """Call the model. Return its reply, and the source texts by number.

        Citations are checked against these texts. ``left`` is the number of rounds in which the model may still request
        more.
        """
        options, result = self._options, self.found
        texts, gone = self._library.texts(self._pages)
        self.notes += gone
        chosen = self._chosen(self._pages)
        by_eyes = bool(chosen) or options.vision == "always" or self._model is None
        model = (options.sees if by_eyes else None) or self._model
        if model is None:
            raise ChatError("the vision model failed, and no language model is configured.", failure="model")
        self.asked = model
        room = int(options.tokens * (1 - _OUTLINE))
        if options.vision == "auto":
            room -= TOKENS * len(chosen)
        passages = sources(result.query, self._pages, texts, room, self._whole, self._going_on)
        passages, images, chosen = self._pictured(passages, chosen)
        shown = [source for source in passages if source.image or source.text or not source.cut]
        if missing := len(passages) - len(shown):
            self.notes.append(Note("answer.no-room", missing=missing, pages=len(passages)))
        self._report_sources(passages)
        source_texts = {
            passage.number: texts[passage.number - 1] if passage.image else passage.text for passage in shown
        }
        listed = outline(self._library.listed(self._pages), int(options.tokens * _OUTLINE))
        written = prompt("follow-up-answer" if options.conversation else "answer")
        question = options.question or result.query
        values = {
            "question": question, "evidence": model_remark(result), "documents": listed, "now": today(options.now),
            "sources": "\n\n".join(source_block(source, chosen) for source in shown),
            "reading": f"You may read more {left} times." if left > 1 else "You may read more once."
            if left else "You cannot read more: answer now.",
        }  # fmt: skip
        if options.conversation:
            values["conversation"] = options.conversation
        messages = self._prompt = written.messages(values, self._prompt)
        if images:
            messages = [*messages[:-1], replace(messages[-1], images=tuple(images))]
        tools = None
        if options.tools is not None:
            tools, rules = options.tools.tools, prompt("answer-tools").messages({})[0].text
            last = replace(messages[-1], text=f"{messages[-1].text}\n\n{rules}")
            messages = [*messages[:-1], last, *options.tools.turns]
        heard = None if options.on_text is None else HeldBack(options.on_text)
        reply = model.say(messages, on_text=heard, prompt=written.id, max_tokens=_REPLY, scope=self._scope, tools=tools)
        trimmed = reply.text.strip()
        if (
            heard is not None
            and not trimmed.upper().startswith(NOT_THERE)
            and not (wishes(trimmed) or searches(trimmed))
        ):
            heard.release()
        return reply, source_texts

    def _chosen(self, pages: Sequence[PageFound]) -> list[tuple[int, ...]]:
        """Choose the page pictures to send. Return for each picture the numbers of the sources on it."""
        options = self._options
        if options.sees is None or options.pictures is None or options.vision == "never":
            return []
        if options.vision == "always":
            return [(number,) for number in range(1, len(pages) + 1)]
        limit = min(MOST, int(options.tokens * _PICTURES) // TOKENS)
        seen = [self._shows(page) for page in pages]
        together = pictured(seen, [page.doc_id for page in pages], limit)
        return [tuple(at + 1 for at in group) for group in together]

    def _shows(self, page: PageFound) -> Showing | None:
        key = (page.doc_id, page.page)
        if key not in self._showing:
            pictures = self._options.pictures
            self._showing[key] = None if pictures is None else pictures.showing(page)
        return self._showing[key]

    def _pictured(
        self, passages: Sequence[Source], chosen: Sequence[tuple[int, ...]]
    ) -> tuple[list[Source], list[bytes], list[tuple[int, ...]]]:
        """Return the sources, the pictures to send, and the source numbers that each picture shows.

        A page that cannot be drawn is sent as text, with a note.
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
                self.notes.append(Note("answer.text-only", sources=list(numbers), error=error.note))
        seen = {number for numbers in drawn for number in numbers}
        with_images = []
        for source, page in zip(passages, self._pages, strict=True):
            showing = self._showing.get((page.doc_id, page.page))
            unread = showing is not None and showing.unread
            with_images.append(replace(source, figures=unread, image=source.number in seen))
        return with_images, images, drawn

    def _step(self, kind: StepKind, text: str) -> None:
        step = ReasoningStep(kind, text)
        self.steps.append(step)
        if self._options.on_step is not None:
            self._options.on_step(step)
