"""Find the pages to which a question refers: a numbered part, a named section, or a whole document."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import PurePath

import numpy as np

from hybrid_core.text.names import has_cjk
from hybrid_core.text.tokens import cached_hash, is_number, is_year, plain_words, tokenise
from hybrid_core.types.documents import Document
from hybrid_core.types.notes import Note
from hybrid_core.types.scoring import DocumentScoring
from retrievers.candidates.router import CardScores
from retrievers.query.intent import (
    Wanted,
    ends_in_saying,
    may_ask_what_it_says,
    wants_whole,
    without_saying,
    without_saying_chinese,
)
from retrievers.query.question import Question
from retrievers.query.references import Reference, references
from retrievers.query.words import content_words
from retrievers.ranking.walk import DocumentScores, PageRef, PageVisit, gained
from retrievers.references.locations import PlaceFound, Span, locate
from retrievers.references.sections import SectionQuery, named_sections, overview, part_spoken_of, titled_lines
from retrievers.trees.content import Content
from retrievers.trees.contents import PageTexts

# words for parts of documents, things on pages, and kinds of documents
STRUCTURE = frozenset(
    tokenise(
        """
        page slide section chapter note item article clause paragraph part appendix annex exhibit schedule table figure
        chart graph diagram picture image map photo heading title
        deck presentation survey study release filing form book guide manual contract agreement statute law edition
        """
    )
)


def own_names(document: Document) -> frozenset[str]:
    """Return the terms of a document's title, file name and organisation."""
    return frozenset(tokenise(" . ".join((document.title, PurePath(document.name).stem, *document.card.names))))


def naming_terms(document: Document, routing: CardScores) -> frozenset[str]:
    """Return the terms by which a question may name a document.

    These are the terms of its names and card, and the terms that routing matched with cards.
    """
    card = document.card
    terms = tokenise(" . ".join((card.title, *card.tags, *card.symbols, *card.parties, *card.recurring)))
    return own_names(document) | routing.matched_terms.union(terms)


def without(question: Question, routing: CardScores, named: Iterable[Reference] = ()) -> str:
    """Return the question's text without organisation names and without the references in ``named``."""
    text = question.text
    for reference in sorted(named, key=lambda reference: -reference.start):
        text = f"{text[: reference.start]} . {text[reference.end :]}"
    for name in sorted(routing.names, key=len, reverse=True):
        text = re.sub(re.escape(name), " . ", text, flags=re.IGNORECASE)
    return text


def rest(text: str, question: Question, naming: Collection[str]) -> list[str]:
    """Return the terms of a text that say what a question asks for.

    Filler words and terms in ``naming``, which name documents, are left out. So are years, numbers, words such as
    "section", and terms of the document's type or period.
    """
    left_out = question.period_terms.union(*question.type_terms.values(), naming, STRUCTURE)
    return [term for term in content_words(text) if term not in left_out and not is_year(term) and not is_number(term)]


_MOST_DOCUMENTS = 3
_GOING_ON = 4  # maximum pages of a section after its first that are also put first
_BEGINS = 0.15  # bonus of the first page of a section over its later pages, as a share of the best score

Finder = Callable[[DocumentScores], Sequence[PlaceFound]]


@dataclass(frozen=True, slots=True)
class Leads:
    """The pages in a new order, first those to which the question refers.

    ``reasons`` tell why a page was put first; they are empty if the question refers to none. ``settled`` is True if the
    question asks for nothing but these pages. ``spans`` are the referenced character ranges of pages. ``missing`` lists
    references that no document has. ``page_terms`` are the question's other terms for a page that was named by number.
    """

    visits: Sequence[PageVisit]
    pages: Sequence[DocumentScores]
    reasons: Mapping[PageRef, Note]
    settled: bool = False
    spans: Mapping[PageRef, Span] = field(default_factory=dict)
    missing: Sequence[str] = ()
    page_terms: Mapping[PageRef, Collection[str]] = field(default_factory=dict)


def meant(visits: Sequence[PageVisit], pages: Sequence[DocumentScores], scoring: DocumentScoring) -> list[int]:
    """Return the indexes of the documents that the question probably means, at most three.

    Their scores are close to the best score. They are in the order of their best pages.
    """
    best = max((scores.candidate.score for scores in pages), default=0.0)
    close = [doc for doc, scores in enumerate(pages) if scores.candidate.score > best - scoring.close]
    order = {doc: at for at, doc in enumerate(dict.fromkeys(scores.doc for scores in visits))}
    return sorted(close, key=lambda doc: order.get(doc, len(order)))[:_MOST_DOCUMENTS]


