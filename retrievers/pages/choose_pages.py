"""Which of the reached pages are returned: copies once, slots for required roles, variety where asked for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from hybrid_core.types.scoring import SelectionScoring
from retrievers.documents.candidates import Valued
from retrievers.pages.content import Content
from retrievers.pages.tree_walk import Reached
from retrievers.query.patterns import Pattern
from retrievers.rerank.mmr import cosine, mmr


@dataclass(frozen=True, slots=True)
class Role:
    """What a page can be for («cash flow statement»): its name, and a pattern over section titles."""

    name: str
    title: Pattern


@dataclass(frozen=True, slots=True)
class Chosen:
    """A page to return; ``also_in`` names pages with the same text, ``role`` the role it was given a slot for."""

    reached: Reached
    also_in: tuple[Reached, ...] = ()
    role: str = ""


def choose_pages(
    reached: Sequence[Reached],
    valued: Sequence[Valued],
    top_k: int,
    roles: Sequence[Sequence[Role]],
    lam: float,
    scoring: SelectionScoring,
) -> list[Chosen]:
    """At most ``top_k`` of the reached pages (best first), in the order to show them.

    ``lam`` below 1 trades value for variety (MMR). ``roles`` are those wanted in each document. For each of the best
    document's roles that none of the first five pages fills, its best page with that role takes the place of the last
    of the five without one; the page it displaces comes sixth. With ``lam`` 1 the first n pages of a longer list are
    therefore the list of n, for n from 5 on.
    """
    most = scoring.varied * top_k if lam < 1 else top_k
    chosen = _without_copies(reached, valued, most, scoring)
    if lam < 1:
        chosen = _varied(chosen[:most], valued, top_k, lam)
    return _with_roles(chosen, valued, min(top_k, scoring.slots_within), roles, scoring.role_pages)[:top_k]


def _without_copies(
    reached: Sequence[Reached], valued: Sequence[Valued], most: int, scoring: SelectionScoring
) -> list[Chosen]:
    """Copies of the first ``most`` pages are left out and named with them; pages behind are not compared."""
    kept: list[Chosen] = []
    lengths = np.zeros(len(reached))  # words on the kept pages
    for one in reached:
        words = float(valued[one.doc].candidate.content.body.lengths[one.page - 1])
        alike = np.flatnonzero(np.abs(lengths[: min(len(kept), most)] - words) <= scoring.same_length * words)
        copy_of = next((at for at in alike.tolist() if _same(valued, one, kept[at].reached, scoring)), None)
        if copy_of is None:
            lengths[len(kept)] = words
            kept.append(Chosen(one))
        else:
            kept[copy_of] = replace(kept[copy_of], also_in=(*kept[copy_of].also_in, one))
    return kept


def _same(valued: Sequence[Valued], a: Reached, b: Reached, scoring: SelectionScoring) -> bool:
    """The same page of the same bytes, or the same words on a page of another document."""
    first, second = valued[a.doc].candidate.content, valued[b.doc].candidate.content
    if first.content_id == second.content_id:
        return a.page == b.page
    one, other = _vector(valued, a), _vector(valued, b)
    return abs(len(one) - len(other)) <= scoring.same_length * len(one) and cosine(one, other) >= scoring.same


def _varied(chosen: Sequence[Chosen], valued: Sequence[Valued], top_k: int, lam: float) -> list[Chosen]:
    best = max((_value(valued, one) for one in chosen), default=1.0)
    items = [(one, _value(valued, one) / best) for one in chosen]
    return mmr(items, top_k, lam, lambda a, b: cosine(_vector(valued, a.reached), _vector(valued, b.reached)))


def _with_roles(
    chosen: list[Chosen], valued: Sequence[Valued], within: int, wanted: Sequence[Sequence[Role]], role_length: int
) -> list[Chosen]:
    doc = chosen[0].reached.doc if chosen else -1
    roles = wanted[doc] if chosen and wanted else ()
    if not roles:
        return chosen
    content, values = valued[doc].candidate.content, valued[doc].values
    first, rest = chosen[:within], chosen[within:]
    for role in roles:
        pages = role_pages(content, role, role_length)
        if any(one.reached.doc == doc and one.reached.page in pages for one in first):
            continue
        best = max(pages, key=lambda page: (float(values[page - 1]), -page), default=None)
        free = [at for at, one in enumerate(first) if not one.role and at > 0]
        if best is None or not (free or len(first) < within):
            continue
        slot = Chosen(Reached(doc, best, chosen[0].reached.opened), role=role.name)
        for one in rest:
            if (one.reached.doc, one.reached.page) == (doc, best):
                slot = replace(one, role=role.name)
        rest = [one for one in rest if (one.reached.doc, one.reached.page) != (doc, best)]
        if len(first) < within:
            first.append(slot)
        else:
            rest.insert(0, first[free[-1]])
            first[free[-1]] = slot
    return first + rest


def role_pages(content: Content, role: Role, most: int) -> dict[int, None]:
    """The pages of a document that have a role, by the titles of its sections, ``most`` of each; in order."""
    pages: dict[int, None] = {}
    for section in content.sections:
        if not section.synthetic and role.title.search(section.title):
            last = min(section.end_page, section.start_page + most - 1)
            pages |= dict.fromkeys(range(section.start_page, last + 1))
    return pages


def _value(valued: Sequence[Valued], one: Chosen) -> float:
    return float(valued[one.reached.doc].values[one.reached.page - 1])


def _vector(valued: Sequence[Valued], one: Reached) -> dict[int, float]:
    return valued[one.doc].candidate.content.vector(one.page)


def wanted_roles(names: Iterable[str], known: Sequence[Role]) -> list[Role]:
    """The roles of these names, in the order of the names, once each."""
    by_name = {role.name: role for role in known}
    return [by_name[name] for name in dict.fromkeys(names)]
