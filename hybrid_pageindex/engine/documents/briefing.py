"""Describe a document or library: its parts, amounts that it states, and questions to start with.

Rules write the description from the index; a model can improve the wording. Each question is offered only if a search
for it finds the page that it was made from.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from math import log10
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.store.catalog.snapshot import Snapshot
from hybrid_core.text.names import has_cjk
from hybrid_core.text.tokens import STOP_WORDS
from hybrid_core.types.documents import Document, Page, Section
from hybrid_core.types.results import SearchResult
from hybrid_pageindex.engine.documents import reading

if TYPE_CHECKING:
    from hybrid_core.llm.client.chat_model import ChatModel


_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z])|(?<=[。！？])")
_AMOUNT = re.compile(
    r"[$€£¥]\s?\d[\d.,]*(?:\s(?:thousand|million|billion|trillion))?"
    r"|\d[\d.,]*\s?(?:%|percent|per cent|thousand|million|billion|trillion|[一-鿿]?元|万|亿|％)"
)
_WORD = re.compile(r"[^\W\d_]{3,}")
_NUMBER = re.compile(r"\d[\d.,]*")
_STATES = re.compile(
    r"^(?P<subject>(?:(?:The|Our|Total|Net) )?[A-Z]?[\w'’&-]*(?: [\w'’&.,-]+){0,10}?) "
    r"(?P<verb>was|were|is|are|totalled|totaled|reached|amounted to)(?: (?:about|approximately|roughly|nearly))? "
    r"(?P<amount>[$€£¥]?\d)"
)
_POINTS_BACK = re.compile(
    r"^(?:it|its|this|that|these|those|they|their|there|he|she|we|i|which|what|both|each)\b", re.I
)
_SHORTEST, _LONGEST = 24, 220  # characters of a sentence
_NUMBERS = 6  # maximum numbers in a sentence; table rows have more
_SUBJECT = 80  # maximum characters of a subject


@dataclass(frozen=True, slots=True)
class Figure:
    """A sentence on a page that states an amount."""

    text: str
    page: int
    question: str = ""  # the question that it answers, "" if none can be formed


def figures(pages: Sequence[Page], limit: int) -> list[Figure]:
    """Return at most ``limit`` sentences that state an amount, one per page, in page order.

    Prefer short sentences, and sentences about the most frequent subjects of the pages.
    """
    spoken = Counter(word for page in pages for word in _lowercase_words(page.text))
    best: dict[int, tuple[float, Figure]] = {}
    for page in pages:
        for sentence in _sentences(page.text):
            if (weight := _plainness(sentence)) > 0:
                candidate = Figure(sentence, page.number, question_of(sentence))
                weight += _centrality(candidate.question or sentence, spoken) + bool(candidate.question)
                if page.number not in best or weight > best[page.number][0]:
                    best[page.number] = (weight, candidate)
    chosen = sorted(best.values(), key=lambda one: -one[0])[:limit]
    return sorted((figure for _, figure in chosen), key=lambda one: one.page)


def _lowercase_words(text: str) -> list[str]:
    return _WORD.findall(text.lower())


def _centrality(text: str, spoken: Counter[str]) -> float:
    """Return the mean log frequency on the pages of a text's words, 0 or more.

    ``spoken`` counts the words of the pages.
    """
    words = set(_lowercase_words(text)) - STOP_WORDS
    return sum(log10(1 + spoken[word]) for word in words) / len(words) if words else 0.0


def question_of(sentence: str) -> str:
    """Return the question answered by a sentence such as "Net sales in 2025 were $418.2 million."

    Return "" if no question can be formed.
    """
    stated = _STATES.match(sentence)
    if not stated or len(stated["subject"]) > _SUBJECT or _POINTS_BACK.match(stated["subject"]):
        return ""
    first, _, predicate = stated["subject"].partition(" ")
    plain = (
        first.lower() if first.isalpha() and not first.isupper() and predicate and not predicate[0].isupper() else first
    )
    verb = stated["verb"] if stated["verb"] in ("were", "is", "are") else "was"
    return f"What {verb} {f'{plain} {predicate}'.strip()}?"


def _sentences(text: str) -> Iterator[str]:
    for paragraph in re.split(r"\n\s*\n", text):
        joined = " ".join(paragraph.split())
        for sentence in _SENTENCE.split(joined):
            if len(sentence) * (2 if has_cjk(sentence) else 1) >= _SHORTEST and len(sentence) <= _LONGEST:
                yield sentence.strip()


def _plainness(sentence: str) -> float:
    """Return a weight for how plainly a sentence states an amount: 0 if unsuitable, higher for shorter sentences."""
    if sentence[-1:] not in ".。" or len(_NUMBER.findall(sentence)) > _NUMBERS or not _AMOUNT.search(sentence):
        return 0.0
    if not (sentence[0].isupper() or has_cjk(sentence[0])):
        return 0.0
    return 1.0 + 1.0 / (1 + len(sentence) / 80)


_PARTS = 12  # maximum sections of a document, or documents of a library
_FIGURES, _QUESTIONS = 4, 3
_MAX_PAGES_READ, _MAX_PAGES_SKIMMED = (
    120,
    40,
)  # pages that are read for figures, of one document and of each of a library's
_MAX_SEARCHES = 12  # maximum questions to search for
_DEEP_ENOUGH = 3  # best pages of a search among which the page of the question must be
_NEWEST = 6  # newest documents of a library from which questions are made
_NUMBERING = re.compile(
    r"^(?:(?:item|note|section|chapter|part|article|annex|appendix)\s+[\dA-Z]{1,4}[.:)]?|[\dIVX]+(?:\.\d+)*[.)]?"
    r"|第[一二三四五六七八九十百零〇\d]+[章节条编]|[一二三四五六七八九十]+、)\s*[-—–:.]?\s*",
    re.I,
)
_FURNITURE = re.compile(
    r"^(?:table of )?contents$|^index$|^signatures?$|^exhibits?\b|^cover\b|^preface$|^目\s*录$", re.I
)

Search = Callable[[str, Sequence[str] | None], SearchResult]
"""A fast search for a question, in these documents or in the whole library."""


@dataclass(frozen=True, slots=True)
class BriefingPart:
    """A top-level section of a document, or a document of a library with its description."""

    title: str
    doc_id: str
    start_page: int
    end_page: int
    summary: str = ""


@dataclass(frozen=True, slots=True)
class BriefingFigure:
    text: str
    doc_id: str
    doc_name: str
    page: int


@dataclass(frozen=True, slots=True)
class StartingQuestion:
    """A question to start with. A search confirmed that ``page`` answers it."""

    question: str
    doc_id: str
    doc_name: str
    page: int


@dataclass(frozen=True, slots=True)
class Briefing:
    """The description of a document or library.

    ``kinds`` counts documents by type, most frequent first. ``written_by`` names the model, "" if rules wrote it.
    """

    title: str
    description: str
    documents: int
    pages: int
    kinds: tuple[tuple[str, int], ...] = ()
    years: tuple[int, ...] = ()
    names: tuple[str, ...] = ()
    parts: tuple[BriefingPart, ...] = ()
    figures: tuple[BriefingFigure, ...] = ()
    questions: tuple[StartingQuestion, ...] = ()
    written_by: str = ""

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A question that may be suggested if a search finds its answer on ``pages`` of ``document``.

    With ``pages`` None, any page of the library may answer it.
    """

    question: str
    document: Document
    pages: range | None = None