def lead(
    name: str,
    visits: Sequence[PageVisit],
    pages: Sequence[DocumentScores],
    docs: Sequence[int],
    find: Finder,
    asks_more: Callable[[DocumentScores], bool],
    one_document: bool = False,
) -> Leads:
    """Put the pages that ``find`` returns for these documents before all others.

    ``docs`` are indexes, the most likely document first. If the question asks for more than the reference
    (``asks_more``), a document's pages are sorted by score. Otherwise they keep their order, with beginnings of
    sections first. With ``one_document`` the search ends with the first document in which pages are found.
    """
    best = max((float(pages[visit.doc].values[visit.page - 1]) for visit in visits), default=0.0)
    gains: dict[PageRef, float] = {}
    reasons: dict[PageRef, Note] = {}
    spans: dict[PageRef, Span] = {}
    for behind, doc in enumerate(docs):
        if one_document and gains:
            break
        places = list(find(pages[doc]))
        more = asks_more(pages[doc])
        going_on = [place for place in places if not place.begins]
        leading = places if more else [place for place in places if place not in going_on[_GOING_ON:]]
        for rank, place in enumerate(leading):
            key = (doc, place.page)
            floor = 2.0 * best + 1.0 - 0.5 * behind
            if more:
                gains[key] = floor + (_BEGINS * best if place.begins else 0.0)
            else:
                own = float(pages[doc].values[place.page - 1]) or pages[doc].parts(place.page)
                gains[key] = floor + place.begins - 0.01 * rank - own
            reasons[key] = place.why
            if place.span:
                spans[key] = place.span
    if not gains:
        return Leads(visits, pages, {})
    reached = {(visit.doc, visit.page) for visit in visits}
    new = [PageVisit(doc, page) for doc, page in gains if (doc, page) not in reached]
    ordered, after = gained([*visits, *new], pages, name, gains)
    return Leads(ordered, after, reasons, len(docs) == 1 and not asks_more(pages[docs[0]]), spans)


def texts_of(texts: PageTexts, scores: DocumentScores) -> Callable[[], Sequence[tuple[str, str]]]:
    """Return a function that returns (label, text) of all pages of a document.

    They are read at its first call and cached.
    """
    cached: list[tuple[str, str]] = []

    def read() -> Sequence[tuple[str, str]]:
        if not cached:
            every = [(scores.content, page) for page in range(1, scores.content.pages + 1)]
            cached.extend((page.label, page.text) for page in texts.of(every))
        return cached

    return read


_SAYING = frozenset(tokenise("announce contain cover present deal argue draw state main key whole brief short content"))
_RESULTS = frozenset(tokenise("results performance"))  # words for which a summary of a report is an answer
_CAPITAL = re.compile(r"\b[A-ZÀ-ÖØ-Þ][\w'’-]*")
_THE = re.compile(r"(?<= )(?:the|this|that|our|my|der|die|das|den|dem|le|la|les|el|los|las)(?=((?: \w+){2,5}))")
_FIRST, _FULL = 3, 100  # pages that introduce a document: up to the first with this number of words


def meant_places(
    question: Question,
    routing: CardScores,
    visits: Sequence[PageVisit],
    pages: Sequence[DocumentScores],
    texts: PageTexts,
    scoring: DocumentScoring,
    alone: bool = False,
) -> Leads:
    """Put the pages to which a question refers first, with reasons.

    ``alone`` is True if only one document is searched.
    """
    leads = _leads_of(question, routing, visits, pages, texts, scoring, alone)
    if leads.settled and len(pages) > 1:
        document = leads.pages[leads.visits[0].doc].candidate.document
        return replace(leads, settled=not own_names(document).isdisjoint(question.terms))
    return leads


def _leads_of(
    question: Question,
    routing: CardScores,
    visits: Sequence[PageVisit],
    pages: Sequence[DocumentScores],
    texts: PageTexts,
    scoring: DocumentScoring,
    alone: bool,
) -> Leads:
    docs = meant(visits, pages, scoring)
    if named := references(question.text):
        return _by_number(named, question, routing, visits, pages, docs, texts, alone)
    if not part_spoken_of(question.text):
        whole = wants_whole(question.text)
        leads = _by_role(*whole, question, routing, visits, pages, docs) if whole else Leads(visits, pages, {})
        if not leads.reasons and may_ask_what_it_says(question.text):
            leads = _by_silence(whole[0] if whole else "summary", question, routing, visits, pages, docs)
        if leads.reasons:
            return leads
    return _by_name(question, routing, visits, pages, docs, texts)


def _by_number(
    named: Sequence[Reference],
    question: Question,
    routing: CardScores,
    visits: Sequence[PageVisit],
    pages: Sequence[DocumentScores],
    docs: Sequence[int],
    texts: PageTexts,
    alone: bool,
) -> Leads:
    text, located = without(question, routing, named), set[Reference]()

    def places(scores: DocumentScores) -> Sequence[PlaceFound]:
        read = texts_of(texts, scores)
        by_reference = {reference: locate(reference, scores.content, read) for reference in named}
        located.update(reference for reference, places in by_reference.items() if places)
        return [place for places in by_reference.values() for place in places]

    def asked_beside(scores: DocumentScores) -> Sequence[str]:
        return rest(text, question, naming_terms(scores.candidate.document, routing))

    leads = lead("reference", visits, pages, docs, places, lambda scores: bool(asked_beside(scores)))
    if any(reference.kind == "page" for reference in named):
        leads = replace(leads, page_terms={place: asked_beside(pages[place[0]]) for place in leads.reasons})
    if not docs or not (alone or any(_is_named(pages[doc].candidate.document, question) for doc in docs)):
        return leads  # no page matches, or the question does not identify the document
    missing = [reference.written for reference in named if reference not in located and not is_year(reference.number)]
    return replace(leads, missing=missing, settled=leads.settled and not missing) if missing else leads


