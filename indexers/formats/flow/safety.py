"""Packages and XML from strangers: nothing is expanded, nested or fetched beyond limits."""

from __future__ import annotations

import io
import zipfile
import zlib
from pathlib import Path
from typing import IO

from lxml import etree

from hybrid_core.errors import BrokenFileError, LimitError, PasswordError
from indexers.formats.flow.entities import put_in
from indexers.formats.limits import ParseLimits

_RATIO = 200  # expanded to packed bytes of an entry; text that is far better packed is made to be so
_SMALL = 16 * 2**20  # bytes below which the ratio does not matter: a blank sheet packs well
_ENCRYPTED = 0x1


class Package:
    """A ZIP file whose entries are read by name.

    ``warnings`` name entries that could be read only in part.

    Raises LimitError where it would expand to too much, PasswordError where it is encrypted, DocumentError where it
    is damaged.
    """

    def __init__(self, path: Path, limits: ParseLimits, data: bytes | None = None) -> None:
        """``data``: its bytes, where they are no longer at ``path``."""
        self._path = path
        self.warnings: list[str] = []
        try:
            self._zip = zipfile.ZipFile(path if data is None else io.BytesIO(data))
        except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
            raise BrokenFileError(f"{path}: damaged, its entries cannot be listed ({error}).") from error
        entries = self._zip.infolist()
        limits.check("max_entries", len(entries), f"{path}: it packs {len(entries):,} files")
        size = sum(entry.file_size for entry in entries)
        limits.check("max_expanded_bytes", size, f"{path}: unpacked it has {size:,} bytes")
        for entry in entries:
            if entry.file_size > max(_SMALL, _RATIO * entry.compress_size):
                raise LimitError(
                    f"{path}: «{entry.filename[-60:]}» in it unpacks to {entry.file_size:,} bytes from "
                    f"{entry.compress_size:,}, as a file does that is made to fill the memory."
                )
        self._entries = {entry.filename.replace("\\", "/").lstrip("/"): entry for entry in entries}

    @property
    def entries(self) -> list[zipfile.ZipInfo]:
        """In the package's order."""
        return self._zip.infolist()

    @property
    def names(self) -> list[str]:
        return list(self._entries)

    def __contains__(self, name: str) -> bool:
        return name in self._entries

    def size(self, name: str) -> int:
        """An entry's bytes, unpacked; 0 where it is missing."""
        return self._entries[name].file_size if name in self._entries else 0

    def read(self, name: str) -> bytes:
        """An entry's bytes. Raises DocumentError where it is missing or damaged."""
        entry = self._entry(name)
        try:
            return self._zip.read(entry)
        except (zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError, ValueError) as error:
            raise BrokenFileError(f"{self._path}: damaged, «{name}» in it cannot be unpacked ({error}).") from error

    def stream(self, name: str) -> IO[bytes]:
        """An entry to be read piece by piece. Raises as ``read``; what is damaged in it shows when it is read."""
        entry = self._entry(name)
        try:
            return self._zip.open(entry)
        except (zipfile.BadZipFile, OSError, NotImplementedError, ValueError) as error:
            raise BrokenFileError(f"{self._path}: damaged, «{name}» in it cannot be unpacked ({error}).") from error

    def _entry(self, name: str) -> zipfile.ZipInfo:
        """Return an entry to be read. Raise DocumentError where it is missing, PasswordError where it is encrypted."""
        entry = self._entries.get(name)
        if entry is None:
            raise BrokenFileError(f"{self._path}: damaged, «{name}» is missing in it.")
        if entry.flag_bits & _ENCRYPTED:
            raise PasswordError(f"{self._path}: encrypted.", "Save it without a password.")
        return entry

    def xml(self, name: str) -> etree._Element:
        return self.root(name, self.read(name))

    def root(self, name: str, data: bytes) -> etree._Element:
        """The root of an entry's XML text, which was read before."""
        root, whole = read_xml(data, f"{self._path}: damaged, «{name}» in it")
        if not whole:
            self.warnings.append(f"«{name}» in it is damaged or nested too deeply, and was read only in part")
        return root

    def close(self) -> None:
        self._zip.close()


def words_of(element: etree._Element) -> str:
    """All text inside an element, in order."""
    return "".join(map(str, element.itertext()))


def read_xml(data: bytes, what: str) -> tuple[etree._Element, bool]:
    """The root of an XML text, and whether all of it could be read; ``what`` says whose text it is.

    Entities that it declares itself become their words within bounds; nothing is fetched. Depth and size of nodes are
    bounded by libxml2's own limits.
    """
    for recover in (False, True):
        parser = etree.XMLParser(
            resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False, recover=recover,
            remove_comments=True, remove_pis=True,
        )  # fmt: skip
        try:
            root = etree.fromstring(data, parser)
        except (etree.XMLSyntaxError, ValueError) as error:
            if recover:
                raise BrokenFileError(f"{what} is no XML ({error}).") from error
            continue
        if root is not None:
            put_in(root)
            return root, not recover
    raise BrokenFileError(f"{what} is no XML.")
