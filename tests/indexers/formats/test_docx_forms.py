"""Word documents as the page shows them: fields, signs, numbers of notes and lists, charts, joined files."""

from __future__ import annotations

import time
import zipfile
from pathlib import Path

import pytest

from indexers.formats.office.word_numbers import written
from indexers.formats.office.word_signs import field_words
from tests.indexers.formats.packages import W, docx, packed, paragraph, read, text_of, titles

_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_DRAWN = "http://schemas.openxmlformats.org/drawingml/2006/main"
_CHART = "http://schemas.openxmlformats.org/drawingml/2006/chart"
_LATER = "http://schemas.microsoft.com/office/drawing/2014/chartex"
_MARKUP = 'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"'


def run(text: str, properties: str = "") -> str:
    return f'<w:r><w:rPr>{properties}</w:rPr><w:t xml:space="preserve">{text}</w:t></w:r>'


def line(*runs: str, properties: str = "") -> str:
    return f"<w:p><w:pPr>{properties}</w:pPr>{''.join(runs)}</w:p>"


def sign(font: str, code: str) -> str:
    return f'<w:r><w:sym w:font="{font}" w:char="{code}"/></w:r>'


def field(*parts: str) -> str:
    """A field: its instruction, what it shows."""
    marks = [f'<w:r><w:fldChar w:fldCharType="{kind}"/></w:r>' for kind in ("begin", "separate", "end")]
    instruction, shown = parts
    return f"{marks[0]}{instruction}{marks[1]}{shown}{marks[2]}"


def code(text: str) -> str:
    return f"<w:r><w:instrText>{text}</w:instrText></w:r>"


def with_part(path: Path, name: str, content: str | bytes, kind: str, target: str = "") -> Path:
    """Put a part into a package that its document refers to as «rc»."""
    with zipfile.ZipFile(path) as package:
        files = {entry: package.read(entry) for entry in package.namelist()}
    listed = "word/_rels/document.xml.rels"
    relation = f'<Relationship Id="rc" Type="{kind}" Target="{target or name}"/></Relationships>'
    files[listed] = files[listed].replace(b"</Relationships>", relation.encode())
    return packed(path, {**files, f"word/{name}": content})


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        (line(run("Dear "), field(code("IF") + field(code("MERGEFIELD x"), run("JUNK")), run("Mr")), run(" Smith")),
         "Dear Mr Smith"),
        (line(run("a "), field(code("IF") + field(code("A"), run("J") + run("K")) + code("= 1"), run("b")), run(" c")),
         "a b c"),
        (line(run("x "), '<w:r><w:fldChar w:fldCharType="begin"/></w:r>', code("PAGE"), run("never ended")),
         "x never ended"),
        (line(run("Left"), "<w:r><w:ptab/></w:r>", run("Right")), "Left Right"),
        (line(run("O"), properties='<w:framePr w:dropCap="drop"/>') + line(run("nce upon")), "Once upon"),
        (line(run("W"), properties='<w:framePr w:dropCap="margin"/>') + line(run("hen", "<w:b/>"), run(" it")),
         "When it"),
        (line(run("E"), properties='<w:framePr w:dropCap="drop"/>'), "E"),
    ],
)  # fmt: skip
def test_a_paragraph_reads_as_it_shows(tmp_path: Path, body: str, shown: str) -> None:
    assert text_of(docx(tmp_path / "a.docx", body)) == shown


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        (sign("Symbol", "F061") + run(" and ") + sign("Symbol", "F068") + sign("SymbolMT", "0046"), "α and ηΦ"),
        (run("20 ") + run("\uf0b0", '<w:rFonts w:ascii="Symbol"/>') + run("C"), "20 °C"),
        (run("\uf0b3", '<w:rFonts w:hAnsi="Symbol"/>') + run(" 5"), "≥ 5"),
        (sign("Wingdings 2", "F052") + run(" yes ") + sign("Wingdings 2", "F0A3") + run(" no"), "☑ yes ☐ no"),
        (sign("Wingdings", "F0FC") + run(" done ") + sign("Webdings", "F061"), "✓ done ✓"),
        (sign("Wingdings", "F081") + run("first"), "①first"),
        (run("ü", '<w:rFonts w:ascii="Wingdings"/>') + run(" done"), "✓ done"),
        (run("a", '<w:rFonts w:hAnsi="Symbol"/>') + run(" angle"), "α angle"),
        (run("a ü", '<w:rFonts w:ascii="Arial" w:cs="Symbol"/>') + run(" letters"), "a ü letters"),
        (run("a", '<w:rFonts w:ascii="Arial" w:hAnsi="Symbol"/>') + run(" letter"), "a letter"),
        (run("smiles", '<w:rFonts w:ascii="Symbola" w:hAnsi="Symbola"/>'), "smiles"),
    ],
)
def test_signs_of_fonts_without_letters(tmp_path: Path, body: str, shown: str) -> None:
    assert text_of(docx(tmp_path / "a.docx", line(body))) == shown


def reference(kind: str, id: int, more: str = "", typed: str = "") -> str:
    return f'<w:r><w:{kind}Reference w:id="{id}"{more}/>{f"<w:t>{typed}</w:t>" if typed else ""}</w:r>'


