"""Words of pictures inside files that flow. Pictures are drawn text; Tesseract is the real one."""

from __future__ import annotations

import base64
import io
import json
import os
import zipfile
from dataclasses import replace
from email.message import EmailMessage
from pathlib import Path

import pptx
import pymupdf
import pytest
from pptx.util import Inches

from hybrid_core.types.documents import Line, MarkedHeading, ParsedPage
from hybrid_pageindex import Engine, run
from indexers.formats.format import PicturedFile
from indexers.formats.limits import ParseLimits
from indexers.formats.pictures import local_links, name_beside, pictures_beside
from indexers.formats.registry import open_file
from indexers.formats.text_drawing import drawn, illustrations
from indexers.ocr.pages import PictureWords, Reading
from tests.indexers.formats import packages
from tests.ocr import reads

_BLIP = (
    '<w:p><w:r><w:drawing><a:blip xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" '
    'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships" r:embed="{}"/></w:drawing>'
    "</w:r></w:p>"
)
_IMAGE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/image"


def picture(words: str) -> bytes:
    document = pymupdf.open()
    page = document.new_page(width=400, height=80)
    page.insert_text((20, 45), words, fontsize=16)
    return bytes(page.get_pixmap(dpi=150).tobytes("png"))


def docx(path: Path, body: str, *images: bytes) -> Path:
    """Its pictures are called p0, p1, …"""
    packages.docx(path, body)
    with zipfile.ZipFile(path) as package:
        held: dict[str, str | bytes] = {name: package.read(name) for name in package.namelist()}
    relations = "".join(f'<Relationship Id="p{n}" Type="{_IMAGE}" Target="media/{n}.png"/>' for n in range(len(images)))
    held["word/_rels/document.xml.rels"] = f"<Relationships>{relations}</Relationships>"
    return packages.packed(path, {**held, **{f"word/media/{n}.png": data for n, data in enumerate(images)}})


def _of_kind(path: Path, kind: str) -> Path:
    """A file of a kind: a sentence, and a picture that says which harbour it is about."""
    shown = picture("Harbour of Lund, depth 14 m")
    target = path / f"tides.{kind}"
    if kind == "docx":
        return docx(target, packages.paragraph("A sentence about tides.") + _BLIP.format("p0"), shown)
    if kind == "pptx":
        deck = pptx.Presentation()
        slide = deck.slides.add_slide(deck.slide_layouts[5])
        slide.shapes.title.text = "A sentence about tides."
        slide.shapes.add_picture(io.BytesIO(shown), Inches(1), Inches(2))
        deck.save(str(target))
    elif kind == "epub":
        packages.epub(target, {"a.xhtml": '<p>A sentence about tides.</p><img src="b.png"/>'}, **{"OPS/b.png": shown})
    elif kind == "html":
        link = f"data:image/png;base64,{base64.b64encode(shown).decode()}"
        target.write_text(f'<p>A sentence about tides.</p><p><img src="{link}"></p>')
    elif kind == "odt":
        frame = '<draw:frame><draw:image xlink:href="Pictures/a.png" xmlns:xlink="http://www.w3.org/1999/xlink"/></draw:frame>'
        packages.opendocument(target, f"<text:p>A sentence about tides.{frame}</text:p>")
        with zipfile.ZipFile(target, "a") as package:
            package.writestr("Pictures/a.png", shown)
    else:
        _of_text(target, base64.b64encode(shown).decode())
    return target


def _of_text(target: Path, data: str) -> None:
    said, link = "A sentence about tides.", f"data:image/png;base64,{data}"
    if target.suffix == ".md":
        target.write_text(f"{said}\n\n![a chart][image1]\n\n[image1]: <{link}>\n")
    elif target.suffix == ".fb2":
        target.write_text(
            f'<FictionBook xmlns:l="http://www.w3.org/1999/xlink"><body><section><p>{said}</p><image l:href="#b.png"/>'
            f'</section></body><binary id="b.png" content-type="image/png">{data}</binary></FictionBook>'
        )
    elif target.suffix == ".ipynb":
        cells = [{"cell_type": "markdown", "source": said},
                 {"cell_type": "code", "source": "plot()", "outputs": [{"data": {"image/png": [data]}}]}]  # fmt: skip
        target.write_text(json.dumps({"cells": cells}))
    else:
        mail = EmailMessage()
        mail["From"], mail["Subject"] = "keeper@example.org", "tides"
        mail.set_content(f'<p>{said}</p><img src="cid:b@x">', subtype="html")
        mail.add_related(base64.b64decode(data), "image", "png", cid="<b@x>")
        held = mail.as_bytes()
        target.write_bytes(held if target.suffix == ".eml" else b"From keeper Mon Jan  5 10:00:00 2026\n" + held)


