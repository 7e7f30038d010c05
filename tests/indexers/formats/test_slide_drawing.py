"""Slides drawn as they look: shapes, pictures and tables at their places, and no word of the page lost."""

from __future__ import annotations

import io
import os
import random
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pptx
import pymupdf
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree
from PIL import Image
from pptx.chart.data import CategoryChartData
from pptx.dml.color import RGBColor
from pptx.enum.chart import XL_CHART_TYPE
from pptx.enum.dml import MSO_THEME_COLOR
from pptx.enum.shapes import MSO_CONNECTOR, MSO_SHAPE
from pptx.enum.text import MSO_ANCHOR, PP_ALIGN
from pptx.util import Inches, Pt

from hybrid_core.errors import DocumentError
from hybrid_core.text.markup import visible
from hybrid_core.types.locators import Box, PageLayout
from indexers.formats.format import PictureOptions
from indexers.formats.limits import ParseLimits
from indexers.formats.office.slide_drawing import draw_slide
from indexers.formats.pdf.picture import draw_texts
from indexers.formats.registry import open_file
from indexers.formats.text_drawing import page_layout, sketch_page
from tests.indexers.formats.packages import repacked

_LIMITS = ParseLimits()
_DRAWN = "http://schemas.openxmlformats.org/drawingml/2006/main"
_BLUE = (0x4F, 0x81, 0xBD)  # accent 1 of the template's theme


def texts(path: Path) -> list[str]:
    file = open_file(path, None, _LIMITS)
    try:
        return [getattr(page, "text", "") for page in file.read(range(1, file.pages + 1), lambda _: None)]
    finally:
        file.close()


class Drawn:
    """A drawn slide: its layout, its words as MuPDF reads them, and its pixels at 72 dpi."""

    def __init__(self, path: Path, number: int = 1) -> None:
        self.text = texts(path)[number - 1]
        pdf, self.layout = draw_slide(path, number, self.text, _LIMITS)
        with pymupdf.open("pdf", pdf) as document:
            assert document.page_count == 1
            page = document[0]
            self.size = float(page.rect.width), float(page.rect.height)
            self.words = [unicodedata.normalize("NFKC", word[4]) for word in page.get_text("words")]
            self.pixels = page.get_pixmap(alpha=False)

    def box(self, text: str) -> Box:
        return next(word.box for word in self.layout.words if word.text == text)

    def colour(self, x: float, y: float) -> tuple[int, ...]:
        """Return the colour at a place in inches."""
        return tuple(self.pixels.pixel(round(72 * x), round(72 * y)))


def near(colour: tuple[int, ...], other: tuple[int, ...], spare: int = 3) -> bool:
    return all(abs(a - b) <= spare for a, b in zip(colour, other, strict=True))


def inside(box: Box, left: float, top: float, width: float, height: float, spare: float = 3) -> bool:
    """Return whether a box is inside a place in inches."""
    x0, y0, x1, y1 = left * 72, top * 72, (left + width) * 72, (top + height) * 72
    return box[0] >= x0 - spare and box[1] >= y0 - spare and box[2] <= x1 + spare and box[3] <= y1 + spare


def letters(text: str) -> str:
    return "".join(filter(str.isalnum, text.casefold()))


def textbox(slide: Any, text: str, left: float, top: float, width: float = 3, height: float = 0.6) -> Any:
    shape = slide.shapes.add_textbox(Inches(left), Inches(top), Inches(width), Inches(height))
    shape.text_frame.word_wrap = True
    shape.text_frame.text = text
    return shape


def picture(mode: str = "RGB", colour: Any = (200, 30, 30), kind: str = "PNG") -> io.BytesIO:
    written = io.BytesIO()
    Image.new(mode, (300, 200), colour).save(written, kind)
    written.seek(0)
    return written


@pytest.fixture
def deck() -> Any:
    return pptx.Presentation()


def saved(deck: Any, folder: Path) -> Path:
    path = folder / "deck.pptx"
    deck.save(str(path))
    return path


