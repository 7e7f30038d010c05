"""Parsing of PDF pages with PyMuPDF. Ranges of pages are read separately to limit the memory."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from sys import intern
from typing import Any

import pymupdf

from hybrid_core.errors import DocumentError, LimitError
from hybrid_core.system import out_of_memory
from hybrid_core.text.tokens import clean, readable
from hybrid_core.types.documents import Line, LineRole, ParsedPage, hidden_places
from hybrid_core.types.notes import Note
from indexers.formats.format import FileInfo
from indexers.formats.limits import ParseLimits, plain_reason
from indexers.formats.pdf.document import open_pdf, read_bookmarks, too_large
from indexers.formats.pdf.hidden import Visibility, has_word, text_of
from indexers.formats.pdf.line_text import (
    RIGHT_TO_LEFT,
    close_up,
    dingbats,
    fold_forms,
    is_right_to_left,
    is_rubbish,
    is_spaced,
    keep_unknown,
    mend_sizes,
    read_line,
    read_spaced,
    shift_words,
)
from indexers.formats.pdf.reading_order import Piece, arrange, said_once
from indexers.formats.pdf.xfa import form_lines
from indexers.formats.word_boxes import around

_UNTEXTED = frozenset(
    {
        pymupdf.mupdf.PDF_ANNOT_LINK,
        pymupdf.mupdf.PDF_ANNOT_POPUP,
        pymupdf.mupdf.PDF_ANNOT_WIDGET,
        pymupdf.mupdf.PDF_ANNOT_FREE_TEXT,
    }
)  # annotations whose text is on the page, or that have none
_UNSEEN = pymupdf.mupdf.PDF_ANNOT_IS_HIDDEN | pymupdf.mupdf.PDF_ANNOT_IS_NO_VIEW
_MOST, _LONGEST = 1_000, 20_000  # maximum comments per page, and characters per comment


def comments(page: pymupdf.Page) -> Iterator[Line]:
    """Yield a page's comments and struck-out words with their authors, in the order of the file.

    A reply follows its comment.
    """
    numbers = [(xref, kind) for xref, kind, _ in page.annot_xrefs() if kind not in _UNTEXTED][:_MOST]
    textpage = None
    for xref, kind in numbers:
        try:
            annotation = page.load_annot(xref)
            info, box = annotation.info, annotation.rect
        except Exception:  # noqa: BLE001 - a damaged comment must not cost the page
            continue
        author = clean(" ".join(info["title"][:200].split())).strip()
        texts = {"Comment": info["content"][:_LONGEST]}
        if kind == pymupdf.mupdf.PDF_ANNOT_STRIKE_OUT:
            textpage = textpage or page.get_textpage()
            texts = {"Struck out": _words_below(page, annotation, textpage)[:_LONGEST], **texts}
        for head, words in texts.items():
            if text := clean(" ".join(words.split())).strip():
                by = f" by {author}" if author else ""
                yield Line(f"[{head}{by}] {text}", box.x0, box.y0, box.x1, box.y1, role="comment")


def _words_below(page: pymupdf.Page, annotation: pymupdf.Annot, textpage: pymupdf.TextPage) -> str:
    """Return the words of a page that an annotation marks, one line of them after the other."""
    corners = annotation.vertices or []
    boxes = [pymupdf.Quad(corners[at : at + 4]).rect for at in range(0, len(corners) - 3, 4)]
    words = page.get_text("words", textpage=textpage)
    return " ".join(
        word[4] for box in boxes for word in words
        if box.contains(pymupdf.Point((word[0] + word[2]) / 2, (word[1] + word[3]) / 2))
    )  # fmt: skip


TEXT_FLAGS = pymupdf.TEXT_PRESERVE_WHITESPACE | pymupdf.TEXT_MEDIABOX_CLIP | pymupdf.TEXT_ACCURATE_BBOXES
_WITH_SHAPES = pymupdf.TEXT_COLLECT_VECTORS | pymupdf.TEXT_LAZY_VECTORS  # the latter leaves lines whole
_BOLD, _ITALIC = pymupdf.TEXT_FONT_BOLD, pymupdf.TEXT_FONT_ITALIC
_LONGEST_FIELD = 2_000  # maximum characters of a metadata field
_EVERYWHERE = pymupdf.INFINITE_RECT()
_HANGUL, _RUN_ON_HANGUL = re.compile("[\uac00-\ud7a3]"), re.compile("[\uac00-\ud7a3]{9}")
_WORD_GAP = 0.18  # minimum gap in font sizes between Hangul syllables that counts as a space
_MOST_SIGNS = 4  # maximum adjacent characters of a symbol font
_STAMP = 20  # a shorter text on a page-wide picture does not count as the page's text
_RUNNING_HEAD = 400  # the same for a text that is only at the page's edges or across the page
_EDGE_ABOVE, _EDGE_BESIDE = 0.1, 0.06  # share of the page's height and width
_MOST_OF_IT = 0.5  # minimum share of the page that pictures cover on a scan


class PdfFile:
    """An open PDF whose pages are parsed by number, as described in ``OpenFile``."""

    def __init__(self, path: Path, password: str | None = None, limits: ParseLimits = ParseLimits()) -> None:
        self._document = open_pdf(path, password, limits)
        self._limits = limits
        self.pages = int(self._document.page_count)

    def info(self) -> FileInfo:
        return read_info(self._document, self._limits)

    def read(self, numbers: Iterable[int], on_page: Callable[[int], None]) -> Iterator[ParsedPage | DocumentError]:
        yield from read_pages(self._document, numbers, on_page, self._limits)
        pymupdf.TOOLS.store_shrink(100)

    def grey(self, number: int, dpi: int) -> bytes:
        image = self._document[number - 1].get_pixmap(dpi=dpi, colorspace=pymupdf.csGRAY, alpha=False)
        return bytes(image.tobytes("pgm"))

    def close(self) -> None:
        self._document.close()


def read_info(document: pymupdf.Document, limits: ParseLimits = ParseLimits()) -> FileInfo:
    """Read the page count, bookmarks and metadata of an open PDF, with warnings on damaged parts."""
    warnings: list[str] = []
    if document.is_repaired:
        warnings.append(Note("read.repaired"))
    bookmarks, problems = read_bookmarks(document, limits)
    warnings += problems
    metadata = {
        key: clean(value[:_LONGEST_FIELD]).strip()
        for key, value in (document.metadata or {}).items()
        if value and isinstance(value, str)
    }
    return FileInfo(document.page_count, bookmarks, {k: v for k, v in metadata.items() if v}, tuple(warnings))


def read_pages(
    document: pymupdf.Document,
    numbers: Iterable[int],
    on_page: Callable[[int], None] = lambda _: None,
    limits: ParseLimits = ParseLimits(),
) -> Iterator[ParsedPage | DocumentError]:
    """Parse pages by their 1-based numbers. For an unreadable page, yield its error."""
    labels = _page_labels(document)
    for number in numbers:
        try:
            yield _read_page(document, number, limits, labels)
        except LimitError as error:
            yield error
        except Exception as error:  # noqa: BLE001 - one damaged page must not cost the others
            damaged = DocumentError(f"page {number} could not be read: {plain_reason(error)}.")
            yield too_large(f"page {number}") if out_of_memory(error) else damaged
        on_page(number)


def _read_page(
    document: pymupdf.Document, number: int, limits: ParseLimits, labels: list[tuple[int, str]]
) -> ParsedPage:
    page = document.load_page(number - 1)
    shown = page.rotation_matrix if page.rotation else None  # text is in the unrotated space of the page
    whole = page.rect
    textpage, blocks, outside = _text_of(page, whole if shown is None else whole * page.derotation_matrix)
    pictures = len(page.get_images())
    blocks = mend_sizes(blocks)
    visibility = Visibility(page, blocks, pictures > 0)
    pieces = list(_text_pieces(blocks, shown, visibility))
    limits.check("max_page_lines", len(pieces), f"page {number} has {len(pieces):,} lines of text")
    characters = sum(len(piece.line.text) for piece in pieces)
    limits.check("max_page_characters", characters, f"page {number} has {characters:,} characters")
    if any(not piece.line.text.isascii() and RIGHT_TO_LEFT.search(piece.line.text) for piece in pieces):
        from_right = is_right_to_left("".join(piece.line.text for piece in pieces))
        pieces = list(_text_pieces(textpage.extractRAWDICT()["blocks"], shown, visibility, from_right))
    elif not shown and any(
        _RUN_ON_HANGUL.search(text) or (text[1:2] == " " and is_spaced(text))
        for text in (piece.line.text for piece in pieces)
    ):
        pieces = list(_text_pieces(textpage.extractRAWDICT()["blocks"], shown, visibility))
    if outside or any(piece.line.role for piece in pieces):
        texts = [piece.line.text for piece in pieces if piece.line.role != "hidden"]
        shown_texts = frozenset(texts)
        pieces += [piece for piece in _pieces_beside(outside, shown) if piece.line.text not in shown_texts]
        shown_words = _words_of(" ".join(texts))
        pieces = [
            _unhidden(piece) if _words_of(piece.line.text) in shown_words else piece for piece in said_once(pieces)
        ]
    else:
        pieces = said_once(pieces)
    if shown is None and document.is_form_pdf:
        pieces = _fields_beside_labels(page, pieces)
    lines = [*arrange(pieces), *(form_lines(document) if number == 1 else ()), *comments(page)]
    return ParsedPage(
        number=number,
        label=_label(number - 1, labels),
        width=float(whole.width),
        height=float(whole.height),
        lines=tuple(lines),
        images=pictures if lines else int(_draws(page)),
        needs_ocr=_unread(page, pieces, pictures > 0) if pieces else pictures > 0 or _draws(page),
        places=hidden_places(lines),
    )


def _fields_beside_labels(page: pymupdf.Page, pieces: list[Piece]) -> list[Piece]:
    """Return the pieces of a page, with the contents of form fields after the words to their left.

    In the file, fields come after all other text. A check box is one sign, ticked or not.
    """
    numbers = [xref for xref, kind, _ in page.annot_xrefs() if kind == pymupdf.mupdf.PDF_ANNOT_WIDGET][:_MOST]
    for xref in numbers:
        try:
            widget = page.load_widget(xref)
            box, choices = widget.rect, _choices(widget)
            state = page.parent.xref_get_key(xref, "AS")
            flags = page.parent.xref_get_key(xref, "F")
            shown = flags[0] != "int" or not int(flags[1]) & _UNSEEN
        except Exception:  # noqa: BLE001 - a damaged field must not cost the page
            continue
        inside = [piece for piece in pieces if _stands_in(piece.line, box)]
        ticked = state[0] == "name"
        if not shown or (ticked and any(len(piece.line.text) > 1 for piece in inside)) or not (ticked or inside):
            continue
        moved = {id(piece) for piece in inside}
        rest = [piece for piece in pieces if id(piece) not in moved]
        if ticked:
            sign = "☐" if state[1] == "/Off" else "☒"
            inside = [Piece(Line(sign, box.x0, box.y0, box.x1, box.y1, round(box.height, 1)), True)]
        inside = [
            replace(piece, line=replace(piece.line, text=choices.get(piece.line.text, piece.line.text)))
            for piece in inside
        ]
        label = max(
            (at for at, piece in enumerate(rest) if _is_left_of(piece.line, box)),
            key=lambda at: rest[at].line.x1, default=-1,
        )  # fmt: skip
        first = next((at for at, piece in enumerate(rest) if _is_right_of(piece.line, box)), len(rest))
        if label < 0 and (not ticked or (state[1] == "/Off" and first == len(rest))):
            continue
        at = label + 1 if label >= 0 else first
        pieces = [*rest[:at], *inside, *rest[at:]]
    return pieces


def _choices(widget: pymupdf.Widget) -> dict[str, str]:
    """Return the shown words of a choice field by its stored values."""
    return {str(pair[0]): str(pair[1]) for pair in widget.choice_values or () if isinstance(pair, list | tuple)}


def _stands_in(line: Line, box: pymupdf.Rect) -> bool:
    return bool(box.x0 - 2 <= line.x0 and line.x1 <= box.x1 + 2 and box.y0 <= (line.y0 + line.y1) / 2 <= box.y1)


def _is_left_of(line: Line, box: pymupdf.Rect) -> bool:
    return bool(line.x1 <= box.x0 + 2 and box.y0 <= (line.y0 + line.y1) / 2 <= box.y1)


def _is_right_of(line: Line, box: pymupdf.Rect) -> bool:
    return bool(line.x0 >= box.x1 - 2 and box.y0 <= (line.y0 + line.y1) / 2 <= box.y1)


def _text_of(
    page: pymupdf.Page, whole: pymupdf.Rect
) -> tuple[pymupdf.TextPage, list[dict[str, Any]], list[dict[str, Any]]]:
    """Return (text page, blocks, lines outside the page) of a page. Blocks are texts and shapes in drawing order.

    ``whole`` is the page's rectangle before rotation. Glyphs without an outline have no box and would be lost. If there
    are any, all boxes have the height of their font's lines.
    """
    flags = TEXT_FLAGS | _WITH_SHAPES
    textpage = page.get_textpage(flags=flags & ~pymupdf.TEXT_MEDIABOX_CLIP, clip=_EVERYWHERE)
    blocks = textpage.extractDICT()["blocks"]
    if _lacks_glyphs(textpage, blocks):
        flags &= ~pymupdf.TEXT_ACCURATE_BBOXES
        textpage = page.get_textpage(flags=flags & ~pymupdf.TEXT_MEDIABOX_CLIP, clip=_EVERYWHERE)
        blocks = textpage.extractDICT()["blocks"]
    left, top, right, bottom = (whole.x0, whole.y0, whole.x1, whole.y1)
    for block in blocks:  # the box of a block contains those of its lines
        x0, y0, x1, y1 = block["bbox"]
        if "lines" in block and (x0 < left or y0 < top or x1 > right or y1 > bottom):
            break
    else:
        return textpage, blocks, []
    outside = [line for line in _block_lines(blocks) if line["spans"] and not whole.intersects(line["bbox"])]
    textpage = page.get_textpage(flags=flags)
    return textpage, textpage.extractDICT()["blocks"], outside


def _block_lines(blocks: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for block in blocks:
        yield from block.get("lines", ())


def _lacks_glyphs(textpage: pymupdf.TextPage, blocks: list[dict[str, Any]]) -> bool:
    """Return whether visible characters of a page are missing in MuPDF's blocks, because their glyphs have no box."""
    mupdf = pymupdf.mupdf
    buffer = mupdf.fz_new_buffer(4_096)
    output = mupdf.FzOutput(buffer)
    mupdf.fz_print_stext_page_as_text(output, textpage.this)
    output.fz_close_output()
    text = "".join([span["text"] for line in _block_lines(blocks) for span in line["spans"]])
    whole, part = bytes(buffer.fz_buffer_extract()), text.encode("utf-8", "replace")
    if _unspaced(whole) <= _unspaced(part):
        return False
    return len("".join(whole.decode("utf-8", "replace").split())) > len("".join(text.split()))


