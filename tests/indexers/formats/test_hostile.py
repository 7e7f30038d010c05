"""What strangers send: refused with a reason or read, within seconds, and never a crash; what lies beside is read."""

from __future__ import annotations

import errno
import io
import os
import random
import struct
import zipfile
from pathlib import Path

import pytest
from PIL import Image

from hybrid_core.errors import DocumentError, LimitError, PasswordError
from hybrid_pageindex import Engine, run
from indexers.formats.limits import ParseLimits, plain_reason
from tests.indexers.formats.packages import W, docx, packed, paragraph, read, text_of

DATA = os.environ.get("PAGEINDEX_EVAL_DATA")
_SHEET = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_RELATION = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_CONTENT = "application/vnd.openxmlformats-officedocument.spreadsheetml"


def workbook(path: Path, rows: str) -> Path:
    relations = f'<Relationships xmlns="{_RELATION.replace("officeDocument", "package")}">'
    return packed(path, {
        "[Content_Types].xml": '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
        '<Default Extension="xml" ContentType="application/xml"/><Default Extension="rels" '
        'ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Override PartName="/xl/workbook.xml" '
        f'ContentType="{_CONTENT}.sheet.main+xml"/><Override PartName="/xl/worksheets/sheet1.xml" '
        f'ContentType="{_CONTENT}.worksheet+xml"/></Types>',
        "_rels/.rels": f'{relations}<Relationship Id="r" Type="{_RELATION}/officeDocument" Target="xl/workbook.xml"/>'
        "</Relationships>",
        "xl/workbook.xml": f'<workbook xmlns="{_SHEET}" xmlns:r="{_RELATION}"><sheets>'
        '<sheet name="S" sheetId="1" r:id="r"/></sheets></workbook>',
        "xl/_rels/workbook.xml.rels": f'{relations}<Relationship Id="r" Type="{_RELATION}/worksheet" '
        'Target="worksheets/sheet1.xml"/></Relationships>',
        "xl/worksheets/sheet1.xml": f'<worksheet xmlns="{_SHEET}"><sheetData>{rows}</sheetData></worksheet>',
    })  # fmt: skip


def cell(row: int, text: str, column: str = "A") -> str:
    return f'<row r="{row}"><c r="{column}{row}" t="inlineStr"><is><t>{text}</t></is></c></row>'


def test_tables_in_tables(tmp_path: Path) -> None:
    def nested(deep: int) -> str:
        opened, closed = "<w:tbl><w:tr><w:tc>", "</w:tc></w:tr></w:tbl>"
        return opened * deep + paragraph("kelp") + closed * deep

    assert "kelp" in text_of(docx(tmp_path / "a.docx", nested(30)))
    assert "kelp" in text_of(docx(tmp_path / "b.docx", nested(60)))  # as long as one with few: no cell is read twice
    for deep in (300, 20_000):
        info, pages = read(docx(tmp_path / f"{deep}.docx", paragraph("gull") + nested(deep)))
        assert "gull" in pages[0].text and "nested too deeply" in info.warnings[0]
    many = "".join(f"<w:tbl><w:tr><w:tc>{nested(1)}</w:tc></w:tr></w:tbl>" for _ in range(3_000))
    assert text_of(docx(tmp_path / "many.docx", many)).count("kelp") == 3_000


def test_entities_are_neither_expanded_nor_fetched(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("the secret of the gulls")
    levels = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, 12))
    made = docx(tmp_path / "a.docx", paragraph("placeholder"))
    with zipfile.ZipFile(made) as package:
        parts = {name: package.read(name) for name in package.namelist()}
    body = "<w:p><w:r><w:t>kelp &x; &e11; shore</w:t></w:r></w:p>"
    parts["word/document.xml"] = (
        f'<!DOCTYPE d [<!ENTITY x SYSTEM "{(tmp_path / "secret").as_uri()}"><!ENTITY e0 "gull">{levels}]>'
        f"<w:document {W}><w:body>{body}</w:body></w:document>"
    ).encode()
    text = text_of(packed(tmp_path / "b.docx", parts))
    assert "secret" not in text and "gull" not in text and "kelp" in text


@pytest.mark.slow
def test_a_million_empty_rows(tmp_path: Path) -> None:
    empty = "".join(f'<row r="{row}"/>' for row in range(2, 300_000))
    made = workbook(tmp_path / "a.xlsx", cell(1, "kelp") + empty + cell(1_000_000, "gull"))
    info, pages = read(made)
    assert "kelp" in pages[0].text and "gull" in "\n".join(page.text for page in pages)
    far = workbook(tmp_path / "b.xlsx", cell(1, "kelp") + cell(1_048_576, "gull", "XFD"))
    assert "XFD1048576: gull" in text_of(far)
    many = "".join(cell(row, "kelp") + cell(row, "gull", "XFD") for row in range(1, 3_000))
    with pytest.raises(LimitError, match="max_cells"):
        read(workbook(tmp_path / "c.xlsx", many))
    assert info.pages < 100


def test_a_page_of_many_megabytes(tmp_path: Path) -> None:
    made = tmp_path / "a.html"
    made.write_bytes(b"<body>" + b"<p>kelp and gulls along the shore</p>" * 20_000)
    info, _ = read(made)
    assert info.pages > 100
    deep = tmp_path / "b.html"
    deep.write_bytes(b"<div>" * 20_000 + b"kelp")
    assert "kelp" in text_of(deep)
    with pytest.raises(LimitError, match="max_pages"):
        read(made, ParseLimits(max_pages=20))


