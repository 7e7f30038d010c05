"""Headings told by their look, and what must not be taken for one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pymupdf
import pytest

from indexers.outline.candidates import run_in
from indexers.outline.tree import build_tree
from indexers.outline.view import view
from tests.indexers.outline.outline_pages import FILLER, Sheet, check, document, line, outline_of, save


def _titles(sheets: list[Sheet]) -> list[str]:
    return [title for _, title, _ in outline_of(build_tree(document(sheets)))]


def test_size_and_weight_make_levels() -> None:
    sheets = [
        Sheet(n)
        .head(f"Yard {n}", 18)
        .prose(6)
        .head(f"Ropes of yard {n}", 13)
        .prose(6)
        .head(f"Knots of yard {n}", 10)
        .prose(6)
        for n in range(1, 5)
    ]
    assert outline_of(build_tree(document(sheets)))[:4] == [
        (1, "Yard 1", 1),
        (2, "Ropes of yard 1", 1),
        (3, "Knots of yard 1", 1),
        (1, "Yard 2", 2),
    ]


def test_numbering_makes_levels_where_the_look_does_not() -> None:
    sheets = []
    for n, roman in enumerate(("I.", "II.", "III."), 1):
        sheet = Sheet(n).head(f"{roman} Matter {n}", 12).prose(6)
        for letter in ("A.", "B."):
            sheet.head(f"{letter} Question {letter}", 12).prose(5).head("1. First answer", 12).prose(5).head(
                "2. Second answer", 12
            ).prose(5)
        sheets.append(sheet)
    assert [(level, title) for level, title, _ in outline_of(build_tree(document(sheets)))][:8] == [
        (1, "I. Matter 1"),
        (2, "A. Question A."),
        (3, "1. First answer"),
        (3, "2. Second answer"),
        (2, "B. Question B."),
        (3, "1. First answer"),
        (3, "2. Second answer"),
        (1, "II. Matter 2"),
    ]


@pytest.mark.parametrize(
    ("read", "found"), [({3}, False), ({3, 4}, True), (set(range(1, 9)), True)], ids=["alone", "a part", "all"]
)
def test_large_letters_on_a_lone_picture_among_printed_pages_are_no_heading(read: set[int], found: bool) -> None:
    sheets = [Sheet(n).head(f"Yard {n}").prose(20) for n in range(1, 9)]
    sheets[2] = Sheet(3).head("Bryce & Sons", 20, bold=False).prose(2).head("Chapter 2: Ropes", 20, bold=False).prose(2)
    printed = document(sheets)
    pages = tuple(replace(page, ocr=page.number in read) for page in printed.pages)
    titles = [section.title for section in build_tree(replace(printed, pages=pages))]
    assert ("Bryce & Sons" in titles) == found
    assert {"Yard 2", "Chapter 2: Ropes", "Yard 5"} <= set(titles)


def test_running_heads_and_page_numbers_are_no_headings() -> None:
    sheets = [Sheet(n).head(f"Lock {n}", 14).prose(25).running("Canal Yearbook", str(n + 10)) for n in range(1, 9)]
    doc = view(document(sheets).pages)
    assert all(len(page.running) == 2 for page in doc.pages)
    assert _titles(sheets) == [f"Lock {n}" for n in range(1, 9)]


def test_a_heading_carried_on_at_the_top_of_pages_counts_once() -> None:
    sheets = [Sheet(1).head("Opening", 14).prose(25)]
    for n in range(2, 7):
        sheet = Sheet(n)
        sheet.lines.append(line("Notes to the Accounts", 40, size=13, bold=True))
        sheets.append(sheet.head(f"Note {n - 1}. Matter {n}", 11).prose(20))
    tree = build_tree(document(sheets))
    assert [s.start_page for s in tree if s.title == "Notes to the Accounts"] == [2]
    notes = [s for s in tree if s.title.startswith("Note ")]
    assert [s.title for s in notes] == [f"Note {n}. Matter {n + 1}" for n in range(1, 6)]


def test_table_cells_and_captions_are_no_headings() -> None:
    sheets = []
    for n in range(1, 4):
        sheet = Sheet(n).head(f"Sales of year {n}", 14).prose(5)
        sheet.row(f"Table {n}. Crates by region", bold=True, step=20)
        for region, crates in (("North", "1,204"), ("South", "877"), ("Total", "2,081")):
            y = sheet.y
            sheet.row(f"{region}  {crates}  {crates}", bold=region == "Total")
            sheet.lines.append(line("Region", y + 200, bold=True))
            sheet.lines.append(line("4,511", y + 200, x=300))
        sheets.append(sheet)
    assert _titles(sheets) == [f"Sales of year {n}" for n in range(1, 4)]


def test_authors_and_subtitles_that_follow_every_title_are_no_headings() -> None:
    sheets = []
    for n, author in enumerate(("Ada Quill", "Bo Marsh", "Cyn Holt", "Dov Reed"), 1):
        sheet = Sheet(n).head(f"Essay number {n}", 18)
        sheet.y -= 20
        sheets.append(sheet.head(author, 12, bold=False).prose(20))
    assert _titles(sheets) == [f"Essay number {n}" for n in range(1, 5)]


def test_titles_that_wrap_are_put_together() -> None:
    sheets = []
    for n in range(1, 4):
        sheet = Sheet(n)
        for text in (f"Of yard {n} and of the many ways in which", "its keepers count their crates"):
            sheet.lines.append(line(text, sheet.y, size=16, bold=True))
            sheet.y += 20
        sheet.y += 10
        sheets.append(sheet.prose(20))
    assert _titles(sheets)[0] == "Of yard 1 and of the many ways in which its keepers count their crates"


def test_an_article_number_takes_the_words_below_it() -> None:
    sheets = [
        Sheet(n).head(f"ARTICLE {r}", 12).head(name, 12).prose(20)
        for n, (r, name) in enumerate((("I", "TERM"), ("II", "PRICE")), 1)
    ]
    assert _titles(sheets) == ["ARTICLE I TERM", "ARTICLE II PRICE"]


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("4.2 Late Payment. The buyer shall pay interest on", "4.2 Late Payment"),
        ("Section 3.1 Grant of Licence. The owner grants", "Section 3.1 Grant of Licence"),
        ("(a) Notice of Defects: the buyer shall", "(a) Notice of Defects"),
        ("4.2 the buyer shall pay. The seller", ""),
        ("7. See the report of the harbour. The master", ""),
        ("第三条 为了规范采购活动，提高资金使用效益，制定本制度，并自发布之日起施行。", "第三条"),
    ],
)
def test_run_in_headings(text: str, title: str) -> None:
    assert run_in(text) == title


def test_clauses_of_a_contract_run_in_with_their_text() -> None:
    sheet = Sheet(1).head("Hire Agreement", 14)
    for number, name in enumerate(("Hire of the Barge", "Term", "Hire Charges", "Return"), 1):
        sheet.row(f"{number}. {name}. The owner and the hirer agree as follows about this and about", step=13).prose(4)
    assert _titles([sheet]) == ["1. Hire of the Barge", "2. Term", "3. Hire Charges", "4. Return"]


def test_two_columns_of_text_are_not_a_table(tmp_path: Path) -> None:
    pdf = pymupdf.open()
    page = pdf.new_page()
    page.insert_text((150, 70), "On the Counting of Crates", fontsize=16, fontname="tibo")
    for column, number in ((72, 1), (310, 3)):
        y = 110
        for part in (number, number + 1):
            page.insert_text((column, y), f"{part} Section {'ABCD'[part - 1] * 3}", fontsize=11, fontname="tibo")
            for i in range(18):
                page.insert_text((column, y + 18 + 12 * i), FILLER[i % 5][:44], fontsize=9.5, fontname="tiro")
            y += 260
    parsed = save(pdf, tmp_path / "paper.pdf")
    tree = build_tree(parsed)
    check(tree, parsed.pages)
    assert [title for _, title, _ in outline_of(tree)] == [
        "1 Section AAA", "2 Section BBB", "3 Section CCC", "4 Section DDD",
    ]  # fmt: skip


def test_chinese_chapters_and_articles(tmp_path: Path) -> None:
    pdf = pymupdf.open()
    for chapter, number in (("一", 1), ("二", 3)):
        page = pdf.new_page()
        page.insert_text((200, 90), f"第{chapter}章 总则与范围", fontsize=18, fontname="china-s")
        for i in (0, 1):
            han = "零一二三四五"[number + i]
            page.insert_text(
                (72, 150 + 200 * i),
                f"第{han}条 为了规范公司的采购活动，提高资金使用效益，根据",
                fontsize=11,
                fontname="china-s",
            )
            for d in range(5):
                page.insert_text(
                    (72, 168 + 200 * i + 18 * d),
                    "各部门应当于每年十一月底前提交下一年度的采购计划，由财务部",
                    fontsize=11,
                    fontname="china-s",
                )
    parsed = save(pdf, tmp_path / "zh.pdf")
    tree = build_tree(parsed)
    check(tree, parsed.pages)
    assert outline_of(tree) == [
        (1, "第一章 总则与范围", 1), (2, "第一条", 1), (2, "第二条", 1),
        (1, "第二章 总则与范围", 2), (2, "第三条", 2), (2, "第四条", 2),
    ]  # fmt: skip


def test_arabic_headings(tmp_path: Path) -> None:
    pdf = pymupdf.open()
    font = pymupdf.Font("helv")  # Arabic letters come from its built-in fallback
    titles = ("تقرير الشركة", "شبكة المياه", "حسابات السفن")
    for title in titles:
        page = pdf.new_page()
        writer = pymupdf.TextWriter(page.rect)
        writer.append((72, 110), title, font=font, fontsize=20, right_to_left=True)
        for i in range(6):
            writer.append(
                (72, 150 + 18 * i),
                "يكتب حارس المخزن كل صندوق في نهاية كل أسبوع",
                font=font,
                fontsize=12,
                right_to_left=True,
            )
        writer.write_text(page)
    parsed = save(pdf, tmp_path / "ar.pdf")
    tree = build_tree(parsed)
    check(tree, parsed.pages)
    assert [(s.title, s.start_page) for s in tree] == [(title, n) for n, title in enumerate(titles, 1)]


def _label(sheet: Sheet, word: str, of: str, title: str) -> Sheet:
    """Add a chapter's label in two lines at the right margin, and its title further down."""
    for text, y, size in ((word, 90, 10), (of, 112, 14), (title, 168, 14)):
        sheet.lines.append(line(text, y, x=500 - 0.5 * size * len(text), size=size, bold=True))
    sheet.y = 220
    return sheet


