"""PDF -> parsed pages, with PyMuPDF. Ranges of pages are read separately so that memory stays flat."""

from __future__ import annotations

import mmap
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

from hybrid_core.errors import Advice, BrokenFileError, DocumentError, EmptyFileError, LimitError, LockedError
from hybrid_core.text.tokens import clean, readable
from hybrid_core.types.documents import Line, LineRole, ParsedPage, hidden_places
from indexers.formats.info import FileInfo
from indexers.formats.limits import ParseLimits, out_of_memory
from indexers.formats.line_words import around
from indexers.formats.pdf.bookmarks import PatientDocument, read_bookmarks
from indexers.formats.pdf.comments import comments
from indexers.formats.pdf.encoding import fold_forms, keep_unknown
from indexers.formats.pdf.forms import close_up, is_rubbish, mend_sizes, shift_words
from indexers.formats.pdf.hidden import Visibility, has_word, text_of
from indexers.formats.pdf.reading_order import Piece, arrange, said_once
from indexers.formats.pdf.right_to_left import RIGHT_TO_LEFT, is_right_to_left, read_line

TEXT_FLAGS = pymupdf.TEXT_PRESERVE_WHITESPACE | pymupdf.TEXT_MEDIABOX_CLIP | pymupdf.TEXT_ACCURATE_BBOXES
_WITH_SHAPES = pymupdf.TEXT_COLLECT_VECTORS | pymupdf.TEXT_LAZY_VECTORS  # the latter leaves lines whole
_BOLD, _ITALIC = pymupdf.TEXT_FONT_BOLD, pymupdf.TEXT_FONT_ITALIC
_LONGEST_FIELD = 2_000  # characters of a metadata field
_EVERYWHERE = pymupdf.INFINITE_RECT()
_ENCRYPT = re.compile(rb"/Encrypt\s+(\d+)\s+(\d+)\s+R")
_HANDLER = re.compile(rb"/Filter\s*/([A-Za-z][\w.]*)")
_NO_HANDLERS = frozenset({"Standard", "FlateDecode", "Crypt"})
_ENCRYPT_BYTES = 20_000
_HANGUL, _RUN_ON_HANGUL = re.compile("[\uac00-\ud7a3]"), re.compile("[\uac00-\ud7a3]{9}")
_WORD_GAP = 0.18  # of the font's size, between syllables of Hangul: a space that the file draws as a gap
_STAMP = 20  # characters below which the text on a page-wide picture is not the page's
_RUNNING_HEAD = 400  # the same, where all of it stands at the page's edges or across the page
_EDGE_ABOVE, _EDGE_BESIDE = 0.1, 0.06  # of the page's height and width
_MOST_OF_IT = 0.5  # of the page, that pictures cover on a scan

pymupdf.TOOLS.mupdf_display_errors(False)
pymupdf.TOOLS.mupdf_display_warnings(False)


def open_pdf(path: Path, password: str | None = None, limits: ParseLimits = ParseLimits()) -> pymupdf.Document:
    """Open a PDF for reading.

    Raises PasswordError where a password is needed or wrong, LimitError where it has too many pages or
    objects, DocumentError where the file is missing, not a PDF, damaged beyond repair, or has no pages.
    """
    try:
        with path.open("rb") as file:
            head = file.read(1024)
    except OSError as error:
        raise DocumentError(f"{path}: cannot be read ({error.strerror}).") from error
    if not head:
        raise EmptyFileError(f"{path}: the file is empty.")
    if b"%PDF-" not in head:
        raise BrokenFileError(f"{path}: not a PDF (it does not begin with %PDF-).")
    try:
        document = PatientDocument(path, filetype="pdf")
        locked = bool(document.needs_pass and not document.authenticate(password or ""))
        pages = 0 if locked else document.page_count
    except Exception as error:  # MuPDF raises many types for damaged input
        if out_of_memory(error):
            raise _too_large(f"{path}: it") from error
        if handler := _security_handler(path):
            raise _unopened(path, handler) from error
        reason = " ".join(str(error).replace(str(path), path.name).split())
        raise BrokenFileError(f"{path}: damaged, no PDF reader can open it ({reason}).") from error
    if locked:
        document.close()
        said = "the password is wrong" if password else "encrypted"
        raise LockedError(
            f"{path}: {said}.",
            Advice("Give its password, or save a copy without one.", "Give its password with --password."),
        )
    if pages == 0:
        document.close()
        raise BrokenFileError(f"{path}: it has no pages, or they are damaged beyond repair.")
    try:
        limits.check("max_pages", pages, f"{path}: it has {pages:,} pages")
        limits.check("max_objects", objects := document.xref_length(), f"{path}: it has {objects:,} objects")
    except LimitError:
        document.close()
        raise
    return document


