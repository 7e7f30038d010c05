"""XML without a known vocabulary, feeds, outlines and translations; what strangers put into XML is bounded."""

from __future__ import annotations

from pathlib import Path

import pytest

from hybrid_core.errors import DocumentError, EmptyFileError, LimitError
from indexers.formats.limits import ParseLimits
from indexers.formats.registry import format_of, misnamed
from tests.indexers.formats.packages import read, text_of
from tests.indexers.formats.written import Case, check_case

_XML = '<?xml version="1.0" encoding="UTF-8"?>\n'

GENERIC = (
    Case(
        "manual.xml",
        "<manual><heading>Harbour rules</heading><part><heading>Boats</heading><text>Boats must <em>slow</em> down.<"
        "/text>"
        "<text>No wake.</text><sub><heading>Sails</heading><text>Furl them.</text></sub></part><part><heading>Piers"
        "</heading><text>No fishing.</text></part></manual>",
        shows=(
            "# Harbour rules",
            "## Boats",
            "Boats must slow down.",
            "No wake.",
            "### Sails",
            "Furl them.",
            "## Piers",
        ),
        hides=("<em>", "manual", "heading", "part"),
        tree=("# Harbour rules", "## Boats", "### Sails", "## Piers"),
    ),
    Case(
        "catalogue.xml",
        "<catalog><book id='bk101'><author>Gull, B</author><title>Nests</title><price>44.95</price></book><book id='"
        "bk102'>"
        "<author>Tern, C</author><title>Waves</title><price>5.95</price></book></catalog>",
        shows=("| bk101 | Gull, B | Nests | 44.95 |", "| bk102 | Tern, C | Waves | 5.95 |"),
        hides=("catalog",),
    ),
    Case(
        "rows.xml",
        "<posts><row Id='1' Body='The pump leaks at the seal' Score='5'/><row Id='2' Body='Replace the ring' Score='"
        "7'/>"
        "<row Id='3' Body='It works' Score='1'/></posts>",
        shows=("The pump leaks at the seal", "5", "Replace the ring", "7", "It works"),
        hides=("posts",),
    ),
    Case(
        "sections.xml",
        "<doc><section title='Tides'><p>High at noon.</p></section><section title='Winds'><p>From the west.</p></sec"
        "tion>"
        "</doc>",
        shows=("# Tides", "High at noon.", "# Winds", "From the west."),
        tree=("# Tides", "# Winds"),
    ),
    Case(
        "mixed.xml",
        "<doc class='a b c' xmlns:x='http://e.x/y'><p>One <b>two</b> three<br/>four</p><!-- remark --><?php echo 1 ?>"
        "<x:q>five &lt; six</x:q><![CDATA[seven <eight>]]><img alt='A red buoy' src='a b.png'/></doc>",
        shows=("One two three four", "five < six", "seven <eight>", "A red buoy"),
        hides=("remark", "echo", "a b c", "e.x/y", "a b.png"),
    ),
    Case(
        "records.xml",
        "<faq><entry><q>When is the ferry?</q><a>At nine. <i>Daily</i>, except in storms.</a></entry><entry><q>What "
        "does it "
        "cost?</q><a>Five <i>crowns</i>.</a></entry></faq>",
        shows=("When is the ferry?", "At nine. Daily, except in storms.", "What does it cost?", "Five crowns."),
        tree=("# When is the ferry?", "# What does it cost?"),
    ),
    Case(
        "utf16.xml", '<?xml version="1.0" encoding="UTF-16"?><d><p>Möwe 价格</p></d>'.encode("utf-16"), ("Möwe 价格",)
    ),
    Case(
        "latin.xml",
        '<?xml version="1.0" encoding="ISO-8859-1"?><d><p>Größe – 5 €</p></d>'.encode("cp1252"),
        ("Größe – 5 €",),
    ),
    Case("lies.xml", b'<?xml version="1.0" encoding="UTF-16"?><d><p>Plain bytes</p></d>', ("Plain bytes",)),
    Case("marked.xml", b"\xef\xbb\xbf\n\n" + f"{_XML}<d><p>After blank lines</p></d>".encode(), ("After blank lines",)),
    Case(
        "ampersand.xml",
        "<d><p>Kelp & Sons, A&B</p><p>gull</p></d>",
        ("Kelp & Sons, A&B", "gull"),
        notes=("not well-formed",),
    ),
    Case(
        "prefix.xml",
        "<n0:foo><n1:bar>kelp</n1:bar><x>gull</x></n0:foo>",
        ("kelp", "gull"),
        notes=("read only in part",),
    ),
    Case("unclosed.xml", "<d><p>kelp<p>gull</d>", ("kelp", "gull"), notes=("read only in part",)),
    Case(
        "control.xml",
        b"<d><p>kelp\x0b gull</p>" + b"<p>The tide turns.</p>" * 20 + b"</d>",
        ("kelp gull",),
        notes=("were left out",),
    ),
)