def test_notes_bear_the_numbers_that_the_page_shows(tmp_path: Path) -> None:
    def notes(kind: str, *said: tuple[int, str]) -> str:
        return "".join(f'<w:{kind} w:id="{id}">{paragraph(text)}</w:{kind}>' for id, text in said)

    body = line(
        run("a"), reference("footnote", 2), run(" b"), reference("footnote", 3, ' w:customMarkFollows="1"', "*"),
        run(" c"), reference("footnote", 7), run(" d"), reference("endnote", 5),
    )  # fmt: skip
    path = docx(tmp_path / "a.docx", body, footnotes=notes("footnote", (2, "one"), (3, "star"), (7, "two")),
                endnotes=notes("endnote", (5, "end")))  # fmt: skip
    assert text_of(path).split("\n\n") == ["a[1] b* c[2] d[i]", "[1] one", "[*] star", "[2] two", "[i] end"]
    other = docx(tmp_path / "b.docx", line(run("a"), reference("footnote", 4)), settings=(
        '<w:footnotePr><w:numFmt w:val="upperLetter"/><w:numStart w:val="3"/></w:footnotePr>'
    ), footnotes=notes("footnote", (4, "third")))  # fmt: skip
    assert text_of(other).split("\n\n") == ["a[C]", "[C] third"]
    ranged = line('<w:commentRangeStart w:id="4"/>', run("ten"), '<w:commentRangeEnd w:id="4"/>')
    other = docx(tmp_path / "c.docx", ranged, comments=notes("comment", (4, "why")))
    assert text_of(other).split("\n\n") == ["ten", "[comment] why"]


_LIST = '<w:numPr><w:ilvl w:val="0"/><w:numId w:val="1"/></w:numPr>'


def listed(kind: str, pattern: str) -> str:
    return (
        f'<w:abstractNum w:abstractNumId="0"><w:lvl w:ilvl="0"><w:numFmt w:val="{kind}"/><w:lvlText w:val="{pattern}"/>'
        '</w:lvl></w:abstractNum><w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num>'
    )


@pytest.mark.parametrize(
    ("kind", "pattern", "marks"),
    [
        ("ordinal", "%1", {1: "1st", 2: "2nd", 11: "11th", 23: "23rd"}),
        ("decimalEnclosedCircle", "%1", {1: "①", 20: "⑳", 21: "㉑"}),
        ("russianLower", "%1)", {1: "а)", 7: "ж)", 9: "и)"}),
        ("chineseCountingThousand", "%1、", {10: "十、", 21: "二十一、", 102: "一百零二、"}),
        ("ideographTraditional", "%1、", {1: "甲、", 3: "丙、"}),
        ("chicago", "%1", {1: "*", 2: "†", 5: "**"}),
    ],
)  # fmt: skip
def test_numbers_of_lists_in_their_scripts(tmp_path: Path, kind: str, pattern: str, marks: dict[int, str]) -> None:
    body = "".join(paragraph(f"t{at}", "", _LIST) for at in range(1, max(marks) + 1))
    lines = text_of(docx(tmp_path / "a.docx", body, numbering=listed(kind, pattern))).split("\n")
    for at, mark in marks.items():
        assert f"{mark} t{at}" in lines


def test_lists_count_empty_paragraphs_and_follow_the_style_that_they_name(tmp_path: Path) -> None:
    empty = f"<w:p><w:pPr>{_LIST}</w:pPr></w:p>"
    gone = f"<w:p><w:pPr>{_LIST}<w:rPr><w:del/></w:rPr></w:pPr></w:p>"
    body = paragraph("one", "", _LIST) + empty + gone + paragraph("three", "", _LIST)
    assert text_of(docx(tmp_path / "a.docx", body, numbering=listed("decimal", "%1."))) == "1. one\n3. three"
    numbering = (
        listed("upperRoman", "%1)").replace("<w:lvl ", '<w:styleLink w:val="Legal"/><w:lvl ')
        + '<w:abstractNum w:abstractNumId="9"><w:numStyleLink w:val="Legal"/></w:abstractNum>'
        + '<w:num w:numId="2"><w:abstractNumId w:val="9"/></w:num>'
    )
    body = "".join(paragraph(text, "", _LIST.replace('numId w:val="1"', 'numId w:val="2"')) for text in ("one", "two"))
    assert text_of(docx(tmp_path / "b.docx", body, numbering=numbering)) == "I) one\nII) two"


def test_charts_are_tables_also_where_values_are_equal(tmp_path: Path) -> None:
    def cache(values: tuple[str, ...]) -> str:
        return "".join(f'<c:pt idx="{at}"><c:v>{value}</c:v></c:pt>' for at, value in enumerate(values))

    chart = (
        f'<c:chartSpace xmlns:c="{_CHART}" xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"><c:chart>'
        "<c:title><c:tx><c:rich><a:p><a:r><a:t>Ships</a:t></a:r></a:p></c:rich></c:tx></c:title><c:plotArea><c:ser>"
        f"<c:tx>{cache(('Count',))}</c:tx><c:cat>{cache(('North', 'South', 'East'))}</c:cat>"
        f"<c:val>{cache(('5', '5', '7'))}</c:val></c:ser></c:plotArea></c:chart></c:chartSpace>"
    )
    shown = f'<w:r><w:drawing><c:chart xmlns:c="{_CHART}" xmlns:r="{_OFFICE}" r:id="rc"/></w:drawing></w:r>'
    path = with_part(docx(tmp_path / "a.docx", line(shown)), "charts/c.xml", chart, f"{_OFFICE}/chart")
    assert "Ships\n\n| | Count |" in text_of(path).replace("|  |", "| |")
    assert all(row in text_of(path) for row in ("| North | 5 |", "| South | 5 |", "| East | 7 |"))
    later = (
        f'<x:chartSpace xmlns:x="{_LATER}"><x:data id="0"><x:strDim><x:lvl><x:pt idx="0">In</x:pt><x:pt idx="1">Out'
        '</x:pt></x:lvl></x:strDim><x:numDim><x:lvl><x:pt idx="0">31</x:pt><x:pt idx="1">-4</x:pt></x:lvl></x:numDim>'
        "</x:data></x:chartSpace>"
    )
    shown = (
        f'<w:r><mc:AlternateContent {_MARKUP}><mc:Choice><w:drawing><x:chart xmlns:x="{_LATER}" xmlns:r="{_OFFICE}" '
        f'r:id="rc"/></w:drawing></mc:Choice><mc:Fallback>{run("not available")}</mc:Fallback>'
        "</mc:AlternateContent></w:r>"
    )
    path = with_part(docx(tmp_path / "b.docx", line(shown)), "charts/x.xml", later, f"{_OFFICE}/chartEx")
    assert "| In | 31 |" in text_of(path) and "| Out | -4 |" in text_of(path) and "available" not in text_of(path)


