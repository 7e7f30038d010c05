"""Improve one document with models: its pages, its tree, its section summaries, its description.

A failed step keeps the results of the rules and adds a note. Replies are cached for the next run. Changed pages or
sections get new anchors, chunks, terms and warnings.
"""

from __future__ import annotations

import hashlib
import itertools
import math
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor, Future
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any, Generic, Protocol, TypeVar

from hybrid_core.errors import Cancelled, PageIndexError
from hybrid_core.llm.client.chat_model import ChatModel
from hybrid_core.llm.client.limiter import Breaker
from hybrid_core.llm.client.scope import CallScope
from hybrid_core.llm.replies import ReplyCache
from hybrid_core.text.prose import ranges
from hybrid_core.text.terms import TermCounts
from hybrid_core.types.documents import IndexedContent, Page, Section
from hybrid_core.types.files import Kind
from hybrid_core.types.notes import Note
from indexers.assembly.chunks import ChunkSize, cut
from indexers.assembly.content import heading_terms, text_warnings
from indexers.assembly.spool import PageTerms, TermsByPage
from indexers.enrich.options import EnrichModels, EnrichOptions, choose, passed_over, scans
from indexers.enrich.pages import ChosenPage, describe_pages, place_of_page
from indexers.enrich.sections import compose, describe_document, summarise_sections
from indexers.enrich.steps import Stage, StepDone, StepName
from indexers.enrich.tree import improve_tree
from indexers.formats.format import PageLook
from indexers.formats.limits import plain_reason


def within(sections: Sequence[Section], pages: Sequence[Page], before: Sequence[Page]) -> tuple[Section, ...]:
    """Return the sections with their start and end offsets adjusted to the new texts of the pages.

    ``before`` are the pages with the old texts.
    """

    def inside(page: int, anchor: int) -> int:
        text, old = pages[page - 1].text, before[page - 1].text
        if text != old and text.count("\n") == old.count("\n"):
            line = old.count("\n", 0, anchor)
            column = anchor - (old.rfind("\n", 0, anchor) + 1)
            lines = text.split("\n")
            return sum(len(line_text) + 1 for line_text in lines[:line]) + min(column, len(lines[line]))
        return min(anchor, len(text))

    return tuple(
        replace(
            section,
            anchor=inside(section.start_page, section.anchor),
            end_anchor=None if section.end_anchor is None else inside(section.end_page, section.end_anchor),
        )
        for section in sections
    )


def rebuilt(
    base: IndexedContent,
    pages: Sequence[Page],
    sections: Sequence[Section],
    *,
    description: str,
    notes: Sequence[Note],
    moot: str = "",
    models: Mapping[str, Any],
    size: ChunkSize,
) -> IndexedContent:
    """Return the document rebuilt with new pages and sections.

    ``notes`` are added to the warnings; warnings about pages without text are renewed. ``moot`` is a warning with
    advice on reading pages without text; it is removed if every page has text.
    """
    stale: set[str] = set(text_warnings(base.pages))
    if not any(page.needs_ocr for page in pages):
        stale.add(moot)
    warnings = [warning for warning in base.warnings if warning not in stale]
    return replace(
        base,
        description=description,
        pages=tuple(pages),
        sections=tuple(sections),
        chunks=tuple(cut(sections, pages, size)),
        terms=_terms(base, pages),
        heading_terms=heading_terms(sections, len(pages)).to_bytes(),
        warnings=(*warnings, *text_warnings(pages, str(models.get("vlm", ""))), *notes),
        models=models,
    )


def _terms(base: IndexedContent, pages: Sequence[Page]) -> bytes:
    """Return the packed term counts of all pages. Counts of pages with unchanged text are reused."""
    term_counts = TermCounts.from_bytes(base.terms)
    terms = [
        PageTerms(hashes, counts.astype("uint32"), int(length))
        for (hashes, counts), length in zip(term_counts.page_vectors(), term_counts.lengths, strict=True)
    ]
    changed = False
    for at, (before, page) in enumerate(zip(base.pages, pages, strict=True)):
        if (before.text, before.described) != (page.text, page.described):
            terms[at] = PageTerms.of_text(f"{page.text}\n{page.described}")
            changed = True
    if not changed:
        return base.terms
    return TermCounts.build(TermsByPage(terms), [page.length for page in terms]).to_bytes()


T = TypeVar("T")
Pages = tuple[Page, ...]
Sections = tuple[Section, ...]
Told = Callable[[Stage, int, int], None]
"""A callback for progress: the stage, the pages done, and all pages. Both are 0 if the stage counts no pages."""
_IN_A_ROW = 3  # failed calls, each after its own tries, after which a model is given up for this run
_REASONS = 3  # for pages that failed, that are named


class Sight(Protocol):
    """Access to images of a document's pages, drawn by worker processes. An image shows one page or several.

    All methods raise DocumentError.
    """

    def looks(self) -> Sequence[PageLook]: ...

    def drawn(self, number: int) -> Future[object]: ...

    def sheet(self, numbers: Sequence[int]) -> Future[object]: ...