def brief_document(catalog: Catalog, library: str, name: str, search: Search, model: ChatModel | None) -> Briefing:
    """Return the briefing (description and starting questions) of a document.

    ``model`` improves the wording; with None only rules write it. Raise NotFoundError if the document does not exist,
    ChatError if the model fails.
    """
    with catalog.snapshot() as snapshot:
        document = reading.find_document(snapshot, library, name)
        sections = snapshot.sections(document.content_id)
        stated = _read_figures(snapshot, document, _MAX_PAGES_READ)
    card = document.card
    briefing = Briefing(
        document.title or document.name, document.description, 1, document.pages,
        ((card.type, 1),) if card.type else (), card.years[:3], tuple(_organisation(document)),
        tuple(_part(document, section) for section in _top(sections)[:_PARTS]),
        tuple(BriefingFigure(figure.text, document.doc_id, document.name, figure.page) for figure in stated),
    )  # fmt: skip
    offered = list(_candidates(document, stated, sections))
    if model is not None:
        briefing, questions = _rewrite_with_model(briefing, model)
        offered = [*(_Candidate(question, document) for question in questions), *offered]
    only = [document.doc_id]
    return replace(briefing, questions=tuple(_answerable(offered, lambda question: search(question, only))))


def brief_library(catalog: Catalog, library: str, search: Search, model: ChatModel | None) -> Briefing:
    """Return the briefing (description and starting questions) of a library.

    ``model`` improves the wording; with None only rules write it. Raise NotFoundError if the library does not exist,
    ChatError if the model fails.
    """
    with catalog.snapshot() as snapshot:
        documents = [document for document in reading.library_documents(snapshot, library) if document.published]
        documents.sort(key=lambda document: (document.indexed_at, document.path), reverse=True)
        newest = documents[:_NEWEST]
        of_each = [
            list(
                _candidates(
                    document,
                    _read_figures(snapshot, document, _MAX_PAGES_SKIMMED),
                    snapshot.sections(document.content_id),
                )
            )
            for document in newest
        ]
    cards = [document.card for document in documents]
    kinds = Counter(card.type for card in cards if card.type)
    years = sorted({year for card in cards for year in card.years[:1]})
    names = Counter(name for document in documents for name in _organisation(document))
    briefing = Briefing(
        library, "", len(documents), sum(document.pages for document in documents), tuple(kinds.most_common(5)),
        tuple(years), tuple(name for name, _ in names.most_common(8)),
        tuple(
            BriefingPart(row.title or row.name, row.doc_id, 1, row.pages, row.description)
            for row in documents[:_PARTS]
        ),
    )  # fmt: skip
    offered = [
        each[depth] for depth in range(max(map(len, of_each), default=0)) for each in of_each if depth < len(each)
    ]
    if model is not None and documents:
        briefing, questions = _rewrite_with_model(briefing, model)
        offered = [*(_Candidate(question, newest[0]) for question in questions), *offered]
    return replace(briefing, questions=tuple(_answerable(offered, lambda question: search(question, None))))


