"""The definition of a search stage, and the search state that stages read and change."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile
from typing import Any

from hybrid_core.errors import UsageError
from hybrid_core.store.catalog.contents import Contents
from hybrid_core.store.index.index import WeightedIndex
from hybrid_core.tracing import span
from hybrid_core.types.documents import Hit
from hybrid_core.types.notes import Note
from hybrid_core.types.requests import SearchRequest
from hybrid_core.types.results import DocumentRanked, EffortUsed, Evidence, PageFound, Reasoning, SectionRanked
from hybrid_core.types.usage import Usage
from retrievers.candidates.documents import CandidateDocument, ExpansionScope
from retrievers.candidates.library import LibraryView
from retrievers.candidates.router import CardScores
from retrievers.features.table import FeatureTable
from retrievers.query.expert import Expansion, Expert
from retrievers.query.question import Question, QuestionEmbedding
from retrievers.ranking.model import RankingModel, shipped_model
from retrievers.ranking.selection import ResultSlot
from retrievers.ranking.walk import DocumentScores, PageRef, PageVisit, WalkTrace, gained
from retrievers.reason.document_choice import DocumentChoice
from retrievers.reason.reasoner import NO_MODEL, REQUESTED, Reasoner
from retrievers.references.locations import Span
from retrievers.trees.contents import ContentCache, PageTexts


@dataclass(frozen=True, slots=True, eq=False)
class SearchResources:
    """The open resources that a search reads.

    ``view`` defines which documents are published; hits in other documents are dropped.
    """

    view: LibraryView
    index: WeightedIndex
    contents: Contents
    cache: ContentCache
    expert: Expert = Expert()
    embedding: QuestionEmbedding = QuestionEmbedding()
    ranking: RankingModel = field(default_factory=shipped_model)
    reasoner: Reasoner | None = None
    embed: Callable[[str], QuestionEmbedding] = lambda _: QuestionEmbedding()  # returns the vectors of another question


@dataclass(frozen=True, slots=True, eq=False)
class Query:
    """The parsed question of a search, and the documents to which the search is limited."""

    request: SearchRequest
    question: Question = Question("")
    scope: frozenset[str] | None = None  # doc_ids that filters leave, None without one
    expansion: ExpansionScope = ExpansionScope()


@dataclass(frozen=True, slots=True, eq=False)
class Candidates:
    """The best hits in the library, and the documents chosen from them."""

    hits: Sequence[Hit] = ()  # hits of the coarse pass, by which documents are compared
    page_hits: Sequence[Hit] = ()  # hits of the coarse pass, by which pages are compared
    choice: DocumentChoice = DocumentChoice(CardScores(), None)
    apart: Sequence[str] = ()  # the documents that different parts of the question name
    documents: Sequence[CandidateDocument] = ()

    @property
    def routing(self) -> CardScores:
        return self.choice.routing


@dataclass(frozen=True, slots=True, eq=False)
class Ranking:
    """The pages of the candidate documents, scored and ordered. Higher scores are better."""

    term_weights: Mapping[str, float] = field(default_factory=dict)  # the question's terms that pages are scored by
    expansions: Sequence[Expansion] = ()  # the expert terms for each candidate document
    pages: Sequence[DocumentScores] = ()  # the scores of each candidate document
    table: FeatureTable | None = None  # the candidate pages with their features
    quoted: Collection[PageRef] = ()  # the pages that say what the question quotes
    visits: Sequence[PageVisit] = ()  # the pages in their order, best first
    walk: WalkTrace | None = None
    reasons: Mapping[PageRef, Note] = field(default_factory=dict)  # why pages lead that the question means
    spans: Mapping[PageRef, Span] = field(default_factory=dict)  # the parts of these pages, if not the whole page
    settled: bool = False  # whether the question asks for these pages and nothing else
    page_terms: Mapping[PageRef, Collection[str]] = field(default_factory=dict)  # asked for of pages named by number
    missing: Sequence[str] = ()  # the places that the question names and its documents lack

    def plus(self, name: str, gains: Mapping[PageRef, float]) -> Ranking:
        """Return the ranking with ``gains`` added to page scores, and with pages sorted again.

        The gains are recorded under ``name``, the name of a stage.
        """
        if not gains:
            return self
        visits, pages = gained(self.visits, self.pages, name, gains)
        return replace(self, visits=visits, pages=pages)


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """The results of a search, with evidence and notes for the user."""

    evidence: Evidence = Evidence("none", 0.0)
    signals: Mapping[str, float] = field(default_factory=dict)  # the signals from which the evidence was computed
    sureness: float = 0.0  # the probability that the first page answers, 0 to 1
    verdicts: Mapping[PageRef, Note] = field(default_factory=dict)  # a model's reasons, by page
    reasoning: Reasoning | None = None
    effort: EffortUsed | None = None
    usage: Usage = Usage()
    slots: Sequence[ResultSlot] = ()
    results: Sequence[PageFound] = ()
    sections: Sequence[SectionRanked] = ()
    documents: Sequence[DocumentRanked] = ()
    notes: tuple[Note, ...] = ()  # in the order of the stages

    def noted(self, *notes: str) -> Outcome:
        """Return the outcome with these notes added.

        Empty notes are left out. Plain text becomes a note without a code.
        """
        added = tuple(Note.of(note) for note in notes if note)
        return replace(self, notes=(*self.notes, *added)) if added else self


@dataclass(frozen=True, slots=True, eq=False)
class SearchState:
    """The state of a search between two stages. Parts that no stage has set have default values."""

    query: Query
    resources: SearchResources
    texts: PageTexts  # each read once, whichever stages ask
    candidates: Candidates = Candidates()
    ranking: Ranking = Ranking()
    outcome: Outcome = Outcome()

    @classmethod
    def begin(cls, request: SearchRequest, resources: SearchResources) -> SearchState:
        """Return the initial state of a search."""
        return cls(Query(request), resources, PageTexts(resources.contents))

    @property
    def effort_used(self) -> EffortUsed:
        """Return the effort that the search used, with the reason for it."""
        effort = self.query.request.effort
        return self.outcome.effort or EffortUsed(effort, "fast", REQUESTED if effort == "fast" else NO_MODEL)


Part = Query | Candidates | Ranking | Outcome
"""A part of the search state that a stage can replace."""
_PARTS: Mapping[type, str] = {Query: "query", Candidates: "candidates", Ranking: "ranking", Outcome: "outcome"}
_READABLE = (*_PARTS.values(), "resources", "texts")


@dataclass(frozen=True, slots=True)
class Stage:
    """A stage of a search. ``name`` appears in ``timings_ms`` and as a contribution to page scores."""

    name: str
    work: Callable[[SearchState], SearchState]

    def __call__(self, state: SearchState) -> SearchState:
        return self.work(state)


Stages = Sequence[Stage]


def stage(name: str) -> Callable[[Callable[..., Part | tuple[Part, ...]]], Stage]:
    """Return a decorator that turns a function into a stage of the search with this name.

    The parameters of the function are the parts of the search state that it reads. They may be ``query``,
    ``candidates``, ``ranking``, ``outcome``, ``resources`` and ``texts``. The function returns the parts that it
    changes: one or several of Query, Candidates, Ranking and Outcome. Raise UsageError for another parameter.
    """

    def make(work: Callable[..., Part | tuple[Part, ...]]) -> Stage:
        reads = tuple(inspect.signature(work).parameters)
        if unknown := set(reads) - set(_READABLE):
            raise UsageError(
                f"The function of the stage '{name}' has an unknown parameter: {', '.join(sorted(unknown))}.",
                f"Its parameters may be {', '.join(_READABLE)}.",
            )

        def run(state: SearchState) -> SearchState:
            returned = work(**{part: getattr(state, part) for part in reads})
            parts = returned if isinstance(returned, tuple) else (returned,)
            changes: dict[str, Any] = {_PARTS[type(part)]: part for part in parts}
            changes = {part: value for part, value in changes.items() if getattr(state, part) is not value}
            return replace(state, **changes) if changes else state

        return Stage(name, run)

    return make


def run_stages(stages: Stages, state: SearchState) -> tuple[SearchState, dict[str, float]]:
    """Run the stages in order. Return the final state and the milliseconds per stage, plus ``total``.

    A stage that returns the state unchanged has no entry.
    """
    laps: dict[str, float] = {}
    began = last = time.perf_counter()
    for current in stages:
        with span(f"search {current.name}"):
            after = current(state)
        now = time.perf_counter()
        if after is not state:
            laps[current.name] = (now - last) * 1000
        state, last = after, now
    laps["total"] = (last - began) * 1000
    return state, laps


def stages_before(name: str, stages: Stages) -> Stages:
    """Return the stages before the named one."""
    return list(takewhile(lambda candidate: candidate.name != name, stages))


def without(name: str, stages: Stages) -> Stages:
    """Return the stages without the named one. Raise UsageError if it is missing."""
    place = _stage_index(name, stages)
    return (*stages[:place], *stages[place + 1 :])


def inserted(new: Stage, after: str, stages: Stages) -> Stages:
    """Return the stages with a new one after the stage ``after``. Raise UsageError if ``after`` is missing."""
    place = _stage_index(after, stages) + 1
    return (*stages[:place], new, *stages[place:])


def _stage_index(name: str, stages: Stages) -> int:
    names = [stage.name for stage in stages]
    if name not in names:
        raise UsageError(f"The search has no stage '{name}'.", f"The stages are {', '.join(names)}.")
    return names.index(name)
