"""The interface of a file format: open a file, read metadata, draw pages, and list embedded files."""

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
from hybrid_core.types.locators import Box, PageLayout, PlacedLine, Region
from indexers.formats.limits import ParseLimits


@dataclass(frozen=True, slots=True)
class FileInfo:
    """Metadata of a file. ``warnings`` name damaged parts that were skipped or repaired.

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
    """The pictures and shapes on a page, without its text. Boxes are in points, clipped to the page.

    ``pictures`` pairs each box with a key that is equal for equal pictures on several pages. ``labelled`` are coloured
    bars around words, in a chart or in rows of a table.
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
    """Options for images of a page that a model is shown.

    ``side`` is the maximum of pixels on an image's longer side. A page that is larger at ``dpi`` is divided into at
    most ``tiles`` images; if these do not suffice, the resolution is reduced. With ``tiles`` 1 a page is never divided.
    """

    dpi: int = 150
    format: ImageFormat = "png"
    side: int = 2000
    tiles: int = 4


@dataclass(frozen=True, slots=True)
class PictureOptions:
    """Options for an image of one page, or of several, that a person views.

    ``side`` is the maximum number of pixels on the longer side, ``most_bytes`` the maximum file size (JPEG only); 0
    means no limit. ``clip`` is the part of a single page to draw, None for all of it. ``title`` is written in a strip
    above it. ``titles`` are written above the pages of a contact sheet in place of their numbers.
    """

    dpi: int = 150
    format: ImageFormat = "png"
    side: int = 0
    most_bytes: int = 0
    clip: tuple[float, float, float, float] | None = None
    title: str = ""
    titles: tuple[str, ...] = ()


def tiling(width: float, height: float, how: Drawing) -> tuple[float, int, int]:
    """Return the resolution in dpi, and the number of tiles across and down, for a page size in points."""
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
    """Return the resolution in dpi at which the longer side has ``side`` pixels."""
    return side / (max(width, height, 1.0) / 72)


_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_LONGEST = 120  # maximum characters of a name's part


@dataclass(frozen=True, slots=True)
class Member:
    """A file inside a container.

    ``name`` is its name in the container, including folders. ``read`` yields its bytes in pieces and raises
    DocumentError if they cannot be read.
    """

    name: str
    read: Callable[[], Iterable[bytes]]


Members = Callable[[Path, ParseLimits], Iterator[Member]]
"""A function that lists the files inside a file. It raises DocumentError if the file cannot be opened, LimitError if it
contains too much.
"""


def clean_name(name: str) -> str:
    """Return a member's name in a form that can be part of an address.

    Parent folders, unusual separators and control characters are removed.
    """
    parts = (_CONTROLS.sub("_", part).strip() for part in name.replace("\\", "/").split("/"))
    return "/".join(
        _shorten_name(part.replace("!", "_") if part.endswith("!") else part) for part in parts if part.strip(".")
    )


def own_name(name: str) -> str:
    """Clean a name like ``clean_name``, and append a hash of the original name if this changed it.

    The hash keeps different names different: "a/../b.md" does not become "b.md".
    """
    cleaned = clean_name(name)
    if not cleaned or cleaned == name:
        return cleaned
    path = PurePosixPath(cleaned)
    mark = "~" + sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:12] + path.suffix
    return str(path.with_name(path.stem[: max(0, _LONGEST - len(mark))] + mark))


def is_hidden(name: str) -> bool:
    """Return whether a file is hidden, or one that macOS adds to archives. Scans of folders skip such files."""
    return any(part.startswith(".") or part == "__MACOSX" for part in name.split("/"))


def _shorten_name(part: str) -> str:
    if len(part) <= _LONGEST:
        return part
    stem, dot, ending = part.rpartition(".")
    return f"{(stem if dot else part)[: _LONGEST - 12]}…{dot}{ending[-10:]}" if dot else part[:_LONGEST]


class OpenFile(Protocol):
    """A file that is being parsed. Pages are read by their 1-based numbers."""

    pages: int

    def info(self) -> FileInfo: ...

    def read(self, numbers: Iterable[int], on_page: Callable[[int], None]) -> Iterator[ParsedPage | DocumentError]:
        """Yield pages in the requested order. For an unreadable page, yield its error.

        ``on_page`` is called with each page number after the page is read.
        """

    def close(self) -> None: ...


