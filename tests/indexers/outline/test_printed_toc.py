"""Printed contents: recognised, read, and their labels turned into physical pages."""

from __future__ import annotations

from pathlib import Path

import pymupdf
import pytest

from indexers.outline.printed_toc import from_printed_toc
from indexers.outline.toc import entries, find_contents, opens_contents
from indexers.outline.tree import build_tree
from indexers.outline.view import view
from tests.indexers.outline.outline_pages import FILLER, Sheet, check, document, outline_of, save, text_of

_CHAPTERS = ("Of the Harbour", "Of the Storehouse", "Of the Wages", "Of the Winter")


def _book(contents: Sheet, *, roman: int = 3, gap: int = 0) -> list[Sheet]:
    """A cover, contents, a preface, then four chapters of two pages; labels begin anew with the chapters."""
    sheets = [Sheet(1).head("The Yard Book", 30), contents]
    sheets += [Sheet(n).head("Preface", 14).prose(30) if n == 3 else Sheet(n).prose(35) for n in range(3, roman + 2)]
    for i, chapter in enumerate(_CHAPTERS):
        first = len(sheets) + 1
        sheets.append(Sheet(first).head(f"{i + 1} {chapter}", 18).prose(12).head(f"{i + 1}.1 Duties", 12).prose(12))
        sheets += [Sheet(first + d).prose(35) for d in range(1, 2 + gap)]
    return sheets


def _contents() -> Sheet:
    sheet = Sheet(2).head("Contents", 18).entry("Preface", "iii")
    for i, chapter in enumerate(_CHAPTERS):
        sheet.entry(f"{i + 1} {chapter}", str(2 * i + 1)).entry(f"{i + 1}.1 Duties", str(2 * i + 1), x=90)
    return sheet


def test_roman_front_matter_and_arabic_body_get_their_own_offsets() -> None:
    sheets = _book(_contents(), roman=4)  # chapter 1, label 1, is page 6
    pages = document(sheets).pages
    found = from_printed_toc(view(pages), 30)
    assert found.pages == {2}
    assert found.located == 1.0
    assert [(h.level, h.title, h.page) for h in found.headings] == [
        (1, "Preface", 3),
        *(
            row
            for i, chapter in enumerate(_CHAPTERS)
            for row in ((1, f"{i + 1} {chapter}", 6 + 2 * i), (2, f"{i + 1}.1 Duties", 6 + 2 * i))
        ),
    ]
    check(build_tree(document(sheets)), pages)


def test_two_sections_on_a_page_have_different_text() -> None:
    sheets = _book(_contents())
    pages = document(sheets).pages
    tree = build_tree(document(sheets))
    chapter = next(s for s in tree if s.title == "1 Of the Harbour")
    duties = next(s for s in tree if s.title == "1.1 Duties")
    assert duties.parent_id == chapter.node_id
    assert duties.start_page == chapter.start_page
    assert duties.anchor > chapter.anchor
    assert duties.anchor_y > chapter.anchor_y
    assert text_of(duties, pages).startswith("1.1 Duties\n")


def test_titles_wrap_before_their_label() -> None:
    sheet = Sheet(1).head("Contents", 18).entry("1 Of the Harbour", "1")
    sheet.row("2 Of the storehouse and of the many people who", x=72).entry("carry its keys", "9", x=84)
    sheet.entry("3 Of the Wages", "12")
    (found,) = find_contents(view(document([sheet, Sheet(2).prose()]).pages), 30)
    assert [(e.label, e.titles[0]) for e in entries(found.rows, labelled=found.labelled)] == [
        ("1", "1 Of the Harbour"),
        ("9", "2 Of the storehouse and of the many people who carry its keys"),
        ("12", "3 Of the Wages"),
    ]


@pytest.mark.parametrize("leader", [" ........ ", " . . . . . ", "  ", "……… "])
def test_leaders_and_gaps_part_title_and_label(leader: str) -> None:
    sheet = Sheet(1).head("Contents", 18)
    for title, label in (("Of Ropes", "xi"), ("Of Partnership", "1"), ("Of sect. 4 and 5", "7")):
        sheet.row(f"{title}{leader}{label}")
    (found,) = find_contents(view(document([sheet, Sheet(2).prose()]).pages), 30)
    assert [(e.titles[0], e.label) for e in entries(found.rows, labelled=found.labelled)] == [
        ("Of Ropes", "xi"),
        ("Of Partnership", "1"),
        ("Of sect. 4 and 5", "7"),
    ]


def test_a_list_of_figures_gives_no_sections() -> None:
    contents = _contents()
    contents.row("List of Figures", bold=True)
    for number in range(1, 6):
        contents.entry(f"{number}.2 A drawing of crane {number}", str(number))
    found = from_printed_toc(view(document(_book(contents)).pages), 30)
    assert not [h for h in found.headings if "drawing" in h.title]
    assert len(found.headings) == 9


@pytest.mark.parametrize(
    ("contents", "lists"),
    [
        ("Indice", "Elenco delle tabelle"), ("Índice", "Índice de figuras"), ("Sommaire", "Liste des tableaux"),
        ("Spis treści", "Spis rysunków"), ("Содержание", "Список рисунков"), ("목차", "그림 목차"), ("目次", "図目次"),
        ("Inhalt", "Verzeichnis der Tabellen"),
    ],
)  # fmt: skip
def test_a_list_of_figures_in_any_language_gives_no_sections(contents: str, lists: str) -> None:
    sheet = Sheet(2).head(contents, 18)
    for i, chapter in enumerate(_CHAPTERS):
        sheet.entry(f"{i + 1} {chapter}", str(2 * i + 1))
    sheet.head(lists, 14).entry("1 Plan of the quay", "1").entry("2 Plan of the gate", "3").entry("3 A crane", "5")
    printed = from_printed_toc(view(document(_book(sheet)).pages), 30)
    assert [h.title for h in printed.headings] == [f"{i + 1} {chapter}" for i, chapter in enumerate(_CHAPTERS)]


