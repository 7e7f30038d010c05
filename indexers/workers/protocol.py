"""The protocol between the indexing process and its workers: pickled frames over pipes, and limits of slow pages.

Nothing can interrupt MuPDF within a page. The system's own timer of computing time, which a busy machine does not
shorten, ends the worker. Another worker then reads the range without that page.
"""

from __future__ import annotations

import pickle
import signal
import struct
from dataclasses import dataclass, field, replace
from itertools import count, islice
from pathlib import Path
from typing import BinaryIO, Literal

from hybrid_core.errors import DocumentError, LimitError, PageIndexError
from hybrid_core.types.documents import Card, IndexedContent
from hybrid_core.types.locators import Illustration, PlacedLine, RegionsByPage
from indexers.assembly.chunks import ChunkSize
from indexers.formats.format import Drawing, Picture
from indexers.formats.limits import MAX_SLOW_PAGES, ParseLimits
from indexers.ocr.engines import EngineName, Ocr

_LENGTH = struct.Struct("<Q")


@dataclass(frozen=True, slots=True)
class ParseTask:
    """Parse pages ``start`` to ``stop`` (from 1, ``stop`` excluded; 0: to the end) into a spool file.

    ``left_out`` pages are skipped because they are too slow.
    """

    path: Path
    password: str | None
    start: int
    stop: int
    spool: Path
    limits: ParseLimits = field(default_factory=ParseLimits)
    left_out: tuple[int, ...] = ()

    def without(self, read: int) -> ParseTask:
        """Return the task without the page that comes after so many that were read."""
        numbers = (number for number in count(self.start) if number not in self.left_out)
        return replace(self, left_out=(*self.left_out, next(islice(numbers, read, None))))


@dataclass(frozen=True, slots=True)
class ParsedRange:
    """The outcome of a parse task: the number of pages of the file, and those of its range that need OCR."""

    pages: int
    unread: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ScanTask:
    """Run OCR on one page, or on the pictures on it.

    The result is the packed reading or, with ``engine``, the answer of that engine.
    """

    path: Path
    password: str | None
    page: int
    limits: ParseLimits
    ocr: Ocr
    engine: EngineName | None = None


@dataclass(frozen=True, slots=True)
class EngineAnswer:
    """The answer of one engine. ``doubtful`` means that the text may be wrong."""

    packed: bytes
    text: str
    sure: int
    doubtful: bool


@dataclass(frozen=True, slots=True)
class LookTask:
    """Describe the drawings on pages ``start`` to ``stop`` (from 1, ``stop`` excluded): a list of PageLook."""

    path: Path
    password: str | None
    start: int
    stop: int
    limits: ParseLimits


@dataclass(frozen=True, slots=True)
class DrawTask:
    """Draw one page; the result is a tuple of images."""

    path: Path
    password: str | None
    page: int
    limits: ParseLimits
    drawing: Drawing


@dataclass(frozen=True, slots=True)
class PictureTask:
    """Draw pages for viewing, several as a contact sheet; the result is the image."""

    path: Path
    password: str | None
    pages: tuple[int, ...]
    limits: ParseLimits
    picture: Picture


@dataclass(frozen=True, slots=True)
class TextPictureTask:
    """Draw pages of a format without pages from number, text and ``pictures``, like PictureTask."""

    texts: tuple[tuple[int, str], ...]
    picture: Picture
    pictures: tuple[tuple[Illustration, ...], ...]


@dataclass(frozen=True, slots=True)
class IllustrationsTask:
    """Tell what pictures pages without a look show, each its number and its text; its value are they, page by page."""

    path: Path
    password: str | None
    pages: tuple[tuple[int, str], ...]
    limits: ParseLimits


@dataclass(frozen=True, slots=True)
class PrintTask:
    """Have LibreOffice print a file; its value is the PDF."""

    path: Path


@dataclass(frozen=True, slots=True)
class PrintedPictureTask:
    """Draw the page of a printed ``pdf`` that shows page ``page``, whose text is given, as ``draw_office`` does."""

    pdf: bytes
    page: int
    text: str
    slide: bool
    picture: Picture