@pytest.mark.parametrize("text", ["Kelp forests grow.\n" * 60, "海带森林生长得很快。\n" * 60])
def test_sixteen_bits_without_a_mark(tmp_path: Path, text: str) -> None:
    made = tmp_path / "a.txt"
    made.write_bytes(text.encode("utf-16-le"))
    try:
        info, pages = read(made)
    except DocumentError as error:
        assert "binary" in str(error)
    else:
        assert text.split("\n")[0] in pages[0].text and "UTF-16" in info.warnings[0]


def test_mixed_encodings_are_told(tmp_path: Path) -> None:
    made = tmp_path / "a.txt"
    made.write_bytes("Prüfung über Kelp\n".encode() * 20 + "Möwen am Strand\n".encode("cp1252"))
    info, pages = read(made)
    assert "Prüfung" in pages[0].text and "Strand" in pages[0].text and "not UTF-8" in info.warnings[0]


def test_a_picture_that_says_to_be_immense(tmp_path: Path) -> None:
    small = io.BytesIO()
    Image.new("L", (16, 16)).save(small, "JPEG")
    data = bytearray(small.getvalue())
    at = data.index(b"\xff\xc0") + 5
    data[at : at + 4] = struct.pack(">HH", 30_000, 30_000)
    (tmp_path / "a.jpg").write_bytes(data)
    with pytest.raises(LimitError, match="max_pixels"):
        read(tmp_path / "a.jpg")


def test_books_under_protection_and_office_files_with_a_password(tmp_path: Path) -> None:
    book = {
        "mimetype": "application/epub+zip",
        "META-INF/container.xml": '<container><rootfiles><rootfile full-path="a.opf"/></rootfiles></container>',
        "META-INF/encryption.xml": '<encryption xmlns:enc="http://www.w3.org/2001/04/xmlenc#"><enc:EncryptedData>'
        '<enc:EncryptionMethod Algorithm="http://www.w3.org/2001/04/xmlenc#aes128-cbc"/><enc:CipherData>'
        '<enc:CipherReference URI="one.xhtml"/></enc:CipherData></enc:EncryptedData></encryption>',
        "META-INF/rights.xml": "<rights/>",
        "a.opf": '<package><manifest><item id="o" href="one.xhtml" media-type="application/xhtml+xml"/></manifest>'
        '<spine><itemref idref="o"/></spine></package>',
        "one.xhtml": b"\x01\x02\x03" * 50,
    }
    with pytest.raises(DocumentError, match="protected"):
        read(packed(tmp_path / "a.epub", book))
    if DATA is None:
        pytest.skip("PAGEINDEX_EVAL_DATA is not set")
    folder = Path(DATA, "office", "tika")
    for file in [*folder.rglob("*protected*.docx"), *folder.rglob("*protected*.xlsx"), *folder.rglob("*rypted*.docx")]:
        try:
            read(file)
        except PasswordError as error:
            assert "encrypted" in str(error)


_NAMES = (
    "a\nb.md", "tab\t.md", "quote'\".md", "$(x).md", "-rf.md", "sea🌊.md", "\u202egnp.md", "x" * 240 + ".md",
    "bang!.md", "%41.md", "a?b#c.md", "back\\slash.md", " space .md", "[glob]*.md",
)  # fmt: skip


def test_odd_names(tmp_path: Path, engine: Engine) -> None:
    folder = tmp_path / "wow!"
    folder.mkdir()
    for at, name in enumerate(_NAMES):
        (folder / name).write_text(f"# Kelp\n\nGulls{at} walk the shore.\n")
    packed(folder / "all.zip", {name: f"# Dune\n\nTerns{at} nest in the dune.\n" for at, name in enumerate(_NAMES)})
    report = run(engine.index(folder))
    assert {file.status for file in report.files} == {"indexed"}
    assert len(run(engine.documents.list())) == len(report.files) == 2 * len(_NAMES) + 1
    for at in range(len(_NAMES)):
        for question in (f"gulls{at}", f"terns{at}"):
            found = run(engine.search(question)).results[0]
            assert question in run(engine.pages(found.doc_id, 1))[0].text.lower()
    again = run(engine.index(folder, prune=True))
    assert again.removed == () and {file.status for file in again.files} == {"unchanged"}
    assert len(again.files) == len(report.files)


@pytest.mark.skipif(DATA is None, reason="PAGEINDEX_EVAL_DATA is not set")
def test_books_and_broken_copies_of_them(tmp_path: Path) -> None:
    random.seed(7)
    books = sorted(Path(DATA or "", "epub").rglob("*.epub"), key=lambda book: book.stat().st_size)[:3]
    assert books
    for book in books:
        data = book.read_bytes()
        assert read(book)[0].pages
        for at in range(4):
            broken = bytearray(data)
            for _ in range(40):
                broken[random.randrange(len(broken))] ^= 1 << random.randrange(8)
            made = tmp_path / f"{at}-{book.name}"
            made.write_bytes(broken if at < 3 else data[: len(data) // 2])
            try:
                read(made)
            except DocumentError as error:
                assert str(error)


@pytest.mark.parametrize(
    ("error", "reason", "logged"),
    [
        (OSError(errno.EIO, "Input/output error"), "the system says: Input/output error", False),
        (MemoryError(), "there is not enough memory for it", False),
        (RecursionError("maximum recursion depth exceeded"), "it is nested too deeply", False),
        (KeyError("xref"), "an unexpected error occurred while reading it, so it may be damaged", True),
    ],
)
def test_only_an_unexplained_error_is_logged(
    error: Exception, reason: str, logged: bool, caplog: pytest.LogCaptureFixture
) -> None:
    assert plain_reason(error, "a.pdf").startswith(reason)
    assert [record.getMessage() for record in caplog.records] == (["a.pdf: KeyError: 'xref'"] if logged else [])
