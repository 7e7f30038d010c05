"""Read one document: its section tree, words on its pages, and the terms that it defines."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from hybrid_core.errors import NotFoundError, UsageError
from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.store.jobs.reader import JobReader
from hybrid_core.text.tokens import fold
from hybrid_core.types.documents import Document, Page, Section, place_of
from hybrid_core.types.notes import Note
from hybrid_pageindex.engine.documents import reading
from hybrid_pageindex.engine.documents.reading import find_document, section_path
from retrievers.pipeline.search import SectionScores


@dataclass(frozen=True, slots=True)
class OutlineNode:
    """A section in an outline.

    ``node_score`` and ``best_pages`` are set only if the outline was scored for a question. ``folded`` is the number of
    children that the outline omits. ``text`` is the text of the section and its subsections, None if it was not
    requested.
    """

    section: Section
    path: tuple[str, ...]
    children: int
    folded: int = 0
    node_score: float | None = None
    best_pages: tuple[int, ...] = ()
    text: str | None = None


@dataclass(frozen=True, slots=True)
class Outline:
    """The sections of a document as a list, each parent before its children, down to a number of levels.

    ``notes`` explain the scores to the user, and say whether the tree may change soon.
    """

    document: Document
    query: str | None
    nodes: tuple[OutlineNode, ...]
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the document and its nested sections as JSON values."""
        document = self.document
        return {
            "doc_id": document.doc_id, "doc_name": document.name, "title": document.title,
            "description": document.description, "pages": document.pages, "query": self.query,
            "notes": list(self.notes), "nodes": _nested(self.nodes, _full),
        }  # fmt: skip

    def to_pageindex(self) -> dict[str, Any]:
        """Return the tree in the JSON format of PageIndex."""
        return {
            "doc_name": self.document.name,
            "doc_description": self.document.description,
            "structure": _nested(self.nodes, _pageindex),
        }


def outline(
    catalog: Catalog,
    library: str,
    name: str,
    scored: SectionScores | None,
    depth: int | None,
    node: str | None = None,
    text: bool = False,
) -> Outline:
    """Return the section tree of a document, or the subtree below ``node``. ``text`` adds the text of each section.

    Raise NotFoundError for an unknown document or node.
    """
    with catalog.snapshot() as snapshot:
        document = find_document(snapshot, library, name)
        sections = snapshot.sections(document.content_id)
        texts = [page.text for page in snapshot.pages(document.content_id)] if text else []
    by_id = {section.node_id: section for section in sections}
    if node is not None and node not in by_id:
        raise NotFoundError(
            f"{document.name} has no section '{node}'.", "Use a node_id from the outline of the document."
        )
    children: dict[str, int] = {}
    for section in sections:
        if section.parent_id:
            children[section.parent_id] = children.get(section.parent_id, 0) + 1
    deepest = None if depth is None else depth + (by_id[node].level if node else 0)
    nodes = []
    for section in _below(sections, node):
        if deepest is None or section.level <= deepest:
            score, best = (None, ()) if scored is None else scored.sections.get(section.node_id, (0.0, ()))
            count = children.get(section.node_id, 0)
            folded = count if section.level == deepest else 0
            inside = _section_text(section, texts) if text else None
            nodes.append(OutlineNode(section, section_path(section, by_id), count, folded, score, best, inside))
    query, notes = (None, ()) if scored is None else (scored.query, scored.notes)
    if JobReader(catalog).stage(document.library, document.path) == "refine":
        notes = (*notes, Note("outline.improving"))
    return Outline(document, query, tuple(nodes), notes)


def _section_text(section: Section, pages: Sequence[str]) -> str:
    """Return the text of a section with its subsections. ``pages`` are the texts of all pages."""
    first, last = section.start_page, section.end_page
    inside = list(pages[first - 1 : last])
    inside[-1] = inside[-1][: section.end_anchor]
    inside[0] = inside[0][section.anchor :]
    return "\n".join(inside).strip()


def _below(sections: Sequence[Section], node: str | None) -> Iterator[Section]:
    """Yield the section ``node`` and all sections below it; all sections if ``node`` is None."""
    inside: set[str] = set()
    for section in sections:
        if node is None or section.node_id == node or section.parent_id in inside:
            inside.add(section.node_id)
            yield section


