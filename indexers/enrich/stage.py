"""What models do for one document, in order: its pages, its tree, its sections, its description.

A step that fails leaves what the rules made, and is told; what was answered is kept for the next run.
"""

from __future__ import annotations

import hashlib
import itertools
import math
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor, Future
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, Generic, Protocol, TypeVar

from hybrid_core.errors import Cancelled, PageIndexError
from hybrid_core.llm.client.breaker import Breaker
from hybrid_core.llm.client.chat_model import ChatModel
from hybrid_core.llm.client.scope import CallScope
from hybrid_core.llm.reply_cache import ReplyCache
from hybrid_core.types.documents import IndexedContent, Page, Section
from hybrid_core.types.versions import Kind
from indexers.build.content import ranges
from indexers.enrich.choose import choose, scans
from indexers.enrich.compose import compose
from indexers.enrich.describe import describe_document
from indexers.enrich.glance import passed_over
from indexers.enrich.options import EnrichModels, EnrichOptions
from indexers.enrich.pages import describe_pages
from indexers.enrich.place import place_of_page
from indexers.enrich.rebuild import rebuilt, within
from indexers.enrich.sections import summarise_sections
from indexers.enrich.steps import Stage, StepDone, StepName
from indexers.enrich.tree import improve_tree
from indexers.formats.defects import plain_reason
from indexers.formats.page_look import PageLook

T = TypeVar("T")
Pages = tuple[Page, ...]
Sections = tuple[Section, ...]
Told = Callable[[Stage, int, int], None]
"""The stage, and how many of how many pages are done; 0 of 0 where it does not go by pages."""
_IN_A_ROW = 3  # failed calls, each after its own tries, after which a model is given up for this run
_REASONS = 3  # for pages that failed, that are named
_NOT_AGAIN = ", and the model is not asked again while they, it and its prompt stay the same"


class Sight(Protocol):
    """How a document's pages are looked at and drawn, one or several on a sheet, in worker processes. All raise
    DocumentError.
    """

    def looks(self) -> Sequence[PageLook]: ...

    def drawn(self, number: int) -> Future[object]: ...

    def sheet(self, numbers: Sequence[int]) -> Future[object]: ...


