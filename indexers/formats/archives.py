"""ZIP and TAR archives, and files compressed by gzip, bzip2 or xz: their members, and a page that lists them."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import re
import tarfile
import unicodedata
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, BinaryIO, cast

from hybrid_core.errors import BrokenFileError, DocumentError, LimitError, PasswordError
from indexers.formats.decode import guess_encoding, mean_run
from indexers.formats.flow.blocks import Block, Flow, Heading, Item, Paragraph, Part
from indexers.formats.flow.safety import Package
from indexers.formats.format import Member, clean_name
from indexers.formats.limits import ParseLimits, system_reason

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer


def listing(path: Path, entries: Iterable[tuple[str, int | None]]) -> Flow:
    """Return a page that lists the files of an archive. ``entries`` are (name, size in bytes or None if unknown)."""
    blocks: list[Block] = [Heading(1, path.name, place="entry 0")]
    blocks += [
        Item(clean_name(name) + ("" if size is None else f" ({size:,} bytes)"), place=f"entry {at}")
        for at, (name, size) in enumerate(entries, 1)
    ]
    if len(blocks) == 1:
        blocks.append(Paragraph("An empty archive.", "entry 0"))
    return Flow(iter([Part(blocks)]))


_UTF8, _ENCRYPTED = 0x800, 0x1
_UNICODE_PATH = 0x7075  # extra field of Info-ZIP: a version, a checksum, the name
_PIECE = 2**20
_OEM = frozenset("cp932 gb18030 big5hkscs cp949 euc_jp cp866 cp1251".split())
_HIGH = re.compile("[^\x00-\x7f]")


def read_zip(path: Path, limits: ParseLimits) -> Flow:
    """Return a page that lists the files of a ZIP archive.

    Raise the errors of ``Package``, and PasswordError if all entries are encrypted.
    """
    entries = _zip_entries(path, limits)
    return listing(path, [(name, entry.file_size) for name, entry in entries])


def zip_members(path: Path, limits: ParseLimits) -> Iterator[Member]:
    """Yield the archive's members in order. Raise the same errors as ``read_zip``."""
    for name, entry in _zip_entries(path, limits):
        yield Member(name, partial(_read_entry, path, entry))


def _zip_entries(path: Path, limits: ParseLimits) -> list[tuple[str, zipfile.ZipInfo]]:
    package = Package(path, limits)
    entries = [entry for entry in package.entries if not entry.is_dir()]
    package.close()
    if entries and all(entry.flag_bits & _ENCRYPTED for entry in entries):
        raise PasswordError(
            "all files in the archive are encrypted.",
            "Unpack the archive with its password, and index the folder with the unpacked files.",
            file=path,
        )
    named = [_unicode_name(entry) for entry in entries]
    names = [name or entry.filename for name, entry in zip(named, entries, strict=True)]
    unmarked = [at for at, entry in enumerate(entries) if not entry.flag_bits & _UTF8 and _HIGH.search(names[at])
                and not named[at]]  # fmt: skip
    for at, name in zip(unmarked, decode_names([names[at] for at in unmarked]), strict=True):
        names[at] = name
    return list(zip(names, entries, strict=True))


def _unicode_name(entry: zipfile.ZipInfo) -> str:
    """Return the Unicode name of an entry from its extra field, "" if there is none."""
    extra = entry.extra
    while len(extra) >= 4:
        kind, size = int.from_bytes(extra[:2], "little"), int.from_bytes(extra[2:4], "little")
        body, extra = extra[4 : 4 + size], extra[4 + size :]
        if kind == _UNICODE_PATH and len(body) > 5:
            return body[5:].decode("utf-8", "replace")
    return ""


def _read_entry(path: Path, entry: zipfile.ZipInfo) -> Iterator[bytes]:
    if entry.flag_bits & _ENCRYPTED:
        raise PasswordError(
            "the file is encrypted.",
            "Unpack the archive with its password, and index the folder with the unpacked files.",
        )
    try:
        with zipfile.ZipFile(path) as archive, archive.open(entry) as file:
            while piece := file.read(_PIECE):
                yield piece
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError, ValueError, RuntimeError) as error:
        raise DocumentError(f"the archive is damaged, so it cannot be unpacked{system_reason(error)}.") from error


def _odd_letters(names: str) -> int:
    """Return the number of non-ASCII characters that are no Latin letters, or are capitals within words."""
    return sum(
        (sign not in _PLAIN and not unicodedata.name(sign, "").startswith("LATIN"))
        or (sign.isupper() and names[at - 1 : at].islower())
        for at, sign in enumerate(names) if not sign.isascii()
    )  # fmt: skip


