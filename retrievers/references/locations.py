"""Find the pages of a reference such as "Note 7" in one document.

They are found by headings, captions, lines and printed page numbers. A printed number comes from the file's page
labels. It may also be in the top or bottom lines of a page, if a neighbouring page continues the count.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from hybrid_core.text.identifiers import adjacent_numbers, page_number, part_number
from hybrid_core.text.tokens import cached_hash, tokenise
from hybrid_core.types.documents import Section
from hybrid_core.types.notes import Note
from hybrid_core.types.results import Pointer
from retrievers.query.references import NUMBER, Reference, bare_line_starts, line_starts, references
from retrievers.trees.content import Content

# Headings whose number stands by itself: "7. Warranties" is section 7, "G Error Cases" appendix G.
_BARE = frozenset(("section", "chapter", "article", "clause", "note", "part", "appendix", "item"))
_LEADING_NUMBER = re.compile(rf"\s*(?:[(\[]\s?)?(?P<number>{NUMBER})(?:[.:)\]]|\s[-–—:]|(?=\s))(?P<rest>.*)", re.DOTALL)
_NOTES = re.compile(r"\W*(?:\d+\W+)?notes\b(?!\s*\d)", re.IGNORECASE)
_AFTER_CAPTION = re.compile(r"\s?[.:|–—-]|\s*$|\s+[A-Z(\[]")
_WORD_FIT, _NUMBER_FIT = 2, 1


@dataclass(frozen=True, slots=True)
class Numbered:
    """The number at the beginning of a heading or line, with the text around it.

    ``word`` is the word before the number ("note"), "" if there is none. ``after`` is the rest of the line.
    """

    word: str
    number: str
    after: str


@lru_cache(maxsize=20_000)
def numbered(line: str) -> Numbered | None:
    """Return the number at the beginning of a line, None if there is none."""
    if leading := [reference for reference in references(line[:80]) if not line[: reference.start].strip(" \t#*[(")]:
        return Numbered(leading[0].word, leading[0].number, line[leading[0].end :])
    match = _LEADING_NUMBER.match(line[:80])
    return Numbered("", part_number(match["number"]), line[match.start("rest") :]) if match else None


def fit(reference: Reference, title: str) -> int:
    """Return how well a heading matches a reference: 2 by word and number, 1 by number, else 0."""
    heading = numbered(title)
    if heading is None or heading.number != reference.number:
        return 0
    if heading.word == reference.word or {heading.word, reference.word} <= {"section", "clause", "article"}:
        return _WORD_FIT
    return _NUMBER_FIT if not heading.word and reference.word in _BARE and heading.after.strip() else 0


def begins_caption(reference: Reference, line: str) -> bool:
    """Return whether a line is the caption of the referenced figure or table.

    A sentence that begins by mentioning the figure or table is not.
    """
    caption = numbered(line)
    if caption is None or (caption.word, caption.number) != (reference.word, reference.number):
        return False
    return _AFTER_CAPTION.match(caption.after) is not None


_EDGE = 3  # lines at the top and at the bottom of a page that may bear its number
_EDGE_LINE = 80  # characters of such a line
_SPLIT = re.compile(r"[\s|·•]+")


def labelled(number: str, labels: Sequence[str]) -> list[int]:
    """Return the pages (from 1) whose label in the file is this number."""
    return [page for page, label in enumerate(labels, 1) if label and page_number(_join_label(label)) == number]


def printed(number: str, texts: Sequence[str]) -> list[int]:
    """Return the pages (from 1) on which this number is printed as page number.

    If neighbouring pages continue the count for some of them, only these are returned. Otherwise a decimal number is
    ignored.
    """
    edges: dict[int, set[str]] = {}

    def bears(page: int, number: str) -> bool:
        if not 1 <= page <= len(texts):
            return False
        if page not in edges:
            edges[page] = set(_numbers(texts[page - 1]))
        return number in edges[page]

    before, after = adjacent_numbers(number)
    pages = [page for page in range(1, len(texts) + 1) if bears(page, number)]
    counted = {page: bears(page - 1, before) + bears(page + 1, after) for page in pages}
    best = max(counted.values(), default=0)
    if not best and number.isdecimal():  # any figure may stand at the edge of a page
        return []
    return [page for page in pages if counted[page] == best]


def _numbers(text: str) -> Iterator[str]:
    """Yield possible page numbers: the first and last word of short lines at a page's edges."""
    lines = [line for line in text.split("\n") if line.strip()]
    for line in [*lines[:_EDGE], *lines[-_EDGE:]]:
        if len(line) <= _EDGE_LINE:
            words = _SPLIT.split(line.strip())
            yield from {page_number(word.strip("-–—[]()")) for word in (words[0], words[-1])}
            if len(words) <= 3:
                yield page_number(_join_label(line))


