"""Pages that a question means are put first, whatever their words are worth."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

from hybrid_core.types.scoring import DocumentScoring
from retrievers.pages.page_texts import PageTexts
from retrievers.pages.scores import PageScores, PageVisit, Place, gained
from retrievers.places.located import PlaceFound, Span

_MOST_DOCUMENTS = 3
_GOING_ON = 4  # pages of a place after its first that lead too
_BEGINS = 0.15  # what the page where a place begins is worth more than those where it goes on, as a share of the best

Finder = Callable[[PageScores], Sequence[PlaceFound]]


@dataclass(frozen=True, slots=True)
class Leads:
    """The pages in their new order, what each was given, and why; no reasons where nothing leads.

    ``settled``: the question asks for nothing else of the one document that it means. ``spans`` are the parts of pages
    that are meant, where less than the page is; ``beside`` are the terms that the question asks for of a page that it
    names by its number.
    """

    visits: Sequence[PageVisit]
    pages: Sequence[PageScores]
    reasons: Mapping[Place, str]
    settled: bool = False
    spans: Mapping[Place, Span] = field(default_factory=dict)
    missing: Sequence[str] = ()
    beside: Mapping[Place, Collection[str]] = field(default_factory=dict)


def meant(visits: Sequence[PageVisit], pages: Sequence[PageScores], scoring: DocumentScoring) -> list[int]:
    """The documents that the question names or implies: those whose scores are close to the best, in the order in
    which their best pages come."""
    best = max((one.candidate.score for one in pages), default=0.0)
    close = [doc for doc, one in enumerate(pages) if one.candidate.score > best - scoring.close]
    order = {doc: at for at, doc in enumerate(dict.fromkeys(one.doc for one in visits))}
    return sorted(close, key=lambda doc: order.get(doc, len(order)))[:_MOST_DOCUMENTS]


def lead(
    name: str,
    visits: Sequence[PageVisit],
    pages: Sequence[PageScores],
    docs: Sequence[int],
    find: Finder,
    asks_more: Callable[[PageScores], bool],
    one_document: bool = False,
) -> Leads:
    """What ``find`` finds in these documents is put before all other pages, likeliest document first.

    Where the question asks for more than the place, the places of a document stand by what their pages are worth;
    else as they were found, those where a place begins first. With ``one_document`` nothing is looked for behind the
    first document in which something was found.
    """
    best = max((float(pages[one.doc].values[one.page - 1]) for one in visits), default=0.0)
    gains: dict[Place, float] = {}
    reasons: dict[Place, str] = {}
    spans: dict[Place, Span] = {}
    for behind, doc in enumerate(docs):
        if one_document and gains:
            break
        found = list(find(pages[doc]))
        more = asks_more(pages[doc])
        going_on = [place for place in found if not place.begins]
        kept = found if more else [place for place in found if place not in going_on[_GOING_ON:]]
        for rank, place in enumerate(kept):
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
    known = {(one.doc, one.page) for one in visits}
    new = [PageVisit(doc, page) for doc, page in gains if (doc, page) not in known]
    ordered, after = gained([*visits, *new], pages, name, gains)
    return Leads(ordered, after, reasons, len(docs) == 1 and not asks_more(pages[docs[0]]), spans)


def texts_of(texts: PageTexts, scores: PageScores) -> Callable[[], Sequence[tuple[str, str]]]:
    """The labels and texts of a document's pages, read when first asked for."""
    held: list[tuple[str, str]] = []

    def read() -> Sequence[tuple[str, str]]:
        if not held:
            every = [(scores.content, page) for page in range(1, scores.content.pages + 1)]
            held.extend((page.label, page.text) for page in texts.of(every))
        return held

    return read