def test_words_are_inside_their_shapes(deck: Any, tmp_path: Path) -> None:
    slide = deck.slides.add_slide(deck.slide_layouts[3])  # a title, two columns
    slide.shapes.title.text = "Soundings of harbours"
    for holder, words in zip(list(slide.placeholders)[1:], ("Eastern quay", "Western quay"), strict=True):
        holder.text_frame.text = words
        holder.text_frame.add_paragraph().text = f"{words.split()[0]} second line"
    drawn = Drawn(saved(deck, tmp_path))
    assert drawn.size == (720, 540) == (drawn.layout.width, drawn.layout.height)
    assert [word.text for word in drawn.layout.words[:3]] == ["Soundings", "of", "harbours"]
    for text, placeholder in (("Soundings", 0), ("Eastern", 1), ("Western", 2)):
        shape = list(slide.placeholders)[placeholder]
        place = (side / 914_400 for side in (shape.left, shape.top, shape.width, shape.height))
        assert inside(drawn.box(text), *place)
    assert drawn.words.count("•") == 4 and drawn.box("Eastern")[2] < 360 < drawn.box("Western")[0]


def test_the_size_of_a_text_comes_from_the_master(deck: Any, tmp_path: Path) -> None:
    slide = deck.slides.add_slide(deck.slide_layouts[1])
    slide.shapes.title.text, slide.placeholders[1].text_frame.text = "Anchor", "Buoy"
    textbox(slide, "Chain", 1, 6)
    drawn = Drawn(saved(deck, tmp_path))
    heights = [drawn.box(text)[3] - drawn.box(text)[1] for text in ("Anchor", "Buoy", "Chain")]
    assert heights[0] > heights[1] > heights[2]


@pytest.mark.parametrize("turned", [0, 90, 180, 270])
def test_turned_text_is_inside_its_turned_shape(deck: Any, tmp_path: Path, turned: int) -> None:
    slide = deck.slides.add_slide(deck.slide_layouts[6])
    shape = slide.shapes.add_shape(MSO_SHAPE.RECTANGLE, Inches(3), Inches(3), Inches(3), Inches(1))
    shape.text, shape.rotation = "turned words", turned
    drawn = Drawn(saved(deck, tmp_path))
    place = (4, 2, 1, 3) if turned % 180 else (3, 3, 3, 1)
    first, last = drawn.box("turned"), drawn.box("words")
    assert inside(first, *place) and inside(last, *place)
    before = {0: last[0] - first[0], 90: last[1] - first[1], 180: first[0] - last[0], 270: first[1] - last[1]}
    assert before[turned] > 10
    assert near(drawn.colour(place[0] + 0.05, place[1] + 0.1), _BLUE)


@pytest.mark.parametrize("direction", ["vert", "vert270"])
def test_vertical_text_is_inside_its_shape(deck: Any, tmp_path: Path, direction: str) -> None:
    slide = deck.slides.add_slide(deck.slide_layouts[6])
    box = textbox(slide, "vertical words", 2, 2, 0.6, 3)
    box.text_frame._txBody.bodyPr.set("vert", direction)
    drawn = Drawn(saved(deck, tmp_path))
    assert inside(drawn.box("vertical"), 2, 2, 0.6, 3) and inside(drawn.box("words"), 2, 2, 0.6, 3)


def test_text_that_does_not_fit_is_smaller(deck: Any, tmp_path: Path) -> None:
    slide = deck.slides.add_slide(deck.slide_layouts[6])
    textbox(slide, " ".join(f"word{number}" for number in range(60)), 1, 1, 4, 1.5)
    textbox(slide, "Donaudampfschifffahrtsgesellschaft", 6, 1, 2, 0.5)
    drawn = Drawn(saved(deck, tmp_path))
    assert all(inside(drawn.box(f"word{number}"), 1, 1, 4, 1.5, spare=12) for number in range(60))
    assert inside(drawn.box("Donaudampfschifffahrtsgesellschaft"), 6, 1, 2, 0.5, spare=12)