_CONTENT = 'xmlns:content="http://purl.org/rss/1.0/modules/content/" xmlns:dc="http://purl.org/dc/elements/1.1/"'
FEEDS = (
    Case(
        "news.rss",
        f"{_XML}<rss version='2.0' {_CONTENT}><channel><title>Port News</title><link>https://port.example/</link>"
        "<description>All about the port</description><item><title>Pier opens</title><link>https://port.example/1</l"
        "ink>"
        "<pubDate>Tue, 03 Mar 2026 10:00:00 +0100</pubDate><dc:creator>Ada Kelp</dc:creator><category>Piers</category>"
        "<description>&lt;p&gt;The &lt;b&gt;pier&lt;/b&gt; opens.&lt;/p&gt;&lt;ul&gt;&lt;li&gt;Gate A&lt;/li&gt;&lt;"
        "/ul&gt;"
        "</description></item><item><title>Storm</title><guid>tag:2</guid><description>Plain &amp;amp; simple"
        "</description><content:encoded><![CDATA[<h2>Wind</h2><p>Force 9.</p>]]></content:encoded></item></channel><"
        "/rss>",
        shows=(
            "# Port News",
            "All about the port",
            "## Pier opens",
            "2026-03-03 10:00",
            "Ada Kelp",
            "Piers",
            "https://port.example/1",
            "The pier opens.",
            "- Gate A",
            "## Storm",
            "Plain & simple",
            "### Wind",
            "Force 9.",
        ),
        hides=("<p>", "&lt;"),
        tree=("# Port News", "## Pier opens", "## Storm", "### Wind"),
        metadata=("title=Port News",),
    ),
    Case(
        "feed.atom",
        "<feed xmlns='http://www.w3.org/2005/Atom'><title>Tides</title><author><name>Ada</name></author><entry><title "
        "type='html'>High &amp;amp; low</title><link href='https://t.example/1'/><updated>2026-03-01T12:00:00Z</upda"
        "ted>"
        "<summary>Short.</summary><content type='xhtml'><div xmlns='http://www.w3.org/1999/xhtml'><p>Water <em>rises"
        "</em>.</p></div></content></entry><entry><title>Two</title><content type='text'>1 &lt; 2</content></entry><"
        "/feed>",
        shows=(
            "# Tides",
            "## High & low",
            "2026-03-01 12:00",
            "https://t.example/1",
            "Short.",
            "Water rises.",
            "## Two",
            "1 < 2",
        ),
        tree=("# Tides", "## High & low", "## Two"),
    ),
    Case(
        "rdf.xml",
        "<rdf:RDF xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#' xmlns='http://purl.org/rss/1.0/' "
        "xmlns:dc='http://purl.org/dc/elements/1.1/'><channel><title>Log</title></channel><item><title>Entry A</title>"
        "<dc:date>2026-01-02</dc:date><description>Calm sea.</description></item></rdf:RDF>",
        shows=("# Log", "## Entry A", "2026-01-02", "Calm sea."),
        tree=("# Log", "## Entry A"),
    ),
    Case(
        "untitled.rss",
        "<rss><channel><title>Notes</title><item><description>No title &amp; no date.</description></item><item><pub"
        "Date>"
        "yesterday</pubDate><title/><description>Second.</description></item></channel></rss>",
        shows=("# Notes", "No title & no date.", "Second.", "yesterday"),
        tree=("# Notes", "## No title & no date.", "## Second."),
    ),
    Case(
        "podcast.xml",
        "<rss xmlns:itunes='http://www.itunes.com/dtds/podcast-1.0.dtd'><channel><title>Cast</title><item><title>Ep "
        "1</title>"
        "<itunes:author>Kim</itunes:author><itunes:duration>31:20</itunes:duration><itunes:summary>About eels."
        "</itunes:summary><enclosure url='https://c.example/1.mp3' type='audio/mpeg'/></item></channel></rss>",
        shows=("## Ep 1", "Kim", "https://c.example/1.mp3", "31:20", "About eels."),
    ),
    Case(
        "broken.rss",
        "<rss><channel><title>B & B</title><item><title>Beds & more</title><description>Tea & cake",
        shows=("# B & B", "## Beds & more", "Tea & cake"),
        notes=("read only in part",),
    ),
)