def _join_label(written: str) -> str:
    """Return a page label as questions write it: ``A - 4`` becomes A-4, ``- 4 -`` becomes 4."""
    return re.sub(r"\s*([-–—])\s*", "-", written.strip()).strip("-[]() ")


_LIST_LINES = 4  # lines of one page that begin as headings or captions do: it is a list of them
_SECTION_PAGES = 60  # pages of a section in which the rest of the question is looked for

Span = tuple[int, int | None]
Texts = Callable[[], Sequence[tuple[str, str]]]
"""A function that returns the printed label and the text of every page of the document."""


@dataclass(frozen=True, slots=True)
class PlaceFound:
    """A page to which a reference leads. ``page`` counts from 1; ``why`` is the reason for the user.

    ``begins`` is False if the section only continues on this page. ``span`` is the range of characters that belongs to
    the section, None for the whole page. ``whole`` is True if the section's title covers the question.
    """

    page: int
    why: Note
    begins: bool = True
    span: Span | None = None
    whole: bool = True


def locate(reference: Reference, content: Content, texts: Texts) -> list[PlaceFound]:
    """Return the pages in a document to which a reference leads, most likely first."""
    if reference.kind == "page":
        return _page(reference, content.pages, texts)
    if reference.kind == "caption":
        return lines_that_begin(reference, texts(), begins_caption)
    return (
        sections_called(reference, content.sections)
        or lines_that_begin(reference, texts(), lambda numbered_place, line: fit(numbered_place, line) > 1)
        or lines_that_begin(
            reference, texts(), lambda numbered_place, line: fit(numbered_place, line) > 0, bare_line_starts()
        )
    )


def _page(reference: Reference, pages: int, texts: Texts) -> list[PlaceFound]:
    """Return the pages with a number by page label, by position in the file, or as printed."""
    number = reference.number
    read = texts()
    reasons = {
        page: Note("verdict.label", page=page, label=number) for page in labelled(number, [label for label, _ in read])
    }
    if number.isdecimal() and 1 <= int(number) <= pages:
        in_file = Note("verdict.file-slide", number=number) if reference.word == "slide" else None
        reasons.setdefault(int(number), in_file or Note("verdict.file-page", number=number))
    if reference.word == "page":
        for page in printed(number, [text for _, text in read]):
            reasons[page] = (
                Note("verdict.also-printed", verdict=reasons[page], number=number)
                if page in reasons
                else Note("verdict.printed", number=number)
            )
    return [PlaceFound(page, why) for page, why in reasons.items()]


def sections_called(reference: Reference, sections: Sequence[Section]) -> list[PlaceFound]:
    """Return the pages of the sections whose heading has the reference's number.

    If some of the headings also have the reference's word ("note"), the others are left out. Of the rest, only the
    highest level is returned.
    """
    fits = [(fit(reference, section.title), section) for section in sections if not section.synthetic]
    surest = max((rank for rank, _ in fits), default=0)
    if not surest:
        return []
    named = [section for rank, section in fits if rank == surest]
    if surest == _NUMBER_FIT and reference.word == "note":
        named = _among_notes(named, sections)
    if not named:
        return []
    top = min(section.level for section in named)
    return list(_unique(place for section in named if section.level == top for place in _pages_of(section)))


def _among_notes(numbered_sections: list[Section], sections: Sequence[Section]) -> list[Section]:
    """Return those of the sections, which have numbers without a word, that may be notes.

    These are inside a section "Notes", otherwise after its beginning. "7 Management's Discussion" before the notes is
    item 7, not note 7. Without a heading "Notes" all sections are returned.
    """
    heads = [section for section in sections if _NOTES.match(section.title)]
    if not heads:
        return numbered_sections
    inside = [
        section
        for section in numbered_sections
        if any(head.start_page <= section.start_page <= head.end_page for head in heads)
    ]
    first = min(head.start_page for head in heads)
    return inside or [section for section in numbered_sections if section.start_page >= first]


def _pages_of(section: Section) -> Iterator[PlaceFound]:
    last = min(section.end_page, section.start_page + _SECTION_PAGES - 1)
    yield beginning(section, Note("verdict.section-begins", title=section.title))
    for page in range(section.start_page + 1, last + 1):
        span = (0, section.end_anchor) if page == section.end_page and section.end_anchor else None
        yield PlaceFound(page, Note("verdict.section-continues", title=section.title), False, span)


