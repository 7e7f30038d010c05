"""Limits on how much of a file is read, and plain messages for read errors."""

from __future__ import annotations

import logging
import traceback
from dataclasses import dataclass, fields, replace
from pathlib import Path

from hybrid_core.errors import LimitError
from hybrid_core.system import out_of_memory
from hybrid_core.types.documents import ParsedPage


@dataclass(frozen=True, slots=True)
class ParseLimits:
    """Limits on reading a file; each is also a setting.

    Above the first two limits the file is refused. Above the others, less of it is read. ``max_objects`` counts entries
    of the cross-reference table. A page above ``max_page_lines`` or ``max_page_characters`` has no text, with a
    warning. ``seconds_per_page`` is computing time; up to MAX_SLOW_PAGES pages may exceed it. Above ``max_bookmarks``,
    or nested deeper than MAX_BOOKMARK_DEPTH, all bookmarks are ignored. ``max_entries`` and ``max_expanded_bytes``
    count files in a package (DOCX, EPUB …) and their uncompressed size. ``max_nesting`` is the depth of nested
    containers. ``hidden_text`` is "mark" to mark text that is not visible on the page, or "leave_out". ``max_cells``
    counts the cells of a sheet, including empty ones in between. ``max_pixels`` counts the pixels of a picture.
    """

    max_pages: int = 50_000
    max_objects: int = 2_000_000
    max_page_lines: int = 50_000
    max_page_characters: int = 2_000_000
    max_bookmarks: int = 20_000
    seconds_per_page: float = 15.0
    max_entries: int = 20_000
    max_expanded_bytes: int = 500_000_000
    max_nesting: int = 3
    max_cells: int = 5_000_000
    max_pixels: int = 100_000_000
    hidden_text: str = "mark"

    def __post_init__(self) -> None:
        for field in fields(self):
            if field.name != "hidden_text" and getattr(self, field.name) < 1:
                raise ValueError(f"{field.name} must be at least 1.")

    def check(self, name: str, value: int, what: str, file: object = "") -> None:
        """Raise LimitError if ``value`` exceeds the limit ``name``. ``what`` begins the message."""
        maximum = getattr(self, name)
        if value > maximum:
            raise LimitError(
                f"{what}; the limit is {maximum:,}.", f"Raise the setting {name}, and index the file again.", file=file
            )

    def check_file(self, path: Path) -> None:
        """Raise LimitError if a file that is read in one piece exceeds ``max_expanded_bytes``."""
        size = path.stat().st_size
        self.check("max_expanded_bytes", size, f"the file has {size:,} bytes", file=path)

    def page(self, page: ParsedPage, checked: frozenset[str]) -> ParsedPage | LimitError:
        """Return a page, or the LimitError with which it is refused.

        ``checked`` are the names of limits that the page's reader has already checked.
        """
        try:
            if "max_page_lines" not in checked:
                number = len(page.lines)
                self.check("max_page_lines", number, f"page {page.number} has {number:,} lines of text")
            if "max_page_characters" not in checked:
                number = len(page.text)
                self.check("max_page_characters", number, f"page {page.number} has {number:,} characters")
        except LimitError as error:
            return error
        return page if self.hidden_text == "mark" else _without_hidden(page)


def _without_hidden(page: ParsedPage) -> ParsedPage:
    if all(line.role != "hidden" for line in page.lines):
        return page
    return replace(page, lines=tuple(line for line in page.lines if line.role != "hidden"), places=())


MAX_SLOW_PAGES = 3  # each costs its seconds and a worker: with more, the file is refused
MAX_BOOKMARK_DEPTH = 256  # MuPDF reads an outline by recursion: far deeper ones overflow its stack


_log = logging.getLogger(__name__)


def system_reason(error: BaseException) -> str:
    """Return what the operating system says about an error, in brackets. Return "" for errors of a library.

    Texts of libraries ("File is not a zip file") mean nothing to a user.
    """
    return f" (the system says: {error.strerror})" if isinstance(error, OSError) and error.strerror else ""


def line_of_error(error: BaseException) -> str:
    """Return the line at which a parser found an error, in brackets; "" if it names none."""
    line = getattr(error, "lineno", None)
    return f" (line {line:,})" if isinstance(line, int) and line > 0 else ""


def plain_reason(error: BaseException, what: str = "") -> str:
    """Return a plain message for an error.

    If the message does not explain the error, log it with its place in the code. ``what`` names the file in the log.
    """
    if isinstance(error, OSError) and error.strerror:
        return f"the system says: {error.strerror}"
    if out_of_memory(error):
        return "there is not enough memory for it"
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    steps = traceback.extract_tb(error.__traceback__)
    at = f" ({steps[-1].filename}:{steps[-1].lineno})" if steps else ""
    _log.warning("%s%s: %s%s", f"{what}: " if what else "", type(error).__name__, error, at)
    return "an unexpected error occurred while reading it, so it may be damaged; the log has the details"