@pytest.mark.parametrize(
    ("choice", "fallback", "shown"),
    [("", paragraph("second"), "second"), (paragraph("first"), paragraph("second"), "first"), ("", "", "")],
)
def test_the_first_alternative_that_holds_anything_is_read(
    tmp_path: Path, choice: str, fallback: str, shown: str
) -> None:
    either = f"<mc:Choice>{choice}</mc:Choice><mc:Fallback>{fallback}</mc:Fallback>"
    body = f"<mc:AlternateContent {_MARKUP}>{either}</mc:AlternateContent>{paragraph('end')}"
    assert text_of(docx(tmp_path / "a.docx", body)).split() == [*shown.split(), "end"]
    inner = f"<w:r><mc:AlternateContent {_MARKUP}>{either.replace('<w:p>', '<w:txbxContent><w:p>')}"
    inner = inner.replace("</w:p>", "</w:p></w:txbxContent>")
    body = f"<w:p>{inner}</mc:AlternateContent></w:r></w:p>{paragraph('end')}"
    assert text_of(docx(tmp_path / "b.docx", body)).split() == [*shown.split(), "end"]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("c.rtf", rb"{\rtf1\ansi inner caf\'e9\par}"),
        ("c.txt", "inner café".encode()),
        ("c.htm", b"<html><body><p>inner caf&eacute;</p></body></html>"),
        ("c.dat", b"<html><body>inner caf&eacute;</body></html>"),
        ("c.mht", b"MIME-Version: 1.0\r\nContent-Type: multipart/related; boundary=b\r\n\r\n--b\r\nContent-Type: text"
                  b"/html; charset=utf-8\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n"
                  b"<p>inner caf=C3=A9</p>\r\n--b--"),
        ("c.docx", None),
    ],
)  # fmt: skip
def test_files_that_word_joins_are_read_in_their_place(tmp_path: Path, name: str, content: bytes | None) -> None:
    if content is None:
        content = docx(tmp_path / "inner.docx", paragraph("inner café")).read_bytes()
    body = f'{paragraph("before")}<w:altChunk xmlns:r="{_OFFICE}" r:id="rc"/>{paragraph("after")}'
    path = with_part(docx(tmp_path / "a.docx", body), name, content, f"{_OFFICE}/aFChunk")
    assert text_of(path).split("\n\n") == ["before", "inner café", "after"]


_FLAT = "http://schemas.microsoft.com/office/2006/xmlPackage"


@pytest.mark.parametrize("name", ["a.doc", "a.docx", "a.xyz"])
def test_documents_that_are_one_xml_text_are_read(tmp_path: Path, name: str) -> None:
    head = '<?xml version="1.0"?><?mso-application progid="Word.Document"?>'
    path = tmp_path / name
    path.write_text(
        f'{head}<p:package xmlns:p="{_FLAT}"><p:part p:name="/word/document.xml"><p:xmlData><w:document {W}><w:body>'
        f"{paragraph('flat words')}</w:body></w:document></p:xmlData></p:part></p:package>"
    )
    assert text_of(path) == "flat words"
    styles = '<w:styles><w:style w:type="paragraph" w:styleId="H"><w:name w:val="heading 1"/></w:style></w:styles>'
    path.write_text(
        f'{head}<w:wordDocument xmlns:w="http://schemas.microsoft.com/office/word/2003/wordml">{styles}<w:body>'
        f"{paragraph('Old head', 'H')}{paragraph('old words')}</w:body></w:wordDocument>"
    )
    assert titles(path) == [(1, "Old head")] and "old words" in text_of(path)


@pytest.mark.parametrize("how", ["case", "backslashes", "links", "bare"])
def test_parts_are_found_however_their_names_are_spelt(tmp_path: Path, how: str) -> None:
    styles = '<w:style w:type="paragraph" w:styleId="H"><w:name w:val="heading 1"/></w:style>'
    with zipfile.ZipFile(docx(tmp_path / "a.docx", paragraph("Head", "H"), styles)) as package:
        files = {name: package.read(name) for name in package.namelist()}
    if how == "case":
        files = {name.replace("word/document.xml", "Word/Document.xml"): data for name, data in files.items()}
    elif how == "backslashes":
        files = {name.replace("/", "\\"): data for name, data in files.items()}
    elif how == "links":
        listed = "word/_rels/document.xml.rels"
        files[listed] = files[listed].replace(b'"styles.xml"', b'".\\styles.xml"')
    else:
        files = {name: data for name, data in files.items() if name.startswith("word/")}
    assert titles(packed(tmp_path / "b.docx", files)) == [(1, "Head")]


def test_strict_namespaces_of_every_kind(tmp_path: Path) -> None:
    body = (
        '<w:p><w:r><w:t>So </w:t></w:r><m:oMath xmlns:m="http://purl.oclc.org/ooxml/officeDocument/math"><m:f><m:num>'
        "<m:r><m:t>x+1</m:t></m:r></m:num><m:den><m:r><m:t>2</m:t></m:r></m:den></m:f></m:oMath><w:r><w:drawing>"
        '<wp:docPr xmlns:wp="http://purl.oclc.org/ooxml/drawingml/wordprocessingDrawing" descr="a map"/></w:drawing>'
        "</w:r></w:p>"
    )
    with zipfile.ZipFile(docx(tmp_path / "a.docx", body)) as package:
        files = {name: package.read(name) for name in package.namelist()}
    name = "word/document.xml"
    usual = b"http://schemas.openxmlformats.org/wordprocessingml/2006/main"
    files[name] = files[name].replace(usual, b"http://purl.oclc.org/ooxml/wordprocessingml/main")
    assert text_of(packed(tmp_path / "b.docx", files)).split("\n\n") == ["So (x+1)/2", "![a map]"]


