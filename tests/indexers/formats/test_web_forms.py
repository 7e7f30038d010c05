"""Web pages as a browser shows them: parts in their order, words apart, what opens, frames and drawings."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from hybrid_core.types.notes import Note
from indexers.formats.flow.blocks import Paragraph
from indexers.formats.web.html import parse_html
from tests.indexers.formats.packages import epub, read, repacked, text_of

FLEX = "<style>.row{display:flex;flex-direction:row-reverse} .last{order:9} .first{order:-1} .g{display:grid}</style>"


def words(folder: Path, body: str, head: str = "") -> str:
    path = folder / "a.html"
    path.write_text(f"<!doctype html><html><head><meta charset=utf-8>{head}</head><body>{body}</body></html>", "utf-8")
    return " ".join(text_of(path).split())


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("<div class=row><p>second</p><p>first</p></div>", "first second"),
        ("<div style='display:flex;flex-flow:column-reverse wrap'><p>c</p>\n<p>b</p>\n<p>a</p></div>", "a b c"),
        ("<div style='display:flex'><p class=last>z</p><p>y</p><p class=first>x</p></div>", "x y z"),
        ("<ul class=g><li class=last>two<li>one</ul>", "- one - two"),
        ("<div style='display:flex'><span>Fee</span><b>450</b></div>", "Fee 450"),
        ("<table><tfoot><tr><td>Sum<td>3</tr></tfoot><tr><td>a<td>1</tr><thead><tr><th>Item<th>No</tr></thead></table>",
         "| Item | No | |---|---| | a | 1 | | Sum | 3 |"),
    ],
)  # fmt: skip
def test_parts_come_in_the_order_in_which_they_show(tmp_path: Path, body: str, text: str) -> None:
    assert words(tmp_path, body, FLEX) == text


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("<span style='display:block'>First</span><span style='display:block'>Second</span>", "First Second"),
        ("<a class=b>Home</a><a class=b>About</a>", "Home About"),
        ("<i class=c>Cell</i><i class=c>Other</i>", "Cell Other"),
        ("<my-title>Title</my-title><my-text>Words</my-text>", "Title Words"),
        ("<p>A <my-term>term</my-term>, and <b>bo</b>ld</p>", "A term, and bold"),
        ("<pre>one<br>two<div>three</div></pre>", "``` one two three ```"),
        ("<listing>a  b</listing><p>after</p>", "``` a b ``` after"),
    ],
)  # fmt: skip
def test_words_that_stand_apart_are_not_joined(tmp_path: Path, body: str, text: str) -> None:
    assert words(tmp_path, body, "<style>.b{display:list-item} .c{display:table-cell}</style>") == text


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("<p>a</p><dialog open>Shown</dialog><dialog>Closed</dialog>", "a Shown"),
        ("<p hidden=until-found>Found</p><p hidden>Gone</p>b", "Found b"),
        ("<h3><button>Which fee?</button></h3><p>450</p><button>Buy</button>", "### Which fee? 450"),
        ("<button aria-expanded=false>When?</button><div>In May</div>", "When? In May"),
        ("<p>Main</p><iframe srcdoc='&lt;p&gt;Inner&lt;/p&gt;&lt;iframe srcdoc=x&gt;'></iframe>", "Main Inner"),
        ("<svg><title>icon</title><text>Pump</text><text><tspan>Motor</tspan> <tspan>2</tspan></text></svg>c",
         "Pump Motor 2 c"),
        ("<amp-img src=x alt='A quay'></amp-img>", "![A quay]"),
        ("<h1>Port</h1><aside>Mind the tide</aside><aside class=sidebar>Shop</aside><aside><a>Other</a></aside>",
         "# Port Mind the tide"),
        ("<blockquote>So be it<footer>Ann Byron</footer></blockquote><footer>Site</footer>", "So be it Ann Byron"),
        ("<div role=heading aria-level=3>Fares</div><span role=heading>Tides</span>", "### Fares ## Tides"),
        ("<p>He said <q>no</q>.</p>", "He said “no”."),
        ("<table><tr><td>a<td>1</tr><tr hidden><td>gone<td>2</tr><tr><td>b<td style='display:none'>9<td>3</tr></table>",
         "| a | 1 | |---|---| | b | 3 |"),
    ],
)  # fmt: skip
def test_what_shows_is_read_and_nothing_else(tmp_path: Path, body: str, text: str) -> None:
    assert words(tmp_path, body) == text


@pytest.mark.parametrize("inner", ["<p>Fares and tides</p>", "<body>Fares and tides</body>", "Fares <b>and</b> tides"])
def test_the_text_for_browsers_without_frames_is_read(tmp_path: Path, inner: str) -> None:
    (tmp_path / "a.html").write_text(f"<html><frameset cols=50,50><frame src=a><noframes>{inner}</noframes></frameset>")
    assert "Fares and tides" in text_of(tmp_path / "a.html")


@pytest.mark.parametrize("words_inside", ["a &lt; b", "Terms <b>apply</b>", "x ]] y"])
def test_marked_sections_of_xml_are_text(tmp_path: Path, words_inside: str) -> None:
    head = '<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"><body><p>tail '
    (tmp_path / "a.xhtml").write_text(f"{head}<![CDATA[{words_inside}]]></p></body></html>")
    assert read(tmp_path / "a.xhtml")[1][0].text == f"tail {words_inside}"


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("<table><tr><td><table><tr><th>Fee<th>Due</tr><tr><td>5<td>May</tr></table><td>Side</tr></table>",
         "| Fee | Due | |---|---| | 5 | May | Side"),
        ("<table><tr><td><h1>Port</h1><table><tr><td>a<td>1</tr><tr><td>b<td>2</tr></table></td></tr></table>",
         "# Port | a | 1 | |---|---| | b | 2 |"),
        ("<table><tr><td>Top<table><tr><td><table><tr><td>x<td>y</tr><tr><td>1<td>2</tr></table></tr></table></tr></table>",
         "Top | x | y | |---|---| | 1 | 2 |"),
    ],
)  # fmt: skip
def test_tables_inside_tables_that_arrange_a_page_stay_tables(tmp_path: Path, body: str, text: str) -> None:
    assert words(tmp_path, body) == text


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("<my-card><template shadowrootmode=open><p>Inside</p><slot></slot></template>Own</my-card>", "Inside Own"),
        ("<my-a><template shadowroot='closed'>Old name</template></my-a>", "Old name"),
        ("<template><p>Unused</p></template><p>Used</p>", "Used"),
        ("<p>Let <script type='math/tex'>x^2+1</script> be</p>", "Let $x^2+1$ be"),
        ("<script type='math/tex; mode=display'>a/b</script><script>f()</script>", "$a/b$"),
        ("<p>So <script type='math/asciimath'>1<2</script></p>", "So $1<2$"),
        ("<object data=a.pdf><p>See the paper copy</p></object>", "See the paper copy"),
        ("<object type=x><param name=a value=b></object><p>rest</p>", "rest"),
        ("<object><object>Inner words</object></object>", "Inner words"),
    ],
)
def test_custom_elements_formulas_and_replacements_of_objects(tmp_path: Path, body: str, text: str) -> None:
    assert words(tmp_path, body) == text


_ARTICLE = "<article><h2>Tides</h2><p>The tide turns at ten and again at four each day.</p></article>"


_LEGAL = (
    "<p>The harbour board answers for no loss of goods that lie on the quay longer than the three days of the tariff."
    "</p>"
)


@pytest.mark.parametrize(
    ("body", "present", "beside", "framing"),
    [
        (f"<p>The harbour master told us all of this in May of last year.</p>{_ARTICLE}", True, 0, 0),
        (f"<nav>Home Fares{_LEGAL}</nav>{_ARTICLE * 2}", False, 0, 0),
        (f"<div role=navigation>Home</div><main>{_ARTICLE}</main><div><p>Boat</p></div><footer>Site</footer>", False,
         1, 0),
        (f"<header>Port</header><main>{_ARTICLE}</main><aside><a href=/>Shop</a>{_LEGAL}</aside>", False, 0, 23),
        (f"<main>{_ARTICLE}</main><footer><nav>{'<a href=/>A shop</a>' * 9}</nav>{_LEGAL}</footer>", False, 0, 22),
        (f"{_ARTICLE}<div class=cookie-banner>{_LEGAL}<button>Yes</button></div>", False, 0, 22),
        (f"<main>{_ARTICLE * 30}</main><aside>{_LEGAL}</aside>", False, 0, 0),
        (f"<header>Port<script>var a = 1</script></header>{_ARTICLE}<p>The harbour master told us all of this in May."
         f"</p><noscript>Turn on scripts</noscript><footer>{_LEGAL}<button>Send</button></footer>", True, 0, 26),
    ],
)  # fmt: skip
def test_text_beside_an_article_is_read_or_counted(
    tmp_path: Path, body: str, present: bool, beside: int, framing: int
) -> None:
    text = words(tmp_path, body)
    assert "The tide turns" in text and ("harbour master" in text) is present
    notes = [Note("read.beside-main", words=beside)] * bool(beside)
    notes += [Note("read.site-frame", words=framing)] * bool(framing)
    assert list(map(str, read(tmp_path / "a.html")[0].warnings)) == notes


_PAGE = "<p>The ferry crosses the strait twice a day.</p>"
_LD = "<script type='application/ld+json'>{}</script><div id=root></div>"


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("<table><tr><th>K<th>V</tr><tr><td rowspan=0>All<td>1</tr><tr><td>2</tr></table>",
         "| K | V | |---|---| | All | 1 | | All | 2 |"),
        ("<table><tbody><tr><td rowspan=9>A<td>1</tr></tbody><tbody><tr><td>B<td>2</tr></tbody></table>",
         "| A | 1 | |---|---| | B | 2 |"),
        ("<p>a<img src='data:x'><noscript><img src=a.png alt='Map'></noscript>b</p>", "a Map b"),
        ("<p>a<img alt=Map>\n<noscript><img src=a.png alt=Map></noscript>b</p>", "a Map b"),
        ("<p>a<noscript><img src=pixel.gif alt=''></noscript><noscript>Turn on scripts</noscript>b</p>", "ab"),
        ("<h2>Dues<a class=headerlink href='#dues'>¶</a></h2><p>x<a href='#x'>🔗</a></p>", "## Dues x"),
        ("<h2><a href='#c'>#</a>C</h2><p>Rule <a href='#5'>#</a></p>", "## C Rule #"),
        ("<h2>C<a href=/jobs>#</a></h2>", "## C#"),
        ("<svg><foreignObject><div>Check <b>stock</b></div></foreignObject><text>Pump</text></svg>",
         "Check stock Pump"),
        ("<h1><img src=a.png alt='Port Authority'></h1>", "# Port Authority"),
        ("<h2><img alt=Kiel> News</h2>", "## Kiel News"),
        ("<p>Use <sup>1</sup>&frasl;<sub>2</sub> cup, H<sub>2</sub>O</p>", "Use 1⁄2 cup, H₂O"),
        ("<div class='cookie-banner'><p>We use cookies.</p><button>Yes</button></div>" + _PAGE, _PAGE[3:-4]),
        ("<div id=onetrust-consent-sdk><p>We use them.</p><a href=/x>More</a></div>" + _PAGE, _PAGE[3:-4]),
        ("<div class='cookie-notice'>Each cookie weighs 20 g.</div><div class=cookies><a>Bake</a></div>",
         "Each cookie weighs 20 g. Bake"),
        ("<main><section id=cookie-consent><h2>Cookie consent</h2><p>Ask <a href=/x>first</a>.</p></section></main>",
         "## Cookie consent Ask first."),
        (_LD.format('{"headline": "Storm", "articleBody": "The port is closed."}'), "Storm The port is closed."),
        (_LD.format('{"@graph": [{"@type": "Org"}, {"text": "Deep words"}]}') + _LD.format("{damaged"), "Deep words"),
        ("<h2>Past<span class=mw-editsection>[<a href=x>edit</a>]</span></h2>", "## Past"),
        ("<pre>pip install x<button>Copy</button>\n</pre>", "``` pip install x ```"),
        ("<div role=row><span role=cell>Kim</span><span role=cell>5</span></div>", "Kim 5"),
        ("<p dir=rtl>שלום &rlm;עולם&lrm;</p>", "שלום עולם"),
        (_LD.format('{"headline": "Storm"}') + _PAGE, _PAGE[3:-4]),
    ],
)  # fmt: skip
def test_a_page_is_read_as_a_browser_with_scripts_shows_it(tmp_path: Path, body: str, text: str) -> None:
    assert words(tmp_path, body) == text


@pytest.mark.parametrize(
    "mark",
    [
        '<a epub:type="noteref" href="#n">3</a>',
        '<a href="#n" role="doc-noteref">3</a>',
        '<a href="#n"><sup>3</sup></a>',
        '<sup><a epub:type="noteref" href="#n">3</a></sup>',
        '<a epub:type="noteref" href="#n">[3]</a>',
    ],
)
def test_marks_of_notes_are_not_joined_to_numbers(tmp_path: Path, mark: str) -> None:
    path = epub(tmp_path / "a.epub", {"a.xhtml": f'<p>In 1984{mark} it was.</p><p id="n">Note</p>'})
    assert "In 1984[3] it was." in text_of(path)


_SUM = "<munderover><mo>∑</mo><mrow><mi>i</mi><mo>=</mo><mn>1</mn></mrow><mi>n</mi></munderover><mi>i</mi>"


@pytest.mark.parametrize(
    ("formula", "shown"),
    [
        ("<msqrt><mi>a</mi></msqrt>", "√(a)"),
        (_SUM, "∑_(i=1)^n i"),
        (f"<semantics><mrow>{_SUM}</mrow><annotation encoding=application/x-tex>\\sum i</annotation></semantics>",
         "∑_(i=1)^n i"),
        ("<munder><mi>lim</mi><mrow><mi>n</mi><mo>&rarr;</mo><mn>0</mn></mrow></munder><mi>x</mi>", "lim_(n→0) x"),
        ("<mtable><mtr><mtd><mn>1</mn></mtd><mtd><mn>2</mn></mtd></mtr><mtr><mtd><mn>3</mn></mtd></mtr></mtable>",
         "[1, 2; 3]"),
        ("<mtext>if&nbsp;so</mtext>", "if so"),
        ("<mi>a</mi><mo>&lt;</mo><mi>b</mi>", "a<b"),
        ("", ""),
    ],
)  # fmt: skip
def test_formulas_are_those_of_word(tmp_path: Path, formula: str, shown: str) -> None:
    assert words(tmp_path, f"<p>So <math>{formula}</math></p>") == f"So {shown}".strip()


_NESTED = "<ol><li>Top<ol><li>Sub<li>Next</ol><li>Last</ol>"
_KIX = (  # as Google Docs writes them
    "ol.k-0{list-style-type:none}ol.k-0.start{counter-reset:k-0 0}.k-0 > li{counter-increment:k-0}"
    '.k-0 > li:before{content:"" counter(k-0,lower-latin) ") "}'
)


@pytest.mark.parametrize(
    ("style", "body", "lines"),
    [
        ('ol{counter-reset:item;list-style:none}li:before{content:counters(item,".") " ";counter-increment:item}',
         _NESTED, ["1 Top", "1.1 Sub", "1.2 Next", "2 Last"]),
        (_KIX, '<ol class="k-0 start"><li>one</ol><p>between</p><ol class="k-0"><li>two</ol>',
         ["a) one", "between", "b) two"]),
        ('body{counter-reset:art}h2{counter-increment:art;counter-reset:sub}h2::before{content:"Article " '
         'counter(art,upper-roman)}h3{counter-increment:sub}h3::before{content:counter(art) "." counter(sub)}',
         "<section><h2>Name</h2><h3>One</h3></section><section><h2>Seat</h2><h3>Two</h3></section>",
         ["## Article I Name", "### 1.1 One", "## Article II Seat", "### 2.1 Two"]),
        ('p{counter-increment:n}p::before{content:counter(n,decimal-leading-zero) ". "}',
         "<p>a</p><p style=display:none>b</p><p>c</p>", ["01. a", "02. c"]),
        ("p::before{content:'New '}", "<p>a</p>", ["a"]),  # a text that a style inserts is not the page's text
        ("ol{list-style:none}", "<ol><li>(a) goods</ol>", ["- (a) goods"]),
        ("p{counter-reset:n}b{counter-increment:n}b::before{content:counter(n)}", "<p>Step <b>go</b> <b>end</b></p>",
         ["Step 1 go 2 end"]),
        ("", "<ol><li style='list-style-type:upper-roman'>a<li>b</ol>", ["I. a", "2. b"]),
        ("", "<ul style='list-style-type:decimal'><li>a<li>b</ul><ol style='list-style:square'><li>c</ol>",
         ["1. a", "2. b", "- c"]),
    ],
)  # fmt: skip
def test_numbers_that_styles_show(tmp_path: Path, style: str, body: str, lines: list[str]) -> None:
    (tmp_path / "a.html").write_text(f"<style>{style}</style><body>{body}")
    assert [line.strip() for line in text_of(tmp_path / "a.html").split("\n") if line.strip()] == lines


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        ("<p>10<span class='up'>6</span></p>", "10^6"),
        ("<p>was <span class='gone'>5</span> 6</p>", "was ~~5~~ 6"),
        ("<ol class='letters'><li>goods</li></ol>", "A. goods"),
        ("<p>seen by all readers</p><p class='no'>unseen</p>", "seen by all readers"),
    ],
)
@pytest.mark.parametrize("link", ["../css/book.css", "missing.css"])
def test_style_sheets_of_a_book(tmp_path: Path, link: str, body: str, shown: str) -> None:
    sheet = (
        ".up{vertical-align:super}.gone{text-decoration:line-through}.letters{list-style:upper-alpha}.no{display:none}"
    )
    book = epub(tmp_path / "a.epub", {"t/a.xhtml": "HERE"}, **{"OPS/css/book.css": sheet})
    head = f'<head><link rel="stylesheet" type="text/css" href="{link}"/></head><body>{body}'
    path = repacked(book, lambda files: {
        name: data.replace(b"<body>HERE", head.encode()) for name, data in files.items()
    })  # fmt: skip
    info, pages = read(path)
    text = pages[0].text.strip()
    assert (text == shown) is (link != "missing.css")
    hidden = ("1 hidden element of the page was left out",) if "unseen" in body and text == shown else ()
    assert info.warnings == hidden


def test_very_many_marks_of_notes_are_bounded_work() -> None:
    begin = time.process_time()
    block = parse_html("<p>" + "word<a href=#n><sup>1</sup></a> " * 15_000).blocks[0]
    assert isinstance(block, Paragraph) and block.text.count("word[1]") == 15_000
    assert time.process_time() - begin < 4
