"""OpenDocument files as they show: flat ones, numbers of lists, running heads, the order of slides, what is hidden."""

from __future__ import annotations

from base64 import b64encode
from pathlib import Path

import pytest

from hybrid_core.errors import DocumentError
from indexers.formats.limits import ParseLimits
from indexers.formats.office.flat_odf import odf_members
from tests.indexers.formats.packages import _ODF, packed, read, repacked, text_of, titles

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


def style(name: str, look: str, family: str = "text", parent: str = "") -> str:
    above = f' style:parent-style-name="{parent}"' if parent else ""
    return (
        f'<style:style style:name="{name}" style:family="{family}"{above}><style:text-properties {look}/></style:style>'
    )


_RAISED, _STRUCK = 'style:text-position="super 58%"', 'style:text-line-through-style="solid"'
_NAMED = style("Raised", _RAISED) + style("Void", _STRUCK, "paragraph") + style("Secret", 'text:display="none"')


@pytest.mark.parametrize(
    ("body", "own", "shown"),
    [
        ('<text:p>10<text:span text:style-name="T1">6</text:span></text:p>', style("T1", "", parent="Raised"), "10^6"),
        ('<text:p>10<text:span text:style-name="T1"><text:span text:style-name="T2">6</text:span></text:span></text:p>',
         style("T1", _RAISED) + style("T2", 'fo:color="#ff0000"'), "10^6"),
        ('<text:p text:style-name="P1">all of it</text:p>', style("P1", "", "paragraph", "Void"), "~~all of it~~"),
        ('<text:p text:style-name="T1">not of this family</text:p>', style("T1", _STRUCK), "not of this family"),
    ],
)  # fmt: skip
def test_looks_come_from_parent_styles_and_paragraphs(tmp_path: Path, body: str, own: str, shown: str) -> None:
    assert text_of(odf(tmp_path / "a.odt", body, styles=own, masters=_NAMED)) == shown


@pytest.mark.parametrize(
    "body",
    [
        '<text:p>seen<text:span text:style-name="Secret"> two words</text:span></text:p>',
        '<text:p>seen</text:p><text:p><text:hidden-paragraph text:is-hidden="true"/>two words</text:p>',
        '<text:p>seen <text:hidden-text text:is-hidden="true">two words</text:hidden-text></text:p>',
        '<text:p>seen</text:p><text:section text:display="none"><text:p>two words</text:p></text:section>',
        '<text:p>seen</text:p><text:section text:is-hidden="true"><text:p>two words</text:p></text:section>',
    ],
)
def test_hidden_text_is_left_out_and_counted(tmp_path: Path, body: str) -> None:
    info, pages = read(odf(tmp_path / "a.odt", body, masters=_NAMED))
    assert pages[0].text.strip() == "seen"
    assert info.warnings == ("2 words of hidden text, which is not printed, were left out",)


def test_deleted_words_of_texts_are_counted(tmp_path: Path) -> None:
    change = f"<text:changed-region><text:deletion>{words('two words')}</text:deletion></text:changed-region>"
    info, pages = read(odf(tmp_path / "a.odt", f"<text:tracked-changes>{change}</text:tracked-changes>{words('x')}"))
    assert pages[0].text == "x"
    assert info.warnings == ("2 words that a tracked change deletes were left out",)


def test_readings_follow_their_paragraph(tmp_path: Path) -> None:
    ruby = "<text:ruby><text:ruby-base>東京</text:ruby-base><text:ruby-text>とうきょう</text:ruby-text></text:ruby>"
    assert text_of(odf(tmp_path / "a.odt", words(f"{ruby}都"))) == "東京都 (東京 とうきょう)"


_FORM_SPACE = 'xmlns:form="urn:oasis:names:tc:opendocument:xmlns:form:1.0"'