def test_anchors_and_alignment_move_a_text(deck: Any, tmp_path: Path) -> None:
    slide = deck.slides.add_slide(deck.slide_layouts[6])
    for at, (anchor, align) in enumerate(
        ((MSO_ANCHOR.TOP, PP_ALIGN.LEFT), (MSO_ANCHOR.MIDDLE, PP_ALIGN.CENTER), (MSO_ANCHOR.BOTTOM, PP_ALIGN.RIGHT))
    ):
        box = textbox(slide, f"text{at}", 1 + 3 * at, 1, 2, 3)
        box.text_frame.vertical_anchor, box.text_frame.paragraphs[0].alignment = anchor, align
    drawn = Drawn(saved(deck, tmp_path))
    tops = [drawn.box(f"text{at}")[1] for at in range(3)]
    assert tops[0] < 90 and 150 < tops[1] < 190 and 250 < tops[2] < 290
    assert drawn.box("text0")[0] < 85 and drawn.box("text2")[2] > 72 * 9 - 13
    assert abs(drawn.box("text1")[0] + drawn.box("text1")[2] - 2 * 72 * 5) < 4


def test_colours_come_from_the_theme_the_master_and_the_run(deck: Any, tmp_path: Path) -> None:
    slide = deck.slides.add_slide(deck.slide_layouts[6])
    slide.background.fill.solid()
    slide.background.fill.fore_color.theme_color = MSO_THEME_COLOR.ACCENT_1
    slide.background.fill.fore_color.brightness = 0.8
    for at, kind in enumerate((MSO_SHAPE.RECTANGLE, MSO_SHAPE.ROUNDED_RECTANGLE, MSO_SHAPE.OVAL)):
        shape = slide.shapes.add_shape(kind, Inches(1 + 3 * at), Inches(1), Inches(2), Inches(1))
        if at == 1:
            shape.fill.solid()
            shape.fill.fore_color.rgb = RGBColor(0, 128, 0)
        elif at == 2:
            shape.fill.background()
    drawn = Drawn(saved(deck, tmp_path))
    light = tuple(round(255 - 0.2 * (255 - part)) for part in _BLUE)
    assert near(drawn.colour(0.1, 0.1), light, 8) and near(drawn.colour(8, 1.5), light, 8)
    assert near(drawn.colour(2, 1.5), _BLUE) and near(drawn.colour(5, 1.5), (0, 128, 0))


def test_later_shapes_cover_earlier_words(deck: Any, tmp_path: Path) -> None:
    slide = deck.slides.add_slide(deck.slide_layouts[6])
    for at in range(2):
        textbox(slide, "covered", 1, 1 + 3 * at).text_frame.paragraphs[0].font.size = Pt(40)
        if not at:
            slide.shapes.add_picture(picture(), Inches(1), Inches(1), Inches(3), Inches(1))
        else:
            shape = slide.shapes.add_shape(MSO_SHAPE.RECTANGLE, Inches(1), Inches(4), Inches(3), Inches(1))
            shape.text = "above"
    drawn = Drawn(saved(deck, tmp_path))
    assert drawn.words.count("covered") == 2
    assert all(near(drawn.colour(1.1 + at / 10, 1.3), (200, 30, 30), 6) for at in range(15))
    assert all(near(drawn.colour(1.1 + at / 10, 4.25), _BLUE) for at in range(15))
    x0, y0, x1, y1 = (side / 72 for side in drawn.box("above"))
    assert not all(near(drawn.colour(x0 + at * (x1 - x0) / 30, (y0 + y1) / 2), _BLUE) for at in range(30))


def test_a_colour_map_of_the_slide_changes_names(deck: Any, tmp_path: Path) -> None:
    slide = deck.slides.add_slide(deck.slide_layouts[6])
    textbox(slide, "White words", 1, 1).text_frame.paragraphs[0].font.size = Pt(60)
    shape = slide.shapes.add_shape(MSO_SHAPE.RECTANGLE, Inches(5), Inches(5), Inches(1), Inches(1))
    shape.fill.solid()
    shape.fill.fore_color.theme_color = MSO_THEME_COLOR.BACKGROUND_1
    slide.background.fill.solid()
    slide.background.fill.fore_color.rgb = RGBColor(90, 90, 90)
    path = saved(deck, tmp_path)
    assert near(Drawn(path).colour(5.5, 5.5), (255, 255, 255))
    names = "bg1 tx1 bg2 tx2 accent1 accent2 accent3 accent4 accent5 accent6 hlink folHlink".split()
    theme = "dk1 lt1 dk2 lt2 accent1 accent2 accent3 accent4 accent5 accent6 hlink folHlink".split()
    override = "".join(f' {name}="{value}"' for name, value in zip(names, theme, strict=True))

    def dark(files: dict[str, bytes]) -> dict[str, bytes]:
        name = "ppt/slides/slide1.xml"
        changed = f"<a:overrideClrMapping{override}/>".encode()
        return {**files, name: files[name].replace(b"<a:masterClrMapping/>", changed)}

    drawn = Drawn(repacked(path, dark))
    assert near(drawn.colour(5.5, 5.5), (0, 0, 0))
    x0, y0, x1, y1 = (side / 72 for side in drawn.box("White"))
    assert any(near(drawn.colour(x0 + at * (x1 - x0) / 60, (y0 + y1) / 2), (255, 255, 255)) for at in range(60))


