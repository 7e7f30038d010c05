"""JATS, DocBook, TEI and DITA: title, authors, sections with their levels, tables, captions, notes, references."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lxml import etree

from indexers.formats.xml.vocabularies import KINDS, tag
from tests.indexers.formats.packages import read, text_of
from tests.indexers.formats.written import Case, check_case, roles_of

_XML = '<?xml version="1.0" encoding="UTF-8"?>\n'
_JATS_HEAD = (
    '<!DOCTYPE article PUBLIC "-//NLM//DTD JATS (Z39.96) Journal Archiving DTD v1.2 20190208//EN" "JATS.dtd">\n'
)
_DB = 'xmlns="http://docbook.org/ns/docbook" xmlns:xlink="http://www.w3.org/1999/xlink" version="5.0"'
_TEI = 'xmlns="http://www.tei-c.org/ns/1.0"'
_TEI_HEADER = (
    "<teiHeader><fileDesc><titleStmt><title>Tides of Port</title><author>Ada Kelp</author></titleStmt>"
    "<publicationStmt><publisher>Harbour Press</publisher><date>1921</date></publicationStmt>"
    "<sourceDesc><p>From the log of the pilot.</p></sourceDesc></fileDesc></teiHeader>"
)

JATS = (
    Case(
        "full.xml",
        f"""{_XML}{_JATS_HEAD}<article article-type="research-article" xmlns:xlink="http://www.w3.org/1999/xlink"
