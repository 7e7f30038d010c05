"""The format is what a file holds; an ending that says otherwise is named; what strangers packed is bounded."""

from __future__ import annotations

import io
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from PIL import Image

from hybrid_core.errors import DocumentError, LimitError, NotFoundError, UnsupportedFileError
from hybrid_pageindex import Engine, run
from indexers.formats import registry
from indexers.formats.detect import detect
from indexers.formats.limits import ParseLimits
from tests import pdfs
from tests.indexers.formats.packages import docx, epub, opendocument, packed, paragraph, read, text_of


def test_content_decides_and_a_wrong_ending_is_said(tmp_path: Path, engine: Engine) -> None:
    made = {
        docx(tmp_path / "a.pdf", paragraph("kelp")): "docx",
        opendocument(tmp_path / "b.epub", ""): "odt",  # MuPDF would show a comic book
        epub(tmp_path / "c.zip", {"one.xhtml": "<p>gull"}): "epub",
        pdfs.numbered(tmp_path / "d.pdf", 1, "kelp").rename(tmp_path / "d.docx"): "pdf",
    }
    for file, format in made.items():
        assert registry.format_of(file).name == format
    (told,) = run(engine.index([tmp_path / "a.pdf"])).files
    assert (
        told.status == "indexed" and "the ending .pdf stands for PDF, but the content of the file is Word" in told.note
    )


