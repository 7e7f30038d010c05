"""An open PDF: password, cached document for viewing, bookmarks and embedded files."""

from __future__ import annotations

import mmap
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pymupdf

from hybrid_core.errors import Advice, BrokenFileError, DocumentError, EmptyFileError, LimitError, LockedError
from hybrid_core.system import out_of_memory
from hybrid_core.text.tokens import clean
from hybrid_core.types.documents import Bookmark
from hybrid_core.types.notes import Note
from indexers.formats.format import Member
from indexers.formats.limits import MAX_BOOKMARK_DEPTH, ParseLimits, system_reason
from indexers.formats.pdf.line_text import fold_forms

_REFERENCE = re.compile(r"(\d+) \d+ R")
_LONGEST_TITLE = 1_000  # characters


class PatientDocument(pymupdf.Document):
    """A PDF whose outline (bookmarks) is not read on opening, since MuPDF reads it recursively and may crash."""

    outline_checked = False

    def _loadOutline(self) -> object:  # noqa: N802 - PyMuPDF's name
        return super()._loadOutline() if self.outline_checked else None


def read_bookmarks(document: pymupdf.Document, limits: ParseLimits) -> tuple[tuple[Bookmark, ...], list[str]]:
    """Return the bookmarks in order, and warnings about skipped ones."""
    try:
        depth, count = _extent(document, limits.max_bookmarks)
        limits.check(
            "max_bookmarks", count, f"the bookmarks of the file were ignored, because there are at least {count:,}"
        )
        if depth > MAX_BOOKMARK_DEPTH:
            return (), [Note("read.bookmarks-deep", levels=MAX_BOOKMARK_DEPTH)]
        if isinstance(document, PatientDocument):
            document.outline_checked = True
        bookmarks = tuple(_bookmarks(document))
    except LimitError as error:
        return (), [error.note]
    except Exception:  # noqa: BLE001 - a broken outline must not cost the document
        return (), [Note("read.bookmarks-damaged")]
    if not bookmarks and document.xref_get_key(document.pdf_catalog(), "Outlines")[0] == "xref":
        return (), [Note("read.bookmarks-unread")]
    return bookmarks, []


def _bookmarks(document: pymupdf.Document) -> Iterator[Bookmark]:
    for level, title, page, target in document.get_toc(simple=False):
        point = target.get("to")
        inside = 1 <= page <= document.page_count
        y = float(point.y) if inside and point is not None and target.get("kind") == pymupdf.LINK_GOTO else None
        if title := clean(fold_forms(title[:_LONGEST_TITLE].replace("\n", " "))).strip():
            yield Bookmark(level, title, page if inside else 0, y)


def _extent(document: pymupdf.Document, limit: int) -> tuple[int, int]:
    """Return the depth of the outline and the number of its entries.

    Stop counting after ``limit`` entries or ``MAX_BOOKMARK_DEPTH`` levels. Return (0, 0) if the file has too few
    objects to exceed these.
    """
    if document.xref_length() <= min(limit, MAX_BOOKMARK_DEPTH):
        return 0, 0
    deepest = 0
    seen: set[int] = set()
    waiting = [(_follow(document, _follow(document, document.pdf_catalog(), "Outlines"), "First"), 1)]
    while waiting:
        entry, depth = waiting.pop()
        while entry and entry not in seen and len(seen) <= limit and deepest <= MAX_BOOKMARK_DEPTH:
            seen.add(entry)
            deepest = max(deepest, depth)
            if child := _follow(document, entry, "First"):
                waiting.append((child, depth + 1))
            entry = _follow(document, entry, "Next")
    return deepest, len(seen)


def _follow(document: pymupdf.Document, entry: int, key: str) -> int:
    """Return the number of the object to which the value of ``key`` refers, 0 if there is none."""
    if not 0 < entry < document.xref_length():
        return 0
    reference = _REFERENCE.fullmatch(document.xref_get_key(entry, key)[1])
    return int(reference[1]) if reference else 0


_ENCRYPT = re.compile(rb"/Encrypt\s+(\d+)\s+(\d+)\s+R")
_HANDLER = re.compile(rb"/Filter\s*/([A-Za-z][\w.]*)")
_NO_HANDLERS = frozenset({"Standard", "FlateDecode", "Crypt"})
_ENCRYPT_BYTES = 20_000

pymupdf.TOOLS.mupdf_display_errors(False)
pymupdf.TOOLS.mupdf_display_warnings(False)


_MOST_KIDS, _DEEPEST_TREE = 1_000_000, 100