@pytest.mark.parametrize(
    ("control", "shown"),
    [
        ('<form:checkbox form:label="paid" form:current-state="checked"/>', "☒ paid"),
        ('<form:checkbox form:label="paid" form:state="unchecked"/>', "☐ paid"),
        ('<form:checkbox form:label="paid" form:state="checked" form:current-state="unchecked"/>', "☐ paid"),
        ('<form:radio form:label="cash" form:current-selected="true"/>', "☒ cash"),
        ('<form:text form:value="first" form:current-value="typed words"/>', "typed words"),
        ('<form:listbox><form:option form:label="a"/><form:option form:label="b" form:selected="true"/></form:listbox>',
         "b"),
        ('<form:fixed-text form:label="Name of the ship"/>', "Name of the ship"),
        ('<form:password form:value="secret"/>', ""),
    ],
)  # fmt: skip
@pytest.mark.parametrize("kind", ["text", "presentation", "spreadsheet"])
def test_fields_of_forms_are_read_as_they_show(tmp_path: Path, kind: str, control: str, shown: str) -> None:
    form = f"<office:forms {_FORM_SPACE}><form:form>{control}</form:form></office:forms>"
    tag = control[: control.index(" ") if " " in control[:20] else control.index(">")]
    form = form.replace(tag, f'{tag} form:id="c1"', 1)
    drawn = '<draw:control draw:control="c1"/>'
    body = {
        "text": f"{form}<text:p>Say: {drawn}</text:p>",
        "presentation": f"<draw:page>{form}{box('Say:', '1cm')}{drawn}</draw:page>",
        "spreadsheet": f"<table:table>{form}<table:shapes>{drawn}</table:shapes>{row(cell('Say:'), cell('x'))}"
        "</table:table>",
    }[kind]
    ending = {"text": "odt", "presentation": "odp", "spreadsheet": "ods"}[kind]
    text = text_of(odf(tmp_path / f"a.{ending}", body, kind))
    assert (shown in text) if shown else "secret" not in text


@pytest.mark.parametrize(
    ("format", "language", "second"),
    [
        ("一, 二, 三, ...", "", "二"), ("1st, 2nd, 3rd, ...", "", "2nd"), ("One, Two, Three, ...", "en", "Two"),
        ("First, Second, Third, ...", "de", "2"), ("α, β, γ, ... (gr)", "", "β"),
        ("А, Б, .., Аа, Аб, ... (ru)", "", "Б"),
        ("001, 002, 003, ...", "", "002"), ("壹, 贰, 叁, ...", "", "贰"), ("ア, イ, ウ, ...", "", "イ"),
        ("Q, R, S, ...", "", "2"), ("", "", "-"),
    ],
)  # fmt: skip
def test_numbers_of_lists_in_their_scripts(tmp_path: Path, format: str, language: str, second: str) -> None:
    level = f'<text:list-level-style-number text:level="1" style:num-format="{format}"/>'
    usual = (
        '<style:default-style style:family="paragraph"><style:text-properties '
        f'fo:language="{language}"/></style:default-style>'
    )
    space = 'xmlns:fo="urn:oasis:names:tc:opendocument:xmlns:xsl-fo-compatible:1.0"'
    usual = usual.replace("<style:default-style", f"<style:default-style {space}") if language else ""
    body = f'<text:list text:style-name="L">{item(words("one"))}{item(words("two"))}</text:list>'
    numbers = f'<text:list-style style:name="L">{level}</text:list-style>'
    assert text_of(odf(tmp_path / "a.odt", body, styles=numbers, masters=usual)).split("\n")[1] == f"{second} two"


def test_struck_out_cells_and_booleans_of_sheets(tmp_path: Path) -> None:
    struck = cell("old", 'table:style-name="ce1" office:value-type="string"')
    second = row(struck, cell(more='office:boolean-value="true"'))
    table = f"<table:table>{row(cell('a'), cell('b'))}{second}</table:table>"
    path = odf(tmp_path / "a.ods", table, "spreadsheet", style("ce1", _STRUCK, "table-cell"))
    assert "| ~~old~~ | TRUE |" in text_of(path)


