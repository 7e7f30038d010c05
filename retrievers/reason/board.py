"""What a model is shown of the chosen documents, and under which names: D1 is a document, D1.0031 a section of it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from hybrid_core.text.plural import counted
from hybrid_core.types.documents import Document
from retrievers.pages.scores import PageScores, PageVisit, Place
from retrievers.query.expert import NO_EXPANSION, Expansion

_NODE = re.compile(r"\s*D?(\d{1,4})\s*[.:/]\s*(\d{1,6})\s*", re.IGNORECASE)
_DOCUMENT = re.compile(r"\s*D?(\d{1,4})\s*", re.IGNORECASE)
_HASH = re.compile(r"(?=[\w-]*\d)(?:[0-9a-f]{16,}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})", re.IGNORECASE)
_BEST_PAGES = 3
_TITLE, _SUMMARY, _DESCRIPTION = 90, 160, 80  # characters


@dataclass(frozen=True, slots=True, eq=False)
class FoundAgain:
    """What another search found: its documents, what expands the question in each, and its pages, best first."""

    pages: Sequence[PageScores]
    expansions: Sequence[Expansion]
    visits: Sequence[PageVisit]


SearchAgain = Callable[[str], FoundAgain]


@dataclass(frozen=True, eq=False)
class Board:
    """The candidate documents with the values of their pages; ``found`` are the pages the walk reached, best first.

    Other searches add documents: ``more`` are what expands the question in these.
    """

    scores: list[PageScores]
    found: Sequence[Place]
    more: list[Expansion] = field(default_factory=list)
    _promises: dict[int, list[float]] = field(default_factory=dict)
    _greatest: dict[int, float] = field(default_factory=dict)  # value, by how many documents there are

    def document_line(self, doc: int) -> str:
        """A document's card in one line, with what it is about where its kind is not known."""
        document = self.scores[doc].candidate.document
        said = "" if document.card.type else about(document, _DESCRIPTION)
        parts = [f"D{doc + 1}", file_name(document), card(document), said, f"{document.pages} pages"]
        return " · ".join(part for part in parts if part)

    def add(self, pages: PageScores, expansion: Expansion | None) -> int:
        """Return the number of a document of another search, which is added where it is not there."""
        doc_id = pages.candidate.document.doc_id
        for number, held in enumerate(self.scores):
            if held.candidate.document.doc_id == doc_id:
                return number
        self.scores.append(pages)
        self.more.append(expansion or NO_EXPANSION)
        return len(self.scores) - 1

    def section_line(self, node: Place, *, summary: bool = False) -> str:
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

    def children(self, node: Place) -> list[Place]:
        doc, at = node
        return [(doc, child) for child in self.scores[doc].candidate.content.children[at]]

    def name(self, node: Place) -> str:
        doc, at = node
        return f"D{doc + 1}.{self.scores[doc].candidate.content.sections[at].node_id}"

    def pages_of(self, node: Place) -> range:
        section = self.scores[node[0]].candidate.content.sections[node[1]]
        return range(section.start_page, section.end_page + 1)

    def best_pages(self, node: Place, most: int = _BEST_PAGES) -> list[int]:
        """The pages of a section with the highest values, best first; its first ones where none has any."""
        values = self.scores[node[0]].values
        ranked = sorted(self.pages_of(node), key=lambda page: (-values[page - 1], page))
        return ranked[:most]

    def value(self, doc: int, page: int) -> float:
        """0 to 1, relative to the best page of all."""
        return float(self.scores[doc].values[page - 1]) / self._best

    def promises(self, doc: int) -> list[float]:
        """Of every section of a document the best value of its pages, 0 to 1."""
        if doc not in self._promises:
            values = self.scores[doc].values
            sections, best = self.scores[doc].candidate.content.sections, self._best
            self._promises[doc] = [
                float(values[s.start_page - 1 : s.end_page].max(initial=0.0)) / best for s in sections
            ]
        return self._promises[doc]

    def document(self, written: str) -> int | None:
        """The document that a model means, None where there is none."""
        match = _DOCUMENT.fullmatch(written)
        return int(match[1]) - 1 if match and 1 <= int(match[1]) <= len(self.scores) else None

    def tops(self, doc: int) -> Sequence[int]:
        """The sections that divide a document: its top ones, or those in the only one there is."""
        children = self.scores[doc].candidate.content.children
        tops = children[-1]
        while len(tops) == 1 and children[tops[0]]:
            tops = children[tops[0]]
        return tops

    def section(self, written: str) -> Place | None:
        """The section that a model means, None where there is none."""
        match = _NODE.fullmatch(written)
        if match is None or not 1 <= int(match[1]) <= len(self.scores):
            return None
        doc, at = int(match[1]) - 1, int(match[2]) - 1
        return (doc, at) if 0 <= at < len(self.scores[doc].candidate.content.sections) else None

    def page(self, document: str, page: int) -> Place | None:
        """The page that a model means, None where there is none."""
        match = _DOCUMENT.fullmatch(document) or _NODE.fullmatch(document)
        if match is None or not 1 <= int(match[1]) <= len(self.scores):
            return None
        doc = int(match[1]) - 1
        return (doc, page) if 1 <= page <= self.scores[doc].candidate.content.pages else None

    @property
    def _best(self) -> float:
        if len(self.scores) not in self._greatest:
            best = max((float(one.values.max(initial=0.0)) for one in self.scores), default=0.0)
            self._greatest[len(self.scores)] = best or 1.0
        return self._greatest[len(self.scores)]


def card(document: Document) -> str:
    """Return what is known of a document: whose it is, of which kind and time, and its title."""
    known = document.card
    when = str(known.years[0]) if known.years else ""
    title = short(document.title, _TITLE)
    name = known.names[0] if known.names and not _says(document.name + title, known.names[0]) else ""
    parts = [name, known.type, when + (f" Q{known.quarter}" if known.quarter else "")]
    said = ", ".join(part for part in parts if part)
    if title and (not said or not _says(f"{document.name} {said}", title)):
        return f"{title} ({said})" if said else title
    return said or "unknown kind"


def file_name(document: Document) -> str:
    """Return a file's name, of one that is a hash the beginning."""
    stem, dot, ending = document.name.rpartition(".")
    return f"{stem[:8]}…{dot}{ending}" if _HASH.fullmatch(stem) and document.title else document.name


def about(document: Document, most: int) -> str:
    """What a document is about in so many characters, without what its line says besides: title and length."""
    said = document.description
    title, _, rest = said.partition(f" ({counted(document.pages, 'page')})")
    if title == document.title:
        listed = rest.removeprefix(": ").split("; ")
        rest = "; ".join(part for part in listed if not title.startswith(part.removesuffix("…")))
        said = (
            rest
            if card(document).startswith(short(title, _TITLE)) or _says(document.name, title)
            else ": ".join(part for part in (title, rest) if part)
        )
    return short(said, most)


def _says(file: str, name: str) -> bool:
    """Whether a file's name tells whose it is."""
    return "".join(filter(str.isalnum, name.casefold())) in "".join(filter(str.isalnum, file.casefold()))


def short(text: str, most: int) -> str:
    """A text in one line of at most so many characters, cut between words where it has spaces."""
    one_line = " ".join(text.split())
    if len(one_line) <= most:
        return one_line
    cut = one_line[: most - 1]
    space = cut.rfind(" ")
    return (cut[:space] if space >= most // 2 else cut).rstrip() + "…"