def test_a_text_that_speaks_of_pdfs_stays_a_text(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("A file begins with %PDF-1.7\n")
    (tmp_path / "b.txt").write_text("<html> is a tag\n")
    assert registry.format_of(tmp_path / "a.md").name == "markdown"
    assert registry.format_of(tmp_path / "b.txt").name == "txt"


def test_an_archive_called_a_document_is_no_archive_of_documents(tmp_path: Path) -> None:
    with pytest.raises(DocumentError, match="damaged: its main document is missing"):
        read(packed(tmp_path / "a.docx", {"readme.txt": "kelp"}))


def test_packages_that_would_fill_the_memory_are_refused(tmp_path: Path) -> None:
    bomb = packed(
        tmp_path / "a.docx", {"[Content_Types].xml": "", "word/document.xml": b"\0" * 40_000_000, "x.rels": ""}
    )
    with pytest.raises(LimitError, match="made to exhaust the memory"):
        read(bomb)
    many = packed(tmp_path / "b.docx", {"x.rels": "", **{f"word/{n}": "" for n in range(30)}})
    with pytest.raises(LimitError, match=r"contains 31 files; the limit is 9.* max_entries"):
        read(many, ParseLimits(max_entries=9))
    with pytest.raises(LimitError, match="max_expanded_bytes"):
        read(docx(tmp_path / "c.docx", paragraph("kelp")), ParseLimits(max_expanded_bytes=99))


def test_entities_are_not_expanded_and_nothing_is_fetched(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("the secret")
    file = docx(tmp_path / "a.docx", paragraph("kelp"))
    with zipfile.ZipFile(file) as package:
        files = {name: package.read(name) for name in package.namelist()}
    entity = f'<!DOCTYPE w [<!ENTITY s SYSTEM "{(tmp_path / "secret").as_uri()}"><!ENTITY l "lol">]>'.encode()
    files["word/document.xml"] = entity + files["word/document.xml"].replace(b"kelp", b"kelp &s; &l;")
    text = text_of(packed(file, files))
    assert "kelp" in text and "secret" not in text


def test_nesting_far_deeper_than_any_document_is_read_or_refused(tmp_path: Path) -> None:
    deep = 10_000
    body = "<w:tbl><w:tr><w:tc>" * deep + paragraph("kelp") + "</w:tc></w:tr></w:tbl>" * deep
    info, (page,) = read(docx(tmp_path / "a.docx", paragraph("gull") + body))
    assert page.text == "gull" and "nested too deeply, and was read only in part" in info.warnings[0]


def test_broken_copies_are_refused_or_read(tmp_path: Path) -> None:
    whole = docx(tmp_path / "a.docx", paragraph("kelp") * 50).read_bytes()
    for at in range(10, len(whole), len(whole) // 40):
        for broken in (whole[:at], whole[:at] + b"\xff\0" + whole[at + 2 :]):
            (tmp_path / "b.docx").write_bytes(broken)
            try:
                read(tmp_path / "b.docx")
            except DocumentError as error:
                assert "b.docx" in str(error)


def test_frames_of_a_picture_are_pages_that_ocr_reads(tmp_path: Path) -> None:
    frames = [Image.new("1", (400, 300), 1) for _ in range(3)]
    frames[0].save(tmp_path / "a.tiff", save_all=True, append_images=frames[1:], dpi=(200, 200))
    _, pages = read(tmp_path / "a.tiff")
    assert [(page.label, page.width, page.needs_ocr) for page in pages] == [
        (f"frame {n}", 144.0, True) for n in (1, 2, 3)
    ]
    Image.new("RGB", (4000, 3000)).save(tmp_path / "b.jpg")
    with pytest.raises(LimitError, match=r"4,000 × 3,000 has 12,000,000 pixels; the limit is 1,000\..* max_pixels"):
        registry.open_file(tmp_path / "b.jpg", None, ParseLimits(max_pixels=1_000))


@pytest.mark.skipif(shutil.which("tesseract") is None, reason="Tesseract is not installed")
def test_a_picture_of_text_is_found_and_shown(tmp_path: Path, engine: Engine) -> None:
    import pymupdf

    with pymupdf.open(pdfs.numbered(tmp_path / "a.pdf", 1, "kelp harbour")) as file:
        picture = file[0].get_pixmap(dpi=150)
        Image.open(io.BytesIO(picture.tobytes("png"))).save(tmp_path / "scan.webp", quality=95)
    (told,) = run(engine.index([tmp_path / "scan.webp"])).files
    assert told.status == "indexed"
    found = run(engine.search("kelp harbour")).results[0]
    assert found.doc_name == "scan.webp" and found.page == 1
    assert run(engine.pictures.page(found.doc_id, 1))[:4] == b"\x89PNG"


def test_readers_are_not_imported_before_such_a_file_is_read() -> None:
    said = "import sys, indexers.formats.registry; print([m for m in ('lxml', 'pptx', 'selectolax', 'python_calamine', "
    said += "'striprtf', 'olefile', 'PIL', 'mailbox', 'pymupdf') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", said], capture_output=True, text=True).stdout.strip() == "[]"


def test_a_place_is_found_again_and_by_its_words_after_an_edit(tmp_path: Path, engine: Engine) -> None:
    told = [f"The keeper of port {n} counts {n + 40} ships. " * 9 for n in range(40)]
    docx(tmp_path / "a.docx", "".join(map(paragraph, told)))
    run(engine.index([tmp_path]))
    page = run(engine.pages("a.docx", 2))[0]
    place = page.places[1]
    assert page.text.split("\n")[place.line].startswith(place.quote) and place.place.startswith("paragraph ")
    found = run(engine.documents.find_place("a.docx", place.place, place.quote))
    assert (found.page, found.line, found.moved) == (2, place.line, False)
    docx(tmp_path / "a.docx", "".join(map(paragraph, ["Written in later.", *told])))
    run(engine.index([tmp_path]))
    moved = run(engine.documents.find_place("a.docx", place.place, place.quote))
    line = run(engine.pages("a.docx", moved.page))[0].text.split("\n")[moved.line]
    assert moved.moved and line.startswith(place.quote)
    with pytest.raises(NotFoundError, match="has no page or section"):
        run(engine.documents.find_place("a.docx", "paragraph 999", "words that stand nowhere"))
    (tmp_path / "b.md").write_text("# Plain\n")
    run(engine.index([tmp_path]))
    assert "places" not in run(engine.pages("b.md", 1))[0].to_dict()


def test_a_mixed_library_names_the_places(tmp_path: Path, engine: Engine) -> None:
    docx(tmp_path / "a.docx", paragraph("The Oban keeper counts forty-four ships."))
    epub(tmp_path / "b.epub", {"one.xhtml": "<h1>Ebb</h1><p>The moon pulls the estuary mud.</p>"})
    (tmp_path / "c.csv").write_text("Port,Dues\nTobermory,ninety crowns\nIona,six\n")
    assert all(file.status == "indexed" for file in run(engine.index([tmp_path])).files)
    for question, name, label in (
        ("How many ships does the Oban keeper count?", "a.docx", "paragraph 1"),
        ("What pulls the estuary mud?", "b.epub", "ch. 1"),
        ("dues of Tobermory", "c.csv", "c!A1:B3"),
    ):
        best = run(engine.search(question)).results[0]
        assert (best.doc_name, best.label) == (name, label)


@pytest.mark.parametrize("name", ["a.doc", "a.docx", "a.rtf", "a.odt"])
@pytest.mark.parametrize("encoding", ["utf-8", "cp1252"])
def test_plain_text_under_the_name_of_a_text_format_is_read(tmp_path: Path, name: str, encoding: str) -> None:
    (tmp_path / name).write_bytes("The keeper counts ships at Zürich.\nHe is früh.\n".encode(encoding))
    assert "at Zürich" in text_of(tmp_path / name)


@pytest.mark.parametrize("name", ["a.doc", "a.docx"])
def test_other_bytes_under_such_a_name_are_no_text(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"\x00\x01\x02 kelp \n \x03")
    with pytest.raises(DocumentError):
        text_of(tmp_path / name)


@pytest.mark.parametrize(
    ("name", "files", "kind"),
    [
        ("a.pages", {"Index/Document.iwa": b"x"}, "Apple Pages"),
        ("a.zip", {"Index.zip": b"x", "preview.jpg": b"x"}, "Apple Pages"),
        ("a.xps", {"FixedDocSeq.fdseq": b"x", "[Content_Types].xml": b"<Types/>"}, "an XPS document"),
        ("a.sxw", {"mimetype": b"application/vnd.sun.xml.writer", "content.xml": b"<x/>"}, "OpenOffice 1"),
        ("a.doc", b"\xffWPC" + bytes(300), "a WordPerfect document"),
    ],
)
def test_known_formats_that_are_not_read_are_named(
    tmp_path: Path, name: str, files: bytes | dict[str, str | bytes], kind: str
) -> None:
    path = tmp_path / name
    packed(path, files) if isinstance(files, dict) else path.write_bytes(files)
    with pytest.raises(UnsupportedFileError, match=f"{kind}.*, which is not read"):
        registry.open_file(path, None, ParseLimits())


def test_an_archive_that_holds_archives_is_no_document_of_apple(tmp_path: Path) -> None:
    assert detect(packed(tmp_path / "a.zip", {"Index.zip": b"x", "docs/a.fdseq": b"x"}), "archive") == "archive"


@pytest.mark.parametrize(
    "head", [b"\xdb\xa5\x2d\0", b"\x9b\xa5\x21\0", b"\x31\xbe\0\0", b"\xfe\x37\0\x1c", b"\xfe\x37\0\x23"]
)
def test_word_of_before_1993_is_called_so(tmp_path: Path, head: bytes) -> None:
    (tmp_path / "a.doc").write_bytes(head + bytes(500))
    with pytest.raises(UnsupportedFileError, match=r"Word document of before 1993.*Save it as DOCX"):
        read(tmp_path / "a.doc")


_PICTURE_HEAD = b"\x89PNG\r\n\x1a\n\0\0\0\0IHDR"


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.png", _PICTURE_HEAD, "the file is damaged: it cannot be read as a picture."),
        ("a.docx", b"PK\x03\x04 cut", "the package is damaged, so its entries cannot be listed."),
        ("a.epub", b"PK\x03\x04 cut", "the package is damaged, so its entries cannot be listed."),
        ("a.pdf", b"%PDF-1.7\nnothing", "no PDF reader can open it."),
        ("a.ipynb", b'{"cells": [\n}', "a notebook must be valid JSON (line 2)."),
        ("a.xls", b"<?xml version='1.0'?><Workbook xmlns='urn:schemas-microsoft-com:office:spreadsheet'>",
         "has no sheets."),
        ("a.tgz", b"\x1f\x8b\x08\0\0\0\0\0\0\0cut", "the archive is damaged, so it cannot be unpacked."),
    ],
)  # fmt: skip
def test_messages_hold_no_texts_of_libraries(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DocumentError) as raised:
        read(tmp_path / name)
    assert message in str(raised.value)
    assert not re.search(r"Error|Errno|zip file|cannot identify|code=|0x|traceback|<string>", str(raised.value))
