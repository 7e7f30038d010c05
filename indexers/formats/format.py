"""The interface of a format: open a file, read metadata, draw pages, and list the files inside."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path, PurePosixPath
from typing import Literal, Protocol, runtime_checkable

from hybrid_core.errors import DocumentError
from hybrid_core.types.documents import Bookmark, MarkedHeading, ParsedPage
from hybrid_core.types.locators import PageLayout, PlacedLine, Region
from indexers.formats.limits import ParseLimits


@dataclass(frozen=True, slots=True)
class FileInfo:
    """Metadata of a file. ``warnings`` name damaged parts that were left out or repaired.

    ``headings`` is None if the format has no markup.
    """

    pages: int
    bookmarks: tuple[Bookmark, ...]
    metadata: dict[str, str]
    warnings: tuple[str, ...]
    headings: tuple[MarkedHeading, ...] | None = None


Bounds = tuple[int, int, int, int]


@dataclass(frozen=True, slots=True)
class PageLook:
    """Boxes in points, clipped to the page; ``width`` and ``height`` are the page's. ``pictures`` go with what tells
    that two pages show the same one. ``labelled`` are coloured bars around words: of a chart, or a table's rows.
    """

    number: int
    width: float
    height: float
    pictures: tuple[tuple[str, Bounds], ...]
    shapes: tuple[Bounds, ...]
    labelled: tuple[Bounds, ...] = ()


ImageFormat = Literal["png", "jpeg"]
PageView = Literal["page", "office"]
_LEAST_DPI = 1.0


@dataclass(frozen=True, slots=True)
class Drawing:
    """``side`` is the most pixels of a picture's longer side. A page that is larger at ``dpi`` is cut into at most
    ``tiles`` pictures; where these do not suffice it is drawn coarser. 1: it is always one picture.
    """

    dpi: int = 150
    format: ImageFormat = "png"
    side: int = 2000
    tiles: int = 4


@dataclass(frozen=True, slots=True)
class Picture:
    """``side`` is the most pixels of the longer side and ``most_bytes`` of the file, which only JPEG keeps to; 0: as
    large as ``dpi`` makes it. ``clip`` is the part of a single page that is drawn, None: all of it; ``title`` stands in
    a strip above it, and ``titles`` above the pages of a contact sheet in place of their numbers.
    """

    dpi: int = 150
    format: ImageFormat = "png"
    side: int = 0
    most_bytes: int = 0
    clip: tuple[float, float, float, float] | None = None
    title: str = ""
    titles: tuple[str, ...] = ()


def layout(width: float, height: float, how: Drawing) -> tuple[float, int, int]:
    """Return dots per inch, and tiles across and down, for a page of so many points."""
    dpi = float(how.dpi)
    if how.tiles == 1:
        return min(dpi, fitting(width, height, how.side)), 1, 1
    while dpi > _LEAST_DPI:
        across, down = (max(1, math.ceil(side * dpi / 72 / how.side - 1e-9)) for side in (width, height))
        if across * down <= how.tiles:
            return dpi, across, down
        dpi *= 0.95
    return fitting(width, height, how.side), 1, 1


def fitting(width: float, height: float, side: int) -> float:
    """Return the resolution at which the longer side has so many pixels."""
    return side / (max(width, height, 1.0) / 72)


_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_LONGEST = 120  # characters of a part of a name


@dataclass(frozen=True, slots=True)
class Member:
    """``name`` is what the container calls it, folders before it. ``read`` gives its bytes in pieces and raises
    DocumentError where they cannot be had.
    """

    name: str
    read: Callable[[], Iterable[bytes]]


Members = Callable[[Path, ParseLimits], Iterator[Member]]
"""Lists what a file holds. Raises DocumentError where it cannot be opened, LimitError where it holds too much."""


def clean_name(name: str) -> str:
    """Return a member's name as part of an address, without ways up, odd separators and control characters."""
    parts = (_CONTROLS.sub("_", part).strip() for part in name.replace("\\", "/").split("/"))
    return "/".join(
        _shorten_name(part.replace("!", "_") if part.endswith("!") else part) for part in parts if part.strip(".")
    )