_PLAIN = "–—’µ°½¼²£§ª«»¿¡©®"  # signs that names have
_WESTERN = ("cp437", "cp850", "cp1252")  # of DOS and Windows, the usual one first


def decode_names(names: list[str]) -> list[str]:
    """Decode names without a declared encoding that were read as code page 437.

    All names together determine the encoding.

    In other alphabets and in Chinese, Japanese and Korean, non-ASCII letters form runs; accents of Western names do
    not. Western names are in the encoding in which the most of them are Latin letters.
    """
    if not names:
        return names
    data = b"\n".join(name.encode("cp437", "replace") for name in names)
    try:
        return data.decode("utf-8").split("\n")
    except UnicodeDecodeError:
        guess = guess_encoding(data, _OEM) if mean_run(data) >= 1.5 else None
    western = min(_WESTERN, key=lambda codec: _odd_letters(data.decode(codec, "replace")))
    decoded = data.decode(guess.codec if guess is not None else western, "replace").split("\n")
    return decoded if len(decoded) == len(names) else names


_TAR_PIECE = 2**20
_BLOCK = 512  # block size of a TAR archive
_DAMAGED = (tarfile.TarError, OSError, EOFError, zlib.error, lzma.LZMAError, ValueError, OverflowError)
_PACKED = ((b"\x1f\x8b", gzip.open), (b"BZh", bz2.open), (b"\xfd7zXZ\0", lzma.open), (b"\x5d\0\0", lzma.open))


def read_tar(path: Path, limits: ParseLimits) -> Flow:
    """Return a page that lists the files of a TAR archive.

    Raise DocumentError if it is damaged, LimitError if it is too large.
    """
    return listing(path, [(name, size) for name, size, _ in _tar_entries(path, limits)])


def tar_members(path: Path, limits: ParseLimits) -> Iterator[Member]:
    """Yield the files of a TAR archive in order. Each must be read before the next one is requested.

    Raise the same errors as ``read_tar``.
    """
    for name, _, file in _tar_entries(path, limits):
        yield Member(name, partial(_read_pieces, file))


def _read_pieces(file: IO[bytes]) -> Iterator[bytes]:
    try:
        while piece := file.read(_TAR_PIECE):
            yield piece
    except _DAMAGED as error:
        raise DocumentError(f"the archive is damaged, so it cannot be unpacked{system_reason(error)}.") from error


def _decode_name(name: str) -> str:
    """Decode a name whose bytes are not UTF-8."""
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
    """A decompressed stream that raises LimitError after too many bytes."""

    def __init__(self, path: Path, stream: BinaryIO, limits: ParseLimits) -> None:
        self._path, self._stream, self._limits, self._read = path, stream, limits, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        view = memoryview(buffer)
        data = self._stream.read(len(view))
        view[: len(data)] = data
        self._read += len(data)
        message = f"unpacked, its files have {self._read:,} bytes or more"
        self._limits.check("max_expanded_bytes", self._read, message, self._path)
        return len(data)


def _is_tar(block: bytes) -> bool:
    """Return whether a block begins a TAR archive, by its magic number or, in old archives, by its checksum."""
    if b"ustar" in block[257:265]:
        return True
    try:
        stored = int(block[148:156].strip(b"\0 ") or b"-1", 8)
    except ValueError:
        return False
    return len(block) == _BLOCK and block[0] != 0 and stored == sum(block[:148]) + 8 * 32 + sum(block[156:])


def _tar_entries(path: Path, limits: ParseLimits) -> Iterator[tuple[str, int | None, IO[bytes]]]:
    """Yield (name, size or None, content) of the regular files in a TAR archive, which is read as a stream.

    A file that is only compressed, without an archive inside, gives one entry.
    """
    with path.open("rb") as raw:
        head = raw.read(8)
        raw.seek(0)
        open = next((open for mark, open in _PACKED if head.startswith(mark)), None)
        unpacked = raw if open is None else cast(BinaryIO, open(raw))
        stream = io.BufferedReader(_Bounded(path, unpacked, limits), _TAR_PIECE)
        try:
            if open is not None and not _is_tar(stream.peek(_BLOCK)[:_BLOCK]):
                yield path.name.removesuffix(path.suffix) or "content", None, stream
                return
            with closing(tarfile.open(fileobj=stream, mode="r|")) as archive:
                for at, entry in enumerate(archive):
                    limits.check("max_entries", at + 1, f"the archive contains {at + 1:,} files or more", file=path)
                    if entry.isreg() and (file := archive.extractfile(entry)) is not None:
                        yield _decode_name(entry.name), entry.size, file
        except LimitError:
            raise
        except _DAMAGED as error:
            raise BrokenFileError(
                f"the archive is damaged, so it cannot be unpacked{system_reason(error)}.", file=path
            ) from error
