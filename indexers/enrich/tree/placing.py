"""Titles whose page is not known, or wrong: the model looks for them between their neighbours' pages."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from pydantic import BaseModel

from indexers.enrich.asking import Asker
from indexers.enrich.tree.marks import Counts, find
from indexers.enrich.tree.shown import groups
from indexers.outline.view import DocumentView

_GROUP = 5000  # tokens of pages in one call
_TITLES = 60


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
    """The page of each title that was found; those on which the title does not stand are not believed.

    Each title is asked for on its own pages only, and each page shown at most once. Raises ChatError.
    """
    numbers = sorted({n for one in wanted for n in range(one.first, one.last + 1)} - set(skip))
    found: dict[int, int] = {}
    for group in groups(doc, numbers, _GROUP):
        asked = [one for one in wanted if one.entry not in found and _overlaps(one, group.numbers)][:_TITLES]
        if not asked or not asker.left:
            continue
        titles = "\n".join(f"{number}. {one.title}" for number, one in enumerate(asked, 1))
        for said in asker.ask("headings-place", Places, {"titles": titles, "pages": group.text}).places:
            if not 1 <= said.entry <= len(asked) or said.page <= 0:
                continue
            counts.named += 1
            one, page = asked[said.entry - 1], group.page(said.page)
            if not page or not one.first <= page <= one.last:
                counts.elsewhere += 1
            elif doc[page].units and find(doc, one.title, page) is None:
                counts.missing += 1
            else:
                found.setdefault(one.entry, page)
    return found


def _overlaps(one: Wanted, numbers: Sequence[int]) -> bool:
    return any(one.first <= number <= one.last for number in numbers)