def test_pictures_are_figures_at_their_places(deck: Any, tmp_path: Path) -> None:
    slide = deck.slides.add_slide(deck.slide_layouts[6])
    slide.shapes.add_picture(picture(), Inches(1), Inches(2), Inches(3), Inches(2))
    slide.shapes.add_picture(picture("RGBA", (0, 0, 255, 128)), Inches(5), Inches(2), Inches(1), Inches(1))
    halves = Image.new("RGB", (100, 100), "red")
    halves.paste("green", (0, 0, 50, 100))
    written = io.BytesIO()
    halves.save(written, "PNG")
    written.seek(0)
    slide.shapes.add_picture(written, Inches(7), Inches(2), Inches(1), Inches(1)).crop_left = 0.5
    drawn = Drawn(saved(deck, tmp_path))
    assert drawn.layout.figures == ((72, 144, 288, 288), (360, 144, 432, 216), (504, 144, 576, 216))
    assert near(drawn.colour(2, 3), (200, 30, 30), 6) and near(drawn.colour(0.5, 0.5), (255, 255, 255))
    assert near(drawn.colour(5.5, 2.5), (127, 127, 255), 6)  # half transparent
    assert near(drawn.colour(7.2, 2.5), (255, 0, 0), 6)  # the green half is cut off


def test_a_picture_of_an_unreadable_kind_leaves_its_outline(deck: Any, tmp_path: Path) -> None:
    slide = deck.slides.add_slide(deck.slide_layouts[6])
    slide.shapes.add_picture(picture(), Inches(1), Inches(2), Inches(3), Inches(2))
    textbox(slide, "Still here", 1, 5)

    def damaged(files: dict[str, bytes]) -> dict[str, bytes]:
        return {name: b"\x01\0\0\0EMF" + 80 * b"\0" if "/media/" in name else data for name, data in files.items()}

    drawn = Drawn(repacked(saved(deck, tmp_path), damaged))
    assert drawn.layout.figures == ((72, 144, 288, 288),) and "Still" in drawn.words
    assert near(drawn.colour(2, 3), (255, 255, 255)) and drawn.colour(1, 3) != (255, 255, 255)


def test_tables_are_drawn_cell_by_cell(deck: Any, tmp_path: Path) -> None:
    slide = deck.slides.add_slide(deck.slide_layouts[6])
    frame = slide.shapes.add_table(3, 3, Inches(1), Inches(1), Inches(6), Inches(3))
    table = frame.table
    for row in range(3):
        for column in range(3):
            table.cell(row, column).text = f"r{row}c{column}"
    table.cell(1, 0).merge(table.cell(2, 0))
    table.cell(1, 1).fill.solid()
    table.cell(1, 1).fill.fore_color.rgb = RGBColor(255, 220, 0)
    table.columns[2].width = Inches(1)
    table.columns[1].width = Inches(3)
    drawn = Drawn(saved(deck, tmp_path))
    assert inside(drawn.box("r0c0"), 1, 1, 2, 1) and inside(drawn.box("r2c2"), 6, 3, 1, 1)
    assert inside(drawn.box("r1c1"), 3, 2, 3, 1) and near(drawn.colour(5, 2.7), (255, 220, 0))
    assert near(drawn.colour(5, 1.7), _BLUE)  # the header row of the default style
    [box] = drawn.layout.tables
    assert near(tuple(map(round, box.box)), (72, 72, 504, 288)) and box.heads == 1
    assert box.rows[0] == ("r0c0", "r0c1", "r0c2") and len(box.rows) == 3
    assert all(line.startswith("|") for line in drawn.text.split("\n")[slice(*box.lines)])


