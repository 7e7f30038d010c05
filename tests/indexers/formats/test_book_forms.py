"""Books and archives that other readers lose words of: odd spines, names, prefixes; older and other archives."""

from __future__ import annotations

import gzip
import lzma
import struct
import tarfile
import zipfile
import zlib
from io import BytesIO
from pathlib import Path
from urllib.parse import unquote

import pytest

from hybrid_core.errors import UnsupportedFileError
from indexers.formats.archives import tar_members, zip_members
from indexers.formats.limits import ParseLimits
from tests.indexers.formats.packages import packed, read, text_of, titles


def page(body: str, head: str = "") -> str:
    return (
        f'<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"><head>{head}</head><body>{body}</body></html>'
    )


def epub(path: Path, files: dict[str, str], spine: str, more: str = "") -> Path:
    items = "".join(
        f'<item id="i{at}" href="{name}" media-type="application/xhtml+xml"/>' for at, name in enumerate(files)
    )
    root = '<rootfiles><rootfile full-path="O/c.opf"/></rootfiles>'
    return packed(path, {
        "mimetype": "application/epub+zip", "META-INF/container.xml": f"<container>{root}</container>",
        "O/c.opf": f"<package><metadata/><manifest>{items}{more}</manifest><spine>{spine}</spine></package>",
        **{f"O/{unquote(name)}": content for name, content in files.items()},
    })  # fmt: skip


@pytest.mark.parametrize("spine", ["", '<itemref idref="unknown"/>', '<itemref idref="i0"/><itemref idref="i1"/>'])
def test_books_are_read_whatever_their_spine_names(tmp_path: Path, spine: str) -> None:
    files = {"a.xhtml": page("<p>first words</p>"), "b.xhtml": page("<p>second words</p>")}
    assert text_of(epub(tmp_path / "a.epub", files, spine)).split("\n") == ["first words", "second words"]


def test_what_stands_in_for_a_file_and_the_words_of_drawings_are_read(tmp_path: Path) -> None:
    more = '<item id="p" href="x.pdf" media-type="application/pdf" fallback="i0"/>'
    path = epub(tmp_path / "a.epub", {"a.xhtml": page("<p>instead</p>")}, '<itemref idref="p"/>', more)
    assert text_of(path) == "instead"
    loop = '<item id="p" href="x.pdf" media-type="application/pdf" fallback="p"/>'
    path = epub(tmp_path / "b.epub", {"a.xhtml": page("<p>x</p>")}, '<itemref idref="p"/><itemref idref="i0"/>', loop)
    assert text_of(path).split() == ["![x.pdf]", "x"]
    drawing = '<svg xmlns="http://www.w3.org/2000/svg"><title>Cover</title><text>The <tspan>book</tspan></text></svg>'
    svg = '<item id="s" href="c.svg" media-type="image/svg+xml"/>'
    path = epub(tmp_path / "c.epub", {"a.xhtml": page("<p>x</p>"), "c.svg": drawing}, '<itemref idref="s"/>', svg)
    assert "Cover" in text_of(path) and "The book" in text_of(path)


@pytest.mark.parametrize(("before", "after"), [("ch%201", "ch 1"), ("Chap", "chap"), ("ch 1", "ch%201")])
def test_names_of_files_differ_in_case_and_percent_signs(tmp_path: Path, before: str, after: str) -> None:
    path = epub(tmp_path / "a.epub", {"chapter.xhtml": page("<p>words</p>")}, '<itemref idref="i0"/>')
    with zipfile.ZipFile(path) as package:
        files = {name: package.read(name) for name in package.namelist()}
    files["O/c.opf"] = files["O/c.opf"].replace(b"chapter.xhtml", f"{before}.xhtml".encode())
    files[f"O/{after}.xhtml"] = files.pop("O/chapter.xhtml")
    assert text_of(packed(tmp_path / "b.epub", files)) == "words"


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ('<x:html xmlns:x="http://www.w3.org/1999/xhtml"><x:body><x:h1>Head</x:h1><x:p>a</x:p><x:p>b</x:p></x:body></x:html>',
         "# Head\n\na\n\nb"),
        (page("<p>one <![CDATA[a < b & c]]> two</p>"), "one a < b & c two"),
        (page("<p>x</p><script>//<![CDATA[\nlost()\n//]]></script><p>y</p>"), "x\n\ny"),
    ],
)  # fmt: skip
def test_pages_of_xml_with_prefixes_and_marked_texts(tmp_path: Path, source: str, text: str) -> None:
    assert text_of(epub(tmp_path / "a.epub", {"a.xhtml": source}, '<itemref idref="i0"/>')) == text
    (tmp_path / "a.xhtml").write_text(source)
    assert text_of(tmp_path / "a.xhtml") == text