@reads
@pytest.mark.parametrize("kind", ["docx", "pptx", "epub", "html", "odt", "md", "fb2", "ipynb", "eml", "mbox"])
def test_the_words_of_a_picture_are_found_and_marked_as_read_by_ocr(engine: Engine, tmp_path: Path, kind: str) -> None:
    path = _of_kind(tmp_path, kind)
    file = run(engine.index(path)).files[0]
    assert "pictures on 1 of 1 page was read by OCR: 1" in file.note
    found = run(engine.search("depth of the harbour of Lund")).results[0]
    assert found.doc_name == path.name
    page = run(engine.pages(path.name, 1))[0]
    assert "A sentence about tides." in page.text and "[picture] Harbour of Lund, depth 14 m" in page.text
    assert len(page.text) < 500
    assert page.ocr and page.read_by.startswith("OCR of its pictures (Tesseract, ") and not page.needs_ocr
    assert run(engine.index(path)).files[0].status == "unchanged"
    deep = {check.name: check for check in run(engine.admin.doctor(deep=True)).checks}
    assert deep["contents"].detail == "1 of 1 match their files"


@reads
def test_the_page_is_published_without_and_read_once_ocr_can_be_had(engine: Engine, tmp_path: Path) -> None:
    path = _of_kind(tmp_path, "docx")
    with_ocr = engine.settings
    engine.settings = replace(with_ocr, ocr="never")
    file = run(engine.index(path)).files[0]
    assert file.status == "indexed" and file.note == ""
    page = run(engine.pages(path.name, 1))[0]
    assert page.text == "A sentence about tides." and not page.ocr and not page.needs_ocr
    engine.settings = with_ocr
    assert run(engine.index(path)).files[0].status == "indexed"
    assert "Harbour of Lund" in run(engine.pages(path.name, 1))[0].text


@reads
def test_words_stand_where_their_picture_does_and_sections_keep_their_headings(engine: Engine, tmp_path: Path) -> None:
    style = '<w:style w:type="paragraph" w:styleId="H"><w:name w:val="heading 1"/></w:style>'
    styles = packages.docx(tmp_path / "s.docx", "", style)
    with zipfile.ZipFile(styles) as package:
        held = package.read("word/styles.xml")
    body = (
        packages.paragraph("Tides", "H") + _BLIP.format("p0") + packages.paragraph("Low water.")
        + packages.paragraph("Winds", "H") + packages.paragraph("Gales.") + _BLIP.format("p1")
    )  # fmt: skip
    path = docx(tmp_path / "a.docx", body, picture("Harbour of Lund"), picture("Lighthouse of Ystad"))
    with zipfile.ZipFile(path) as package:
        files: dict[str, str | bytes] = {name: package.read(name) for name in package.namelist()}
    listed = files["word/_rels/document.xml.rels"]
    assert isinstance(listed, bytes)
    kind = _IMAGE.replace("/image", "/styles")
    styled = listed.decode().replace(
        "</Relationships>", f'<Relationship Id="s" Type="{kind}" Target="styles.xml"/></Relationships>'
    )
    packages.packed(path, {**files, "word/styles.xml": held, "word/_rels/document.xml.rels": styled})
    run(engine.index(path))
    text = run(engine.pages("a.docx", 1))[0].text
    assert text.split("\n\n") == [
        "# Tides", "[picture] Harbour of Lund\nLow water.", "# Winds", "Gales.\n[picture] Lighthouse of Ystad"
    ]  # fmt: skip
    sections = {node.section.title: node.section for node in run(engine.outline("a.docx")).nodes}
    assert text[sections["Winds"].anchor :].startswith("# Winds")


@reads
@pytest.mark.parametrize("kind", ["md", "html"])
def test_a_picture_beside_a_file_is_part_of_it(engine: Engine, tmp_path: Path, kind: str) -> None:
    (tmp_path / "figures").mkdir()
    shown = tmp_path / "figures" / "the depth.png"
    shown.write_bytes(picture("Harbour of Lund, depth 14 m"))
    path = tmp_path / f"tides.{kind}"
    path.write_text({"md": "Tides.\n\n![depth](<figures/the depth.png>)\n\nMore.\n",
                     "html": '<p>Tides.</p><img src="figures/the%20depth.png?x=1"><p>More.</p>'}[kind])  # fmt: skip
    assert run(engine.index(path)).files[0].status == "indexed"
    text = run(engine.pages(path.name, 1))[0].text
    assert "[picture] Harbour of Lund, depth 14 m" in text and text.endswith("More.")
    assert len(run(engine.pictures.layout(path.name, 1)).figures) == 1
    assert run(engine.index(path)).files[0].status == "unchanged"
    shown.write_bytes(picture("Lighthouse of Ystad"))
    assert run(engine.index(path)).files[0].status == "indexed"
    assert "[picture] Lighthouse of Ystad" in run(engine.pages(path.name, 1))[0].text
    os.utime(path, (1e9, 1e9))
    shown.rename(tmp_path / "moved.png")
    assert run(engine.index(path)).files[0].status == "indexed"
    assert "[picture]" not in run(engine.pages(path.name, 1))[0].text
    (tmp_path / "moved.png").rename(shown)
    assert run(engine.index(path)).files[0].status == "indexed"
    assert "[picture] Lighthouse of Ystad" in run(engine.pages(path.name, 1))[0].text