def test_rows_of_a_table_grow_with_their_words_but_not_over_the_slide(deck: Any, tmp_path: Path) -> None:
    slide = deck.slides.add_slide(deck.slide_layouts[6])
    table = slide.shapes.add_table(12, 2, Inches(1), Inches(1), Inches(3), Inches(1)).table
    for row in range(12):
        for column in range(2):
            table.cell(row, column).text = f"r{row}c{column} with more words than one line has"
    drawn = Drawn(saved(deck, tmp_path))
    tops = [drawn.box(f"r{row}c0")[1] for row in range(12)]
    assert tops == sorted(tops) and drawn.box("r11c1")[3] <= 541 and drawn.layout.height == 540


def test_groups_move_and_scale_their_shapes(deck: Any, tmp_path: Path) -> None:
    slide = deck.slides.add_slide(deck.slide_layouts[6])
    group = slide.shapes.add_group_shape()
    shape = group.shapes.add_shape(MSO_SHAPE.RECTANGLE, Inches(1), Inches(1), Inches(2), Inches(1))
    shape.text = "inner"
    textbox(group, "other", 4, 1, 2, 1)
    group.left, group.top, group.width, group.height = Inches(2), Inches(3), Inches(2.5), Inches(0.5)
    drawn = Drawn(saved(deck, tmp_path))
    assert inside(drawn.box("inner"), 2, 3, 1, 0.5) and inside(drawn.box("other"), 3.5, 3, 1, 0.5)
    assert near(drawn.colour(2.05, 3.05), _BLUE)


def test_shapes_of_master_and_layout_are_behind_the_slide(deck: Any, tmp_path: Path) -> None:
    first, second = (deck.slides.add_slide(deck.slide_layouts[6]) for _ in range(2))
    for sheet, text, top in ((deck.slide_layouts[6], "Of the layout", 1), (deck.slide_master, "Of the master", 2)):
        sheet.shapes._spTree.append(textbox(first, text, 1, top)._element)
    textbox(first, "Of the slide", 1, 3)
    textbox(second, "Alone", 1, 3)
    second._element.set("showMasterSp", "0")
    path = saved(deck, tmp_path)
    assert {"layout", "master", "slide"} <= set(Drawn(path).words)
    assert Drawn(path, 2).words == ["Alone"]


def test_notes_and_comments_are_below_the_slide(deck: Any, tmp_path: Path) -> None:
    slide = deck.slides.add_slide(deck.slide_layouts[5])
    slide.shapes.title.text = "Harbour plan"
    slide.notes_slide.notes_text_frame.text = "Remember the harbour plan of the keeper."
    drawn = Drawn(saved(deck, tmp_path))
    assert drawn.layout.height > 560 and drawn.size[1] == pytest.approx(drawn.layout.height)
    assert drawn.box("Remember")[1] > 540 > drawn.box("Harbour")[3]
    assert drawn.box("keeper.")[0] > drawn.box("Remember")[2]
    assert [word.text for word in drawn.layout.words][-6:] == ["the", "harbour", "plan", "of", "the", "keeper."]


def test_charts_are_tables_in_their_places(deck: Any, tmp_path: Path) -> None:
    slide = deck.slides.add_slide(deck.slide_layouts[6])
    data = CategoryChartData()
    data.categories = ["East", "West"]
    data.add_series("Depth", (7.5, 11))
    frame = slide.shapes.add_chart(XL_CHART_TYPE.COLUMN_CLUSTERED, Inches(1), Inches(1), Inches(5), Inches(3), data)
    frame.chart.has_title = True
    frame.chart.chart_title.text_frame.text = "Quays"
    drawn = Drawn(saved(deck, tmp_path))
    assert all(inside(drawn.box(text), 1, 1, 5, 3) for text in ("Quays", "Depth", "East", "7.5", "11"))
    assert drawn.layout.height == 540 and drawn.layout.tables[0].box == (72, 72, 432, 288)