def test_files_of_other_programs_in_a_document_are_members(tmp_path: Path) -> None:
    inside = odf(tmp_path / "inside.odt", words("inner words")).read_bytes()
    drawn = '<draw:frame><draw:object-ole xlink:href="./Object 1"/></draw:frame>'
    for kind, ending in (("text", "odt"), ("presentation", "odp"), ("spreadsheet", "ods")):
        path = repacked(odf(tmp_path / f"a.{ending}", drawn, kind), lambda files: {**files, "Object 1": inside})
        assert [(one.name, b"".join(one.read())) for one in odf_members(path, ParseLimits())] == [
            ("object 1.odt", inside)
        ]
    data = f"<office:binary-data>{b64encode(inside).decode()}</office:binary-data>"
    path = flat(tmp_path / "a.fodt", f"<text:p><draw:object-ole>{data}</draw:object-ole></text:p>")
    assert [one.name for one in odf_members(path, ParseLimits())] == ["object 1.odt"]
    damaged = flat(tmp_path / "b.fodt", "<draw:object-ole><office:binary-data>x</office:binary-data></draw:object-ole>")
    with pytest.raises(DocumentError, match="embedded file is damaged"):
        list(odf_members(damaged, ParseLimits()))


@pytest.mark.parametrize(
    "shape",
    [
        "<draw:frame><draw:image/><svg:desc>a pump</svg:desc></draw:frame>",
        "<draw:g><svg:desc>a pump</svg:desc><draw:rect/></draw:g>",
        "<draw:custom-shape><svg:title>a pump</svg:title></draw:custom-shape>",
    ],
)
def test_alternative_texts_of_shapes_on_slides(tmp_path: Path, shape: str) -> None:
    page = f"<draw:page>{box('one', '1cm')}{shape}</draw:page>"
    assert "![a pump]" in text_of(odf(tmp_path / "a.odp", page, "presentation"))


@pytest.mark.parametrize("times", ["1", "2", "3"])
def test_repeated_rows_of_text_tables_stand_as_often_as_they_show(tmp_path: Path, times: str) -> None:
    repeated = row(cell("a"), cell("b"), more=f'table:number-rows-repeated="{times}"')
    blank = row(cell(), cell(), more='table:number-rows-repeated="90"')
    body = f"<table:table>{row(cell('h'), cell('k'))}{repeated}{blank}</table:table>"
    assert text_of(odf(tmp_path / "a.odt", body)).count("| a | b |") == int(times)


@pytest.mark.parametrize("kind", ["variable-set", "user-field-get", "expression"])
def test_fields_that_are_not_displayed_are_left_out(tmp_path: Path, kind: str) -> None:
    body = words(
        f'so <text:{kind} text:display="none">5</text:{kind}>it <text:{kind} text:display="value">is</text:{kind}>'
    )
    assert text_of(odf(tmp_path / "a.odt", body)) == "so it is"


_PAGE = "<style:style style:name='{}' style:family='drawing-page'><style:drawing-page-properties {}/></style:style>"


@pytest.mark.parametrize(
    ("page", "shown"),
    [
        ('draw:master-page-name="M"', "[layout] Confidential"),
        ('draw:master-page-name="M" draw:style-name="bare"', ""),
        ('presentation:use-footer-name="f2"', "[layout] Foot two"),
        ("", ""),
    ],
)
def test_texts_of_masters_and_footers_are_read_once(tmp_path: Path, page: str, shown: str) -> None:
    hint = f'<draw:frame presentation:class="title"><draw:text-box>{words("Click here")}</draw:text-box></draw:frame>'
    shapes = hint + box("Confidential", "1cm") + box("&lt;number&gt;", "3cm")
    master = f'<style:master-page style:name="M">{shapes}</style:master-page>'
    masters = f"<office:master-styles>{master}</office:master-styles>"
    slide = f"<draw:page {page}>{box('words', '2cm')}</draw:page>"
    footers = "".join(
        f'<presentation:footer-decl presentation:name="f{at}">Foot {text}</presentation:footer-decl>'
        for at, text in ((1, "one"), (2, "two"))
    )
    bare = _PAGE.format("bare", "presentation:background-objects-visible='false'")
    path = odf(tmp_path / "a.odp", footers + slide * 2, "presentation", bare, masters)
    texts = [page.text for page in read(path)[1]]
    assert texts == ["\n\n".join(filter(None, ("words", shown))), "words"]


