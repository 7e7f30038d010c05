"""DOC and PPT files, the formats before 2007. LibreOffice converts them if it is installed.

If it is not, their text, headings, tables and slides are read directly, and a note is added.
"""

from __future__ import annotations

import re
import struct
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from struct import unpack_from
from tempfile import TemporaryDirectory
from typing import NamedTuple

import olefile

from hybrid_core.errors import BrokenFileError, PasswordError
from hybrid_core.types.notes import Note
from indexers.formats.flow.blocks import Block, Flow, Heading, Paragraph, Part, Remark, Table, comment
from indexers.formats.limits import ParseLimits
from indexers.formats.office.docx import read_docx
from indexers.formats.office.libreoffice import convert, find_libreoffice
from indexers.formats.office.pptx import read_pptx
from indexers.formats.pictures import packed_pictures


def streams(path: Path, limits: ParseLimits, *names: str) -> dict[str, bytes]:
    """Return the bytes of the file's streams with these ``names``, if they exist.

    Raise DocumentError if the file is damaged.
    """
    limits.check_file(path)
    try:
        with olefile.OleFileIO(str(path)) as file:
            return {name: file.openstream(name).read() for name in names if file.exists(name)}
    except (OSError, ValueError, IndexError) as error:
        raise BrokenFileError("the file is damaged, so its contents cannot be listed.", file=path) from error


_WORD_97, _WORD_6 = 0xA5EC, (0xA5DC, 0xA697, 0xA699)
_PAGES = {  # by language, or by its last ten bits
    **dict.fromkeys((0x05, 0x0E, 0x15, 0x18, 0x1A, 0x1B, 0x1C, 0x24), "cp1250"), 0x0C1A: "cp1251",
    **dict.fromkeys((0x02, 0x19, 0x22, 0x23, 0x2F), "cp1251"), 0x08: "cp1253", 0x1F: "cp1254", 0x0D: "cp1255",
    **dict.fromkeys((0x01, 0x20, 0x29), "cp1256"), **dict.fromkeys((0x25, 0x26, 0x27), "cp1257"), 0x2A: "cp1258",
    0x1E: "cp874", 0x11: "cp932", 0x12: "cp949", 0x04: "gbk", **dict.fromkeys((0x0404, 0x0C04, 0x1404), "cp950"),
}  # fmt: skip
_ENCRYPTED, _SECOND_TABLE, _OBFUSCATED = 0x0100, 0x0200, 0x8000
_ROW_ENDS = b"\x17\x24\x01"  # the paragraph property that ends a table row
_LEVEL = re.compile(rb"\x40\x26([\x00-\x08])")  # the paragraph property with the outline level
# the instruction of a field, and its shown result
_FIELD = re.compile("\x13[^\x13\x14\x15]*(?:\x14([^\x13\x14\x15]*))?\x15")
_SIGNS = {0x0B: "\n", 0x1E: "-", 0x1F: "", 0xA0: " ", 0x01: "", 0x08: "", 0x03: "", 0x04: "", 0x05: "", 0x02: "",
          0x13: "", 0x14: "", 0x15: "", 0x28: "("}  # fmt: skip
_DEEPEST_FIELD = 8
_COMMENTS, _COMMENT_TEXTS, _AUTHORS = 0x00BA, 0x00C2, 0x01BA  # offsets of the places of these tables
_COMMENT_SIZE, _COMMENT_AUTHOR = 30, 20  # bytes of an entry of the first table, and the offset of its author in it
_NOTES = (("", 0x4C), ("note", 0x50), ("header", 0x54), ("", 0x58), ("comment", 0x5C), ("note", 0x60), ("box", 0x64),
          ("box", 0x68))  # fmt: skip


class _Piece(NamedTuple):
    """A piece of the document's text. ``first`` is the number of its first character, ``place`` its offset in the file.

    ``size`` is the number of bytes per character.
    """

    first: int
    place: int
    size: int


