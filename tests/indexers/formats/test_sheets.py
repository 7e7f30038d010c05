"""Sheets as they show: formats of numbers, errors, formulas, merged blocks, heads, and files under a wrong name."""

from __future__ import annotations

from pathlib import Path

import pytest
import xlsxwriter
import xlwt

from hybrid_core.errors import DocumentError
from indexers.formats.flow.blocks import Table
from indexers.formats.limits import ParseLimits
from indexers.formats.office.grid import Grid
from indexers.formats.office.number_formats import show
from indexers.formats.office.sheets import sheet_parts
from tests.indexers.formats.packages import opendocument, packed, read, text_of

_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"


def sheet(path: Path, rows: str, after: str = "", state: str = "visible", **parts: str) -> Path:
    """A workbook of one sheet from the XML of its rows; ``parts`` lie in ``xl/`` and are named by their kind."""
    listed = "".join(
        f'<Relationship Id="p{at}" Type="{_OFFICE}/{kind}" Target="{kind}.xml"/>' for at, kind in enumerate(parts)
    )
    return packed(path, {
        "[Content_Types].xml": '<Types><Override PartName="/xl/workbook.xml" ContentType="application/vnd.'
        'openxmlformats-officedocument.spreadsheetml.sheet.main+xml"/></Types>',
        "_rels/.rels": f'<Relationships><Relationship Id="r" Type="{_OFFICE}/officeDocument" Target="xl/workbook.xml"/>'
        "</Relationships>",
        "xl/workbook.xml": f'<workbook xmlns="{_MAIN}" xmlns:r="{_OFFICE}"><sheets><sheet name="S" sheetId="1" '
        f'state="{state}" r:id="s"/></sheets></workbook>',
        "xl/_rels/workbook.xml.rels": f'<Relationships><Relationship Id="s" Type="{_OFFICE}/worksheet" '
        f'Target="sheet.xml"/>{listed}</Relationships>',
        "xl/sheet.xml": f'<worksheet xmlns="{_MAIN}">{after if after.startswith("<dim") else ""}<sheetData>{rows}'
        f'</sheetData>{"" if after.startswith("<dim") else after}</worksheet>',
        **{f"xl/{kind}.xml": text for kind, text in parts.items()},
    })  # fmt: skip


def row(number: int, *cells: object) -> str:
    """A row of texts and numbers; None leaves a cell out."""
    written = ""
    for letter, cell in zip("ABCDEFGH", cells, strict=False):
        place = f'r="{letter}{number}"'
        if isinstance(cell, str):
            written += cell if cell.startswith("<c") else f'<c {place} t="inlineStr"><is><t>{cell}</t></is></c>'
        elif cell is not None:
            written += f"<c {place}><v>{cell}</v></c>"
    return f'<row r="{number}">{written}</row>'


@pytest.mark.parametrize(
    ("number", "code", "shown"),
    [
        (0.153, "0.0%", "15.3%"), (-0.05, "0%", "-5%"), (1.25, '0.00" %"', "1.25 %"),
        (421, "00000", "00421"), (5551234567, "(000) 000-0000", "(555) 123-4567"), (7, "000", "007"),
        (1.5208333333333333, "[h]:mm", "36:30"), (0.5, "[m]", "720"), (2, "[h]:mm:ss", "48:00:00"),
        (0.6041666666, "h:mm AM/PM", "2:30 PM"), (0.6041666666, "hh:mm", "14:30"), (0.25, "h:mm:ss", "06:00:00"),
        (45323, "mmm-yy", "2024-02-01"), (45323, 'yyyy"年"m"月"d"日"', "2024-02-01"),
        (45323.5, "d/m/yy h:mm", "2024-02-01 12:00:00"),
        (1234.5, "[$€-407] #,##0.00", "€ 1,234.50"), (-1234.5, "#,##0.00_);[Red]\\(#,##0.00\\)", "(1,234.50)"),
        (0, '_(* #,##0_);_(* \\(#,##0\\);_(* "-"??_)', "-"), (12345678, '0.0,,"M"', "12.3M"),
        (1234567, '#,##0,"k"', "1,235k"),
        (1234567890123456, "", "1234567890123456"), (1e15, "General", "1000000000000000"),
        (0.30000000000000004, "", "0.3"),
        (1.75, "# ??/??", "1 3/4"), (0.5, "# ?/?", "1/2"), (0.25, "??/100", "25/100"),
        (2.3125, "# ??/16", "2 5/16"), (-1.5, "# ?/2", "-1 1/2"), (2, "# ?/8", "2"), (1.5, "?/4", "6/4"),
        (12345, "0.00E+00", "1.23E+04"),
        (5, ";;;", "5"), (7, '[>=10]0.0;[<10]"low"', "low"), (2.675, "0.00", "2.68"),
    ],
)  # fmt: skip
def test_a_number_is_as_its_format_shows_it(number: float, code: str, shown: str) -> None:
    assert show(number, code, written=str(number)) == shown


