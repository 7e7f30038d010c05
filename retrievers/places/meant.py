"""What a question means beside its words: a place by its number, a section by its name, or what a document is about."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from hybrid_core.text.names import has_cjk
from hybrid_core.text.plain_words import plain_words
from hybrid_core.text.tokens import cached_hash, is_year, tokenise
from hybrid_core.types.documents import Document
from hybrid_core.types.scoring import DocumentScoring
from retrievers.documents.content import Content
from retrievers.documents.route import Routing
from retrievers.pages.page_texts import PageTexts
from retrievers.pages.scores import PageScores, PageVisit
from retrievers.places.lead import Leads, lead, meant, texts_of
from retrievers.places.located import PlaceFound, locate
from retrievers.places.named_sections import SectionAsked, named_sections, part_spoken_of, titled_lines
from retrievers.places.rest import naming_terms, own_names, rest, without
from retrievers.query.about import (
    Wanted,
    ends_in_saying,
    may_ask_what_it_says,
    wants_whole,
    without_saying,
    without_saying_chinese,
)
from retrievers.query.question import Question
from retrievers.query.references import Reference, references

_SAYING = frozenset(tokenise("announce contain cover present deal argue draw state main key whole brief short content"))
_RESULTS = frozenset(tokenise("results performance"))  # what a summary of a report is of
_CAPITAL = re.compile(r"\b[A-ZÀ-ÖØ-Þ][\w'’-]*")
_THE = re.compile(r"(?<= )(?:the|this|that|our|my|der|die|das|den|dem|le|la|les|el|los|las)(?=((?: \w+){2,5}))")
_FIRST, _FULL = 3, 100  # pages on which a document says what it is: up to the first with so many words


def meant_places(
    question: Question,
    routing: Routing,
    visits: Sequence[PageVisit],
    pages: Sequence[PageScores],
    texts: PageTexts,
    scoring: DocumentScoring,
    alone: bool = False,
) -> Leads:
    """The pages with those first that the question means, and why they are meant. ``alone``: there is no document but
    one."""
    found = _found(question, routing, visits, pages, texts, scoring, alone)
    if found.settled and len(pages) > 1:
        document = found.pages[found.visits[0].doc].candidate.document
        return replace(found, settled=not own_names(document).isdisjoint(question.terms))
    return found


def _found(
    question: Question,
    routing: Routing,
    visits: Sequence[PageVisit],
    pages: Sequence[PageScores],
    texts: PageTexts,
    scoring: DocumentScoring,
    alone: bool,
) -> Leads:
    docs = meant(visits, pages, scoring)
    if named := references(question.text):
        return _by_number(named, question, routing, visits, pages, docs, texts, alone)
    if not part_spoken_of(question.text):
        whole = wants_whole(question.text)
        found = _by_role(*whole, question, routing, visits, pages, docs) if whole else Leads(visits, pages, {})
        if not found.reasons and may_ask_what_it_says(question.text):
            found = _by_silence(whole[0] if whole else "summary", question, routing, visits, pages, docs)
        if found.reasons:
            return found
    return _by_name(question, routing, visits, pages, docs, texts)


def _by_number(
    named: Sequence[Reference],
    question: Question,
    routing: Routing,
    visits: Sequence[PageVisit],
    pages: Sequence[PageScores],
    docs: Sequence[int],
    texts: PageTexts,
    alone: bool,
) -> Leads:
    text, there = without(question, routing, named), set[Reference]()

    def places(scores: PageScores) -> Sequence[PlaceFound]:
        read = texts_of(texts, scores)
        found = {one: locate(one, scores.content, read) for one in named}
        there.update(one for one, places in found.items() if places)
        return [place for places in found.values() for place in places]

    def beside(scores: PageScores) -> Sequence[str]:
        return rest(text, question, naming_terms(scores.candidate.document, routing))

    found = lead("reference", visits, pages, docs, places, lambda scores: bool(beside(scores)))
    if any(one.kind == "page" for one in named):
        found = replace(found, beside={place: beside(pages[place[0]]) for place in found.reasons})
    if not alone and not any(_is_named(pages[doc].candidate.document, question) for doc in docs):
        return found  # of which document the place would be is not said
    missing = [one.written for one in named if one not in there and not is_year(one.number)]
    return replace(found, missing=missing, settled=found.settled and not missing) if missing else found


def _by_role(
    wanted: Wanted,
    left: str,
    question: Question,
    routing: Routing,
    visits: Sequence[PageVisit],
    pages: Sequence[PageScores],
    docs: Sequence[int],
) -> Leads:
    """What a document is about, where the question names one and asks for nothing else."""
    text = without(replace(question, text=left), routing)

    def means_whole(document: Document, content: Content) -> bool:
        others = rest(text, question, naming_terms(document, routing))
        return _RESULTS.issuperset(_elsewhere(others, content))

    return _whole(wanted, means_whole, visits, pages, docs)


def _by_silence(
    wanted: Wanted,
    question: Question,
    routing: Routing,
    visits: Sequence[PageVisit],
    pages: Sequence[PageScores],
    docs: Sequence[int],
) -> Leads:
    """What a document says, where the question names one and nothing in it."""
    text = without_saying_chinese(without(question, routing))
    loosely = ends_in_saying(question.text)

    def means_whole(document: Document, content: Content) -> bool:
        others = without_saying(rest(text, question, naming_terms(document, routing)))
        if not _is_named(document, question):  # «What does this report cover?»: there is but one
            return len(pages) == 1 and own_names(document).isdisjoint(question.terms) and not others
        return not (_elsewhere(others, content) if loosely else others)

    return _whole(wanted, means_whole, visits, pages, docs)


def _whole(
    wanted: Wanted,
    means_whole: Callable[[Document, Content], bool],
    visits: Sequence[PageVisit],
    pages: Sequence[PageScores],
    docs: Sequence[int],
) -> Leads:
    """What speaks for a whole document, where the question means one."""
    from retrievers.places.overview import overview

    def places(scores: PageScores) -> Sequence[PlaceFound]:
        document, content = scores.candidate.document, scores.content
        return overview(wanted, document, content) if means_whole(document, content) else []

    return lead("overview", visits, pages, docs, places, lambda _: False, one_document=True)


def _is_named(document: Document, question: Question) -> bool:
    """Whether a question names a document rather than has words in common with its name: a word of the name begins with
    a capital or is Chinese, or two stand together («the harbour survey»)."""
    names = own_names(document)
    if names.isdisjoint(question.terms):
        return False
    if has_cjk(question.text) or any(not names.isdisjoint(tokenise(word)) for word in _CAPITAL.findall(question.text)):
        return True
    said = {pair for match in _THE.finditer(plain_words(question.text)) for pair in pairwise(match[1].split())}
    return not said.isdisjoint(pairwise(plain_words(document.title).split()))


def _by_name(
    question: Question,
    routing: Routing,
    visits: Sequence[PageVisit],
    pages: Sequence[PageScores],
    docs: Sequence[int],
    texts: PageTexts,
) -> Leads:
    """A section by its title, in the document that the question most likely means."""
    part, terms, text = part_spoken_of(question.text), frozenset(tokenise(question.text)), plain_words(question.text)

    def places(scores: PageScores) -> Sequence[PlaceFound]:
        document = scores.candidate.document
        telling = rest(question.text, question, naming_terms(document, routing))
        needed = frozenset(_elsewhere(telling, scores.content))
        asked = SectionAsked(text, terms, frozenset(telling), needed, own_names(document), part)
        worth = scores.values.tolist()

        def read(numbers: Sequence[int]) -> list[str]:
            return [page.text for page in texts.of([(scores.content, number) for number in numbers])]

        sections = named_sections(asked, scores.content, lambda page: worth[page - 1])
        if sections and sections[0].whole:
            return sections
        lines = titled_lines(asked, scores.content, lambda page: worth[page - 1], read)
        shown = {place.page for place in lines}
        return [*lines, *(place for place in sections if place.page not in shown)]

    return lead("named section", visits, pages, docs[:1], places, lambda _: False)


def _elsewhere(terms: Sequence[str], content: Content) -> list[str]:
    """The terms that the document's first pages do not hold: they ask for something in it, the others may name it."""
    held = content.body.occurrences([cached_hash(term) for term in terms])
    full = np.flatnonzero(content.body.lengths[:_FIRST] >= _FULL)
    first = set(held.terms[held.pages <= (full[0] if len(full) else _FIRST - 1)].tolist())
    return [term for at, term in enumerate(terms) if at not in first and term not in _SAYING]