def read_word97(path: Path, limits: ParseLimits) -> Flow:
    """Read a DOC file. Raise PasswordError if it is encrypted, DocumentError if it cannot be read."""
    stored = streams(path, limits, "WordDocument", "0Table", "1Table")
    data = stored.get("WordDocument", b"")
    try:
        magic, flags = unpack_from("<H8xH", data)
        if flags & _ENCRYPTED:
            kind = "XOR" if flags & _OBFUSCATED else "RC4"
            raise PasswordError(
                f"the file is encrypted ({kind}).",
                "Save a copy of the file without a password, and index the copy.",
                file=path,
            )
        if magic in _WORD_6:
            first, end = unpack_from("<II", data, 0x18)
            text = data[first:end].decode(_code_page(unpack_from("<H", data, 6)[0]), "replace")
            return Flow(iter([Part(list(_page_blocks(text, [], {})))]), clauses=True)
        if magic != _WORD_97:
            raise BrokenFileError("the file is damaged, or it is not a Word 97 file.", file=path)
        table = stored.get("1Table" if flags & _SECOND_TABLE else "0Table", b"")
        text, pieces = _read_text(data, table)
        looks = _looks(data, table)
        counts = [max(0, unpack_from("<i", data, at)[0]) for _, at in _NOTES]
        comments = _comments(data, table)
    except (struct.error, IndexError, ValueError) as error:
        raise BrokenFileError(
            "the file is damaged: its text cannot be read.", "Open the file in Word, and save it as DOCX.", file=path
        ) from error
    return Flow(_document_parts(text, counts, pieces, looks, comments), clauses=True)


def _code_page(language: int) -> str:
    """Return the code page in which a Word 6 or 95 file of a language (LCID) stores its text."""
    return _PAGES.get(language) or _PAGES.get(language & 0x3FF, "cp1252")


def _read_text(data: bytes, table: bytes) -> tuple[str, list[_Piece]]:
    start, size = unpack_from("<II", data, 0x01A2)
    clx, at = table[start : start + size], 0
    while clx[at] == 1:
        at += 3 + unpack_from("<H", clx, at + 1)[0]
    count = (unpack_from("<I", clx, at + 1)[0] - 4) // 12
    at += 5
    firsts = unpack_from(f"<{count + 1}I", clx, at)
    texts: list[str] = []
    pieces: list[_Piece] = []
    for number in range(count):
        place = unpack_from("<I", clx, at + 4 * (count + 1) + 8 * number + 2)[0]
        length = firsts[number + 1] - firsts[number]
        packed = bool(place & 0x4000_0000)
        place = (place & 0x3FFF_FFFF) // (2 if packed else 1)
        raw = data[place : place + length * (1 if packed else 2)]
        units = raw.decode("cp1252", "replace") if packed else "".join(map(chr, unpack_from(f"<{len(raw) // 2}H", raw)))
        texts.append(units.ljust(length)[:length])
        pieces.append(_Piece(firsts[number], place, 1 if packed else 2))
    return "".join(texts), pieces


def _looks(data: bytes, table: bytes) -> dict[int, tuple[int | None, bool]]:
    """Return (outline level, whether it ends a table row) for each paragraph. The level is None for body text.

    The keys are the file offsets after each paragraph.
    """
    start, size = unpack_from("<II", data, 0x0102)
    count = (size - 4) // 8
    looks: dict[int, tuple[int | None, bool]] = {}
    for number in range(count):
        page = (unpack_from("<I", table, start + 4 * (count + 1) + 4 * number)[0] & 0x3F_FFFF) * 512
        page_bytes = data[page : page + 512]
        if len(page_bytes) < 512:
            continue
        ends = unpack_from(f"<{page_bytes[511] + 1}I", page_bytes) if page_bytes[511] < 102 else ()
        for at in range(len(ends) - 1):
            offset = 2 * page_bytes[4 * len(ends) + 13 * at]
            length = 2 * page_bytes[offset] - 1 if page_bytes[offset] else 2 * page_bytes[min(511, offset + 1)]
            begin = offset + (1 if page_bytes[offset] else 2)
            properties = page_bytes[begin : begin + max(0, length)] if offset else b""
            style = int.from_bytes(properties[:2], "little")
            own = _LEVEL.search(properties, 2)
            level = own[1][0] if own else style - 1 if 1 <= style <= 9 else None
            if level is not None or _ROW_ENDS in properties[2:]:
                looks[ends[at + 1]] = level, _ROW_ENDS in properties[2:]
    return looks


