"""PDF -> parsed pages, with PyMuPDF. Ranges of pages are read separately so that memory stays flat."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pymupdf

from hybrid_core.errors import DocumentError, PasswordError
from hybrid_core.text import clean
from hybrid_core.types import Bookmark, Line, ParsedPage
from indexers.parse.info import FileInfo

_FLAGS = pymupdf.TEXT_PRESERVE_WHITESPACE | pymupdf.TEXT_MEDIABOX_CLIP | pymupdf.TEXT_ACCURATE_BBOXES
_BOLD, _ITALIC = pymupdf.TEXT_FONT_BOLD, pymupdf.TEXT_FONT_ITALIC
_CELL_GAP = "  "  # between pieces of one row; inside a piece white space is always single

pymupdf.TOOLS.mupdf_display_errors(False)
pymupdf.TOOLS.mupdf_display_warnings(False)


def open_pdf(path: Path, password: str | None = None) -> pymupdf.Document:
    """Open a PDF for reading.

    Raises PasswordError where a password is needed or wrong, DocumentError where the file is
    missing, not a PDF, damaged beyond repair, or has no pages.
    """
    try:
        with path.open("rb") as file:
            head = file.read(1024)
    except OSError as error:
        raise DocumentError(f"{path}: cannot be read ({error.strerror}).") from error
    if not head:
        raise DocumentError(f"{path}: the file is empty.")
    if b"%PDF-" not in head:
        raise DocumentError(f"{path}: not a PDF (it does not begin with %PDF-).")
    try:
        document = pymupdf.open(path, filetype="pdf")
        locked = bool(document.needs_pass and not document.authenticate(password or ""))
        pages = 0 if locked else document.page_count
    except Exception as error:  # noqa: BLE001 - MuPDF raises many types for damaged input
        reason = " ".join(str(error).replace(str(path), path.name).split())
        raise DocumentError(f"{path}: damaged, no PDF reader can open it ({reason}).") from error
    if locked:
        document.close()
        said = "the password is wrong" if password else "encrypted"
        raise PasswordError(f"{path}: {said}.", "Give its password with --password.")
    if pages == 0:
        document.close()
        raise DocumentError(f"{path}: it has no pages, or they are damaged beyond repair.")
    return document


def read_info(document: pymupdf.Document) -> FileInfo:
    """Page count, bookmarks and metadata of an open PDF; what is damaged is left out and said."""
    warnings = []
    if document.is_repaired:
        warnings.append("the file was damaged and has been repaired while reading; pages may be missing")
    try:
        bookmarks = tuple(_bookmarks(document))
    except Exception as error:  # noqa: BLE001 - a broken outline must not cost the document
        bookmarks = ()
        warnings.append(f"its bookmarks are damaged and were ignored ({error})")
    if not bookmarks and document.xref_get_key(document.pdf_catalog(), "Outlines")[0] == "xref":
        warnings.append("it has bookmarks, but none that can be read")
    metadata = {
        key: clean(value).strip()
        for key, value in (document.metadata or {}).items()
        if value and isinstance(value, str)
    }
    return FileInfo(document.page_count, bookmarks, {k: v for k, v in metadata.items() if v}, tuple(warnings))


def _bookmarks(document: pymupdf.Document) -> Iterator[Bookmark]:
    for level, title, page, target in document.get_toc(simple=False):
        point = target.get("to")
        inside = 1 <= page <= document.page_count
        y = float(point.y) if inside and point is not None and target.get("kind") == pymupdf.LINK_GOTO else None
        if title := clean(title.replace("\n", " ")).strip():
            yield Bookmark(level, title, page if inside else 0, y)


def read_pages(
    document: pymupdf.Document, numbers: Iterable[int], on_page: Callable[[int], None] = lambda _: None
) -> Iterator[ParsedPage | DocumentError]:
    """Parse pages by their 1-based numbers; a page that cannot be read comes as the error that says why."""
    for number in numbers:
        try:
            yield _read_page(document, number)
        except Exception as error:  # noqa: BLE001 - one damaged page must not cost the others
            yield DocumentError(f"page {number} could not be read ({error})")
        on_page(number)


def _read_page(document: pymupdf.Document, number: int) -> ParsedPage:
    page = document[number - 1]
    found = page.get_text("dict", flags=_FLAGS, sort=False)
    shown = page.rotation_matrix if page.rotation else None  # text comes in the page's unrotated space
    lines = tuple(_merge_rows(_lines(found["blocks"], shown)))
    return ParsedPage(
        number=number,
        label=page.get_label(),
        width=float(page.rect.width),
        height=float(page.rect.height),
        lines=lines,
        images=len(page.get_images()) if lines else len(page.get_bboxlog()),
    )


def _lines(blocks: list[dict[str, Any]], shown: pymupdf.Matrix | None) -> Iterator[tuple[Line, bool]]:
    """Every text line with whether it runs left to right and level (only such lines are joined into rows)."""
    for block in blocks:
        for raw in block.get("lines", ()):
            spans = raw["spans"]
            text = clean("".join([span["text"] for span in spans])).strip()
            if not text:
                continue
            main = spans[0] if len(spans) == 1 else max(spans, key=lambda span: len(span["text"].strip()))
            flags, font = main["flags"], main["font"]
            x0, y0, x1, y1 = raw["bbox"] if shown is None else pymupdf.Rect(raw["bbox"]) * shown
            bold = bool(flags & _BOLD) or "bold" in font.lower() or "black" in font.lower()
            line = Line(text, x0, y0, x1, y1, round(main["size"], 1), bold, bool(flags & _ITALIC), font)
            along_x, along_y = raw["dir"]
            yield line, (along_x if shown is None else along_x * shown.a + along_y * shown.c) > 0.99


def _merge_rows(lines: Iterable[tuple[Line, bool]]) -> Iterator[Line]:
    """Join pieces that stand side by side (the cells of a table row) into one line."""
    row: Line | None = None
    row_level = False
    for line, level in lines:
        if row is not None and row_level and level and _same_row(row, line):
            longer = row if len(row.text) >= len(line.text) else line
            gap = _CELL_GAP if line.x0 - row.x1 > 0.6 * line.size else " "
            row = Line(
                row.text + gap + line.text, min(row.x0, line.x0), min(row.y0, line.y0), max(row.x1, line.x1),
                max(row.y1, line.y1), longer.size, row.bold and line.bold, row.italic and line.italic, longer.font,
            )  # fmt: skip
            continue
        if row is not None:
            yield row
        row, row_level = line, level
    if row is not None:
        yield row


def _same_row(left: Line, right: Line) -> bool:
    overlap = min(left.y1, right.y1) - max(left.y0, right.y0)
    return right.x0 >= left.x1 - 1 and overlap > 0.6 * min(left.y1 - left.y0, right.y1 - right.y0)
