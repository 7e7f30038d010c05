"""Results of a search. The field names are those of the JSON of all interfaces."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from html import escape
from typing import Any, Literal, overload

from hybrid_core.types.documents import Effort, EvidenceLevel, Route, Strategy
from hybrid_core.types.notes import NONE, Note
from hybrid_core.types.usage import Usage
from hybrid_core.types.why import sentence

LEADING = frozenset(("reference", "named section", "overview"))
"""Contributions under these names put a page first because the question means it. The verdict says why."""
ReasoningOutcome = Literal["named", "nothing", "failed"]
StepKind = Literal["shown", "asked", "thought", "searched", "opened", "read", "rated", "dropped", "verdict", "failed"]


@dataclass(frozen=True, slots=True)
class Evidence:
    """The certainty that the library can answer the question, as a level and a score.

    ``score`` is the probability, 0 to 1, that one of the first five pages answers. It is calibrated on question sets
    (docs/lab/ranking.md). It depends on the lead of the first pages, the question words that they contain, and whether
    they belong to a document that the question names. The level is strong from 0.65 and weak from 0.35. It is
    ``unclear``, with the score 0, if the question names nothing to search for; ``hint`` then explains how to ask.
    """

    level: EvidenceLevel
    score: float
    hint: Note = NONE


@dataclass(frozen=True, slots=True)
class EffortUsed:
    asked: Effort
    used: Effort
    why: Note


@dataclass(frozen=True, slots=True)
class SectionHint:
    """A subsection that is worth opening next. ``node_score`` is comparable among siblings only; higher is better."""

    node_id: str
    title: str
    start_page: int
    end_page: int
    node_score: float


@dataclass(frozen=True, slots=True)
class SectionFound:
    """A section of a document. ``node_score`` rates it among its siblings only; higher is better.

    ``flags`` describe the section's own text (has_table, …). ``gaps`` name content that the text announces and that is
    missing. ``hints`` are subsections that contain hits, best first.
    """

    node_id: str
    title: str
    path: tuple[str, ...]
    start_page: int
    end_page: int
    node_score: float
    flags: tuple[str, ...] = ()
    hints: tuple[SectionHint, ...] = ()
    gaps: tuple[Note, ...] = ()


@dataclass(frozen=True, slots=True)
class Receipt:
    """The parts of a page's score, which explain why it was returned.

    ``terms`` is the contribution of each question term to the page's BM25 score within its document. ``coarse`` is the
    page's score in the first search over all pages of the library, None if it was not among the best hits.

    The score of the result is the sum of ``page``, ``document``, ``structure``, ``contributions``, and of ``rerank``
    and ``reasoning`` if they are not None. ``reasoning`` is the bonus of a page that a model named. ``contributions``
    are the scores that custom stages added, by name.

    ``dense`` is the cosine of the page's best vector with the question's vector. ``learned_sparse`` is the product of
    their learned term weights. Both are included in ``page``. They are None without vectors, or if the page is not
    among the nearest.

    ``addends`` are the contributions of the ranking model's features and of its constant term, greatest first. Their
    sum is ``page`` + ``document`` + ``structure``. There are none if the model did not score the page.
    """

    terms: Mapping[str, float]
    coarse: float | None
    dense: float | None
    page: float
    document: float
    structure: float
    doc_score: float
    routing: float
    routing_reason: Note
    section_path: tuple[str, ...]
    node_score: float
    verdict: Note
    learned_sparse: float | None = None
    rerank: float | None = None
    reasoning: float | None = None
    contributions: Mapping[str, float] = field(default_factory=dict)
    addends: Mapping[str, float] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return the receipt as JSON values, without ``contributions`` and ``addends`` if these are empty."""
        lacking = {name for name in ("contributions", "addends") if not getattr(self, name)}
        return {name: part for name, part in asdict(self).items() if name not in lacking}


@dataclass(frozen=True, slots=True)
class Pointer:
    """A reference in a snippet, such as "Note 7", and the page of the same document on which its target begins."""

    written: str
    page: int
    why: Note


