"""What readers have noted on a page: sticky notes and the comments of marked or struck-out text."""

from __future__ import annotations

from collections.abc import Iterator

import pymupdf

from hybrid_core.text.tokens import clean
from hybrid_core.types.documents import Line

_UNTEXTED = frozenset(
    {
        pymupdf.mupdf.PDF_ANNOT_LINK,
        pymupdf.mupdf.PDF_ANNOT_POPUP,
        pymupdf.mupdf.PDF_ANNOT_WIDGET,
        pymupdf.mupdf.PDF_ANNOT_FREE_TEXT,
    }
)  # whose text stands on the page, or who have none
_MOST, _LONGEST = 1_000, 20_000  # comments of a page, characters of one


def comments(page: pymupdf.Page) -> Iterator[Line]:
    """The comments of a page with their authors, in the order of the file; an answer follows what it answers."""
    numbers = [xref for xref, kind, _ in page.annot_xrefs() if kind not in _UNTEXTED][:_MOST]
    for xref in numbers:
        try:
            annotation = page.load_annot(xref)
            info, box = annotation.info, annotation.rect
        except Exception:  # noqa: BLE001 - a damaged comment must not cost the page
            continue
        text = clean(" ".join(info["content"][:_LONGEST].split())).strip()
        if not text:
            continue
        author = clean(" ".join(info["title"][:200].split())).strip()
        head = f"Comment by {author}" if author else "Comment"
        yield Line(f"[{head}] {text}", box.x0, box.y0, box.x1, box.y1, role="comment")