def beginning(section: Section, why: Note) -> PlaceFound:
    """Return the first page of a section, with the range of characters that belongs to the section."""
    end = section.end_anchor if section.end_page == section.start_page else None
    return PlaceFound(section.start_page, why, span=(section.anchor, end))


def lines_that_begin(
    reference: Reference,
    texts: Sequence[tuple[str, str]],
    begins: Callable[[Reference, str], bool],
    starts: re.Pattern[str] | None = None,
) -> list[PlaceFound]:
    """Return the pages with a line that begins with the reference.

    Pages that list many such lines, as tables of contents do, are left out if there are other pages.
    """
    starts = starts or line_starts(reference.word)
    matches: list[tuple[int, int, str, int]] = []
    for page, (_, text) in enumerate(texts, 1):
        lines = [(_line_at(text, match.start(), match.end()), match.start()) for match in starts.finditer(text)]
        if named := [line for line in lines if begins(reference, line[0])]:
            matches.append((len(lines), page, *named[0]))
    shown = [match_row for match_row in matches if match_row[0] < _LIST_LINES] or matches
    return [
        PlaceFound(page, Note("verdict.line", line=_shorten_line(line)), span=(at, None)) for _, page, line, at in shown
    ]


def _line_at(text: str, start: int, matched: int) -> str:
    end = text.find("\n", matched)
    return text[start : len(text) if end < 0 else end]


def _shorten_line(line: str, length: int = 60) -> str:
    line = re.sub(r"\s+", " ", line).strip()
    return line if len(line) <= length else line[: length - 1].rstrip() + "…"


def _unique(places: Iterator[PlaceFound]) -> Iterator[PlaceFound]:
    """Yield each page once. A section that begins on a page is preferred to one that continues there."""
    by_page: dict[int, PlaceFound] = {}
    for place in places:
        if place.page not in by_page or (place.begins and not by_page[place.page].begins):
            by_page[place.page] = place
    yield from by_page.values()


_SENDING = re.compile(
    r"(?:\b(?:see|refer\s+to|referred\s+to\s+in|consult|described\s+in|discussed\s+in|disclosed\s+in|detailed\s+in"
    r"|shown\s+in|set\s+forth\s+in|presented\s+in|included\s+in|provided\s+in|found\s+in|siehe|vgl\.|voir|véase)\s+"
    r"(?:also\s+)?|\()(?:(?:the|our|its|also)\s+)?\Z|[参见详见如]\s?\Z",
    re.IGNORECASE,
)
_MAYBE = ("see", "refer", " in ", "(", "consult", "siehe", "vgl", "voir", "véase", "见", "如")
_BEFORE = 40  # characters
_MOST, _PAGES_TO_READ = 3, 12  # places of one text, pages that are read for each

Read = Callable[[Sequence[int]], Sequence[str]]
"""A function that returns the texts of pages by their numbers, from 1."""


def pointers(text: str, page: int, content: Content, read: Read) -> tuple[Pointer, ...]:
    """Return the parts of the document to which the text of a page refers ("see Note 7").

    They are found by headings, otherwise by lines that begin like the reference. References to parts that do not exist
    or are on the same page are left out.
    """
    folded = text.lower()
    if not any(sign in folded for sign in _MAYBE):
        return ()
    pointers_by_place: dict[tuple[str, str], Pointer] = {}
    for reference in references(text):
        key = (reference.word, reference.number)
        sends = _SENDING.search(text[max(0, reference.start - _BEFORE) : reference.start])
        if reference.kind == "page" or sends is None or key in pointers_by_place or len(pointers_by_place) == _MOST:
            continue
        place = next((place for place in _find_places(reference, content, read) if place.begins), None)
        if place is not None and place.page != page:
            pointers_by_place[key] = Pointer(" ".join(reference.written.split()), place.page, place.why)
    return tuple(pointers_by_place.values())


def _find_places(reference: Reference, content: Content, read: Read) -> Iterator[PlaceFound]:
    if reference.kind == "part":
        yield from sections_called(reference, content.sections)
    hashes = {cached_hash(term) for term in tokenise(reference.written)}
    occurrences = content.body.occurrences(list(hashes))
    pages, terms = np.unique(occurrences.pages, return_counts=True)
    likely = (pages[terms >= len(hashes)] + 1).tolist()[:_PAGES_TO_READ] if hashes else []
    texts = [("", text) for text in read(likely)] if likely else []
    begins = (
        begins_caption if reference.kind == "caption" else (lambda numbered_place, line: fit(numbered_place, line) > 1)
    )
    for place in lines_that_begin(reference, texts, begins):
        yield PlaceFound(likely[place.page - 1], place.why)