def _open(path: Path) -> pymupdf.Document:
    """Open a PDF. If the numbers of pages in its page tree are wrong, correct them in a copy in memory."""
    try:
        document = PatientDocument(path, filetype="pdf")
        if document.needs_pass or _counts_pages(document):
            return document
        data = _recounted(path)
    except Exception as error:
        if out_of_memory(error) or (data := _recounted(path)) is None:
            raise
    return document if data is None else PatientDocument(stream=data, filetype="pdf")


def _page_tree(pdf: pymupdf.mupdf.PdfDocument) -> pymupdf.mupdf.PdfObj:
    mupdf = pymupdf.mupdf
    return mupdf.pdf_dict_gets(mupdf.pdf_dict_gets(mupdf.pdf_trailer(pdf), "Root"), "Pages")


def _counts_pages(document: pymupdf.Document) -> bool:
    """Return whether a PDF has its last page by number, and at least one page for each branch of its page tree.

    Raise an error of MuPDF if not even the number of pages can be read.
    """
    pdf, count = pymupdf._as_pdf_document(document), document.page_count
    try:
        pymupdf.mupdf.pdf_lookup_page_obj(pdf, count - 1)
    except Exception:  # noqa: BLE001 - MuPDF raises many types
        return False
    return bool(count >= pymupdf.mupdf.pdf_array_len(pymupdf.mupdf.pdf_dict_gets(_page_tree(pdf), "Kids")))


def _recounted(path: Path) -> bytes | None:
    """Return a PDF with the right numbers of pages in its page tree, None if that does not help."""
    mupdf = pymupdf.mupdf
    try:
        pdf = mupdf.pdf_open_document(str(path))
        if mupdf.pdf_needs_password(pdf) or not _count_pages(pdf, _page_tree(pdf), set(), 0):
            return None
        buffer = mupdf.fz_new_buffer(1 << 20)
        output = mupdf.FzOutput(buffer)
        mupdf.pdf_write_document(pdf, output, mupdf.PdfWriteOptions())
        output.fz_close_output()
        return bytes(buffer.fz_buffer_extract())
    except Exception as error:  # MuPDF raises many types for damaged input
        if out_of_memory(error):
            raise
        return None


def _count_pages(pdf: pymupdf.mupdf.PdfDocument, node: pymupdf.mupdf.PdfObj, seen: set[int], depth: int) -> int:
    """Store the number of pages in each node of a page tree. Return the number of pages below ``node``."""
    mupdf = pymupdf.mupdf
    number, kids = mupdf.pdf_to_num(node), mupdf.pdf_dict_gets(node, "Kids")
    if number in seen or len(seen) > _MOST_KIDS or depth > _DEEPEST_TREE or not mupdf.pdf_is_dict(node):
        return 0
    seen.add(number)
    if not mupdf.pdf_is_array(kids):
        return 1
    pages = sum(
        _count_pages(pdf, mupdf.pdf_array_get(kids, at), seen, depth + 1) for at in range(mupdf.pdf_array_len(kids))
    )
    mupdf.pdf_dict_puts(node, "Count", mupdf.pdf_new_int(pages))
    return pages


def open_pdf(path: Path, password: str | None = None, limits: ParseLimits = ParseLimits()) -> pymupdf.Document:
    """Open a PDF for reading.

    Raise PasswordError if a password is needed or wrong, LimitError if it has too many pages or
    objects, DocumentError if the file is missing, not a PDF, damaged beyond repair, or has no pages.
    """
    try:
        with path.open("rb") as file:
            head = file.read(1024)
    except OSError as error:
        raise DocumentError(f"the file cannot be read ({error.strerror}).", file=path) from error
    if not head:
        raise EmptyFileError("the file is empty.", file=path)
    if b"%PDF-" not in head:
        raise BrokenFileError("the file is not a PDF (it does not begin with %PDF-).", file=path)
    try:
        document = _open(path)
        locked = bool(document.needs_pass and not document.authenticate(password or ""))
        pages = 0 if locked else document.page_count
    except Exception as error:  # MuPDF raises many types for damaged input
        if out_of_memory(error):
            raise too_large("it", file=path) from error
        if handler := _security_handler(path):
            raise _unopened(path, handler) from error
        raise BrokenFileError(
            f"the file is damaged: no PDF reader can open it{system_reason(error)}.", file=path
        ) from error
    if locked:
        document.close()
        problem = "the password is wrong" if password else "the file is encrypted, and no password was given"
        raise LockedError(
            f"{problem}.",
            Advice(
                "Give the password of the file, or save a copy without a password.",
                "Give the password of the file with --password.",
            ),
            file=path,
        )
    if pages == 0:
        document.close()
        raise BrokenFileError("the file has no pages, or all its pages are damaged beyond repair.", file=path)
    try:
        limits.check("max_pages", pages, f"the file has {pages:,} pages", file=path)
        limits.check("max_objects", objects := document.xref_length(), f"the file has {objects:,} objects", file=path)
    except LimitError:
        document.close()
        raise
    return document


