"""Presentations as they show, and those that strict readers refuse."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pptx
import pytest
from lxml import etree
from pptx.util import Emu, Inches

from tests.indexers.formats.packages import read, repacked, text_of

_OFFICE = b"http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_DRAWN = "http://schemas.openxmlformats.org/drawingml/2006/main"
_MAIN = b"application/vnd.openxmlformats-officedocument.presentationml.presentation.main+xml"
_FIRST = "ppt/slides/_rels/slide1.xml.rels"

Files = dict[str, bytes]


def box(slide: Any, text: str, left: float = 1, top: float = 1) -> Any:
    shape = slide.shapes.add_textbox(Inches(left), Inches(top), Inches(2), Inches(0.5))
    shape.text_frame.text = text
    return shape


def deck(path: Path, *fill: Callable[[Any], Any]) -> Path:
    presentation = pptx.Presentation()
    for put in fill:
        put(presentation.slides.add_slide(presentation.slide_layouts[6]))
    presentation.save(str(path))
    return path


def strict(files: Files) -> Files:
    spaces = {b"presentationml/2006/": b"presentationml/", b"drawingml/2006/": b"drawingml/",
              b"officeDocument/2006/relationships": b"officeDocument/relationships"}  # fmt: skip
    for usual, other in spaces.items():
        before, after = b"http://schemas.openxmlformats.org/" + usual, b"http://purl.oclc.org/ooxml/" + other
        files = {name: data.replace(before, after) for name, data in files.items()}
    return files


def dead_link(files: Files) -> Files:
    link = b'<Relationship Id="rId99" Type="' + _OFFICE + b'/image" Target="../media/NULL"/></Relationships>'
    return {**files, _FIRST: files[_FIRST].replace(b"</Relationships>", link)}


def typed(name: str) -> Callable[[Files], Files]:
    types = "[Content_Types].xml"
    return lambda files: {**files, types: files[types].replace(_MAIN, f"application/vnd.{name}.main+xml".encode())}


@pytest.mark.parametrize(
    "change",
    [
        strict,
        dead_link,
        lambda files: {**dead_link(files), "ppt/media/NULL": b"x"},
        lambda files: {name.replace("/", "\\"): data for name, data in files.items()},
        lambda files: {name.replace("ppt/slides/slide", "ppt/Slides/Slide"): data for name, data in files.items()},
        lambda files: {name: data for name, data in files.items() if name != "[Content_Types].xml"},
        typed("ms-powerpoint.slideshow.macroEnabled"),
        typed("ms-powerpoint.template.macroEnabled"),
        typed("openxmlformats-officedocument.presentationml.template"),
    ],
)
def test_presentations_that_powerpoint_opens_are_read(tmp_path: Path, change: Callable[[Files], Files]) -> None:
    def second(slide: Any) -> None:
        box(slide, "second words")
        slide.notes_slide.notes_text_frame.text = "spoken words"

    path = repacked(deck(tmp_path / "a.pptx", lambda slide: box(slide, "first words"), second), change)
    assert [page.text for page in read(path)[1]] == ["first words", "second words\n\n[notes] spoken words"]


def test_a_missing_slide_costs_only_itself(tmp_path: Path) -> None:
    path = deck(tmp_path / "a.pptx", *(lambda slide, at=at: box(slide, f"slide {at}") for at in range(3)))
    path = repacked(path, lambda files: {name: data for name, data in files.items() if "slides/slide2" not in name})
    info, pages = read(path)
    assert [page.text for page in pages] == ["slide 0", "slide 2"]
    assert "the file lists 1 slide that is missing in it" in info.warnings


def grouped(slide: Any, place: tuple[int, int], size: tuple[int, int], texts: list[tuple[str, int]]) -> None:
    group = slide.shapes.add_group_shape()
    for text, top in texts:
        group.shapes.add_textbox(Emu(10), Emu(top), Emu(90), Emu(90)).text_frame.text = text
    frame = group._element.grpSpPr.find(f"{{{_DRAWN}}}xfrm")
    values = {"off": place, "ext": size, "chOff": (0, 0), "chExt": (1000, 400)}
    for name, (first, second) in values.items():
        part = frame.find(f"{{{_DRAWN}}}{name}")
        keys = ("cx", "cy") if name.endswith("xt") else ("x", "y")
        part.attrib.update({keys[0]: str(first), keys[1]: str(second)})


@pytest.mark.parametrize("top", [0.3, 2.2, 6.0])
def test_shapes_of_groups_stand_where_the_slide_shows_them(tmp_path: Path, top: float) -> None:
    def fill(slide: Any) -> None:
        box(slide, "other", 1, top)
        grouped(slide, (Inches(1), Inches(2)), (Inches(3), Inches(2)), [("upper", 0), ("lower", 300)])

    shown = text_of(deck(tmp_path / "a.pptx", fill)).split()
    order = sorted([("other", top), ("upper", 2.0), ("lower", 3.5)], key=lambda pair: pair[1])
    assert shown == [text for text, _ in order]


def test_alternative_texts_of_every_shape_are_kept(tmp_path: Path) -> None:
    def fill(slide: Any) -> None:
        box(slide, "")._element.nvSpPr.cNvPr.set("descr", "an arrow")
        table = slide.shapes.add_table(1, 2, Inches(1), Inches(3), Inches(4), Inches(1))
        table._element.nvGraphicFramePr.cNvPr.set("descr", "prices of ships")
        table.table.cell(0, 0).text, table.table.cell(0, 1).text = "k", "v"

    text = text_of(deck(tmp_path / "a.pptx", fill))
    assert "![an arrow]" in text and "![prices of ships]" in text and "| k | v |" in text


def test_circled_numbers_hidden_slides_and_words_of_the_layout(tmp_path: Path) -> None:
    def circled(slide: Any) -> None:
        frame = box(slide, "alpha").text_frame
        frame.add_paragraph().text = "beta"
        for paragraph in frame.paragraphs:
            mark = etree.SubElement(paragraph._p.get_or_add_pPr(), f"{{{_DRAWN}}}buAutoNum")
            mark.set("type", "circleNumDbPlain")

    def hidden(slide: Any) -> None:
        slide._element.set("show", "0")
        box(slide, "hidden words")

    def add_words(files: Files) -> Files:
        name = "ppt/slideLayouts/slideLayout7.xml"
        shape = (
            b'<p:sp><p:nvSpPr><p:cNvPr id="55" name="t"/><p:cNvSpPr txBox="1"/><p:nvPr/></p:nvSpPr><p:spPr/><p:txBody>'
            b"<a:bodyPr/><a:p><a:r><a:t>Confidential</a:t></a:r></a:p></p:txBody></p:sp></p:spTree>"
        )
        return {**files, name: files[name].replace(b"</p:spTree>", shape)}

    info, pages = read(repacked(deck(tmp_path / "a.pptx", circled, hidden), add_words))
    assert pages[0].text == "① alpha\n② beta\n\n[layout] Confidential"
    assert pages[1].text == "hidden words"
    assert "1 of 2 slides is hidden, but was read" in info.warnings


_CHARTS = "http://schemas.microsoft.com/office/drawing/2014/chartex"


def test_charts_of_later_versions_are_read(tmp_path: Path) -> None:
    def fill(slide: Any) -> None:
        slide.shapes._spTree.append(etree.fromstring(
            '<mc:AlternateContent xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006" xmlns:p="http://'
            f'schemas.openxmlformats.org/presentationml/2006/main" xmlns:a="{_DRAWN}"><mc:Choice><p:graphicFrame>'
            '<p:nvGraphicFramePr><p:cNvPr id="9" name="c"/><p:cNvGraphicFramePr/><p:nvPr/></p:nvGraphicFramePr><p:xfrm>'
            '<a:off x="0" y="0"/><a:ext cx="9" cy="9"/></p:xfrm><a:graphic><a:graphicData uri="u"><x:chart '
            f'xmlns:x="{_CHARTS}" xmlns:r="{_OFFICE.decode()}" r:id="rId77"/></a:graphicData></a:graphic>'
            "</p:graphicFrame></mc:Choice></mc:AlternateContent>"
        ))  # fmt: skip

    def chart(files: Files) -> Files:
        inside = (
            f'<x:chartSpace xmlns:x="{_CHARTS}"><x:data id="0"><x:strDim><x:lvl><x:pt idx="0">In</x:pt></x:lvl>'
            '</x:strDim><x:numDim><x:lvl><x:pt idx="0">31</x:pt></x:lvl></x:numDim></x:data></x:chartSpace>'
        )
        link = b'<Relationship Id="rId77" Type="' + _OFFICE + b'/chartEx" Target="../charts/x1.xml"/></Relationships>'
        return {**files, "ppt/charts/x1.xml": inside.encode(), _FIRST: files[_FIRST].replace(b"</Relationships>", link)}

    assert "| In | 31 |" in text_of(repacked(deck(tmp_path / "a.pptx", fill), chart))


@pytest.mark.parametrize(("written", "shown"), [("a_x000B_b", "a b"), ("a_x00e9_", "aé"), ("a_x0", "a_x0")])
def test_escaped_signs_are_read_as_signs(tmp_path: Path, written: str, shown: str) -> None:
    path = repacked(deck(tmp_path / "a.pptx", lambda slide: box(slide, "HERE")), lambda files: {
        name: data.replace(b"HERE", written.encode()) for name, data in files.items()
    })  # fmt: skip
    assert " ".join(text_of(path).split()) == shown


@pytest.mark.parametrize("element", ["<p:spPr>.*?</p:spPr>", "<p:nvSpPr>.*?</p:nvSpPr>", '<p:cNvPr [^>]*id="2"[^>]*/>'])
def test_a_slide_that_the_library_refuses_keeps_its_words(tmp_path: Path, element: str) -> None:
    slides = deck(tmp_path / "a.pptx", lambda slide: (box(slide, "Fare list"), box(slide, "Tide table", top=3)))
    path = repacked(slides, lambda files: {
        name: re.sub(element.encode(), b"", data, flags=re.S) if name == "ppt/slides/slide1.xml" else data
        for name, data in files.items()
    })  # fmt: skip
    assert {"Fare list", "Tide table"} <= set(text_of(path).split("\n"))


def _bullet(above: Any, kind: str) -> None:
    mark = etree.SubElement(above, f"{{{_DRAWN}}}{kind}")
    if kind == "buAutoNum":
        mark.set("type", "arabicPeriod")


@pytest.mark.parametrize(
    ("own", "inherited", "shown"),
    [
        ("", "buAutoNum", "1. one\n2. two"),
        ("buNone", "buAutoNum", "one\n\ntwo"),
        ("buAutoNum", "buChar", "1. one\n2. two"),
        ("", "buChar", "one\n\ntwo"),
    ],
)
def test_numbers_of_lists_come_from_the_style_of_their_shape(
    tmp_path: Path, own: str, inherited: str, shown: str
) -> None:
    def fill(slide: Any) -> None:
        frame = box(slide, "one").text_frame
        frame.add_paragraph().text = "two"
        style = etree.Element(f"{{{_DRAWN}}}lstStyle")
        _bullet(etree.SubElement(style, f"{{{_DRAWN}}}lvl1pPr"), inherited)
        frame._txBody.insert(1, style)
        for paragraph in frame.paragraphs if own else ():
            _bullet(paragraph._p.get_or_add_pPr(), own)

    assert text_of(deck(tmp_path / "a.pptx", fill)) == shown


def test_numbers_of_lists_come_from_the_layout(tmp_path: Path) -> None:
    presentation = pptx.Presentation()
    layout = presentation.slide_layouts[1]
    style = layout.placeholders[1]._element.find(f".//{{{_DRAWN}}}lstStyle")
    _bullet(etree.SubElement(style, f"{{{_DRAWN}}}lvl1pPr"), "buAutoNum")
    frame = presentation.slides.add_slide(layout).placeholders[1].text_frame
    frame.text = "one\ntwo"
    presentation.save(str(tmp_path / "a.pptx"))
    assert text_of(tmp_path / "a.pptx") == "1. one\n2. two"


@pytest.mark.parametrize(
    ("scheme", "second"),
    [
        ("ea1ChsPeriod", "二."), ("ea1JpnKorPlain", "二"), ("thaiNumParenR", "๒)"), ("hebrew2Minus", "ב-"),
        ("arabicDbPlain", "２"), ("circleNumWdBlackPlain", "②"), ("alphaUcParenBoth", "(B)"),
        ("hindiAlphaPeriod", "2."),
    ],
)  # fmt: skip
def test_numbers_of_lists_in_cells_and_all_schemes(tmp_path: Path, scheme: str, second: str) -> None:
    def fill(slide: Any) -> None:
        frames = [box(slide, "one").text_frame]
        table = slide.shapes.add_table(1, 2, Inches(1), Inches(3), Inches(4), Inches(1)).table
        table.cell(0, 0).text, table.cell(0, 1).text = "one", "v"
        for frame in (*frames, table.cell(0, 0).text_frame):
            frame.add_paragraph().text = "two"
            for paragraph in frame.paragraphs:
                mark = etree.SubElement(paragraph._p.get_or_add_pPr(), f"{{{_DRAWN}}}buAutoNum")
                mark.set("type", scheme)

    assert text_of(deck(tmp_path / "a.pptx", fill)).count(f"{second} two") == 2


def test_links_of_cells_and_notes_and_titles_of_shapes_are_kept(tmp_path: Path) -> None:
    def link(frame: Any, address: str) -> None:
        run = frame.paragraphs[0].add_run()
        run.text = "the terms"
        run.hyperlink.address = address

    def fill(slide: Any) -> None:
        table = slide.shapes.add_table(1, 2, Inches(1), Inches(3), Inches(4), Inches(1)).table
        link(table.cell(0, 0).text_frame, "https://cell.example")
        table.cell(0, 1).text = "x"
        link(slide.notes_slide.notes_text_frame, "https://note.example")
        box(slide, "words")._element.nvSpPr.cNvPr.set("title", "a titled box")

    text = text_of(deck(tmp_path / "a.pptx", fill))
    for shown in (
        "| [the terms](https://cell.example) | x |",
        "[notes] [the terms](https://note.example)",
        "![a titled box]",
    ):
        assert shown in text


_COMPATIBLE = "http://schemas.openxmlformats.org/markup-compatibility/2006"
_SHOWN = f'xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main" xmlns:a="{_DRAWN}"'


@pytest.mark.parametrize("choices", [1, 2])
@pytest.mark.parametrize("fallback", [True, False])
def test_ink_on_a_slide_costs_no_words(tmp_path: Path, choices: int, fallback: bool) -> None:
    ink = f'<mc:Choice Requires="p14"><p:contentPart xmlns:r="{_OFFICE.decode()}" r:id="rId9"/></mc:Choice>'
    picture = (
        '<mc:Fallback><p:pic><p:nvPicPr><p:cNvPr id="9" name="Ink" descr="a stroke"/><p:cNvPicPr/><p:nvPr/></p:nvPicPr>'
        "<p:blipFill/><p:spPr/></p:pic></mc:Fallback>"
    )

    def fill(slide: Any) -> None:
        box(slide, "words")
        slide.shapes._spTree.append(etree.fromstring(
            f'<mc:AlternateContent xmlns:mc="{_COMPATIBLE}" {_SHOWN}>{ink * choices}{picture if fallback else ""}'
            "</mc:AlternateContent>"
        ))  # fmt: skip

    info, pages = read(deck(tmp_path / "a.pptx", fill))
    assert ("![a stroke]" in pages[0].text) == fallback and "words" in pages[0].text and not info.warnings


@pytest.mark.parametrize(
    "data", [None, b"", b"<d:pt modelId='1'><d:t><a:p><a:r><a:t>node</a:t></a:r></a:p></d:t></d:pt>"]
)
def test_diagrams_without_data_are_read_from_their_drawing(tmp_path: Path, data: bytes | None) -> None:
    space = "http://schemas.openxmlformats.org/drawingml/2006/diagram"

    def fill(slide: Any) -> None:
        slide.shapes._spTree.append(etree.fromstring(
            f'<p:graphicFrame {_SHOWN}><p:nvGraphicFramePr><p:cNvPr id="4" name="D"/><p:cNvGraphicFramePr/><p:nvPr/>'
            '</p:nvGraphicFramePr><p:xfrm><a:off x="0" y="0"/><a:ext cx="9" cy="9"/></p:xfrm><a:graphic><a:graphicData '
            f'uri="{space}"><d:relIds xmlns:d="{space}" xmlns:r="{_OFFICE.decode()}" r:dm="rId91"/></a:graphicData>'
            "</a:graphic></p:graphicFrame>"
        ))  # fmt: skip

    def add_parts(files: Files) -> Files:
        spaces = f'xmlns:d="{space}" xmlns:a="{_DRAWN}"'.encode()
        link = b'<Relationship Id="%s" Type="%s" Target="../diagrams/%s"/>'
        links = link % (
            b"rId92",
            b"http://schemas.microsoft.com/office/2007/relationships/diagramDrawing",
            b"drawing.xml",
        )
        parts = {"ppt/diagrams/drawing.xml": b"<d:x %s><a:p><a:r><a:t>drawn</a:t></a:r></a:p></d:x>" % spaces}
        if data is not None:
            links += link % (b"rId91", _OFFICE + b"/diagramData", b"data.xml")
            parts["ppt/diagrams/data.xml"] = b"<d:dataModel %s>%s</d:dataModel>" % (spaces, data)
        return {**files, **parts, _FIRST: files[_FIRST].replace(b"</Relationships>", links + b"</Relationships>")}

    info, pages = read(repacked(deck(tmp_path / "a.pptx", fill), add_parts))
    assert pages[0].text == ("- node" if data else "- drawn") and not info.warnings


@pytest.mark.parametrize("deep", [1, 2, 3])
def test_alternative_texts_of_groups_are_kept(tmp_path: Path, deep: int) -> None:
    def fill(slide: Any) -> None:
        group = slide.shapes.add_group_shape()
        for _ in range(deep - 1):
            group = group.shapes.add_group_shape()
        group._element.nvGrpSpPr.cNvPr.set("descr", "a plan")
        box(group_slide(group), "words")

    text = text_of(deck(tmp_path / "a.pptx", fill))
    assert "![a plan]" in text and "words" in text


def group_slide(group: Any) -> Any:
    """An object whose shapes are those of a group."""
    return type("Holder", (), {"shapes": group.shapes})


@pytest.mark.parametrize(
    ("font", "text", "shown"),
    [("latin", "ü", "✓"), ("sym", "\uf0fc", "✓"), ("latin", "\uf0fe", "☒"), ("sym", "ü", "ü")],
)
def test_signs_of_fonts_without_letters_on_slides(tmp_path: Path, font: str, text: str, shown: str) -> None:
    def fill(slide: Any) -> None:
        paragraph = box(slide, "").text_frame.paragraphs[0]
        run = paragraph.add_run()
        run.text = text
        etree.SubElement(run._r.get_or_add_rPr(), f"{{{_DRAWN}}}{font}").set("typeface", "Wingdings")
        paragraph.add_run().text = " done"

    assert text_of(deck(tmp_path / "a.pptx", fill)) == f"{shown} done"
