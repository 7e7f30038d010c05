"""Slides, sheets and OpenDocument: what a page is, what it is called, and what stands on it."""

from __future__ import annotations

import datetime
import os
import shutil
import struct
import subprocess
from pathlib import Path

import pptx
import pytest
import xlsxwriter
from pptx.chart.data import CategoryChartData
from pptx.enum.chart import XL_CHART_TYPE
from pptx.util import Inches
from xlsxwriter.utility import xl_rowcol_to_cell

from hybrid_core.errors import DocumentError, LimitError, PasswordError
from indexers.formats.limits import ParseLimits
from tests.indexers.formats.packages import ole, ole_file, opendocument, read, text_of, titles


def test_a_slide_is_a_page_with_its_shapes_in_reading_order_and_its_notes(tmp_path: Path) -> None:
    deck = pptx.Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[5])
    slide.shapes.title.text = "Harbour dues"
    for text, top, left in (("below", 5, 1), ("right", 3, 5), ("left", 3, 1)):
        slide.shapes.add_textbox(Inches(left), Inches(top), Inches(2), Inches(1)).text_frame.text = text
    slide.notes_slide.notes_text_frame.text = "mention the keeper"
    second = deck.slides.add_slide(deck.slide_layouts[6])
    data = CategoryChartData()
    data.categories = ["2017", "2018"]
    data.add_series("Ships", (44, 61.5))
    second.shapes.add_chart(XL_CHART_TYPE.COLUMN_CLUSTERED, 0, 0, Inches(4), Inches(4), data)
    table = second.shapes.add_table(1, 2, 0, Inches(5), Inches(4), Inches(1)).table
    table.cell(0, 0).text, table.cell(0, 1).text = "Oban", "44"
    deck.save(str(tmp_path / "a.pptx"))
    info, pages = read(tmp_path / "a.pptx")
    assert [page.label for page in pages] == ["slide 1", "slide 2"]
    assert pages[0].text.split("\n\n") == ["# Harbour dues", "left", "right", "below", "[notes] mention the keeper"]
    assert (
        "|  | Ships |\n|---|---|\n| 2017 | 44 |\n| 2018 | 61.5 |" in pages[1].text and "| Oban | 44 |" in pages[1].text
    )
    assert [(h.title, h.page) for h in info.headings or ()] == [("Harbour dues", 1)]


def test_a_sheet_is_cut_into_rows_under_its_header(tmp_path: Path) -> None:
    book = xlsxwriter.Workbook(tmp_path / "a.xlsx")
    sheet = book.add_worksheet("Ships")
    sheet.write_row(2, 1, ["Port", "Count", "Day"])
    day = book.add_format({"num_format": "yyyy-mm-dd"})
    for row in range(3, 203):
        sheet.write_row(row, 1, [f"port {row}", row])
        sheet.write_datetime(row, 3, datetime.datetime(2018, 1, 1), day)
    book.add_worksheet("Empty")
    book.close()
    info, pages = read(tmp_path / "a.xlsx")
    assert [page.label for page in pages] == ["Ships!B3:D102", "Ships!B103:D202", "Ships!B203:D203"]
    assert "| Port | Count | Day |\n|---|---|---|\n| port 102 | 102 | 2018-01-01 |" in pages[1].text
    assert [(h.title, h.page) for h in info.headings or ()] == [("Ships", 1)]


@pytest.mark.parametrize("place", [(0, 16_383), (1, 1_200), (1_048_575, 16_383)])
def test_a_cell_far_from_all_others_is_read_beside_the_rows(tmp_path: Path, place: tuple[int, int]) -> None:
    book = xlsxwriter.Workbook(tmp_path / "a.xlsx")
    sheet = book.add_worksheet()
    for row in range(3):
        sheet.write_row(row, 0, ["here", "too"])
    sheet.write(*place, "there")
    book.close()
    text = text_of(tmp_path / "a.xlsx")
    assert text.count("| here | too |") == 3 and f"{xl_rowcol_to_cell(*place)}: there" in text


@pytest.mark.parametrize("far", [16_383, 900, 300])
def test_a_sheet_of_too_many_cells_is_refused_before_it_takes_the_memory(tmp_path: Path, far: int) -> None:
    book = xlsxwriter.Workbook(tmp_path / "a.xlsx")
    sheet = book.add_worksheet()
    sheet.write_row(0, 0, ["head"] * (far + 1))
    sheet.write(1_048_575, 0, "there")
    book.close()
    cells = f"{(far + 1) * 1_048_576:,}"
    with pytest.raises(LimitError, match=rf"reaches over {cells} cells; the limit is .* max_cells"):
        read(tmp_path / "a.xlsx")


@pytest.mark.parametrize("sign", [",", ";", "\t"])
def test_a_table_of_text_is_read_whatever_stands_between_its_cells(tmp_path: Path, sign: str) -> None:
    rows = [["Port", "Words"], ["Oban", f'"two{sign} parts"'], ["Mull", "x"]]
    (tmp_path / "t.csv").write_text("\n".join(sign.join(row) for row in rows))
    (page,) = read(tmp_path / "t.csv")[1]
    assert f"| Oban | two{sign.strip()} parts |" in page.text and page.label == "t!A1:B3"