def test_strict_namespaces_among_the_words_stay(tmp_path: Path) -> None:
    words = "The space is http://purl.oclc.org/ooxml/wordprocessingml/main there."
    assert text_of(docx(tmp_path / "a.docx", line(run(words)))) == words


def test_captions_of_tables_and_drawn_words_are_kept(tmp_path: Path) -> None:
    cell = "<w:tc><w:p><w:r><w:t>{}</w:t></w:r></w:p></w:tc>"
    body = (
        '<w:tbl><w:tblPr><w:tblCaption w:val="Prices"/><w:tblDescription w:val="of 2024"/></w:tblPr><w:tr>'
        f"{cell.format('a')}{cell.format('b')}</w:tr></w:tbl>"
    )
    art = '<w:p><w:r><w:pict><v:textpath xmlns:v="urn:schemas-microsoft-com:vml" string="DRAFT"/></w:pict></w:r></w:p>'
    text = text_of(docx(tmp_path / "a.docx", body, header=art))
    assert "![Prices]" in text and "![of 2024]" in text and "DRAFT" in text


_VML = 'xmlns:v="urn:schemas-microsoft-com:vml"'


@pytest.mark.parametrize(
    ("drawing", "alt"),
    [
        ('<v:shape alt="A quay"><v:imagedata/></v:shape>', "![A quay]"),
        ('<v:group alt="Plan"><v:rect alt="Quay"/></v:group>', "![Plan]\n\n![Quay]"),
        ("<v:shape><v:imagedata/></v:shape>", ""),
    ],
)
def test_alternative_texts_of_older_drawings(tmp_path: Path, drawing: str, alt: str) -> None:
    body = line(run("Fig."), f"<w:r><w:pict {_VML}>{drawing}</w:pict></w:r>")
    assert text_of(docx(tmp_path / "a.docx", body)) == f"Fig.\n\n{alt}".strip()


@pytest.mark.parametrize(("author", "mark"), [("Kim Lee", "comment by Kim Lee"), ("", "comment"), (None, "comment")])
def test_comments_name_their_authors(tmp_path: Path, author: str | None, mark: str) -> None:
    named = "" if author is None else f' w:author="{author}"'
    comments = f'<w:comment w:id="4"{named}>{paragraph("why")}</w:comment>'
    path = docx(tmp_path / "a.docx", line(run("ten"), reference("comment", 4)), comments=comments)
    assert text_of(path).split("\n\n") == ["ten", f"[{mark}] why"]


_STYLES = """
<w:style w:type="character" w:styleId="Sup"><w:rPr><w:vertAlign w:val="superscript"/></w:rPr></w:style>
<w:style w:type="character" w:styleId="Note"><w:basedOn w:val="Sup"/></w:style>
<w:style w:type="character" w:styleId="Gone"><w:rPr><w:strike/></w:rPr></w:style>
<w:style w:type="character" w:styleId="Secret"><w:rPr><w:vanish/></w:rPr></w:style>
<w:style w:type="paragraph" w:styleId="Void"><w:name w:val="void"/><w:rPr><w:dstrike/></w:rPr></w:style>
<w:style w:type="paragraph" w:styleId="Blind"><w:name w:val="blind"/><w:rPr><w:vanish/></w:rPr></w:style>
<w:style w:type="paragraph" w:styleId="Blinder"><w:name w:val="blinder"/><w:basedOn w:val="Blind"/></w:style>
"""


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        (line(run("10"), run("6", '<w:rStyle w:val="Note"/>')), "10^6"),
        (line(run("10"), run("6", '<w:rStyle w:val="Note"/><w:vertAlign w:val="baseline"/>')), "106"),
        (line(run("10"), run("6", '<w:position w:val="8"/>'), run(" m")), "10^6 m"),
        (line(run("H"), run("2", '<w:position w:val="-6"/>'), run("O")), "H₂O"),
        (line(run("10"), run("6", '<w:position w:val="2"/>')), "106"),  # moved by a point only
        (line(run("a "), run("b", '<w:rStyle w:val="Gone"/>'), run(" c")), "a ~~b~~ c"),
        (line(run("a "), run("b", '<w:rStyle w:val="Gone"/><w:strike w:val="0"/>')), "a b"),
        (paragraph("all of it", "Void"), "~~all of it~~"),
        (line(run("a "), run("b", "<w:strike/>"), properties='<w:pStyle w:val="Void"/>'), "~~a b~~"),
    ],
)
def test_looks_of_runs_come_from_styles_too(tmp_path: Path, body: str, shown: str) -> None:
    assert text_of(docx(tmp_path / "a.docx", body, _STYLES)) == shown


@pytest.mark.parametrize(
    "body",
    [
        line(run("seen "), run("two words", '<w:rStyle w:val="Secret"/>')),
        paragraph("seen") + paragraph("two words", "Blind"),
        paragraph("seen") + paragraph("two words", "Blinder"),
        f"<w:tbl><w:tr><w:tc>{paragraph('seen')}{paragraph('two words', 'Blind')}</w:tc></w:tr></w:tbl>",
    ],
)
def test_text_that_a_style_hides_is_left_out_and_counted(tmp_path: Path, body: str) -> None:
    info, pages = read(docx(tmp_path / "a.docx", body, _STYLES))
    assert [page.text.strip() for page in pages] == ["seen"]
    assert info.warnings == ("2 words of hidden text, which is not printed, were left out",)