@pytest.mark.parametrize(
    ("word", "numbers"),
    [
        ("CHAPTER", ["ONE", "TWO", "THREE", "FOUR"]),
        ("KAPITEL", ["1", "2", "3", "4"]),
        ("Chapitre", ["1", "2", "3", "4"]),
    ],
)
def test_a_chapter_bears_the_number_of_the_two_lines_above_its_title(word: str, numbers: list[str]) -> None:
    topics = ("Ropes", "Gates", "Sails", "Anchors")
    sheets = [Sheet(1).head("Yearbook", 24).prose(8)]
    for at, topic in enumerate(topics):
        sheet = _label(Sheet(at + 2), word, numbers[at], topic.upper())
        sheets.append(sheet.prose(4).head(f"{at + 1}.1 Kinds of {topic}", 12).prose(4))
    headings = [(level, title) for level, title, _ in outline_of(build_tree(document(sheets))) if title != "Yearbook"]
    assert headings == [
        each
        for at, topic in enumerate(topics, 1)
        for each in ((1, f"{at} {topic.upper()}"), (2, f"{at}.1 Kinds of {topic}"))
    ]


def test_a_short_bold_line_is_not_joined_with_the_heading_below_it() -> None:
    sheets = []
    for n, topic in enumerate(("Ropes", "Gates", "Sails"), 1):
        sheet = Sheet(n).head(f"Chapter {n} {topic}", 16).prose(5)
        sheet.row(f"Risks of {topic}", bold=True, step=14)
        sheets.append(sheet.row("Weather may delay the work of the yard for many weeks", bold=True, step=24).prose(8))
    titles = _titles(sheets)
    assert "Risks of Gates" in titles and not [title for title in titles if "Gates Weather" in title]