@dataclass(frozen=True, slots=True)
class Enrichment:
    """``content`` is None where nothing was added. ``partly`` tells what came out from what another run will make of
    the same, "" where everything was done.
    """

    content: IndexedContent | None
    done: bool
    partly: str
    steps: tuple[StepDone, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Made(Generic[T]):
    value: T
    done: int
    failed: int
    notes: Sequence[str] = ()
    refused: int = 0  # of those that failed, which another run would not change


class _RunModel:
    """A model for a whole run, shared by all of its documents."""

    def __init__(self, model: ChatModel, replies: ReplyCache) -> None:
        self.model, self._breaker = model, Breaker(math.inf, _IN_A_ROW)
        self._replies = replies

    def scope(self, stopped: threading.Event) -> CallScope:
        """Of one document's step."""
        return CallScope(patient=True, breaker=self._breaker, stopped=stopped, replies=self._replies)

    @property
    def down(self) -> str:
        """Why it is not asked any more, "" where it is."""
        refused = self._breaker.refuses(self.model.name)
        return "" if refused is None else refused[0].message


class Enricher:
    """For all documents of a run, several at once. ``page_threads`` bounds the pages described at once over all."""

    def __init__(
        self,
        models: EnrichModels,
        options: EnrichOptions,
        replies: ReplyCache,
        page_threads: Executor,
    ) -> None:
        self._tags = options.tags(models.names)
        given: dict[Kind, ChatModel | None] = {"llm": models.llm, "vlm": models.vlm}
        self._models = {kind: _RunModel(model, replies) for kind, model in given.items() if model is not None}
        self._options, self._threads = options, page_threads

    def tags_for(self, pictured: bool) -> dict[Kind, str]:
        """Which models have something to do for a document, and how; ``pictured``: its pages can be drawn."""
        return {kind: tag for kind, tag in self._tags.items() if pictured or kind != "vlm"}

    @property
    def asks(self) -> bool:
        """Whether a model is left that answers."""
        return not all(one.down for one in self._models.values())

    def given_up(self) -> list[str]:
        """Which models were given up in this run, and why."""
        return [
            f"{one.model.name} was given up, so what was left is as the rules made it: {one.down}"
            for one in self._models.values()
            if one.down
        ]

    def enrich(
        self,
        base: IndexedContent,
        sight: Sight | None,
        tags: Mapping[Kind, str],
        told: Told,
        stopped: threading.Event,
        moot: str = "",
    ) -> Enrichment:
        """``sight`` is None where pages cannot be drawn; ``tags`` are of the models to ask. Raises Cancelled once
        ``stopped`` is set.

        ``moot`` is a warning that falls away where every page has text then.
        """
        work = _Work(self._models, stopped)
        pages, sections, description = base.pages, base.sections, base.description
        seen: tuple[int, ...] = ()
        if "vlm" in tags and sight is not None:
            pages, seen = self._pages(work, base, sight, told)
            sections = within(sections, pages, base.pages)
        if "llm" in tags:
            told("tree", 0, 0)
            sections = work.step("tree", "llm", sections, partial(_tree, base, pages, sections))
            told("summaries", 0, 0)
            sections = work.step("sections", "llm", sections, partial(_said, pages, sections))
            description = work.step("description", "llm", description, partial(_line, base, pages, sections))
        elif seen:
            sections = compose(sections, pages, seen)
        failed = work.unfinished
        if not work.refused and (pages, sections, description) == (base.pages, base.sections, base.description):
            return Enrichment(None, not failed, "", tuple(work.steps), tuple(work.notes))
        names = {kind: one.model.name for kind, one in self._models.items()}
        content = rebuilt(
            base, pages, sections, description=description, said=work.notes, moot=moot,
            models=names | _record(work.steps), size=self._options.chunks,
        )  # fmt: skip
        return Enrichment(content, not failed, _hashed(content) if failed else "", tuple(work.steps), tuple(work.notes))

    def _pages(self, work: _Work, base: IndexedContent, sight: Sight, told: Told) -> tuple[Pages, tuple[int, ...]]:
        """The pages, and the numbers of those that were described."""
        vision, pages = self._options.vision, base.pages

        def describe(model: ChatModel, scope: CallScope) -> _Made[tuple[Pages, tuple[int, ...]]]:
            looks = sight.looks()
            chosen = choose(pages, looks, vision)
            passed = frozenset[int]()
            if self._options.sheet and vision == "auto":
                wordy = [page.number for page in pages if page.number in set(chosen) and page.text.strip()]
                passed = passed_over(model, scope, base.title, wordy, self._options.sheet, sight.sheet)
                chosen = [number for number in chosen if number not in passed]
            places = {number: place_of_page(base.title, pages, base.sections, number) for number in chosen}
            done = itertools.count(1)
            told("describe", 0, len(chosen))
            found = describe_pages(
                model, scope, pages, chosen, sight.drawn, places, scans(pages, looks), self._threads,
                lambda: told("describe", next(done), len(chosen)),
            )  # fmt: skip
            refused, failed = len(found.refused), len(found.failed) + len(found.refused)
            notes = [_undescribed(found.failed)] if found.failed else []
            notes += [_undescribed(found.refused, _NOT_AGAIN)] if refused else []
            if passed:
                notes.append(
                    f"seen on contact sheets alone, with nothing that words lack: pages {ranges(sorted(passed))}"
                )
            if found.corrected:
                notes.append(f"text of scans was corrected from their pictures: pages {ranges(list(found.corrected))}")
            return _Made((found.pages, found.described), len(found.described), failed, notes, refused)

        before: tuple[Pages, tuple[int, ...]] = (pages, ())
        return work.step("pages", "vlm", before, describe)


class _Work:
    """The steps of one document."""

    def __init__(self, models: Mapping[Kind, _RunModel], stopped: threading.Event) -> None:
        self._models, self._stopped = models, stopped
        self.steps: list[StepDone] = []
        self.notes: list[str] = []
        self.unfinished = False  # another run may do more
        self.refused = False  # a model declined something for good

    def step(self, name: StepName, kind: Kind, before: T, work: Callable[[ChatModel, CallScope], _Made[T]]) -> T:
        """What a step makes, or ``before`` where it fails or its model is down."""
        asked = self._models.get(kind)
        if asked is None:  # wanted, but it did not work when the run began, which the report says once
            self.unfinished = True
            self.steps.append(StepDone(name, failed=1))
            return before
        if asked.down:
            self.unfinished = True
            self.steps.append(StepDone(name, failed=1))
            self._note(f"given up in this run: {asked.down}")
            return before
        scope, began = asked.scope(self._stopped), time.monotonic()
        try:
            made = work(asked.model, scope)
        except Cancelled:
            raise
        except Exception as error:  # noqa: BLE001 - whatever a step stumbles over, the document stays as it is
            reason = error.message if isinstance(error, PageIndexError) else plain_reason(error, name)
            made = _Made(before, 0, 1, [f"{name}: not done: {reason.removesuffix('.')}"])
        self.unfinished = self.unfinished or made.failed > made.refused
        self.refused = self.refused or made.refused > 0
        self.steps.append(StepDone(name, made.done, made.failed, scope.usage, round(time.monotonic() - began, 3)))
        for note in made.notes:
            self._note(note)
        return made.value

    def _note(self, note: str) -> None:
        if note not in self.notes:
            self.notes.append(note.removesuffix("."))


def _tree(
    base: IndexedContent, pages: Pages, sections: Sections, model: ChatModel, scope: CallScope
) -> _Made[Sections]:
    found = improve_tree(model, scope, pages, sections, base.title)
    return _Made(found.sections, 1, int(found.failure is not None), found.notes)


def _said(pages: Pages, sections: Sections, model: ChatModel, scope: CallScope) -> _Made[Sections]:
    found = summarise_sections(model, scope, pages, sections)
    said = sum(a.summary != b.summary for a, b in zip(sections, found.sections, strict=True))
    return _Made(found.sections, said, int(found.failure is not None), found.notes)


def _line(base: IndexedContent, pages: Pages, sections: Sections, model: ChatModel, scope: CallScope) -> _Made[str]:
    found = describe_document(model, scope, base.title, sections, pages)
    failed = found.failure is not None
    line = base.description if failed else found.line
    return _Made(line, int(not failed), int(failed), found.notes)


def _undescribed(failed: Mapping[int, str], more_of_it: str = "") -> str:
    why = list(dict.fromkeys(failed.values()))
    reasons = "; ".join(reason.removesuffix(".") for reason in why[:_REASONS])
    more = f"; and {len(why) - _REASONS} other reasons" if len(why) > _REASONS else ""
    pages = "1 page was" if len(failed) == 1 else f"{len(failed)} pages were"
    return f"{pages} not described ({ranges(list(failed))}){more_of_it}: {reasons}{more}"


def _record(steps: Sequence[StepDone]) -> dict[str, Any]:
    """What is stored with the version."""
    return {"steps": {step.step: {"done": step.done, "failed": step.failed, **asdict(step.usage)} for step in steps}}


def _hashed(content: IndexedContent) -> str:
    said: list[object] = [content.description, content.warnings]
    said += [(page.text, page.summary, page.described) for page in content.pages]
    said += [(s.title, s.start_page, s.anchor, s.summary, s.gaps) for s in content.sections]
    return hashlib.sha256(repr(said).encode("utf-8", "replace")).hexdigest()[:8]
