"""The write-ahead log beside a SQLite file, folded into a copy of it. SQLite itself would want a whole header."""

from __future__ import annotations

import struct
from pathlib import Path

_HEADER = struct.Struct(">8I")  # magic, version, page size, checkpoint, two salts, two checksums
_FRAME = struct.Struct(">6I")  # page, pages of the file after a commit (else 0), two salts, two checksums
_MAGIC = 0x377F0682  # plus 1 where checksums are of big-endian words


def fold(log: Path, copy: Path) -> bool:
    """Write what was committed to ``log`` into the file ``copy``; False where some of the log cannot be read.

    A commit behind a damaged frame is left out, as SQLite does it.
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
                break  # what an earlier use of the file has left, or a kill
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
    """SQLite's checksum of words of four bytes, two at a time, going on from ``sums``."""
    first, second = sums
    words = struct.unpack(f"{'>' if big else '<'}{len(data) // 4}I", data)
    for at in range(0, len(words), 2):
        first = (first + words[at] + second) & 0xFFFFFFFF
        second = (second + words[at + 1] + first) & 0xFFFFFFFF
    return first, second