def test_a_title_on_two_distant_pages_is_no_running_head() -> None:
    sheets = []
    for n in range(1, 12):
        sheet = Sheet(n)
        if n in (3, 8):
            sheet.lines.append(line("Report of the keepers", 60, bold=True))
        sheets.append(sheet.prose(4).head(f"Accounts {n}", 12).prose(9))
    assert _titles(sheets).count("Report of the keepers") == 2


@pytest.mark.parametrize("word", ["Item", "Note", "Chapter"])
def test_a_column_of_numbers_below_a_word_is_no_heading(word: str) -> None:
    sheets = []
    for n in range(1, 5):
        sheet = Sheet(n).head(f"{n} Inventory", 14).prose(6).row(word, bold=True)
        for number in range(1, 6):
            sheet.row(str(number))
        sheets.append(sheet.prose(6))
    assert _titles(sheets) == [f"{n} Inventory" for n in range(1, 5)]


def test_a_running_head_of_two_lines_is_no_heading() -> None:
    sheets = []
    for n in range(10):
        sheet, chapter = Sheet(n + 1), n // 5 + 1
        sheet.lines += [line("CHAPTER", 40, x=300, bold=True), line(str(chapter), 54, x=300, bold=True)]
        sheet.y = 90
        sheets.append(sheet.prose(5).head(f"{chapter}.{n % 5 + 1} Kinds of ropes", 12).prose(9))
    assert _titles(sheets) == [f"{n // 5 + 1}.{n % 5 + 1} Kinds of ropes" for n in range(10)]