xmlns:mml="http://www.w3.org/1998/Math/MathML"><front><journal-meta><journal-id>JKELP</journal-id><journal-title-group>
<journal-title>Journal of Kelp</journal-title></journal-title-group><issn pub-type="epub">1234-5678</issn>
</journal-meta><article-meta><article-id pub-id-type="doi">10.1000/kelp.7</article-id><title-group>
<article-title>Growth of <italic>Laminaria</italic> in cold water</article-title><subtitle>A survey</subtitle>
</title-group><contrib-group><contrib contrib-type="author"><name><surname>Kelp</surname>
<given-names>Ada M.</given-names></name><xref ref-type="aff" rid="a1">1</xref></contrib>
<contrib contrib-type="author"><collab>The Shore Group</collab></contrib></contrib-group>
<aff id="a1"><label>1</label><institution>Institute of Tides</institution>, <country>Norway</country></aff>
<pub-date pub-type="epub"><day>3</day><month>2</month><year>2021</year></pub-date><volume>12</volume>
<abstract><title>Abstract</title><sec><title>Background</title><p>Kelp grows fast.</p></sec></abstract>
<kwd-group><kwd>kelp</kwd><kwd>cold water</kwd></kwd-group></article-meta></front>
<body><sec id="s1"><label>1</label><title>Introduction</title><p>The rate was 10<sup>6</sup> cells
(<xref ref-type="bibr" rid="b1">Gull, 2001</xref>; <xref ref-type="fig" rid="f1">Fig. 1</xref>).</p>
<sec><title>Sites</title><p>Two sites<xref ref-type="fn" rid="fn1"><sup>a</sup></xref> were used.</p><p>Next.</p></sec>
</sec><sec><title>Results</title><fig id="f1"><label>Figure 1</label><caption><title>Map of sites.</title><p>Scale
5 km.</p></caption><graphic xlink:href="f1.tif"/></fig><table-wrap id="t1"><label>Table 1</label><caption><p>Lengths
in cm</p></caption><table><thead><tr><th>Site</th><th>Length</th></tr></thead><tbody><tr><td rowspan="2">North</td>
<td>12</td></tr><tr><td>14</td></tr></tbody></table><table-wrap-foot><fn><p>n = 8</p></fn></table-wrap-foot>
</table-wrap><disp-formula><mml:math><mml:mfrac><mml:mi>a</mml:mi><mml:mi>b</mml:mi></mml:mfrac></mml:math>
</disp-formula></sec></body><back><ack><title>Acknowledgements</title><p>We thank the pilots.</p></ack>
<fn-group><fn id="fn1"><label>a</label><p>Both lie in the bay.</p></fn></fn-group><ref-list><title>References</title>
<ref id="b1"><label>1</label><element-citation publication-type="journal"><person-group person-group-type="author">
<name><surname>Gull</surname><given-names>B</given-names></name><name><surname>Tern</surname><given-names>C</given-names>
</name></person-group><article-title>On shores</article-title><source>Tide</source><year>2001</year><volume>3</volume>
<fpage>4</fpage><lpage>9</lpage></element-citation></ref></ref-list></back></article>""",
        shows=(
            "# Growth of Laminaria in cold water",
            "A survey",
            "Ada M. Kelp",
            "The Shore Group",
            "Institute of Tides",
            "Norway",
            "2021-02-03",
            "kelp, cold water",
            "Kelp grows fast.",
            "## 1 Introduction",
            "10^6 cells",
            "Gull, 2001",
            "Two sites[a] were used.",
            "[a] Both lie in the bay.",
            "Next.",
            "Figure 1",
            "Map of sites.",
            "Scale 5 km.",
            "Table 1",
            "Lengths in cm",
            "| Site | Length |",
            "| North | 12 |",
            "| North | 14 |",
            "n = 8",
            "a/b",
            "We thank the pilots.",
            "B Gull, C Tern",
            "On shores",
            "Tide",
            "2001",
            "4–9",
        ),
        hides=("f1.tif", "JATS.dtd", "epub"),
        tree=(
            "# Growth of Laminaria in cold water",
            "## Abstract",
            "### Background",
            "## 1 Introduction",
            "### Sites",
            "## Results",
            "## Acknowledgements",
            "## References",
        ),
        metadata=(
            "title=Growth of Laminaria in cold water",
            "author=Ada M. Kelp; The Shore Group",
            "date=2021-02-03",
            "keywords=kelp, cold water",
        ),
        notes=("1 word of index entries, generated lists and technical data was left out",),
    ),
    Case(
        "bare.nxml",
        "<article><front><article-meta><title-group><article-title>Gulls</article-title></title-group></article-meta>"
        "</front><body><p>Gulls fly.</p><list list-type='order'><list-item><p>First.</p></list-item><list-item>"
        "<p>Second.</p><list list-type='bullet'><list-item><p>Inner.</p></list-item></list></list-item></list></body>"
        "</article>",
        shows=("# Gulls", "Gulls fly.", "1. First.", "2. Second.", "  - Inner."),
        tree=("# Gulls",),
    ),
    Case(
        "mixed-citation.xml",
        f"{_XML}{_JATS_HEAD}<article><front/><body><sec><title>A</title><p>See it.</p></sec></body><back><ref-list>"
        "<ref id='r1'><label>1.</label><mixed-citation><string-name><surname>Tern</surname> <given-names>C</given-na"
        "mes>"
        "</string-name>. <article-title>Waves</article-title>. <source>Sea</source> <year>1999</year>;<volume>4</vol"
        "ume>"
        ":<fpage>1</fpage>–<lpage>2</lpage>.</mixed-citation></ref></ref-list></back></article>",
        shows=("# A", "1. Tern C. Waves. Sea 1999;4:1–2."),
        tree=("# A", "# References"),
    ),
    Case(
        "boxed.xml",
        "<article><body><sec><title>Care</title><boxed-text><caption><title>Box 1</title></caption><p>Wear gloves.</p>"
        "</boxed-text><disp-quote><p>Never row alone.</p></disp-quote><def-list><def-item><term>Ebb</term><def><p>Fa"
        "lling"
        " tide.</p></def></def-item></def-list><verse-group><verse-line>O sea</verse-line><verse-line>O shore"
        "</verse-line></verse-group></sec></body></article>",
        shows=("Box 1", "Wear gloves.", "Never row alone.", "Ebb", "Falling tide.", "O sea\nO shore"),
    ),
    Case(
        "cut-off.xml",
        f"{_XML}{_JATS_HEAD}<article><front><article-meta><title-group><article-title>Cut</article-title></title-gro"
        f"up>"
        "</article-meta></front><body><sec><title>One</title><p>The pier stands. The light",
        shows=("# Cut", "## One", "The pier stands. The light"),
        notes=("read only in part",),
    ),
    Case(
        "translated.xml",
        "<article xml:lang='fr'><front><article-meta><title-group><article-title>Les marées</article-title>"
        "<trans-title-group xml:lang='en'><trans-title>The tides</trans-title></trans-title-group></title-group>"
        "<abstract><p>Résumé court.</p></abstract><trans-abstract xml:lang='en'><title>Summary</title><p>Short."
        "</p></trans-abstract></article-meta></front><body><p>Fin.</p></body></article>",
        shows=("# Les marées", "The tides", "Résumé court.", "Summary", "Short.", "Fin."),
        tree=("# Les marées", "## Abstract", "## Summary"),
    ),
)

DOCBOOK = (
    Case(
        "book.xml",
        f"""{_XML}<book {_DB}><info><title>Pump Guide</title><author><personname><firstname>Ada</firstname>
