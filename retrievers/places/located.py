"""The pages of one document that a reference means."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from hybrid_core.types.documents import Section
from retrievers.documents.content import Content
from retrievers.places.headings import begins_caption, fit
from retrievers.places.page_numbers import labelled, printed
from retrievers.query.references import Reference, bare_line_starts, line_starts

_LISTED = 4  # lines of one page that begin as headings or captions do: it is a list of them
_LONGEST = 60  # pages of a section in which the rest of the question is looked for

Span = tuple[int, int | None]
Texts = Callable[[], Sequence[tuple[str, str]]]
"""The printed label and the text of every page of the document, read when asked for."""


@dataclass(frozen=True, slots=True)
class PlaceFound:
    """``page`` is 1-based; ``why`` says how it was found; ``begins`` is False where the place only goes on there.

    ``span`` are the characters of the page that belong to the place, from the first to before the last (None: all that
    follow), where less than the page is meant. ``whole``: its title says all that is asked for.
    """

    page: int
    why: str
    begins: bool = True
    span: Span | None = None
    whole: bool = True


def locate(reference: Reference, content: Content, texts: Texts) -> list[PlaceFound]:
    """Where the reference leads in a document, likeliest first; [] where it leads nowhere."""
    if reference.kind == "page":
        return _page(reference, content.pages, texts)
    if reference.kind == "caption":
        return lines_that_begin(reference, texts(), begins_caption)
    return (
        sections_called(reference, content.sections)
        or lines_that_begin(reference, texts(), lambda one, line: fit(one, line) > 1)
        or lines_that_begin(reference, texts(), lambda one, line: fit(one, line) > 0, bare_line_starts())
    )


def _page(reference: Reference, pages: int, texts: Texts) -> list[PlaceFound]:
    """By the file's labels, by its place in the file, by the number that it bears."""
    number = reference.number
    read = texts()
    found = {
        page: f"the file labels page {page} as {number}" for page in labelled(number, [label for label, _ in read])
    }
    if number.isdecimal() and 1 <= int(number) <= pages:
        found.setdefault(int(number), f"{reference.word} {number} of the file")
    if reference.word == "page":
        for page in printed(number, [text for _, text in read]):
            found[page] = f"{found[page]}, and {number} in print" if page in found else f"bears the number {number}"
    return [PlaceFound(page, why) for page, why in found.items()]


def sections_called(reference: Reference, sections: Sequence[Section]) -> list[PlaceFound]:
    """The sections whose heading bears the number: with the word if any has, and of these the highest in the tree."""
    fits = [(fit(reference, section.title), section) for section in sections if not section.synthetic]
    surest = max((rank for rank, _ in fits), default=0)
    if not surest:
        return []
    named = [section for rank, section in fits if rank == surest]
    top = min(section.level for section in named)
    return list(_unique(place for section in named if section.level == top for place in _pages_of(section)))


def _pages_of(section: Section) -> Iterator[PlaceFound]:
    last = min(section.end_page, section.start_page + _LONGEST - 1)
    yield beginning(section, f"«{section.title}» begins here")
    for page in range(section.start_page + 1, last + 1):
        span = (0, section.end_anchor) if page == section.end_page and section.end_anchor else None
        yield PlaceFound(page, f"«{section.title}» goes on here", False, span)


def beginning(section: Section, why: str) -> PlaceFound:
    """The page on which a section begins."""
    end = section.end_anchor if section.end_page == section.start_page else None
    return PlaceFound(section.start_page, why, span=(section.anchor, end))


def lines_that_begin(
    reference: Reference,
    texts: Sequence[tuple[str, str]],
    begins: Callable[[Reference, str], bool],
    starts: re.Pattern[str] | None = None,
) -> list[PlaceFound]:
    """The pages on which a line begins so; of several those that are no list of such lines."""
    starts = starts or line_starts(reference.word)
    found: list[tuple[int, int, str, int]] = []
    for page, (_, text) in enumerate(texts, 1):
        lines = [(_line(text, match.start(), match.end()), match.start()) for match in starts.finditer(text)]
        if named := [line for line in lines if begins(reference, line[0])]:
            found.append((len(lines), page, *named[0]))
    shown = [one for one in found if one[0] < _LISTED] or found
    return [PlaceFound(page, f"«{_short(line)}» stands here", span=(at, None)) for _, page, line, at in shown]


def _line(text: str, start: int, matched: int) -> str:
    end = text.find("\n", matched)
    return text[start : len(text) if end < 0 else end]


def _short(line: str, most: int = 60) -> str:
    line = re.sub(r"\s+", " ", line).strip()
    return line if len(line) <= most else line[: most - 1].rstrip() + "…"


def _unique(places: Iterator[PlaceFound]) -> Iterator[PlaceFound]:
    """Each page once, by what begins there rather than by what goes on."""
    known: dict[int, PlaceFound] = {}
    for place in places:
        if place.page not in known or (place.begins and not known[place.page].begins):
            known[place.page] = place
    yield from known.values()