def own_name(name: str) -> str:
    """Clean a name as ``clean_name`` does, and mark one that cleaning changed by a hash of what it was.

    So two names that differ stay two: "a/../b.md" is not "b.md", nor is one cut name another.
    """
    cleaned = clean_name(name)
    if not cleaned or cleaned == name:
        return cleaned
    path = PurePosixPath(cleaned)
    mark = "~" + sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:12] + path.suffix
    return str(path.with_name(path.stem[: max(0, _LONGEST - len(mark))] + mark))


def is_hidden(name: str) -> bool:
    """Return whether a folder's search would leave such a file out too; what macOS adds to archives is as hidden."""
    return any(part.startswith(".") or part == "__MACOSX" for part in name.split("/"))


def _shorten_name(part: str) -> str:
    if len(part) <= _LONGEST:
        return part
    stem, dot, ending = part.rpartition(".")
    return f"{(stem if dot else part)[: _LONGEST - 12]}…{dot}{ending[-10:]}" if dot else part[:_LONGEST]


class OpenFile(Protocol):
    """A file that is being parsed. Pages are read in ranges, by their 1-based numbers."""

    pages: int

    def info(self) -> FileInfo: ...

    def read(self, numbers: Iterable[int], on_page: Callable[[int], None]) -> Iterator[ParsedPage | DocumentError]:
        """Yield pages in the order asked for; an unreadable one comes as the error that says why.

        ``on_page`` hears of each page once it is read.
        """

    def close(self) -> None: ...


@runtime_checkable
class DrawnFile(Protocol):
    """An open file whose pages have a look, which OCR can read."""

    def grey(self, number: int, dpi: int) -> bytes:
        """Return a page (1-based) as a grey image in PGM."""


@runtime_checkable
class PicturedFile(Protocol):
    """An open file whose pages have no look, but pictures that OCR can read."""

    def page_pictures(self, number: int) -> Iterator[tuple[int, bytes]]:
        """Yield pictures of a page (1-based) that may show words, as grey PGM images; what one shows comes before
        the line (from 0) of the page that is named with it.
        """


@runtime_checkable
class IllustratedFile(Protocol):
    """An open file whose pages have no look, but pictures to be drawn with their text."""

    def images(self, number: int) -> Iterator[tuple[int, bytes]]:
        """Yield the pictures of a page (1-based) as stored, each with the line (from 0) that it comes before."""


Open = Callable[[Path, str | None, ParseLimits], OpenFile]
Look = Callable[[Path, str | None, int, int, ParseLimits], list[PageLook]]
Draw = Callable[[Path, str | None, int, Drawing, ParseLimits], tuple[bytes, ...]]
Layout = Callable[[Path, str | None, int, Sequence[PlacedLine], ParseLimits], PageLayout]
Regions = Callable[[Path, str | None, int, Sequence[PlacedLine], ParseLimits], tuple[Region, ...]]
Show = Callable[[Path, str | None, Sequence[int], Picture, ParseLimits], bytes]


@dataclass(frozen=True, slots=True)
class Format:
    """A file format.

    ``name`` is stored with documents, ``title`` is used in messages. ``suffixes`` are lower-case with the dot;
    ``sniff`` recognises a file by its first 1,024 bytes. A higher ``version`` makes its files be indexed again.

    ``open`` takes path, password and limits, and raises DocumentError for another or a damaged file. ``whole`` is True
    if the whole file must be parsed for any page. ``limits`` are those of ParseLimits that its reader checks itself.

    ``place`` is the word for a numbered position: page, slide, sheet, lines, …. ``members`` lists files inside, which
    become documents of their own; None if there are none. ``embeds`` tells quickly whether a file has any; None: it
    may.

    ``plain`` means that its bytes are its text, so that a small file has little of it.

    The rest is None for formats without page images. ``look`` describes the drawings on pages, ``draw`` returns images
    of a page for a model, ``show`` one image of one or several pages, ``layout`` the positions of words. ``regions``
    runs a layout model on a page.
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
    plain: bool = False
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
        """Return whether a model can be shown its pages."""
        return self.look is not None and self.draw is not None
