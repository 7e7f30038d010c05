"""DOC without LibreOffice: text, headings, tables and notes, by the pieces and paragraph marks of the file."""

from __future__ import annotations

import re
import struct
from bisect import bisect_right
from collections.abc import Iterator
from pathlib import Path
from struct import unpack_from
from typing import NamedTuple

from hybrid_core.errors import BrokenFileError, PasswordError
from indexers.formats.flow.blocks import Block, Flow, Heading, Note, Paragraph, Part, Table
from indexers.formats.limits import ParseLimits
from indexers.formats.office.ole_streams import streams

_WORD_97, _WORD_6 = 0xA5EC, (0xA5DC, 0xA697, 0xA699)
_ENCRYPTED, _SECOND_TABLE, _OBFUSCATED = 0x0100, 0x0200, 0x8000
_ROW_ENDS = b"\x17\x24\x01"  # the property of a paragraph that ends a row of a table
_LEVEL = re.compile(rb"\x40\x26([\x00-\x08])")  # … that gives its outline level
_FIELD = re.compile("\x13[^\x13\x14\x15]*(?:\x14([^\x13\x14\x15]*))?\x15")  # its instruction, and what it shows
_SIGNS = {0x0B: "\n", 0x1E: "-", 0x1F: "", 0xA0: " ", 0x01: "", 0x08: "", 0x03: "", 0x04: "", 0x05: "", 0x02: "",
          0x13: "", 0x14: "", 0x15: "", 0x28: "("}  # fmt: skip
_DEEPEST_FIELD = 8
_NOTES = (("", 0x4C), ("note", 0x50), ("header", 0x54), ("", 0x58), ("comment", 0x5C), ("note", 0x60), ("box", 0x64),
          ("box", 0x68))  # fmt: skip


class _Piece(NamedTuple):
    """``first`` and ``place`` are its first character's number and its offset in the file, ``size`` a character's."""

    first: int
    place: int
    size: int


def read_word97(path: Path, limits: ParseLimits) -> Flow:
    """Raises PasswordError where it is encrypted, DocumentError where it cannot be read."""
    stored = streams(path, limits, "WordDocument", "0Table", "1Table")
    data = stored.get("WordDocument", b"")
    try:
        magic, flags = unpack_from("<H8xH", data)
        if flags & _ENCRYPTED:
            kind = "XOR" if flags & _OBFUSCATED else "RC4"
            raise PasswordError(f"{path}: encrypted ({kind}).", "Save it without a password.")
        if magic in _WORD_6:
            first, end = unpack_from("<II", data, 0x18)
            return Flow(iter([Part(list(_blocks(data[first:end].decode("cp1252", "replace"), [], {})))]), clauses=True)
        if magic != _WORD_97:
            raise BrokenFileError(f"{path}: damaged, it is no file of Word 97.")
        table = stored.get("1Table" if flags & _SECOND_TABLE else "0Table", b"")
        text, pieces = _text(data, table)
        looks = _looks(data, table)
        counts = [max(0, unpack_from("<i", data, at)[0]) for _, at in _NOTES]
    except (struct.error, IndexError, ValueError) as error:
        raise BrokenFileError(f"{path}: damaged, its text cannot be put together.", "Save it as DOCX.") from error
    return Flow(_parts(text, counts, pieces, looks), clauses=True)


def _text(data: bytes, table: bytes) -> tuple[str, list[_Piece]]:
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
    """The outline level of a paragraph, None for text, and whether it ends a row, by the offset after its end."""
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


def _parts(
    text: str, counts: list[int], pieces: list[_Piece], looks: dict[int, tuple[int | None, bool]]
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
            yield from _pages(text[:end], by_end)
        elif count:
            lines = [" ".join(_plain(line).split()) for line in re.split("[\r\x07\x0c]", text[begin:end])]
            apart += (
                Paragraph(line) if kind == "box" else Note(line, kind) for line in dict.fromkeys(filter(None, lines))
            )
        begin = end
    if apart:
        yield Part(apart, "notes")


def _pages(text: str, looks: dict[int, tuple[int | None, bool]]) -> Iterator[Part]:
    start = count = 0
    for page in text.split("\f"):
        ends = [at for at in range(start, start + len(page)) if text[at] in "\r\x07"]
        yield Part(
            list(
                _blocks(page, [at - start for at in ends], {at - start: looks[at] for at in ends if at in looks}, count)
            )
        )
        count += len(ends)
        start += len(page) + 1


def _blocks(text: str, ends: list[int], looks: dict[int, tuple[int | None, bool]], count: int = 0) -> Iterator[Block]:
    ends = ends or [at for at, sign in enumerate(text) if sign in "\r\x07"]
    rows: list[tuple[str, ...]] = []
    cells: list[str] = []
    cell: list[str] = []
    start = 0
    for at in [*ends, len(text)]:
        words, sign = _plain(text[start:at]).strip(), text[at : at + 1]
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


def _plain(text: str) -> str:
    for _ in range(_DEEPEST_FIELD):
        text, changed = _FIELD.subn(lambda field: field[1] or "", text)
        if not changed:
            break
    pairs = text.translate(_SIGNS).encode("utf-16-le", "surrogatepass")  # halves of characters beyond 16 bits
    return pairs.decode("utf-16-le", "replace")