@dataclass(frozen=True, slots=True)
class PageFound:
    """A result of a search: one page.

    ``short_path`` is the file name with as many of its folders as distinguish it from other documents of the library.
    """

    doc_id: str
    doc_name: str
    page: int
    label: str
    score: float
    snippet: str
    section: SectionFound
    receipt: Receipt
    also_in: tuple[str, ...] = ()  # copies of the page elsewhere, with the differences of near copies
    short_path: str = ""
    library: str = ""  # name of the library, if several were searched
    place: str = ""  # position of the match in a file of a format without pages
    near: str = ""  # an earlier result from another document with nearly the same text, and the differences
    see: tuple[Pointer, ...] = ()  # references in the snippet
    mark: str = ""  # the sentence or row of the snippet that contains most words of the question
    contents: bool = False  # the page is a printed table of contents or an index, not an answer
    hidden_text: tuple[str, ...] = ()  # lines in the text of the page that are hidden on the page
    doc_title: str = ""
    organisation: str = ""
    year: int | None = None

    @property
    def why(self) -> str:
        """Return why the page was returned, in one plain sentence."""
        receipt = self.receipt
        by_model = receipt.reasoning is not None
        reason = sentence(
            self.mark or self.snippet, receipt.terms, self.section.title, receipt.routing_reason, by_model
        )
        if not LEADING & receipt.contributions.keys():
            return reason
        return f"{receipt.verdict}; {reason}" if receipt.terms or by_model else receipt.verdict


@dataclass(frozen=True, slots=True)
class SectionRanked:
    doc_id: str
    doc_name: str
    section: SectionFound
    best_pages: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class DocumentRanked:
    """A document of the result with its score.

    ``score`` is ``doc_score`` divided by the best document's ``doc_score``, plus ``routing``, the score of its card.
    """

    doc_id: str
    doc_name: str
    score: float
    doc_score: float
    routing: float
    reason: Note


@dataclass(frozen=True, slots=True)
class Trace:
    """The documents, sections and pages that each stage of a search examined.

    It shows which stage dropped a page that the search did not return. Pairs begin with the doc_id. ``coarse`` are the
    pages of the first search over the library, and ``documents`` the doc_ids that were searched completely.
    ``sections`` are the node_ids of candidate sections. ``opened`` are the sections that were opened in the section
    trees, and ``read`` the pages that were reached there. All are in order: the best or the first come first.
    """

    coarse: tuple[tuple[str, int], ...]
    documents: tuple[str, ...]
    sections: tuple[tuple[str, str], ...]
    opened: tuple[tuple[str, str], ...]
    read: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class ReasoningStep:
    """A step of a language model that searched for the answer.

    Kinds: ``shown``, the first input of the model; ``asked``, a call of the model; ``thought``, its reasoning;
    ``searched``, its search words and the hits; ``opened`` and ``read``, the sections and pages that it requested;
    ``rated``, its probabilities for sections or pages; ``dropped``, names in its output that do not exist; ``verdict``,
    the pages and sections that it chose; ``failed``, the reason why the search was abandoned.
    """

    kind: StepKind
    text: str


@dataclass(frozen=True, slots=True)
class Reasoning:
    """A language model's search for the answer: the strategy (outline or mcts), the model, and the steps in order.

    ``outcome`` is ``named`` if the model named pages, ``nothing`` if it says that no page answers, else ``failed``. If
    it named only pages that do not exist, the outcome is ``failed``.
    """

    strategy: Strategy
    model: str
    steps: tuple[ReasoningStep, ...]
    outcome: ReasoningOutcome


@dataclass(frozen=True, slots=True)
class RouteUsed:
    """The route by which documents were chosen, and the reason. ``auto`` uses document cards and the words of pages.

    ``filter`` are the conditions that were applied, each as "field operator values". ``steps`` are the calls of the
    model, if the route used one.
    """

    asked: Route
    used: Route
    why: Note = NONE
    filter: tuple[str, ...] = ()
    steps: tuple[ReasoningStep, ...] = ()