def _unspaced(text: bytes) -> int:
    return len(text) - text.count(b" ") - text.count(b"\n")


def _unread(page: pymupdf.Page, pieces: Sequence[Piece], pictured: bool) -> bool:
    """Return whether OCR must read a page: its text is unreadable, or is only a stamp, a running head or a number on a
    scan.
    """
    text = "\n".join(piece.line.text for piece in pieces)
    if not readable(text):
        return True
    if pictured and is_rubbish(text) and _is_scan(page):
        return True
    if len(text) >= _RUNNING_HEAD or (len(text) >= _STAMP and not all(_beside_text(page, piece) for piece in pieces)):
        return False
    return _is_scan(page)


def _is_scan(page: pymupdf.Page) -> bool:
    """Return whether pictures cover most of a page. A scan may consist of strips."""
    shown = sum(abs(pymupdf.Rect(image["bbox"]) & page.rect) for image in page.get_image_info())
    return bool(shown > _MOST_OF_IT * abs(page.rect))


def _beside_text(page: pymupdf.Page, piece: Piece) -> bool:
    """Return whether a piece is at a usual position of running heads and stamps."""
    line, width, height = piece.line, page.rect.width, page.rect.height
    x, y = (line.x0 + line.x1) / 2, (line.y0 + line.y1) / 2
    between = _EDGE_BESIDE * width < x < (1 - _EDGE_BESIDE) * width
    return not (piece.level and between and _EDGE_ABOVE * height < y < (1 - _EDGE_ABOVE) * height)


