"""What a document or a library is, in one look: its parts, figures that it states, and questions to begin with.

It is made by rules from what the index holds; a model, asked for by name, says it better. A question is offered only
where a search finds the page that it was made from.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.store.catalog.snapshot import Snapshot
from hybrid_core.text.names import has_cjk
from hybrid_core.types.documents import Document, Section
from hybrid_core.types.results import SearchResult
from hybrid_pageindex.services import reading
from hybrid_pageindex.services.figures import Figure, figures

if TYPE_CHECKING:
    from hybrid_core.llm.client.chat_model import ChatModel

_PARTS = 12  # sections of a document, documents of a library
_FIGURES, _QUESTIONS = 4, 3
_READ, _SKIMMED = 120, 40  # pages that are read for figures, of one document and of each of a library's
_TRIED = 12  # questions that are searched for
_DEEP_ENOUGH = 3  # pages of a result among which the right one stands
_NEWEST = 6  # documents of a library that questions are made from
_NUMBERING = re.compile(
    r"^(?:(?:item|note|section|chapter|part|article|annex|appendix)\s+[\dA-Z]{1,4}[.:)]?|[\dIVX]+(?:\.\d+)*[.)]?"
    r"|第[一二三四五六七八九十百零〇\d]+[章节条编]|[一二三四五六七八九十]+、)\s*[-—–:.]?\s*",
    re.I,
)
_FURNITURE = re.compile(
    r"^(?:table of )?contents$|^index$|^signatures?$|^exhibits?\b|^cover\b|^preface$|^目\s*录$", re.I
)

Search = Callable[[str, Sequence[str] | None], SearchResult]
"""A quick search for a question, of these documents or all of the library."""


@dataclass(frozen=True, slots=True)
class BriefingPart:
    """A top section of a document, or a document of a library with what it is."""

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
    """Answered on ``page``, as a search found."""

    question: str
    doc_id: str
    doc_name: str
    page: int


@dataclass(frozen=True, slots=True)
class Briefing:
    """``kinds`` counts documents by their types, the most frequent first; ``written_by`` is "" for rules."""

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
    """A question and where its answer is to be found: pages of a document; none for anywhere."""

    question: str
    document: Document
    pages: range | None = None


def brief_document(catalog: Catalog, library: str, name: str, search: Search, model: ChatModel | None) -> Briefing:
    """Raises NotFoundError for no such document, ChatError where the model fails."""
    with catalog.snapshot() as snapshot:
        document = reading.one(snapshot, library, name)
        sections = snapshot.sections(document.content_id)
        stated = _figures(snapshot, document, _READ)
    card = document.card
    made = Briefing(
        document.title or document.name, document.description, 1, document.pages,
        ((card.type, 1),) if card.type else (), card.years[:3], tuple(_organisation(document)),
        tuple(_part(document, section) for section in _top(sections)[:_PARTS]),
        tuple(BriefingFigure(one.text, document.doc_id, document.name, one.page) for one in stated),
    )  # fmt: skip
    offered = list(_candidates(document, stated, sections))
    if model is not None:
        made, asked = _written(made, model)
        offered = [*(_Candidate(question, document) for question in asked), *offered]
    only = [document.doc_id]
    return replace(made, questions=tuple(_answerable(offered, lambda question: search(question, only))))


def brief_library(catalog: Catalog, library: str, search: Search, model: ChatModel | None) -> Briefing:
    """Raises NotFoundError for no such library, ChatError where the model fails."""
    with catalog.snapshot() as snapshot:
        documents = [document for document in reading.known(snapshot, library) if document.published]
        documents.sort(key=lambda document: (document.indexed_at, document.path), reverse=True)
        newest = documents[:_NEWEST]
        of_each = [
            list(_candidates(document, _figures(snapshot, document, _SKIMMED), snapshot.sections(document.content_id)))
            for document in newest
        ]
    cards = [document.card for document in documents]
    kinds = Counter(card.type for card in cards if card.type)
    years = sorted({year for card in cards for year in card.years[:1]})
    names = Counter(name for document in documents for name in _organisation(document))
    made = Briefing(
        library, "", len(documents), sum(document.pages for document in documents), tuple(kinds.most_common(5)),
        tuple(years), tuple(name for name, _ in names.most_common(8)),
        tuple(
            BriefingPart(one.title or one.name, one.doc_id, 1, one.pages, one.description)
            for one in documents[:_PARTS]
        ),
    )  # fmt: skip
    offered = [
        each[depth] for depth in range(max(map(len, of_each), default=0)) for each in of_each if depth < len(each)
    ]
    if model is not None and documents:
        made, asked = _written(made, model)
        offered = [*(_Candidate(question, newest[0]) for question in asked), *offered]
    return replace(made, questions=tuple(_answerable(offered, lambda question: search(question, None))))


def _figures(snapshot: Snapshot, document: Document, most: int) -> list[Figure]:
    return figures(snapshot.pages(document.content_id, range(1, min(document.pages, most) + 1)), _FIGURES)


def _organisation(document: Document) -> Sequence[str]:
    """Its best name that is more than the name of its file."""
    return [name for name in document.card.names if not document.name.startswith(name)][:1]


def _top(sections: Sequence[Section]) -> list[Section]:
    """Those of the highest level that has more than one."""
    levels = Counter(section.level for section in sections if not section.synthetic)
    level = min((level for level, count in levels.items() if count > 1), default=1)
    return [section for section in sections if section.level == level and not section.synthetic]


def _part(document: Document, section: Section) -> BriefingPart:
    return BriefingPart(section.title, document.doc_id, section.start_page, section.end_page, section.summary)


def _candidates(document: Document, stated: Sequence[Figure], sections: Sequence[Section]) -> Iterator[_Candidate]:
    """What its figures answer and what its sections tell, in turn."""
    counted = [
        _Candidate(figure.question, document, range(figure.page, figure.page + 1))
        for figure in stated
        if figure.question
    ]
    cover = 1 if document.pages > _DEEP_ENOUGH else 0
    told = [
        _Candidate(_about(title), document, range(section.start_page, section.end_page + 1))
        for section in sections
        if (title := _telling(section)) and section.start_page > cover and title not in document.title
    ]
    told = told[:: max(1, len(told) // _TRIED)]  # from all over the document
    for at in range(max(len(counted), len(told))):
        yield from counted[at : at + 1]
        yield from told[at : at + 1]


def _telling(section: Section) -> str:
    """A section's title without its number; "" where it tells nothing of what is in it."""
    title = _NUMBERING.sub("", section.title).strip(" :.—–-")
    words = len(title) if has_cjk(title) else len(title.split()) * 2
    wanted = section.summary and not section.synthetic and any(map(str.isalpha, title))
    return title if wanted and 3 < words < 24 and not _FURNITURE.match(title) else ""