def test_opendocument_texts_have_numbered_headings_lists_notes_and_tables(tmp_path: Path) -> None:
    styles = (
        '<text:outline-style><text:outline-level-style text:level="1" style:num-format="1"/><text:outline-level-style '
        'text:level="2" style:num-format="1" text:display-levels="2"/></text:outline-style>'
    )
    body = """<text:tracked-changes><text:p>struck out</text:p></text:tracked-changes>
      <text:h text:outline-level="1">Hafen</text:h><text:h text:outline-level="2">Kai</text:h>
      <text:p>a<text:s text:c="2"/>b<text:note><text:note-citation>1</text:note-citation><text:note-body>
      <text:p>so he said</text:p></text:note-body></text:note></text:p>
      <text:list><text:list-item><text:p>gull</text:p></text:list-item></text:list>
      <table:table><table:table-row><table:table-cell><text:p>Oban</text:p></table:table-cell>
      <table:table-cell><text:p>44</text:p></table:table-cell></table:table-row></table:table>"""
    file = opendocument(tmp_path / "a.odt", body, styles=styles)
    assert titles(file) == [(1, "1 Hafen"), (2, "1.1 Kai")]
    text = text_of(file)
    assert "a b[1]" in text and "[1] so he said" in text and "- gull" in text and "| Oban | 44 |" in text
    assert "struck out" not in text


def test_opendocument_slides_and_encryption(tmp_path: Path) -> None:
    body = """<draw:page><draw:frame><draw:text-box><text:p>body</text:p></draw:text-box></draw:frame>
      <draw:frame presentation:class="title"><draw:text-box><text:p>Dues</text:p></draw:text-box></draw:frame>
      </draw:page>"""
    (page,) = read(opendocument(tmp_path / "a.odp", body, "presentation"))[1]
    assert (page.label, page.text) == ("slide 1", "# Dues\n\nbody")
    with pytest.raises(PasswordError, match="encrypted"):
        read(opendocument(tmp_path / "b.odt", "", manifest="<encryption-data/>"))


@pytest.mark.parametrize(("stream", "name"), [("WordDocument", "a.doc"), ("PowerPoint Document", "a.ppt")])
def test_damaged_older_files_say_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stream: str, name: str
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    (tmp_path / name).write_bytes(ole(stream))
    with pytest.raises(DocumentError, match=r"damaged: .* save it as (DOCX|PPTX)"):
        read(tmp_path / name)


@pytest.mark.parametrize(
    ("name", "words", "heading"),
    [
        (
            "doc/testWORD_various.doc",
            ("Footnote appears here", "This is a footnote.", "| Row 2 Col 1 | Row 2 Col 2 |"),
            "",
        ),
        ("doc/testWORD.doc", ("Sample Word Document",), ""),
        ("ppt/testPPT_various.ppt", ("Footnote appears here", "Here is a list"), ""),
        ("ppt/testPPT.ppt", ("Powerpoint X for Mac", "Service Release 1"), "Sample Powerpoint Slide"),
    ],
)
def test_older_files_are_read_without_libreoffice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, words: tuple[str, ...], heading: str
) -> None:
    file = Path(os.environ.get("PAGEINDEX_EVAL_DATA", "nowhere"), "office", "tika", name)
    if not file.exists():
        pytest.skip("the office files are not here")
    monkeypatch.setenv("PATH", str(tmp_path))
    info, pages = read(file)
    text = "\n".join(page.text for page in pages)
    assert all(one in text for one in words), text
    assert not heading or heading in [one.title for one in info.headings or ()]
    assert info.warnings[-1].startswith("read without LibreOffice")


@pytest.mark.skipif(shutil.which("soffice") is None, reason="LibreOffice is not installed")
def test_libreoffice_opens_older_files(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("The keeper counts the ships.")
    profile = f"-env:UserInstallation={(tmp_path / 'profile').as_uri()}"
    subprocess.run(
        ["soffice", "--headless", profile, "--convert-to", "doc", "--outdir", str(tmp_path), str(tmp_path / "a.txt")],
        capture_output=True, check=True,
    )  # fmt: skip
    assert text_of(tmp_path / "a.doc") == "The keeper counts the ships."


def test_limits_are_settings_of_the_same_name() -> None:
    with pytest.raises(ValueError, match="max_cells"):
        ParseLimits(max_cells=0)


@pytest.mark.parametrize(
    ("language", "text", "page"),
    [(0x0419, "Договор", "cp1251"), (0x0415, "Umowa zażółć", "cp1250"), (0x0404, "合約", "cp950"),
     (0x0C1A, "Уговор", "cp1251"), (0x0409, "café", "cp1252")],
)  # fmt: skip
def test_word_95_is_read_in_the_code_page_of_its_language(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, language: int, text: str, page: str
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    words = f"{text}\r".encode(page)
    head = struct.pack("<HHHH", 0xA5DC, 104, 0, language).ljust(0x18, b"\0") + struct.pack(
        "<II", 0x300, 0x300 + len(words)
    )
    (tmp_path / "a.doc").write_bytes(ole_file({"WordDocument": head.ljust(0x300, b"\0") + words}))
    assert text_of(tmp_path / "a.doc") == text
