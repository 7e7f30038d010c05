"""Office files and books as small as they can be, made by hand so that tests say what stands in them."""

from __future__ import annotations

import struct
import zipfile
from collections.abc import Callable, Mapping
from itertools import pairwise
from pathlib import Path

from hybrid_core.types.documents import ParsedPage
from indexers.formats.format import FileInfo
from indexers.formats.limits import ParseLimits
from indexers.formats.registry import open_file

W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
_RELATION = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_ODF = " ".join(
    f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{space}:1.0"'
    for name, space in (("office", "office"), ("text", "text"), ("table", "table"), ("draw", "drawing"),
                        ("style", "style"), ("presentation", "presentation"))
)  # fmt: skip


def read(path: Path, limits: ParseLimits = ParseLimits()) -> tuple[FileInfo, list[ParsedPage]]:
    """A file through the registry. A page that cannot be read fails the test."""
    file = open_file(path, None, limits)
    pages = [page for page in file.read(range(1, file.pages + 1), lambda _: None) if isinstance(page, ParsedPage)]
    assert len(pages) == file.pages
    info = file.info()
    file.close()
    return info, pages


def text_of(path: Path) -> str:
    return "\n".join(page.text for page in read(path)[1])


def titles(path: Path) -> list[tuple[int, str]]:
    return [(heading.level, heading.title) for heading in read(path)[0].headings or ()]


