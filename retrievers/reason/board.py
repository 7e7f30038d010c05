"""The board: the documents that a model is shown during a search, and the model's choice.

Documents are named D1, D2, and sections D1.0031.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from hybrid_core.text.markup import table_rows
from hybrid_core.text.prose import counted
from hybrid_core.types.documents import Document
from hybrid_core.types.notes import NONE, Note
from retrievers.query.expert import NO_EXPANSION, Expansion
from retrievers.ranking.walk import DocumentScores, PageRef, PageVisit

_NODE = re.compile(r"\s*D?(\d{1,4})\s*[.:/]\s*(\d{1,6})\s*", re.IGNORECASE)
_DOCUMENT = re.compile(r"\s*D?(\d{1,4})\s*", re.IGNORECASE)
_HASH = re.compile(r"(?=[\w-]*\d)(?:[0-9a-f]{16,}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})", re.IGNORECASE)
_BEST_PAGES = 3
_TITLE, _SUMMARY, _DESCRIPTION = 90, 160, 80  # characters


@dataclass(frozen=True, slots=True, eq=False)
class FoundAgain:
    """The result of a further search: documents with page scores, expert terms of each, and pages.

    ``visits`` are the pages, best first.
    """

    pages: Sequence[DocumentScores]
    expansions: Sequence[Expansion]
    visits: Sequence[PageVisit]


SearchAgain = Callable[[str], FoundAgain]


@dataclass(frozen=True, eq=False)
class Board:
    """The documents that a model may choose from, with the scores of their pages.

    ``reached`` are the ranked pages, best first. Further searches add documents; ``more`` contains the expert terms of
    these.
    """

    scores: list[DocumentScores]
    reached: Sequence[PageRef]
    more: list[Expansion] = field(default_factory=list)
    _promises: dict[int, list[float]] = field(default_factory=dict)
    _greatest: dict[int, float] = field(default_factory=dict)  # value, by how many documents there are

    def document_line(self, doc: int) -> str:
        """Return one line about a document: name, card, number of pages, and description.

        The description is left out if the card states a type.
        """
        document = self.scores[doc].candidate.document
        description = "" if document.card.type else about(document, _DESCRIPTION)
        parts = [f"D{doc + 1}", file_name(document), card(document), description, f"{document.pages} pages"]
        return " · ".join(part for part in parts if part)

    def add(self, pages: DocumentScores, expansion: Expansion | None) -> int:
        """Return the number of a document of a further search, after adding it to the board if it is new."""
        doc_id = pages.candidate.document.doc_id
        for number, scores in enumerate(self.scores):
            if scores.candidate.document.doc_id == doc_id:
                return number
        self.scores.append(pages)
        self.more.append(expansion or NO_EXPANSION)
        return len(self.scores) - 1

    def section_line(self, node: PageRef, *, summary: bool = False) -> str:
        doc, at = node
        content = self.scores[doc].candidate.content
        section = content.sections[at]
        first, last = section.start_page, section.end_page
        span = f"page {first}" if first == last else f"pages {first}-{last}"
        parts = [f"{'  ' * len(content.path(at))}{self.name(node)} {short(section.title, _TITLE)}", span]
        if self.promises(doc)[at] > 0:
            best = ", ".join(map(str, self.best_pages(node)))
            parts += [f"best {best}"] if last > first else []
        if summary and section.summary:
            parts.append(short(section.summary, _SUMMARY))
        return " · ".join(parts)

    def children(self, node: PageRef) -> list[PageRef]:
        doc, at = node
        return [(doc, child) for child in self.scores[doc].candidate.content.children[at]]

    def name(self, node: PageRef) -> str:
        doc, at = node
        return f"D{doc + 1}.{self.scores[doc].candidate.content.sections[at].node_id}"

    def pages_of(self, node: PageRef) -> range:
        section = self.scores[node[0]].candidate.content.sections[node[1]]
        return range(section.start_page, section.end_page + 1)

    def best_pages(self, node: PageRef, count: int = _BEST_PAGES) -> list[int]:
        """Return at most ``count`` pages of a section, highest values first.

        If all values are 0, return the first pages.
        """
        values = self.scores[node[0]].values
        ranked = sorted(self.pages_of(node), key=lambda page: (-values[page - 1], page))
        return ranked[:count]

    def value(self, doc: int, page: int) -> float:
        """Return the score of a page divided by the best score on the board, 0 to 1."""
        return float(self.scores[doc].values[page - 1]) / self._best

    def promises(self, doc: int) -> list[float]:
        """Return the best relative score of any page in each section of a document, 0 to 1."""
        if doc not in self._promises:
            values = self.scores[doc].values
            sections, best = self.scores[doc].candidate.content.sections, self._best
            self._promises[doc] = [
                float(values[s.start_page - 1 : s.end_page].max(initial=0.0)) / best for s in sections
            ]
        return self._promises[doc]

    def document(self, written: str) -> int | None:
        """Return the index of the document with a name such as "D1", None if it is not on the board."""
        match = _DOCUMENT.fullmatch(written)
        return int(match[1]) - 1 if match and 1 <= int(match[1]) <= len(self.scores) else None

    def tops(self, doc: int) -> Sequence[int]:
        """Return the top-level sections of a document.

        If there is only one, return its children instead, and so on.
        """
        children = self.scores[doc].candidate.content.children
        tops = children[-1]
        while len(tops) == 1 and children[tops[0]]:
            tops = children[tops[0]]
        return tops

    def section(self, written: str) -> PageRef | None:
        """Return the section with a name such as "D1.0031", None if it does not exist."""
        match = _NODE.fullmatch(written)
        if match is None or not 1 <= int(match[1]) <= len(self.scores):
            return None
        doc, at = int(match[1]) - 1, int(match[2]) - 1
        return (doc, at) if 0 <= at < len(self.scores[doc].candidate.content.sections) else None

    def page(self, document: str, page: int) -> PageRef | None:
        """Return a page by its number and the name of its document, None if it does not exist."""
        match = _DOCUMENT.fullmatch(document) or _NODE.fullmatch(document)
        if match is None or not 1 <= int(match[1]) <= len(self.scores):
            return None
        doc = int(match[1]) - 1
        return (doc, page) if 1 <= page <= self.scores[doc].candidate.content.pages else None

    @property
    def _best(self) -> float:
        if len(self.scores) not in self._greatest:
            best = max((float(scores.values.max(initial=0.0)) for scores in self.scores), default=0.0)
            self._greatest[len(self.scores)] = best or 1.0
        return self._greatest[len(self.scores)]


def card(document: Document) -> str:
    """Return one line of known facts about a document: organisation, type, period and title."""
    card_facts = document.card
    when = str(card_facts.years[0]) if card_facts.years else ""
    title = short(document.title, _TITLE)
    name = card_facts.names[0] if card_facts.names and not _says(document.name + title, card_facts.names[0]) else ""
    parts = [name, card_facts.type, when + (f" Q{card_facts.quarter}" if card_facts.quarter else "")]
    facts = ", ".join(part for part in parts if part)
    if title and (not facts or not _says(f"{document.name} {facts}", title)):
        return f"{title} ({facts})" if facts else title
    return facts or "unknown kind"


def file_name(document: Document) -> str:
    """Return a file name, shortened to its beginning if it is a hash."""
    stem, dot, ending = document.name.rpartition(".")
    return f"{stem[:8]}…{dot}{ending}" if _HASH.fullmatch(stem) and document.title else document.name


def about(document: Document, length: int) -> str:
    """Return the description of a document without its title, in at most ``length`` characters."""
    text = document.description
    title, _, rest = text.partition(f" ({counted(document.pages, 'page')})")
    if title == document.title:
        listed = rest.removeprefix(": ").split("; ")
        rest = "; ".join(part for part in listed if not title.startswith(part.removesuffix("…")))
        text = (
            rest
            if card(document).startswith(short(title, _TITLE)) or _says(document.name, title)
            else ": ".join(part for part in (title, rest) if part)
        )
    return short(text, length)


def _says(file: str, name: str) -> bool:
    """Return whether a file name contains a name, ignoring case and punctuation."""
    return "".join(filter(str.isalnum, name.casefold())) in "".join(filter(str.isalnum, file.casefold()))


def short(text: str, length: int) -> str:
    """Return a text as one line of at most ``length`` characters, cut at a word boundary if possible."""
    one_line = " ".join(text.split())
    if len(one_line) <= length:
        return one_line
    cut = one_line[: length - 1]
    space = cut.rfind(" ")
    return (cut[:space] if space >= length // 2 else cut).rstrip() + "…"


NAME = "reasoning"  # name of the contribution that a verdict adds to a page's score
_STEP = 0.01  # between the pages named, above the best value that the deterministic walk gave
_PAGES_OF_A_NODE = 3  # a section named without a page of it stands for its best ones


@dataclass(frozen=True, slots=True)
class Verdict:
    """A model's choice of pages and sections, best first, with a reason.

    Pages are (document, page), and sections are (document, index of the section).
    """

    pages: tuple[PageRef, ...] = ()
    nodes: tuple[PageRef, ...] = ()
    reasoning: str = ""

    def __bool__(self) -> bool:
        return bool(self.pages or self.nodes)


def reorder(
    verdict: Verdict, board: Board, visits: Sequence[PageVisit], scores: Sequence[DocumentScores], count: int
) -> tuple[list[PageVisit], list[DocumentScores], dict[PageRef, Note]]:
    """Put at most ``count`` pages that a model chose first; the others keep their order.

    Return the pages, the page scores with the gains of the chosen pages, and a sentence for each chosen page.
    """
    sections = dict.fromkeys(verdict.pages, "")  # by which pages are named, "" for pages named themselves
    for node in verdict.nodes:
        if not any(doc == node[0] and page in board.pages_of(node) for doc, page in verdict.pages):
            for page in board.best_pages(node, _PAGES_OF_A_NODE):
                sections.setdefault((node[0], page), board.name(node))
    sections = dict(list(sections.items())[:count])
    order = list(sections)
    best = max((float(visit.values.max(initial=0.0)) for visit in scores), default=0.0)
    after = list(scores)
    for rank, (doc, page) in enumerate(order):
        lifted = best + _STEP * (len(order) - rank)
        after[doc] = after[doc].plus(
            NAME, {page: lifted - (float(scores[doc].values[page - 1]) or scores[doc].parts(page))}
        )
    visited = {(visit.doc, visit.page): visit for visit in visits}
    first = [visited.get(place, PageVisit(*place)) for place in order]
    rest = [visit for visit in visits if (visit.doc, visit.page) not in sections]
    why = _first_sentences(verdict.reasoning)
    sentences = {
        place: _named(section, rank, len(order), why) for rank, (place, section) in enumerate(sections.items(), 1)
    }
    return [*first, *rest], after, sentences


def _named(section: str, rank: int, count: int, why: str) -> Note:
    if section and why:
        return Note("verdict.in-named-because", section=section, rank=rank, count=count, reason=why)
    if section:
        return Note("verdict.in-named", section=section, rank=rank, count=count)
    if why:
        return Note("verdict.named-because", rank=rank, count=count, reason=why)
    return Note("verdict.named", rank=rank, count=count)


def unique(places: Iterable[PageRef]) -> tuple[PageRef, ...]:
    return tuple(dict.fromkeys(places))


def _first_sentences(text: str, length: int = 240) -> str:
    one_line = " ".join(text.split())
    return one_line if len(one_line) <= length else one_line[: length - 1].rstrip() + "…"


_CAPTION = re.compile(
    r"^\W{0,3}((?:figure|fig\.?|chart|graph|table|exhibit|diagram|map|photo(?:graph)?|image|illustration|plate|scheme"
    r"|abbildung|abb\.|tabelle|diagramm|foto|tableau|graphique|figura|tabla|gráfico)\s*[A-Z]?\d{1,3}(?:[.\-]\d{1,3})*[.:|–—\s]"
    r"|[图表]\s*\d{1,3})",
    re.IGNORECASE,
)
_CAPTION_PREFIXES = ("Figure: ", "Table: ")  # how a description's lines begin
_ROWS = 4  # lines that make a table
_CAPTIONS, _LENGTH = 2, 70  # captions that are shown, characters of each
_BARE_FIGURE = re.compile(r"[\s($€£¥+\-–−~≈<>]*\d[\d,.]*\s?(?:%|[kKmMbB]n?|x)?[)\s]*")
_FIGURES = 5  # lines that are a figure alone: those of a chart, whose names stand elsewhere
_WORDS = 25  # fewer leave most of a page to what is drawn


class SeenPage(NamedTuple):
    """The best passage of a page, and whether the page has figures other than tables."""

    passage: str
    pictured: bool = False


@dataclass(frozen=True, slots=True)
class Described:
    """A document as it is described to a model.

    ``reason`` tells why it matches, ``NONE`` if unknown. ``best`` are the passages of its best pages, best first.
    """

    document: Document
    reason: Note = NONE
    best: Mapping[int, SeenPage] = field(default_factory=dict)


def mark(text: str, described: str = "") -> str:
    """Return the kinds of figures on a page in brackets, such as "[table]", "" if none is known."""
    lines = text.split("\n")
    marks = _captions(text, described)[:_CAPTIONS]
    if not any(map(_of_table, marks)) and len(table_rows(lines, range(len(lines)))) >= _ROWS:
        marks.append("table")
    if not marks and unlabelled(text):
        marks.append("figures of a chart")
    if len(text.split()) < _WORDS and len(text) < 6 * _WORDS:
        marks.append("little text")
    return f"[{'; '.join(marks)}]" if marks else ""


def pictured(text: str, described: str = "") -> bool:
    """Return whether a page shows figures other than tables."""
    return not all(map(_of_table, _captions(text, described)))


def unlabelled(text: str) -> bool:
    """Return whether a page has numbers without labels beside them, as in many bar charts."""
    lines = [line for line in text.split("\n") if line.strip()]
    bare = [at for at, line in enumerate(lines) if _BARE_FIGURE.fullmatch(line)]
    if len(bare) < _FIGURES:
        return False
    return 2 * len(table_rows(lines, bare)) < len(bare)


def _captions(text: str, described: str) -> list[str]:
    """Return the captions on a page. If it has none, return the figures that a vision model described."""
    captions = [short(line, _LENGTH) for line in text.split("\n") if _CAPTION.match(line)]
    return captions or [short(line, _LENGTH) for line in described.split("\n") if line.startswith(_CAPTION_PREFIXES)]


def _of_table(caption: str) -> bool:
    return caption.lower().startswith(("tab", "表"))
