"""Which of the visited pages are returned: copies once, slots for required roles, variety where asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from hybrid_core.types.scoring import SelectionScoring
from retrievers.documents.content import Content, cosine
from retrievers.pages.scores import PageScores, PageVisit
from retrievers.query.expert import Role
from retrievers.rerank.mmr import mmr


@dataclass(frozen=True, slots=True)
class ResultSlot:
    """A page to return; ``also_in`` names pages with the same text, ``role`` the role it was given a slot for."""

    visit: PageVisit
    also_in: tuple[PageVisit, ...] = ()
    role: str = ""


def select_pages(
    visits: Sequence[PageVisit],
    scores: Sequence[PageScores],
    top_k: int,
    roles: Sequence[Sequence[Role]],
    lam: float,
    scoring: SelectionScoring,
) -> list[ResultSlot]:
    """At most ``top_k`` of the visited pages (best first), in the order to show them.

    ``lam`` below 1 trades value for variety (MMR). ``roles`` are those wanted in each document. For each of the best
    document's roles that none of the first five pages fills, its best page with that role takes the place of the last
    of the five without one; the page it displaces comes sixth. With ``lam`` 1 the first n pages of a longer list are
    therefore the list of n, for n from 5 on.
    """
    most = scoring.varied * top_k if lam < 1 else top_k
    chosen = _without_copies(visits, scores, most, scoring)
    if lam < 1:
        chosen = _varied(chosen[:most], scores, top_k, lam)
    return _with_roles(chosen, scores, min(top_k, scoring.slots_within), roles, scoring.role_pages)[:top_k]


def _without_copies(
    visits: Sequence[PageVisit], scores: Sequence[PageScores], most: int, scoring: SelectionScoring
) -> list[ResultSlot]:
    """Copies of the first ``most`` pages are left out and named with them; pages behind are not compared."""
    kept: list[ResultSlot] = []
    lengths: list[int] = []  # words on the first of the kept pages
    lengths_of = [one.content.body.lengths.tolist() for one in scores]
    for one in visits:
        words = lengths_of[one.doc][one.page - 1]
        room = scoring.same_length * words
        alike = (at for at, length in enumerate(lengths) if abs(length - words) <= room)
        copy_of = next((at for at in alike if _same(scores, one, kept[at].visit, scoring)), None)
        if copy_of is None:
            if len(kept) < most:
                lengths.append(words)
            kept.append(ResultSlot(one))
        else:
            kept[copy_of] = replace(kept[copy_of], also_in=(*kept[copy_of].also_in, one))
    return kept


def _same(scores: Sequence[PageScores], a: PageVisit, b: PageVisit, scoring: SelectionScoring) -> bool:
    """The same page of the same bytes, or the same words on a page of another document."""
    first, second = scores[a.doc].candidate.content, scores[b.doc].candidate.content
    if first.content_id == second.content_id:
        return a.page == b.page
    one, other = _vector(scores, a), _vector(scores, b)
    return abs(len(one) - len(other)) <= scoring.same_length * len(one) and cosine(one, other) >= scoring.same


def _varied(chosen: Sequence[ResultSlot], scores: Sequence[PageScores], top_k: int, lam: float) -> list[ResultSlot]:
    best = max((_value(scores, one) for one in chosen), default=1.0)
    items = [(one, _value(scores, one) / best) for one in chosen]
    return mmr(items, top_k, lam, lambda a, b: cosine(_vector(scores, a.visit), _vector(scores, b.visit)))


def _with_roles(
    chosen: list[ResultSlot],
    scores: Sequence[PageScores],
    within: int,
    wanted: Sequence[Sequence[Role]],
    role_length: int,
) -> list[ResultSlot]:
    doc = chosen[0].visit.doc if chosen else -1
    roles = wanted[doc] if chosen and wanted else ()
    if not roles:
        return chosen
    content, values = scores[doc].candidate.content, scores[doc].values
    first, rest = chosen[:within], chosen[within:]
    for role in roles:
        pages = _role_pages(content, role, role_length)
        if any(one.visit.doc == doc and one.visit.page in pages for one in first):
            continue
        best = max(pages, key=lambda page: (float(values[page - 1]), -page), default=None)
        free = [at for at, one in enumerate(first) if not one.role and at > 0]
        if best is None or not (free or len(first) < within):
            continue
        slot = ResultSlot(PageVisit(doc, best), role=role.name)
        for one in rest:
            if (one.visit.doc, one.visit.page) == (doc, best):
                slot = replace(one, role=role.name)
        rest = [one for one in rest if (one.visit.doc, one.visit.page) != (doc, best)]
        if len(first) < within:
            first.append(slot)
        else:
            rest.insert(0, first[free[-1]])
            first[free[-1]] = slot
    return first + rest


def _role_pages(content: Content, role: Role, most: int) -> dict[int, None]:
    """The pages of a document that have a role, by the titles of its sections, ``most`` of each; in order."""
    pages: dict[int, None] = {}
    for section in content.titled(role.title):
        last = min(section.end_page, section.start_page + most - 1)
        pages |= dict.fromkeys(range(section.start_page, last + 1))
    return pages


def _value(scores: Sequence[PageScores], one: ResultSlot) -> float:
    return float(scores[one.visit.doc].values[one.visit.page - 1])


def _vector(scores: Sequence[PageScores], one: PageVisit) -> dict[int, float]:
    return scores[one.doc].candidate.content.vector(one.page)
