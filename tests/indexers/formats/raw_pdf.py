"""PDFs written object by object, for what PyMuPDF would refuse to write or would write another way."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path

FONT = b"<< /Type /Font /Subtype /Type1 /BaseFont /Courier /FirstChar 33 /LastChar 160 /Widths [%s] %s >>"
_WIDTHS = b"600 " * 128
Run = tuple[float, float, str]  # x and y of the first glyph (y upwards from the bottom), characters as they are painted


def stream(data: bytes, entries: bytes = b"") -> bytes:
    packed = zlib.compress(data, 9)
    return b"<< /Filter /FlateDecode %s /Length %d >>\nstream\n%s\nendstream" % (entries, len(packed), packed)


def pages(contents: Sequence[bytes], font: bytes = FONT % (_WIDTHS, b""), resources: bytes = b"") -> dict[int, bytes]:
    """Objects of a file whose pages have these content streams; numbers from 1000 on are free for more objects."""
    kids = b" ".join(b"%d 0 R" % (10 + 2 * n) for n in range(len(contents)))
    objects = {
        1: b"<< /Type /Catalog /Pages 2 0 R >>",
        2: b"<< /Type /Pages /Kids [%s] /Count %d >>" % (kids, len(contents)),
        3: font,
    }
    for n, content in enumerate(contents):
        objects[10 + 2 * n] = (
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents %d 0 R"
            b" /Resources << /Font << /F1 3 0 R >> %s >> >>" % (11 + 2 * n, resources)
        )
        objects[11 + 2 * n] = stream(content)
    return objects


def write(path: Path, objects: Mapping[int, bytes]) -> Path:
    out = bytearray(b"%PDF-1.7\n")
    table = bytearray(b"xref\n0 1\n0000000000 65535 f \n")
    for number, body in sorted(objects.items()):
        table += b"%d 1\n%010d 00000 n \n" % (number, len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    trailer = b"trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (max(objects) + 1, len(out))
    path.write_bytes(bytes(out + table + trailer))
    return path


def text(words: str = "plain words", lines: int = 1) -> bytes:
    """A content stream with some lines of ASCII text."""
    return b"BT /F1 9 Tf 12 TL 72 780 Td " + b"(%s) Tj T* " % words.encode() * lines + b"ET"


def painted(path: Path, runs: Sequence[Run], glyphs: Mapping[str, str] | None = None, size: float = 10) -> Path:
    """One page whose glyphs are painted from left to right at the given places.

    Each character of a run is one glyph, 0.6 ``size`` wide. ``glyphs`` says what characters the file's own
    mapping (ToUnicode) gives for some of them; the others stand for themselves.
    """
    used = sorted({char for _, _, chars in runs for char in chars})
    assert len(used) < 120, "one byte each"
    codes = {char: 33 + n for n, char in enumerate(used)}
    meant = {**{char: char for char in used}, **(glyphs or {})}
    mapping = b" ".join(b"<%02x> <%s>" % (codes[c], meant[c].encode("utf-16-be").hex().encode()) for c in used)
    cmap = b"begincmap 1 begincodespacerange <00> <ff> endcodespacerange %d beginbfchar %s endbfchar endcmap" % (
        len(used), mapping,
    )  # fmt: skip
    shown = b" ".join(
        b"1 0 0 1 %.2f %.2f Tm <%s> Tj" % (x, y, b"".join(b"%02x" % codes[char] for char in chars))
        for x, y, chars in runs
    )
    objects = pages([b"BT /F1 %.2f Tf %s ET" % (size, shown)], FONT % (_WIDTHS, b"/ToUnicode 1000 0 R"))
    return write(path, {**objects, 1000: stream(cmap)})