@dataclass(frozen=True, slots=True)
class Enrichment:
    """The result of improving a document. ``content`` is the improved document, None if nothing was added.

    ``partly`` is a hash of an incomplete result, "" if all steps succeeded.
    """

    content: IndexedContent | None
    done: bool
    partly: str
    steps: tuple[StepDone, ...]
    notes: tuple[Note, ...]


@dataclass(frozen=True, slots=True)
class _StepOutcome(Generic[T]):
    value: T
    done: int
    failed: int
    notes: Sequence[Note] = ()
    refused: int = 0  # failed pages that another run would not change


class _RunModel:
    """A model with its failure counter and cached replies, shared by all documents of a run."""

    def __init__(self, model: ChatModel, replies: ReplyCache) -> None:
        self.model, self._breaker = model, Breaker(math.inf, _IN_A_ROW)
        self._replies = replies

    def scope(self, stopped: threading.Event) -> CallScope:
        """Return the limits and usage counter (call scope) for one step of a document."""
        return CallScope(patient=True, breaker=self._breaker, stopped=stopped, replies=self._replies)

    @property
    def down(self) -> str:
        """Return the reason why the model is no longer called in this run, "" if it can still be called."""
        refused = self._breaker.refuses(self.model.name)
        return "" if refused is None else refused[0].message


class Enricher:
    """Improves the documents of a run with models, several documents at the same time.

    ``page_threads`` limits the pages that are described at the same time over all documents.
    """

    def __init__(
        self,
        models: EnrichModels,
        options: EnrichOptions,
        replies: ReplyCache,
        page_threads: Executor,
    ) -> None:
        self._tags = options.tags(models.names)
        by_kind: dict[Kind, ChatModel | None] = {"llm": models.llm, "vlm": models.vlm}
        self._models = {kind: _RunModel(model, replies) for kind, model in by_kind.items() if model is not None}
        self._options, self._threads = options, page_threads

    def tags_for(self, pictured: bool) -> dict[Kind, str]:
        """Return the models to use for a document, with hashes of their options.

        ``pictured`` is True if its pages can be drawn.
        """
        return {kind: tag for kind, tag in self._tags.items() if pictured or kind != "vlm"}

    @property
    def asks(self) -> bool:
        """Return whether at least one model can still be called in this run."""
        return not all(guarded.down for guarded in self._models.values())

    def given_up(self) -> list[Note]:
        """Return a note with the reason for each model that is no longer called in this run."""
        return [
            Note("model.given-up", model=guarded.model.name, reason=guarded.down)
            for guarded in self._models.values()
            if guarded.down
        ]

    def enrich(
        self,
        base: IndexedContent,
        sight: Sight | None,
        tags: Mapping[Kind, str],
        report: Told,
        stopped: threading.Event,
        moot: str = "",
    ) -> Enrichment:
        """Improve a document with the models in ``tags``. ``sight`` draws its pages; it is None if they cannot be
        drawn.

        ``moot`` is a warning about pages without text. It is removed if every page has text afterwards. Raise Cancelled
        if ``stopped`` is set.
        """
        work = _Work(self._models, stopped)
        pages, sections, description = base.pages, base.sections, base.description
        seen: tuple[int, ...] = ()
        if "vlm" in tags and sight is not None:
            pages, seen = self._pages(work, base, sight, report)
            sections = within(sections, pages, base.pages)
        if "llm" in tags:
            report("tree", 0, 0)
            sections = work.step("tree", "llm", sections, partial(_tree, base, pages, sections))
            report("summaries", 0, 0)
            sections = work.step("sections", "llm", sections, partial(_summarise, pages, sections))
            description = work.step(
                "description", "llm", description, partial(_make_description, base, pages, sections)
            )
        elif seen:
            sections = compose(sections, pages, seen)
        failed = work.unfinished
        if not work.refused and (pages, sections, description) == (base.pages, base.sections, base.description):
            return Enrichment(None, not failed, "", tuple(work.steps), tuple(work.notes))
        names: dict[str, Any] = {kind: guarded.model.name for kind, guarded in self._models.items()}
        content = rebuilt(
            base, pages, sections, description=description, notes=work.notes, moot=moot,
            models={**base.models, **names, **_record(work.steps)}, size=self._options.chunks,
        )  # fmt: skip
        return Enrichment(content, not failed, _hashed(content) if failed else "", tuple(work.steps), tuple(work.notes))

    def _pages(self, work: _Work, base: IndexedContent, sight: Sight, report: Told) -> tuple[Pages, tuple[int, ...]]:
        """Let the vision model describe pages. Return all pages, and the numbers of the described ones."""
        vision, pages = self._options.vision, base.pages

        def describe(model: ChatModel, scope: CallScope) -> _StepOutcome[tuple[Pages, tuple[int, ...]]]:
            looks = sight.looks()
            chosen = choose(pages, looks, vision)
            passed = frozenset[int]()
            if self._options.sheet and vision == "auto":
                wordy = [page.number for page in pages if page.number in set(chosen) and page.text.strip()]
                passed = passed_over(model, scope, base.title, wordy, self._options.sheet, sight.sheet)
                chosen = [number for number in chosen if number not in passed]
            read = scans(pages, looks)
            to_describe = [
                ChosenPage(number, place_of_page(base.title, pages, base.sections, number), number in read)
                for number in chosen
            ]
            done = itertools.count(1)
            report("describe", 0, len(chosen))
            result = describe_pages(
                model, scope, pages, to_describe, sight.drawn, self._threads,
                lambda: report("describe", next(done), len(chosen)),
            )  # fmt: skip
            refused, failed = len(result.refused), len(result.failed) + len(result.refused)
            notes = [_undescribed(result.failed)] if result.failed else []
            notes += [_undescribed(result.refused, for_good=True)] if refused else []
            if passed:
                notes.append(Note("model.checked-on-sheets", which=ranges(sorted(passed))))
            if result.corrected:
                notes.append(Note("model.scans-corrected", which=ranges(list(result.corrected))))
            return _StepOutcome((result.pages, result.described), len(result.described), failed, notes, refused)

        before: tuple[Pages, tuple[int, ...]] = (pages, ())
        return work.step("pages", "vlm", before, describe)