def _read_figures(snapshot: Snapshot, document: Document, limit: int) -> list[Figure]:
    return figures(snapshot.pages(document.content_id, range(1, min(document.pages, limit) + 1)), _FIGURES)


def _organisation(document: Document) -> Sequence[str]:
    """Return the first organisation on a document's metadata card, in a list, [] if there is none.

    Leave out names with which the file name begins.
    """
    return [name for name in document.card.organisations if not document.name.startswith(name)][:1]


def _top(sections: Sequence[Section]) -> list[Section]:
    """Return the sections of the highest level of the tree that has more than one section."""
    levels = Counter(section.level for section in sections if not section.synthetic)
    level = min((level for level, count in levels.items() if count > 1), default=1)
    return [section for section in sections if section.level == level and not section.synthetic]


def _part(document: Document, section: Section) -> BriefingPart:
    return BriefingPart(section.title, document.doc_id, section.start_page, section.end_page, section.summary)


def _candidates(document: Document, stated: Sequence[Figure], sections: Sequence[Section]) -> Iterator[_Candidate]:
    """Yield candidate questions, alternately from the document's figures and from its section titles."""
    counted = [
        _Candidate(figure.question, document, range(figure.page, figure.page + 1))
        for figure in stated
        if figure.question
    ]
    cover = 1 if document.pages > _DEEP_ENOUGH else 0
    titles = [
        _Candidate(_about(title), document, range(section.start_page, section.end_page + 1))
        for section in sections
        if (title := _telling(section)) and section.start_page > cover and title not in document.title
    ]
    titles = titles[:: max(1, len(titles) // _MAX_SEARCHES)]  # spread over the document
    for at in range(max(len(counted), len(titles))):
        yield from counted[at : at + 1]
        yield from titles[at : at + 1]


def _telling(section: Section) -> str:
    """Return a section's title without its number.

    Return "" for a title that does not describe the content, such as "Introduction".
    """
    title = _NUMBERING.sub("", section.title).strip(" :.—–-")
    words = len(title) if has_cjk(title) else len(title.split()) * 2
    eligible = section.summary and not section.synthetic and any(map(str.isalpha, title))
    return title if eligible and 3 < words < 24 and not _FURNITURE.match(title) else ""


def _about(title: str) -> str:
    return f"{title}有哪些内容？" if has_cjk(title) else f"What is said about {title}?"


def _answerable(offered: Iterable[_Candidate], search: Callable[[str], SearchResult]) -> Iterator[StartingQuestion]:
    """Yield the first few candidate questions that ``search`` answers with the pages they were made from."""
    seen: set[str] = set()
    count = 0
    for tried, question in enumerate(offered):
        if tried == _MAX_SEARCHES or count == _QUESTIONS:
            return
        if question.question.casefold() in seen:
            continue
        seen.add(question.question.casefold())
        result = search(question.question)
        if result.evidence.level != "strong":
            continue
        for page in result.results[:_DEEP_ENOUGH]:
            if question.pages is None or (page.doc_id == question.document.doc_id and page.page in question.pages):
                count += 1
                yield StartingQuestion(question.question, page.doc_id, page.doc_name, page.page)
                break


class _ModelBriefing(BaseModel):
    description: str
    questions: list[str]


def _rewrite_with_model(briefing: Briefing, model: ChatModel) -> tuple[Briefing, list[str]]:
    """Return the briefing in a model's words, and a list of questions that the model suggests.

    Raise ChatError if the model fails.
    """
    from hybrid_core.llm.prompts import prompt

    written = prompt("briefing")
    parts = "\n".join(
        f"- {part.title} (pages {part.start_page}-{part.end_page}): {part.summary}" for part in briefing.parts
    )
    values = {
        "title": briefing.title, "description": briefing.description, "parts": parts,
        "figures": "\n".join(f"- {figure.text}" for figure in briefing.figures),
    }  # fmt: skip
    reply = model.ask(written.messages(values), _ModelBriefing, prompt=written.id, max_tokens=600)
    if reply.value is None or not reply.value.description.strip():
        return briefing, []
    rewritten = replace(briefing, description=reply.value.description.strip(), written_by=model.name)
    return rewritten, [question.strip() for question in reply.value.questions if question.strip()][: 2 * _QUESTIONS]