@dataclass(frozen=True, slots=True)
class LayoutTask:
    """Find the positions of words, figures and tables on one page; the result is a PageLayout.

    ``lines`` are the stored lines with boxes. ``path`` is None for formats without page images; then ``pictures`` are
    drawn with the lines.
    """

    path: Path | None
    password: str | None
    page: int
    lines: tuple[PlacedLine, ...]
    limits: ParseLimits
    pictures: tuple[Illustration, ...] = ()


@dataclass(frozen=True, slots=True)
class RegionTask:
    """Run the layout model on one page; the result is a tuple of Region.

    ``lines`` are OCR lines of a page without text of its own.
    """

    path: Path
    password: str | None
    page: int
    lines: tuple[PlacedLine, ...]
    limits: ParseLimits


@dataclass(frozen=True, slots=True)
class UnpackTask:
    """Write the members of a file into ``folder``; its value is Unpacked."""

    path: Path
    folder: Path
    limits: ParseLimits


@dataclass(frozen=True, slots=True)
class BuildTask:
    """Build the content of a document from its parsed ranges into ``result``; OCR results in ``scans`` are inserted.

    ``regions`` refine the tree; without them it is made by rules.
    """

    name: str
    sha256: str
    format: str
    spools: tuple[Path, ...]
    result: Path
    chunks: ChunkSize
    scans: tuple[bytes, ...] = ()
    regions: RegionsByPage | None = None


@dataclass(frozen=True, slots=True)
class SmallFile:
    """A small file of a batch. ``path`` is its private copy, ``name`` its own name."""

    path: Path
    name: str
    sha256: str
    format: str


@dataclass(frozen=True, slots=True)
class BatchTask:
    """Parse small files and build their contents, one after the other.

    Each file is a ``part`` reply: its number in ``files``, and its SmallContent or the error. The result is None.
    """

    files: tuple[SmallFile, ...]
    limits: ParseLimits
    chunks: ChunkSize


@dataclass(frozen=True, slots=True)
class SmallContent:
    """A content of a small file, its card, and the stored words of its pages (``page_orders``).

    ``unread``: it has pages or pictures that need OCR.
    """

    content: IndexedContent
    card: Card
    orders: tuple[bytes, ...]
    unread: bool


Task = (
    ParseTask | ScanTask | LookTask | DrawTask | PictureTask | TextPictureTask | IllustrationsTask
    | PrintTask | PrintedPictureTask | LayoutTask | RegionTask | UnpackTask | BuildTask | BatchTask
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Reply:
    """A reply of a worker. ``ready``: it accepts tasks. ``page``: one more page is parsed, with the file's page count.
    ``part``: a file of a batch is done.

    ``done``: the result of the task. ``failed``: its error.
    """

    kind: Literal["ready", "page", "part", "done", "failed"]
    value: object = None


def send(stream: BinaryIO, value: Task | Reply) -> None:
    data = pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
    stream.write(_LENGTH.pack(len(data)) + data)
    stream.flush()


def receive(stream: BinaryIO) -> Task | Reply | None:
    """Return the next frame; None at the end of the stream (the other side is gone)."""
    head = stream.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        return None
    data = stream.read(_LENGTH.unpack(head)[0])
    try:
        value: Task | Reply = pickle.loads(data)
    except (EOFError, pickle.UnpicklingError):
        return None
    return value


def portable(error: PageIndexError, task: Task) -> PageIndexError:
    """Return an error that survives pickling: same class, same words, but without the path of a private copy."""
    message = error.problem
    path = getattr(task, "path", None)
    if path is not None:
        message = message.replace(str(path), path.name)
    return type(error)(message, error.advice)


_ADVICE = "Raise the setting seconds_per_page to read {}."


def end_after(seconds: float) -> None:
    """End this process once it has computed for so many seconds from now on; 0: not any more."""
    signal.setitimer(signal.ITIMER_PROF, seconds)


def ended(status: int | None) -> bool:
    """Return whether an exit status tells of ``end_after``."""
    return status == -signal.SIGPROF


def too_slow(number: int, seconds: float) -> DocumentError:
    return LimitError(f"page {number} took longer than {seconds:g} s to read.", _ADVICE.format("it"))


def too_many(seconds: float) -> LimitError:
    return LimitError(
        f"more than {MAX_SLOW_PAGES} of its pages took longer than {seconds:g} s each.", _ADVICE.format("them")
    )