@pytest.mark.parametrize(
    ("label", "title"),
    [("Kapitel 3", "3 Ropes"), ("Chapter 2.1", "Chapter 2.1 Ropes"), ("Chapter 12a", "Chapter 12a Ropes")],
)
def test_a_label_keeps_its_word_unless_its_number_is_an_integer(label: str, title: str) -> None:
    sheet = Sheet(1)
    sheet.lines += [line(label, 90, size=14, bold=True), line("Ropes", 125, size=20, bold=True)]
    sheet.y = 170
    assert _titles([sheet.prose(14), Sheet(2).prose(14)]) == [title]


@pytest.mark.parametrize(
    "sentence",
    [
        "Section 5 applies accordingly.", "Anlage 2 liegt bei.", "Annexe 3 jointe au dossier.",
        "Tome 2 comprimidos al día.", "Articolo 5 si applica.", "Приложение 2 содержит данные.",
        "Artykuł 5 stosuje się.", "Deel 2 verschijnt in mei.", "Bilaga 2 innehåller data.",
    ],
)  # fmt: skip
def test_a_short_sentence_about_a_section_is_no_heading(sentence: str) -> None:
    sheets = [Sheet(n).head(f"{n} Inventory", 14).prose(6) for n in range(1, 5)]
    sheets[1].row(sentence, step=20).prose(6)
    assert _titles(sheets) == [f"{n} Inventory" for n in range(1, 5)]


@pytest.mark.parametrize("title", ["Section 5 Scope", "Anlage 2: daten", "Приложение 2. данные", "Article 5"])
def test_a_plain_line_with_a_number_is_a_heading(title: str) -> None:
    sheets = [Sheet(n).head(f"{n} Inventory", 14).prose(6) for n in range(1, 5)]
    sheets[1].row(title, step=20).prose(6)
    assert title in _titles(sheets)


@pytest.mark.parametrize(
    ("statement", "section"),
    [
        ("Theorem 2.1 (Euler).", "Theorem provers"), ("Satz 1.5.", "Satz und Druck"), ("Définition 3", "Définitions"),
        ("Лемма 4.2", "Лемма о накачке и её друзья"), ("定理 3.1", "定理の歴史"), ("Beweis.", "Proof of purchase"),
        ("Lemma A.2. Let the rope be long", "Definition of done"),
    ],
)  # fmt: skip
def test_statements_of_mathematics_are_no_sections(statement: str, section: str) -> None:
    sheets = [
        Sheet(n).head(f"{n} Part {n}", 16).prose(4).row(statement, bold=True).prose(4).head(section, 13).prose(4)
        for n in range(1, 4)
    ]
    titles = _titles(sheets)
    assert section in titles and not [title for title in titles if title.startswith(statement.rstrip("."))]


@pytest.mark.parametrize("label", ["Warning", "Hinweis", "Achtung!", "Remarque", "Внимание", "注意", "참고", "NOTE:"])
def test_repeated_labels_of_remarks_are_no_sections(label: str) -> None:
    sheets = [
        Sheet(n).head(f"Work in yard {n}", 16).prose(5).row(label, bold=True, step=20).prose(5) for n in range(1, 6)
    ]
    assert all(title.startswith("Work in yard") for title in _titles(sheets))


def test_a_word_of_remarks_that_stands_once_may_be_a_section() -> None:
    sheets = [Sheet(n).head(f"Work in yard {n}", 16).prose(9) for n in range(1, 5)]
    assert "Important" in _titles([*sheets, Sheet(5).head("Important", 16).prose(9)])