def test_errors_and_formulas_without_a_value_are_shown_and_noted(tmp_path: Path) -> None:
    rows = row(1, "Part", "State") + "".join(
        f'<row r="{at}"><c r="A{at}"><v>{at}</v></c>{cell}</row>'
        for at, cell in enumerate(
            ('<c r="B2" t="e"><v>#N/A</v></c>',
             '<c r="B3" t="e"><f>1/0</f><v>#DIV/0!</v></c>',
             '<c r="B4"><f>A2*2</f></c>',
             '<c r="B5"><f t="shared" si="0" ref="B5:B6">A2+1</f><v></v></c>',
             '<c r="B6"><f t="shared" si="0"/></c>'), 2)
    )  # fmt: skip
    info, (page,) = read(sheet(tmp_path / "a.xlsx", rows))
    for cells in ("2 | #N/A", "3 | #DIV/0!", "4 | =A2*2", "5 | =A2+1", "6 | =A3+1"):
        assert f"| {cells} |" in page.text
    assert info.warnings == ("sheet 'S': 3 formulas have no stored value; the formulas are shown",)


def test_merged_blocks_stand_on_each_of_their_rows(tmp_path: Path) -> None:
    rows = (
        row(1, "Group", "Item", "Place") + row(2, "Alpha", "Nut", "East") + row(3, None, "Bolt") + row(4, "Beta", "Pin")
    )
    merged = '<mergeCells><mergeCell ref="A2:A3"/><mergeCell ref="C2:C4"/></mergeCells>'
    text = text_of(sheet(tmp_path / "a.xlsx", rows, merged))
    assert "| Alpha | Bolt | East |" in text and "| Beta | Pin | East |" in text
    spanned = (
        '<table:table table:name="S"><table:table-row><table:table-cell '
        'table:number-rows-spanned="2"><text:p>Alpha</text:p>'
        "</table:table-cell><table:table-cell><text:p>Nut</text:p></table:table-cell></table:table-row><table:table-row>"
        "<table:covered-table-cell/><table:table-cell><text:p>Bolt</text:p></table:table-cell></table:table-row></table:table>"
    )
    assert "| Alpha | Bolt |" in text_of(opendocument(tmp_path / "a.ods", spanned, "spreadsheet"))


