"""No word of a PDF is lost: comments, embedded files, glyphs without outlines; and none is read twice."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pymupdf
import pytest

from hybrid_core.errors import DocumentError
from hybrid_core.types.documents import ParsedPage
from indexers.formats.builtin import PDF
from indexers.formats.limits import ParseLimits
from indexers.formats.pdf.document import open_pdf, pdf_members
from indexers.formats.pdf.read import PdfFile, read_pages
from tests.indexers.formats import raw_pdf
from tests.indexers.formats.packages import text_of


def lines(path: Path) -> list[str]:
    with open_pdf(path) as document:
        page = next(iter(read_pages(document, [1])))
    assert isinstance(page, ParsedPage)
    return [line.text for line in page.lines]


@pytest.mark.parametrize("aside", [(0.3, 0), (0.5, 0.5), (1.5, 1.5)])
@pytest.mark.parametrize("copies", [2, 4])
def test_bold_made_by_drawing_again_is_said_once(tmp_path: Path, aside: tuple[float, float], copies: int) -> None:
    document = pymupdf.open()
    page = document.new_page()
    for copy in range(copies):
        shift = (aside[0] * copy / copies, aside[1] * copy / copies)
        page.insert_text((72 + shift[0], 72 + shift[1]), "Total due 1250", fontsize=12)
    page.insert_text((72, 100), "Total due 1250", fontsize=12)  # a second row is no copy
    document.save(tmp_path / "a.pdf")
    assert lines(tmp_path / "a.pdf") == ["Total due 1250", "Total due 1250"]


def test_comments_are_lines_with_their_authors(tmp_path: Path) -> None:
    document = pymupdf.open()
    page = document.new_page()
    page.insert_text((72, 72), "The reviewed contract")
    page.add_text_annot((300, 100), "Check the fee").set_info(title="Kim", content="Check\nthe fee")
    page.add_highlight_annot((72, 60, 150, 76)).set_info(content="Why this word?")
    page.add_freetext_annot((72, 200, 300, 230), "Typed on top")
    page.add_strikeout_annot((72, 60, 150, 76))
    document.save(tmp_path / "a.pdf")
    assert lines(tmp_path / "a.pdf") == [
        "The reviewed contract", "Typed on top", "[Comment by Kim] Check the fee", "[Comment] Why this word?",
        "[Struck out] The reviewed",
    ]  # fmt: skip


def test_embedded_files_are_members(tmp_path: Path) -> None:
    document = pymupdf.open()
    page = document.new_page()
    document.embfile_add("terms", b"Payment in 30 days", filename="terms.txt")
    document.embfile_add("factur-x.xml", b"<Invoice>FX 17</Invoice>", filename="factur-x.xml")
    page.add_file_annot((72, 72), b"# Notes", "notes.md")
    document.save(tmp_path / "a.pdf")
    pymupdf.open().new_page().parent.save(tmp_path / "b.pdf")
    assert PDF.may_hold(tmp_path / "a.pdf") and not PDF.may_hold(tmp_path / "b.pdf")
    found = {member.name: b"".join(member.read()) for member in pdf_members(tmp_path / "a.pdf", ParseLimits())}
    assert found == {
        "terms.txt": b"Payment in 30 days", "factur-x.xml": b"<Invoice>FX 17</Invoice>", "notes.md": b"# Notes",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("handler", "said"),
    [("Adobe.PubSec", "encrypted with a certificate"), ("FOPN_foweb", "encrypted by 'FOPN_foweb'")],
)
def test_encryption_that_no_password_opens_is_named(tmp_path: Path, handler: str, said: str) -> None:
    objects = (
        "1 0 obj << /Type /Catalog /Pages 2 0 R >> endobj\n2 0 obj << /Type /Pages /Kids [3 0 R] /Count 1 >> endobj\n"
        "3 0 obj << /Type /Page /Parent 2 0 R /MediaBox [0 0 300 300] >> endobj\n"
        f"4 0 obj << /Filter /{handler} /SubFilter /adbe.pkcs7.s5 /V 4 /Length 128 >> endobj\n"
        "trailer << /Root 1 0 R /Size 5 /Encrypt 4 0 R /ID [<00> <00>] >>\n%%EOF\n"
    )
    (tmp_path / "a.pdf").write_text(f"%PDF-1.6\n{objects}", encoding="latin-1")
    with pytest.raises(DocumentError, match=said) as raised:
        open_pdf(tmp_path / "a.pdf")
    assert "damaged" not in str(raised.value)


@pytest.mark.parametrize(
    ("content", "line"),
    [
        (b"(an area of 10) Tj 5 Ts /F1 8 Tf (6) Tj 0 Ts /F1 12 Tf ( m) Tj", "an area of 10^6 m"),
        (b"(of H) Tj -3 Ts /F1 8 Tf (2) Tj 0 Ts /F1 12 Tf (O and x) Tj -3 Ts /F1 8 Tf (max) Tj", "of H₂O and x_max"),
        (b"(notes of 6) Tj 5 Ts /F1 7 Tf (1) Tj 0 Ts (/) Tj -1 Ts (2) Tj 0 Ts /F1 12 Tf (% are due) Tj",
         "notes of 6 1/2% are due"),
        (b"(the L) Tj 2.4 Ts /F1 8 Tf (A) Tj 0 Ts /F1 12 Tf (TEX system) Tj", "the LATEX system"),
        (b"(T) Tj /F1 9 Tf (HE) Tj /F1 12 Tf ( P) Tj /F1 9 Tf (ORT) Tj", "THE PORT"),
        (b"(the 2) Tj 5 Ts /F1 8 Tf (nd) Tj 0 Ts /F1 12 Tf ( try) Tj", "the 2nd try"),
        (b"4 Tc (PORT OF OBAN) Tj", "PORT OF OBAN"),
        (b"[(P)-400(O)-400(R)-400(T)-400(S)] TJ", "PORTS"),
        (b"[(A)-400(B)-400(C)-400(D)-400(E)] TJ", "A B C D E"),
        (b"[(The)-280(keeper)-180(counts)] TJ", "The keeper counts"),
    ],
)  # fmt: skip
def test_forms_of_words_on_a_pdf_page(tmp_path: Path, content: bytes, line: str) -> None:
    font = b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"
    objects = raw_pdf.pages([b"BT /F1 12 Tf 72 700 Td " + content + b" ET"], font)
    assert lines(raw_pdf.write(tmp_path / "a.pdf", objects)) == [line]


@pytest.mark.parametrize(
    ("matrix", "set_size", "unit"),
    [
        (b"1 0 0 1 0 0", b"/F1 1 Tf .12 0 0 .12 72 700 Tm", 1000),
        (b"1 0 0 -1 0 0", b"/F1 1 Tf .12 0 0 -.12 72 700 Tm", 1000),
        (b".5 0 0 .5 0 0", b"/F1 .24 Tf 1 0 0 1 72 700 Tm", 500),
    ],
)
def test_words_of_bitmap_fonts_are_whole_and_seen(tmp_path: Path, matrix: bytes, set_size: bytes, unit: int) -> None:
    names = b" ".join(b"/a%d" % code for code in range(32, 127))
    glyphs = b" ".join(b"/a%d 4 0 R" % code for code in range(32, 127))
    font = (
        b"<< /Type /Font /Subtype /Type3 /FontBBox [0 0 50 60] /FontMatrix [%s] /FirstChar 32 /LastChar 126"
        b" /Widths [%s] /CharProcs << %s >> /Encoding << /Type /Encoding /Differences [32 %s] >> /Resources << >> >>"
        % (matrix, b"42 " * 95, glyphs, names)
    )
    gap, kern = b"%d" % (-27 * unit), b"%d" % (2 * unit)
    words = b"[(The)%s(k)%s(eep)-%s(er)%s(coun)%s(ts)%s(1984)] TJ" % (gap, kern, kern, gap, kern, gap)
    objects = raw_pdf.pages([b"BT " + set_size + b" " + words + b" ET"], font)
    objects[4] = raw_pdf.stream(b"42 0 0 0 40 60 d1 0 0 40 60 re f")
    path = raw_pdf.write(tmp_path / "a.pdf", objects)
    page = next(iter(PdfFile(path).read([1], lambda _: None)))
    assert isinstance(page, ParsedPage) and page.text == "The keeper counts 1984" and not page.places


@pytest.mark.parametrize(
    "words", [("이", "문서의", "최신", "버전", "구하는", "법"), ("메모리", "및", "디스크", "공간", "요구", "사항")]
)
def test_gaps_between_words_of_hangul_are_spaces(tmp_path: Path, words: tuple[str, ...]) -> None:
    font, x = pymupdf.Font("korea"), 72.0
    with pymupdf.open() as pdf:
        page = pdf.new_page()
        writer = pymupdf.TextWriter(page.rect)
        for word in words:
            x = writer.append((x, 100), word, font, 12)[1].x + 3  # a quarter of the size, drawn as a gap
        writer.append((72, 130), "".join(words), font, 12)  # what runs on stays as it is
        writer.write_text(page)
        pdf.save(tmp_path / "a.pdf")
    assert lines(tmp_path / "a.pdf") == [" ".join(words), "".join(words)]


@pytest.mark.parametrize(
    ("text", "needs_ocr"),
    [
        ("T'lr1e k~:cp€r c0unt> tl1e #h!ps 0f_ t|1c p()rt ,;: ]-[e wr1t~s th~m d0vvn :n a b()ok _1f l:3ather", True),
        ("The keeper counts the ships of the port. He writes them down in a book of leather, page 3 of 12.", False),
        ("x_1 = a*b + c*d ; y_2 = 3*x + 4 ; z >= 0", False),
    ],
)
@pytest.mark.parametrize("scanned", [True, False])
def test_a_layer_of_rubbish_upon_a_scan_is_read_again(
    tmp_path: Path, text: str, needs_ocr: bool, scanned: bool
) -> None:
    document: Any = pymupdf.open()
    page = document.new_page()
    if scanned:
        pixels = pymupdf.Pixmap(pymupdf.csRGB, (0, 0, 60, 80))
        pixels.clear_with(200)
        page.insert_image(page.rect, pixmap=pixels)
    for line in range(30):
        page.insert_text((30, 60 + 20 * line), text, fontsize=8, render_mode=3 if scanned else 0)
    document.save(tmp_path / "a.pdf")
    first = next(iter(PdfFile(tmp_path / "a.pdf").read([1], lambda _: None)))
    assert isinstance(first, ParsedPage) and first.needs_ocr is (needs_ocr and scanned)


def form(path: Path, template: str, data: str, catalog: bytes = b"/NeedsRendering true", parted: bool = False) -> Path:
    """A dynamic form, whose only page asks to wait."""
    source = (
        '<xdp:xdp xmlns:xdp="http://ns.adobe.com/xdp/"><template xmlns="http://www.xfa.org/schema/xfa-template/3.0/">'
        f'{template}</template><xfa:datasets xmlns:xfa="http://www.xfa.org/schema/xfa-data/1.0/"><xfa:data>{data}'
        "</xfa:data></xfa:datasets></xdp:xdp>"
    ).encode()
    halves = (source[:200], source[200:]) if parted else (source, b"")
    listed = b"[(a) 1000 0 R (b) 1001 0 R]" if parted else b"1000 0 R"
    objects = raw_pdf.pages([raw_pdf.text("Please wait...")])
    objects[1] = b"<< /Type /Catalog /Pages 2 0 R %s /AcroForm << /Fields [] /XFA %s >> >>" % (catalog, listed)
    objects |= {1000 + at: raw_pdf.stream(half) for at, half in enumerate(halves)}
    return raw_pdf.write(path, objects)


_NAME = '<field name="n"><caption><value><text>Name:</text></value></caption><value><text>Anon</text></value></field>'
_HTML = (
    '<draw><value><exData><body xmlns="http://www.w3.org/1999/xhtml"><p>Fill <b>in</b></p></body></exData></value>'
    "</draw>"
)


@pytest.mark.parametrize("catalog", [b"", b"/NeedsRendering true"])
@pytest.mark.parametrize(
    ("template", "data", "parted", "shown"),
    [
        (_NAME, "<f><n>Kim Lee</n></f>", False, ["Name: Kim Lee"]),
        (_HTML + _NAME, "", True, ["Fill in", "Name: Anon"]),
        (_NAME + _NAME, "<f><n>Kim</n><n>Lee</n><note>late</note></f>", True, ["Name: Kim", "Name: Lee", "note: late"]),
        ("<draw><value", "", False, []),
    ],
)
def test_dynamic_forms_are_read(
    tmp_path: Path, template: str, data: str, parted: bool, shown: list[str], catalog: bytes
) -> None:
    assert lines(form(tmp_path / "a.pdf", template, data, catalog, parted)) == ["Please wait...", *shown]


@pytest.mark.parametrize("mark", [b"/Type /EmbeddedFile", b"", b"/Subtype /text#2Fplain"])
def test_files_attached_to_a_page_need_no_type(tmp_path: Path, mark: bytes) -> None:
    objects = raw_pdf.pages([raw_pdf.text("see the note")])
    objects[10] = objects[10].replace(b"/Contents", b"/Annots [1000 0 R] /Contents")
    objects[1000] = (
        b"<< /Type /Annot /Subtype /FileAttachment /Rect [9 9 20 20] /FS << /Type /Filespec /F (n.txt) "
        b"/EF << /F 1001 0 R >> >> >>"
    )
    objects[1001] = raw_pdf.stream(b"attached words", mark)
    path = raw_pdf.write(tmp_path / "a.pdf", objects)
    assert PDF.may_hold(path)
    members = [(member.name, b"".join(member.read())) for member in pdf_members(path, ParseLimits())]
    assert members == [("n.txt", b"attached words")]


COUNTS = ["/Count 0", "/Count 1", "/Count 7", "/Count 1000000", "/Count -3", "", "/Count 2.5"]


@pytest.mark.parametrize("count", COUNTS)
def test_wrong_numbers_of_pages_cost_no_page(tmp_path: Path, count: str) -> None:
    objects = raw_pdf.pages([raw_pdf.text(f"words of page {n}") for n in (1, 2, 3)])
    objects[2] = objects[2].replace(b"/Count 3", count.encode())
    path = raw_pdf.write(tmp_path / "a.pdf", objects)
    assert text_of(path).split("\n") == [f"words of page {n}" for n in (1, 2, 3)]
