"""Places in files without pages of their own: told with their words, and found again by these."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from hybrid_core.types.documents import HIDDEN, Page, ParsedPage, Section, place_of
from hybrid_core.types.locators import distance, names_of
from hybrid_pageindex.services.page_places import PlaceRead

_QUOTE = 80  # characters of a place's words
_ALIKE = 0.6  # the share of a quotation's groups of three letters that must be left of it
_LEAST = 12  # letters of a quotation that may have been edited itself


@dataclass(frozen=True, slots=True)
class PlaceFound:
    """``page`` is 1-based, ``line`` of its text from 0. ``moved``: other words stand at the place, and these here."""

    page: int
    line: int
    moved: bool


def places_of(page: Page | ParsedPage, sections: Sequence[Section]) -> tuple[PlaceRead, ...]:
    """The places that begin on a page; ``sections`` are its document's, in preorder."""
    lines = page.text.split("\n")
    starts = [0]
    for text in lines:
        starts.append(starts[-1] + len(text) + 1)
    here = [one for one in sections if one.start_page <= page.number <= one.end_page]
    return tuple(
        PlaceRead(line, place, lines[line][:_QUOTE], _path(here, page.number, starts[line]))
        for line, place in page.places
        if line < len(lines) and place not in ("", HIDDEN)
    )


def _path(sections: Sequence[Section], page: int, character: int) -> tuple[str, ...]:
    """The titles of the sections that hold a character, from the top."""
    at = (page, character)
    return tuple(
        one.title
        for one in sections
        if not one.synthetic and (one.start_page, one.anchor) <= at
        and (one.end_page > page or one.end_anchor is None or character < one.end_anchor)
    )  # fmt: skip


def find(pages: Callable[[], Iterable[Page | ParsedPage]], place: str, quote: str) -> PlaceFound | None:
    """A place by its name where the quoted words begin there; else the line nearest to it that begins with them, holds
    them, or holds most of them. Without words a page's label will do.
    """
    words = _words(quote)
    nearest = _Nearest(place)
    for page in pages():
        lines = [_words(line) for line in page.text.split("\n")]
        for line, _ in page.places if page.places else enumerate(lines):
            called = place_of(page.label, page.places, line)
            if place in names_of(called) and line < len(lines) and lines[line].startswith(words):
                return PlaceFound(page.number, line, moved=False)
        if not words and page.label == place:
            return PlaceFound(page.number, 0, moved=False)
        for line, text in enumerate(lines):
            if words and words in text:
                nearest.add(0 if text.startswith(words) else 1, page, line)
    if nearest.found is not None or len(words) < _LEAST:
        return nearest.found
    wanted = _triples(words)
    for page in pages():
        for line, text in enumerate(map(_words, page.text.split("\n"))):
            alike = len(wanted & _triples(text[: 2 * len(words)])) / len(wanted)
            if alike >= _ALIKE:
                nearest.add(1 - alike, page, line)
    return nearest.found


class _Nearest:
    """The line that fits best, and of those that fit equally the nearest to a place."""

    def __init__(self, place: str) -> None:
        self._place = place
        self._best: tuple[float, bool, tuple[int, ...]] | None = None
        self.found: PlaceFound | None = None

    def add(self, misfit: float, page: Page | ParsedPage, line: int) -> None:
        apart = distance(self._place, place_of(page.label, page.places, line))
        rank = (misfit, apart is None, apart or ())
        if self._best is None or rank < self._best:
            self._best, self.found = rank, PlaceFound(page.number, line, moved=True)


def _triples(words: str) -> set[str]:
    return {words[at : at + 3] for at in range(len(words) - 2)}


def _words(text: str) -> str:
    """Letters and digits, so that marks and spaces may differ."""
    return "".join(filter(str.isalnum, text.casefold()))
