"""Lines whose markup says what they are, as a file of pages: headings, numbered clauses, places to end a page."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from types import MappingProxyType

from hybrid_core.errors import DocumentError, LimitError
from hybrid_core.types.documents import HeadingSource, Line, LineRole, MarkedHeading, ParsedPage, Places
from indexers.formats.flow.dots import grey_picture
from indexers.formats.info import FileInfo
from indexers.formats.limits import ParseLimits
from indexers.formats.markdown.blocks import TitledLine
from indexers.formats.markdown.clauses import clause_levels, find_clauses, looks_like_clause
from indexers.formats.text_pages import CLAUSE, INSIDE, PARAGRAPH

_MOST_PICTURES = 200  # on a page
PagePictures = Mapping[int, Sequence[tuple[int, str]]]
HeadingLine = tuple[int, int, str, HeadingSource]  # line, level, title, source


@dataclass(frozen=True, slots=True)
class PageLines:
    """``first`` and ``end`` (excluded) count the file's lines from 0."""

    first: int
    end: int
    label: str


class MarkedFile:
    """An open file of lines. ``places`` has the place in the file of each line, or nothing. ``pictures`` names those on
    its pages, by page number, each with the line of the page (from 0) that it comes before; ``images`` gives their
    bytes.
    """

    def __init__(
        self,
        lines: Sequence[str],
        roles: Sequence[LineRole],
        pages: Sequence[PageLines],
        headings: Sequence[HeadingLine],
        metadata: dict[str, str],
        warnings: Sequence[str],
        limits: ParseLimits,
        places: Sequence[str] = (),
        pictures: PagePictures = MappingProxyType({}),
        images: Callable[[str], bytes] | None = None,
    ) -> None:
        self._pictures = {number: shown[:_MOST_PICTURES] for number, shown in pictures.items()}
        self._images = images
        warnings = [*warnings, *(
            f"page {number} shows {len(shown):,} pictures; the words of the first {_MOST_PICTURES} are read"
            for number, shown in pictures.items() if len(shown) > _MOST_PICTURES
        )]  # fmt: skip
        self._lines, self._roles, self._pages, self._headings = lines, roles, pages, headings
        self._metadata, self._warnings, self._limits, self._places = metadata, warnings, limits, places
        self.pages = len(pages)

    def info(self) -> FileInfo:
        """Its metadata and headings; too many headings are left out and said."""
        headings, warnings = self._headings, list(self._warnings)
        count = len(headings)
        try:
            self._limits.check("max_bookmarks", count, f"its headings were ignored: there are {count:,}")
        except LimitError as error:
            headings = []
            warnings.append(str(error))
        starts = [page.first for page in self._pages]
        marked = []
        for line, level, title, source in headings:
            page = bisect_right(starts, line)
            marked.append(MarkedHeading(level, title, page, line - starts[page - 1], source))
        return FileInfo(self.pages, (), self._metadata, tuple(warnings), tuple(marked))

    def read(self, numbers: Iterable[int], on_page: Callable[[int], None]) -> Iterator[ParsedPage | DocumentError]:
        """Pages by their 1-based numbers; one over a limit comes as the error that says so."""
        for number in numbers:
            try:
                yield self._page(number)
            except LimitError as error:
                yield error
            on_page(number)

    def page_pictures(self, number: int) -> Iterator[tuple[int, bytes]]:
        """As PicturedFile says. Raises DocumentError where one cannot be unpacked."""
        for line, data in self.images(number):
            if (image := grey_picture(data, self._limits)) is not None:
                yield line, image

    def images(self, number: int) -> Iterator[tuple[int, bytes]]:
        """As IllustratedFile says. Raises as ``page_pictures``."""
        for line, name in self._pictures.get(number, ()):
            if self._images is not None:
                yield line, self._images(name)

    def close(self) -> None:
        """Nothing is held open."""

    def _page(self, number: int) -> ParsedPage:
        page = self._pages[number - 1]
        start, last = page.first, page.end
        while last > start and not self._lines[last - 1]:
            last -= 1
        self._limits.check("max_page_lines", last - start, f"page {number} has {last - start:,} lines of text")
        characters = sum(map(len, self._lines[start:last]))
        self._limits.check("max_page_characters", characters, f"page {number} has {characters:,} characters")
        lines = tuple(
            Line(text, role=role) for text, role in zip(self._lines[start:last], self._roles[start:last], strict=True)
        )
        pictures = len(self._pictures.get(number, ()))
        unread = pictures > 0 and not any(line.text and line.role != "image" for line in lines)
        return ParsedPage(
            number, page.label, lines=lines, places=_begun(self._places[start:last]), pictures=pictures,
            needs_ocr=unread,
        )  # fmt: skip


def _begun(places: Sequence[str]) -> Places:
    """The lines at which a place begins."""
    found: list[tuple[int, str]] = []
    for line, place in enumerate(places):
        if place and (not found or place != found[-1][1]):
            found.append((line, place))
    return tuple(found)


def page_borders(
    borders: Sequence[int], lines: Sequence[str], roles: Sequence[LineRole], paragraphs: Sequence[int], start: int = 0
) -> list[int]:
    """How good a place to end a page is before each line from ``start``: no heading is left at a page's end.

    ``borders`` are the markup's; ``paragraphs`` the lines, in order, that may begin a clause.
    """
    ranked = list(borders[start:])
    for at in paragraphs[bisect_left(paragraphs, start) :]:
        if ranked[at - start] <= PARAGRAPH and looks_like_clause(lines[at]):
            ranked[at - start] = CLAUSE
    titled = False
    for at in range(start, len(lines)):
        if lines[at]:
            if titled:
                ranked[at - start] = INSIDE
            titled = roles[at] == "heading"
    return ranked


def with_clauses(headings: Sequence[TitledLine], lines: Sequence[str], starts: Sequence[int]) -> list[HeadingLine]:
    """Headings by markup and the clauses below them, in order; ``starts`` are the lines that may begin one."""
    at_lines = [heading.line for heading in headings]
    clauses = find_clauses([(at, lines[at]) for at in starts], at_lines, lines)
    found: list[HeadingLine] = [(h.line, h.level, h.title, "markup") for h in headings]
    for under, group in groupby(clauses, key=lambda clause: bisect_right(at_lines, clause.line)):
        run = list(group)
        above = headings[under - 1].level if under else 0
        found += [
            (clause.line, above + level, clause.title, "clause")
            for clause, level in zip(run, clause_levels(run), strict=True)
        ]
    return sorted(found)