def _nested(nodes: Sequence[OutlineNode], shape: Any) -> list[dict[str, Any]]:
    top: list[dict[str, Any]] = []
    tree_by_id: dict[str, dict[str, Any]] = {}
    for node in nodes:
        tree_by_id[node.section.node_id] = entry = shape(node)
        parent = tree_by_id.get(node.section.parent_id or "")
        (top if parent is None else parent.setdefault("nodes", [])).append(entry)
    return top


def _pageindex(node: OutlineNode) -> dict[str, Any]:
    section = node.section
    entry: dict[str, Any] = {
        "title": section.title, "node_id": section.node_id, "start_index": section.start_page,
        "end_index": section.end_page, ("prefix_summary" if node.children else "summary"): section.summary,
    }  # fmt: skip
    return entry | ({"synthetic": True} if section.synthetic else {}) | _asked_text(node)


def _asked_text(node: OutlineNode) -> dict[str, str]:
    return {} if node.text is None else {"text": node.text}


def _full(node: OutlineNode) -> dict[str, Any]:
    section = node.section
    entry: dict[str, Any] = {
        "node_id": section.node_id, "title": section.title, "level": section.level, "start_page": section.start_page,
        "end_page": section.end_page, "summary": section.summary, "source": section.source,
        "synthetic": section.synthetic, "flags": list(section.flags), "gaps": list(section.gaps),
        "children": node.children,
    }  # fmt: skip
    if node.node_score is not None:
        entry |= {"node_score": node.node_score, "best_pages": list(node.best_pages)}
    return entry | _asked_text(node)


MOST = 1000
_AT_ONCE = 200  # pages searched at once
_BESIDE = 60  # characters of a snippet on each side of the match


@dataclass(frozen=True, slots=True)
class Match:
    """A match at the characters ``start`` to ``end`` of a page's text.

    ``place`` is the position within a file that has no pages.
    """

    page: int
    label: str
    start: int
    end: int
    snippet: str
    place: str


@dataclass(frozen=True, slots=True)
class Matches:
    """Matches of words in a document. If ``more`` is True, further matches begin on ``next_page``."""

    matches: tuple[Match, ...]
    more: bool
    next_page: int


def find_words(catalog: Catalog, library: str, document: str, words: str, first: int = 1, limit: int = 100) -> Matches:
    """Return the matches of words in a document from page ``first`` on, ignoring case and white space between words.

    The last searched page is returned completely, so the result may exceed ``limit`` matches.
    """
    if not words.split():
        raise UsageError("The search pattern is empty.", "Give a word or a phrase to search for.")
    if not 1 <= limit <= MOST:
        raise UsageError(f"{limit} matches were requested.", f"Choose 1 to {MOST} matches.")
    pattern = re.compile(r"\s+".join(map(re.escape, words.split())), re.IGNORECASE)
    matches: list[Match] = []
    with catalog.snapshot() as snapshot:
        row = reading.find_document(snapshot, library, document)
    for begin in range(max(first, 1), row.pages + 1, _AT_ONCE):
        with catalog.snapshot() as snapshot:
            pages = snapshot.pages(row.content_id, range(begin, min(begin + _AT_ONCE, row.pages + 1)))
        for page in pages:
            matches += _on(page, pattern)
            if len(matches) >= limit:
                return Matches(tuple(matches), page.number < row.pages, page.number + 1)
    return Matches(tuple(matches), False, row.pages + 1)


def _on(page: Page, pattern: re.Pattern[str]) -> Iterator[Match]:
    for match in pattern.finditer(page.text):
        start, end = match.span()
        line = page.text.count("\n", 0, start)
        snippet = " ".join(page.text[max(start - _BESIDE, 0) : end + _BESIDE].split())
        yield Match(page.number, page.label, start, end, snippet, place_of(page.label, page.places, line))