@pytest.mark.parametrize(
    ("top", "merged"),
    [
        ((("Region", "2023", None, "2024"), (None, "Plan", "Actual", "Plan", "Actual")), ""),
        ((("Region", "2023", None, "2024"), (None, "Plan", "Actual", "Plan", "Actual")), "A1:A2 B1:C1 D1:E1"),
        (
            (("Hires of all regions",), ("Region", "2023", None, "2024"), (None, "Plan", "Actual", "Plan", "Actual")),
            "A1:E1",
        ),
    ],
)
def test_heads_of_two_rows_stand_on_every_page(tmp_path: Path, top: tuple[tuple[str, ...], ...], merged: str) -> None:
    rows = "".join(row(at, *cells) for at, cells in enumerate(top, 1))
    rows += "".join(row(at, f"Region {at}", at, at + 1, at + 2, at + 3) for at in range(len(top) + 1, 180))
    listed = "".join(f'<mergeCell ref="{one}"/>' for one in merged.split())
    _, pages = read(sheet(tmp_path / "a.xlsx", rows, f"<mergeCells>{listed}</mergeCells>"))
    assert len(pages) > 1
    for page in pages:
        assert "| Region | 2023 Plan | 2023 Actual | 2024 Plan | 2024 Actual |\n|---" in page.text
    if len(top) == 3:
        assert pages[0].text.split("\n\n")[1] == "Hires of all regions"