def test_hidden_slides_of_opendocument_are_counted(tmp_path: Path) -> None:
    styles = _PAGE.format("h", "presentation:visibility='hidden'") + _PAGE.format(
        "v", "presentation:visibility='visible'"
    )
    slides = "".join(f'<draw:page draw:style-name="{name}">{box(name * 3, "1cm")}</draw:page>' for name in "hvx")
    info, pages = read(odf(tmp_path / "a.odp", slides, "presentation", styles))
    assert [page.text for page in pages] == ["hhh", "vvv", "xxx"]
    assert "1 of 3 slides is hidden, but was read" in info.warnings


_FIELD = "<text:page-number>1</text:page-number>"


@pytest.mark.parametrize(
    ("head", "shown"),
    [
        (f"<style:header><style:region-left>{words('Left')}</style:region-left>{words('Board')}</style:header>",
         ["[header] Left", "[header] Board"]),
        (f"<style:footer>{words(f'Page {_FIELD}')}</style:footer>", []),
        (f"<style:footer>{words(f'Ministry of ports, page {_FIELD}')}</style:footer>",
         ["[footer] Ministry of ports, page"]),
        (f'<style:header style:display="false">{words("Off")}</style:header>', []),
    ],
)  # fmt: skip
@pytest.mark.parametrize("master", ["Default", "Other"])
def test_running_heads_of_sheets_are_those_of_their_master(
    tmp_path: Path, head: str, shown: list[str], master: str
) -> None:
    style = f'<style:style style:name="ta" style:family="table" style:master-page-name="{master}"/>'
    page = f'<style:master-page style:name="Default">{head}</style:master-page>'
    masters = f"<office:master-styles>{page}</office:master-styles>"
    body = f'<table:table table:name="S" table:style-name="ta">{row(cell("a"), cell("b"))}</table:table>'
    lines = text_of(odf(tmp_path / "a.ods", body, "spreadsheet", style, masters)).split("\n\n")
    assert lines[2:] == (shown if master == "Default" else [])


@pytest.mark.parametrize("links", [0, 1, 2])
def test_stored_copies_of_linked_tables_are_no_sheets(tmp_path: Path, links: int) -> None:
    rows = row(cell("copy"), cell("x"))
    copy = f"<table:dde-link><office:dde-source/><table:table>{rows}</table:table></table:dde-link>"
    body = f'<table:table table:name="S">{row(cell("a"), cell("b"))}</table:table>'
    body += f"<table:dde-links>{copy * links}</table:dde-links>"
    assert text_of(odf(tmp_path / "a.ods", body, "spreadsheet")) == "# S\n\n| a | b |"


@pytest.mark.parametrize(
    ("more", "shown"),
    [
        ('text:restart-numbering="true" text:start-value="5"', ["1 A", "5 B", "6 C"]),
        ('text:restart-numbering="true"', ["1 A", "1 B", "2 C"]),
        ('text:is-list-header="true"', ["1 A", "B", "2 C"]),
        ("", ["1 A", "2 B", "3 C"]),
    ],
)
def test_numbers_of_headings_may_begin_again(tmp_path: Path, more: str, shown: list[str]) -> None:
    level = '<text:outline-level-style text:level="1" style:num-format="1"/>'
    styles = f"<office:styles><text:outline-style>{level}</text:outline-style></office:styles>"
    attributes = ("", more, "")
    body = "".join(
        f'<text:h text:outline-level="1" {at}>{letter}</text:h>' for letter, at in zip("ABC", attributes, strict=True)
    )
    assert text_of(odf(tmp_path / "a.odt", body, masters=styles)).split("\n\n") == [f"# {text}" for text in shown]


def test_rows_that_are_repeated_very_often_are_bounded(tmp_path: Path) -> None:
    wide = '<table:table-cell table:number-columns-repeated="200"><text:p>a</text:p></table:table-cell>'
    rows = row(wide, more='table:number-rows-repeated="200"') * 300 + row(wide, more='table:number-rows-repeated="-1"')
    path = odf(tmp_path / "a.odt", f"<table:table>{rows}</table:table>")
    cells = "".join(page.text for page in read(path)[1]).count("| a")
    assert 301 * 200 <= cells <= 2 * (301 * 200 + 100_000)
