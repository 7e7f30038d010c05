"""A PDF that is opened to be looked at: what can go wrong then is said in one place."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pymupdf

from hybrid_core.errors import DocumentError, LimitError
from indexers.formats.limits import ParseLimits, out_of_memory
from indexers.formats.pdf.read import open_pdf

_last: dict[tuple[object, ...], pymupdf.Document] = {}  # one at most: its next page is likely asked for


@contextmanager
def viewing(path: Path, password: str | None, limits: ParseLimits) -> Iterator[pymupdf.Document]:
    """An open PDF, which stays open until another is looked at or it fails. Raises what ``open_pdf`` raises.

    For a process that does one thing at a time, as workers do.
    """
    key = (path, _told(path), password, limits)
    document = _last.pop(key, None)
    if document is None:
        while _last:
            _last.popitem()[1].close()
        document = open_pdf(path, password, limits)
    try:
        yield document
    except BaseException:
        document.close()
        raise
    _last[key] = document


def _told(path: Path) -> tuple[int, ...]:
    try:
        stat = path.stat()
    except OSError:
        return ()
    return stat.st_ino, stat.st_size, stat.st_mtime_ns


@contextmanager
def drawing(what: str, setting: str) -> Iterator[None]:
    """Raises DocumentError where ``what`` cannot be drawn, LimitError where that takes too much memory: then
    ``setting`` is to be lowered.
    """
    try:
        yield
    except DocumentError:
        raise
    except Exception as error:  # MuPDF raises many types
        if out_of_memory(error):
            raise LimitError(
                f"{what} cannot be drawn in the memory that a worker may use.", f"Lower the setting {setting}."
            ) from error
        raise DocumentError(f"{what} cannot be drawn ({error}).") from error