def packed(path: Path, files: Mapping[str, str | bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as package:
        for name, content in files.items():
            package.writestr(name, content)
    return path


def repacked(path: Path, change: Callable[[dict[str, bytes]], Mapping[str, str | bytes]]) -> Path:
    """A package beside another one, with other files in it."""
    with zipfile.ZipFile(path) as package:
        files = {name: package.read(name) for name in package.namelist()}
    return packed(path.with_stem(f"{path.stem}-2"), change(files))


def docx(path: Path, body: str, styles: str = "", numbering: str = "", **parts: str) -> Path:
    """``parts`` are more of them by their kind («footnotes»)."""
    held = {"styles": styles, "numbering": numbering, **parts}
    listed = "".join(
        f'<Relationship Id="r{at}" Type="{_RELATION}/{kind}" Target="{kind}.xml"/>' for at, kind in enumerate(held)
    )
    files = {
        "[Content_Types].xml": '<Types><Override PartName="/word/document.xml" ContentType="application/vnd.'
        'openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>',
        "_rels/.rels": f'<Relationships><Relationship Id="r" Type="{_RELATION}/officeDocument" '
        'Target="word/document.xml"/></Relationships>',
        "word/_rels/document.xml.rels": f"<Relationships>{listed}</Relationships>",
        "word/document.xml": f"<w:document {W}><w:body>{body}</w:body></w:document>",
    }
    files |= {f"word/{kind}.xml": f"<w:{kind} {W}>{inside}</w:{kind}>" for kind, inside in held.items()}
    return packed(path, files)


def paragraph(text: str, style: str = "", properties: str = "") -> str:
    named = f'<w:pStyle w:val="{style}"/>' if style else ""
    return f"<w:p><w:pPr>{named}{properties}</w:pPr><w:r><w:t>{text}</w:t></w:r></w:p>"


def opendocument(path: Path, body: str, kind: str = "text", styles: str = "", manifest: str = "") -> Path:
    files = {
        "mimetype": f"application/vnd.oasis.opendocument.{kind}",
        "content.xml": f"<office:document-content {_ODF}><office:body><office:{kind}>{body}</office:{kind}>"
        "</office:body></office:document-content>",
        "styles.xml": f"<office:document-styles {_ODF}>{styles}</office:document-styles>",
        "META-INF/manifest.xml": f"<manifest>{manifest}</manifest>",
        "Thumbnails/thumbnail.png": b"\x89PNG\r\n\x1a\n",  # by which MuPDF takes the file for a comic book
    }
    return packed(path, files)


def epub(path: Path, chapters: Mapping[str, str], nav: str = "", **files: str) -> Path:
    """``chapters`` are bodies by file name; ``nav`` the inside of its contents' body."""
    items = "".join(f'<item id="{name}" href="{name}" media-type="application/xhtml+xml"/>' for name in chapters)
    spine = "".join(f'<itemref idref="{name}"/>' for name in chapters)
    held: dict[str, str] = {
        "mimetype": "application/epub+zip",
        "META-INF/container.xml": '<container><rootfiles><rootfile full-path="OPS/book.opf"/></rootfiles></container>',
        "OPS/book.opf": '<package xmlns="http://www.idpf.org/2007/opf"><metadata '
        'xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>Tides</dc:title><dc:creator>I. Kelp</dc:creator>'
        "</metadata>"
        f'<manifest>{items}<item id="nav" href="nav.xhtml" properties="nav" media-type="application/xhtml+xml"/>'
        f"</manifest><spine>{spine}</spine></package>",
        "OPS/nav.xhtml": '<html xmlns="http://www.w3.org/1999/xhtml" xmlns:epub="http://www.idpf.org/2007/ops">'
        f"<body>{nav}</body></html>",
    }
    held |= {f"OPS/{name}": f"<html><body>{body}</body></html>" for name, body in chapters.items()}
    return packed(path, {**held, **files})


def ole(stream: str) -> bytes:
    """An OLE file with one empty stream: a header, one sector of the allocation table, one of the directory."""
    free, end, table = b"\xff" * 4, b"\xfe\xff\xff\xff", b"\xfd\xff\xff\xff"
    header = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(16) + b"\x3e\0\x03\0\xfe\xff\x09\0\x06\0" + bytes(10)
    header += (1).to_bytes(4, "little") + (1).to_bytes(4, "little") + bytes(4) + (4096).to_bytes(4, "little")
    header += end + bytes(4) + end + bytes(4) + bytes(4) + free * 108
    allocation = table + end + free * 126

    def entry(name: str, kind: int, child: bytes) -> bytes:
        named = name.encode("utf-16-le")
        held = named.ljust(64, b"\0") + (len(named) + 2).to_bytes(2, "little") + bytes([kind, 1]) + free * 2 + child
        return held + bytes(36) + end + bytes(8)

    directory = entry("Root Entry", 5, (1).to_bytes(4, "little")) + entry(stream, 2, free) + bytes(256)
    return header + allocation + directory


Streams = Mapping[str, "bytes | Streams"]


def ole_file(streams: Streams) -> bytes:
    """An OLE file of streams and folders of streams. Streams are filled up to 4096 bytes, so that none is small."""
    free, end = 0xFFFFFFFF, 0xFFFFFFFE
    entries: list[tuple[str, bytes | Streams, list[int]]] = []  # name, content, next sibling and first child
    sectors: list[bytes] = []
    following: list[int] = []

    def write(data: bytes) -> int:
        first, count = len(sectors), -(-len(data) // 512)
        sectors.extend(data[512 * at : 512 * at + 512].ljust(512, b"\0") for at in range(count))
        following.extend([*range(first + 1, first + count), end])
        return first

    def enter(name: str, content: bytes | Streams) -> int:
        number = len(entries)
        entries.append((name, content, [free, free]))
        if not isinstance(content, bytes):
            inner = [enter(*item) for item in sorted(content.items(), key=lambda item: (len(item[0]), item[0].upper()))]
            for before, after in pairwise(inner):
                entries[before][2][0] = after
            entries[number][2][1] = inner[0]
        return number

    enter("Root Entry", streams)
    directory = b""
    for at, (name, content, (sibling, child)) in enumerate(entries):
        named = name.encode("utf-16-le")
        start, size = (
            (write(content.ljust(4096, b"\0")), max(4096, len(content))) if isinstance(content, bytes) else (end, 0)
        )
        kind = 2 if isinstance(content, bytes) else 5 if at == 0 else 1
        directory += named.ljust(64, b"\0") + struct.pack("<HBBIII", len(named) + 2, kind, 1, free, sibling, child)
        directory += bytes(36) + struct.pack("<IQ", start, size)
    listed = write(directory)
    tables = -(-(len(sectors) + 2) // 127)
    table = [*following, *[0xFFFFFFFD] * tables]
    data = struct.pack(f"<{128 * tables}I", *table, *[free] * (128 * tables - len(table)))
    places = [len(sectors) + at for at in range(tables)]
    header = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(16) + struct.pack("<HHHHH", 0x3E, 3, 0xFFFE, 9, 6) + bytes(6)
    header += struct.pack("<9I", 0, tables, listed, 0, 4096, end, 0, end, 0)
    return header + struct.pack("<109I", *places, *[free] * (109 - tables)) + b"".join(sectors) + data
