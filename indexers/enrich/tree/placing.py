"""Titles whose page is not known, or wrong: the model looks for them between their neighbours' pages."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from pydantic import BaseModel

from indexers.enrich.asking import Asker
from indexers.enrich.tree.marks import Counts, find
from indexers.enrich.tree.shown import abridged, groups
from indexers.outline.view import DocumentView

_GROUP = 5000  # tokens of pages in one call
_TITLES = 60
_NOWHERE = "-"  # kept of a title that the model found on none of its pages


class Place(BaseModel):
    entry: int
    page: int


class Places(BaseModel):
    places: list[Place]


@dataclass(frozen=True, slots=True)
class Wanted:
    """A title and the pages between which its section must begin. ``entry`` is what the caller knows it by."""

    entry: int
    title: str
    first: int
    last: int


def ask_places(
    asker: Asker, doc: DocumentView, wanted: Sequence[Wanted], skip: Collection[int], counts: Counts
) -> dict[int, int]:
    """The page of each title that was found. Only its own pages are shown, each once, and only those that it may stand
    on: no other would be believed. Raises ChatError.
    """
    places = {one.entry: _places(doc, one, skip) for one in wanted}
    keys = {one.entry: _key(asker, doc, one, places[one.entry]) for one in wanted if places[one.entry]}
    found: dict[int, int] = {}
    left: list[Wanted] = []
    for one in wanted:
        if one.entry in keys:
            held = asker.get(keys[one.entry])
            if held is None:
                left.append(one)
            elif held != _NOWHERE:
                found[one.entry] = sorted(places[one.entry])[int(held)]
    unasked: set[int] = set()
    for group in groups(doc, sorted({n for one in left for n in places[one.entry]}), _GROUP):
        shown = frozenset(group.numbers)
        fitting = [one for one in left if one.entry not in found and places[one.entry] & shown]
        asked = fitting[:_TITLES] if asker.left else []
        unasked.update(one.entry for one in fitting[len(asked) :])
        if not asked:
            continue
        titles = "\n".join(f"{number}. {one.title}" for number, one in enumerate(asked, 1))
        values = {"titles": titles, "pages": group.text}
        for said in asker.ask("headings-place", Places, values, keep=False).places:
            if not 1 <= said.entry <= len(asked) or said.page <= 0:
                continue
            counts.named += 1
            one, page = asked[said.entry - 1], group.page(said.page)
            if page in places[one.entry]:
                found.setdefault(one.entry, page)
            elif page:
                counts.missing += 1
            else:
                counts.elsewhere += 1
    for one in left:
        if one.entry in found:
            asker.put(keys[one.entry], str(sorted(places[one.entry]).index(found[one.entry])))
        elif one.entry not in unasked:
            asker.put(keys[one.entry], _NOWHERE)
    return found


def _key(asker: Asker, doc: DocumentView, one: Wanted, places: Collection[int]) -> str:
    return asker.key("headings-place", one.title, *(abridged(doc[number]) for number in sorted(places)))


def _places(doc: DocumentView, one: Wanted, skip: Collection[int]) -> frozenset[int]:
    """The pages of a title that hold a line like it, or no text that could be compared."""
    numbers = (number for number in range(one.first, one.last + 1) if number not in skip)
    return frozenset(n for n in numbers if not doc[n].units or find(doc, one.title, n) is not None)