def test_deleted_words_are_counted(tmp_path: Path) -> None:
    body = line(run("kept"), "<w:del><w:r><w:delText>three old words</w:delText></w:r></w:del>")
    info, pages = read(docx(tmp_path / "a.docx", body))
    assert pages[0].text == "kept"
    assert info.warnings == ("3 words that a tracked change deletes were left out",)


def test_readings_follow_their_paragraph(tmp_path: Path) -> None:
    one = "<w:r><w:t>{}</w:t></w:r>"
    ruby = f"<w:r><w:ruby><w:rt>{one}</w:rt><w:rubyBase>{one}</w:rubyBase></w:ruby></w:r>"
    body = line(ruby.format("とう", "東"), ruby.format("きょう", "京"), run("都です"))
    assert text_of(docx(tmp_path / "a.docx", body)) == "東京都です (東 とう; 京 きょう)"


@pytest.mark.parametrize(
    ("kind", "language", "shown"),
    [
        ("cardinalText", "en-GB", "Twenty-one. one"),
        ("ordinalText", "", "Twenty-first. one"),
        ("ordinal", "en-US", "21st. one"),
        ("cardinalText", "de-DE", "21. one"),  # numbers in words are written in English only
        ("ordinal", "fr-FR", "21. one"),
        ("hex", "", "15. one"),
        ("numberInDash", "", "- 21 -. one"),
        ("hebrew1", "he-IL", "כא. one"),
        ("chineseLegalSimplified", "zh-CN", "贰拾壹. one"),
        ("thaiNumbers", "th-TH", "๒๑. one"),
        ("decimalEnclosedFullstop", "", "21. one"),
    ],
)
def test_numbers_of_lists_in_words_and_other_digits(tmp_path: Path, kind: str, language: str, shown: str) -> None:
    usual = f'<w:docDefaults><w:rPrDefault><w:rPr><w:lang w:val="{language}"/></w:rPr></w:rPrDefault></w:docDefaults>'
    numbering = (
        listed(kind, "%1.").replace('<w:start w:val="1"/>', "").replace("<w:numFmt", '<w:start w:val="21"/><w:numFmt')
    )
    body = paragraph("one", properties='<w:numPr><w:ilvl w:val="0"/><w:numId w:val="1"/></w:numPr>')
    assert text_of(docx(tmp_path / "a.docx", body, usual if language else "", numbering)) == shown


@pytest.mark.parametrize(
    ("number", "kind", "shown"),
    [
        (1, "ordinalText", "First"), (12, "ordinalText", "Twelfth"), (20, "ordinalText", "Twentieth"),
        (100, "ordinalText", "One hundredth"), (101, "ordinalText", "One hundred first"), (0, "cardinalText", "Zero"),
        (342, "cardinalText", "Three hundred forty-two"), (1200, "cardinalText", "One thousand two hundred"),
        (15, "hebrew1", "טו"), (115, "hebrew1", "קטו"), (10, "chineseCounting", "十"),
        (203, "chineseCounting", "二百零三"),
        (10, "koreanCounting", "십"), (30, "hebrew2", "חח"), (7, "001", "007"), (2, "hindiNumbers", "२"),
        (5, "dollarText", "5"),
    ],
)  # fmt: skip
def test_numbers_in_the_formats_of_word(number: int, kind: str, shown: str) -> None:
    assert written(number, kind) == shown


def _marked(text: str, kind: str) -> str:
    return line(run(text), properties=f'<w:rPr><w:{kind} w:id="1"/></w:rPr>')


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        (_marked("The agree", "del") + line(run("ment holds.")), ["The agreement holds."]),
        (_marked("One ", "del") + _marked("and ", "moveFrom") + line(run("two"), properties=_LIST), ["1. One and two"]),
        (_marked("Last", "del") + "<w:tbl/>" + line(run("other")), ["Last", "other"]),
        (_marked("ended", "ins") + line(run("new")), ["ended", "new"]),
    ],
)
def test_paragraphs_whose_end_is_deleted_are_joined(tmp_path: Path, body: str, shown: list[str]) -> None:
    path = docx(tmp_path / "a.docx", body, numbering=listed("decimal", "%1."))
    assert text_of(path).split("\n\n") == shown


def test_many_deleted_ends_are_joined_in_seconds(tmp_path: Path) -> None:
    path = docx(tmp_path / "a.docx", _marked("a ", "del") * 5_000 + line(run("b")))
    begin = time.process_time()
    assert text_of(path).split() == ["a"] * 5_000 + ["b"] and time.process_time() - begin < 10


def _linked(text: str) -> str:
    return line(f'<w:hyperlink xmlns:r="{_OFFICE}" r:id="rc">{run(text)}</w:hyperlink>')


def _drawn_chart(id: str) -> str:
    return f'<w:r><w:drawing><c:chart xmlns:c="{_CHART}" xmlns:r="{_OFFICE}" r:id="{id}"/></w:drawing></w:r>'


def chart(plot: str, title: str = "") -> str:
    return (
        f'<c:chartSpace xmlns:c="{_CHART}" xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"><c:chart>'
        f"{title}<c:plotArea>{plot}</c:plotArea></c:chart></c:chartSpace>"
    )


def copied(tag: str, *values: str) -> str:
    """Values that a chart copied from cells."""
    points = "".join(f'<c:pt idx="{at}"><c:v>{value}</c:v></c:pt>' for at, value in enumerate(values))
    return f"<c:{tag}><c:strRef><c:strCache>{points}</c:strCache></c:strRef></c:{tag}>"