def _by_role(
    kind: Wanted,
    left: str,
    question: Question,
    routing: CardScores,
    visits: Sequence[PageVisit],
    pages: Sequence[DocumentScores],
    docs: Sequence[int],
) -> Leads:
    """Put a document's overview pages first if the question asks for nothing but an overview.

    ``left`` is the question without the words that ask for an overview.
    """
    text = without(replace(question, text=left), routing)

    def means_whole(document: Document, content: Content) -> bool:
        others = rest(text, question, naming_terms(document, routing))
        return _RESULTS.issuperset(_elsewhere(others, content))

    return _whole(kind, means_whole, visits, pages, docs)


def _by_silence(
    kind: Wanted,
    question: Question,
    routing: CardScores,
    visits: Sequence[PageVisit],
    pages: Sequence[DocumentScores],
    docs: Sequence[int],
) -> Leads:
    """Put a document's overview pages first if the question asks what the document says.

    The question must name nothing inside the document. An example is "What does the survey say?".
    """
    text = without_saying_chinese(without(question, routing))
    loosely = ends_in_saying(question.text)

    def means_whole(document: Document, content: Content) -> bool:
        others = without_saying(rest(text, question, naming_terms(document, routing)))
        if not _is_named(document, question):  # "What does this report cover?" is clear if there is only one document
            return len(pages) == 1 and own_names(document).isdisjoint(question.terms) and not others
        return not (_elsewhere(others, content) if loosely else others)

    return _whole(kind, means_whole, visits, pages, docs)


def _whole(
    kind: Wanted,
    means_whole: Callable[[Document, Content], bool],
    visits: Sequence[PageVisit],
    pages: Sequence[DocumentScores],
    docs: Sequence[int],
) -> Leads:
    """Find the first document for which ``means_whole`` is true, and put its overview pages first."""

    def places(scores: DocumentScores) -> Sequence[PlaceFound]:
        document, content = scores.candidate.document, scores.content
        return overview(kind, document, content) if means_whole(document, content) else []

    return lead("overview", visits, pages, docs, places, lambda _: False, one_document=True)


def _is_named(document: Document, question: Question) -> bool:
    """Return whether a question names a document, and does not only share words with its name.

    A shared word must begin with a capital or be Chinese, or two words must be adjacent ("the harbour survey").
    """
    names = own_names(document)
    if names.isdisjoint(question.terms):
        return False
    if has_cjk(question.text) or any(not names.isdisjoint(tokenise(word)) for word in _CAPITAL.findall(question.text)):
        return True
    spoken_pairs = {pair for match in _THE.finditer(plain_words(question.text)) for pair in pairwise(match[1].split())}
    return not spoken_pairs.isdisjoint(pairwise(plain_words(document.title).split()))


def _by_name(
    question: Question,
    routing: CardScores,
    visits: Sequence[PageVisit],
    pages: Sequence[DocumentScores],
    docs: Sequence[int],
    texts: PageTexts,
) -> Leads:
    """Put the sections first whose titles the question names, in the most likely document."""
    part, terms, text = part_spoken_of(question.text), frozenset(tokenise(question.text)), plain_words(question.text)

    def places(scores: DocumentScores) -> Sequence[PlaceFound]:
        document = scores.candidate.document
        telling = rest(question.text, question, naming_terms(document, routing))
        needed = frozenset(_elsewhere(telling, scores.content))
        section_query = SectionQuery(text, terms, frozenset(telling), needed, own_names(document), part)
        worth = scores.values.tolist()

        def read(numbers: Sequence[int]) -> list[str]:
            return [page.text for page in texts.of([(scores.content, number) for number in numbers])]

        sections = named_sections(section_query, scores.content, lambda page: worth[page - 1])
        if sections and sections[0].whole:
            return sections
        lines = titled_lines(section_query, scores.content, lambda page: worth[page - 1], read)
        shown = {place.page for place in lines}
        return [*lines, *(place for place in sections if place.page not in shown)]

    return lead("named section", visits, pages, docs[:1], places, lambda _: False)


def _elsewhere(terms: Sequence[str], content: Content) -> list[str]:
    """Return the terms that are missing on the document's first pages.

    Such terms of a question ask for something inside the document. Other terms may be part of its name.
    """
    occurrences = content.body.occurrences([cached_hash(term) for term in terms])
    full = np.flatnonzero(content.body.lengths[:_FIRST] >= _FULL)
    first = set(occurrences.terms[occurrences.pages <= (full[0] if len(full) else _FIRST - 1)].tolist())
    return [term for at, term in enumerate(terms) if at not in first and term not in _SAYING]