class _Work:
    """The steps by which models improve one document, and their results so far."""

    def __init__(self, models: Mapping[Kind, _RunModel], stopped: threading.Event) -> None:
        self._models, self._stopped = models, stopped
        self.steps: list[StepDone] = []
        self.notes: list[Note] = []
        self.unfinished = False  # another run may do more
        self.refused = False  # a model declined something for good

    def step(self, name: StepName, kind: Kind, before: T, work: Callable[[ChatModel, CallScope], _StepOutcome[T]]) -> T:
        """Run one step of the improvement and return its result. Return ``before`` if the step fails or its model is
        down.
        """
        guarded = self._models.get(kind)
        if guarded is None:  # wanted, but it did not work when the run began, which the report says once
            self.unfinished = True
            self.steps.append(StepDone(name, failed=1))
            return before
        if guarded.down:
            self.unfinished = True
            self.steps.append(StepDone(name, failed=1))
            self._note(Note("model.down", reason=guarded.down))
            return before
        scope, began = guarded.scope(self._stopped), time.monotonic()
        try:
            outcome = work(guarded.model, scope)
        except Cancelled:
            raise
        except Exception as error:  # noqa: BLE001 - whatever a step stumbles over, the document stays as it is
            reason = error.message if isinstance(error, PageIndexError) else plain_reason(error, name)
            outcome = _StepOutcome(
                before, 0, 1, [Note("model.step-failed", step=name, reason=reason.removesuffix("."))]
            )
        self.unfinished = self.unfinished or outcome.failed > outcome.refused
        self.refused = self.refused or outcome.refused > 0
        self.steps.append(StepDone(name, outcome.done, outcome.failed, scope.usage, round(time.monotonic() - began, 3)))
        for note in outcome.notes:
            self._note(note)
        return outcome.value

    def _note(self, note: Note) -> None:
        if note not in self.notes:
            self.notes.append(note)


def _tree(
    base: IndexedContent, pages: Pages, sections: Sections, model: ChatModel, scope: CallScope
) -> _StepOutcome[Sections]:
    result = improve_tree(model, scope, pages, sections, base.title)
    return _StepOutcome(result.sections, 1, int(result.failure is not None), result.notes)


def _summarise(pages: Pages, sections: Sections, model: ChatModel, scope: CallScope) -> _StepOutcome[Sections]:
    result = summarise_sections(model, scope, pages, sections)
    changed = sum(a.summary != b.summary for a, b in zip(sections, result.sections, strict=True))
    return _StepOutcome(result.sections, changed, int(result.failure is not None), result.notes)


def _make_description(
    base: IndexedContent, pages: Pages, sections: Sections, model: ChatModel, scope: CallScope
) -> _StepOutcome[str]:
    result = describe_document(model, scope, base.title, sections, pages)
    failed = result.failure is not None
    line = base.description if failed else result.line
    return _StepOutcome(line, int(not failed), int(failed), result.notes)


def _undescribed(failed: Mapping[int, str], *, for_good: bool = False) -> Note:
    why = list(dict.fromkeys(failed.values()))
    reasons = [Note.of(reason.removesuffix(".")) for reason in why[:_REASONS]]
    if len(why) > _REASONS:
        reasons.append(Note("model.other-reasons", count=len(why) - _REASONS))
    count, which = len(failed), ranges(list(failed))
    if for_good:
        return Note("model.refused-pages", pages=count, which=which, reasons=reasons)
    return Note("model.undescribed", pages=count, which=which, reasons=reasons)


def _record(steps: Sequence[StepDone]) -> dict[str, Any]:
    """Return a JSON record of the steps, which is stored with the version of the document."""
    return {"steps": {step.step: {"done": step.done, "failed": step.failed, **asdict(step.usage)} for step in steps}}


def _hashed(content: IndexedContent) -> str:
    parts: list[object] = [content.description, content.warnings]
    parts += [(page.text, page.summary, page.described) for page in content.pages]
    parts += [(s.title, s.start_page, s.anchor, s.summary, s.gaps) for s in content.sections]
    return hashlib.sha256(repr(parts).encode("utf-8", "replace")).hexdigest()[:8]
