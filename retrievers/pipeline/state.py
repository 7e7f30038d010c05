"""What the stages of a search hand on."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from hybrid_core.store.catalog.contents import Contents
from hybrid_core.store.index.weighted import WeightedIndex
from hybrid_core.types.documents import Hit
from hybrid_core.types.requests import SearchRequest
from hybrid_core.types.results import DocumentRanked, EffortUsed, Evidence, PageFound, Reasoning, SectionRanked
from hybrid_core.types.usage import Usage
from retrievers.documents.candidates import CandidateDocument, ExpansionScope
from retrievers.documents.content_cache import ContentCache
from retrievers.documents.library import LibraryView
from retrievers.documents.route import Routing
from retrievers.features.model import RankingModel, shipped_model
from retrievers.features.table import FeatureTable
from retrievers.pages.page_texts import PageTexts
from retrievers.pages.scores import PageScores, PageVisit, Place, WalkTrace, gained
from retrievers.places.located import Span
from retrievers.query.embedding import QuestionEmbedding
from retrievers.query.expert import Expansion, Expert
from retrievers.query.question import Question
from retrievers.reason.reasoner import NO_MODEL, Reasoner
from retrievers.reason.routing.choose import DocumentChoice
from retrievers.rerank.selection import ResultSlot


@dataclass(frozen=True, slots=True, eq=False)
class SearchResources:
    """What a search reads from, opened before it. ``view`` decides what is published; hits of anything else are
    dropped."""

    view: LibraryView
    index: WeightedIndex
    contents: Contents
    cache: ContentCache
    expert: Expert = Expert()
    embedding: QuestionEmbedding = QuestionEmbedding()
    ranking: RankingModel = field(default_factory=shipped_model)
    reasoner: Reasoner | None = None
    embed: Callable[[str], QuestionEmbedding] = lambda _: QuestionEmbedding()  # of another question


@dataclass(frozen=True, slots=True, eq=False)
class SearchState:
    """A search between two stages. A stage that is left out leaves what it would have filled in as it is here."""

    request: SearchRequest
    resources: SearchResources
    texts: PageTexts  # each read once, whichever stages ask

    question: Question = Question("")
    scope: frozenset[str] | None = None  # doc_ids that filters leave, None without one
    expansion: ExpansionScope = ExpansionScope()
    hits: Sequence[Hit] = ()  # of the first stage, by which documents are compared
    page_hits: Sequence[Hit] = ()  # the same, by which their pages are
    choice: DocumentChoice = DocumentChoice(Routing(), None)
    apart: Sequence[str] = ()  # the documents that different parts of the question name
    candidates: Sequence[CandidateDocument] = ()
    asked: Mapping[str, float] = field(default_factory=dict)  # the question's terms that pages are scored by
    expansions: Sequence[Expansion] = ()  # what expands the question in each candidate document
    pages: Sequence[PageScores] = ()  # of each candidate document
    table: FeatureTable | None = None  # the candidate pages with their features
    visits: Sequence[PageVisit] = ()  # the pages in their order, best first
    walk: WalkTrace | None = None
    quoted: Collection[Place] = ()  # the pages that say what the question quotes
    reasons: Mapping[Place, str] = field(default_factory=dict)  # why pages lead that the question means
    spans: Mapping[Place, Span] = field(default_factory=dict)  # which part of them, where it is not the whole page
    settled: bool = False  # those pages are all that the question asks for
    beside: Mapping[Place, Collection[str]] = field(default_factory=dict)  # what is asked for of pages named by number
    missing: Sequence[str] = ()  # the places that the question names and its documents lack
    evidence: Evidence = Evidence("none", 0.0)
    signals: Mapping[str, float] = field(default_factory=dict)  # what evidence was computed from
    sureness: float = 0.0
    verdicts: Mapping[Place, str] = field(default_factory=dict)  # of a model, by page
    reasoning: Reasoning | None = None
    effort: EffortUsed | None = None
    usage: Usage = Usage()
    slots: Sequence[ResultSlot] = ()
    results: Sequence[PageFound] = ()
    sections: Sequence[SectionRanked] = ()
    documents: Sequence[DocumentRanked] = ()
    notes: tuple[str, ...] = ()  # what the user should know, in the order of the stages

    @classmethod
    def begin(cls, request: SearchRequest, resources: SearchResources) -> SearchState:
        """Before the first stage."""
        return cls(request, resources, PageTexts(resources.contents))

    @property
    def routing(self) -> Routing:
        return self.choice.routing

    @property
    def effort_used(self) -> EffortUsed:
        """What was made of the effort that the request asks for."""
        why = "asked for" if self.request.effort == "fast" else NO_MODEL
        return self.effort or EffortUsed(self.request.effort, "fast", why)

    def plus(self, name: str, gains: Mapping[Place, float]) -> SearchState:
        """With what a stage adds to pages, under its name: they are put in the order of their new values."""
        if not gains:
            return self
        visits, pages = gained(self.visits, self.pages, name, gains)
        return replace(self, visits=visits, pages=pages)

    def noted(self, *notes: str) -> SearchState:
        """With notes, those that are not empty."""
        said = tuple(note for note in notes if note)
        return replace(self, notes=(*self.notes, *said)) if said else self
