"""Forms that carry meaning in office files: raised words, equations, diagrams, form fields, nested and long tables."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import pptx
import pytest
import xlsxwriter
from lxml import etree
from pptx.util import Inches

from indexers.formats.flow.linear import Piece, equation, linear
from indexers.formats.limits import ParseLimits
from indexers.formats.office.ooxml import diagram_lines, office_members
from tests.indexers.formats.packages import docx, opendocument, packed, paragraph, read, repacked, text_of, titles

_MATH = "http://schemas.openxmlformats.org/officeDocument/2006/math"
_DIAGRAM = "http://schemas.openxmlformats.org/drawingml/2006/diagram"
_DRAWN = "http://schemas.openxmlformats.org/drawingml/2006/main"


@pytest.mark.parametrize(
    ("pieces", "line"),
    [
        ([("3.5×10", 0), ("6", 1), (" m", 0), ("3", 1), ("/s", 0)], "3.5×10^6 m^3/s"),
        ([("10", 0), ("−", 1), ("6", 1), (" mol", 0)], "10^−6 mol"),
        ([("e", 0), ("x+1", 1)], "e^(x+1)"),
        ([("H", 0), ("2", -1), ("O and CO", 0), ("2", -1)], "H₂O and CO₂"),
        ([("x", 0), ("i", -1), (", y", 0), ("max", -1)], "x_i, y_max"),
        ([("the 2", 0), ("nd", 1), (" Acme", 0), ("®", 1)], "the 2nd Acme®"),
        ([("in 1984", 0), ("3", 1), (" it", 0), ("[4]", 1)], "in 1984^3 it[4]"),
    ],
)
def test_raised_words_never_read_as_part_of_what_stands_before(pieces: list[tuple[str, int]], line: str) -> None:
    assert linear(Piece(text, shift) for text, shift in pieces) == line


def test_struck_words_are_marked() -> None:
    assert linear([Piece("due "), Piece("May ", struck=True), Piece("June")]) == "due ~~May~~ June"


def run(text: str) -> str:
    return f"<m:r><m:t>{text}</m:t></m:r>"


@pytest.mark.parametrize(
    ("inside", "line"),
    [
        (f"{run('E=')}<m:f><m:num>{run('x+1')}</m:num><m:den>{run('2')}</m:den></m:f>{run('+')}"
         f"<m:sSup><m:e>{run('y')}</m:e><m:sup>{run('3')}</m:sup></m:sSup>", "E=(x+1)/2+y^3"),
        (f"<m:rad><m:deg/><m:e>{run('a+b')}</m:e></m:rad>{run('=')}<m:rad><m:deg>{run('3')}</m:deg><m:e>{run('c')}</m:e>"
         "</m:rad>", "√(a+b)=root(3; c)"),
        (f'<m:nary><m:naryPr><m:chr m:val="∑"/></m:naryPr><m:sub>{run("i=1")}</m:sub><m:sup>{run("n")}</m:sup>'
         f"<m:e><m:sSub><m:e>{run('x')}</m:e><m:sub>{run('i')}</m:sub></m:sSub></m:e></m:nary>", "∑_(i=1)^n x_i"),
        (f"<m:d><m:dPr/><m:e><m:m><m:mr><m:e>{run('1')}</m:e><m:e>{run('0')}</m:e></m:mr><m:mr><m:e>{run('0')}</m:e>"
         f"<m:e>{run('1')}</m:e></m:mr></m:m></m:e></m:d>", "([1, 0; 0, 1])"),
    ],
)  # fmt: skip
def test_equations_of_word_are_a_line(tmp_path: Path, inside: str, line: str) -> None:
    body = f'<w:p><w:r><w:t>So </w:t></w:r><m:oMath xmlns:m="{_MATH}">{inside}</m:oMath></w:p>'
    assert text_of(docx(tmp_path / "a.docx", body)) == f"So {line}"


@pytest.mark.parametrize(
    ("inside", "line"),
    [
        ("<mfrac><mrow><mi>x</mi><mo>+</mo><mn>1</mn></mrow><mn>2</mn></mfrac>", "(x+1)/2"),
        ("<msup><mi>y</mi><mn>3</mn></msup><mo>=</mo><msqrt><mi>z</mi></msqrt>", "y^3=√(z)"),
        ("<munderover><mo>∑</mo><mrow><mi>i</mi><mo>=</mo><mn>1</mn></mrow><mi>n</mi></munderover>", "∑_(i=1)^n"),
    ],
)
def test_equations_of_mathml_are_a_line(inside: str, line: str) -> None:
    root = etree.fromstring(f'<math xmlns="http://www.w3.org/1998/Math/MathML">{inside}</math>')
    assert equation(root) == line


def test_deep_equations_keep_their_words() -> None:
    inside = run("x")
    for _ in range(80):
        inside = f"<m:d><m:e>{inside}</m:e></m:d>"
    root = etree.fromstring(f'<m:oMath xmlns:m="{_MATH}">{inside}</m:oMath>')
    assert "x" in equation(root)


@pytest.mark.parametrize("order", [(3, 1, 2), (1, 2, 3), (2, 3, 1)])
def test_a_diagram_is_read_by_its_connections(order: tuple[int, ...]) -> None:
    words = {1: "Receive", 2: "Check", 3: "Ship"}
    points = "".join(
        f'<d:pt modelId="{at}"><d:t><a:p><a:r><a:t>{words[at]}</a:t></a:r></a:p></d:t></d:pt>' for at in order
    )
    lines = "".join(f'<d:cxn srcId="0" destId="{at}" srcOrd="{at - 1}"/>' for at in (2, 3, 1))
    root = etree.fromstring(
        f'<d:dataModel xmlns:d="{_DIAGRAM}" xmlns:a="{_DRAWN}">'
        f'<d:ptLst><d:pt modelId="0" type="doc"/>{points}</d:ptLst>'
        f"<d:cxnLst>{lines}</d:cxnLst></d:dataModel>"
    )
    assert list(diagram_lines(root)) == [(0, "Receive"), (0, "Check"), (0, "Ship")]
    for one in root.findall(f".//{{{_DIAGRAM}}}cxn"):
        one.getparent().remove(one)  # type: ignore[union-attr]
    assert {line for _, line in diagram_lines(root)} == set(words.values())


def test_form_fields_and_signs_are_read_as_they_show(tmp_path: Path) -> None:
    def field(inside: str) -> str:
        return f'<w:p><w:r><w:fldChar w:fldCharType="begin"><w:ffData>{inside}</w:ffData></w:fldChar></w:r></w:p>'

    body = (
        field("<w:checkBox><w:default w:val='0'/><w:checked/></w:checkBox>")
        + field("<w:checkBox><w:default w:val='0'/></w:checkBox>")
        + field("<w:ddList><w:result w:val='1'/><w:listEntry w:val='red'/><w:listEntry w:val='blue'/></w:ddList>")
        + '<w:p><w:r><w:sym w:font="Wingdings" w:char="F0FE"/>'
        '<w:t> paid, 20</w:t><w:sym w:font="Symbol" w:char="F0B0"/></w:r></w:p>'
    )  # fmt: skip
    assert text_of(docx(tmp_path / "a.docx", body)).split("\n\n") == ["☒", "☐", "blue", "☒ paid, 20°"]


@pytest.mark.parametrize("look", ['<w:vertAlign w:val="superscript"/>', '<w:rStyle w:val="Raised"/>'])
def test_raised_runs_of_word_by_their_own_look_or_a_style(tmp_path: Path, look: str) -> None:
    style = '<w:style w:type="character" w:styleId="Raised"><w:rPr><w:vertAlign w:val="superscript"/></w:rPr></w:style>'
    body = f"<w:p><w:r><w:t>10</w:t></w:r><w:r><w:rPr>{look}</w:rPr><w:t>6</w:t></w:r><w:r><w:t> m</w:t></w:r></w:p>"
    assert text_of(docx(tmp_path / "a.docx", body, style)) == "10^6 m"


def test_raised_words_of_slides_texts_and_rtf(tmp_path: Path) -> None:
    deck = pptx.Presentation()
    frame = deck.slides.add_slide(deck.slide_layouts[6]).shapes.add_textbox(0, 0, Inches(3), Inches(1)).text_frame
    for text, raised in (("3×10", 0), ("6", 30000), (" of H", 0), ("2", -25000), ("O", 0)):
        part = frame.paragraphs[0].add_run()
        part.text = text
        part.font._element.set("baseline", str(raised))
    deck.save(str(tmp_path / "a.pptx"))
    assert text_of(tmp_path / "a.pptx") == "3×10^6 of H₂O"
    styles = '<style:style style:name="up"><style:text-properties style:text-position="super 58%"/></style:style>'
    body = '<text:p>3×10<text:span text:style-name="up">6</text:span> m</text:p>'
    assert text_of(opendocument(tmp_path / "a.odt", body, styles=styles)) == "3×10^6 m"
    (tmp_path / "a.rtf").write_bytes(
        rb"{\rtf1\ansi{\fonttbl{\f0\fnil Arial;}}3 x 10{\super\f0 6} m, H{\sub 2}O, x\super 2\nosupersub  end.\par}"
    )
    assert text_of(tmp_path / "a.rtf") == "3 x 10^6 m, H₂O, x^2 end."


def test_rtf_keeps_footnotes_and_the_characters_of_each_font(tmp_path: Path) -> None:
    file = tmp_path / "a.rtf"
    file.write_bytes(
        rb"{\rtf1\ansi\ansicpg1252{\fonttbl{\f0\fnil Arial;}{\f1\fnil\fcharset134 SimSun;}{\f2\fcharset204 Arial;}}"
        rb"\f0 caf\'e9{\footnote {\super\chftn} so the {\b keeper} said\par} ends.\par \f1\'bc\'db\'b8\'f1\par "
        rb"\f2\'d6\'e5\'ed\'e0\par}"
    )
    text = text_of(file)
    assert "café" in text and "so the keeper said" in text and "ends." in text and "价格" in text and "Цена" in text


def test_a_shape_in_alternatives_is_kept_once(tmp_path: Path) -> None:
    deck = pptx.Presentation()
    shapes = deck.slides.add_slide(deck.slide_layouts[6]).shapes
    for text in ("preferred", "other"):
        shapes.add_textbox(0, 0, Inches(3), Inches(1)).text_frame.text = text
    tree, space = shapes._spTree, "http://schemas.openxmlformats.org/markup-compatibility/2006"
    alternatives = etree.SubElement(tree, f"{{{space}}}AlternateContent")
    for name, shape in zip(("Choice", "Fallback"), list(shapes), strict=True):
        etree.SubElement(alternatives, f"{{{space}}}{name}").append(shape._element)
    deck.save(str(tmp_path / "a.pptx"))
    assert text_of(tmp_path / "a.pptx") == "preferred"


def test_heading_styles_are_known_by_their_names_in_other_languages(tmp_path: Path) -> None:
    names = ("Überschrift 1", "Titre 2", "标题 1", "Heading 3")
    styles = "".join(
        f'<w:style w:type="paragraph" w:styleId="s{at}"><w:name w:val="{name}"/></w:style>'
        for at, name in enumerate(names)
    )
    body = "".join(paragraph(f"Title {at}", f"s{at}") for at in range(len(names)))
    assert titles(docx(tmp_path / "a.docx", body, styles)) == [
        (1, "Title 0"),
        (2, "Title 1"),
        (1, "Title 2"),
        (3, "Title 3"),
    ]


def table(rows: list[list[str]]) -> str:
    cells = (
        "".join(f"<w:tc>{cell if cell.startswith('<w:') else paragraph(cell)}</w:tc>" for cell in row) for row in rows
    )
    return f"<w:tbl>{''.join(f'<w:tr>{row}</w:tr>' for row in cells)}</w:tbl>"


def test_a_table_in_a_cell_stands_between_the_paragraphs_of_the_cell(tmp_path: Path) -> None:
    inner = paragraph("before") + table([["Item", "Cost"], ["Gasket", "17"]]) + paragraph("after")
    text = text_of(docx(tmp_path / "a.docx", table([["A", "B"], ["x", inner]])))
    assert "| x | before Item · Cost; Gasket · 17 after |" in text
    boxed = text_of(docx(tmp_path / "b.docx", table([[inner]])))
    assert boxed.startswith("before\n") and "| Gasket | 17 |" in boxed


@pytest.mark.parametrize("rows", [80, 200, 600])
def test_heads_are_repeated_where_a_table_goes_on_over_a_page(tmp_path: Path, rows: int) -> None:
    lines = [
        ["Code", "Product", "Unit price"],
        *([f"P-{at:04}", f"Widget number {at} in blue", f"{at}.50"] for at in range(rows)),
    ]
    body = (
        paragraph("Prices")
        + table(lines)
        + paragraph("After", properties='<w:outlineLvl w:val="0"/>')
        + paragraph("end")
    )
    info, pages = read(docx(tmp_path / "a.docx", body))
    assert len(pages) > 1
    text = "\n".join(page.text for page in pages)
    for page in pages:
        assert "| Code | Product | Unit price |\n|---|---|---|\n" in page.text or "P-" not in page.text
    assert [line for line in text.split("\n") if "Widget" in line] == [f"| {' | '.join(row)} |" for row in lines[1:]]
    (heading,) = info.headings or ()
    assert pages[heading.page - 1].text.split("\n")[heading.line] == "# After"


def _book(words: str) -> bytes:
    held = io.BytesIO()
    with xlsxwriter.Workbook(held) as book:
        book.add_worksheet().write(0, 0, words)
    return held.getvalue()


def _native(name: str, data: bytes) -> bytes:
    path = b"C:\\a\0"
    inside = b"\x02\0" + name.encode() + b"\0" + path + b"\0\0\x03\0" + len(path).to_bytes(4, "little") + path
    inside += len(data).to_bytes(4, "little") + data
    return len(inside).to_bytes(4, "little") + inside


def test_embedded_files_are_members_and_the_workbooks_of_charts_are_not(tmp_path: Path) -> None:
    made = docx(tmp_path / "a.docx", paragraph("kelp"))
    with zipfile.ZipFile(made) as package:
        parts: dict[str, str | bytes] = {name: package.read(name) for name in package.namelist()}
    relation = (
        '<Relationships><Relationship Id="r" Type="x/package" Target="../embeddings/chart.xlsx"/></Relationships>'
    )
    file = packed(tmp_path / "b.docx", {
        **parts, "word/embeddings/pumps.xlsx": _book("pump"), "word/embeddings/chart.xlsx": _book("chart"),
        "word/embeddings/note.docx": made.read_bytes(), "word/embeddings/object1.bin": made.read_bytes(),
        "word/charts/chart1.xml": "<c/>", "word/charts/_rels/chart1.xml.rels": relation,
    })  # fmt: skip
    members = {one.name: b"".join(one.read()) for one in office_members(file, ParseLimits())}
    assert list(members) == ["pumps.xlsx", "note.docx", "object1.docx"]
    assert members["pumps.xlsx"].startswith(b"PK")
    assert members["object1.docx"] == made.read_bytes()


def test_a_wrapped_file_keeps_its_name() -> None:
    from indexers.formats.office.ooxml import _native as unwrap

    assert unwrap(_native("offer.txt", b"kelp and gull")) == ("offer.txt", b"kelp and gull")
    assert unwrap(_native("C:\\x\\list.pdf", b"%PDF-1.4")) == ("list.pdf", b"%PDF-1.4")
    assert unwrap(b"\x04\0\0\0kelp") == ("", b"kelp")


def test_notes_of_a_slide_keep_all_that_lies_on_their_page(tmp_path: Path) -> None:
    deck = pptx.Presentation()
    for at in range(2):
        slide = deck.slides.add_slide(deck.slide_layouts[6])
        slide.notes_slide.notes_text_frame.text = f"say {at}"
        box = slide.shapes.add_textbox(0, 0, Inches(1), Inches(1))
        box.text_frame.text = f"aside {at}"
        slide.notes_slide.shapes._spTree.append(box._element)
    deck.save(str(tmp_path / "a.pptx"))
    assert [page.text.split("\n\n") for page in read(tmp_path / "a.pptx")[1]] == [
        ["[notes] say 0", "[notes] aside 0"], ["[notes] say 1", "[notes] aside 1"]
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("streams", "kind"),
    [({"EncryptionInfo": b'uri="x/keyEncryptor/certificate"'}, "encrypted for a certificate"),
     ({"EncryptionInfo": b'"keyEncryptor/certificate" "keyEncryptor/password"'}, "encrypted"),
     ({"DRMEncryptedDataSpace": b""}, "protected by rights")],
)  # fmt: skip
def test_the_kind_of_encryption_is_told(streams: dict[str, bytes], kind: str) -> None:
    from indexers.formats.detect import _encryption

    class Streams:
        def listdir(self) -> list[list[str]]:
            return [[name] for name in streams]

        def exists(self, name: str) -> bool:
            return name in streams

        def openstream(self, name: str) -> io.BytesIO:
            return io.BytesIO(streams[name])

    assert _encryption(Streams()) == kind


def test_merged_cells_and_two_rows_of_heads_of_word_and_opendocument(tmp_path: Path) -> None:
    def row(*cells: str, kind: str = "") -> str:
        return f"<w:tr><w:trPr>{kind}</w:trPr>{''.join(cells)}</w:tr>"

    def cell(text: str, merge: str = "") -> str:
        return f"<w:tc><w:tcPr>{merge}</w:tcPr>{paragraph(text)}</w:tc>"

    heads = row(cell("Port"), cell("Ships"), kind="<w:tblHeader/>") + row(
        cell("name"), cell("of all"), kind="<w:tblHeader/>"
    )
    rows = row(cell("Oban", '<w:vMerge w:val="restart"/>'), cell("gull")) + row(cell("", "<w:vMerge/>"), cell("tern"))
    many = "".join(row(cell(f"port {at}"), cell("the keeper counts the ships")) for at in range(300))
    pages = read(docx(tmp_path / "a.docx", f"<w:tbl>{heads}{rows}{many}</w:tbl>"))[1]
    assert "| Oban | gull |\n| Oban | tern |" in pages[0].text and len(pages) > 2
    assert all(page.text.startswith("| Port | Ships |\n|---|---|\n| name | of all |\n") for page in pages)

    def line(*cells: str) -> str:
        return f"<table:table-row>{''.join(cells)}</table:table-row>"

    tall = '<table:table-cell table:number-rows-spanned="2"><text:p>Oban</text:p></table:table-cell>'
    plain = "<table:table-cell><text:p>{}</text:p></table:table-cell>"
    body = line(tall, plain.format("gull")) + line("<table:covered-table-cell/>", plain.format("tern"))
    body += line(plain.format("end"), plain.format("kelp"))
    text = text_of(opendocument(tmp_path / "a.odt", f"<table:table>{body}</table:table>"))
    assert text == "| Oban | gull |\n|---|---|\n| Oban | tern |\n| end | kelp |"


def test_an_item_of_a_list_may_begin_at_another_number(tmp_path: Path) -> None:
    style = (
        '<text:list-style style:name="L"><text:list-level-style-number text:level="1" style:num-format="1" '
        'style:num-suffix="."/></text:list-style>'
    )
    items = '<text:list-item text:start-value="4"><text:p>kelp</text:p></text:list-item><text:list-item><text:p>reef'
    body = f'<text:list text:style-name="L">{items}</text:p></text:list-item></text:list>'
    assert text_of(opendocument(tmp_path / "a.odt", body, styles=style)) == "4. kelp\n5. reef"


def test_numbered_lists_and_merged_cells_of_slides(tmp_path: Path) -> None:
    deck = pptx.Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[6])
    frame = slide.shapes.add_textbox(0, 0, Inches(5), Inches(1)).text_frame
    kinds = [("arabicPeriod", "4"), ("arabicPeriod", "4"), ("", ""), ("romanUcParenBoth", "1"), ("alphaLcParenR", "x")]
    for at, (kind, start) in enumerate(kinds):
        line = frame.paragraphs[0] if not at else frame.add_paragraph()
        line.text = f"port {at}"
        if kind:
            properties = line._p.get_or_add_pPr()
            etree.SubElement(properties, f"{{{_DRAWN}}}buAutoNum", {"type": kind, "startAt": start})
    table = slide.shapes.add_table(3, 2, 0, Inches(3), Inches(5), Inches(1)).table
    for row in range(3):
        for column in range(2):
            table.cell(row, column).text = f"{row}{column}"
    table.cell(2, 0).text = ""
    table.cell(1, 0).merge(table.cell(2, 0))
    deck.save(tmp_path / "a.pptx")
    text = text_of(tmp_path / "a.pptx")
    assert "4. port 0\n5. port 1" in text and "(I) port 3" in text and "port 2" in text
    assert "| 10 | 11 |\n| 10 | 21 |" in text


def test_a_cell_that_is_struck_out_is_marked(tmp_path: Path) -> None:
    book = xlsxwriter.Workbook(tmp_path / "a.xlsx")
    sheet = book.add_worksheet()
    sheet.write_row(0, 0, ["Port", "Dues"])
    sheet.write(1, 0, "Oban", book.add_format({"font_strikeout": True}))
    sheet.write(1, 1, 44, book.add_format({"font_strikeout": True, "num_format": "0.00"}))
    sheet.write_row(2, 0, ["Leith", 5])
    book.close()
    assert "| ~~Oban~~ | ~~44.00~~ |\n| Leith | 5 |" in text_of(tmp_path / "a.xlsx")


_PORTAL = "https://example.org/portal?a=1&amp;b=(2)"
_SHOWN_PORTAL = "[the portal](https://example.org/portal?a=1&b=%282%29)"


def _linked_docx(path: Path, body: str, target: str = _PORTAL) -> Path:
    def link(files: dict[str, bytes]) -> dict[str, bytes]:
        name = "word/_rels/document.xml.rels"
        relation = f'<Relationship Id="rl" Type="x/hyperlink" TargetMode="External" Target="{target}"/></Relationships>'
        return {**files, name: files[name].replace(b"</Relationships>", relation.encode())}

    return repacked(docx(path, body), link)


def _run(text: str, look: str = "") -> str:
    return f'<w:r><w:rPr>{look}</w:rPr><w:t xml:space="preserve">{text}</w:t></w:r>'


def _field(instruction: str, shown: str) -> str:
    begin, separate, end = (f'<w:r><w:fldChar w:fldCharType="{kind}"/></w:r>' for kind in ("begin", "separate", "end"))
    halves = instruction[:9], instruction[9:]  # Word divides instructions into runs
    code = "".join(f'<w:r><w:instrText xml:space="preserve">{half}</w:instrText></w:r>' for half in halves)
    return f"{begin}{code}{separate}{shown}{end}"


@pytest.mark.parametrize(
    ("inside", "shown"),
    [
        (f'{_run("See ")}<w:hyperlink xmlns:r="{{}}" r:id="rl">{_run("the ")}{_run("portal")}</w:hyperlink>'
         + _run(" now"), f"See {_SHOWN_PORTAL} now"),
        (f'<w:hyperlink xmlns:r="{{}}" r:id="rl">{_run("Example.org/portal?a=1&amp;b=(2)")}</w:hyperlink>',
         "Example.org/portal?a=1&b=(2)"),  # the words show the address
        (f'<w:hyperlink xmlns:r="{{}}" r:id="rl">{_run("see [2]")}</w:hyperlink>', "see [2]"),
        (f'<w:hyperlink w:anchor="top">{_run("the top")}</w:hyperlink>', "the top"),
        (_field(f'HYPERLINK "{_PORTAL}"', _run("the portal")) + _run(" now"), f"{_SHOWN_PORTAL} now"),
        (_field('HYPERLINK \\l "_Toc1"', _run("the portal")), "the portal"),
        (_field("PAGE", _run("7")) + _run(" the portal"), "7 the portal"),
        (f'<w:fldSimple w:instr=" HYPERLINK &quot;{_PORTAL}&quot; ">{_run("the portal")}</w:fldSimple>', _SHOWN_PORTAL),
        (_field('HYPERLINK "mailto:kim@example.org"', _run("Kim", "<w:strike/>")), "[~~Kim~~](mailto:kim@example.org)"),
        (_field('HYPERLINK "file:///C:/secret.doc"', _run("Kim")), "Kim"),
        (_field('HYPERLINK "javascript:alert(1)"', _run("Kim")), "Kim"),
    ],
)  # fmt: skip
def test_links_of_word_keep_their_addresses(tmp_path: Path, inside: str, shown: str) -> None:
    relations = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    body = f"<w:p>{inside.format(relations)}</w:p>"
    assert text_of(_linked_docx(tmp_path / "a.docx", body)) == shown
    heading = body.replace("<w:p>", '<w:p><w:pPr><w:outlineLvl w:val="0"/></w:pPr>')
    assert "](" not in text_of(_linked_docx(tmp_path / "b.docx", heading))


def test_links_of_slides_and_opendocument_keep_their_addresses(tmp_path: Path) -> None:
    deck = pptx.Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[5])
    frames = [slide.shapes.title.text_frame, slide.shapes.add_textbox(0, 0, Inches(3), Inches(1)).text_frame]
    for frame in frames:
        for text in ("See ", "the ", "portal"):
            part = frame.paragraphs[0].add_run()
            part.text = text
            part.hyperlink.address = "https://example.org/portal" if text != "See " else None
    deck.save(str(tmp_path / "a.pptx"))
    shown = "See [the portal](https://example.org/portal)"
    assert text_of(tmp_path / "a.pptx").split("\n\n") == ["# See the portal", shown]
    space = 'xmlns:xlink="http://www.w3.org/1999/xlink"'
    link = f'See <text:a {space} xlink:href="https://example.org/portal">the <text:span>portal</text:span></text:a>!'
    body = f'<text:h text:outline-level="1">{link}</text:h><text:p>{link}</text:p>'
    assert text_of(opendocument(tmp_path / "a.odt", body)).split("\n\n") == ["# See the portal!", f"{shown}!"]