def test_what_a_book_says_of_itself_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.fb2"
    path.write_text(
        "<FictionBook><description><title-info><book-title>T</book-title><annotation><p>of a sea</p></annotation>"
        "</title-info></description><body><section><title><p>One</p></title><p>x</p></section></body></FictionBook>"
    )
    assert "of a sea" in text_of(path) and (2, "One") in titles(path)


def named(entry: zipfile.ZipInfo) -> list[str]:
    data = BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        archive.writestr(entry, "words")
    path = Path(entry.comment.decode())
    path.write_bytes(data.getvalue())
    return [member.name for member in zip_members(path, ParseLimits())]


@pytest.mark.parametrize("name", ["Übersicht Ω.txt", "報告書.txt", "plain.txt"])
def test_names_that_entries_bear_beside_their_archives_encoding(tmp_path: Path, name: str) -> None:
    entry = zipfile.ZipInfo("_bersicht.txt")
    entry.comment = str(tmp_path / "a.zip").encode()
    body = b"\x01" + struct.pack("<I", zlib.crc32(b"_bersicht.txt")) + name.encode()
    entry.extra = struct.pack("<HH", 0x5455, 1) + b"\0" + struct.pack("<HH", 0x7075, len(body)) + body
    assert named(entry) == [name]


def old_tar() -> bytes:
    """Return an archive as of before POSIX, without a mark."""
    data = BytesIO()
    with tarfile.open(fileobj=data, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        entry = tarfile.TarInfo("d/a.txt")
        entry.size = 5
        archive.addfile(entry, BytesIO(b"words"))
    block = bytearray(data.getvalue())
    block[257:345], block[148:156] = bytes(88), b" " * 8
    block[148:156] = b"%06o\0 " % sum(block[:512])
    return bytes(block)


@pytest.mark.parametrize(
    ("name", "pack"),
    [("a.tgz", gzip.compress), ("a.tar.lzma", lambda data: lzma.compress(data, lzma.FORMAT_ALONE)),
     ("a.txz", lzma.compress)],
)  # fmt: skip
def test_packed_archives_without_a_mark(tmp_path: Path, name: str, pack: object) -> None:
    (tmp_path / name).write_bytes(pack(old_tar()))  # type: ignore[operator]
    assert "d/a.txt (5 bytes)" in text_of(tmp_path / name)
    assert [(member.name, b"".join(member.read())) for member in tar_members(tmp_path / name, ParseLimits())] == [
        ("d/a.txt", b"words")
    ]


@pytest.mark.parametrize(
    ("name", "head", "kind"),
    [("a.7z", b"7z\xbc\xaf\x27\x1c", "7z"), ("a.rar", b"Rar!\x1a\x07\x01", "RAR"),
     ("a.zip", b"Rar!\x1a\x07\x00", "RAR"),
     ("a.tar.zst", b"\x28\xb5\x2f\xfd", "Zstandard"), ("a.cab", b"MSCF\0\0\0\0", "Cabinet")],
)  # fmt: skip
def test_archives_of_other_kinds_are_named(tmp_path: Path, name: str, head: bytes, kind: str) -> None:
    (tmp_path / name).write_bytes(head + bytes(64))
    with pytest.raises(UnsupportedFileError, match=f"archive of the kind {kind}.*ZIP"):
        read(tmp_path / name)