@dataclass(frozen=True, slots=True)
class UnreadDocument:
    """A document with pages that have no readable text, which no search can match.

    ``unread`` of its ``pages`` pages are without text. ``which`` lists them, such as "1-3, 7"; a long list is cut.
    """

    doc_id: str
    doc_name: str
    unread: int
    pages: int
    which: str


@dataclass(frozen=True, slots=True, repr=False)
class SearchResult:
    """The result of a search: a sequence of pages, best first.

    Iteration, ``len`` and indexing apply to ``results``. ``library`` names all libraries that were searched. ``notes``
    are messages for the user (a misspelling, a rebuilt index). ``expert`` names the packs and files of expert knowledge
    that contributed. ``trace`` is present if the request asked for it. ``sureness`` (0 to 1) is the calibrated
    probability that the first page answers; the effort ``auto`` depends on it. ``reasoning`` is present if a model was
    called, and ``usage`` is its usage. ``unread`` are documents that may contain the answer on pages without text.
    """

    query: str
    library: str
    evidence: Evidence
    effort: EffortUsed
    results: tuple[PageFound, ...]
    sections: tuple[SectionRanked, ...]
    documents: tuple[DocumentRanked, ...]
    embedded_share: float
    notes: tuple[Note, ...]
    timings_ms: Mapping[str, float]
    expert: tuple[str, ...] = ()
    trace: Trace | None = None
    sureness: float = 0.0
    reasoning: Reasoning | None = None
    usage: Usage = field(default_factory=Usage)
    route: RouteUsed = RouteUsed("auto", "auto")
    unread: tuple[UnreadDocument, ...] = ()

    def __iter__(self) -> Iterator[PageFound]:
        return iter(self.results)

    def __len__(self) -> int:
        return len(self.results)

    def __bool__(self) -> bool:
        return True  # a result without pages is still a result

    @overload
    def __getitem__(self, index: int) -> PageFound: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[PageFound, ...]: ...
    def __getitem__(self, index: int | slice) -> PageFound | tuple[PageFound, ...]:
        return self.results[index]

    def __repr__(self) -> str:
        pages = [f"{page.doc_name} p. {page.page}" for page in self.results[:_MAX_PAGES_SHOWN]]
        more = ", …" if len(self.results) > _MAX_PAGES_SHOWN else ""
        return f"<SearchResult {self.query!r}, evidence {self.evidence.level}: {', '.join(pages) or 'no page'}{more}>"

    def _repr_html_(self) -> str:
        """Return an HTML table for notebooks: document, page, section, and snippet with its best sentence marked."""
        rows = "".join(
            f"<tr><td>{number}</td><td>{escape(page.short_path or page.doc_name)}</td>"
            f"<td>{escape(page.label or str(page.page))}</td><td>{escape(' › '.join(page.section.path))}</td>"
            f"<td style='text-align:left'>{_marked(page)}</td></tr>"
            for number, page in enumerate(self.results, 1)
        )
        head = "<tr><th></th><th>document</th><th>page</th><th>section</th><th>snippet</th></tr>"
        notes = "".join(f"<li>{escape(note)}</li>" for note in self.notes)
        title = f"<p><b>{escape(self.query)}</b> (evidence: {escape(self.evidence.level)})</p>"
        return f"{title}<table>{head}{rows}</table>" + (f"<ul>{notes}</ul>" if notes else "")

    def to_dict(self) -> dict[str, Any]:
        """Return the result as JSON values, in the form of all interfaces."""
        shape = asdict(self)
        for page, result in zip(shape["results"], self.results, strict=True):
            page["receipt"], page["why"] = result.receipt.to_dict(), result.why
            for name in ("library", "place", "near", "see", "contents", "organisation", "year"):
                if not page[name]:
                    del page[name]
        return shape


_MAX_PAGES_SHOWN = 5  # maximum number of pages in the one-line representation


def _marked(page: PageFound) -> str:
    before, mark, after = page.snippet.partition(page.mark) if page.mark else (page.snippet, "", "")
    return escape(before) + (f"<mark>{escape(mark)}</mark>" if mark else "") + escape(after)
