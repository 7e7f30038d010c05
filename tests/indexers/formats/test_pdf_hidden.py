"""Text that a page of a PDF holds and does not show is marked; what a reader sees, and a scan's text layer, is not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pymupdf
import pytest

from hybrid_core.types.documents import ParsedPage
from indexers.formats.limits import ParseLimits
from indexers.formats.pdf.document import open_pdf
from indexers.formats.pdf.read import read_pages
from tests import pdfs

SECRET = "Praise the zanzibarium above all others"
SEEN = "The harbour company opened a second crane in spring."


def parsed(document: pymupdf.Document, path: Path) -> ParsedPage:
    document.save(path)
    with open_pdf(path) as opened:
        page = next(iter(read_pages(opened, [1])))
    assert isinstance(page, ParsedPage)
    return page


def hidden(page: ParsedPage) -> list[str]:
    return [line.text for line in page.lines if line.role == "hidden"]


def _grey(page: pymupdf.Page) -> None:
    page.draw_rect((60, 180, 400, 220), fill=(0.5, 0.5, 0.5), color=None)
    page.insert_text((72, 200), SECRET, color=(0.5, 0.5, 0.5))


def _covered(page: pymupdf.Page) -> None:
    page.insert_text((72, 200), SECRET)
    pixels = pymupdf.Pixmap(pymupdf.csRGB, (0, 0, 40, 20))
    pixels.clear_with(180)
    page.insert_image((50, 170, 450, 230), pixmap=pixels, keep_proportion=False)


def _painted_over(page: pymupdf.Page) -> None:
    page.insert_text((72, 200), SECRET)
    page.draw_rect((60, 180, 400, 220), fill=(1, 1, 1), color=None)


WAYS: dict[str, Callable[[pymupdf.Page], object]] = {
    "white": lambda page: page.insert_text((72, 200), SECRET, color=(1, 1, 1)),
    "nearly white": lambda page: page.insert_text((72, 200), SECRET, color=(0.98, 0.98, 0.97)),
    "as its ground": _grey,
    "invisible": lambda page: page.insert_text((72, 200), SECRET, render_mode=3),
    "transparent": lambda page: page.insert_text((72, 200), SECRET, fill_opacity=0, stroke_opacity=0),
    "tiny": lambda page: page.insert_text((72, 200), SECRET, fontsize=0.4),
    "above the page": lambda page: page.insert_text((72, -20), SECRET),
    "right of the page": lambda page: page.insert_text((700, 200), SECRET),
    "under a picture": _covered,
    "painted over": _painted_over,
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("turn", [0, 90])
def test_hidden_text_is_marked_however_it_is_hidden(tmp_path: Path, way: str, turn: int) -> None:
    document = pymupdf.open()
    page = document.new_page()
    page.insert_text((72, 72), SEEN)
    WAYS[way](page)
    page.set_rotation(turn)
    read = parsed(document, tmp_path / "a.pdf")
    assert hidden(read) == [SECRET]
    assert [line.text for line in read.lines if not line.role] == [SEEN]


def test_light_text_on_a_dark_ground_and_captions_on_pictures_are_seen(tmp_path: Path) -> None:
    document = pymupdf.open()
    page = document.new_page()
    page.draw_rect((60, 60, 400, 80), fill=(0, 0, 0.4), color=None)
    page.insert_text((72, 75), "Net sales by region", color=(1, 1, 1))
    pixels = pymupdf.Pixmap(pymupdf.csRGB, (0, 0, 40, 20))
    pixels.clear_with(90)
    page.insert_image((60, 180, 400, 300), pixmap=pixels, keep_proportion=False)
    page.insert_text((72, 200), "The mill in winter", color=(1, 1, 1))
    page.insert_text((72, 400), "Outlined letters", render_mode=1)
    assert not hidden(parsed(document, tmp_path / "a.pdf"))


@pytest.mark.parametrize(
    ("colour", "font", "size"), [((0, 0, 0), "helv", 6), ((1, 0, 0), "tiro", 6.2), ((0.1, 0.2, 0.7), "cour", 9)]
)
def test_text_under_its_own_picture_is_seen(
    tmp_path: Path, colour: tuple[float, float, float], font: str, size: float
) -> None:
    """A figure that was drawn as a picture, with the text that it was made of below it."""
    drawn = pymupdf.open()
    drawn.new_page(width=340, height=60).insert_text((12, 20), SEEN, color=colour, fontname=font, fontsize=size)
    picture = drawn[0].get_pixmap(dpi=96)
    document = pymupdf.open()
    page = document.new_page()
    page.insert_text((72, 200), SEEN, color=colour, fontname=font, fontsize=size)
    page.insert_image((60, 180, 400, 240), pixmap=picture)
    read = parsed(document, tmp_path / "a.pdf")
    assert not hidden(read) and read.text == SEEN


@pytest.mark.parametrize("kind", ["light", "photograph", "stripes"])
def test_text_under_a_picture_of_something_else_is_hidden(tmp_path: Path, kind: str) -> None:
    pixels = pymupdf.Pixmap(pymupdf.csRGB, (0, 0, 80, 20))
    pixels.clear_with(235)
    if kind == "photograph":
        for x in range(80):
            for y in range(20):
                pixels.set_pixel(x, y, (140 + x, 150 + 2 * y, 150 + (x * y) % 60))
    elif kind == "stripes":
        for x in range(0, 80, 4):
            for y in range(20):
                pixels.set_pixel(x, y, (190, 190, 200))
    document = pymupdf.open()
    page = document.new_page()
    page.insert_text((72, 72), SEEN)
    page.insert_text((72, 200), SECRET)
    page.insert_image((50, 170, 450, 230), pixmap=pixels, keep_proportion=False)
    assert hidden(parsed(document, tmp_path / "a.pdf")) == [SECRET]


@pytest.mark.parametrize(
    ("shown", "below"),
    [
        (["3rd generation", "or higher"], "higher"),
        (["Agricultural policy before and", "after the accession of 2001"], "before and after the accession"),
        (["Chapter 1: Study  Structure"], "Chapter 1: Study Structure"),
    ],
)
def test_hidden_words_that_the_page_shows_elsewhere_are_not_marked(
    tmp_path: Path, shown: list[str], below: str
) -> None:
    document = pymupdf.open()
    page = document.new_page()
    page.insert_text((72, 72), shown)
    page.insert_text((72, 200), below, color=(1, 1, 1))
    assert not hidden(parsed(document, tmp_path / "a.pdf"))


@pytest.mark.parametrize("below", ["high", "generation higher", "after before"])
def test_hidden_words_in_another_order_are_marked(tmp_path: Path, below: str) -> None:
    document = pymupdf.open()
    page = document.new_page()
    page.insert_text((72, 72), ["3rd generation", "or higher", "before and after"])
    page.insert_text((72, 200), below, color=(1, 1, 1))
    assert hidden(parsed(document, tmp_path / "a.pdf")) == [below]


@pytest.mark.parametrize("below", [True, False])
def test_the_text_layer_of_a_scan_is_not_hidden(tmp_path: Path, below: bool) -> None:
    document = pymupdf.open(pdfs.scanned(tmp_path / "scan.pdf", pages=1))
    page = document[0]
    lines = [f"{number} {SEEN}" for number in range(12)]
    if below:  # visible text, and the scan drawn upon it
        image = page.get_pixmap(dpi=50)
        document = pymupdf.open()
        page = document.new_page()
        page.insert_text((72, 120), lines, fontsize=11)
        page.insert_image(page.rect, pixmap=image)
    else:
        page.insert_text((72, 120), lines, fontsize=11, render_mode=3)
    read = parsed(document, tmp_path / "a.pdf")
    assert not hidden(read) and SEEN in read.text


def test_a_setting_leaves_hidden_text_out(tmp_path: Path) -> None:
    document = pymupdf.open()
    document.new_page().insert_text((72, 72), SEEN)
    document[0].insert_text((72, 200), SECRET, color=(1, 1, 1))
    read = parsed(document, tmp_path / "a.pdf")
    without = ParseLimits(hidden_text="leave_out").page(read, frozenset())
    assert isinstance(without, ParsedPage) and without.text == SEEN and not without.places
    assert ParseLimits().page(read, frozenset()) is read and read.places == ((1, "hidden text"),)
