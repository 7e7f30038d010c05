"""PDF: fields beside their labels, spaced letters, large first letters, pages stored upwards, and filled letters."""

from __future__ import annotations

from pathlib import Path

import pymupdf
import pytest

from hybrid_core.types.documents import ParsedPage
from indexers.formats.pdf.document import open_pdf
from indexers.formats.pdf.line_text import dingbats, is_spaced
from indexers.formats.pdf.read import read_pages
from tests.indexers.formats import raw_pdf
from tests.indexers.formats.packages import text_of

HELVETICA = b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"


def page_of(path: Path) -> ParsedPage:
    with open_pdf(path) as document:
        page = next(iter(read_pages(document, [1])))
    assert isinstance(page, ParsedPage)
    return page


def lines(path: Path, content: str, font: bytes = HELVETICA) -> list[str]:
    raw_pdf.write(path, raw_pdf.pages([content.encode("latin-1")], font))
    return [line.text for line in page_of(path).lines]


def at(x: float, y: float, words: str, size: float = 12) -> str:
    return f"BT /F1 {size} Tf 1 0 0 1 {x} {y} Tm ({words}) Tj ET\n"


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("BT /F1 12 Tf 2 Tc 72 700 Td (Letter spaced line of text) Tj ET", "Letter spaced line of text"),
        ("BT /F1 12 Tf 3 Tc 72 700 Td (ANNUAL REPORT) Tj ET", "ANNUAL REPORT"),
        ("BT /F1 12 Tf 72 700 Td [(S)-250(p)-250(a)-250(c)-250(e)-250(d)-600(w)-250(o)-250(r)-250(d)] TJ ET",
         "Spaced word"),
        ("BT /F1 12 Tf 72 700 Td [(a)-900(b)-900(c)-900(d)-900(e)-900(f)] TJ ET", "a b c d e f"),
    ],
)  # fmt: skip
def test_words_of_spaced_letters_are_told_by_the_gaps(tmp_path: Path, content: str, text: str) -> None:
    assert " ".join(" ".join(lines(tmp_path / "a.pdf", content)).split()) == text


@pytest.mark.parametrize(("text", "spaced"), [("A N N U A L", True), ("a b c of the list", False), ("x y", False)])
def test_what_may_be_spaced_letters(text: str, spaced: bool) -> None:
    assert is_spaced(text) is spaced


@pytest.mark.parametrize(
    ("initial", "rest", "text"),
    [("O", "nce upon a time", "Once upon a time"), ("T", "he tide turned", "The tide turned"),
     ("A", "long time ago", "A long time ago"), ("B", "Total of 2024", "B Total of 2024")],
)  # fmt: skip
def test_a_large_first_letter_belongs_to_its_word(tmp_path: Path, initial: str, rest: str, text: str) -> None:
    content = at(72, 676, initial, 40) + at(103, 700, rest) + at(103, 686, "and so on")
    assert " ".join(lines(tmp_path / "a.pdf", content)[0].split()) == text


@pytest.mark.parametrize("count", [4, 9, 30])
def test_pages_stored_upwards_are_read_from_the_top(tmp_path: Path, count: int) -> None:
    content = "".join(at(72, 100 + 16 * n, f"line {n}") + at(200, 100 + 16 * n, f"value {n}") for n in range(count))
    assert lines(tmp_path / "a.pdf", content) == [f"line {n}  value {n}" for n in reversed(range(count))]
    mixed = at(72, 700, "body") + at(72, 686, "more") + at(72, 800, "head") + at(72, 820, "above")
    assert lines(tmp_path / "b.pdf", mixed)[0] == "body"


@pytest.mark.parametrize(
    ("fill", "hidden"),
    [("1 0 0 rg 0 0 600 800 re f", []), ("0 0 0.6 rg 60 600 400 300 re f", []), ("", ["Filled words"]),
     ("1 g 0 0 600 800 re f", ["Filled words"])],
)  # fmt: skip
def test_letters_that_something_fills_are_seen(tmp_path: Path, fill: str, hidden: list[str]) -> None:
    content = f"q BT 7 Tr /F1 30 Tf 72 700 Td (Filled words) Tj ET {fill} Q {at(72, 500, 'body')}"
    raw_pdf.write(tmp_path / "a.pdf", raw_pdf.pages([content.encode()], HELVETICA))
    assert [line.text for line in page_of(tmp_path / "a.pdf").lines if line.role == "hidden"] == hidden


@pytest.mark.parametrize(("signs", "text"), [("\x13", "✓"), ("4", "✔"), ("J", "❏"), ("8l", "✘●")])
def test_signs_of_zapf_dingbats(signs: str, text: str) -> None:
    assert dingbats(signs) == text


