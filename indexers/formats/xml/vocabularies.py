"""Kinds of the elements of JATS, DocBook, TEI and DITA, and detection of a file's vocabulary."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator

from lxml import etree

_FORMS = {
    "sup": "sup", "superscript": "sup", "sub": "sub", "subscript": "sub", "strike": "struck", "s": "struck",
    "del": "struck", "line-through": "struck", "math": "math", "alternatives": "choice",
}  # fmt: skip


def _kinds(**names: str) -> dict[str, str]:
    return _FORMS | {name: kind.replace("_", ":") for kind, listed in names.items() for name in listed.split()}


KINDS: dict[str, dict[str, str]] = {
    "jats": _kinds(
        section="article book book-part sec sub-article response ack app app-group glossary front-matter-part "
        "foreword preface dedication named-book-part-body bio notes",
        transparent="body back floats-group book-body book-back front-matter named-content",
        front="front front-stub book-meta book-part-meta collection-meta",
        abstract="abstract trans-abstract", references="ref-list", reference="ref",
        title="title", label="label", para="p attrib speech statement disp-quote caption verse-group def-item term def "
        "disp-formula permissions fn-group fn-p sig-block table-wrap-foot chem-struct-wrap question answer",
        line="verse-line sig", list="list", item="list-item", figure="fig fig-group table-wrap table-wrap-group "
        "boxed-text supplementary-material array media", table="table", row="tr", code="preformat", block_code="code",
        note="fn", person="name", fields="element-citation institution-wrap date", dropped="object-id journal-id "
        "processing-meta", alternative="alt-text long-desc", gap="break", cross="xref",
    ),
    "docbook": _kinds(
        section="set book article part chapter appendix preface section sect1 sect2 sect3 sect4 sect5 simplesect "
        "dedication colophon acknowledgements glossary glossdiv refentry refsect1 refsect2 refsect3 refsection "
        "qandaset qandadiv reference topic partintro refsynopsisdiv index-of",
        front="info setinfo bookinfo articleinfo partinfo chapterinfo appendixinfo prefaceinfo sectioninfo sect1info "
        "sect2info sect3info sect4info sect5info refentryinfo glossaryinfo bibliographyinfo referenceinfo",
        abstract="abstract", references="bibliography bibliodiv bibliolist", reference="biblioentry bibliomixed",
        title="title refentrytitle", para="para simpara formalpara blockquote epigraph attribution subtitle "
        "refname refpurpose refclass cmdsynopsis funcsynopsis question answer glossterm glossdef glossentry term "
        "bridgehead literallayout-line caption titleabbrev equation informalequation releaseinfo remark member",
        list="itemizedlist orderedlist simplelist calloutlist variablelist segmentedlist glosslist procedure substeps",
        item="listitem step callout", figure="figure informalfigure example informalexample sidebar note warning tip "
        "caution important danger mediaobject inlinemediaobject task", table="table informaltable", row="row tr",
        code="programlisting screen literallayout synopsis", note="footnote", person="personname",
        fields="author editor othercredit", dropped="indexterm index toc lot refmiscinfo manvolnum",
        alternative="phrase-of-picture", menu="menuchoice", quote="quote", cross="xref footnoteref link",
    ),
    "tei": _kinds(
        section="TEI TEI.2 teiCorpus teiCorpus.2 div div0 div1 div2 div3 div4 div5 div6 div7 lg-with-head",
        transparent="text front body back group", front="teiHeader", abstract="abstract", references="listBibl",
        reference="bibl biblStruct biblFull", title="head", para="p ab lg sp speaker stage opener closer salute signed "
        "dateline byline docTitle titlePart docAuthor docImprint epigraph trailer quote-block figDesc postscript "
        "castItem titlePage argument entry sense def form cit",
        line="l", list="list", item="item", figure="figure", table="table", row="row", note="note", code="eg",
        person="persName", fields="analytic monogr imprint", dropped="fw index",
        choice="choice", gap="lb", lost="gap", variant="rdg", cross="ref ptr",
    ),
    "dita": _kinds(
        section="topic concept task reference glossentry glossgroup troubleshooting section example refsyn "
        "learningOverview learningContent map bookmap",
        transparent="dita body conbody taskbody refbody bodydiv sectiondiv related-links troublebody", front="prolog",
        title="title glossterm booktitle", para="p shortdesc abstract lq cmd info stepresult stepxmp tutorialinfo "
        "stepsection prereq context result postreq tasktroubleshooting dt dd ddhd dthd pt pd glossdef link linktext "
        "desc draft-comment required-cleanup navtitle mainbooktitle booktitlealt cause remedy condition titlealts",
        list="ul ol sl steps steps-unordered substeps choices dl parml linklist topichead topicgroup",
        item="li sli step substep choice stepsection topicref chapter appendix",
        figure="fig note hazardstatement image",
        table="table simpletable properties choicetable", row="row strow sthead property prophead chrow chhead",
        code="codeblock pre screen msgblock lines", note="fn", menu="menucascade", quote="q",
        dropped="indexterm index-base resourceid data", alternative="alt", cross="xref",
    ),
}  # fmt: skip
BLOCKS = frozenset("section transparent front abstract references reference title para list item figure table code "
                   "line".split())  # fmt: skip

_UBL = "{urn:oasis:names:specification:ubl:schema:xsd:"
_DOCBOOK, _TEI = "{http://docbook.org/ns/docbook", "{http://www.tei-c.org/ns/1.0"
_JATS_PARTS = frozenset("front body back book-meta book-body front-stub collection-meta floats-group".split())
_DITA_TITLES = frozenset(("title", "glossterm", "booktitle", "mainbooktitle"))


def tag(element: etree._Element) -> str:
    """Return an element's name without its namespace; "" for comments and instructions."""
    return element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""


