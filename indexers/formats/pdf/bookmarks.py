"""A PDF's own outline, read so that a hostile one costs neither the process nor minutes."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pymupdf

from hybrid_core.errors import LimitError
from hybrid_core.text.tokens import clean
from hybrid_core.types.documents import Bookmark
from indexers.formats.limits import MAX_BOOKMARK_DEPTH, ParseLimits
from indexers.formats.pdf.encoding import fold_forms

_REFERENCE = re.compile(r"(\d+) \d+ R")
_LONGEST_TITLE = 1_000  # characters


class PatientDocument(pymupdf.Document):
    """A document whose outline is not read when it is opened: MuPDF does that by recursion, and may crash."""

    outline_checked = False

    def _loadOutline(self) -> object:  # noqa: N802 - PyMuPDF's name
        return super()._loadOutline() if self.outline_checked else None


def read_bookmarks(document: pymupdf.Document, limits: ParseLimits) -> tuple[tuple[Bookmark, ...], list[str]]:
    """The bookmarks in order, and what had to be left out."""
    try:
        depth, count = _extent(document, limits.max_bookmarks)
        limits.check("max_bookmarks", count, f"its bookmarks were ignored: there are at least {count:,}")
        if depth > MAX_BOOKMARK_DEPTH:
            return (), [f"its bookmarks were ignored: they are nested deeper than {MAX_BOOKMARK_DEPTH} levels"]
        if isinstance(document, PatientDocument):
            document.outline_checked = True
        bookmarks = tuple(_bookmarks(document))
    except LimitError as error:
        return (), [str(error)]
    except Exception as error:  # noqa: BLE001 - a broken outline must not cost the document
        return (), [f"its bookmarks are damaged and were ignored ({error})"]
    if not bookmarks and document.xref_get_key(document.pdf_catalog(), "Outlines")[0] == "xref":
        return (), ["it has bookmarks, but none that can be read"]
    return bookmarks, []


def _bookmarks(document: pymupdf.Document) -> Iterator[Bookmark]:
    for level, title, page, target in document.get_toc(simple=False):
        point = target.get("to")
        inside = 1 <= page <= document.page_count
        y = float(point.y) if inside and point is not None and target.get("kind") == pymupdf.LINK_GOTO else None
        if title := clean(fold_forms(title[:_LONGEST_TITLE].replace("\n", " "))).strip():
            yield Bookmark(level, title, page if inside else 0, y)


def _extent(document: pymupdf.Document, most: int) -> tuple[int, int]:
    """How deep the outline is nested and how many entries it has; counting stops just over either limit."""
    if document.xref_length() <= min(most, MAX_BOOKMARK_DEPTH):
        return 0, 0
    deepest = 0
    seen: set[int] = set()
    waiting = [(_follow(document, _follow(document, document.pdf_catalog(), "Outlines"), "First"), 1)]
    while waiting:
        entry, depth = waiting.pop()
        while entry and entry not in seen and len(seen) <= most and deepest <= MAX_BOOKMARK_DEPTH:
            seen.add(entry)
            deepest = max(deepest, depth)
            if child := _follow(document, entry, "First"):
                waiting.append((child, depth + 1))
            entry = _follow(document, entry, "Next")
    return deepest, len(seen)


def _follow(document: pymupdf.Document, entry: int, key: str) -> int:
    """The object that an entry's key refers to, 0 where there is none."""
    if not 0 < entry < document.xref_length():
        return 0
    reference = _REFERENCE.fullmatch(document.xref_get_key(entry, key)[1])
    return int(reference[1]) if reference else 0