def _comments(data: bytes, table: bytes) -> list[tuple[int, int, str]]:
    """Return the begin and end of each comment in the text of all comments, and its author.

    Return [] if their tables are damaged.
    """
    try:
        (start, size), (texts, _), (names, length) = (
            unpack_from("<II", data, at) for at in (_COMMENTS, _COMMENT_TEXTS, _AUTHORS)
        )
        count = max(0, size - 4) // (4 + _COMMENT_SIZE)
        bounds = unpack_from(f"<{count + 1}I", table, texts) if count else ()
        authors: list[str] = []
        at = names
        while at + 2 <= names + length:
            end = at + 2 + 2 * unpack_from("<H", table, at)[0]
            authors.append(table[at + 2 : end].decode("utf-16-le", "replace"))
            at = end
        first = start + 4 * (count + 1) + _COMMENT_AUTHOR
        owners = [unpack_from("<h", table, first + number * _COMMENT_SIZE)[0] for number in range(count)]
    except struct.error:
        return []
    return [
        (begin, end, authors[owner] if 0 <= owner < len(authors) else "")
        for begin, end, owner in zip(bounds, bounds[1:], owners, strict=False)
    ]


def _comment_blocks(text: str, comments: list[tuple[int, int, str]]) -> Iterator[Block]:
    """Yield the comments in their text with their authors. Words outside all comments are comments without author."""
    at = 0
    for begin, end, author in [*comments, (len(text), len(text), "")]:
        for words, name in ((text[at:begin], ""), (text[begin:end], author)):
            if line := " ".join(_strip_fields(words).split()):
                yield comment(line, name)
        at = max(at, end)


def _document_parts(
    text: str,
    counts: list[int],
    pieces: list[_Piece],
    looks: dict[int, tuple[int | None, bool]],
    comments: list[tuple[int, int, str]],
) -> Iterator[Part]:
    firsts = [piece.first for piece in pieces]
    by_end: dict[int, tuple[int | None, bool]] = {}
    for at, sign in enumerate(text):
        if sign in "\r\x07\x0c":
            piece = pieces[bisect_right(firsts, at) - 1]
            if (look := looks.get(piece.place + (at - piece.first + 1) * piece.size)) is not None:
                by_end[at] = look
    begin = 0
    apart: list[Block] = []
    for (kind, _), count in zip(_NOTES, counts, strict=True):
        end = min(len(text), begin + count)
        if not kind and begin == 0:
            yield from _page_parts(text[:end], by_end)
        elif kind == "comment":
            apart += _comment_blocks(text[begin:end], comments)
        elif count:
            lines = [" ".join(_strip_fields(line).split()) for line in re.split("[\r\x07\x0c]", text[begin:end])]
            apart += (
                Paragraph(line) if kind == "box" else Remark(line, kind) for line in dict.fromkeys(filter(None, lines))
            )
        begin = end
    if apart:
        yield Part(apart, "notes")


def _page_parts(text: str, looks: dict[int, tuple[int | None, bool]]) -> Iterator[Part]:
    start = count = 0
    for page in text.split("\f"):
        ends = [at for at in range(start, start + len(page)) if text[at] in "\r\x07"]
        yield Part(
            list(
                _page_blocks(
                    page, [at - start for at in ends], {at - start: looks[at] for at in ends if at in looks}, count
                )
            )
        )
        count += len(ends)
        start += len(page) + 1