def test_links_charts_and_files_of_heads_and_notes_are_their_own(tmp_path: Path) -> None:
    body = line(run("see"), reference("footnote", 2), run(" "), reference("comment", 3)) + _linked("main")
    path = docx(
        tmp_path / "a.docx", body, footnotes=f'<w:footnote w:id="2">{_linked("the rule")}</w:footnote>',
        comments=f'<w:comment w:id="3">{_linked("my remark")}</w:comment>',
        header=f'{line(_drawn_chart("r1"))}<w:altChunk xmlns:r="{_OFFICE}" r:id="r2"/>',
    )  # fmt: skip
    path = with_part(path, "x.txt", "", f"{_OFFICE}/hyperlink", 'https://main.example" TargetMode="External')
    with zipfile.ZipFile(path) as package:
        files = {entry: package.read(entry) for entry in package.namelist()}
    external = f'<R><Relationship Id="rc" Type="{_OFFICE}/hyperlink" TargetMode="External" Target="https://%s/x"/></R>'
    inner = f'<R><Relationship Id="r1" Type="{_OFFICE}/chart" Target="c.xml"/>'
    text = text_of(packed(tmp_path / "b.docx", {
        **files, "word/_rels/footnotes.xml.rels": external % "rule.example",
        "word/_rels/comments.xml.rels": external % "remark.example",
        "word/_rels/header.xml.rels": f'{inner}<Relationship Id="r2" Type="{_OFFICE}/aFChunk" Target="k.txt"/></R>',
        "word/c.xml": chart("", f"<c:title>{copied('tx', 'Ships')}</c:title>"), "word/k.txt": "joined words",
    }))  # fmt: skip
    for shown in ("[main](https://main.example)", "[the rule](https://rule.example/x)", "Ships", "joined words",
                  "[my remark](https://remark.example/x)"):  # fmt: skip
        assert shown in text


def test_comments_on_notes_follow_them(tmp_path: Path) -> None:
    note = f'<w:footnote w:id="2">{line(run("note"), reference("comment", 3))}</w:footnote>'
    remark = f'<w:comment w:id="3" w:author="Eve">{line(run("why"), reference("comment", 3))}</w:comment>'
    body = line(run("a"), reference("footnote", 2)) + line(run("b"))
    path = docx(tmp_path / "a.docx", body, footnotes=note, comments=remark)
    assert text_of(path).split("\n\n")[:3] == ["a[1]", "[1] note", "[comment by Eve] why"]


_CORE = "http://schemas.openxmlformats.org/package/2006/metadata/core-properties"
_STORE = "{6C3C8BC8-F283-45AE-878A-BAB7291924A1}"


def _control(kind: str, path: str, text: str, store: str = "{aa}") -> str:
    binding = f"<w:dataBinding w:prefixMappings=\"xmlns:x='urn:offer' xmlns:c='{_CORE}'\" w:xpath=\"{path}\" "
    properties = f'{kind}{binding} w:storeItemID="{store}"/>'
    return f"<w:sdt><w:sdtPr>{properties}</w:sdtPr><w:sdtContent>{run(text)}</w:sdtContent></w:sdt>"


def test_notes_on_each_other_do_not_multiply(tmp_path: Path) -> None:
    marks = "".join(reference("footnote", number) for number in range(2, 62))
    notes = "".join(f'<w:footnote w:id="{at}">{line(run(f"note{at}"), marks)}</w:footnote>' for at in range(2, 62))
    begin = time.process_time()
    text = text_of(docx(tmp_path / "a.docx", line(run("a"), reference("footnote", 2)), footnotes=notes))
    assert 1 <= text.count("note61") <= 2 and time.process_time() - begin < 10


@pytest.mark.parametrize(
    ("control", "shown"),
    [
        (_control("<w:text/>", "/x:offer[1]/x:client[1]", "OLD"), "Acme Ltd"),
        (_control("<w:showingPlcHdr/><w:date/>", "/x:offer/@day", "Click here"), "2024-05-01"),
        (_control('<w:dropDownList><w:listItem w:displayText="Open" w:value="o"/></w:dropDownList>',
                  "/x:offer/x:state", "Choose"), "Open"),
        (_control("<w:text/>", "/c:coreProperties[1]/c:category[1]", "[Type]", _STORE), "Tender"),
        (_control("<w:text/>", "/x:offer/x:none", "kept"), "kept"),
        (_control("<w:text/>", "//x:offer[1=1]", "kept"), "kept"),
        (_control("<w:richText/>", "/x:offer[1]/x:client[1]", "kept"), "kept"),
    ],
)  # fmt: skip
def test_controls_show_the_data_to_which_they_are_bound(tmp_path: Path, control: str, shown: str) -> None:
    path = docx(tmp_path / "a.docx", line(run("So: "), control))
    with zipfile.ZipFile(path) as package:
        files = {entry: package.read(entry) for entry in package.namelist()}
    properties = "http://schemas.openxmlformats.org/package/2006/relationships/metadata/core-properties"
    link = f'<Relationship Id="c" Type="{properties}" Target="core.xml"/></Relationships>'
    data = (
        '<o:offer xmlns:o="urn:offer" day="2024-05-01T00:00:00"><o:client>Acme Ltd</o:client><o:state>o</o:state>'
        "</o:offer>"
    )
    link_of_item = f'<R><Relationship Id="p" Type="{_OFFICE}/customXmlProps" Target="props.xml"/></R>'
    item = "http://schemas.openxmlformats.org/officeDocument/2006/customXml"
    assert text_of(packed(tmp_path / "b.docx", {
        **files, "_rels/.rels": files["_rels/.rels"].replace(b"</Relationships>", link.encode()),
        "core.xml": f'<c:coreProperties xmlns:c="{_CORE}"><c:category>Tender</c:category></c:coreProperties>',
        "customXml/item1.xml": data, "customXml/props.xml": f'<d:x xmlns:d="{item}" d:itemID="{{AA}}"/>',
        "customXml/_rels/item1.xml.rels": link_of_item,
    })) == f"So: {shown}"  # fmt: skip