def _security_handler(path: Path) -> str:
    """Return the name of the handler that a file is encrypted by, "" where none or the usual one; by its bytes."""
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            reference = _ENCRYPT.search(data)
            start = data.find(b"%d %d obj" % (int(reference[1]), int(reference[2]))) if reference else -1
            # the handler's name stands in the object, or in the trailer itself
            around = data[start : start + _ENCRYPT_BYTES] if start >= 0 else b""
            around = around or (
                data[inline : inline + _ENCRYPT_BYTES] if (inline := data.find(b"/Encrypt")) >= 0 else b""
            )
            handlers = [name.decode("latin-1") for name in _HANDLER.findall(around.split(b"endobj")[0])]
    except (OSError, ValueError):
        return ""
    return next((name for name in handlers if name not in _NO_HANDLERS), "")


def _unopened(path: Path, handler: str) -> DocumentError:
    if "pubsec" in handler.lower() or "ppk" in handler.lower():
        said, what = "encrypted with a certificate, which no password opens.", "the certificate"
    else:
        said, what = f"encrypted by '{handler}', which only its own program opens.", "that program"
    return DocumentError(f"{path}: {said}", f"Open it with {what}, save it without encryption, and index that copy.")


class PdfFile:
    """An open PDF, as ``open_pdf`` opens it."""

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


def _too_large(what: str) -> LimitError:
    return LimitError(
        f"{what} needs more memory than a worker may use.", "Raise the setting max_worker_memory to read it."
    )


def read_info(document: pymupdf.Document, limits: ParseLimits = ParseLimits()) -> FileInfo:
    """Page count, bookmarks and metadata of an open PDF; what is damaged is left out and said."""
    warnings = []
    if document.is_repaired:
        warnings.append("the file was damaged and has been repaired while reading; pages may be missing")
    bookmarks, said = read_bookmarks(document, limits)
    warnings += said
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
    """Parse pages by their 1-based numbers; a page that cannot be read comes as the error that says why."""
    labels = _page_labels(document)
    for number in numbers:
        try:
            yield _read_page(document, number, limits, labels)
        except LimitError as error:
            yield error
        except Exception as error:  # noqa: BLE001 - one damaged page must not cost the others
            damaged = DocumentError(f"page {number} could not be read ({error})")
            yield _too_large(f"page {number}") if out_of_memory(error) else damaged
        on_page(number)


