"""Reads of a SQLite file and its write-ahead log, page by page, without SQLite, which stops at the first damaged page.

The format is documented at https://www.sqlite.org/fileformat2.html. Rows are decoded from the leaves of the b-trees.
Each page is assigned to the tree that contains it. A page in two trees, or in none, is another sign of damage.
"""

from __future__ import annotations

import mmap
import struct
from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

MAGIC = b"SQLite format 3\0"
PAGE_SIZE = 4096  # SQLite's default, if the header is unreadable
TABLE_LEAF, INDEX_LEAF = 13, 10
_TABLE_INTERIOR, _INDEX_INTERIOR = 5, 2
# kind, first free block, number of cells, start of their content, fragmented bytes
_PAGE_HEADER = struct.Struct(">BHHHB")
_INTEGERS = (0, 1, 2, 3, 4, 6, 8)  # sizes in bytes of the serial types 0 to 6
_SMALLEST_CELL = 4  # bytes
_FREE = 1  # the owner number of pages in the free list
_FIRST_TREE = 2
_LOCK_BYTE = 0x40000000  # SQLite never uses the page with this byte

Value = None | int | float | str | bytes
Record = tuple[int, list[Value]]
"""The rowid (0 in an index), and the values as stored. Text is bytes of the class ``Text``."""

_HEADER = struct.Struct(">8I")  # magic, version, page size, checkpoint, two salts, two checksums
_FRAME = struct.Struct(">6I")  # page number, number of pages after a commit (else 0), two salts, two checksums
_MAGIC = 0x377F0682  # plus 1 if checksums use big-endian words


class Text(bytes):
    """The bytes of a text value, which are valid UTF-8 unless damaged. A blob is plain ``bytes``."""


class Damage(Exception):
    """A part of a page does not conform to the file format of SQLite."""


@dataclass(slots=True, eq=False)
class Tree:
    """A b-tree of the file. ``damage`` counts unreadable pages and cells, ``records`` readable rows."""

    number: int
    table: bool
    damage: int = 0
    records: int = 0


@dataclass(frozen=True, slots=True)
class _Page:
    leaf: bool
    children: tuple[int, ...]
    cells: tuple[Record | None, ...]


