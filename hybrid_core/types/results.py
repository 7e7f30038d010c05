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
"""What pages are given under these names puts them first because the question means them; the verdict says why."""
ReasoningOutcome = Literal["named", "nothing", "failed"]
StepKind = Literal["shown", "asked", "thought", "searched", "opened", "read", "rated", "dropped", "verdict", "failed"]


@dataclass(frozen=True, slots=True)
class Evidence:
    """The library's ability to answer, as a level and a score.

    ``score`` is the probability, 0 to 1, that one of the first five pages answers, calibrated on question sets: from
    how the pages lead, hold the question's words, and are of the document that it names (docs/lab/ranking.md). strong
    from 0.65, weak from 0.35; ``unclear``, with the score 0, where the question names nothing to look for: ``hint``
    then says how to ask.
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
    """A child section worth opening. NodeScores compare siblings; higher is better."""

    node_id: str
    title: str
    start_page: int
    end_page: int
    node_score: float


@dataclass(frozen=True, slots=True)
class SectionFound:
    """A section and its NodeScore (compared among siblings only; higher is better).

    ``flags`` say what its own text holds (has_table, …), ``gaps`` what it announces and does not contain; ``hints``
    are its children with hits, best first.
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
    """Why a page was returned.

    ``terms`` says what each question term added to the page's in-document BM25. ``coarse`` is the
    page's score in the coarse pass (None: it was not among the top hits). ``page``, ``document`` and
    ``structure``, and ``rerank`` and ``reasoning`` where they are numbers, are the parts that add up to the result's
    score; ``reasoning`` is what being named by a model added. ``dense`` is the cosine of the page's best vector with
    the question's, ``learned_sparse`` the product of their learned term weights; both count in ``page``, and are None
    without them or where the page is not among the nearest. ``contributions`` are what stages of one's own added, by
    their names; they count in the score too. ``addends`` are what each feature of the ranking model adds, greatest
    first, and its base: together they are ``page`` + ``document`` + ``structure``; empty where the model did not score
    the page.
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
        """Return the JSON shape: ``contributions`` and ``addends`` only where there are some."""
        lacking = {name for name in ("contributions", "addends") if not getattr(self, name)}
        return {name: part for name, part in asdict(self).items() if name not in lacking}


@dataclass(frozen=True, slots=True)
class Pointer:
    """A reference in a snippet: "Note 7", with the page of the same document on which that begins."""

    written: str
    page: int
    why: Note


@dataclass(frozen=True, slots=True)
class PageFound:
    """``short_path`` is the file's name with as much of its folders as tells it from the library's other documents."""

    doc_id: str
    doc_name: str
    page: int
    label: str
    score: float
    snippet: str
    section: SectionFound
    receipt: Receipt
    also_in: tuple[str, ...] = ()  # other places of the same page, with what differs in nearly equal ones
    short_path: str = ""
    library: str = ""  # where several are searched
    place: str = ""  # where in the file the match stands, of a format without pages of its own
    near: str = ""  # a result of another document before it that says nearly the same, and what differs
    see: tuple[Pointer, ...] = ()  # where the snippet sends its reader
    mark: str = ""  # the sentence or row of the snippet that holds most of the question
    contents: bool = False  # printed contents or an index: it says where things stand, not what they are
    hidden_text: tuple[str, ...] = ()  # lines that the page holds and does not show
    doc_title: str = ""

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
    """``score`` = DocScore divided by the best + routing; the parts beside it."""

    doc_id: str
    doc_name: str
    score: float
    doc_score: float
    routing: float
    reason: Note


@dataclass(frozen=True, slots=True)
class Trace:
    """The documents, sections and pages that each stage looked at.

    A miss is attributed by it to the stage that lost the page.

    Pairs begin with the doc_id. ``coarse`` are the coarse pass's pages, ``documents`` the doc_ids looked into,
    ``sections`` the node_ids that came up as candidates, ``opened`` those the walk opened, ``read`` the pages
    it reached; all best or first come first.
    """

    coarse: tuple[tuple[str, int], ...]
    documents: tuple[str, ...]
    sections: tuple[tuple[str, str], ...]
    opened: tuple[tuple[str, str], ...]
    read: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class ReasoningStep:
    """A step of a model that looked for the answer.

    ``shown`` what it saw first; ``asked`` it was called; ``thought`` what it said; ``searched`` in which words and what
    that found; ``opened`` sections and ``read`` pages that it asked for;
    ``rated`` sections or pages it gave a probability; ``dropped`` what it named that does not exist; ``verdict`` the
    pages and sections it chose; ``failed`` why it was given up.
    """

    kind: StepKind
    text: str


@dataclass(frozen=True, slots=True)
class Reasoning:
    """A model's search for the answer: its strategy (outline or mcts), its name, its steps in order.

    ``outcome``: it ``named`` pages, found ``nothing`` that answers, or ``failed``, also by naming only what does not
    exist.
    """

    strategy: Strategy
    model: str
    steps: tuple[ReasoningStep, ...]
    outcome: ReasoningOutcome


@dataclass(frozen=True, slots=True)
class RouteUsed:
    """The way documents were chosen, and why so; ``auto`` is by their cards and the words of their pages.

    ``filter`` are the conditions that counted, each as "field operator values"; ``steps`` what a model was asked.
    """

    asked: Route
    used: Route
    why: Note = NONE
    filter: tuple[str, ...] = ()
    steps: tuple[ReasoningStep, ...] = ()


@dataclass(frozen=True, slots=True)
class UnreadDocument:
    """A document with ``unread`` of its ``pages`` pages without readable text: no search finds what they show.

    ``which`` lists them, such as "1-3, 7"; of many only the first.
    """

    doc_id: str
    doc_name: str
    unread: int
    pages: int
    which: str


@dataclass(frozen=True, slots=True, repr=False)
class SearchResult:
    """Results are one per page, best first: iterating, ``len`` and an index go over them. ``library`` is the name of
    what was searched, of several all.

    ``notes`` say what the user should know (ties, rebuilt index).

    ``expert`` names the packs and files of expert knowledge that had something to say. ``trace`` is there where
    it was asked for. ``sureness`` (0 to 1) is the calibrated probability that the first page answers, by which
    ``auto`` decides. ``reasoning`` is there where a model
    was asked, ``usage`` what it took. ``unread`` are documents that may hold the answer on pages without text.
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
        return True  # also of no pages it is a result

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
        """A table for notebooks: document, page, section, and the snippet with the sentence that answers marked."""
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
        """Return the JSON form."""
        shape = asdict(self)
        for page, result in zip(shape["results"], self.results, strict=True):
            page["receipt"], page["why"] = result.receipt.to_dict(), result.why
            for name in ("library", "place", "near", "see", "contents"):
                if not page[name]:
                    del page[name]
        return shape


_MAX_PAGES_SHOWN = 5  # pages that a result in one line names


def _marked(page: PageFound) -> str:
    before, mark, after = page.snippet.partition(page.mark) if page.mark else (page.snippet, "", "")
    return escape(before) + (f"<mark>{escape(mark)}</mark>" if mark else "") + escape(after)
