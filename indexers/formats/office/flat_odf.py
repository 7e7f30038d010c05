"""OpenDocument files as packages, also flat ones (FODT, FODS, FODP, FODG), and the files embedded in them."""

from __future__ import annotations

import binascii
import io
import zipfile
from base64 import b64decode
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from lxml import etree

from hybrid_core.errors import DocumentError
from hybrid_core.types.notes import Note
from indexers.formats.flow.safety import Package, read_xml
from indexers.formats.format import Member
from indexers.formats.limits import ParseLimits
from indexers.formats.office.ooxml import file_ending, unwrapped

_OFFICE = "{urn:oasis:names:tc:opendocument:xmlns:office:1.0}"
_OLE = "{urn:oasis:names:tc:opendocument:xmlns:drawing:1.0}object-ole"
_LINK = "{http://www.w3.org/1999/xlink}href"
_HEAD = 1024


def open_odf(path: Path, limits: ParseLimits) -> tuple[Package, bytes | None]:
    """Open an OpenDocument file. Return its package, and the bytes of the package if it was made from a flat file.

    The bytes are None for other files. Pictures in flat files are left out. Raise the errors of ``Package``, and
    DocumentError if the text is damaged.
    """
    if not _is_flat(path):
        return Package(path, limits), None
    limits.check_file(path)
    root, whole = read_xml(path.read_bytes(), "damaged, it", file=path)
    etree.strip_elements(root, f"{_OFFICE}binary-data", with_tail=False)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as entries:
        entries.writestr("content.xml", etree.tostring(root))
        if (meta := root.find(f"{_OFFICE}meta")) is not None:
            entries.writestr("meta.xml", etree.tostring(meta))
    package = Package(path, limits, packed.getvalue())
    if not whole:
        package.warnings.append(Note("read.partly"))
    return package, packed.getvalue()


def _is_flat(path: Path) -> bool:
    with path.open("rb") as file:
        head = file.read(_HEAD)
    return not head.startswith(b"PK") and b"<" in head and not zipfile.is_zipfile(path)


def odf_members(path: Path, limits: ParseLimits) -> Iterator[Member]:
    """List the files of other programs (OLE objects) embedded in a file. Raise the errors of ``open_odf``."""
    for number, data in enumerate(_objects(path, limits), 1):
        name, inside = unwrapped(data)
        yield Member(name or f"object {number}{file_ending(inside)}", partial(list, [inside]))


def _objects(path: Path, limits: ParseLimits) -> Iterator[bytes]:
    if _is_flat(path):
        limits.check_file(path)
        root, _ = read_xml(path.read_bytes(), "damaged, it", file=path)
        for text in root.iterfind(f".//{_OLE}/{_OFFICE}binary-data"):
            try:
                yield b64decode(text.text or "")
            except binascii.Error as error:
                raise DocumentError("an embedded file is damaged, so it cannot be extracted.", file=path) from error
        return
    package = Package(path, limits)
    try:
        links = [node.get(_LINK, "").removeprefix("./") for node in package.xml("content.xml").iter(_OLE)]
        for link in dict.fromkeys(links):
            if link in package:
                yield package.read(link)
    finally:
        package.close()
