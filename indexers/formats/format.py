"""What a format is to the rest of the engine: how its files are told, opened and shown."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, runtime_checkable

from hybrid_core.errors import DocumentError
from hybrid_core.types.documents import ParsedPage
from hybrid_core.types.layouts import PageLayout, PlacedLine, Region
from indexers.formats.drawing import Drawing, Picture
from indexers.formats.info import FileInfo
from indexers.formats.limits import ParseLimits
from indexers.formats.members import Members
from indexers.formats.page_look import PageLook


class OpenFile(Protocol):
    """A file that is being parsed. Pages are read in ranges, by their 1-based numbers."""

    pages: int

    def info(self) -> FileInfo: ...

    def read(self, numbers: Iterable[int], on_page: Callable[[int], None]) -> Iterator[ParsedPage | DocumentError]:
        """Pages in the order asked for; one that cannot be read comes as the error that says why.

        ``on_page`` hears of each page once it is read.
        """

    def close(self) -> None: ...


@runtime_checkable
class DrawnFile(Protocol):
    """An open file whose pages have a look, which OCR can read."""

    def grey(self, number: int, dpi: int) -> bytes:
        """A page (1-based) as a grey image in PGM."""


@runtime_checkable
class PicturedFile(Protocol):
    """An open file whose pages have no look, but pictures that OCR can read."""

    def page_pictures(self, number: int) -> Iterator[tuple[int, bytes]]:
        """The pictures of a page (1-based) that may show words, as grey images in PGM; what one shows comes before
        the line (from 0) of the page that is named with it.
        """


@runtime_checkable
class IllustratedFile(Protocol):
    """An open file whose pages have no look, but pictures to be drawn with their text."""

    def images(self, number: int) -> Iterator[tuple[int, bytes]]:
        """The pictures of a page (1-based) as the file has them, each with the line (from 0) that it comes before."""


Open = Callable[[Path, str | None, ParseLimits], OpenFile]
Look = Callable[[Path, str | None, int, int, ParseLimits], list[PageLook]]
Draw = Callable[[Path, str | None, int, Drawing, ParseLimits], tuple[bytes, ...]]
Layout = Callable[[Path, str | None, int, Sequence[PlacedLine], ParseLimits], PageLayout]
Regions = Callable[[Path, str | None, int, Sequence[PlacedLine], ParseLimits], tuple[Region, ...]]
Show = Callable[[Path, str | None, Sequence[int], Picture, ParseLimits], bytes]


@dataclass(frozen=True, slots=True)
class Format:
    """``name`` is stored with each document, ``title`` stands in messages. ``suffixes`` are file endings with their
    dot, in small letters; ``sniff`` tells from its first 1,024 bytes whether a file that is named and ends otherwise
    is of this format. Raising ``version`` has its files indexed again.

    ``open`` takes path, password and limits, and raises DocumentError for a file that is not of this format or
    damaged. ``whole``: all of a file is parsed to know any page of it. ``limits`` are those of ParseLimits that its
    reader keeps to by itself; what goes by pages is else checked by the worker.

    ``place`` is what a numbered place in a file is called: page, slide, sheet, lines, …; its label says which one
    it is. ``members`` lists the files inside a file, which become documents of their own; None: there are none.
    ``embeds`` tells at a glance whether a file has any; None: each may.

    What follows is None where pages have no look. ``look`` tells what is drawn on pages from a first to a last one
    (1-based, excluded), ``draw`` gives the pictures of one page for a model, ``show`` one picture of one page or of
    several, ``layout`` where the words of a page stand, whose lines it is given. Without these the text is drawn.
    ``regions`` tells what its parts are by a layout model, given the lines that were read from its picture.
    """

    name: str
    title: str
    suffixes: tuple[str, ...]
    version: str
    open: Open
    sniff: Callable[[bytes], bool] | None = None
    whole: bool = False
    limits: frozenset[str] = frozenset()
    place: str = "page"
    members: Members | None = None
    illustrated: bool = False
    nearby: bool = False
    printed: bool = False
    look: Look | None = None
    draw: Draw | None = None
    show: Show | None = None
    layout: Layout | None = None
    regions: Regions | None = None
    embeds: Callable[[Path], bool] | None = None

    def may_hold(self, path: Path) -> bool:
        """Return whether files may lie in a file of this format."""
        return self.members is not None and (self.embeds is None or self.embeds(path))

    @property
    def seen(self) -> bool:
        """Whether a model can be shown its pages."""
        return self.look is not None and self.draw is not None
