"""ZIP archives."""

from __future__ import annotations

import re
import zipfile
import zlib
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from hybrid_core.errors import DocumentError, PasswordError
from indexers.formats.archive.listing import listing
from indexers.formats.decode import guess_encoding, mean_run
from indexers.formats.flow.blocks import Flow
from indexers.formats.flow.safety import Package
from indexers.formats.limits import ParseLimits
from indexers.formats.members import Member

_UTF8, _ENCRYPTED = 0x800, 0x1
_PIECE = 2**20
_OEM = frozenset("cp932 gb18030 big5hkscs cp949 euc_jp cp866 cp1251".split())
_HIGH = re.compile("[^\x00-\x7f]")


def read_zip(path: Path, limits: ParseLimits) -> Flow:
    """A page that lists the archive. Raises as ``Package``, and PasswordError where all of it is encrypted."""
    entries = _entries(path, limits)
    return listing(path, [(name, entry.file_size) for name, entry in entries])


def zip_members(path: Path, limits: ParseLimits) -> Iterator[Member]:
    """Its members, in order. Raises as ``read_zip``."""
    for name, entry in _entries(path, limits):
        yield Member(name, partial(_read, path, entry))


def _entries(path: Path, limits: ParseLimits) -> list[tuple[str, zipfile.ZipInfo]]:
    package = Package(path, limits)
    entries = [entry for entry in package.entries if not entry.is_dir()]
    package.close()
    if entries and all(entry.flag_bits & _ENCRYPTED for entry in entries):
        raise PasswordError(f"{path}: encrypted.", "Unpack it and index the folder.")
    names = [entry.filename for entry in entries]
    unmarked = [at for at, entry in enumerate(entries) if not entry.flag_bits & _UTF8 and _HIGH.search(names[at])]
    for at, name in zip(unmarked, decode_names([names[at] for at in unmarked]), strict=True):
        names[at] = name
    return list(zip(names, entries, strict=True))


def _read(path: Path, entry: zipfile.ZipInfo) -> Iterator[bytes]:
    if entry.flag_bits & _ENCRYPTED:
        raise PasswordError("encrypted.", "Unpack it and index the folder.")
    try:
        with zipfile.ZipFile(path) as archive, archive.open(entry) as file:
            while piece := file.read(_PIECE):
                yield piece
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError, ValueError, RuntimeError) as error:
        raise DocumentError(f"damaged, it cannot be unpacked ({error}).") from error


def decode_names(names: list[str]) -> list[str]:
    """Decode names that bear no mark of their encoding and were read as code page 437; together they tell what it is.

    Letters of other alphabets and of Chinese, Japanese and Korean stand together; accents of Western names do not.
    """
    if not names:
        return names
    data = b"\n".join(name.encode("cp437", "replace") for name in names)
    try:
        return data.decode("utf-8").split("\n")
    except UnicodeDecodeError:
        guess = guess_encoding(data, _OEM) if mean_run(data) >= 1.5 else None
    found = data.decode(guess.codec, "replace").split("\n") if guess is not None else names
    return found if len(found) == len(names) else names