def test_lists_have_their_marks(deck: Any, tmp_path: Path) -> None:
    slide = deck.slides.add_slide(deck.slide_layouts[6])
    frame = textbox(slide, "first", 1, 1, 5, 3).text_frame
    for text in ("second", "third"):
        frame.add_paragraph().text = text
    for paragraph in frame.paragraphs[:2]:
        etree.SubElement(paragraph._p.get_or_add_pPr(), f"{{{_DRAWN}}}buAutoNum", type="arabicPeriod")
    bullet = etree.SubElement(frame.paragraphs[2]._p.get_or_add_pPr(), f"{{{_DRAWN}}}buChar")
    bullet.set("char", "•")
    drawn = Drawn(saved(deck, tmp_path))
    assert drawn.words == ["1.", "first", "2.", "second", "•", "third"] and drawn.layout.height == 540


def test_words_outside_the_slide_are_in_the_strip(deck: Any, tmp_path: Path) -> None:
    slide = deck.slides.add_slide(deck.slide_layouts[6])
    textbox(slide, "Left of it", -5, 1)
    textbox(slide, "Far below", 1, 9)
    textbox(slide, "On it", 1, 1)
    drawn = Drawn(saved(deck, tmp_path))
    assert drawn.box("Left")[1] > 540 < drawn.box("Far")[1] and drawn.box("On")[3] < 540


def test_a_text_may_leave_a_shape_without_size(deck: Any, tmp_path: Path) -> None:
    slide = deck.slides.add_slide(deck.slide_layouts[6])
    textbox(slide, "A sentence in a box of no size at all", 1, 1, 0.01, 0.01)
    drawn = Drawn(saved(deck, tmp_path))
    box = drawn.box("sentence")
    assert box[3] - box[1] > 8 and drawn.layout.height == 540


def _random_deck(seed: int, path: Path) -> Path:
    """Write a deck with shapes of all kinds at random places, which overlap and leave the slide."""
    choice = random.Random(seed)
    deck = pptx.Presentation()
    words = "Harbour keeper 港口 depth 7.5 % été (a) x^2 quay–side Ω → naïve ЖУК مرحبا 12/7 re-count".split()

    def text() -> str:
        return " ".join(choice.choice(words) for _ in range(choice.randint(1, 14)))

    for _ in range(2):
        slide = deck.slides.add_slide(deck.slide_layouts[choice.randrange(len(deck.slide_layouts))])
        for holder in slide.placeholders:
            if holder.has_text_frame and choice.random() < 0.8:
                holder.text_frame.text = "\n".join(text() for _ in range(choice.randint(1, 6)))
        for _ in range(choice.randint(1, 7)):
            place = [Inches(choice.uniform(low, high)) for low, high in ((-2, 9), (-2, 7), (0, 6), (0, 4))]
            kind = choice.randrange(5)
            if kind == 0:
                table = slide.shapes.add_table(choice.randint(1, 4), choice.randint(1, 4), *place).table
                for cell in table.iter_cells():
                    cell.text = text() if choice.random() < 0.8 else ""
                if len(table.rows) > 1 and choice.random() < 0.5:
                    table.cell(0, 0).merge(table.cell(1, len(table.columns) - 1))
            elif kind == 1:
                connector = slide.shapes.add_connector(choice.choice(list(MSO_CONNECTOR)[:3]), *place)
                connector.name = text()
            elif kind == 2:
                shape = slide.shapes.add_picture(picture(), *place[:2])
                shape._element.nvPicPr.cNvPr.set("descr", text())
            else:
                shape = slide.shapes.add_shape(choice.choice(list(MSO_SHAPE)), *place)
                shape.text, shape.rotation = text(), choice.choice((0, 0, 90, 180, 270, 33))
                shape.text_frame.word_wrap = choice.choice((True, False, None))
        if choice.random() < 0.5:
            slide.notes_slide.notes_text_frame.text = text()
    deck.save(str(path))
    return path