_MAX_TERMS = 1_000  # maximum terms of one document
_LONGEST = 500  # maximum characters of a definition
_OPEN, _CLOSE = '[“"«„「]', '[”"»“」]'
_TERM = r"(?P<term>[^\W_][^\"“”«»„「」()\n]{0,79}?)"
_MEANS = (
    r"shall\s+(?:each\s+)?mean|(?:each\s+)?means?|(?:shall\s+)?ha(?:s|ve)\s+the\s+(?:respective\s+)?meanings?|"
    r"(?:is|are)\s+defined|refers?\s+to|bezeichnet|bedeutet|meint|désigne|significa"
)
_DEFINITION = re.compile(
    rf"{_OPEN}{_TERM}{_CLOSE}\s*(?:(?:,|\()[^.;\"“”]{{0,60}}(?:,|\))\s*)?(?:{_MEANS})\b"
    rf"|{_OPEN}(?P<quoted>[^\W_][^\"“”「」\n]{{0,29}}?){_CLOSE}[,，]?\s*(?:是指|系指|意指|指的是|指)"
    r"|本(?:法|条例|规定|办法|细则|合同|协议|指引)(?:中)?所(?:称|指)(?:的)?[“「]?(?P<statute>[^\W\d_]{1,20}?)[”」]?[,，]?(?:是指|系指|指)"
)
_TERM_IN_BRACKETS = re.compile(
    r"\((?:[^()\"“”]{0,60}?\b)??(?:the|an?|each|together|collectively|hereinafter|hereafter|as|such|all|our)?[\s,]*"
    rf"{_OPEN}(?P<term>[^\W\d_][^\"“”()\n]{{0,59}}){_CLOSE}\s*\)"
)
_END = re.compile(r"[.;](?=\s+(?:\(?\d+(?:\.\d+)*[.)]?\s+)?(?:[A-Z“\"(«„]|$))|[。；]|\n\s*\n|[.;]\s*$")
_NO_END = re.compile(r"(?:\b(?:Inc|Corp|Co|Ltd|No|Nos|Mr|Ms|Dr|St|U\.S|e\.g|i\.e|etc|Sec|Art)|\b[A-Z])\.$")


@dataclass(frozen=True, slots=True)
class DefinedTerm:
    """A term, and the sentence on ``page`` that defines it."""

    term: str
    text: str
    page: int


def glossary(catalog: Catalog, library: str, document: str) -> list[DefinedTerm]:
    """Return the defined terms of a document in alphabetical order, each with its first definition.

    Raise NotFoundError for an unknown document.
    """
    with catalog.snapshot() as snapshot:
        chosen = reading.find_document(snapshot, library, document)
        pages = [(page.number, page.text) for page in snapshot.pages(chosen.content_id)]
    terms: dict[str, DefinedTerm] = {}
    for find in (definitions, introductions):  # a definition is preferred to a name in brackets
        for number, text in pages:
            for term, sentence in find(text):
                if len(terms) < _MAX_TERMS:
                    terms.setdefault(fold(term), DefinedTerm(term, sentence, number))
    return sorted(terms.values(), key=lambda each: fold(each.term))


def definitions(text: str) -> Iterator[tuple[str, str]]:
    """Yield (term, sentence) for each term that a page defines ("X means …"). The sentence begins with the term."""
    for match in _DEFINITION.finditer(text):
        term = match["term"] or match["quoted"] or match["statute"]
        yield _spaced(term).rstrip(",. "), _spaced(text[match.start() : _end(text, match.end())])


def introductions(text: str) -> Iterator[tuple[str, str]]:
    """Yield (term, sentence) for each term introduced in brackets, as in 'Acme Inc. (the "Company")'.

    The sentence ends with the bracket.
    """
    for match in _TERM_IN_BRACKETS.finditer(text):
        yield _spaced(match["term"]).rstrip(",. "), _spaced(text[_begin(text, match.start()) : match.end()])


def _end(text: str, start: int) -> int:
    stop = min(len(text), start + _LONGEST)
    for match in _END.finditer(text, start, stop):
        if not _NO_END.search(text, max(0, match.start() - 8), match.start() + 1):
            return match.end()
    return stop


def _begin(text: str, end: int) -> int:
    first = max(0, end - _LONGEST)
    begin = first
    for match in _END.finditer(text, first, end):
        if not _NO_END.search(text, max(0, match.start() - 8), match.start() + 1):
            begin = match.end()
    return begin


def _spaced(text: str) -> str:
    return " ".join(text.split())
