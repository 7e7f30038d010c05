"""Workbooks written by hand: comments of two kinds, shared formulas, hidden columns, controls, odd names and links."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
import xlwt

from indexers.formats.office.number_formats import show
from tests.indexers.formats.packages import packed, read, text_of

_MAIN = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"


def relation(id: str, kind: str, target: str) -> str:
    return f'<Relationship Id="{id}" Type="{_OFFICE}/{kind}" Target="{target}"/>'


def workbook(
    path: Path, rows: str, *, before: str = "", after: str = "", links: str = "",
    parts: Mapping[str, str | None] | None = None, formats: Sequence[str] = (),
) -> Path:  # fmt: skip
    """A workbook of a sheet. ``parts`` are more parts; None leaves one out."""
    codes = "".join(f'<numFmt numFmtId="{200 + at}" formatCode="{code}"/>' for at, code in enumerate(formats))
    looks = "".join(f'<xf numFmtId="{200 + at}"/>' for at in range(len(formats)))
    book = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"
    files: dict[str, str | None] = {
        "[Content_Types].xml": f'<Types><Override PartName="/xl/workbook.xml" ContentType="{book}"/></Types>',
        "_rels/.rels": f"<Relationships>{relation('r', 'officeDocument', 'xl/workbook.xml')}</Relationships>",
        "xl/workbook.xml": f'<workbook {_MAIN} xmlns:r="{_OFFICE}"><sheets><sheet name="S" sheetId="1" r:id="r1"/>'
        "</sheets></workbook>",
        "xl/_rels/workbook.xml.rels": "<Relationships>" + relation("r1", "worksheet", "worksheets/sheet1.xml")
        + relation("r2", "styles", "styles.xml") + relation("r3", "sharedStrings", "sharedStrings.xml")
        + "</Relationships>",
        "xl/styles.xml": f"<styleSheet {_MAIN}><numFmts>{codes}</numFmts><cellXfs><xf/>{looks}</cellXfs></styleSheet>",
        "xl/worksheets/sheet1.xml": f'<worksheet {_MAIN} xmlns:r="{_OFFICE}">{before}<sheetData>{rows}</sheetData>'
        f"{after}</worksheet>",
        "xl/worksheets/_rels/sheet1.xml.rels": f"<Relationships>{links}</Relationships>",
        **(parts or {}),
    }  # fmt: skip
    return packed(path, {name: content for name, content in files.items() if content is not None})


def row(number: int, *cells: str) -> str:
    return f'<row r="{number}">{"".join(cells)}</row>'


def word(place: str, text: str) -> str:
    return f'<c r="{place}" t="inlineStr"><is><t>{text}</t></is></c>'


_TWO = row(1, word("A1", "a"), word("B1", "b")) + row(2, word("A2", "1"), word("B2", "2"))
_BOILERPLATE = {
    "en": "[Threaded comment]\n\nYour version of Excel allows you to read this threaded comment; however, any edits to "
    "it will get removed if the file is opened in a newer version of Excel. Learn more: https://go.microsoft.com/fwlink"
    "/?linkid=870924\n\nComment:\n    ",
    "de": "[Threadkommentar]\n\nIhre Version von Excel gestattet Ihnen das Lesen dieses Threadkommentars; jegliche "
    "Bearbeitungen daran werden jedoch entfernt, wenn die Datei in einer neueren Version von Excel geöffnet wird. "
    "Weitere Informationen: https://go.microsoft.com/fwlink/?linkid=870924\n\nKommentar:\n    ",
}


@pytest.mark.parametrize("language", ["en", "de"])
@pytest.mark.parametrize("both", [True, False])
def test_threaded_comments_are_said_once_and_without_the_words_of_the_program(
    tmp_path: Path, language: str, both: bool
) -> None:
    old = f'<comment ref="A2"><text><t>{_BOILERPLATE[language]}the real words</t></text></comment>'
    plain = '<comment ref="B2"><text><t>[sic] so: stated</t></text></comment>'
    parts: dict[str, str | None] = {"xl/c.xml": f"<comments {_MAIN}><commentList>{old}{plain}</commentList></comments>"}
    links = relation("c1", "comments", "../c.xml")
    if both:
        parts["xl/t.xml"] = '<T><threadedComment ref="A2"><text>the real words</text></threadedComment></T>'
        links += relation("c2", "threadedComment", "../t.xml")
    text = text_of(workbook(tmp_path / "a.xlsx", _TWO, links=links, parts=parts))
    assert text.count("the real words") == 1 and "Excel" not in text and "[sic] so: stated" in text


def test_shared_formulas_without_values_name_the_cells_of_their_row(tmp_path: Path) -> None:
    master = "SUM(A2:$B2)*A$1&amp;'A1 x'!C2&amp;\"A2\"+LOG10(A2)"
    rows = row(1, word("A1", "n"), word("B1", "m")) + row(
        2, '<c r="A2"><v>2</v></c>', f'<c r="B2"><f t="shared" ref="B2:C4" si="0">{master}</f></c>'
    )
    rows += row(
        3, '<c r="A3"><v>3</v></c>', '<c r="B3"><f t="shared" si="0"/></c>', '<c r="C3"><f t="shared" si="0"/></c>'
    )
    text = text_of(workbook(tmp_path / "a.xlsx", rows))
    assert "=SUM(A2:$B2)*A$1&'A1 x'!C2&\"A2\"+LOG10(A2)" in text
    assert "=SUM(A3:$B3)*A$1&'A1 x'!C3&\"A2\"+LOG10(A3) | =SUM(B3:$B3)*B$1&'A1 x'!D3&\"A2\"+LOG10(B3)" in text


@pytest.mark.parametrize(
    ("parts", "rows", "shown"),
    [
        ({}, _TWO.replace('r="A2"', 'r="a2"').replace('r="B2"', 'r="c2"'), "| 1 |  | 2 |"),
        ({"xl/_rels/workbook.xml.rels": None}, _TWO, "| 1 | 2 |"),
        ({"xl/SharedStrings.xml": f"<sst {_MAIN}><si><t>shared</t></si></sst>"},
         row(1, '<c r="A1" t="s"><v>0</v></c>', word("B1", "x")), "| shared | x |"),
        ({"xl/_rels/workbook.xml.rels": f'<R>{relation("r1", "worksheet", "worksheets/sheet%201.xml")}</R>',
          "xl/worksheets/sheet%201.xml": f"<worksheet {_MAIN}><sheetData>{_TWO}</sheetData></worksheet>"},
         "", "| 1 | 2 |"),
        ({"xl/_rels/workbook.xml.rels": f'<R>{relation("r1", "worksheet", "worksheets" + chr(92) + "sheet1.xml")}</R>'},
         _TWO, "| 1 | 2 |"),
    ],
)  # fmt: skip
def test_odd_names_of_parts_and_cells(tmp_path: Path, parts: dict[str, str | None], rows: str, shown: str) -> None:
    assert shown in text_of(workbook(tmp_path / "a.xlsx", rows, parts=parts))


def test_hidden_columns_are_counted_where_they_hold_anything(tmp_path: Path) -> None:
    hidden = '<cols><col min="2" max="2" hidden="1"/><col min="3" max="16384" hidden="1"/></cols>'
    note = "sheet 'S': 1 column is hidden, but was read"
    assert note in read(workbook(tmp_path / "a.xlsx", _TWO, before=hidden))[0].warnings
    book = xlwt.Workbook()
    sheet = book.add_sheet("S")
    for at in range(4):
        sheet.write(at % 2, at // 2, f"w{at}")
    sheet.col(1).hidden = sheet.col(5).hidden = True
    book.save(str(tmp_path / "a.xls"))
    assert note in read(tmp_path / "a.xls")[0].warnings


def test_captions_of_controls_are_read(tmp_path: Path) -> None:
    def control(kind: str, words: str, more: str = "") -> str:
        return (
            f'<v:shape><v:textbox><div><font face="Arial">{words}</font></div></v:textbox><x:ClientData '
            f'ObjectType="{kind}"><x:Anchor>0, 0, 1, 0, 1, 1, 4, 1</x:Anchor>{more}</x:ClientData></v:shape>'
        )

    drawing = (
        '<xml xmlns:v="urn:schemas-microsoft-com:vml" xmlns:x="urn:schemas-microsoft-com:office:excel">'
        + control("Checkbox", "agreed<br>fully", "<x:Checked>1</x:Checked>") + control("Radio", "other way")
        + control("Button", "Send") + control("Note", "a comment") + "</xml>"
    )  # fmt: skip
    links = relation("v", "vmlDrawing", "../v.vml")
    text = text_of(workbook(tmp_path / "a.xlsx", _TWO, links=links, parts={"xl/v.vml": drawing}))
    assert "☒ agreed fully" in text and "☐ other way" in text and "Send" in text and "a comment" not in text


def test_dates_that_are_texts_and_merges_in_single_quotes(tmp_path: Path) -> None:
    rows = row(1, word("A1", "Group"), word("B1", "Day")) + row(
        2, word("A2", "Alpha"), '<c r="B2" t="d"><v>2024-02-15T00:00:00.000</v></c>'
    )
    rows += row(3, '<c r="B3" t="d"><v>2024-02-15T10:30:00.000Z</v></c>')
    text = text_of(workbook(tmp_path / "a.xlsx", rows, after="<mergeCells><mergeCell ref='A2:A3'/></mergeCells>"))
    assert "| Alpha | 2024-02-15 |\n| Alpha | 2024-02-15 10:30:00 |" in text


@pytest.mark.parametrize(
    ("number", "code", "shown"),
    [
        (5, 'General" units"', "5 units"),
        (-5, 'General" up";General" down"', "5 down"),
        (45337, "[$-804]aaaa;@", "2024-02-15"),
        (0.00012, "0.0E+0", "1.2E-4"),
        (12345678, "0.00E-00", "1.23E07"),
        (90.5 / 86400, "mm:ss.0", "01:30.5"),
        (0.5 + 1.25 / 86400, "h:mm:ss.00", "12:00:01.25"),
    ],
)
def test_formats_of_words_weekdays_and_parts_of_seconds(number: float, code: str, shown: str) -> None:
    assert show(number, code) == shown


@pytest.mark.parametrize(("id", "shown"), [(44, "$1,234.50"), (7, "$1,234.50"), (41, "1,235"), (39, "1,234.50")])
def test_formats_that_a_file_names_by_number(tmp_path: Path, id: int, shown: str) -> None:
    styles = f'<styleSheet {_MAIN}><cellXfs><xf/><xf numFmtId="{id}"/></cellXfs></styleSheet>'
    rows = row(1, word("A1", "n"), '<c r="B1" s="1"><v>1234.5</v></c>')
    assert f"| n | {shown} |" in text_of(workbook(tmp_path / "a.xlsx", rows, parts={"xl/styles.xml": styles}))


def _running(*heads: tuple[str, str]) -> str:
    return f"<headerFooter>{''.join(f'<{kind}>{code}</{kind}>' for kind, code in heads)}</headerFooter>"


@pytest.mark.parametrize(
    ("heads", "shown"),
    [
        ([("oddHeader", "&amp;L&amp;&quot;Arial,Bold&quot;&amp;12R&amp;&amp;D Unit&amp;C&amp;KFF0000Secret&amp;P")],
         ["[header] R&D Unit Secret"]),
        ([("firstHeader", "Cover &amp;K01+000only"), ("firstFooter", "&amp;CFirst foot")],
         ["[header] Cover only", "[footer] First foot"]),
        ([("oddHeader", "Same"), ("evenHeader", "&amp;RSame"), ("evenFooter", "Even foot")],
         ["[header] Same", "[footer] Even foot"]),
    ],
)  # fmt: skip
def test_running_heads_of_all_pages_are_read_once(
    tmp_path: Path, heads: list[tuple[str, str]], shown: list[str]
) -> None:
    lines = text_of(workbook(tmp_path / "a.xlsx", _TWO, after=_running(*heads))).split("\n\n")
    assert [part for part in lines if part.startswith(("[header]", "[footer]"))] == shown


@pytest.mark.parametrize(
    ("formula", "shown"),
    [
        ("_xlfn.XLOOKUP(B2,C:C,D:D)", "=XLOOKUP(B2,C:C,D:D)"), ("_xlfn._xlws.SORT(A1:A9)", "=SORT(A1:A9)"),
        ("_xlfn.LET(_xlpm.x,1,_xlpm.x)", "=LET(x,1,x)"), ("_xlfn.DISPIMG(&quot;ID_1&quot;,1)", ""),
    ],
)  # fmt: skip
def test_formulas_without_values_show_no_prefixes_of_the_file_format(tmp_path: Path, formula: str, shown: str) -> None:
    rows = row(1, word("A1", "h"), word("B1", "k")) + row(2, f'<c r="A2"><f>{formula}</f></c>', word("B2", "z"))
    assert f"| {shown} | z |" in text_of(workbook(tmp_path / "a.xlsx", rows))


@pytest.mark.parametrize(
    ("code", "cell", "shown"),
    [
        ("&quot;ID-&quot;@", '<c r="A2" s="1" t="inlineStr"><is><t>77a</t></is></c>', "ID-77a"),
        ("0;-0;0;@&quot; kg&quot;", '<c r="A2" s="1" t="str"><v>about 5</v></c>', "about 5 kg"),
        ("&quot;No. &quot;@", '<c r="A2" s="1"><v>7</v></c>', "No. 7"),
        ("0;-0;0;", '<c r="A2" s="1" t="str"><v>kept</v></c>', "kept"),
        ("0.00", '<c r="A2" s="1" t="str"><v>as it is</v></c>', "as it is"),
        ("General", '<c r="A2" s="1" t="str"><v>=DISPIMG(&quot;ID_1&quot;,1)</v></c>', ""),
    ],
)  # fmt: skip
def test_texts_show_the_words_of_their_formats(tmp_path: Path, code: str, cell: str, shown: str) -> None:
    rows = row(1, word("A1", "h"), word("B1", "k")) + row(2, cell, word("B2", "z"))
    assert f"| {shown} | z |" in text_of(workbook(tmp_path / "a.xlsx", rows, formats=[code]))


_DRAWN = "http://schemas.openxmlformats.org/drawingml/2006/main"
_DIAGRAM = "http://schemas.openxmlformats.org/drawingml/2006/diagram"
_CHART = "http://schemas.openxmlformats.org/drawingml/2006/chart"


def _frame(inside: str) -> str:
    return f"<x:graphicFrame><a:graphic><a:graphicData>{inside}</a:graphicData></a:graphic></x:graphicFrame>"


@pytest.mark.parametrize(
    ("shape", "shown"),
    [
        (_frame(f'<d:relIds xmlns:d="{_DIAGRAM}" r:dm="dm"/>'), "node"),
        (_frame(f'<c:chart xmlns:c="{_CHART}" r:id="ch"/>'), "linked title"),
        ('<x:grpSp><x:sp><x:nvSpPr><x:cNvPr id="3" name="x" title="a title"/></x:nvSpPr></x:sp></x:grpSp>', "a title"),
    ],
)
def test_diagrams_titles_of_charts_and_of_shapes_are_read(tmp_path: Path, shape: str, shown: str) -> None:
    spaces = f'xmlns:x="urn:x" xmlns:a="{_DRAWN}" xmlns:r="{_OFFICE}"'
    copy = '<c:strRef><c:strCache><c:pt idx="0"><c:v>linked title</c:v></c:pt></c:strCache></c:strRef>'
    title = f"<c:title><c:tx>{copy}</c:tx></c:title>"
    anchor = f"<x:twoCellAnchor><x:from><x:row>1</x:row></x:from>{shape}</x:twoCellAnchor>"
    parts: dict[str, str | None] = {
        "xl/d.xml": f"<x:wsDr {spaces}>{anchor}</x:wsDr>",
        "xl/_rels/d.xml.rels": f"<R>{relation('dm', 'diagramData', 'dm.xml')}{relation('ch', 'chart', 'ch.xml')}</R>",
        "xl/dm.xml": f'<d:dataModel xmlns:d="{_DIAGRAM}" xmlns:a="{_DRAWN}"><d:pt modelId="1"><d:t><a:p><a:r><a:t>'
        "node</a:t></a:r></a:p></d:t></d:pt></d:dataModel>",
        "xl/ch.xml": f'<c:chartSpace xmlns:c="{_CHART}"><c:chart>{title}</c:chart></c:chartSpace>',
    }  # fmt: skip
    assert shown in text_of(
        workbook(tmp_path / "a.xlsx", _TWO, links=relation("d", "drawing", "../d.xml"), parts=parts)
    )


@pytest.mark.parametrize("link", ["none", "r3", ""])
def test_sheets_without_a_relation_are_found_by_their_number(tmp_path: Path, link: str) -> None:
    book = (
        f'<workbook {_MAIN} xmlns:r="{_OFFICE}"><sheets><sheet name="S" sheetId="1" r:id="{link}"/></sheets></workbook>'
    )
    text = text_of(workbook(tmp_path / "a.xlsx", _TWO, parts={"xl/workbook.xml": book}))
    assert text == "# S\n\n| a | b |\n| 1 | 2 |"
    missing = book.replace("<sheets>", f'<sheets><sheet name="Lost" sheetId="2" r:id="{link}"/>').replace(
        f'name="S" sheetId="1" r:id="{link}"', 'name="S" sheetId="1" r:id="r1"'
    )
    assert text_of(workbook(tmp_path / "b.xlsx", _TWO, parts={"xl/workbook.xml": missing})) == text


@pytest.mark.parametrize(
    ("cell", "shown"),
    [
        ('<c r="A2" s="1" t="inlineStr"><is><t>ü</t></is></c>', "✓"),
        (
            '<c r="A2" t="inlineStr"><is><r><rPr><rFont val="Wingdings"/></rPr><t>ü</t></r><r><t> ü</t></r></is></c>',
            "✓ ü",
        ),
        ('<c r="A2" s="2" t="inlineStr"><is><t>a</t></is></c>', "α"),
        ('<c r="A2" s="0" t="inlineStr"><is><t>ü</t></is></c>', "ü"),
        (
            '<c r="A2" s="1" t="inlineStr"><is><r><rPr><rFont val="Wingdings"/></rPr><t>ü</t></r><r><rPr>'
            '<rFont val="Arial"/></rPr><t> lox</t></r></is></c>',
            "✓ lox",
        ),
        ('<c r="A2" s="3" t="inlineStr"><is><t>a word</t></is></c>', "a word"),
    ],
)
def test_signs_of_fonts_without_letters_in_cells(tmp_path: Path, cell: str, shown: str) -> None:
    fonts = "".join(f'<font><name val="{name}"/></font>' for name in ("Arial", "Wingdings", "Symbol", "Symbola"))
    looks = "".join(f'<xf fontId="{at}"/>' for at in range(4))
    styles = f"<styleSheet {_MAIN}><fonts>{fonts}</fonts><cellXfs>{looks}</cellXfs></styleSheet>"
    rows = row(1, word("A1", "h"), word("B1", "k")) + row(2, cell, word("B2", "z"))
    assert f"| {shown} | z |" in text_of(workbook(tmp_path / "a.xlsx", rows, parts={"xl/styles.xml": styles}))
    book = xlwt.Workbook()
    page = book.add_sheet("S")
    page.write(0, 0, "ü", xlwt.easyxf("font: name Wingdings"))
    page.write(0, 1, "ü")
    book.save(str(tmp_path / "a.xls"))
    assert "| ✓ | ü |" in text_of(tmp_path / "a.xls")