def form(path: Path, *fields: tuple[int, str, object, bool], turned: int = 0) -> list[str]:
    """Write a form whose fields stand at the right of their labels, or at the left, and return its lines."""
    document = pymupdf.open()
    page = document.new_page()
    for number, (kind, label, value, before) in enumerate(fields):
        y = 100 + 40 * number
        page.insert_text((72 if before else 220, y + 12), label, fontsize=11)
        widget = pymupdf.Widget()
        widget.field_type, widget.field_name = kind, f"field {number}"
        widget.rect = pymupdf.Rect(*((200, y, 320, y + 16) if before else (200, y, 214, y + 16)))
        if kind == pymupdf.PDF_WIDGET_TYPE_COMBOBOX:
            widget.choice_values = ["Red", "Green"]
        widget.field_value, widget.text_fontsize = value, 11
        page.add_widget(widget)
    page.insert_text((72, 700), "Signed in Kiel", fontsize=11)
    page.set_rotation(turned)
    document.save(path)
    return [" ".join(line.text.split()) for line in page_of(path).lines]


@pytest.mark.parametrize(
    ("value", "options", "shown"),
    [
        ("k", "[[(k) (Kiel harbour)] [(b) (Bonn)]]", "Kiel harbour"),
        ("Bonn", "[(Kiel) (Bonn)]", "Bonn"),
        ("x", "[[(k) (Kiel harbour)]]", "x"),
    ],
)
def test_a_choice_shows_its_words_and_not_its_code(tmp_path: Path, value: str, options: str, shown: str) -> None:
    objects = raw_pdf.pages([raw_pdf.text("Port:")], resources=b">> /Annots [20 0 R] /Unused <<")
    objects[1] = b"<< /Type /Catalog /Pages 2 0 R /AcroForm << /Fields [20 0 R] /NeedAppearances true >> >>"
    objects[20] = (
        f"<< /Type /Annot /Subtype /Widget /FT /Ch /Ff 131072 /T (port) /V ({value}) /Opt {options} "
        "/Rect [120 772 300 792] /DA (/Helv 11 Tf) >>"
    ).encode()
    (line,) = page_of(raw_pdf.write(tmp_path / "a.pdf", objects)).lines
    assert " ".join(line.text.split()) == f"Port: {shown}"


TEXT, TICK, CHOICE = pymupdf.PDF_WIDGET_TYPE_TEXT, pymupdf.PDF_WIDGET_TYPE_CHECKBOX, pymupdf.PDF_WIDGET_TYPE_COMBOBOX


def test_fields_stand_beside_their_labels(tmp_path: Path) -> None:
    shown = form(
        tmp_path / "a.pdf", (TEXT, "Name:", "Ada Lovelace", True), (CHOICE, "Colour:", "Green", True),
        (TICK, "By mail", True, False), (TICK, "By ship", False, False),
    )  # fmt: skip
    assert shown == ["Name: Ada Lovelace", "Colour: Green", "☒ By mail", "☐ By ship", "Signed in Kiel"]


@pytest.mark.parametrize("turned", [90, 180, 270])
def test_fields_of_turned_pages_are_read(tmp_path: Path, turned: int) -> None:
    shown = form(tmp_path / "a.pdf", (TEXT, "Name:", "Ada Lovelace", True), (TEXT, "Age:", "36", True), turned=turned)
    assert sorted(" ".join(shown).split()) == sorted("Name: Ada Lovelace Age: 36 Signed in Kiel".split())


@pytest.mark.parametrize("rotation", [0, 90])
@pytest.mark.parametrize(
    ("words", "author", "content", "lines"),
    [
        (["forty"], "Kim", "", ["[Struck out by Kim] forty"]),
        (["forty"], "", "say fifty", ["[Struck out] forty", "[Comment] say fifty"]),
        (["forty", "two parts"], "Kim", "", ["[Struck out by Kim] forty two parts"]),
        ([], "Kim", "", []),
    ],
)
def test_words_that_a_reader_struck_out_are_named(
    tmp_path: Path, rotation: int, words: list[str], author: str, content: str, lines: list[str]
) -> None:
    with pymupdf.open() as document:
        page = document.new_page()
        page.insert_text((72, 100), "The price is forty euros, paid")
        page.insert_text((72, 114), "in two parts each year")
        for _ in range(bool(words)):
            mark = page.add_strikeout_annot([page.search_for(word)[0] for word in words])
            mark.set_info(title=author, content=content)
            mark.update()
        page.set_rotation(rotation)
        document.save(tmp_path / "a.pdf")
    assert [line for line in text_of(tmp_path / "a.pdf").split("\n") if line.startswith("[")] == lines
