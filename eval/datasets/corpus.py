"""The documents of a library for an evaluation, and the location of gold evidence in them.

Gold evidence is the right pages of a question. Its page numbers are checked, and its texts are searched in the indexed
page texts.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from math import log

from eval.records.questions import EvalQuestion, Gold
from hybrid_core.types.documents import Document, Section
from hybrid_pageindex import Engine, run

_END = 40  # letters of a text's beginning and end that locate it if its middle differs
_SHORT = 20  # texts with fewer letters must match whole words: "ip" does not match in "recipient"
_SLACK = 600  # letters of page headers and footers allowed between them
_ALIKE = 0.85  # share of a text's words, weighted by rarity, that a page must contain to count as its place
_FEWEST = 8  # with fewer distinct words the similarity is unreliable
_HALF = 0.5  # share of a text's letter n-grams that a page must contain if half of the text suffices
_GRAM = 12  # letters of an n-gram
_WHOLE = 40  # texts up to this number of letters must be on the page as a whole


@dataclass(frozen=True, slots=True)
class GoldPlacement:
    """Questions whose gold evidence (the right pages) was located.

    Gold that was not found keeps its document and has no page. Of gold texts, ``exact`` were found literally, ``ends``
    by beginning and end, ``fuzzy`` by their words. ``unplaced`` counts gold without a usable page; ``problems`` gives
    the reason and question id of each. ``document_only`` counts gold without page and text.
    """

    questions: tuple[EvalQuestion, ...]
    problems: tuple[str, ...]
    given: int = 0
    exact: int = 0
    ends: int = 0
    fuzzy: int = 0
    unplaced: int = 0
    document_only: int = 0


async def locate(engine: Engine, questions: Iterable[EvalQuestion], *, library: str | None = None) -> GoldPlacement:
    """Locate gold evidence in the documents that ``engine`` has indexed.

    If two documents share a file name, gold in them counts as missing. Only documents with gold texts are read.
    """
    listed_questions = tuple(questions)
    needed = {gold.document for question in listed_questions for gold in question.evidence if _is_text(gold)}
    titled = {gold.document for question in listed_questions for gold in question.evidence if gold.match == "section"}
    sections: dict[str, list[tuple[str, int, int]]] = {}
    listed = [document for document in await engine.documents.list(library=library) if document.published]
    times = Counter(document.name for document in listed)
    pages: dict[str, int] = {}
    texts: dict[str, list[str]] = {}
    for document in listed:
        if times[document.name] > 1:
            continue
        pages[document.name] = document.pages
        if document.name in needed:
            read = await engine.pages(document.doc_id, range(1, document.pages + 1), library=library)
            texts[document.name] = [page.text for page in read]
        if document.name in titled:
            outline = await engine.outline(document.doc_id, library=library)
            nodes = (node.section for node in outline.nodes)
            sections[document.name] = [(letters(node.title), node.start_page, node.end_page) for node in nodes]
    return place(listed_questions, pages, texts, sections)


def place(
    questions: Sequence[EvalQuestion],
    pages: Mapping[str, int],
    texts: Mapping[str, Sequence[str]],
    sections: Mapping[str, Sequence[tuple[str, int, int]]] | None = None,
) -> GoldPlacement:
    """Locate gold evidence by the page counts of documents, their page texts and their sections.

    ``texts`` contains the documents with gold texts. ``sections`` contains (title folded by ``letters``, first page,
    last page) of the documents with gold sections.
    """
    read = {name: PageTexts(page_texts) for name, page_texts in texts.items()}
    counts: Counter[str] = Counter()
    problems: list[str] = []

    def placed(question: EvalQuestion, gold: Gold) -> Gold:
        if gold.document not in pages:
            counts["unplaced"] += 1
            problems.append(
                f"{question.id}: {gold.document} is not among the indexed documents, or several have that name"
            )
            return replace(gold, page=None)
        if gold.page is not None:
            if 1 <= gold.page <= pages[gold.document]:
                counts["given"] += 1
                return gold
            counts["unplaced"] += 1
            problems.append(
                f"{question.id}: {gold.document} has no page {gold.page}, its pages are 1 to {pages[gold.document]}"
            )
            return replace(gold, page=None)
        if gold.match == "document":
            counts["document_only"] += 1
            last = pages[gold.document]
            return replace(gold, page=1, also=tuple(range(2, last + 1))) if last else gold
        if gold.match == "place" and not gold.text:
            counts["document_only"] += 1
            return gold
        if gold.match == "section":
            places = _pages_of(letters(gold.section), (sections or {}).get(gold.document, ()))
            how = "exact" if places else "unplaced"
        elif gold.match == "turns":
            places = read[gold.document].turns(gold.turns)
            how = "exact" if places else "unplaced"
        elif gold.match == "half":
            how, places = read[gold.document].halves(gold.text)
        else:
            how, places = read[gold.document].find(gold.text)
        counts[how] += 1
        if not places:
            sought = gold.text or gold.section or f"turns {gold.turns}"
            problems.append(
                f"{question.id}: this text was not found in {gold.document}: {' '.join(sought.split())[:80]}"
            )
            return gold
        return replace(gold, page=places[0], also=places[1:])

    done = tuple(replace(q, evidence=tuple(placed(q, gold) for gold in q.evidence)) for q in questions)
    return GoldPlacement(done, tuple(problems), **counts)


class PageTexts:
    """A document's pages as one sequence of letters and digits, in which gold texts are searched."""

    def __init__(self, pages: Sequence[str]) -> None:
        self._pages = pages
        folded = self._letters = [letters(page) for page in pages]
        self._run = "".join(folded)
        self._starts = [0]
        for page in folded[:-1]:
            self._starts.append(self._starts[-1] + len(page))
        self._words: list[frozenset[str]] | None = None

    def find(self, text: str) -> tuple[str, tuple[int, ...]]:
        """Return how a text was found, and its pages (from 1) at the first match.

        The first value is "exact", "ends" (by beginning and end), "fuzzy" (by words), or "unplaced" with no pages.
        """
        sought = letters(text)
        if not sought:
            return "unplaced", ()
        if len(sought) < _SHORT and (page := self._as_words(sought)):
            return "exact", (page,)
        at = self._run.find(sought)
        if at >= 0:
            return "exact", self._span(at, at + len(sought))
        ends = self._by_ends(sought)
        if ends:
            return "ends", self._span(*ends)
        page = self._by_words(text)
        return ("fuzzy", (page,)) if page else ("unplaced", ())

    def turns(self, numbers: Sequence[int]) -> tuple[int, ...]:
        """Return the pages (from 1) on which any of these turns of a transcript begins, as "[n] "."""
        marks = [f"[{number}] " for number in numbers]
        return tuple(n for n, page in enumerate(self._pages, 1) if any(mark in page for mark in marks))

    def halves(self, text: str) -> tuple[str, tuple[int, ...]]:
        """Return how a text was found, and the pages (from 1) that contain at least half of it.

        The first value is "exact", "fuzzy" or "unplaced". A page contains half of a text if it has at least half of its
        distinct 12-letter sequences. A page must contain a short text completely.
        """
        sought = letters(text)
        if not sought:
            return "unplaced", ()
        whole = tuple(n for n, page in enumerate(self._letters, 1) if sought in page)
        if len(sought) <= _WHOLE:
            return ("exact", whole) if whole else ("unplaced", ())
        grams = {sought[at : at + _GRAM] for at in range(len(sought) - _GRAM + 1)}
        matches = [sum(gram in page for gram in grams) for page in self._letters]
        right = tuple(n for n, count in enumerate(matches, 1) if count >= _HALF * len(grams))
        return ("exact" if whole else "fuzzy" if right else "unplaced"), right

    def _as_words(self, sought: str) -> int | None:
        spread = re.compile(r"(?<!\w)" + r"[\W_]*".join(map(re.escape, sought)) + r"(?!\w)")
        return next((n for n, page in enumerate(self._pages, 1) if spread.search(_folded(page))), None)

    def _span(self, start: int, end: int) -> tuple[int, ...]:
        """Return the pages (from 1) that contain the letters ``start`` to ``end`` (exclusive)."""
        return tuple(range(bisect_right(self._starts, start), bisect_right(self._starts, end - 1) + 1))

    def _by_ends(self, sought: str) -> tuple[int, int] | None:
        if len(sought) < 2 * _END:
            return None
        head, tail = sought[:_END], sought[-_END:]
        at = self._run.find(head)
        while at >= 0:
            end = self._run.find(tail, at + max(_END, len(sought) - _SLACK), at + len(sought) + _SLACK)
            if end >= 0:
                return at, end + _END
            at = self._run.find(head, at + 1)
        return None

    def _by_words(self, text: str) -> int | None:
        """Return the page (from 1) with most of a text's words, None if no page has enough of them.

        Rare words weigh more.
        """
        sought = _word_set(text)
        if len(sought) < _FEWEST:
            return None
        if self._words is None:
            self._words = [_word_set(page) for page in self._pages]
        rarity = {w: log(1 + len(self._words) / (1 + sum(w in page for page in self._words))) for w in sought}
        weights = [sum(rarity[word] for word in sought & page) for page in self._words]
        best = max(range(len(weights)), key=weights.__getitem__)
        return best + 1 if weights[best] >= _ALIKE * sum(rarity.values()) else None