def _read_page(
    document: pymupdf.Document, number: int, limits: ParseLimits, labels: list[tuple[int, str]]
) -> ParsedPage:
    page = document.load_page(number - 1)
    shown = page.rotation_matrix if page.rotation else None  # text comes in the page's unrotated space
    whole = page.rect
    textpage, blocks, outside = _text_of(page, whole if shown is None else whole * page.derotation_matrix)
    pictures = len(page.get_images())
    blocks = mend_sizes(blocks)
    visibility = Visibility(page, blocks, pictures > 0)
    pieces = list(_pieces(blocks, shown, visibility))
    limits.check("max_page_lines", len(pieces), f"page {number} has {len(pieces):,} lines of text")
    characters = sum(len(piece.line.text) for piece in pieces)
    limits.check("max_page_characters", characters, f"page {number} has {characters:,} characters")
    if any(not piece.line.text.isascii() and RIGHT_TO_LEFT.search(piece.line.text) for piece in pieces):
        from_right = is_right_to_left("".join(piece.line.text for piece in pieces))
        pieces = list(_pieces(textpage.extractRAWDICT()["blocks"], shown, visibility, from_right))
    elif not shown and any(_RUN_ON_HANGUL.search(piece.line.text) for piece in pieces):
        pieces = list(_pieces(textpage.extractRAWDICT()["blocks"], shown, visibility))
    if outside or any(piece.line.role for piece in pieces):
        texts = {piece.line.text for piece in pieces if piece.line.role != "hidden"}
        pieces += [piece for piece in _pieces_beside(outside, shown) if piece.line.text not in texts]
        pieces = [_unhidden(piece) if piece.line.text in texts else piece for piece in said_once(pieces)]
    else:
        pieces = said_once(pieces)
    lines = [*arrange(pieces), *comments(page)]
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


def _text_of(
    page: pymupdf.Page, whole: pymupdf.Rect
) -> tuple[pymupdf.TextPage, list[dict[str, Any]], list[dict[str, Any]]]:
    """Return a page's text, it and its shapes in the order in which they are drawn, and lines beside the page.

    ``whole`` is the page before it is turned. Glyphs without an outline have no box, so they are lost: then all boxes
    are those of the fonts' lines.
    """
    flags = TEXT_FLAGS | _WITH_SHAPES
    textpage = page.get_textpage(flags=flags & ~pymupdf.TEXT_MEDIABOX_CLIP, clip=_EVERYWHERE)
    blocks = textpage.extractDICT()["blocks"]
    if _lacks_glyphs(textpage, blocks):
        flags &= ~pymupdf.TEXT_ACCURATE_BBOXES
        textpage = page.get_textpage(flags=flags & ~pymupdf.TEXT_MEDIABOX_CLIP, clip=_EVERYWHERE)
        blocks = textpage.extractDICT()["blocks"]
    left, top, right, bottom = (whole.x0, whole.y0, whole.x1, whole.y1)
    for block in blocks:  # the box of a block holds those of its lines
        x0, y0, x1, y1 = block["bbox"]
        if "lines" in block and (x0 < left or y0 < top or x1 > right or y1 > bottom):
            break
    else:
        return textpage, blocks, []
    outside = [line for line in _lines(blocks) if line["spans"] and not whole.intersects(line["bbox"])]
    textpage = page.get_textpage(flags=flags)
    return textpage, textpage.extractDICT()["blocks"], outside