<surname>Kelp</surname></personname></author><pubdate>2020-05-01</pubdate><abstract><para>How pumps work.</para>
</abstract></info><chapter><title>Parts</title><section><title>Valve</title><para>A valve<footnote>
<para>Of brass.</para></footnote> opens.</para><indexterm><primary>valve index</primary></indexterm></section></chapter>
<appendix><title>Sizes</title><table><title>Bolts</title><tgroup cols="3"><colspec colname="a"/><colspec colname="b"/>
<colspec colname="c"/><thead><row><entry>Name</entry><entry namest="b" nameend="c">Size</entry></row></thead><tbody>
<row><entry morerows="1">M6</entry><entry>6</entry><entry>mm</entry></row>
<row><entry>0.24</entry><entry>in</entry></row>
</tbody></tgroup></table></appendix></book>""",
        shows=(
            "# Pump Guide",
            "Ada Kelp",
            "2020-05-01",
            "How pumps work.",
            "## Parts",
            "### Valve",
            "A valve[1] opens.",
            "[1] Of brass.",
            "## Sizes",
            "Bolts",
            "| Name | Size |",
            "| M6 | 6 | mm |",
            "| M6 | 0.24 | in |",
        ),
        hides=("valve index",),
        tree=("# Pump Guide", "## Abstract", "## Parts", "### Valve", "## Sizes"),
        metadata=("title=Pump Guide", "author=Ada Kelp", "date=2020-05-01"),
        notes=("words of index entries",),
    ),
    Case(
        "article4.dbk",
        '<!DOCTYPE article PUBLIC "-//OASIS//DTD DocBook XML V4.5//EN" "http://www.oasis-open.org/docbookx.dtd" '
        '[<!ENTITY prod "Tidewatch"><!ENTITY inner SYSTEM "ch2.xml">]>'
        "<article><articleinfo><title>Using &prod;</title></articleinfo><sect1><title>Setup</title><para>Run &prod; "
        "&mdash;"
        " once.</para><programlisting>tide --port 80\n  --wait</programlisting><note><para>Take care.</para></note>"
        "<sect2><title>Deeper</title><para>End.</para></sect2></sect1>&inner;</article>",
        shows=(
            "# Using Tidewatch",
            "## Setup",
            "Run Tidewatch — once.",
            "tide --port 80\n  --wait",
            "Take care.",
            "### Deeper",
        ),
        tree=("# Using Tidewatch", "## Setup", "### Deeper"),
        notes=("other files",),
    ),
    Case(
        "lists.docbook",
        "<article xmlns='http://docbook.org/ns/docbook'><title>Lists</title><orderedlist><listitem><para>One</para>"
        "</listitem><listitem><para>Two</para></listitem></orderedlist><variablelist><varlistentry><term>-x</term>"
        "<listitem><para>Extract.</para></listitem></varlistentry></variablelist><procedure><step><para>Open.</para>"
        "</step><step><para>Shut.</para></step></procedure><simplelist><member>a1</member><member>b2</member>"
        "</simplelist></article>",
        shows=("1. One", "2. Two", "-x", "Extract.", "1. Open.", "2. Shut.", "a1", "b2"),
    ),
    Case(
        "figures.xml",
        f"<article {_DB}><title>Pictures</title><figure><title>The pier</title><mediaobject><imageobject><imagedata "
        "fileref='pier.png'/></imageobject><textobject><phrase>A pier at dusk</phrase></textobject><caption><para>Ta"
        "ken in "
        "1921.</para></caption></mediaobject></figure><para>Press <menuchoice><guimenu>File</guimenu><guimenuitem>Save"
        "</guimenuitem></menuchoice> and H<subscript>2</subscript>O, <quote>so</quote>.</para></article>",
        shows=("The pier", "A pier at dusk", "Taken in 1921.", "File > Save", "H₂O", "“so”"),
        hides=("pier.png",),
    ),
    Case(
        "refentry.xml",
        "<refentry><refmeta><refentrytitle>tide</refentrytitle><manvolnum>1</manvolnum></refmeta><refnamediv><refnam"
        "e>tide"
        "</refname><refpurpose>show tides</refpurpose></refnamediv><refsynopsisdiv><cmdsynopsis><command>tide</comma"
        "nd>"
        "<arg>--now</arg></cmdsynopsis></refsynopsisdiv><refsect1><title>Options</title><para>Few.</para></refsect1>"
        "</refentry>",
        shows=("# tide", "show tides", "tide --now", "## Options", "Few."),
        notes=("1 word of index entries, generated lists and technical data was left out",),
    ),
    Case(
        "references.xml",
        f"<article {_DB}><title>With sources</title><para>See <xref linkend='s'/>.</para><section xml:id='s'><title>"
        f"Waves"
        "</title><para>W.</para></section><bibliography><title>Sources</title><bibliomixed><abbrev>K1</abbrev> Kelp, "
        "<title>Shores</title>, 1999.</bibliomixed><biblioentry><author><firstname>B</firstname><surname>Gull</surna"
        "me>"
        "</author><title>Nests</title><pubdate>2003</pubdate></biblioentry></bibliography></article>",
        shows=("See Waves.", "## Waves", "## Sources", "K1", "Kelp, Shores, 1999.", "B Gull", "Nests", "2003"),
        tree=("# With sources", "## Waves", "## Sources"),
    ),
)

TEI = (
    Case(
        "letters.xml",
        f"""{_XML}<TEI {_TEI}>{_TEI_HEADER}<text><body><div type="part"><head>Part One</head><div><head>Storm</head>