@pytest.mark.parametrize("word", ["Appendix", "Annexe", "Anhang", "Приложение"])
def test_appendices_are_found_though_the_contents_leave_their_word_out(word: str) -> None:
    titles = ("Proofs of the rules", "Data of the yards", "Letters")
    sheet = _contents()
    for at, title in enumerate(titles):
        sheet.entry(f"{'ABC'[at]} {title}", str(9 + at))
    sheets = _book(sheet)
    for at, title in enumerate(titles):
        sheets.append(Sheet(13 + at).head(f"{word} {'ABC'[at]}", 16).head(title, 18).prose(20))
    tree = outline_of(build_tree(document(sheets)))
    assert [row for row in tree if row[2] >= 13] == [
        (1, f"{'ABC'[at]} {title}", 13 + at) for at, title in enumerate(titles)
    ]


def test_contents_without_page_numbers_are_used() -> None:
    contents = Sheet(2).head("Contents", 18)
    for i, chapter in enumerate(_CHAPTERS):
        contents.row(f"{i + 1} {chapter}", step=20)
    tree = build_tree(document(_book(contents)))
    printed = [(s.title, s.start_page) for s in tree if s.source == "printed_toc"]
    assert printed == [(f"{i + 1} {chapter}", 5 + 2 * i) for i, chapter in enumerate(_CHAPTERS)]


def test_a_page_taken_for_contents_keeps_its_text_in_the_tree() -> None:
    false = Sheet(2).head("Index", 16)
    for number in range(1, 12):
        false.entry(f"Crate of rope number {number} from the north", str(number))
    sheets = [Sheet(1).head("Of the Harbour").prose(20), false, Sheet(3).head("Of the Wages").prose(20)]
    pages = document(sheets).pages
    tree = build_tree(document(sheets))
    check(tree, pages)
    whole = "".join(text_of(s, pages) for s in tree if s.parent_id is None)
    assert all(f"number {number} from" in whole for number in range(1, 12))


def test_a_price_list_is_no_table_of_contents() -> None:
    sheet = Sheet(1).prose(3)
    for name, price in (
        ("Rope", "30"),
        ("Tar", "12"),
        ("Canvas", "44"),
        ("Nails", "2"),
        ("Oak", "97"),
        ("Pitch", "8"),
        ("Iron", "61"),
    ):
        sheet.entry(name, price)
    assert find_contents(view(document([sheet, Sheet(2).prose(30)]).pages), 30) == []


def test_a_pdf_with_contents_page_labels_and_a_part_of_its_own_numbering(tmp_path: Path) -> None:
    pdf = pymupdf.open()
    rows = [
        ("Foreword", "ii", 0),
        ("1 Rope", "1", 0),
        ("1.1 Hemp", "2", 18),
        ("2 Canvas", "3", 0),
        ("2.1 Flax", "4", 18),
    ]
    contents = pdf.new_page()
    contents.insert_text((72, 90), "Table of Contents", fontsize=18, fontname="tibo")
    for i, (title, label, indent) in enumerate(rows):
        contents.insert_text(
            (72 + indent, 130 + 18 * i),
            f"{title} " + "." * (70 - len(title)) + f" {label}",
            fontsize=10,
            fontname="tiro",
        )
    for title, _, indent in rows:
        page = pdf.new_page()
        page.insert_text((72, 90), title, fontsize=12 if indent else 16, fontname="tibo")
        for i in range(20):
            page.insert_text((72, 120 + 13 * i), FILLER[i % 5], fontsize=10, fontname="tiro")
    pdf.set_page_labels(
        [
            {"startpage": 0, "prefix": "", "style": "r", "firstpagenum": 1},
            {"startpage": 2, "prefix": "", "style": "D", "firstpagenum": 1},
        ]
    )
    parsed = save(pdf, tmp_path / "labels.pdf")
    tree = build_tree(parsed)
    check(tree, parsed.pages)
    assert outline_of(tree) == [
        (1, "Table of Contents", 1),
        (1, "Foreword", 2),
        (1, "1 Rope", 3),
        (2, "1.1 Hemp", 4),
        (1, "2 Canvas", 5),
        (2, "2.1 Flax", 6),
    ]


@pytest.mark.parametrize(
    "title",
    [
        "Table des matières", "ÍNDICE GENERAL", "Índice de contenidos", "Conteúdo", "Innehåll", "Sisällysluettelo",
        "Spis treści", "İçindekiler", "Mục lục", "Περιεχόμενα", "विषय सूची", "图目录", "図目次", "圖 目 錄",
        "Seznam použitých zkratek",
    ],
)  # fmt: skip
def test_contents_have_many_titles(title: str) -> None:
    assert opens_contents(title)


@pytest.mark.parametrize("title", ["Список литературы", "Seznam použité literatury", "References"])
def test_a_bibliography_is_no_list_of_figures(title: str) -> None:
    assert not opens_contents(title)