def _lines(blocks: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for block in blocks:
        yield from block.get("lines", ())


def _lacks_glyphs(textpage: pymupdf.TextPage, blocks: list[dict[str, Any]]) -> bool:
    """Return whether a page has characters, white space aside, that its blocks lack since they have no box."""
    mupdf = pymupdf.mupdf
    buffer = mupdf.fz_new_buffer(4_096)
    output = mupdf.FzOutput(buffer)
    mupdf.fz_print_stext_page_as_text(output, textpage.this)
    output.fz_close_output()
    text = "".join([span["text"] for line in _lines(blocks) for span in line["spans"]])
    whole, part = bytes(buffer.fz_buffer_extract()), text.encode("utf-8", "replace")
    if _unspaced(whole) <= _unspaced(part):
        return False
    return len("".join(whole.decode("utf-8", "replace").split())) > len("".join(text.split()))


def _unspaced(text: bytes) -> int:
    return len(text) - text.count(b" ") - text.count(b"\n")


def _unread(page: pymupdf.Page, pieces: Sequence[Piece], pictured: bool) -> bool:
    """Whether a page's text is unreadable, or only the stamp, running head or number on a scan."""
    text = "\n".join(piece.line.text for piece in pieces)
    if not readable(text):
        return True
    if pictured and is_rubbish(text) and _is_scan(page):
        return True
    if len(text) >= _RUNNING_HEAD or (len(text) >= _STAMP and not all(_beside_text(page, piece) for piece in pieces)):
        return False
    return _is_scan(page)


def _is_scan(page: pymupdf.Page) -> bool:
    """Whether pictures cover most of a page; a scan may be strips."""
    shown = sum(abs(pymupdf.Rect(image["bbox"]) & page.rect) for image in page.get_image_info())
    return bool(shown > _MOST_OF_IT * abs(page.rect))


def _beside_text(page: pymupdf.Page, piece: Piece) -> bool:
    """Whether a piece stands where running heads and stamps do."""
    line, width, height = piece.line, page.rect.width, page.rect.height
    x, y = (line.x0 + line.x1) / 2, (line.y0 + line.y1) / 2
    between = _EDGE_BESIDE * width < x < (1 - _EDGE_BESIDE) * width
    return not (piece.level and between and _EDGE_ABOVE * height < y < (1 - _EDGE_ABOVE) * height)


def _page_labels(document: pymupdf.Document) -> list[tuple[int, str]]:
    """Return the rules by which a document labels its pages, in order."""
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
    """Whether anything at all is drawn on a page."""
    mupdf = pymupdf.mupdf
    drawn = mupdf.FzRect(mupdf.FzRect.Fixed_EMPTY)
    device = mupdf.fz_new_bbox_device(drawn)
    source = page.this if isinstance(page.this, mupdf.FzPage) else page.this.super()
    mupdf.fz_run_page(source, device, mupdf.FzMatrix(), mupdf.FzCookie())
    mupdf.fz_close_device(device)
    return not mupdf.fz_is_empty_rect(drawn)


def _pieces(
    blocks: list[dict[str, Any]], shown: pymupdf.Matrix | None, visibility: Visibility | None, from_right: bool = False
) -> Iterator[Piece]:
    """Stretches of text as MuPDF gives them; from "rawdict" blocks where order needs the glyphs' places."""
    for block in blocks:
        for raw in block.get("lines", ()):
            along_x, along_y = raw["dir"]
            level = (along_x if shown is None else along_x * shown.a + along_y * shown.c) > 0.99
            for spans, hidden in _parted(block["number"], raw["spans"], visibility):
                if len(spans) == 1:
                    text = text_of(spans[0])
                else:
                    texts = [text_of(span) for span in spans]
                    sizes = {span["size"] for span in spans} if along_x > 0.99 else ()
                    text = shift_words(spans, texts) if len(sizes) > 1 else "".join(texts)
                    if text[1:2] == " " == text[3:4]:
                        text = close_up(texts) or text
                if not text.isascii() and "chars" in spans[0] and level and RIGHT_TO_LEFT.search(text):
                    glyphs = ((*glyph["bbox"][::2], glyph["c"]) for span in spans for glyph in span["chars"])
                    text = read_line(glyphs, spans[0]["size"], from_right)
                elif "chars" in spans[0] and level and _HANGUL.search(text):
                    text = _spaced(spans)
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


def _spaced(spans: list[dict[str, Any]]) -> str:
    """Return the text of a level line with a space where its Hangul has a gap: MuPDF makes none between syllables."""
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
    """Words that stand beside the page, all hidden."""
    blocks = [
        {"number": 0, "lines": [line]} for line in lines if any(has_word(text_of(span)) for span in line["spans"])
    ]
    for piece in _pieces(blocks, shown, None):
        yield replace(piece, line=replace(piece.line, role="hidden"))


def _unhidden(piece: Piece) -> Piece:
    """A hidden piece whose text the page shows at another place hides nothing."""
    return piece if piece.line.role != "hidden" else replace(piece, line=replace(piece.line, role=""))


def _parted(
    number: int, spans: list[dict[str, Any]], visibility: Visibility | None
) -> Iterator[tuple[list[dict[str, Any]], bool]]:
    """The spans of a line, those that are seen apart from those that are not."""
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