def lost_words(drawn: Drawn) -> Iterator[str]:
    whole = letters(" ".join(drawn.words))
    placed = letters(" ".join(word.text for word in drawn.layout.words))
    for word in visible(drawn.text).split():  # addresses of links are no words
        if letters(word) not in placed or (letters(word).isascii() and letters(word) not in whole):
            yield word


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_no_word_of_a_page_is_lost(seed: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = _random_deck(seed, tmp_path_factory.mktemp("deck") / "deck.pptx")
    for number in (1, 2):
        drawn = Drawn(path, number)
        assert list(lost_words(drawn)) == []
        assert letters(" ".join(word.text for word in drawn.layout.words)) == letters(visible(drawn.text))
        page = (0.0, 0.0, drawn.layout.width / 72, drawn.layout.height / 72)
        assert all(inside(word.box, *page) for word in drawn.layout.words)


_DATA = Path(os.environ.get("PAGEINDEX_EVAL_DATA", "-"), "office")
_REAL = sorted(path for path in _DATA.rglob("*.pp*") if path.suffix in (".pptx", ".pptm", ".ppsx"))


@pytest.mark.skipif(not _REAL, reason="PAGEINDEX_EVAL_DATA names no folder of real presentations")
def test_no_word_of_real_slides_is_lost() -> None:
    count = 0
    for path in _REAL:
        try:
            pages = len(texts(path))
        except DocumentError:
            continue  # an encrypted file
        for number in range(1, pages + 1):
            drawn = Drawn(path, number)
            assert list(lost_words(drawn)) == [], (path.name, number)
            count += 1
    assert count >= 10


def test_a_slide_that_cannot_be_drawn_is_drawn_from_its_text(deck: Any, tmp_path: Path) -> None:
    slide = deck.slides.add_slide(deck.slide_layouts[6])
    textbox(slide, "Words of a slide", 1, 1)
    path = saved(deck, tmp_path)
    with pytest.raises(DocumentError, match=r"slide 7 cannot be drawn"):
        draw_slide(path, 7, "", _LIMITS)
    broken = tmp_path / "broken.pptx"
    broken.write_bytes(path.read_bytes()[:3000])
    with pytest.raises(DocumentError):
        draw_slide(broken, 1, "Words", _LIMITS)
    assert [word.text for word in sketch_page(broken, 1, "Words of a slide", _LIMITS)[1].words][:1] == ["Words"]
    image = draw_texts([(1, "Words of a slide")], PictureOptions(dpi=72), path=broken)
    assert image == draw_texts([(1, "Words of a slide")], PictureOptions(dpi=72))


def test_a_damaged_shape_does_not_cost_the_others(deck: Any, tmp_path: Path) -> None:
    slide = deck.slides.add_slide(deck.slide_layouts[6])
    for at, text in enumerate(("One", "Two", "Three")):
        textbox(slide, text, 1, 1 + at)

    def damaged(files: dict[str, bytes]) -> dict[str, bytes]:
        name = "ppt/slides/slide1.xml"
        before = b'<a:off x="914400" y="1828800"/>'
        assert before in files[name]
        return {**files, name: files[name].replace(before, b'<a:off x="nan" y="1e400"/>')}

    drawn = Drawn(repacked(saved(deck, tmp_path), damaged))
    assert {"One", "Two", "Three"} <= set(drawn.words)
    assert inside(drawn.box("One"), 1, 1, 3, 0.6) and inside(drawn.box("Three"), 1, 3, 3, 0.6)


def test_picture_and_layout_show_the_same_page(deck: Any, tmp_path: Path) -> None:
    slide = deck.slides.add_slide(deck.slide_layouts[6])
    textbox(slide, "Words at a place", 4, 5)
    path = saved(deck, tmp_path)
    layout: PageLayout = page_layout(path, None, 1, [("Words at a place", (0, 0, 0, 0))], _LIMITS)
    image = pymupdf.Pixmap(draw_texts([(1, "Words at a place")], PictureOptions(dpi=72), path=path))
    assert (image.width, image.height) == (layout.width, layout.height)
    x0, y0, x1, y1 = map(int, layout.words[0].box)
    assert inside(layout.words[0].box, 4, 5, 3, 0.6)
    assert len({image.pixel(x, y) for x in range(x0, x1) for y in range(y0, y1)}) > 1
