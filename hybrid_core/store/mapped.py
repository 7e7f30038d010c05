"""JSON tables in one memory-mapped file, which opens in constant time.

They contain data derived from the catalog that takes long to compute. Each table stores the sorted hashes of its keys
and the offsets of its entries. An entry contains its key, because hashes may collide.
"""

from __future__ import annotations

import json
import mmap
import os
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from hybrid_core.errors import IndexDamagedError, StoreError
from hybrid_core.store.home import make_file, make_folder
from hybrid_core.system import replace_file

_MAGIC = b"tables 1"
_TAIL = 8 + len(_MAGIC)
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), check_circular=False).encode
_text = json.encoder.encode_basestring
_decode = json.JSONDecoder().raw_decode  # this method expects no spaces around the value


_damaged_files: set[tuple[str, int, int]] = set()  # damaged files that could not be deleted


class MappedTable(Mapping[str, Any]):
    """A table in a mapped file, as a read-only mapping.

    Reads raise IndexDamagedError if an entry is unreadable; the file is then deleted.
    """

    def __init__(self, file: MappedFile, count: int, arrays: tuple[int, int, int]) -> None:
        self._file, self._count = file, count
        view = memoryview(file.held)
        self._hashes = view[arrays[0] : arrays[0] + 8 * count].cast("Q")
        self._starts = view[arrays[1] : arrays[1] + 8 * count].cast("Q")
        self._sizes = view[arrays[2] : arrays[2] + 4 * count].cast("I")

    def __getitem__(self, key: str) -> Any:
        at, value = self._at(key)
        if at < 0:
            raise KeyError(key)
        return self._read(value, self._starts[at] + self._sizes[at] - 1)

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and self._at(key)[0] >= 0

    def _at(self, key: str) -> tuple[int, int]:
        """Return the index of a key's entry, -1 if there is none, and the offset of its value."""
        number, begins = int.from_bytes(_digest(key), "little"), f"[{_text(key)},".encode("utf-8", "surrogatepass")
        at = bisect_left(self._hashes, number)
        while at < self._count and self._hashes[at] == number:
            value = self._starts[at] + len(begins)
            if self._file.held[self._starts[at] : value] == begins:
                return at, value
            at += 1
        return -1, 0

    def __iter__(self) -> Iterator[str]:
        for at in range(self._count):
            yield self._entry(at)[0]

    def entries(self) -> Iterator[tuple[str, Any]]:
        """Yield (key, value) of all entries, in no particular order."""
        for at in range(self._count):
            key, value = self._entry(at)
            yield key, value

    def __len__(self) -> int:
        return self._count

    def _entry(self, at: int) -> tuple[str, Any]:
        start = self._starts[at]
        key, value = self._read(start, start + self._sizes[at])
        return key, value

    def _read(self, start: int, end: int) -> Any:
        try:
            return _decode(self._file.held[start:end].decode("utf-8", "surrogatepass"))[0]
        except ValueError as error:
            with suppress(OSError):
                _damaged_files.add(_stamp(self._file.path))
                self._file.path.unlink(missing_ok=True)
            raise IndexDamagedError(
                f"{self._file.path}: this file of the search is damaged ({error}).", "The engine builds the file again."
            ) from error


class MappedFile:
    """A file that ``write_tables`` wrote, opened for reading: its ``head``, and its ``tables`` by name."""

    def __init__(self, path: Path) -> None:
        """Open a file. Raise OSError if it cannot be read, and ValueError if it is incomplete or of another kind."""
        self.path = path
        if _stamp(path) in _damaged_files:
            raise ValueError("damaged")
        with path.open("rb") as file:
            self.held = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        size = len(self.held)
        if size < _TAIL or self.held[size - len(_MAGIC) :] != _MAGIC:
            raise ValueError("not whole")
        begins = int.from_bytes(self.held[size - _TAIL : size - len(_MAGIC)], "little")
        read = json.loads(self.held[begins : size - _TAIL])
        self.head: Mapping[str, Any] = read["head"]
        self.tables = {name: MappedTable(self, count, tuple(at)) for name, count, *at in read["tables"]}


def write_tables(path: Path, head: Mapping[str, Any], tables: Iterable[tuple[str, Iterable[tuple[str, Any]]]]) -> None:
    """Write a file with tables, each a name and its (unique key, JSON value) pairs, and the JSON object ``head``.

    The file appears only when it is complete. Raise StoreError if it cannot be written.
    """
    draft = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        make_folder(path.parent)
        make_file(draft)
        with draft.open("wb") as file:
            places = [(name, *_write_table(file, entries)) for name, entries in tables]
            begins = file.tell()
            file.write(_encode({"head": head, "tables": places}).encode())
            file.write(begins.to_bytes(8, "little") + _MAGIC)
            file.flush()
            os.fsync(file.fileno())
        replace_file(draft, path)
    except OSError as error:
        raise StoreError(
            f"{path}: this file of the search cannot be written ({error}).",
            "Free some disk space, or check the permissions of the folder.",
        ) from error
    finally:
        with suppress(OSError):
            draft.unlink(missing_ok=True)


def _write_table(file: BinaryIO, entries: Iterable[tuple[str, Any]]) -> tuple[int, int, int, int]:
    """Write the entries of a table. Return their number, and the offsets of the arrays of hashes, starts and sizes."""
    hashes, sizes = bytearray(), bytearray()
    first = file.tell()
    for key, value in entries:
        written = _encode([key, value]).encode("utf-8", "surrogatepass")
        hashes += _digest(key)
        sizes += len(written).to_bytes(4, "little")
        file.write(written)
    by_place = np.frombuffer(sizes, "<u4")
    numbers = np.frombuffer(hashes, "<u8")
    starts = first + np.cumsum(by_place, dtype=np.uint64) - by_place
    order = np.argsort(numbers, kind="stable")
    at = []
    for array in (numbers[order], starts[order].astype("<u8"), by_place[order]):
        file.write(b"\0" * (-file.tell() % 8))
        at.append(file.tell())
        file.write(array.tobytes())
    return len(numbers), at[0], at[1], at[2]


def _stamp(path: Path) -> tuple[str, int, int]:
    """Return path, size and time of a file, which identify its current content. Raise OSError."""
    status = path.stat()
    return str(path), status.st_size, status.st_mtime_ns


def _digest(key: str) -> bytes:
    return blake2b(key.encode("utf-8", "surrogatepass"), digest_size=8).digest()