def _page_blocks(
    text: str, ends: list[int], looks: dict[int, tuple[int | None, bool]], count: int = 0
) -> Iterator[Block]:
    ends = ends or [at for at, sign in enumerate(text) if sign in "\r\x07"]
    rows: list[tuple[str, ...]] = []
    cells: list[str] = []
    cell: list[str] = []
    start = 0
    for at in [*ends, len(text)]:
        words, sign = _strip_fields(text[start:at]).strip(), text[at : at + 1]
        start, count = at + 1, count + 1
        level, row_ends = looks.get(at, (None, False))
        place = f"paragraph {count}"
        if sign == "\x07":
            if row_ends or (not words and not cell and cells and not looks):
                rows.append(tuple(cells))
                cells = []
            else:
                cells.append(" ".join(filter(None, (*cell, words))))
            cell = []
        elif cells and sign:
            cell.append(words)
        else:
            if rows or cells or cell:
                yield Table((*rows, (*cells, *cell)) if cells or cell else tuple(rows), place=place)
                rows, cells, cell = [], [], []
            if words:
                yield Paragraph(words, place) if level is None else Heading(level + 1, words, place=place)
    if rows or cells:
        yield Table((*rows, tuple(cells)) if cells else tuple(rows), place=f"paragraph {count}")


def _strip_fields(text: str) -> str:
    for _ in range(_DEEPEST_FIELD):
        text, changed = _FIELD.subn(lambda field: field[1] or "", text)
        if not changed:
            break
    pairs = text.translate(_SIGNS).encode("utf-16-le", "surrogatepass")  # surrogate pairs of characters beyond 16 bits
    return pairs.decode("utf-16-le", "replace")


_LIST, _PERSIST, _TEXT_KIND, _CHARACTERS, _BYTES = 4080, 1011, 3999, 4000, 4008
_SLIDE_ATOM, _EDIT, _DIRECTORY = 1007, 4085, 6002
_SLIDES, _NOTES_LIST = 0, 2  # number of the list
_TITLES = (0, 6)  # types of text that are titles
_ENCRYPTED_USER = 0xF3D1C4DF
_DEEPEST, _MOST_EDITS = 30, 1_000


class _Record(NamedTuple):
    kind: int
    number: int
    data: bytes
    deep: int


def read_powerpoint97(path: Path, limits: ParseLimits) -> Flow:
    """Read a PPT file. Raise PasswordError if it is encrypted, DocumentError if it cannot be read."""
    stored = streams(path, limits, "PowerPoint Document", "Current User", "EncryptedSummary")
    data, user = stored.get("PowerPoint Document", b""), stored.get("Current User", b"")
    if "EncryptedSummary" in stored or user[12:16] == _ENCRYPTED_USER.to_bytes(4, "little"):
        raise PasswordError(
            "the file is encrypted.", "Save a copy of the file without a password, and index the copy.", file=path
        )
    try:
        places, document = _directory(data, unpack_from("<I", user, 16)[0])
        lists: dict[int, list[tuple[int, int, list[tuple[int, str]]]]] = {}
        for record in _records(_body(data, places[document]), 0):
            if record.kind == _LIST and record.deep == 0:
                lists[record.number] = list(_listed(record.data))
        notes = {slide: place for place, slide, _ in lists.get(_NOTES_LIST, ())}
        parts = [
            Part(list(_slide(data, places, place, outline, notes, number)), f"slide {number}", whole=True)
            for number, (place, _, outline) in enumerate(lists.get(_SLIDES, ()), 1)
        ]
    except (struct.error, KeyError, IndexError, ValueError) as error:
        raise BrokenFileError(
            "the file is damaged: its slides cannot be listed.",
            "Open the file in PowerPoint, and save it as PPTX.",
            file=path,
        ) from error
    return Flow(iter(parts))


def _directory(data: bytes, edit: int) -> tuple[dict[int, int], int]:
    """Return ``{object number: offset}`` for a PPT file as of its last edit, and the number of the document object."""
    places: dict[int, int] = {}
    document = -1
    seen: set[int] = set()
    while edit and edit not in seen and len(seen) < _MOST_EDITS:
        seen.add(edit)
        previous, listed, first = unpack_from("<III", data, edit + 8 + 8)
        document = first if document < 0 else document
        size = unpack_from("<I", data, listed + 4)[0]
        at, end = listed + 8, listed + 8 + size
        while at + 4 <= end:
            entry = unpack_from("<I", data, at)[0]
            count = entry >> 20
            for step, place in enumerate(unpack_from(f"<{count}I", data, at + 4)):
                places.setdefault((entry & 0xFFFFF) + step, place)
            at += 4 + 4 * count
        edit = previous
    return places, document