def _security_handler(path: Path) -> str:
    """Return the name of the file's security handler from its bytes, "" if there is none or only the standard one."""
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
        problem, what = "encrypted with a certificate, so a password cannot open it.", "the certificate"
    else:
        problem, what = f"encrypted by '{handler}', so only its own program can open it.", "that program"
    return DocumentError(
        problem, f"Open the file with {what}, save a copy without encryption, and index the copy.", file=path
    )


def too_large(what: str, file: object = "") -> LimitError:
    return LimitError(
        f"{what} needs more memory than a worker process may use.",
        "Raise the setting max_worker_memory, and index the file again.",
        file=file,
    )


_last: dict[tuple[object, ...], pymupdf.Document] = {}  # one at most: its next page is likely asked for


@contextmanager
def viewing(path: Path, password: str | None, limits: ParseLimits) -> Iterator[pymupdf.Document]:
    """Open a PDF for viewing. It stays open until another one is viewed or an error occurs.

    Raise the errors of ``open_pdf``. Use this only in a process that does one thing at a time, like a worker.
    """
    key = (path, _file_identity(path), password, limits)
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


def _file_identity(path: Path) -> tuple[int, ...]:
    try:
        stat = path.stat()
    except OSError:
        return ()
    return stat.st_ino, stat.st_size, stat.st_mtime_ns


@contextmanager
def drawing(what: str, setting: str, file: object = "") -> Iterator[None]:
    """Translate errors that occur while ``what`` is drawn.

    Raise LimitError if drawing takes too much memory, with the advice to lower ``setting``. Raise DocumentError for any
    other error.
    """
    try:
        yield
    except DocumentError:
        raise
    except Exception as error:  # MuPDF raises many types
        if out_of_memory(error):
            raise LimitError(
                f"{what} cannot be drawn, because drawing needs more memory than a worker process may use.",
                f"Lower the setting {setting}.",
                file=file,
            ) from error
        raise DocumentError(f"{what} cannot be drawn{system_reason(error)}.", file=file) from error


_STREAM_REFERENCE = re.compile(r"(\d+) \d+ R")
_NAMES = ("UF", "F", "DOS", "Unix", "Mac")  # keys of a file specification, best first


def pdf_members(path: Path, limits: ParseLimits) -> Iterator[Member]:
    """Yield the embedded files in the order of the file. Raise the errors of ``open_pdf``."""
    document = open_pdf(path, None, limits)
    try:
        streams: set[int] = set()
        names: set[str] = set()
        for xref in range(1, document.xref_length()):
            for name, stream in _specifications(document, xref):
                if stream not in streams:
                    streams.add(stream)
                    names.add(name)
                    yield Member(_readable(name), partial(_read_embedded, partial(document.xref_stream, stream)))
        for key in document.embfile_names():  # file specifications may stand within the tree of names
            info = document.embfile_info(key)
            name = info["ufilename"] or info["filename"] or key
            if name not in names:
                yield Member(_readable(name), partial(_read_embedded, partial(document.embfile_get, key)))
    finally:
        document.close()


def _readable(name: str) -> str:
    """Return a file name decoded as UTF-8 if possible. PyMuPDF returns some names with one character per byte."""
    try:
        return name.encode("latin-1").decode("utf-8")
    except UnicodeError:
        return name


def _specifications(document: pymupdf.Document, xref: int) -> Iterator[tuple[str, int]]:
    """Yield (file name, number of its stream) of an embedded file.

    ``xref`` is a file specification, or an attachment on a page that contains one.
    """
    for inside in ("", "FS/"):
        try:
            kind, _ = document.xref_get_key(xref, f"{inside}EF")
            if kind not in ("dict", "xref"):
                continue
            texts = (document.xref_get_key(xref, f"{inside}{key}") for key in _NAMES)
            name = next((text for kind, text in texts if kind == "string" and text.strip()), f"attachment {xref}")
            values = (document.xref_get_key(xref, f"{inside}EF/{key}")[1] for key in _NAMES)
            reference = next((match for value in values if (match := _STREAM_REFERENCE.fullmatch(value))), None)
        except Exception:  # noqa: BLE001 - a damaged object must not cost the others
            continue
        if reference is not None:
            yield name, int(reference[1])


def _read_embedded(read: Callable[[], bytes | None]) -> Iterator[bytes]:
    try:
        data = read()
    except Exception as error:
        if out_of_memory(error):
            raise LimitError(
                "reading the file needs more memory than a worker process may use.",
                "Raise the setting max_worker_memory.",
            ) from error
        raise DocumentError("an embedded file is damaged, so it cannot be extracted.") from error
    yield data or b""