OUTLINES = (
    Case(
        "list.opml",
        f"{_XML}<opml version='2.0'><head><title>Reading list</title><ownerName>Ada</ownerName></head><body><outline"
        f" text="
        "'News'><outline type='rss' text='Port' title='Port' xmlUrl='https://p.example/rss' htmlUrl='https://p.examp"
        "le/'/>"
        "</outline><outline text='Ideas' _note='Write them down'><outline text='Row'><outline text='Fast'/></outline>"
        "</outline></body></opml>",
        shows=("# Reading list", "Ada", "## News", "- Port", "https://p.example/rss", "## Ideas", "Write them down",
               "- Row",
               "  - Fast"),
        tree=("# Reading list", "## News", "## Ideas"),
        metadata=("title=Reading list",),
    ),
    Case("flat.opml", "<opml><body><outline text='a1'/><outline text='b2'/></body></opml>", ("- a1", "- b2"), tree=()),
    Case(
        "html.opml", "<opml><body><outline text='&lt;b&gt;Bold&lt;/b&gt; word &amp;amp; more'/></body></opml>",
        ("- Bold word & more",),
    ),
    Case("titled.opml", "<opml><body><outline title='Only title'/></body></opml>", ("- Only title",)),
    Case(
        "cut.opml", "<opml><head><title>Cut</title></head><body><outline text='a1'/><outline text='b2'>",
        ("# Cut", "a1", "b2"), notes=("read only in part",),
    ),
    Case(
        "people.atom",
        "<feed xmlns='http://www.w3.org/2005/Atom'><title>Port</title><author><name>Kim Lee</name>"
        "<email>k@x.example</email><uri>http://x</uri></author><entry><title>A</title>"
        "<contributor><name>Lou</name></contributor></entry></feed>",
        shows=("Kim Lee, k@x.example, http://x", "## A", "Lou"),
    ),
    Case(
        "entities.rss",
        "<rss><channel><title>Caf&eacute; &nbsp;A</title><description>&copy; R&amp;D &lt;b&gt;</description>"
        "</channel></rss>",
        shows=("# Café A", "© R&D"),
    ),
)  # fmt: skip