def _body(data: bytes, place: int) -> bytes:
    size = unpack_from("<I", data, place + 4)[0]
    return data[place + 8 : place + 8 + size]


def _records(data: bytes, deep: int) -> Iterator[_Record]:
    """Yield all records, each one before its children."""
    at = 0
    while at + 8 <= len(data):
        version, kind, size = unpack_from("<HHI", data, at)
        body = data[at + 8 : at + 8 + size]
        yield _Record(kind, version >> 4, body, deep)
        if version & 0xF == 0xF and deep < _DEEPEST:
            yield from _records(body, deep + 1)
        at += 8 + size


def _listed(data: bytes) -> Iterator[tuple[int, int, list[tuple[int, str]]]]:
    """Yield (object number, slide id, texts) for each slide in a slide list of a PPT file."""
    texts: list[_Record] = []
    current: tuple[int, int] | None = None
    for record in _records(data, 0):
        if record.kind == _PERSIST:
            if current is not None:
                yield *current, list(_texts(texts))
            place, _, _, slide = unpack_from("<IIII", record.data)
            current, texts = (place, slide), []
        else:
            texts.append(record)
    if current is not None:
        yield *current, list(_texts(texts))


def _texts(records: list[_Record]) -> Iterator[tuple[int, str]]:
    kind = 4
    for record in records:
        if record.kind == _TEXT_KIND and len(record.data) >= 4:
            kind = unpack_from("<I", record.data)[0]
        elif record.kind in (_CHARACTERS, _BYTES):
            encoding = "utf-16-le" if record.kind == _CHARACTERS else "latin-1"
            if text := record.data.decode(encoding, "replace").strip("\r\v \0"):
                yield kind, text


def _slide(
    data: bytes, places: dict[int, int], place: int, outline: list[tuple[int, str]], notes: dict[int, int], number: int
) -> Iterator[Block]:
    records = list(_records(_body(data, places[place]), 0)) if place in places else []
    texts = [*outline, *_texts(records)]
    title = next((text for kind, text in texts if kind in _TITLES), "")
    if title:
        yield Heading(1, " ".join(title.split()), place=f"slide {number}")
    for at, (_, text) in enumerate(texts, 1):
        if text != title:
            for line in text.replace("\v", "\n").split("\r"):
                yield Paragraph(line, f"slide {number} text {at}")
    atom = next((record.data for record in records if record.kind == _SLIDE_ATOM), b"")
    note = notes.get(unpack_from("<I", atom, 16)[0], -1) if len(atom) >= 20 else -1
    if note in places:
        for _, text in _texts(list(_records(_body(data, places[note]), 0))):
            if text not in ("*", title):
                yield Remark(" ".join(text.split()), "notes", f"slide {number} notes")


Read = Callable[[Path, ParseLimits], Flow]
_PLAIN, _CONVERTED = Note("read.without-libreoffice"), Note("read.with-libreoffice")


def read_doc(path: Path, limits: ParseLimits) -> Flow:
    return _converted(path, limits, "docx", read_docx, read_word97)


def read_ppt(path: Path, limits: ParseLimits) -> Flow:
    return _converted(path, limits, "pptx", read_pptx, read_powerpoint97)


def _converted(path: Path, limits: ParseLimits, ending: str, read: Read, read_itself: Read) -> Flow:
    """Convert a file with LibreOffice and read the result with ``read``.

    If LibreOffice is not installed, read the file directly with ``read_itself``. Raise DocumentError if the file cannot
    be converted, or LibreOffice takes too long.
    """
    program = find_libreoffice()
    if program is None:
        flow = read_itself(path, limits)
        return replace(flow, warnings=[*flow.warnings, _PLAIN])
    data = convert(program, path, ending)
    with TemporaryDirectory() as folder:
        converted = Path(folder, path.name)
        converted.write_bytes(data)
        flow = read(converted, limits)
        parts = list(flow.parts)
        flow.close()
    return replace(
        flow, parts=iter(parts), warnings=[*flow.warnings, _CONVERTED], close=lambda: None,
        images=packed_pictures(path, limits, data),
    )  # fmt: skip
