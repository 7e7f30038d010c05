"""Titles whose page is not known, or wrong: the model looks for them between their neighbours' pages."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from pydantic import BaseModel

from hybrid_core.llm.session import Session
from indexers.enrich.tree.marks import Counts, find
from indexers.enrich.tree.shown import abridged, groups
from indexers.outline.toc_pages import opens_contents
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
class TitleSearch:
    """A title and the pages between which its section must begin. ``entry`` is what the caller knows it by."""

    entry: int
    title: str
    first: int
    last: int


def ask_places(
    session: Session, doc: DocumentView, wanted: Sequence[TitleSearch], skip: Collection[int], counts: Counts
) -> dict[int, tuple[int, int]]:
    """Page and line of each title that was found. Only its own pages are shown, each once, and only those that it may
    stand on: no other would be believed. ``skip``: pages of printed contents, on which no section of their titles
    begins. Raises ChatError.
    """
    places = {one.entry: _places(doc, one, skip) for one in wanted}
    keys = {one.entry: _key(session, doc, one, places[one.entry]) for one in wanted if places[one.entry]}
    found: dict[int, tuple[int, int]] = {}
    left: list[TitleSearch] = []
    for one in wanted:
        if one.entry in keys:
            held = session.get(keys[one.entry])
            if held is None:
                left.append(one)
            elif held != _NOWHERE:
                found[one.entry] = list(places[one.entry].items())[int(held)]
    unasked: set[int] = set()
    for group in groups(doc, sorted({n for one in left for n in places[one.entry]}), _GROUP):
        shown = frozenset(group.numbers)
        fitting = [one for one in left if one.entry not in found and places[one.entry].keys() & shown]
        asked = fitting[:_TITLES] if not session.scope.spent else []
        unasked.update(one.entry for one in fitting[len(asked) :])
        if not asked:
            continue
        titles = "\n".join(f"{number}. {one.title}" for number, one in enumerate(asked, 1))
        values = {"titles": titles, "pages": group.text}
        for said in session.ask("headings-place", Places, values).places:
            if not 1 <= said.entry <= len(asked) or said.page <= 0:
                continue
            counts.named += 1
            one, page = asked[said.entry - 1], group.page(said.page)
            if page in places[one.entry]:
                found.setdefault(one.entry, (page, places[one.entry][page]))
            elif page:
                counts.missing += 1
            else:
                counts.elsewhere += 1
    for one in left:
        if one.entry in found:
            session.put(keys[one.entry], str(list(places[one.entry]).index(found[one.entry][0])))
        elif one.entry not in unasked:
            session.put(keys[one.entry], _NOWHERE)
    return found


def _key(session: Session, doc: DocumentView, one: TitleSearch, places: Iterable[int]) -> str:
    return session.key("headings-place", one.title, *(abridged(doc[number]) for number in places))


def _places(doc: DocumentView, one: TitleSearch, skip: Collection[int]) -> dict[int, int]:
    """The pages of a title that hold a line like it, in order, and that line."""
    skipped = () if opens_contents(one.title) else skip  # what heads printed contents stands on their pages
    numbers = (number for number in range(one.first, one.last + 1) if number not in skipped)
    return {number: unit for number in numbers if (unit := find(doc, one.title, number)) is not None}
