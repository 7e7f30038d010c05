"""The protocol between the indexing process and its workers, and limits of slow pages.

Messages are pickled frames over pipes. MuPDF cannot be interrupted within a page, so a timer of CPU time ends the whole
worker. CPU time is independent of the load of the machine. Another worker then reads the range without that page.
"""

from __future__ import annotations

import os
import pickle
import signal
import struct
import threading
from dataclasses import dataclass, field, replace
from itertools import count, islice
from pathlib import Path
from typing import BinaryIO, Literal

from hybrid_core.errors import DocumentError, LimitError, PageIndexError
from hybrid_core.types.documents import Card, IndexedContent
from hybrid_core.types.locators import Illustration, PlacedLine, RegionsByPage
from indexers.assembly.chunks import ChunkSize
from indexers.formats.format import Drawing, PageNote, PictureOptions
from indexers.formats.limits import MAX_SLOW_PAGES, ParseLimits
from indexers.ocr.engines import EngineName, Ocr

_LENGTH = struct.Struct("<Q")


@dataclass(frozen=True, slots=True)
class ParseTask:
    """Parse the pages from ``start`` (from 1) to ``stop`` (excluded, 0 for the end of the file) into a spool file.

    The pages ``left_out`` are skipped, because they are too slow.
    """

    path: Path
    password: str | None
    start: int
    stop: int
    spool: Path
    limits: ParseLimits = field(default_factory=ParseLimits)
    left_out: tuple[int, ...] = ()

    def without(self, read: int) -> ParseTask:
        """Return the task without the page that follows the first ``read`` pages, because that page is too slow."""
        numbers = (number for number in count(self.start) if number not in self.left_out)
        return replace(self, left_out=(*self.left_out, next(islice(numbers, read, None))))


@dataclass(frozen=True, slots=True)
class ParsedRange:
    """The outcome of a parse task: the file's number of pages, and the pages of the range that need OCR."""

    pages: int
    unread: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ScanTask:
    """Run OCR on one page, or on the pictures on it.

    The result is the packed text of the page. With ``engine`` it is only the answer of that engine.
    """

    path: Path
    password: str | None
    page: int
    limits: ParseLimits
    ocr: Ocr
    engine: EngineName | None = None


@dataclass(frozen=True, slots=True)
class EngineAnswer:
    """The answer of one OCR engine. ``doubtful`` means that the text may be wrong."""

    packed: bytes
    text: str
    sure: int
    doubtful: bool


@dataclass(frozen=True, slots=True)
class LookTask:
    """Describe the pictures and shapes on pages ``start`` to ``stop`` (from 1, ``stop`` excluded).

    The result is a list of PageLook.
    """

    path: Path
    password: str | None
    start: int
    stop: int
    limits: ParseLimits


@dataclass(frozen=True, slots=True)
class DrawTask:
    """Draw one page for a model; the result is a tuple of images."""

    path: Path
    password: str | None
    page: int
    limits: ParseLimits
    drawing: Drawing


@dataclass(frozen=True, slots=True)
class PictureTask:
    """Draw one page for viewing, or several as a contact sheet; the result is the image."""

    path: Path
    password: str | None
    pages: tuple[int, ...]
    limits: ParseLimits
    picture: PictureOptions


@dataclass(frozen=True, slots=True)
class AnnotateTask:
    """Write a copy of a file with notes on its pages to the path ``result``."""

    path: Path
    password: str | None
    result: Path
    notes: tuple[PageNote, ...]
    limits: ParseLimits


@dataclass(frozen=True, slots=True)
class TextPictureTask:
    """Draw pages of a format without page images for viewing; the result is the image.

    They are drawn from their number, text and ``pictures``, or with ``path`` from the file, if its format can do this.
    """

    texts: tuple[tuple[int, str], ...]
    picture: PictureOptions
    pictures: tuple[tuple[Illustration, ...], ...]
    path: Path | None = None
    limits: ParseLimits = field(default_factory=ParseLimits)


@dataclass(frozen=True, slots=True)
class IllustrationsTask:
    """Find the pictures on pages of a format without page images; the result lists them by page.

    Each item of ``pages`` is a page's number and text.
    """

    path: Path
    password: str | None
    pages: tuple[tuple[int, str], ...]
    limits: ParseLimits