def test_only_pictures_below_a_files_own_folder_are_taken(tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    for place in (tmp_path / "outside.png", folder / "inside.png", folder / "page.txt"):
        place.write_bytes(picture("Harbour"))
    (folder / "link.png").symlink_to(tmp_path / "outside.png")
    (folder / "loop.png").symlink_to(folder / "loop.png")
    os.mkfifo(folder / "pipe.png")
    (folder / "folder.png").mkdir()
    (folder / "tiny.png").write_bytes(b"x")
    with (folder / "huge.png").open("wb") as file:
        file.truncate(50_000_000)
    assert name_beside(folder, "./x/../inside.png#a") == "inside.png"
    hostile = ["../outside.png", "%2e%2e/outside.png", "x/../../outside.png", str(tmp_path / "outside.png"),
               "//host/outside.png", "https://host/inside.png", "file:inside.png", "link.png", "loop.png", "pipe.png",
               "folder.png", "tiny.png", "huge.png", "page.txt", "missing.png", "a\0.png", "~/a.png",
               "x" * 5000 + ".png", "\\\\host\\a.png", ""]  # fmt: skip
    assert [link for link in hostile if name_beside(folder, link)] == []
    (folder / "a.md").write_text("\n".join(f"![]({link})" for link in [*hostile, "inside.png"] if "\0" not in link))
    assert [name for name, _ in pictures_beside(folder, local_links(folder / "a.md"))] == ["inside.png"]
    assert sum(page.pictures for page in packages.read(folder / "a.md")[1]) == 1


@pytest.mark.parametrize("kind", ["docx", "pptx", "epub", "html", "odt", "md", "fb2", "ipynb", "eml", "mbox"])
def test_pictures_are_drawn_where_they_stand(tmp_path: Path, kind: str) -> None:
    path = _of_kind(tmp_path, kind)
    [page] = packages.read(path)[1]
    kept = [*(line.text for line in page.lines), "[picture] Harbour of Lund"]
    [[shown]] = illustrations(path, None, [(1, "\n".join(kept))], ParseLimits())
    assert (shown.width, shown.height) == (834, 167)
    layout = drawn("\n".join(kept), [shown])[1]
    [figure], words = layout.figures, {word.text: word.box for word in layout.words}
    assert words["sentence"][3] <= figure[1] and figure[3] <= words["Lund"][1] + 1


def test_a_file_that_has_changed_is_drawn_without_its_pictures(engine: Engine, tmp_path: Path) -> None:
    engine.settings = replace(engine.settings, ocr="never")
    path = _of_kind(tmp_path, "docx")
    run(engine.index(path))
    illustrated = run(engine.pictures.page("tides.docx", 1))
    path.write_bytes(b"other")
    assert run(engine.pictures.layout("tides.docx", 1)).figures == ()
    path.unlink()
    assert run(engine.pictures.page("tides.docx", 1)) != illustrated


def test_a_picture_on_many_slides_is_read_once_and_a_small_one_never(tmp_path: Path) -> None:
    small = pymupdf.Pixmap(pymupdf.csGRAY, (0, 0, 20, 20))
    small.clear_with(9)
    body = "".join(packages.paragraph("words " * 500) + _BLIP.format("p0") + _BLIP.format("p1") for _ in range(3))
    path = docx(tmp_path / "a.docx", body, picture("Harbour"), small.tobytes("png"))
    file = open_file(path, None, ParseLimits())
    assert file.pages > 1 and isinstance(file, PicturedFile)
    pages = [page for page in file.read(range(1, file.pages + 1), lambda _: None) if isinstance(page, ParsedPage)]
    assert [page.pictures for page in pages] == [1, *([0] * (file.pages - 1))]
    assert [len(list(file.page_pictures(page.number))) for page in pages] == [page.pictures for page in pages]


def test_a_slide_of_nothing_but_a_picture_has_no_readable_text(tmp_path: Path) -> None:
    deck = pptx.Presentation()
    for _ in range(2):
        slide = deck.slides.add_slide(deck.slide_layouts[6])
    slide.shapes.add_picture(io.BytesIO(picture("Harbour")), 0, 0)
    deck.save(str(tmp_path / "a.pptx"))
    _, pages = packages.read(tmp_path / "a.pptx")
    assert [(page.pictures, page.needs_ocr) for page in pages] == [(0, False), (1, True)]


def test_what_pictures_show_moves_places_and_headings_on() -> None:
    page = ParsedPage(
        1, lines=(Line("one"), Line("two"), Line("three")), places=((0, "paragraph 1"), (2, "paragraph 3")), pictures=2
    )
    reading = Reading(1, "Tesseract", 91, None, (PictureWords(1, ("A", "B")), PictureWords(3, ("C",))))
    read = reading.onto(page)
    assert [line.text for line in read.lines] == ["one", "A", "B", "two", "three", "C"]
    assert read.places == ((0, "paragraph 1"), (4, "paragraph 3")) and (read.engine, read.sure) == ("Tesseract", 91)
    assert reading.moved(MarkedHeading(1, "two", 1, 1, "markup").line) == 3
    nothing = Reading(1, "Tesseract", 0).onto(page)
    assert nothing.lines == page.lines and not nothing.ocr and nothing.pictures == 0
