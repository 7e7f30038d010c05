"""TAR archives, packed or not, and single files packed by gzip, bzip2 or xz."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import tarfile
import zlib
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, BinaryIO, cast

from hybrid_core.errors import BrokenFileError, DocumentError, LimitError
from indexers.formats.archive.listing import listing
from indexers.formats.archive.zip import decode_names
from indexers.formats.flow.blocks import Flow
from indexers.formats.limits import ParseLimits
from indexers.formats.members import Member

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

_PIECE = 2**20
_BLOCK = 512  # of a TAR archive
_DAMAGED = (tarfile.TarError, OSError, EOFError, zlib.error, lzma.LZMAError, ValueError, OverflowError)
_PACKED = ((b"\x1f\x8b", gzip.open), (b"BZh", bz2.open), (b"\xfd7zXZ\0", lzma.open))


def read_tar(path: Path, limits: ParseLimits) -> Flow:
    """A page that lists the archive. Raises DocumentError where it is damaged, LimitError where it holds too much."""
    return listing(path, [(name, size) for name, size, _ in _entries(path, limits)])


def tar_members(path: Path, limits: ParseLimits) -> Iterator[Member]:
    """Its members, in order, each to be read before the next one is asked for. Raises as ``read_tar``."""
    for name, _, file in _entries(path, limits):
        yield Member(name, partial(_pieces, file))


def _pieces(file: IO[bytes]) -> Iterator[bytes]:
    try:
        while piece := file.read(_PIECE):
            yield piece
    except _DAMAGED as error:
        raise DocumentError(f"damaged, it cannot be unpacked ({error}).") from error


def _name(name: str) -> str:
    """Decode a name whose bytes are no UTF-8."""
    try:
        data = name.encode("utf-8", "surrogateescape")
        return name if name.isascii() else data.decode("utf-8")
    except UnicodeEncodeError:
        return name.encode("utf-8", "replace").decode()
    except UnicodeDecodeError:
        western = data.decode("cp437")
        (guess,) = decode_names([western])
        return guess if guess != western else data.decode("cp1252", "replace")


class _Bounded(io.RawIOBase):
    """A packed stream that ends with an error once it has unpacked to too much."""

    def __init__(self, path: Path, stream: BinaryIO, limits: ParseLimits) -> None:
        self._path, self._stream, self._limits, self._read = path, stream, limits, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        view = memoryview(buffer)
        data = self._stream.read(len(view))
        view[: len(data)] = data
        self._read += len(data)
        found = f"{self._path}: it unpacks to {self._read:,} bytes or more"
        self._limits.check("max_expanded_bytes", self._read, found)
        return len(data)


def _entries(path: Path, limits: ParseLimits) -> Iterator[tuple[str, int | None, IO[bytes]]]:
    """Names, sizes and contents of files, links and devices left out; read as a stream, so that nothing is sought."""
    with path.open("rb") as raw:
        head = raw.read(8)
        raw.seek(0)
        open = next((open for mark, open in _PACKED if head.startswith(mark)), None)
        unpacked = raw if open is None else cast(BinaryIO, open(raw))
        stream = io.BufferedReader(_Bounded(path, unpacked, limits), _PIECE)
        try:
            if open is not None and b"ustar" not in stream.peek(_BLOCK)[257:265]:
                yield path.name.removesuffix(path.suffix) or "content", None, stream
                return
            with closing(tarfile.open(fileobj=stream, mode="r|")) as archive:
                for at, entry in enumerate(archive):
                    limits.check("max_entries", at + 1, f"{path}: it packs {at + 1:,} files or more")
                    if entry.isreg() and (file := archive.extractfile(entry)) is not None:
                        yield _name(entry.name), entry.size, file
        except LimitError:
            raise
        except _DAMAGED as error:
            raise BrokenFileError(f"{path}: damaged, it cannot be unpacked ({error}).") from error
