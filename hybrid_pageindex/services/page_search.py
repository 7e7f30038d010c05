"""Words looked for on the pages of one document, as they are written."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from hybrid_core.errors import UsageError
from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.types.documents import Page, place_of
from hybrid_pageindex.services import reading

MOST = 1000
_AT_ONCE = 200  # pages
_BESIDE = 60  # characters of a snippet on each side


@dataclass(frozen=True, slots=True)
class Match:
    """Characters ``start`` to ``end`` of the page's text. ``place`` as in search results."""

    page: int
    label: str
    start: int
    end: int
    snippet: str
    place: str


@dataclass(frozen=True, slots=True)
class Matches:
    """``more``: the document has further ones, from ``next_page`` on."""

    matches: tuple[Match, ...]
    more: bool
    next_page: int


def find_words(catalog: Catalog, library: str, document: str, words: str, first: int = 1, most: int = 100) -> Matches:
    """From page ``first`` on, whatever the case and the white space between the words. The last page that is looked at
    is told whole, so there may be more than ``most``.
    """
    if not words.split():
        raise UsageError("There is nothing to look for.", "Write some words.")
    if not 1 <= most <= MOST:
        raise UsageError(f"{most} matches are asked for.", f"Choose 1 to {MOST}.")
    wanted = re.compile(r"\s+".join(map(re.escape, words.split())), re.IGNORECASE)
    found: list[Match] = []
    with catalog.snapshot() as snapshot:
        known = reading.one(snapshot, library, document)
    for begin in range(max(first, 1), known.pages + 1, _AT_ONCE):
        with catalog.snapshot() as snapshot:
            pages = snapshot.pages(known.content_id, range(begin, min(begin + _AT_ONCE, known.pages + 1)))
        for page in pages:
            found += _on(page, wanted)
            if len(found) >= most:
                return Matches(tuple(found), page.number < known.pages, page.number + 1)
    return Matches(tuple(found), False, known.pages + 1)


def _on(page: Page, wanted: re.Pattern[str]) -> Iterator[Match]:
    for match in wanted.finditer(page.text):
        start, end = match.span()
        line = page.text.count("\n", 0, start)
        snippet = " ".join(page.text[max(start - _BESIDE, 0) : end + _BESIDE].split())
        yield Match(page.number, page.label, start, end, snippet, place_of(page.label, page.places, line))
