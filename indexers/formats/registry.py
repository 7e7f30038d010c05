"""Which formats are read, and by which parser."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Protocol

from hybrid_core.errors import DocumentError
from hybrid_core.types.documents import ParsedPage
from indexers.formats.info import FileInfo
from indexers.formats.limits import ParseLimits

FORMATS = {".pdf": "pdf", ".md": "markdown", ".markdown": "markdown"}
"""Format by file ending, in small letters. A file that is named and ends otherwise is tried as a PDF."""

_WHOLE = frozenset({"markdown"})

_NAMES = {"pdf": "PDF", "markdown": "Markdown"}
_HEAD = 1024  # bytes within which a PDF says what it is

PARSERS = {"pdf": "pdf-1", "markdown": "markdown-1"}
"""Version of each format's parser: raising one re-indexes files of that format only."""


class OpenFile(Protocol):
    """A file that is being parsed. Pages are read in ranges, by their 1-based numbers."""

    pages: int

    def info(self) -> FileInfo: ...

    def read(self, numbers: Iterable[int], on_page: Callable[[int], None]) -> Iterator[ParsedPage | DocumentError]:
        """Pages in the order asked for; one that cannot be read comes as the error that says why."""

    def close(self) -> None: ...


def format_of(path: Path) -> str:
    return FORMATS.get(path.suffix.lower(), "pdf")


def read_whole(path: Path) -> bool:
    """Whether all of a file is parsed to know any page of it: then one task reads it, for each would parse it again."""
    return format_of(path) in _WHOLE


def formats_read() -> str:
    """In words: «PDF (.pdf) and Markdown (.md, .markdown)»."""
    endings: dict[str, list[str]] = {}
    for ending, format in FORMATS.items():
        endings.setdefault(format, []).append(ending)
    *most, last = (f"{_NAMES.get(format, format)} ({', '.join(held)})" for format, held in endings.items())
    return f"{', '.join(most)} and {last}" if most else last


def open_file(path: Path, password: str | None, limits: ParseLimits) -> OpenFile:
    """Open a file with its format's parser. Raises DocumentError where it cannot be read as that format."""
    if path.suffix.lower() not in FORMATS and _other(path):
        raise DocumentError(
            f"{path}: files of this kind are not read; what is read is {formats_read()}.",
            "Convert it, to PDF for example.",
        )
    if format_of(path) == "markdown":
        from indexers.formats.markdown.read import MarkdownFile

        return MarkdownFile(path, limits)
    from indexers.formats.pdf.read import PdfFile

    return PdfFile(path, password, limits)


def _other(path: Path) -> bool:
    """Whether a file holds something, and no PDF; one that cannot be read is its parser's to report."""
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD)
    except OSError:
        return False
    return bool(head) and b"%PDF-" not in head