def test_heads_of_one_row_take_no_row_of_figures_or_of_text(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text("Name,Town\nAnn,Oban\nBo,Mull\nCy,\n")
    assert "| Name | Town |\n|---|---|\n| Ann | Oban |" in text_of(file)
    file.write_text("Ledger\nYear;2024\n\nDate;Account;Amount\n1 May;4711;3\n2 May;4712;4\n")
    assert "Ledger\n\n| Year | 2024 |\n\n| Date | Account | Amount |\n|---" in text_of(file)
    file.write_text("sep=;\nId;Betrag\n1;2,50\n2;3,50\n")
    assert "sep=" not in text_of(file) and "| Id | Betrag |\n|---" in text_of(file)


def test_boxes_notes_and_raised_words_of_a_sheet_are_read(tmp_path: Path) -> None:
    book = xlsxwriter.Workbook(tmp_path / "a.xlsx")
    page = book.add_worksheet("Tides")
    raised, lowered = book.add_format({"font_script": 1}), book.add_format({"font_script": 2})
    page.write_rich_string(0, 0, "3.5×10", raised, "6", " m")
    page.write_rich_string(1, 0, "H", lowered, "2", "O")
    page.write_rich_string(2, 0, "x", raised, "n+1", " grows")
    page.insert_textbox(4, 1, "Assumption: high water")
    page.write_comment("A2", "measured at noon")
    page.set_header("&CHarbour office")
    book.close()
    text = text_of(tmp_path / "a.xlsx")
    for words in ("3.5×10^6 m", "H₂O", "x^(n+1) grows", "Assumption: high water", "measured at noon", "Harbour office"):
        assert words in text


@pytest.mark.parametrize("after", ['<dimension ref="1:4"/>', '<dimension ref="A1:XFD1048576"/>', ""])
def test_what_a_sheet_claims_of_itself_does_not_cost_its_rows(tmp_path: Path, after: str) -> None:
    last = '<row r="1048576"><c r="XFD1048576" s="1"/></row>'
    file = sheet(tmp_path / "a.xlsx", row(1, "Name", "Rating") + row(2, "First", 2) + last, after, state="show")
    assert "| Name | Rating |\n| First | 2 |" in text_of(file)


def test_untyped_and_pretty_printed_cells_of_opendocument_are_read(tmp_path: Path) -> None:
    cell = "\n  <table:table-cell>\n   <text:p>{}</text:p>\n  </table:table-cell>"
    rows = "".join(
        f"\n <table:table-row>{''.join(map(cell.format, cells))}\n </table:table-row>"
        for cells in (("Region", "Revenue"), ("North", "150000"), ("South", "98000"))
    )
    file = opendocument(
        tmp_path / "a.ods", f'\n<table:table table:name="Sales">{rows}\n</table:table>\n', "spreadsheet"
    )
    assert "| Region | Revenue |\n|---|---|\n| North | 150000 |" in text_of(file)


_XML = (
    '<?xml version="1.0"?><Workbook xmlns="urn:schemas-microsoft-com:office:spreadsheet" '
    'xmlns:ss="urn:schemas-microsoft-com:office:spreadsheet"><Worksheet ss:Name="Data"><Table><Row>'
    '<Cell><Data ss:Type="String">F-66</Data></Cell><Cell ss:Index="3"><Data ss:Type="Number">812.5</Data></Cell>'
    "</Row></Table></Worksheet></Workbook>"
)


@pytest.mark.parametrize(
    ("content", "shown"),
    [(_XML, "| F-66 |  | 812.5 |"), ("<html><table><tr><td>F-66<td>812.5</table>", "| F-66 | 812.5 |"),
     ("Id\tSum\nF-66\t812.5\n", "| F-66 | 812.5 |")],
)  # fmt: skip
def test_texts_named_as_workbooks_are_read_by_what_they_are(tmp_path: Path, content: str, shown: str) -> None:
    (tmp_path / "a.xls").write_text(content)
    assert shown in text_of(tmp_path / "a.xls")


@pytest.mark.parametrize(
    "head", [b"\x09\0\x04\0\x07\0\x10\0", b"\x09\x02\x06\0\0\0\x10\0", b"\x09\x04\x06\0\0\0\x10\0"]
)
def test_excel_of_before_1993_is_called_so(tmp_path: Path, head: bytes) -> None:
    (tmp_path / "a.xls").write_bytes(head + bytes(100))
    with pytest.raises(DocumentError, match=r"before 1993.*save it as XLSX"):
        read(tmp_path / "a.xls")


def test_xls_shows_formats_raised_and_struck_words_and_merges(tmp_path: Path) -> None:
    book = xlwt.Workbook()
    sheet = book.add_sheet("Ports")
    formats = ["", "0.0%", "00000", "yyyy-mm-dd", "[h]:mm", "0", "#,##0.00", "General"]
    values = ["dues", 0.153, 421, 45323, 1.520833, 1234567890123456, 1234.5, 0.1 + 0.2]
    for row, (code, value) in enumerate(zip(formats, values, strict=True)):
        sheet.write(row, 0, f"port {row}")
        sheet.write(row, 1, value, xlwt.easyxf(num_format_str=code) if code else xlwt.Style.default_style)
    sheet.write_rich_text(8, 0, ["10", ("6", xlwt.easyfont("escapement superscript")), " m"])
    sheet.write(8, 1, "old", xlwt.easyxf("font: struck_out on"))
    sheet.write_merge(9, 10, 0, 0, "Oban")
    sheet.write(9, 1, True)
    sheet.write(10, 1, "tern")
    book.save(str(tmp_path / "a.xls"))
    text = text_of(tmp_path / "a.xls")
    for at, shown in enumerate(["15.3%", "00421", "2024-02-01", "36:30", "1234567890123456", "1,234.50", "0.3"], 1):
        assert f"| port {at} | {shown} |" in text
    assert "| 10^6 m | ~~old~~ |" in text and "| Oban | TRUE |\n| Oban | tern |" in text


def test_ods_shows_times_and_formulas_without_values(tmp_path: Path) -> None:
    cells = [
        '<table:table-cell office:value-type="time" office:time-value="PT36H30M00S"/>',
        '<table:table-cell office:value-type="time" office:time-value="PT0H05M09S"/>',
        '<table:table-cell table:formula="of:=[.A1]*2"/>',
        '<table:table-cell table:formula="of:=SUM([.A1:.B2])"/>',
    ]
    rows = "".join(
        f"<table:table-row><table:table-cell><text:p>port {at}</text:p></table:table-cell>{cell}</table:table-row>"
        for at, cell in enumerate(cells)
    )
    body = f'<table:table table:name="S">{rows}</table:table>'
    text = text_of(opendocument(tmp_path / "a.ods", body, "spreadsheet"))
    assert [line.split(" | ")[1].strip(" |") for line in text.split("\n") if "port" in line] == [
        "36:30", "0:05:09", "=A1*2", "=SUM(A1:B2)",
    ]  # fmt: skip


@pytest.mark.parametrize("rows", [3, 120, 400])
def test_rows_are_freed_as_they_are_read(rows: int) -> None:
    grid = Grid(ParseLimits(), "a sheet")
    for number in range(1, rows + 1):
        grid.add(number, {0: f"name {number}", 1: f"{number}"})
    tables = [block for part in sheet_parts("S", grid) for block in part.blocks if isinstance(block, Table)]
    assert tables[-1].rows[-1] == (f"name {rows}", f"{rows}")
    assert not any(any(grid.row(at)) for at in range(rows))


def _sheet_xml(rows: str, styles: str = "", more: str = "") -> str:
    space = "urn:schemas-microsoft-com:office:spreadsheet"
    head = '<Row><Cell><Data ss:Type="String">a</Data></Cell><Cell><Data ss:Type="String">b</Data></Cell></Row>'
    return (
        f'<?xml version="1.0"?><Workbook xmlns="{space}" xmlns:ss="{space}"><Styles>{styles}</Styles>'
        f'<Worksheet ss:Name="S"><Table>{head}<Row ss:Hidden="0"><Cell><Data ss:Type="String">x</Data></Cell>{rows}'
        f"</Row></Table>{more}</Worksheet></Workbook>"
    )


@pytest.mark.parametrize(
    ("kind", "value", "code", "shown"),
    [
        ("Number", "0.153", "0.0%", "15.3%"), ("Number", "0.153", "Percent", "15.30%"),
        ("Number", "421", "00000", "00421"),
        ("Number", "1.5208333333", "[h]:mm", "36:30"), ("Number", "1234.5", "Standard", "1,234.50"),
        ("Number", "1234567890123456", "", "1234567890123456"), ("Number", "0", "Yes/No", "No"),
        ("Boolean", "1", "", "TRUE"), ("Error", "#N/A", "", "#N/A"),
        ("DateTime", "2024-02-01T00:00:00.000", "", "2024-02-01"),
        ("DateTime", "2024-02-01T00:00:00.000", "Short Date", "2024-02-01"),
        ("DateTime", "1900-01-01T12:30:00.000", "[h]:mm", "36:30"),
        ("DateTime", "1899-12-31T14:30:00.000", "Short Time", "14:30"),
        ("Number", "none", "0.0%", "none"),
    ],
)  # fmt: skip
def test_spreadsheetml_shows_number_formats(tmp_path: Path, kind: str, value: str, code: str, shown: str) -> None:
    styles = f'<Style ss:ID="p"><NumberFormat ss:Format="{code}"/></Style><Style ss:ID="s" ss:Parent="p"/>'
    cell = f'<Cell ss:StyleID="s"><Data ss:Type="{kind}">{value}</Data></Cell>'
    (tmp_path / "a.xls").write_text(_sheet_xml(cell, styles))
    assert f"| x | {shown} |" in text_of(tmp_path / "a.xls")


def _rich(text: str) -> str:
    return f'<Cell><ss:Data ss:Type="String" xmlns="http://www.w3.org/TR/REC-html40">{text}</ss:Data></Cell>'


@pytest.mark.parametrize(
    ("cell", "shown"),
    [
        (_rich("<Font>10</Font><Sup>6</Sup> m"), "10^6 m"),
        (_rich("was <S>old <B>price</B></S>"), "was ~~old price~~"),
        ('<Cell ss:StyleID="void"><Data ss:Type="Number">7</Data></Cell>', "~~7~~"),
    ],
)  # fmt: skip
def test_spreadsheetml_marks_raised_and_struck_words(tmp_path: Path, cell: str, shown: str) -> None:
    (tmp_path / "a.xls").write_text(_sheet_xml(cell, '<Style ss:ID="void"><Font ss:StrikeThrough="1"/></Style>'))
    assert f"| x | {shown} |" in text_of(tmp_path / "a.xls")


@pytest.mark.parametrize(
    ("formula", "shown"),
    [("=RC[-1]*2", "=A2*2"), ("=SUM(R1C1:R[-1]C)", "=SUM(A1:B1)"), ("=ROUND(R[3]C[25],1)", "=ROUND(AA5,1)")],
)
def test_spreadsheetml_notes_formulas_without_values_and_what_is_hidden(
    tmp_path: Path, formula: str, shown: str
) -> None:
    space = "urn:schemas-microsoft-com:office:excel"
    hidden = f'<WorksheetOptions xmlns="{space}"><Visible>SheetHidden</Visible></WorksheetOptions>'
    content = _sheet_xml(f'<Cell ss:Formula="{formula}"/>', more=hidden).replace('Hidden="0"', 'Hidden="1"')
    (tmp_path / "a.xls").write_text(content)
    info, pages = read(tmp_path / "a.xls")
    assert f"| x | {shown} |" in pages[0].text
    assert set(info.warnings) == {
        "sheet 'S': 1 formula has no stored value; the formula is shown",
        "sheet 'S': 1 row is hidden, but was read",
        "1 of 1 sheet is hidden, but was read",
    }


def test_opendocument_notes_formulas_without_values(tmp_path: Path) -> None:
    cell = '<table:table-cell office:value-type="string"><text:p>{}</text:p></table:table-cell>'
    row = f'<table:table-row>{cell.format("x")}<table:table-cell table:formula="of:=[.A2]*2"/></table:table-row>'
    head = f"<table:table-row>{cell.format('a')}{cell.format('b')}</table:table-row>"
    path = opendocument(tmp_path / "a.ods", f'<table:table table:name="S">{head}{row}</table:table>', "spreadsheet")
    info, pages = read(path)
    assert "| x | =A2*2 |" in pages[0].text
    assert info.warnings == ("sheet 'S': 1 formula has no stored value; the formula is shown",)


@pytest.mark.parametrize(
    ("head", "shown"),
    [
        ('<Header x:Data="&amp;LR&amp;&amp;D Unit&amp;RPage &amp;P"/>', "[header] R&D Unit Page"),
        ('<Footer x:Data="&amp;CBoard"/>', "[footer] Board"), ('<Header x:Margin="0.3"/>', ""),
    ],
)  # fmt: skip
def test_running_heads_of_spreadsheetml_are_read(tmp_path: Path, head: str, shown: str) -> None:
    space = "urn:schemas-microsoft-com:office"
    rows = "".join(f'<Cell><Data ss:Type="String">{text}</Data></Cell>' for text in "ab")
    look = f'<WorksheetOptions xmlns="{space}:excel" xmlns:x="{space}:excel"><PageSetup>{head}</PageSetup>'
    sheet = f'<Worksheet ss:Name="S"><Table><Row>{rows}</Row></Table>{look}</WorksheetOptions></Worksheet>'
    book = f'<Workbook xmlns="{space}:spreadsheet" xmlns:ss="{space}:spreadsheet">{sheet}</Workbook>'
    (tmp_path / "a.xls").write_text(f'<?xml version="1.0"?>{book}')
    assert text_of(tmp_path / "a.xls") == f"# S\n\n| a | b |\n\n{shown}".strip()


@pytest.mark.parametrize(("code", "shown"), [('"ID-"@', "ID-x1"), ('0;0;0;@" kg"', "x1 kg"), ("0.00", "x1")])
def test_texts_of_xls_show_the_words_of_their_formats(tmp_path: Path, code: str, shown: str) -> None:
    book = xlwt.Workbook()
    style = xlwt.easyxf(num_format_str=code)
    page = book.add_sheet("S")
    page.write(0, 0, "x1", style)
    page.write(0, 1, "b")
    book.save(str(tmp_path / "a.xls"))
    assert f"| {shown} | b |" in text_of(tmp_path / "a.xls")