<p>The wind rose<note place="foot" n="1">From the west.</note> at <hi rend="sup">th</hi> noon.</p><p>Second <choice>
<sic>teh</sic><corr>the</corr></choice> line.</p></div></div></body></text></TEI>""",
        shows=(
            "# Tides of Port",
            "Ada Kelp",
            "Harbour Press",
            "1921",
            "From the log of the pilot.",
            "## Part One",
            "### Storm",
            "The wind rose[1] at",
            "[1] From the west.",
            "Second the (teh) line.",
        ),
        tree=("# Tides of Port", "## Part One", "### Storm"),
        metadata=("title=Tides of Port", "author=Ada Kelp"),
    ),
    Case(
        "verse.tei",
        f"<TEI {_TEI}>{_TEI_HEADER}<text><body><lg><head>The Sea</head><l>O wave</l><l>O shore</l></lg><sp><speaker>"
        f"Ada"
        "</speaker><p>Row!</p></sp><stage>They row.</stage></body></text></TEI>",
        shows=("## The Sea", "O wave\nO shore", "Ada", "Row!", "They row."),
    ),
    Case(
        "grobid.tei.xml",
        f"<TEI {_TEI}><teiHeader><fileDesc><titleStmt><title level='a' type='main'>Deep Kelp</title></titleStmt>"
        "<publicationStmt><date when='2020-01-02'>2 January 2020</date></publicationStmt><sourceDesc><biblStruct>"
        "<analytic><author><persName><forename type='first'>Ada</forename><surname>Kelp</surname></persName>"
        "<affiliation><orgName>Tide Lab</orgName></affiliation></author><title level='a' type='main'>Deep Kelp</title>"
        "</analytic><monogr><imprint/></monogr></biblStruct></sourceDesc></fileDesc><profileDesc><abstract><p>Short "
        "words.</p></abstract></profileDesc></teiHeader><text><body><div><head n='1'>Method</head><p>We dive <ref "
        "type='bibr' target='#b0'>[1]</ref>.</p></div><figure><head>Figure 1</head><figDesc>A diver.</figDesc></figu"
        "re>"
        "<figure type='table'><head>Table 1</head><table><row role='label'><cell>Day</cell><cell>Depth</cell></row><"
        "row>"
        "<cell>1</cell><cell>20 m</cell></row></table></figure></body><back><div type='references'><listBibl><biblSt"
        "ruct "
        "xml:id='b0'><analytic><title>Old dives</title><author><persName><forename>B</forename><surname>Gull</surname>"
        "</persName></author></analytic><monogr><title level='j'>Sea</title><imprint><date>1999</date></imprint></mo"
        "nogr>"
        "</biblStruct></listBibl></div></back></text></TEI>",
        shows=(
            "# Deep Kelp",
            "Ada Kelp",
            "Tide Lab",
            "Short words.",
            "## 1 Method",
            "We dive [1].",
            "Figure 1",
            "A diver.",
            "Table 1",
            "| Day | Depth |",
            "| 1 | 20 m |",
            "Old dives",
            "B Gull",
            "Sea",
            "1999",
        ),
        tree=("# Deep Kelp", "## Abstract", "## 1 Method", "## References"),
        metadata=("title=Deep Kelp", "author=Ada Kelp"),
    ),
    Case(
        "p4.xml",
        "<TEI.2><teiHeader><fileDesc><titleStmt><title>Old log</title></titleStmt></fileDesc></teiHeader><text><body>"
        "<div1><head>Day 1</head><p>Left port.</p><div2><head>Noon</head><p>Calm.</p></div2></div1></body></text></T"
        "EI.2>",
        shows=("# Old log", "## Day 1", "Left port.", "### Noon", "Calm."),
        tree=("# Old log", "## Day 1", "### Noon"),
    ),
    Case(
        "edited.xml",
        f"<TEI {_TEI}>{_TEI_HEADER}<text><body><p>He <del>ran</del> <add>rowed</add> to the <w>is</w><lb break='no'/"
        f">land "
        "<gap reason='illegible'/> and <abbr>Mr</abbr> Kelp.<pb n='7'/></p><list><item>rope</item><item>oar</item></"
        "list>"
        "</body></text></TEI>",
        shows=("He ~~ran~~ rowed to the island […] and Mr Kelp.", "- rope", "- oar"),
    ),
    Case(
        "corpus.xml",
        f"<teiCorpus {_TEI}>{_TEI_HEADER}<TEI>{_TEI_HEADER.replace('Tides of Port', 'First')}<text><body><p>One fish"
        f".</p>"
        f"</body></text></TEI><TEI>{_TEI_HEADER.replace('Tides of Port', 'Second')}<text><body><p>Two fish.</p></body>"
        "</text></TEI></teiCorpus>",
        shows=("# Tides of Port", "## First", "One fish.", "## Second", "Two fish."),
    ),
)

_TASK = '<!DOCTYPE task PUBLIC "-//OASIS//DTD DITA Task//EN" "task.dtd">\n'
DITA = (
    Case(
        "task.dita",
        f"{_XML}{_TASK}<task id='t'><title>Change the filter</title><shortdesc>Once a year.</shortdesc><prolog><auth"
        f"or>Ada "
        "Kelp</author><metadata><keywords><keyword>filter</keyword></keywords></metadata></prolog><taskbody><prereq>"
        "Cool "
        "down.</prereq><steps><step><cmd>Open the <uicontrol>lid</uicontrol>.</cmd><info>It may stick.</info></step>"
        "<step>"
        "<cmd>Lift.</cmd></step></steps><result>It runs.</result></taskbody></task>",
        shows=(
            "# Change the filter",
            "Once a year.",
            "Ada Kelp",
            "Cool down.",
            "1. Open the lid.",
            "It may stick.",
            "2. Lift.",
            "It runs.",
        ),
        tree=("# Change the filter",),
        metadata=("title=Change the filter", "author=Ada Kelp"),
    ),
    Case(
        "concept.xml",
        "<!DOCTYPE concept PUBLIC '-//OASIS//DTD DITA Concept//EN' 'concept.dtd'><concept id='c'><title>Pressure</ti"
        "tle>"
        "<conbody><p>It rises<fn>With depth.</fn>.</p><section><title>Units</title><p>Bar.</p></section><note type="
        "'danger'>High!</note><dl><dlentry><dt>bar</dt><dd>A unit.</dd></dlentry></dl></conbody><concept id='d'><tit"
        "le>"
        "Depth</title><conbody><p>In metres.</p></conbody></concept></concept>",
        shows=(
            "# Pressure",
            "It rises[1].",
            "[1] With depth.",
            "## Units",
            "Bar.",
            "High!",
            "bar",
            "A unit.",
            "## Depth",
        ),
        tree=("# Pressure", "## Units", "## Depth"),
    ),
    Case(
        "reference.dita",
        "<reference id='r'><title>Codes</title><refbody><simpletable><sthead><stentry>Code</stentry><stentry>Text</s"
        "tentry>"
        "</sthead><strow><stentry>E1</stentry><stentry>No water</stentry></strow><strow><stentry>E2</stentry><stentr"
        "y>Hot"
        "</stentry></strow></simpletable><properties><prophead><proptypehd>Type</proptypehd><propvaluehd>Value"
        "</propvaluehd></prophead><property><proptype>Weight</proptype><propvalue>3 kg</propvalue></property></prope"
        "rties>"
        "<section><codeblock>reset\n  now</codeblock></section></refbody></reference>",
        shows=("| Code | Text |", "| E1 | No water |", "| Type | Value |", "| Weight | 3 kg |", "reset\n  now"),
    ),
    Case(
        "topic.dita",
        "<topic id='t'><title>Pier</title><body><fig><title>The old pier</title><image href='p.png'><alt>Planks</alt>"
        "</image></fig><p>Choose <menucascade><uicontrol>File</uicontrol><uicontrol>Print</uicontrol></menucascade>."
        "</p>"
        "<draft-comment>check this</draft-comment></body><related-links><link href='x.dita'><linktext>Harbour</linkt"
        "ext>"
        "</link></related-links></topic>",
        shows=("The old pier", "Planks", "File > Print", "check this", "Harbour"),
        hides=("p.png",),
    ),
    Case(
        "guide.ditamap",
        "<map><title>Guide</title><topicref href='a.dita' navtitle='Start'><topicref href='b.dita'><topicmeta><navti"
        "tle>Next"
        "</navtitle></topicmeta></topicref></topicref></map>",
        shows=("# Guide", "- Start", "  - Next"),
        notes=("2 parts of the document are in other files",),
    ),
)

CASES = (*JATS, *DOCBOOK, *TEI, *DITA)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_documents_show_what_a_reader_must_see(tmp_path: Path, case: Case) -> None:
    check_case(tmp_path, case)


def test_code_keeps_its_lines_and_tables_are_tables(tmp_path: Path) -> None:
    for case in (DOCBOOK[1], DITA[2]):
        (tmp_path / case.name).write_text(str(case.content))
    assert roles_of(tmp_path / "article4.dbk")["tide --port 80"] == "code"
    assert roles_of(tmp_path / "reference.dita")["| E1 | No water |"] == "table"


_WORD = st.sampled_from("tide pump Größe 1984 价格 лодка a1 x".split())
_NAMES = "a b c title name item p row"
_SPECIAL = {
    "jats": "article-title contrib surname given-names aff kwd pub-date year month day collab mixed-citation source "
    "fpage lpage thead tbody td th tfoot tgroup entry italic tex-math xyz string-name name-alternatives graphic",
    "docbook": "thead tbody tgroup entry td th tfoot firstname surname corpauthor keyword date pubdate legalnotice "
    "emphasis ulink xyz textobject phrase varlistentry refmeta abbrev citation seglistitem",
    "tei": "fileDesc titleStmt author editor date publisher keywords term cell hi forename surname corr sic orig reg "
    "abbr expan xyz app lem imprint biblScope pb graphic",
    "dita": "thead tbody tgroup entry stentry author created keyword uicontrol ph term xyz topicmeta dlentry propvalue",
}
_ATTRIBUTES = ("", "", "", ' id="i"', ' rid="i"', ' target="#i"', ' linkend="i"', ' type="sub"', ' role="label"',
               ' n="7"', ' contrib-type="editor"', ' rend="sup"', ' list-type="order"', ' rowspan="2"')  # fmt: skip
_DOCUMENTS = {
    "jats": "<article><front><article-meta>{}</article-meta></front><body>{}</body><back>{}</back></article>",
    "docbook": '<article xmlns="http://docbook.org/ns/docbook"><info>{}</info>{}<section>{}</section></article>',
    "tei": '<TEI xmlns="http://www.tei-c.org/ns/1.0"><teiHeader>{}</teiHeader><text><body>{}</body><back>{}</back>'
    "</text></TEI>",
    "dita": '<topic id="t"><title>T</title><prolog>{}</prolog><body>{}</body><section>{}</section></topic>',
}  # fmt: skip


def trees_of(
    names: Sequence[str], words: st.SearchStrategy[str] = _WORD, attributes: Sequence[str] = ("",)
) -> st.SearchStrategy[str]:
    return st.recursive(
        words,
        lambda inner: st.tuples(
            st.sampled_from(names), st.sampled_from(attributes), st.lists(inner, min_size=1, max_size=4)
        ).map(lambda made: f"<{made[0]}{made[1]}> {' '.join(made[2])} </{made[0]}>"),
        max_leaves=20,
    )


def numbered(source: str) -> str:
    """Return a source in which each word is another one, so that each lost word is seen."""
    count = itertools.count(1)
    return re.sub(r"\bword\b", lambda _: f"word{next(count)}x", source)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(parts=st.lists(trees_of(_NAMES.split()), min_size=1, max_size=5))
def test_no_word_of_unknown_xml_is_lost(tmp_path: Path, parts: list[str]) -> None:
    source = f"<doc>{' '.join(parts)}</doc>"
    (tmp_path / "a.xml").write_text(source)
    words = Counter(re.findall(r"\w+", " ".join(etree.fromstring(source).itertext())))
    assert not words - Counter(re.findall(r"\w+", text_of(tmp_path / "a.xml"))), source


def test_words_after_an_element_of_a_reference_are_kept(tmp_path: Path) -> None:
    (tmp_path / "a.xml").write_text(
        "<article><para>Text</para><bibliography><biblioentry><lot><abbrev>Pool</abbrev> Harbours</lot></biblioentry>"
        "<biblioentry><citetitle>Quays</citetitle><publisher> <name>Dock</name> Press </publisher></biblioentry>"
        "</bibliography></article>"
    )
    words = set(text_of(tmp_path / "a.xml").split())
    assert {"Pool", "Harbours", "Dock", "Press"} <= {word.strip(".,") for word in words}


@pytest.mark.parametrize("vocabulary", _DOCUMENTS)
@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_no_word_in_an_odd_place_is_lost(tmp_path: Path, vocabulary: str, data: st.DataObject) -> None:
    """Elements of a vocabulary nest as they never may: no word is lost but what is left out, which is counted."""
    kinds = KINDS[vocabulary]
    names = sorted({*kinds, *_SPECIAL[vocabulary].split()})
    trees = st.lists(trees_of(names, st.just("word"), _ATTRIBUTES), min_size=1, max_size=4).map(" ".join)
    source = numbered(_DOCUMENTS[vocabulary].format(*(data.draw(trees) for _ in range(3))))
    path = tmp_path / "a.xml"
    path.write_text(source)
    left_out = [element for element in etree.fromstring(source).iter() if is_left_out(element, kinds)]
    unread = {word for element in left_out for word in _words(" ".join(map(str, element.itertext())))}
    info, pages = read(path)
    lost = set(_words(source)) - set(_words("\n".join(page.text for page in pages)))
    assert lost <= unread, source
    assert not lost or any("left out" in warning for warning in info.warnings), source


def is_left_out(element: etree._Element, kinds: dict[str, str]) -> bool:
    name = tag(element)
    technical = "encodingDesc revisionDesc xenoData counts journal-id processing-meta object-id indexterm self-uri"
    return kinds.get(name) == "dropped" or name in technical.split()


def _words(text: str) -> list[str]:
    return re.findall(r"word\d+x", text)


@pytest.mark.parametrize("vocabulary", _DOCUMENTS)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_text_in_odd_places_keeps_its_order(tmp_path: Path, vocabulary: str, data: st.DataObject) -> None:
    """Only front matter, notes, tables, references and pairs of readings are rearranged."""
    moved = {"front", "note", "table", "reference", "person", "fields", "choice", "dropped", "cross", "row", "label"}
    names = [name for name, kind in sorted(KINDS[vocabulary].items()) if kind not in moved]
    trees = st.lists(trees_of(names, st.just("word")), min_size=1, max_size=4).map(" ".join)
    source = numbered(_DOCUMENTS[vocabulary].format("", data.draw(trees), data.draw(trees)))
    path = tmp_path / "a.xml"
    path.write_text(source)
    shown = list(dict.fromkeys(_words(text_of(path))))
    assert shown == _words(source), source