def _page_labels(document: pymupdf.Document) -> list[tuple[int, str]]:
    """Return the rules for the page labels of a document as (first page, rule), in order."""
    try:
        return sorted(document._get_page_labels())
    except Exception:  # noqa: BLE001 - damaged labels must not cost the pages
        return []


def _label(index: int, labels: list[tuple[int, str]]) -> str:
    try:
        return str(pymupdf.utils.get_label_pno(index, labels)) if labels else ""
    except Exception:  # noqa: BLE001 - a damaged label must not cost the page
        return ""


def _draws(page: pymupdf.Page) -> bool:
    """Return whether anything is drawn on a page."""
    mupdf = pymupdf.mupdf
    drawn = mupdf.FzRect(mupdf.FzRect.Fixed_EMPTY)
    device = mupdf.fz_new_bbox_device(drawn)
    source = page.this if isinstance(page.this, mupdf.FzPage) else page.this.super()
    mupdf.fz_run_page(source, device, mupdf.FzMatrix(), mupdf.FzCookie())
    mupdf.fz_close_device(device)
    return not mupdf.fz_is_empty_rect(drawn)


def _text_pieces(
    blocks: list[dict[str, Any]], shown: pymupdf.Matrix | None, visibility: Visibility | None, from_right: bool = False
) -> Iterator[Piece]:
    """Yield the pieces of text in MuPDF's blocks.

    The blocks must be of the kind "rawdict" if the order of characters depends on the positions of glyphs.
    """
    for block in blocks:
        for raw in block.get("lines", ()):
            along_x, along_y = raw["dir"]
            level = (along_x if shown is None else along_x * shown.a + along_y * shown.c) > 0.99
            for spans, hidden in _parted(block["number"], raw["spans"], visibility):
                if len(spans) == 1:
                    text = _text_of_span(spans[0])
                else:
                    texts = [_text_of_span(span) for span in spans]
                    sizes = {span["size"] for span in spans} if along_x > 0.99 else ()
                    text = shift_words(spans, texts) if len(sizes) > 1 else "".join(texts)
                    if text[1:2] == " " == text[3:4]:
                        text = close_up(texts) or text
                if not text.isascii() and "chars" in spans[0] and level and RIGHT_TO_LEFT.search(text):
                    glyphs = ((*glyph["bbox"][::2], glyph["c"]) for span in spans for glyph in span["chars"])
                    text = read_line(glyphs, spans[0]["size"], from_right)
                elif "chars" in spans[0] and level and _HANGUL.search(text):
                    text = _spaced(spans)
                elif "chars" in spans[0] and level and is_spaced(text):
                    spaced = [(*glyph["bbox"][::2], glyph["c"]) for span in spans for glyph in span["chars"]]
                    text = read_spaced(spaced, spans[0]["size"]) or text
                if not text.isprintable() or not text.isascii():
                    text = clean(fold_forms(keep_unknown(text)))
                elif "  " in text:
                    text = clean(text)
                text = text.strip()
                if not text:
                    continue
                main = spans[0] if len(spans) == 1 else max(spans, key=_length)
                flags, font = main["flags"], intern(main["font"])
                box = raw["bbox"] if len(spans) == len(raw["spans"]) else around([span["bbox"] for span in spans])
                x0, y0, x1, y1 = box if shown is None else pymupdf.Rect(box) * shown
                bold = bool(flags & _BOLD) or _is_bold(font)
                role: LineRole = "hidden" if hidden else ""
                line = Line(text, x0, y0, x1, y1, round(main["size"], 1), bold, bool(flags & _ITALIC), font, role)
                yield Piece(line, level, raw["wmode"] == 1)