@pytest.mark.parametrize(
    ("instruction", "shown"),
    [
        (r"EQ \f(1,2)", "1/2"), (r"EQ \r(3,x+1)", "3√(x+1)"), (r"eq \o\ac(○,3)", "3"), (r"EQ x\s\up5(2)", "x^2"),
        (r"EQ \i\su(1,5,3)", "∑ 1 5 3"), (r"EQ \b(\f(a+b;2))", "((a+b)/2)"), (r"EQ \f(a", "a"),
        (r'SYMBOL 176 \f "Symbol" \s 12', "°"), (r"SYMBOL 0xFE \f Wingdings", "☒"), (r"SYMBOL 163", "£"),
        ("MACROBUTTON NoMacro [Type a name]", "[Type a name]"), ("PAGE", ""),
    ],
)  # fmt: skip
def test_fields_without_a_stored_result_show_what_they_say(tmp_path: Path, instruction: str, shown: str) -> None:
    body = line(run("x "), field(code(instruction), ""), run(" z"))
    assert text_of(docx(tmp_path / "a.docx", body)).split() == f"x {shown} z".split()
    body = line(run("x "), field(code(instruction), run("stored")), run(" z"))
    assert text_of(docx(tmp_path / "b.docx", body)) == "x stored z"


def test_very_long_instructions_are_bounded() -> None:
    begin = time.process_time()
    assert field_words("MACROBUTTON x" + " " * 100_000 + "\n") == "" and time.process_time() - begin < 1


def test_damaged_relations_of_bound_data_are_skipped(tmp_path: Path) -> None:
    path = docx(tmp_path / "a.docx", line(run("So: "), _control("<w:text/>", "/x:offer", "stored")))
    with zipfile.ZipFile(path) as package:
        files = {entry: package.read(entry) for entry in package.namelist()}
    damaged = {"customXml/item1.xml": "<o/>", "customXml/_rels/item1.xml.rels": "no XML"}
    assert text_of(packed(tmp_path / "b.docx", {**files, **damaged})) == "So: stored"