TRANSLATIONS = (
    Case(
        "old.xlf",
        "<xliff version='1.2' xmlns='urn:oasis:names:tc:xliff:document:1.2'><file original='menu.html' source-langua"
        "ge='en' "
        "target-language='de'><body><trans-unit id='1'><source>Open the <g id='1'>lid</g></source><target>Deckel öff"
        "nen"
        "</target><note>On the pump</note></trans-unit><group><trans-unit id='2'><source>Close</source></trans-unit>"
        "</group>"
        "</body></file></xliff>",
        shows=("# menu.html", "| en | de |", "| Open the lid | Deckel öffnen | On the pump |", "| Close |"),
        tree=("# menu.html",),
    ),
    Case(
        "new.xliff",
        "<xliff version='2.0' srcLang='en' trgLang='fr' xmlns='urn:oasis:names:tc:xliff:document:2.0'><file id='f1'>"
        "<unit "
        "id='u1'><notes><note>Title</note></notes><segment><source>Tide</source><target>Marée</target></segment><seg"
        "ment>"
        "<source>Sea</source><target>Mer</target></segment></unit></file></xliff>",
        shows=("| en | fr |", "| Tide | Marée | Title |", "| Sea | Mer |"),
    ),
    Case("empty-target.xlf", "<xliff><file original='a'><body><trans-unit id='1'><source>One</source><target/></tran"
    "s-unit>"
         "</body></file></xliff>", ("# a", "One")),
    Case("placeholders.xlf", "<xliff><file><body><trans-unit id='1'><source>Save <x id='1'/>%s<bpt id='2'>&lt;b&gt;<"
    "/bpt> now"
         "</source><target>Speichern %s</target></trans-unit></body></file></xliff>", ("Save %s now", "Speichern %s")),
    Case("cut.xlf", "<xliff><file original='c'><body><trans-unit id='1'><source>Half a", ("Half a",),
         notes=("read only in part",)),
    Case(
        "standing.xlf",
        "<xliff><file><header><note>For reviewers</note></header><body><trans-unit id='1'><source>Open<x id='1'/>now "
        "<ph id='2' disp='{name}'/>, <x id='3' equiv-text='&lt;br/&gt;'/>un<g id='4'>der</g>go</source>"
        "<target>Auf</target><alt-trans><target>Öffne</target></alt-trans></trans-unit></body></file></xliff>",
        shows=("For reviewers", "Open now {name}, undergo", "Auf", "Öffne"),
    ),
    Case(
        "memory.tmx",
        "<tmx version='1.4'><header srclang='en'><note>Glossary</note></header><body><tu><note>On the pump</note>"
        "<tuv xml:lang='de'><seg>Guten <bpt i='1'>&lt;b&gt;</bpt>Tag</seg></tuv><tuv xml:lang='en'>"
        "<seg>Good day</seg></tuv></tu><tu><tuv xml:lang='en'><seg>Sea</seg></tuv><tuv xml:lang='fr'>"
        "<seg>Mer</seg></tuv></tu></body></tmx>",
        shows=(
            "Glossary",
            "| en | de | fr | Remark |",
            "| Good day | Guten Tag |  | On the pump |",
            "| Sea |  | Mer |",
        ),
    ),
    Case(
        "old.tmx",
        "<tmx><header/><body><tu><tuv lang='EN'><seg>A<ut>x</ut>B</seg></tuv></tu></body></tmx>",
        ("EN", "AB"),
    ),
    Case("cut.tmx", "<tmx><header/><body><tu><tuv lang='en'><seg>Half a", ("Half a",), notes=("read only in part",)),
)  # fmt: skip

JOINED = (
    Case("two.xml", "<?xml version='1.0'?><a>First part</a>\n<?xml version='1.0'?><b>Second part</b>",
         ("First part", "Second part")),
    Case("log.xml", "<e><m>Pump on</m></e><e><m>Pump & valve off</m></e><e><m>End</m></e>",
         ("Pump on", "Pump & valve off", "End")),
    Case("typed.xml", "<!DOCTYPE a [<!ENTITY x 'y'>]><a>Kelp</a><!DOCTYPE b><b><c>Reef</c></b>", ("Kelp", "Reef")),
    Case("torn.xml", "<a>First part</a><b>Second", ("First part",), notes=("read only in part",)),
)  # fmt: skip


@pytest.mark.parametrize("case", (*GENERIC, *JOINED, *FEEDS, *OUTLINES, *TRANSLATIONS), ids=lambda case: case.name)
def test_xml_shows_what_a_reader_must_see(tmp_path: Path, case: Case) -> None:
    check_case(tmp_path, case)