def _text_of_span(span: dict[str, Any]) -> str:
    text = text_of(span)
    return dingbats(text) if len(text) < _MOST_SIGNS and "Dingbats" in span["font"] else text


def _spaced(spans: list[dict[str, Any]]) -> str:
    """Return the text of a horizontal line with spaces at wide gaps.

    It is for Hangul syllables, between which MuPDF adds no spaces.
    """
    out: list[str] = []
    right = float("inf")
    for span in spans:
        for glyph in span["chars"]:
            x0, _, x1, _ = glyph["bbox"]
            if x0 - right > _WORD_GAP * span["size"] and not glyph["c"].isspace() and not out[-1].isspace():
                out.append(" ")
            out.append(glyph["c"])
            right = x1
    return "".join(out)


def _pieces_beside(lines: list[dict[str, Any]], shown: pymupdf.Matrix | None) -> Iterator[Piece]:
    """Yield the words that are outside the page as hidden pieces of text."""
    blocks = [
        {"number": 0, "lines": [line]} for line in lines if any(has_word(text_of(span)) for span in line["spans"])
    ]
    for piece in _text_pieces(blocks, shown, None):
        yield replace(piece, line=replace(piece.line, role="hidden"))


def _words_of(text: str) -> str:
    """Return the words of a text with one space around each."""
    return f" {' '.join(text.split())} "


def _unhidden(piece: Piece) -> Piece:
    """Return a hidden piece of text as a visible one. It is for text that the page shows elsewhere too."""
    return piece if piece.line.role != "hidden" else replace(piece, line=replace(piece.line, role=""))


def _parted(
    number: int, spans: list[dict[str, Any]], visibility: Visibility | None
) -> Iterator[tuple[list[dict[str, Any]], bool]]:
    """Yield the visible and the hidden runs of spans in a line, as (spans, whether they are hidden)."""
    if visibility is not None and len(spans) == 1:
        yield spans, visibility.hides(number, spans[0])
        return
    hidden = [visibility is not None and visibility.hides(number, span) for span in spans]
    if not any(hidden):
        if spans:
            yield spans, False
        return
    for is_hidden, run in groupby(zip(spans, hidden, strict=True), key=itemgetter(1)):
        yield [span for span, _ in run], is_hidden


@lru_cache(maxsize=1_000)
def _is_bold(font: str) -> bool:
    return "bold" in font.lower() or "black" in font.lower()


def _length(span: dict[str, Any]) -> int:
    return len(text_of(span).strip())