@pytest.mark.parametrize("space", ["wordprocessingml", "drawingml/wordprocessingDrawing", "officeDocument/math"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_strict_namespaces_at_any_place_and_in_any_encoding(tmp_path: Path, space: str, encoding: str) -> None:
    body = line(run("long " * 1500)) + line(run("Größe"))
    math = (
        '<w:p><m:oMath xmlns:m="http://purl.oclc.org/ooxml/officeDocument/math"><m:r><m:t>E</m:t></m:r></m:oMath></w:p>'
    )
    art = (
        '<w:p><w:r><w:drawing><wp:docPr xmlns:wp="http://purl.oclc.org/ooxml/drawingml/wordprocessingDrawing" '
        'descr="a map"/></w:drawing></w:r></w:p>'
    )
    with zipfile.ZipFile(docx(tmp_path / "a.docx", body + math + art)) as package:
        files = {name: package.read(name) for name in package.namelist()}
    text = files["word/document.xml"].decode()
    if space == "wordprocessingml":
        usual = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
        text = text.replace(usual, "http://purl.oclc.org/ooxml/wordprocessingml/main")
    files["word/document.xml"] = f'<?xml version="1.0" encoding="{encoding}"?>{text}'.encode(encoding)
    assert text_of(packed(tmp_path / "b.docx", files)).split("\n\n")[1:] == ["Größe", "E", "![a map]"]


@pytest.mark.parametrize("text", ["\n   Hello world\n  ", "Hello\n world", "Hello\r\n\t world"])
def test_breaks_in_the_source_are_spaces(tmp_path: Path, text: str) -> None:
    assert text_of(docx(tmp_path / "a.docx", line(run(text)))) == "Hello world"


def _series(*parts: str) -> str:
    return f"<c:ser>{''.join(parts)}</c:ser>"


_LEVELS = (
    "<c:cat><c:multiLvlStrRef><c:multiLvlStrCache>"
    '<c:lvl><c:pt idx="0"><c:v>Q1</c:v></c:pt><c:pt idx="1"><c:v>Q2</c:v></c:pt><c:pt idx="2"><c:v>Q1</c:v></c:pt>'
    "</c:lvl>"
    '<c:lvl><c:pt idx="0"><c:v>2023</c:v></c:pt><c:pt idx="2"><c:v>2024</c:v></c:pt></c:lvl>'
    "</c:multiLvlStrCache></c:multiLvlStrRef></c:cat>"
)
_LABEL = (
    '<c:dLbls><c:dLbl><c:idx val="1"/><c:tx><c:rich><a:p><a:r><a:t>Record</a:t></a:r></a:p></c:rich></c:tx></c:dLbl>'
    "</c:dLbls>"
)
_RANGE = (
    '<c:extLst><c:ext><x:datalabelsRange xmlns:x="http://schemas.microsoft.com/office/drawing/2012/chart">'
    '<x:dlblRangeCache><c:pt idx="0"><c:v>Low</c:v></c:pt></x:dlblRangeCache></x:datalabelsRange></c:ext></c:extLst>'
)


@pytest.mark.parametrize(
    ("plot", "shown"),
    [
        (_series(_LEVELS, copied("val", "5", "6", "7")), ["| 2023 Q1 | 5 |", "| 2023 Q2 | 6 |", "| 2024 Q1 | 7 |"]),
        (_series(copied("tx", "Sales"), _LABEL, copied("val", "5", "6"), _RANGE),
         ["| Sales |", "5 (Low)", "6 (Record)"]),
        (_series(copied("tx", "A"), copied("xVal", "1"), copied("yVal", "10"))
         + _series(copied("tx", "B"), copied("xVal", "2"), copied("yVal", "20")),
         ["| A |", "| 1 | 10 |", "| B |", "| 2 | 20 |"]),
        (_series(copied("tx", "A"), copied("xVal", "1"), copied("yVal", "10"))
         + _series(copied("tx", "B"), copied("xVal", "1"), copied("yVal", "20")), ["| A | B |", "| 1 | 10 | 20 |"]),
        (_series(copied("xVal", "1"), copied("yVal", "2"), copied("bubbleSize", "99")), ["| 1 | 2 | 99 |"]),
        (f"<c:catAx><c:title>{copied('tx', 'Harbours')}</c:title></c:catAx>", ["Harbours"]),
    ],
)  # fmt: skip
def test_charts_keep_levels_labels_own_x_values_and_sizes(tmp_path: Path, plot: str, shown: list[str]) -> None:
    body = line(_drawn_chart("rc"))
    path = with_part(docx(tmp_path / "a.docx", body), "charts/c.xml", chart(plot), f"{_OFFICE}/chart")
    text, at = text_of(path), 0
    for part in shown:
        assert part in text[at:], text
        at = text.index(part, at)


@pytest.mark.parametrize("shape", ["wps", "pic", "wpg"])
def test_alternative_texts_of_shapes_in_groups_are_kept_and_those_of_single_pictures_once(
    tmp_path: Path, shape: str
) -> None:
    space = f'xmlns:{shape}="urn:{shape}"'
    inner = f'<{shape}:cNvPr {space} id="1" name="y" descr="a quay"/>'
    single = '<w:drawing><wp:docPr xmlns:wp="http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing" '
    body = line(f'<w:r>{single}descr="a ship"/>{inner.replace("a quay", "C:/ship.jpg")}</w:drawing></w:r>')
    body += line(f'<w:r><w:drawing><g:wgp xmlns:g="urn:wpg">{inner}</g:wgp></w:drawing></w:r>')
    assert text_of(docx(tmp_path / "a.docx", body)) == "![a ship]\n\n![a quay]"


def _of_2003(path: Path, body: str) -> Path:
    spaces = (
        'xmlns:w="http://schemas.microsoft.com/office/word/2003/wordml" xmlns:aml="http://schemas.microsoft.com/aml/2001/'
        'core" xmlns:wx="http://schemas.microsoft.com/office/word/2003/auxHint"'
    )
    lines = '<w:docPr><w:footnotePr><w:footnote w:type="separator"><w:p/></w:footnote></w:footnotePr></w:docPr>'
    path.write_text(
        f"<?xml version='1.0'?><w:wordDocument {spaces}>{lines}<w:body><wx:sect>{body}</wx:sect></w:body>"
        "</w:wordDocument>"
    )
    return path


def _listed(mark: str) -> str:
    return f'<w:listPr><w:ilvl w:val="0"/><wx:t wx:val="{mark}" wx:wTabBefore="3"/></w:listPr>'


_CELL = "<w:tc><w:tcPr>{}</w:tcPr>{}</w:tc>"


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        (line(run("alpha"), properties=_listed("1.")) + line(run("beta"), properties=_listed("2.")),
         ["1. alpha", "2. beta"]),
        (line(run("a"), f"<w:r><w:footnote>{line(run('note'))}</w:footnote></w:r>", run(" b")), ["a[1] b", "[1] note"]),
        (line(run("a"), f"<w:r><w:endnote>{line(run('end'))}</w:endnote></w:r>", run(" b")), ["a[i] b", "[i] end"]),
        (line(run("a"), '<aml:annotation aml:author="Eve" w:type="Word.Comment"><aml:content>' + line(run("why"))
              + "</aml:content></aml:annotation>", run(" b")), ["a b", "[comment by Eve] why"]),
        (line('<aml:annotation w:type="Word.Insertion"><aml:content>' + run("new") + "</aml:content></aml:annotation>"),
         ["new"]),
        (line(run("one"), properties=f'<w:sectPr><w:hdr w:type="odd">{line(run("Head"))}</w:hdr></w:sectPr>')
         + f'<w:sectPr><w:ftr w:type="odd">{line(run("Foot"))}</w:ftr></w:sectPr>', ["one", "Head", "Foot"]),
        (line(f'<w:hlink w:dest="https://e.x/y?a=1&amp;b=2">{run("linked")}</w:hlink>'),
         ["[linked](https://e.x/y?a=1&b=2)"]),
        ("<w:tbl><w:tr>" + _CELL.format('<w:vmerge w:val="restart"/>', line(run("G")))
         + _CELL.format("", line(run("1")))
         + "</w:tr><w:tr>" + _CELL.format("<w:vmerge/>", line()) + _CELL.format("", line(run("2"))) + "</w:tr></w:tbl>",
         ["| G | 1 |", "| G | 2 |"]),
    ],
)  # fmt: skip
def test_notes_lists_heads_and_links_of_word_2003(tmp_path: Path, body: str, shown: list[str]) -> None:
    text = text_of(_of_2003(tmp_path / "a.xml", body))
    assert [part for part in text.split("\n") if part and not part.startswith("|--")] == shown


def test_a_drawing_is_read_once_for_diagrams_without_data(tmp_path: Path) -> None:
    relations = f'<d:relIds xmlns:d="urn:d" xmlns:r="{_OFFICE}" r:dm="x"/>'
    drawing = f'<a:x xmlns:a="{_DRAWN}"><a:p><a:r><a:t>kelp</a:t></a:r></a:p></a:x>'
    body = line(f"<w:r><w:drawing>{relations}</w:drawing></w:r>") * 3
    kind = "http://schemas.microsoft.com/office/2007/relationships/diagramDrawing"
    assert text_of(with_part(docx(tmp_path / "a.docx", body), "drawing1.xml", drawing, kind)).count("kelp") == 1


def test_damaged_charts_are_skipped_with_a_warning(tmp_path: Path) -> None:
    body = line(run("kelp"), _drawn_chart("rc"))
    path = with_part(docx(tmp_path / "a.docx", body), "charts/c.xml", "no XML", f"{_OFFICE}/chart")
    info, pages = read(path)
    assert pages[0].text == "kelp" and "charts/c.xml" in str(info.warnings[0])