def written(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def test_the_content_tells_what_an_xml_file_is(tmp_path: Path) -> None:
    book = written(tmp_path / "a.xml", "<FictionBook><body><section><p>kelp</p></section></body></FictionBook>")
    assert format_of(book).name == "fb2" and not misnamed(book)
    page = written(tmp_path / "b.xml", "<!DOCTYPE html><html><body><p>kelp</p></body></html>")
    assert format_of(page).name == "html"
    sheet = written(
        tmp_path / "c.xml",
        '<?xml version="1.0"?><Workbook xmlns="urn:schemas-microsoft-com:office:spreadsheet" xmlns:ss="urn:schemas-m'
        "icrosoft-"
        'com:office:spreadsheet"><Worksheet ss:Name="S"><Table><Row><Cell><Data ss:Type="String">kelp</Data></Cell><'
        "/Row>"
        "</Table></Worksheet></Workbook>",
    )
    assert "kelp" in text_of(sheet) and format_of(sheet).name == "xls"
    for name in ("feed", "feed.bin"):
        feed = written(tmp_path / name, f"{_XML}<rss><channel><title>Port</title></channel></rss>")
        assert text_of(feed) == "# Port"
    text = written(tmp_path / "d.txt", f"{_XML}<rss><channel><title>Port</title></channel></rss>")
    assert format_of(text).name == "txt" and "<rss>" in text_of(text)
    assert format_of(written(tmp_path / "e.rss", "<html><body>Error 404</body></html>")).name == "html"


def test_nothing_is_fetched_and_entities_stay_small(tmp_path: Path) -> None:
    secret = written(tmp_path / "secret", "the secret of the gulls")
    levels = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, 12))
    head = f'<!DOCTYPE d [<!ENTITY x SYSTEM "{secret.as_uri()}"><!ENTITY e0 "lol">{levels}<!ENTITY sea "the sea">]>'
    text = text_of(written(tmp_path / "a.xml", f"{head}<d><p>kelp &e11; gull</p></d>"))
    assert "lol" not in text and "kelp" in text
    info, (page,) = read(written(tmp_path / "e.xml", f"{head}<d><p>kelp &x; &sea; shore</p></d>"))
    assert page.text == "kelp the sea shore" and "1 part of the document is in other files" in info.warnings[0]
    include = f'<d xmlns:xi="http://www.w3.org/2001/XInclude"><xi:include href="{secret.as_uri()}"/><p>kelp</p></d>'
    info, (page,) = read(written(tmp_path / "b.xml", include))
    assert page.text == "kelp" and "1 part of the document is in other files" in info.warnings[0]
    remote = (
        '<!DOCTYPE d SYSTEM "http://127.0.0.1:9/d.dtd" [<!ENTITY % p SYSTEM "http://127.0.0.1:9/p"> %p;]><d>kelp</d>'
    )
    assert text_of(written(tmp_path / "c.xml", remote)) == "kelp"
    attribute = f"{head}<d><p title='&e11;'>kelp</p></d>"
    try:
        assert "lollol" not in text_of(written(tmp_path / "d.xml", attribute))
    except DocumentError as error:
        assert "d.xml" in str(error)


@pytest.mark.parametrize("tag", ["a", "sec", "div", "list", "table"])
def test_nesting_without_end_ends(tmp_path: Path, tag: str) -> None:
    deep = f"<article><p>kelp</p>{f'<{tag}>' * 200_000}gull{f'</{tag}>' * 200_000}</article>"
    info, pages = read(written(tmp_path / "a.xml", deep))
    assert "kelp" in pages[0].text and "nested too deeply" in info.warnings[0]
    for depth in (50, 150, 240):
        inner = f"<article><p>kelp</p>{f'<{tag}>' * depth}gull{f'</{tag}>' * depth}</article>"
        assert "gull" in text_of(written(tmp_path / "b.xml", inner))


def test_empty_huge_and_binary_files_give_a_reason(tmp_path: Path) -> None:
    with pytest.raises(EmptyFileError):
        read(written(tmp_path / "a.xml", b""))
    for name, content in (
        ("b.xml", b" " * 1000), ("c.xml", b"kelp and gull"), ("d.xml", bytes(range(256)) * 40), ("e.xml", b"<"),
        ("f.xml", b"<!DOCTYPE d [<!ENTITY"),
    ):  # fmt: skip
        with pytest.raises(DocumentError, match=name) as caught:
            read(written(tmp_path / name, content))
        assert "Error" not in str(caught.value)
    with pytest.raises(LimitError, match="max_expanded_bytes"):
        read(written(tmp_path / "g.xml", b"<d>kelp</d>"), ParseLimits(max_expanded_bytes=9))
    long = f"<d><p title='{'kelp ' * 400_000}'>gull</p><p>{'tern ' * 400_000}</p></d>"
    assert "tern" in text_of(written(tmp_path / "h.xml", long))
    with (tmp_path / "i.xml").open("wb") as file:
        file.truncate(2**30)
    with pytest.raises(DocumentError):
        read(tmp_path / "i.xml")