class PageFile:
    """The pages of a SQLite file, numbered from 1.

    ``whole`` is True if the header and the free list are valid, and no page is truncated.
    """

    def __init__(self, data: bytes | mmap.mmap, page_size: int = PAGE_SIZE, reserved: int = 0) -> None:
        """Open the bytes of a SQLite file. ``reserved`` is the number of unused bytes at the end of each page."""
        head = bytes(data[:100])
        self.page_size, self._usable = page_size, page_size - reserved
        self._data = data
        self.count = len(data) // page_size
        self._owners = array("H", bytes(2 * (self.count + 1)))
        self._trees = list[Tree]()
        self.whole = False
        if geometry_of(head) == (page_size, reserved):
            counted = struct.unpack_from(">I", head, 28)[0] if head[24:28] == head[92:96] else self.count
            self.whole = self._mark_free(head) and len(data) % page_size == 0 and counted == self.count
        if (lock := _LOCK_BYTE // self.page_size + 1) <= self.count:
            self._owners[lock] = _FREE

    def new_tree(self, *, table: bool) -> Tree:
        """Return a new, empty b-tree. With ``table`` it has rowids as keys; if not, it is an index or has no rowids."""
        tree = Tree(len(self._trees) + _FIRST_TREE, table)
        self._trees.append(tree)
        return tree

    def records(self, tree: Tree, root: int) -> Iterator[Record]:
        """Yield the records of the tree below ``root``, in order where it is undamaged. ``tree`` counts the damage."""
        left: list[int | Record] = [root]
        while left:
            item = left.pop()
            if not isinstance(item, int):
                tree.records += 1
                yield item
                continue
            try:
                page = self._read(tree, item)
            except Damage:
                tree.damage += 1
                continue
            if page.leaf:
                left += reversed([cell for cell in page.cells if cell is not None])
                continue
            *before, last = page.children
            inside: list[int | Record] = []
            for child, cell in zip(before, page.cells, strict=True):
                inside += [child] if cell is None or tree.table else [child, cell]
            left += reversed([*inside, last])

    def unclaimed(self) -> list[int]:
        """Return the numbers of the pages that belong neither to a b-tree nor to the free list."""
        return [number for number in range(1, self.count + 1) if not self._owners[number]]

    def stray(self, number: int) -> tuple[bool, list[Record]]:
        """Read a page that belongs to no b-tree, without assigning it to one.

        Return whether it is part of a table with rowids, and its records. Raise Damage if it contains no rows.
        """
        tree = Tree(0, table=self._kind(number) == TABLE_LEAF)
        if self._kind(number) == _TABLE_INTERIOR:
            raise Damage
        return tree.table, [cell for cell in self._read(tree, number, claim=False).cells if cell is not None]

    def claim_stray(self, tree: Tree, number: int) -> None:
        """Assign a page that ``stray`` read to a b-tree, with all overflow pages of its rows."""
        tree.records += sum(cell is not None for cell in self._read(tree, number).cells)

    def _kind(self, number: int) -> int:
        start = (number - 1) * self.page_size
        return self._data[start + 100 if number == 1 else start]

    def _claim(self, tree: Tree, number: int) -> None:
        """Assign a page to a tree. If another tree has it already, count damage in both.

        Raise Damage if the page does not exist, or if this tree already has it.
        """
        if not 1 <= number <= self.count:
            raise Damage
        owner = self._owners[number]
        if owner == tree.number:
            raise Damage
        if owner:  # two trees contain it, and the right one is unknown
            tree.damage += 1
            if owner == _FREE:
                self.whole = False
            else:
                self._trees[owner - _FIRST_TREE].damage += 1
        self._owners[number] = tree.number

    def _read(self, tree: Tree, number: int, *, claim: bool = True) -> _Page:
        if claim:
            self._claim(tree, number)
        start, first = (number - 1) * self.page_size, 100 if number == 1 else 0
        page = self._data[start : start + self.page_size]
        kind, free, count, content, lost = _PAGE_HEADER.unpack_from(page, first)
        interior = kind in (_TABLE_INTERIOR, _INDEX_INTERIOR)
        if kind not in ((_TABLE_INTERIOR, TABLE_LEAF) if tree.table else (_INDEX_INTERIOR, INDEX_LEAF)):
            raise Damage
        pointers = first + (12 if interior else 8)
        if pointers + 2 * count > self._usable:
            raise Damage
        children, cells, used = list[int](), list[Record | None](), lost
        for (at,) in struct.iter_unpack(">H", page[pointers : pointers + 2 * count]):
            child, cell = 0, None
            try:
                child, cell, size = self._cell(tree, page, at, kind, claim=claim)
                used += size
            except (Damage, IndexError, struct.error):
                tree.damage += 1
                if interior and at + 4 <= self._usable:
                    child = struct.unpack_from(">I", page, at)[0]
            children.append(child)
            cells.append(cell)
        if interior:
            children.append(struct.unpack_from(">I", page, first + 8)[0])
        used += _free_bytes(page, free)
        if used != self._usable - (content or 65536):  # a lost cell, or one that is too long
            tree.damage += 1
        return _Page(not interior, tuple(children), tuple(cells))

    def _cell(self, tree: Tree, page: bytes, at: int, kind: int, *, claim: bool) -> tuple[int, Record | None, int]:
        """Read the cell at offset ``at`` of a page. Return (child page, record, bytes that it occupies on the page).

        Raise Damage or IndexError if it is invalid.
        """
        begin, child, rowid = at, 0, 0
        if kind in (_TABLE_INTERIOR, _INDEX_INTERIOR):
            child = struct.unpack_from(">I", page, at)[0]
            at += 4
        if kind == _TABLE_INTERIOR:
            _, at = _varint(page, at)
            return child, None, at - begin
        length, at = _varint(page, at)
        if kind == TABLE_LEAF:
            rowid, at = _varint(page, at)
        usable = self._usable
        limit = usable - 35 if kind == TABLE_LEAF else (usable - 12) * 64 // 255 - 23
        if length <= limit:
            if at + length > usable:
                raise Damage
            return child, (rowid, _decode(page[at : at + length])), max(at + length - begin, _SMALLEST_CELL)
        minimum = (usable - 12) * 32 // 255 - 23
        local = minimum + (length - minimum) % (usable - 4)
        local = local if local <= limit else minimum
        if at + local + 4 > usable or length > self.count * self.page_size:
            raise Damage
        parts, missing = [page[at : at + local]], length - local
        following = struct.unpack_from(">I", page, at + local)[0]
        for number in self._chain(tree, following, claim=claim):
            start = (number - 1) * self.page_size + 4
            parts.append(self._data[start : start + min(missing, usable - 4)])
            missing -= len(parts[-1])
            if not missing:
                break
        if missing:
            raise Damage
        return child, (rowid, _decode(b"".join(parts))), at + local + 4 - begin

    def _chain(self, tree: Tree, number: int, *, claim: bool) -> Iterator[int]:
        """Yield the numbers of the overflow pages of a long record, of which ``number`` is the first."""
        while number:
            if claim:
                self._claim(tree, number)
            elif not 1 <= number <= self.count:
                raise Damage
            yield number
            number = struct.unpack_from(">I", self._data, (number - 1) * self.page_size)[0]

    def _mark_free(self, head: bytes) -> bool:
        """Mark the pages of the free list, which the file's header locates. Return False if the list is damaged."""
        trunk, expected = struct.unpack_from(">II", head, 32)
        free = set[int]()
        while trunk:
            if not 1 < trunk <= self.count or trunk in free:
                return False
            free.add(trunk)
            self._owners[trunk] = _FREE
            start = (trunk - 1) * self.page_size
            trunk, count = struct.unpack_from(">II", self._data, start)
            if count > self.page_size // 4 - 2:
                return False
            for (leaf,) in struct.iter_unpack(">I", self._data[start + 8 : start + 8 + 4 * count]):
                if not 1 < leaf <= self.count or leaf in free:
                    return False
                free.add(leaf)
                self._owners[leaf] = _FREE
        return len(free) == int(expected)


def geometry_of(head: bytes) -> tuple[int, int]:
    """Return the page size and the reserved bytes per page from the first 100 bytes of a file, (0, 0) if invalid."""
    if len(head) < 100 or head[:16] != MAGIC or head[21:24] != b"\x40\x20\x20":
        return 0, 0
    size = int.from_bytes(head[16:18], "big")
    size = 65536 if size == 1 else size
    return (size, head[20]) if 512 <= size <= 65536 and not size & (size - 1) and size - head[20] >= 480 else (0, 0)


def open_pages(data: bytes | mmap.mmap) -> PageFile:
    """Open a file with the page size in its header, or with SQLite's default, whichever shows less damage."""
    size, reserved = geometry_of(bytes(data[:100]))
    candidates = {(PAGE_SIZE, 0): 0, (size, 0): 1, (size, reserved): 2} if size else {(PAGE_SIZE, 0): 0}
    if len(candidates) == 1:
        return PageFile(data)
    return PageFile(data, *min(candidates, key=lambda pair: (_damage(PageFile(data, *pair)), candidates[pair])))


def _damage(pages: PageFile) -> int:
    """Return the amount of damage in the schema, which is the first tree of the file."""
    tree = pages.new_tree(table=True)
    readable = sum(1 for _ in pages.records(tree, 1))
    return tree.damage + (not readable)


def _varint(page: bytes, at: int) -> tuple[int, int]:
    value = 0
    for place in range(at, at + 8):
        byte = page[place]
        value = value << 7 | byte & 127
        if byte < 128:
            return value, place + 1
    value = value << 8 | page[at + 8]
    return value - (1 << 64) if value >> 63 else value, at + 9


def _decode(payload: bytes) -> list[Value]:
    """Decode the bytes of a record and return its values. Raise Damage if its header does not fit its length."""
    size, at = _varint(payload, 0)
    values, body = list[Value](), size
    if size > len(payload):
        raise Damage
    while at < size:
        kind, at = _varint(payload, at)
        if kind >= 12:
            length = (kind - 12) // 2
            piece = payload[body : body + length]
            values.append(Text(piece) if kind & 1 else piece)
        elif kind == 7:
            length = 8
            values.append(struct.unpack_from(">d", payload, body)[0])
        elif kind in (8, 9):
            length = 0
            values.append(kind - 8)
        elif kind <= 6:
            length = _INTEGERS[kind]
            values.append(int.from_bytes(payload[body : body + length], "big", signed=True) if kind else None)
        else:
            raise Damage
        body += length
    if at != size or body != len(payload):
        raise Damage
    return values


def _free_bytes(page: bytes, at: int) -> int:
    """Return the number of bytes in the free blocks of a page. ``at`` is the first; each points to the next one."""
    total, before = 0, 0
    while before < at <= len(page) - 4:
        before = at
        at, size = struct.unpack_from(">HH", page, at)
        total += size
    return total


def fold(log: Path, copy: Path) -> bool:
    """Write the commits in a write-ahead log into ``copy``, a copy of its database file.

    Commits after a damaged frame are ignored, as SQLite does. Return False if there are any, or if the log's header is
    damaged.
    """
    size = log.stat().st_size if log.exists() else 0
    if not size:
        return True
    with log.open("rb") as source, copy.open("r+b") as target:
        head = source.read(_HEADER.size)
        if len(head) < _HEADER.size:
            return False
        magic, _, page_size, _, *salts, first, second = _HEADER.unpack(head)
        big = magic == _MAGIC + 1
        sums = _checksum(head[:24], big, (0, 0))
        if magic not in (_MAGIC, _MAGIC + 1) or sums != (first, second) or not 512 <= page_size <= 65536:
            return False
        pending, whole = dict[int, int](), True
        while len(frame := source.read(_FRAME.size)) == _FRAME.size:
            number, pages, *rest = _FRAME.unpack(frame)
            at = source.tell()
            data = source.read(page_size)
            if rest[:2] != salts or len(data) < page_size:
                break  # left over from earlier use of the file, or from a killed process
            if whole:
                sums = _checksum(data, big, _checksum(frame[:8], big, sums))
                if sums != (rest[2], rest[3]):
                    pending.clear()
                    whole = False
                else:
                    pending[number] = at
            if not pages:
                continue
            if not whole:
                return False
            for page, place in pending.items():
                source.seek(place)
                target.seek((page - 1) * page_size)
                target.write(source.read(page_size))
            target.truncate(pages * page_size)
            source.seek(at + page_size)
            pending.clear()
        return True


def _checksum(data: bytes, big: bool, sums: tuple[int, int]) -> tuple[int, int]:
    """Return SQLite's checksum of a write-ahead log, continued from ``sums`` over ``data``.

    ``big`` is True if the words of four bytes are big-endian.
    """
    first, second = sums
    words = struct.unpack(f"{'>' if big else '<'}{len(data) // 4}I", data)
    for at in range(0, len(words), 2):
        first = (first + words[at] + second) & 0xFFFFFFFF
        second = (second + words[at + 1] + first) & 0xFFFFFFFF
    return first, second