def _about(title: str) -> str:
    return f"{title}有哪些内容？" if has_cjk(title) else f"What is said about {title}?"


def _answerable(offered: Iterable[_Candidate], search: Callable[[str], SearchResult]) -> Iterator[StartingQuestion]:
    """The first few that a search answers from the pages they were made of."""
    seen: set[str] = set()
    found = 0
    for tried, one in enumerate(offered):
        if tried == _TRIED or found == _QUESTIONS:
            return
        if one.question.casefold() in seen:
            continue
        seen.add(one.question.casefold())
        result = search(one.question)
        if result.evidence.level != "strong":
            continue
        for page in result.results[:_DEEP_ENOUGH]:
            if one.pages is None or (page.doc_id == one.document.doc_id and page.page in one.pages):
                found += 1
                yield StartingQuestion(one.question, page.doc_id, page.doc_name, page.page)
                break


class _Written(BaseModel):
    description: str
    questions: list[str]


def _written(made: Briefing, model: ChatModel) -> tuple[Briefing, list[str]]:
    """The briefing as a model says it, and the questions that it would ask. Raises ChatError."""
    from hybrid_core.llm.prompts import prompt

    written = prompt("briefing")
    parts = "\n".join(
        f"- {part.title} (pages {part.start_page}-{part.end_page}): {part.summary}" for part in made.parts
    )
    told = {
        "title": made.title, "description": made.description, "parts": parts,
        "figures": "\n".join(f"- {figure.text}" for figure in made.figures),
    }  # fmt: skip
    reply = model.ask(written.messages(told), _Written, prompt=written.id, max_tokens=600)
    if reply.value is None or not reply.value.description.strip():
        return made, []
    said = replace(made, description=reply.value.description.strip(), written_by=model.name)
    return said, [question.strip() for question in reply.value.questions if question.strip()][: 2 * _QUESTIONS]