def children(element: etree._Element) -> Iterator[etree._Element]:
    return (child for child in element if isinstance(child.tag, str))


def is_mixed(element: etree._Element) -> bool:
    """Return whether an element contains both text and elements."""
    return any(text and text.strip() for text in (element.text, *(child.tail for child in element)))


def texts_of(element: etree._Element, skip: Callable[[etree._Element], bool]) -> Iterator[str]:
    """Yield the texts inside an element in order. Elements for which ``skip`` returns True are left out."""
    outside: etree._Element | None = None
    for event, node in etree.iterwalk(element, events=("start", "end")):
        if event == "start":
            if outside is None and node is not element and skip(node):
                outside = node
            elif outside is None and node.text:
                yield str(node.text)
        else:
            if node is outside:
                outside = None
            if outside is None and node is not element and node.tail:
                yield str(node.tail)


def lacks(text: str, parts: Iterable[str]) -> bool:
    """Return whether a text lacks at least one of several other texts.

    Only letters and digits are compared; superscripts and subscripts count like normal ones.
    """
    letters, inside = _letters(text), [*map(_letters, parts)]
    return any(part not in letters for part in inside) or bool(Counter("".join(inside)) - Counter(letters))


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, unicodedata.normalize("NFKC", text)))


def vocabulary_of(root: etree._Element) -> str:
    """Return the vocabulary of a file, "" if it is unknown.

    It is a name in ``KINDS``, "feed", "invoice", "outline", "xliff" or "tmx".
    """
    name, space = tag(root), str(root.tag).rpartition("}")[0]
    inside = {tag(child) for child in children(root)}
    if name in ("rss", "channel") or (name == "feed" and "Atom" in space) or (name == "RDF" and "channel" in inside):
        return "feed"
    if name.startswith("CrossIndustry") or space.startswith(_UBL):
        return "invoice"
    if name in ("opml", "xliff", "tmx"):
        return {"opml": "outline"}.get(name, name)
    if space == _DOCBOOK:
        return "docbook"
    if space == _TEI or name in ("TEI", "TEI.2", "teiCorpus", "teiCorpus.2"):
        return "tei"
    public = (root.getroottree().docinfo.public_id or "").upper()
    for mark, vocabulary in (("DOCBOOK", "docbook"), ("JATS", "jats"), ("NLM//DTD", "jats"), ("BITS", "jats"),
                             ("DITA", "dita")):  # fmt: skip
        if mark in public:
            return vocabulary
    if name in ("article", "book", "book-part-wrapper", "book-part") and inside & _JATS_PARTS:
        return "jats"
    if KINDS["docbook"].get(name) in ("section", "references") and _holds(root, ("para", "simpara", "refnamediv")):
        return "docbook"
    if name == "dita" or (name in _DITA and inside & _DITA_TITLES):
        return "dita"
    return ""


_DITA = frozenset("topic concept task reference glossentry glossgroup troubleshooting map bookmap".split())


def _holds(root: etree._Element, names: tuple[str, ...]) -> bool:
    return next((True for element in root.iter() if tag(element) in names), False)
