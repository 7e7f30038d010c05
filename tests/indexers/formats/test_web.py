"""HTML, EPUB and FB2: the text without what surrounds it, and books by their own contents."""

from __future__ import annotations

from pathlib import Path

import pytest

from hybrid_core.errors import PasswordError
from tests.indexers.formats.packages import epub, opendocument, read, text_of, titles

PAGE = """<!doctype html><html><head><title>Ports</title><meta name="author" content="I. Kelp"><style>p{}</style></head>
<body><nav>Home</nav><header>Banner</header><main><h1>Harbours</h1><p>The <b>tide</b>\nturns.<p>Second
<ul><li>gull<ul><li>chick</li></ul><li>tern</ul><ol><li>first</li><li>second</li></ol>
<table><tr><th rowspan=2>Port<th>Ships</tr><tr><td>44</table><pre><code class="language-sh">ls  -l</code></pre>
<img alt="a lighthouse"><script>x()</script></main><footer>Legal</footer></body></html>"""


def test_html_is_read_without_what_surrounds_it(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text(PAGE)
    info, (page,) = read(tmp_path / "a.html")
    text = page.text
    assert "The tide turns." in text and "- gull\n  - chick\n- tern" in text and "1. first\n2. second" in text
    assert "| Port | Ships |\n|---|---|\n| Port | 44 |" in text
    assert "```sh\nls  -l\n```" in text and "![a lighthouse]" in text
    for gone in ("Home", "Banner", "Legal", "x()", "p{}"):
        assert gone not in text
    assert info.metadata == {"title": "Ports", "author": "I. Kelp"} and text.startswith("Ports\n")
    assert [(h.level, h.title) for h in info.headings or ()] == [(1, "Harbours")]


def test_a_page_inside_a_form_and_layout_tables_are_read(tmp_path: Path) -> None:
    source = "<form><table><tr><td><h2>Dues</h2></td><td><p>paid</td></tr></table></form>"
    (tmp_path / "a.html").write_text(source)
    assert titles(tmp_path / "a.html") == [(2, "Dues")] and "paid" in text_of(tmp_path / "a.html")


def test_html_in_the_encoding_that_it_declares(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_bytes('<meta charset="shift_jis"><p>港の灯台'.encode("shift_jis"))
    assert text_of(tmp_path / "a.html") == "港の灯台"


def test_deeply_nested_html_is_read(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text("<div>" * 20_000 + "kelp")
    assert "kelp" in text_of(tmp_path / "a.html")


CHAPTERS = {
    "one.xhtml": '<h2 id="a">Ebb</h2><p>It goes.</p><h3>Moon</h3><p>It pulls.</p>',
    "two.xhtml": '<p id="b">It comes.</p><p id="p9">And so on.</p>',
}
NAV = """<nav epub:type="toc"><ol><li><a href="one.xhtml#a">Ebb</a></li>
<li><a href="two.xhtml">Flood</a></li></ol></nav>
<nav epub:type="page-list"><ol><li><a href="two.xhtml#p9">9</a></li></ol></nav>"""


def test_a_book_has_the_headings_of_its_contents_and_pages_inside_its_files(tmp_path: Path) -> None:
    file = epub(tmp_path / "a.epub", CHAPTERS, NAV)
    info, pages = read(file)
    assert titles(file) == [(1, "Ebb"), (2, "Moon"), (1, "Flood")]
    assert [page.label for page in pages] == ["ch. 1", "ch. 2"]
    assert info.metadata == {"title": "Tides", "author": "I. Kelp"}


def test_printed_page_numbers_are_a_books_labels(tmp_path: Path) -> None:
    long = "".join(f"<p>{'The keeper counts the ships. ' * 40}</p>" for _ in range(8))
    file = epub(tmp_path / "a.epub", {"two.xhtml": f'<p id="p9">And so on.</p>{long}'}, NAV)
    assert {page.label for page in read(file)[1]} == {"p. 9"}


def test_a_protected_book_says_so_and_obfuscated_fonts_are_no_protection(tmp_path: Path) -> None:
    def encryption(method: str, name: str) -> str:
        return (
            f'<encryption><EncryptedData><EncryptionMethod Algorithm="{method}"/><CipherReference URI="{name}"/>'
            "</EncryptedData></encryption>"
        )

    named = "META-INF/encryption.xml"
    font = encryption("http://www.idpf.org/2008/embedding", "OPS/one.xhtml")
    assert text_of(epub(tmp_path / "a.epub", CHAPTERS, NAV, **{named: font}))
    locked = encryption("http://www.w3.org/2001/04/xmlenc#aes128-cbc", "OPS/one.xhtml")
    with pytest.raises(PasswordError, match="protected against copying"):
        read(epub(tmp_path / "b.epub", CHAPTERS, NAV, **{named: locked}))


def test_fictionbook(tmp_path: Path) -> None:
    (tmp_path / "a.fb2").write_text(
        '<FictionBook xmlns="http://www.gribuser.ru/xml/fictionbook/2.0"><description><title-info><book-title>Tides'
        "</book-title></title-info></description><body><title><p>Tides</p></title><section><title><p>Ebb</p></title>"
        "<p>It goes.</p></section></body></FictionBook>"
    )
    assert titles(tmp_path / "a.fb2") == [(1, "Tides"), (2, "Ebb")] and "It goes." in text_of(tmp_path / "a.fb2")


def test_what_xml_closes_in_itself_holds_nothing(tmp_path: Path) -> None:
    file = epub(tmp_path / "a.epub", {"one.xhtml": ""}, **{
        "OPS/one.xhtml": '<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"><head><title/>'
        '<script src="a.js"/></head><body><p>It goes.<br/>And comes.</p><div class="x"/><p>So.</p></body></html>'
    })  # fmt: skip
    assert text_of(file) == "It goes.\nAnd comes.\n\nSo."


def test_a_page_ends_where_the_writer_ends_it(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text(
        '<title>Tides</title><p>One.<br style="page-break-before:always">Two.<div style="color:red;break-after:page">'
        "Three.</div>Four."
    )
    (tmp_path / "a.rtf").write_text(r"{\rtf1\ansi One.\par\page Two.\par{\pagebb0 Three.}}")
    breaks = 'xmlns:fo="urn:oasis:names:tc:opendocument:xmlns:xsl-fo-compatible:1.0"'
    styles = (
        f'<style:style style:name="P"><style:paragraph-properties {breaks} fo:break-before="page"/></style:style>'
        '<style:style style:name="Q" style:parent-style-name="P"/>'
    )
    body = '<text:p>One.</text:p><text:section><text:p text:style-name="Q">Two.</text:p></text:section>'
    opendocument(tmp_path / "a.odt", body, styles=styles)
    assert [page.text for page in read(tmp_path / "a.html")[1]] == ["Tides\n\nOne.", "Two.\n\nThree.", "Four."]
    assert [page.text for page in read(tmp_path / "a.rtf")[1]] == ["One.", "Two.\n\nThree."]
    assert [page.text for page in read(tmp_path / "a.odt")[1]] == ["One.", "Two."]


@pytest.mark.parametrize(
    ("sheet", "body", "text"),
    [
        (".x, #y {display:none}", '<p class="x">gone</p><p id="y">gone</p><p>kelp</p>', "kelp"),
        ("p.x span { visibility : hidden !important; }", '<p class="x">kelp <span>gone</span>reef</p>', "kelp reef"),
        ("@media print {.x{display:none}}", '<p class="x">kelp</p>', "kelp"),
        ("@media screen {.x{display:none}} /*.k{display:none}*/", '<p class="x">gone</p><p class="k">kelp</p>', "kelp"),
        (".x{display:none} .x.open{display:block}", '<p class="x">a click opens it</p>', "a click opens it"),
        (".x{display:none} #k{display:block}", '<p class="x" id="k">kelp</p>', "kelp"),
        ("p{display:none}", "<p>a script shows the page later</p>", "a script shows the page later"),
        (".old{text-decoration:line-through} .up{vertical-align:super}",
         'due <span class="old">May</span> June, 10<span class="up">6</span>', "due ~~May~~ June, 10^6"),
        ("", 'due <span style="text-decoration: line-through">May</span>', "due ~~May~~"),
        ("ol.r {list-style-type: upper-roman}", '<ol class="r"><li>kelp</li></ol>', "I. kelp"),
        ("", '<ol style="list-style: lower-alpha inside"><li>kelp</li></ol>', "a. kelp"),
        ("} .x{{display:none} @media (", '<p class="x">kelp</p>', "kelp"),
        (".x:::{display:none} [{display:none}", '<p class="x">kelp</p>', "kelp"),
    ],
)  # fmt: skip
def test_style_sheets_of_a_page_hide_strike_and_raise(tmp_path: Path, sheet: str, body: str, text: str) -> None:
    more = "<p>The keeper counts the ships of the port.</p>" if "gone" in body else ""
    (tmp_path / "a.html").write_text(f"<html><head><style>{sheet}</style></head><body>{body}{more}</body></html>")
    assert text_of(tmp_path / "a.html").split("\n")[0] == text


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (
            "10<sup>6</sup>, b<sup>n+1</sup>, the 2<sup>nd</sup>, x<sub>max</sub>, CO<sub>2</sub>",
            "10^6, b^(n+1), the 2nd, x_max, CO₂",
        ),
        ('in 1984<sup><a href="#n">3</a></sup>, 1985<sup>4</sup>', "in 1984[3], 1985^4"),
        ("Acme<sup>TM</sup> 10<sup>−6</sup> mol", "AcmeTM 10^−6 mol"),
    ],
)
def test_words_above_and_below_the_line_are_as_in_office_files(tmp_path: Path, body: str, text: str) -> None:
    (tmp_path / "a.html").write_text(f"<p>{body}</p>")
    assert text_of(tmp_path / "a.html") == text


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("<p>10<sup>6</sup> t of CO<sub>2</sub>, sp<strong>li</strong>t</p>", "10^6 t of CO₂, split"),
        ('<p>in 1984<a type="note" href="#n">3</a> <strikethrough>May</strikethrough>.</p>', "in 1984^3 ~~May~~."),
        ('<table><tr><th>Port</th><th colspan="2">Dues</th></tr><tr><td rowspan="2">Oban</td><td>10<sup>6</sup></td>'
         "<td>2</td></tr><tr><td>3</td><td>4</td></tr></table>",
         "| Port | Dues |  |\n|---|---|---|\n| Oban | 10^6 | 2 |\n| Oban | 3 | 4 |"),
    ],
)  # fmt: skip
def test_forms_of_fictionbooks(tmp_path: Path, body: str, text: str) -> None:
    (tmp_path / "a.fb2").write_text(f"<FictionBook><body><section>{body}</section></body></FictionBook>")
    assert text_of(tmp_path / "a.fb2") == text
