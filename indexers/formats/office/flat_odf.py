"""Flat OpenDocument files (FODT, FODS, FODP, FODG), which are one XML text, converted to packages."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

from lxml import etree

from hybrid_core.types.notes import Note
from indexers.formats.flow.safety import Package, read_xml
from indexers.formats.limits import ParseLimits

_OFFICE = "{urn:oasis:names:tc:opendocument:xmlns:office:1.0}"
_HEAD = 1024


def open_odf(path: Path, limits: ParseLimits) -> tuple[Package, bytes | None]:
    """Open an OpenDocument file. Return its package, and the bytes of the package if it was made from a flat file.

    The bytes are None for other files. Pictures in flat files are left out. Raise the errors of ``Package``, and
    DocumentError if the text is damaged.
    """
    with path.open("rb") as file:
        head = file.read(_HEAD)
    if head.startswith(b"PK") or b"<" not in head or zipfile.is_zipfile(path):
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
