"""Other forms of Word documents: flat XML in place of a package, and files embedded in a document (altChunk)."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Iterator
from email import message_from_bytes, policy
from pathlib import Path

from lxml import etree

from hybrid_core.errors import DocumentError
from indexers.formats.decode import decode
from indexers.formats.flow.blocks import Block, Paragraph
from indexers.formats.flow.safety import Package, read_xml
from indexers.formats.limits import ParseLimits
from indexers.formats.office.ooxml import W
from indexers.formats.office.rtf import rtf_blocks
from indexers.formats.web.html import html_text, parse_html

_PACKAGE = "{http://schemas.microsoft.com/office/2006/xmlPackage}"
_WORD_2003 = "http://schemas.microsoft.com/office/word/2003/wordml"
_HEAD = 1024


def flat_package(path: Path, limits: ParseLimits) -> bytes | None:
    """Return a document in flat XML, converted to a package without pictures; None if it is a package already.

    Flat OPC files and the XML of Word 2003 are supported. Raise DocumentError if it is damaged.
    """
    with path.open("rb") as file:
        head = file.read(_HEAD)
    if head.startswith(b"PK") or b"<" not in head or zipfile.is_zipfile(path):
        return None
    limits.check_file(path)
    root, _ = read_xml(path.read_bytes(), "damaged, it", file=path)
    parts: dict[str, bytes] = {}
    if root.tag == f"{_PACKAGE}package":
        for part in root.iter(f"{_PACKAGE}part"):
            data = part.find(f"{_PACKAGE}xmlData")
            if data is not None and len(data):
                parts[part.get(f"{_PACKAGE}name", "").lstrip("/")] = etree.tostring(data[0])
    else:
        parts["word/document.xml"] = etree.tostring(root).replace(_WORD_2003.encode(), W[1:-1].encode())
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as package:
        for name, content in parts.items():
            package.writestr(name, content)
    return packed.getvalue()


def chunk_blocks(
    data: bytes, name: str, path: Path, limits: ParseLimits, read_package: Callable[[Package], Iterator[Block]]
) -> Iterator[Block]:
    """Yield the blocks of an embedded file (altChunk). Its format is detected from its content, not from its name."""
    head = data[:_HEAD].lstrip().lower()
    if data.startswith(b"PK"):
        package = Package(path, limits, data)
        try:
            yield from list(read_package(package))
        finally:
            package.close()
    elif head.startswith(b"{\\rtf"):
        yield from rtf_blocks(data)
    else:
        data = _web_page(data) if head.startswith((b"mime-version:", b"from:")) or name.endswith(".mht") else data
        if b"<" in data[:_HEAD] and not name.endswith(".txt"):
            yield from parse_html(html_text(data, path)[0], whole=True, place=f"{name} ").blocks
            return
        try:
            text, _ = decode(data, path)
        except DocumentError:
            return
        yield from (Paragraph(line, name) for line in text.splitlines() if line.strip())


def _web_page(data: bytes) -> bytes:
    """Return the HTML page in a web archive (MHT), or the data itself if it has none."""
    for part in message_from_bytes(data, policy=policy.default).walk():
        content = part.get_payload(decode=True)
        if part.get_content_type() in ("text/html", "application/xhtml+xml") and isinstance(content, bytes):
            return content
    return data
