"""Hebrew and Arabic: what is painted from left to right is read from right to left."""

from __future__ import annotations

from pathlib import Path

import pytest

from hybrid_core.types.documents import ParsedPage
from indexers.formats.pdf.document import open_pdf
from indexers.formats.pdf.read import read_pages
from tests import pdfs
from tests.indexers.formats import raw_pdf


def read(path: Path) -> list[str]:
    with open_pdf(path) as document:
        pages = [
            page for page in read_pages(document, range(1, document.page_count + 1)) if isinstance(page, ParsedPage)
        ]
    return [line.text for page in pages for line in page.lines]


@pytest.mark.parametrize(
    ("painted", "meant"),
    [
        ("םולש", "שלום"),
        ('מ"עב ABC לש 2024 חוד', 'דוח 2024 של ABC בע"מ'),
        ("1,234.56 הסנכה", "הכנסה 1,234.56"),
        ("2022 2023 הנש", "שנה 2023 2022"),  # numbers in a row: each for itself, the first one on the right
        ("See ש״ע םולש, page 7", "See שלום ע״ש, page 7"),  # a line from the left with a phrase from the right
    ],
)
def test_a_painted_line_is_read_as_it_was_written(tmp_path: Path, painted: str, meant: str) -> None:
    assert read(raw_pdf.painted(tmp_path / "a.pdf", [(72, 700, painted)])) == [meant]


def test_a_mostly_latin_line_is_read_as_its_page_is(tmp_path: Path) -> None:
    page = raw_pdf.painted(tmp_path / "a.pdf", [(72, 700, ".Oil Co םע הזוח"), (72, 680, "םולש רבד לכו םלוע םולש")])
    assert read(page) == ["חוזה עם Oil Co.", "שלום עולם וכל דבר שלום"]


@pytest.mark.parametrize("reverse", [False, True])
def test_words_painted_apart_are_one_line_from_whichever_side_they_come(tmp_path: Path, reverse: bool) -> None:
    runs = [(200.0, 700.0, "םולש"), (165.0, 700.0, "םלוע"), (72.0, 700.0, "2024")]
    path = raw_pdf.painted(tmp_path / "a.pdf", runs[::-1] if reverse else runs)
    assert [" ".join(line.split()) for line in read(path)] == ["שלום עולם 2024"]


def test_letters_of_one_glyph_keep_their_order(tmp_path: Path) -> None:
    path = raw_pdf.painted(tmp_path / "a.pdf", [(72, 700, "م*س")], {"*": "لا"})
    assert read(path) == ["سلام"]


def test_presentation_forms_become_letters(tmp_path: Path) -> None:
    path = raw_pdf.painted(
        tmp_path / "a.pdf", [(72, 700, "\ufee1\ufefc\ufeb3")]
    )  # meem, lam-alef, seen as they are drawn
    assert read(path) == ["سلام"]
    assert read(pdfs.arabic(tmp_path / "b.pdf")) == [line for page in pdfs.ARABIC for line in page]


@pytest.mark.parametrize("painted", [") 4 ( ףיעס", "( 4 ) ףיעס"])
def test_brackets_open_before_they_close_whether_named_by_shape_or_meaning(tmp_path: Path, painted: str) -> None:
    assert read(raw_pdf.painted(tmp_path / "a.pdf", [(72, 700, painted)])) == ["סעיף ( 4 )"]


def test_text_from_the_left_is_not_touched(tmp_path: Path) -> None:
    runs = [(72.0, 700.0, "Total (net)"), (300.0, 700.0, "1,200"), (72.0, 680.0, "naïve – 10%")]
    assert read(raw_pdf.painted(tmp_path / "a.pdf", runs)) == ["Total (net)  1,200", "naïve – 10%"]
