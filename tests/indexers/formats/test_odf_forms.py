"""OpenDocument files as they show: flat ones, numbers of lists, running heads, the order of slides, what is hidden."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.indexers.formats.packages import _ODF, packed, read, text_of, titles

_MORE = (
    'xmlns:svg="urn:oasis:names:tc:opendocument:xmlns:svg-compatible:1.0" '
    'xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:xlink="http://www.w3.org/1999/xlink"'
)
_NUMBERS = (
    '<text:list-style style:name="L"><text:list-level-style-number text:level="1" style:num-format="1" '
    'style:num-suffix="."/><text:list-level-style-number text:level="2" style:num-format="1" style:num-suffix="." '
    'text:display-levels="2"/></text:list-style>'
)
_TYPES = {"text": "text", "spreadsheet": "spreadsheet", "presentation": "presentation", "drawing": "graphics"}


def odf(path: Path, body: str, kind: str = "text", styles: str = "", masters: str = "") -> Path:
    content = (
        f"<office:document-content {_ODF} {_MORE}><office:automatic-styles>{styles}</office:automatic-styles>"
        f"<office:body><office:{kind}>{body}</office:{kind}></office:body></office:document-content>"
    )
    look = f"<office:document-styles {_ODF} {_MORE}>{masters}</office:document-styles>"
    return packed(path, {"mimetype": f"application/vnd.oasis.opendocument.{_TYPES[kind]}", "content.xml": content,
                         "styles.xml": look})  # fmt: skip


def flat(path: Path, body: str, kind: str = "text", styles: str = "") -> Path:
    path.write_text(
        f'<?xml version="1.0" encoding="UTF-8"?>\n<office:document {_ODF} {_MORE} office:version="1.3" '
        f'office:mimetype="application/vnd.oasis.opendocument.{_TYPES[kind]}"><office:meta><dc:title>A title</dc:title>'
        f"</office:meta><office:automatic-styles>{styles}</office:automatic-styles><office:body><office:{kind}>{body}"
        f"</office:{kind}></office:body></office:document>"
    )
    return path


def words(text: str) -> str:
    return f"<text:p>{text}</text:p>"


def item(*inside: str) -> str:
    return f"<text:list-item>{''.join(inside)}</text:list-item>"


def cell(text: str = "", more: str = "") -> str:
    return f"<table:table-cell {more}>{words(text) if text else ''}</table:table-cell>"


def row(*cells: str, more: str = "") -> str:
    return f"<table:table-row {more}>{''.join(cells)}</table:table-row>"


def box(text: str, top: str, left: str = "1cm") -> str:
    return f'<draw:frame svg:x="{left}" svg:y="{top}"><draw:text-box>{words(text)}</draw:text-box></draw:frame>'


@pytest.mark.parametrize("name", ["a.fodt", "a.odt", "a.unknown"])
def test_flat_texts_are_read_by_what_they_are(tmp_path: Path, name: str) -> None:
    body = (
        f'<text:h text:outline-level="1">Head</text:h><text:list text:style-name="L">{item(words("one"))}'
        f"{item(words('two'))}</text:list><text:p>x<text:note><text:note-citation>1</text:note-citation><text:note-body>"
        f"{words('a note')}</text:note-body></text:note><draw:frame><draw:image><office:binary-data>AAAA"
        "</office:binary-data></draw:image></draw:frame></text:p>"
    )
    path = flat(tmp_path / name, body, styles=_NUMBERS)
    assert titles(path) == [(1, "Head")] and read(path)[0].metadata["title"] == "A title"
    assert text_of(path).split("\n\n") == ["# Head", "1. one\n2. two", "x[1]", "[1] a note"]


@pytest.mark.parametrize("name", ["a.fods", "a.ods"])
def test_flat_sheets_and_slides_are_read(tmp_path: Path, name: str) -> None:
    table = (
        f'<table:table table:name="T">{row(cell("Part"), cell("Price"))}{row(cell("bolt"), cell("12"))}</table:table>'
    )
    assert "| Part | Price |\n| bolt | 12 |" in text_of(flat(tmp_path / name, table, "spreadsheet"))
    title = f'<draw:frame presentation:class="title">{words("Head")}</draw:frame>'
    page = f"<draw:page>{title}{box('body', '3cm')}</draw:page>"
    path = flat(tmp_path / "a.fodp", page, "presentation")
    assert titles(path) == [(1, "Head")] and "body" in text_of(path)
    path = flat(
        tmp_path / "a.fodg",
        f"<draw:page><draw:custom-shape>{words('drawn')}</draw:custom-shape></draw:page>",
        "drawing",
    )
    assert text_of(path) == "drawn"


def test_drawings_and_templates_of_sheets_are_read(tmp_path: Path) -> None:
    page = f"<draw:page><draw:custom-shape>{words('a flow')}</draw:custom-shape></draw:page>"
    assert text_of(odf(tmp_path / "a.odg", page, "drawing")) == "a flow"
    table = f'<table:table table:name="T">{row(cell("a"), cell("b"))}</table:table>'
    assert "| a | b |" in text_of(odf(tmp_path / "a.ots", table, "spreadsheet"))


def listed(*items: str, more: str = "") -> str:
    return f'<text:list text:style-name="L" {more}>{"".join(items)}</text:list>'


_ONE, _TWO, _THREE = (item(words(text)) for text in ("one", "two", "three"))


@pytest.mark.parametrize(
    ("body", "lines"),
    [
        (listed(item(words("one"), f"<text:list>{_ONE}{_TWO}</text:list>"), _TWO),
         ["1. one", "  1.1. one", "  1.2. two", "2. two"]),
        (listed(_ONE, _TWO) + words("x") + listed(_THREE, more='text:continue-numbering="true"') + words("y")
         + listed(_ONE), ["1. one", "2. two", "x", "3. three", "y", "1. one"]),
        (listed(_ONE, more='xml:id="a"') + words("x") + listed(_TWO, more='xml:id="b" text:continue-list="a"')
         + words("y") + listed(_THREE, more='text:continue-list="a"'), ["1. one", "x", "2. two", "y", "3. three"]),
        (listed(item(words("one"), f"<text:list>{_ONE}{_TWO}</text:list>")) + words("x")
         + listed(item(f"<text:list>{_THREE}</text:list>"), _TWO, more='text:continue-numbering="true"'),
         ["1. one", "  1.1. one", "  1.2. two", "x", "  1.3. three", "2. two"]),
        (listed(f"<text:list-header>{words('head')}</text:list-header>", _ONE), ["head", "1. one"]),
        (listed(_ONE, '<text:list-item text:start-value="7">' + words("seven") + "</text:list-item>", _TWO),
         ["1. one", "7. seven", "8. two"]),
    ],
)  # fmt: skip
def test_numbers_of_lists(tmp_path: Path, body: str, lines: list[str]) -> None:
    shown = [line for line in text_of(odf(tmp_path / "a.odt", body, styles=_NUMBERS)).split("\n") if line]
    assert [line.strip() if line.endswith("head") else line for line in shown] == lines


def test_numbers_that_a_file_writes_are_those_of_headings_without_a_style(tmp_path: Path) -> None:
    body = '<text:h text:outline-level="1"><text:number>IV.</text:number>Head</text:h>'
    assert titles(odf(tmp_path / "a.odt", body)) == [(1, "IV. Head")]


def test_running_heads_are_said_once(tmp_path: Path) -> None:
    page = "<style:master-page><style:header>{}</style:header><style:footer>{}</style:footer></style:master-page>"
    masters = f"<office:master-styles>{2 * page.format(words('Ref 77'), words('Page'))}</office:master-styles>"
    text = text_of(odf(tmp_path / "a.odt", words("body"), masters=masters))
    assert text.split() == ["body", "Ref", "77", "Page"]


@pytest.mark.parametrize(
    ("page", "order"),
    [
        (box("low", "10cm") + box("high", "2cm"), "high low"),
        (box("right", "2cm", "9cm") + box("left", "2.05cm"), "left right"),
        (f"<draw:g>{box('grouped', '50mm')}</draw:g>" + box("high", "1in"), "high grouped"),
    ],
)
def test_shapes_of_slides_stand_where_they_are_drawn(tmp_path: Path, page: str, order: str) -> None:
    assert text_of(odf(tmp_path / "a.odp", f"<draw:page>{page}</draw:page>", "presentation")).split() == order.split()


def test_what_a_sheet_hides_or_says_of_pictures(tmp_path: Path) -> None:
    table = (
        '<table:table table:name="T" table:style-name="h"><table:table-column/><table:table-column table:visibility='
        f'"collapse"/>{row(cell("a"), cell("b"))}'
        + row(cell("1").replace("</text:p>", "</text:p><draw:frame><svg:desc>a pump</svg:desc></draw:frame>"),
              cell("2"), more='table:visibility="collapse"')
        + row(cell("p"), cell(more='office:value-type="percentage" office:value="0.153"'))
        + row(cell("c"), cell(more='office:value-type="currency" office:currency="EUR" office:value="2.5"'))
        + "</table:table>"
    )  # fmt: skip
    style = (
        '<style:style style:name="h" style:family="table"><style:table-properties table:display="false"/></style:style>'
    )
    info, pages = read(odf(tmp_path / "a.ods", table, "spreadsheet", style))
    assert all(part in pages[0].text for part in ("a pump", "| p | 15.3% |", "| c | 2.5 EUR |"))
    notes = " ".join(info.warnings)
    assert all(part in notes for part in ("1 of 1 sheet is", "1 row is hidden", "1 column is hidden"))


@pytest.mark.parametrize(
    ("inner", "shown"),
    [
        (f'<office:document-content {_ODF} xmlns:chart="urn:oasis:names:tc:opendocument:xmlns:chart:1.0"><chart:chart>'
         "<chart:title><text:p>Fares of May</text:p></chart:title></chart:chart></office:document-content>",
         "Fares of May"),
        ('<math xmlns="http://www.w3.org/1998/Math/MathML"><mfrac><mi>a</mi><mi>b</mi></mfrac></math>', "a/b"),
        ("<damaged", ""),
    ],
)  # fmt: skip
def test_charts_and_formulas_of_sheets(tmp_path: Path, inner: str, shown: str) -> None:
    cells = "".join(
        f'<table:table-cell office:value-type="string"><text:p>{word}</text:p></table:table-cell>' for word in "ab"
    )
    content = (
        f"<office:document-content {_ODF} {_MORE}><office:body><office:spreadsheet><table:table><table:shapes>"
        f'<draw:frame><draw:object xlink:href="./Object 1"/></draw:frame></table:shapes><table:table-row>{cells}'
        "</table:table-row></table:table></office:spreadsheet></office:body></office:document-content>"
    )
    files = {"mimetype": "application/vnd.oasis.opendocument.spreadsheet", "content.xml": content,
             "Object 1/content.xml": inner}  # fmt: skip
    text = text_of(packed(tmp_path / "a.ods", files))
    assert text.endswith(shown or "|") and "| a | b |" in text