@dataclass(frozen=True, slots=True)
class PrintTask:
    """Convert a file to PDF by LibreOffice; the result is the PDF."""

    path: Path


@dataclass(frozen=True, slots=True)
class PrintedPictureTask:
    """Draw the page of a printed ``pdf`` that shows the text of the indexed page ``page``.

    See ``draw_office``.
    """

    pdf: bytes
    page: int
    text: str
    slide: bool
    picture: PictureOptions


@dataclass(frozen=True, slots=True)
class LayoutTask:
    """Find the positions of words, figures and tables on one page; the result is a PageLayout.

    ``lines`` are the stored lines with boxes. Without ``path`` the lines and ``pictures`` are drawn as a page.
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
    """Extract the files inside a container file to ``folder``; the result is Unpacked."""

    path: Path
    folder: Path
    limits: ParseLimits


@dataclass(frozen=True, slots=True)
class BuildTask:
    """Build the content of a document from its parsed ranges, and write it to ``result``.

    OCR results in ``scans`` are inserted. ``regions`` of a layout model refine the section tree; without them it is
    made by rules.
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
    """A small file of a batch. ``path`` is its private copy, ``name`` the name of the original file."""

    path: Path
    name: str
    sha256: str
    format: str


@dataclass(frozen=True, slots=True)
class BatchTask:
    """Parse small files and build their contents, one after the other.

    For each file a ``part`` reply is sent: its number in ``files``, and its SmallContent or the error. The final result
    is None.
    """

    files: tuple[SmallFile, ...]
    limits: ParseLimits
    chunks: ChunkSize


@dataclass(frozen=True, slots=True)
class SmallContent:
    """The content of a small file, its card (names, years and other facts), and the packed words of its pages.

    ``unread`` is True if it has pages or pictures that need OCR.
    """

    content: IndexedContent
    card: Card
    orders: tuple[bytes, ...]
    unread: bool


Task = (
    ParseTask | ScanTask | LookTask | DrawTask | PictureTask | TextPictureTask | IllustrationsTask
    | AnnotateTask | PrintTask | PrintedPictureTask | LayoutTask | RegionTask | UnpackTask | BuildTask | BatchTask
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Reply:
    """A reply of a worker.

    "ready" means that it accepts tasks. "page" means that one more page is parsed, with the file's page count. "part"
    means that a file of a batch is finished. "log" carries a log record. "done" carries the result of the task,
    "failed" its error.
    """

    kind: Literal["ready", "page", "part", "log", "done", "failed"]
    value: object = None


def send(stream: BinaryIO, value: Task | Reply) -> None:
    data = pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
    stream.write(_LENGTH.pack(len(data)) + data)
    stream.flush()


def receive(stream: BinaryIO) -> Task | Reply | None:
    """Return the next frame of a stream, None if the other process has closed it."""
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
    """Return a copy of an error that can be pickled.

    In its text, the path of a private copy is shortened to the name.
    """
    message = error.problem
    path = getattr(task, "path", None)
    if path is not None:
        message = message.replace(str(path), path.name)
    return type(error)(message, error.advice)


_ADVICE = "Raise the setting seconds_per_page, and index the file again."


_SLOW_STATUS = 86  # exit status on Windows, which has no signals
_timers: list[threading.Timer] = []


def end_after(seconds: float) -> None:
    """End this process after so many more seconds of computing time. 0 cancels the timer.

    On Windows it is elapsed time. If a library blocks all threads, the pool ends the process instead.
    """
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_PROF, seconds)
        return
    while _timers:
        _timers.pop().cancel()
    if seconds:
        _timers.append(threading.Timer(seconds, os._exit, (_SLOW_STATUS,)))
        _timers[0].daemon = True
        _timers[0].start()


def ended(status: int | None) -> bool:
    """Return whether an exit status of a process was caused by ``end_after``."""
    return status == (-signal.SIGPROF if hasattr(signal, "SIGPROF") else _SLOW_STATUS)


def too_slow(number: int, seconds: float) -> DocumentError:
    return LimitError(f"page {number} took longer than {seconds:g} s to read.", _ADVICE)


def too_many(seconds: float) -> LimitError:
    return LimitError(
        f"more than {MAX_SLOW_PAGES} pages of the file took longer than {seconds:g} s each to read.", _ADVICE
    )