@runtime_checkable
class DrawnFile(Protocol):
    """An open file whose pages have a layout, so that OCR can read them."""

    def grey(self, number: int, dpi: int) -> bytes:
        """Return a page (1-based) as a greyscale PGM image."""


@runtime_checkable
class PicturedFile(Protocol):
    """An open file without page layout, but with pictures that OCR can read."""

    def page_pictures(self, number: int) -> Iterator[tuple[int, bytes]]:
        """Yield pictures of a page (1-based) that may show words, as greyscale PGM images.

        Each comes with the line (from 0) before which its words are inserted.
        """


@runtime_checkable
class IllustratedFile(Protocol):
    """An open file without page layout, but with pictures to show with its text."""

    def images(self, number: int) -> Iterator[tuple[int, bytes]]:
        """Yield the stored pictures of a page (1-based), each with the line (from 0) before which it is shown."""


@dataclass(frozen=True, slots=True)
class PageNote:
    """A note to write into a copy of a file.

    It is on a page (1-based), or on the words at ``boxes`` of the page's image.
    """

    page: int
    boxes: tuple[Box, ...]
    text: str
    author: str


Open = Callable[[Path, str | None, ParseLimits], OpenFile]
Look = Callable[[Path, str | None, int, int, ParseLimits], list[PageLook]]
Draw = Callable[[Path, str | None, int, Drawing, ParseLimits], tuple[bytes, ...]]
Layout = Callable[[Path, str | None, int, Sequence[PlacedLine], ParseLimits], PageLayout]
Regions = Callable[[Path, str | None, int, Sequence[PlacedLine], ParseLimits], tuple[Region, ...]]
Annotate = Callable[[Path, str | None, Path, Sequence[PageNote], ParseLimits], None]
Show = Callable[[Path, str | None, Sequence[int], PictureOptions, ParseLimits], bytes]
Sketch = Callable[[Path, int, str, ParseLimits], tuple[bytes, PageLayout]]


@dataclass(frozen=True, slots=True)
class Format:
    """A file format: its names, its limits, and the functions that read its files.

    ``name`` is stored with documents, ``title`` is used in messages. ``suffixes`` are lower-case with the dot;
    ``sniff`` recognises a file by its first 1,024 bytes. Files are indexed again when ``version`` increases. ``open``
    takes path, password and limits, and raises DocumentError for another or a damaged file. ``needs_whole_file`` means
    that the whole file must be parsed for any page. ``limits`` are the ParseLimits that its reader checks itself.
    ``place`` is the word for a numbered position: page, slide, sheet, lines, …. ``members`` lists embedded files, which
    become separate documents; None if there are none. ``embeds`` is a fast test for embedded files; None if there is no
    such test. ``may_have_pictures`` means that its pages may show pictures beside their text. ``reads_siblings`` means
    that a file shows other files of its folder. ``office_prints`` means that LibreOffice can print its pages,
    ``bytes_are_text`` that its bytes are plain text, so that small files are indexed in batches. ``sketch`` draws a
    page from the file and the page's stored text, as a PDF of one page with the positions of its words. Without it,
    pages without images are drawn from their text.

    The remaining functions are None for formats without page images. ``look`` describes the drawings on pages, and
    ``layout`` the positions of words. ``draw`` returns images of a page for a model, ``show`` one image of one or
    several pages. ``regions`` runs a layout model on a page. ``annotate`` writes a copy with notes to a new path.
    """

    name: str
    title: str
    suffixes: tuple[str, ...]
    version: str
    open: Open
    sniff: Callable[[bytes], bool] | None = None
    needs_whole_file: bool = False
    limits: frozenset[str] = frozenset()
    place: str = "page"
    members: Members | None = None
    may_have_pictures: bool = False
    reads_siblings: bool = False
    office_prints: bool = False
    bytes_are_text: bool = False
    sketch: Sketch | None = None
    look: Look | None = None
    draw: Draw | None = None
    show: Show | None = None
    layout: Layout | None = None
    regions: Regions | None = None
    annotate: Annotate | None = None
    embeds: Callable[[Path], bool] | None = None

    def may_hold(self, path: Path) -> bool:
        """Return whether a file of this format may have embedded files, by a fast test."""
        return self.members is not None and (self.embeds is None or self.embeds(path))

    @property
    def has_page_images(self) -> bool:
        """Return whether a vision model can be shown its pages."""
        return self.look is not None and self.draw is not None