def letters(text: str) -> str:
    """Return the letters and digits of a text, with compatibility forms and case folded."""
    return re.sub(r"[\W_]+", "", _folded(text))


def _word_set(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"\w+", _folded(text)))


def _folded(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold()


def _pages_of(title: str, sections: Iterable[tuple[str, int, int]]) -> tuple[int, ...]:
    """Return the pages of every section with this title, in order."""
    spans = [range(first, last + 1) for name, first, last in sections if name == title]
    return tuple(sorted({page for span in spans for page in span}))


def _is_text(gold: Gold) -> bool:
    return gold.page is None and (bool(gold.text) or gold.match == "turns")


_AT_ONCE = 500  # pages read in one call
_BEGINNING = 40  # letters that locate the beginning of a text


class Corpus:
    """The published documents of the engine's library, by file name.

    Texts and outlines are read when they are first needed, and kept.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._texts: dict[str, list[str]] = {}
        self._sections: dict[str, tuple[Section, ...]] = {}

    @cached_property
    def documents(self) -> dict[str, Document]:
        return {document.name: document for document in run(self._engine.documents.list()) if document.published}

    @cached_property
    def ids(self) -> dict[str, str]:
        """Return the doc_ids by file name."""
        return {name: document.doc_id for name, document in self.documents.items()}

    def texts(self, name: str) -> list[str]:
        """Return the text of every page of a document."""
        if name not in self._texts:
            document = self.documents[name]
            pages = [
                page
                for start in range(1, document.pages + 1, _AT_ONCE)
                for page in run(
                    self._engine.pages(document.doc_id, list(range(start, min(start + _AT_ONCE, document.pages + 1))))
                )
            ]
            self._texts[name] = [page.text for page in pages]
        return self._texts[name]

    def sections(self, name: str) -> tuple[Section, ...]:
        """Return the sections of a document in preorder."""
        if name not in self._sections:
            outline = run(self._engine.outline(self.documents[name].doc_id))
            self._sections[name] = tuple(node.section for node in outline.nodes)
        return self._sections[name]

    def sections_on(self, name: str, page: int) -> tuple[str, ...]:
        """Return the node_ids of the deepest sections on a page, () for an unknown document or page."""
        return tuple(dict.fromkeys(node for _, _, node in self._stretches(name, page)))

    def section_at(self, name: str, page: int, text: str = "") -> str:
        """Return the node_id of the deepest section that contains ``text`` on a page.

        If the text is not found, return that of the section with most of the page.
        """
        cut = self._stretches(name, page)
        if not cut:
            return ""
        if text and len(cut) > 1 and (at := offset(self.texts(name)[page - 1], text)) is not None:
            return next(node for start, _, node in reversed(cut) if start <= at)
        return max(cut, key=lambda stretch: stretch[1] - stretch[0])[2]

    def section_range(self, name: str, node_id: str) -> tuple[int, int]:
        """Return the first and last page of a section."""
        return next((s.start_page, s.end_page) for s in self.sections(name) if s.node_id == node_id)

    def _stretches(self, name: str, page: int) -> list[tuple[int, int, str]]:
        """Return a page split at section boundaries, as (start, end, node_id of the deepest section).

        Start and end are character offsets.
        """
        if name not in self.documents or not 1 <= page <= self.documents[name].pages:
            return []
        return stretches(self.sections(name), page, len(self.texts(name)[page - 1]))


def offset(page: str, text: str) -> int | None:
    """Return the position of a text on a page by its first letters, None if it is not found.

    Spaces and punctuation are ignored.
    """
    at = letters(page).find(letters(text)[:_BEGINNING])
    if at < 0:
        return None
    seen = 0
    for position, character in enumerate(page):
        seen += len(letters(character))
        if seen > at:
            return position
    return None


def stretches(sections: Sequence[Section], page: int, length: int) -> list[tuple[int, int, str]]:
    """Split a page at section boundaries into (start, end, node_id of the deepest section).

    Start and end are character offsets up to ``length``, the length of the page.
    """
    overlapping = [section for section in sections if section.start_page <= page <= section.end_page]
    cuts = {0}
    cuts |= {min(s.anchor, length) for s in overlapping if s.start_page == page}
    cuts |= {min(s.end_anchor, length) for s in overlapping if s.end_page == page and s.end_anchor is not None}
    edges = [*sorted(cuts), length]
    spans = []
    for start, end in pairwise(edges):
        if start == end and length:  # an empty page also belongs to a section
            continue
        holders = [
            s.node_id
            for s in overlapping
            if (s.start_page < page or s.anchor <= start)
            and (s.end_page > page or s.end_anchor is None or start < s.end_anchor)
        ]
        if holders:  # in preorder the last one is the deepest
            spans.append((start, end, holders[-1]))
    return spans
