"""Entities that a file declares itself are read; a reason never bears the name of an exception's class."""

from __future__ import annotations

import builtins
import random
import re
import tarfile
import zipfile
from pathlib import Path

import pptx
import pymupdf
import pytest
import xlsxwriter
from lxml import etree

from hybrid_pageindex import Engine, run
from indexers.formats.flow.safety import put_in_text, read_xml
from indexers.formats.registry import format_of, formats
from indexers.formats.web.html import flattened, parse_html
from tests.indexers.formats.packages import docx, epub, ole, opendocument, packed, paragraph, repacked, text_of

_INTERNAL = '<!DOCTYPE d [<!ENTITY pub "Kelp &amp; Sons"><!ENTITY out SYSTEM "file:///etc/passwd">]>'
_CLASSES = "|".join(
    name for name, one in vars(builtins).items() if isinstance(one, type) and issubclass(one, BaseException)
)
_CLASS = re.compile(rf"\b(?:{_CLASSES}|\w+(?:Error|Exception)|cython_\w+)\b")


_OFFICE = {"word97", "powerpoint97"}  # read by LibreOffice


def changed(path: Path, name: str, begin: str) -> Path:
    """A package in which a part begins with something more."""
    return repacked(path, lambda parts: parts | {name: begin.encode() + parts[name]})


@pytest.mark.parametrize("name", ["nope", "eacute"])
@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("<d>&{name};a &amp; b &lt;c&gt; <![CDATA[&amp;]]></d>", "a & b <c> &amp;"),
        (f"{_INTERNAL}<d>&{{name}};x &amp; &pub;</d>", "x & Kelp & Sons"),
        ("<d t='&amp;'>&{name};<e>&quot;q&apos; &amp; <!-- &amp; --> &amp;</e></d>", "\"q' &  &"),
        ("\ufeff<?xml version='1.0'?><!-- <d> --><!DOCTYPE d><d>&{name};x &amp; y</d>", "x & y"),
    ],
)
def test_an_unknown_entity_does_not_cost_those_of_xml_itself(name: str, source: str, text: str) -> None:
    root, whole = read_xml(source.replace("{name}", name).encode(), "it")
    shown = "".join(map(str, root.itertext()))
    assert shown == {"nope": "", "eacute": "é"}[name] + text and whole == (name == "eacute")
    root, whole = read_xml(source.replace("{name}", name).encode() + b"<", "it")
    assert "".join(map(str, root.itertext())) == shown and not whole


def test_an_odt_with_entities_is_read(tmp_path: Path) -> None:
    made = opendocument(tmp_path / "a.odt", "&pub;<text:p>from &pub; shore&out;</text:p><text:p>gull &nope;</text:p>")
    text = text_of(changed(made, "content.xml", _INTERNAL))
    assert "from Kelp & Sons shore" in text and "gull" in text and "root:" not in text


def test_an_epub_with_entities_is_read(tmp_path: Path) -> None:
    made = epub(tmp_path / "a.epub", {"a.xhtml": "<p>from &pub; shore&out;</p>"})
    text = text_of(changed(made, "OPS/a.xhtml", _INTERNAL))
    assert "from Kelp & Sons shore" in text and "]>" not in text and "root:" not in text


def test_entities_in_an_fb2_are_read(tmp_path: Path) -> None:
    book = tmp_path / "a.fb2"
    book.write_text(
        f'<?xml version="1.0"?>{_INTERNAL}<FictionBook xmlns="http://www.gribuser.ru/xml/fictionbook/2.0">'
        "<body>&pub;<section><p>from &pub; shore&out;</p></section></body></FictionBook>"
    )
    assert "from Kelp & Sons shore" in text_of(book)


def test_what_entities_add_is_bounded() -> None:
    levels = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, 12))
    head = f'<!DOCTYPE d [<!ENTITY e0 "gull"><!ENTITY r "&r;">{levels}<!ENTITY w "{"w" * 900}">]>'
    root, _ = read_xml(f"{head}<d>kelp &e1; &nope; shore</d>".encode(), "a.xml")
    assert root.text == f"kelp {'gull' * 10}  shore" and not list(root.iter(etree.Entity))
    root, _ = read_xml(f"{head}<d>kelp &e11; shore</d>".encode(), "a.xml")
    assert "kelp" in (root.text or "") and "gull" not in (root.text or "")
    assert len(put_in_text(f"{head}<p>{'&w;' * 100_000}&r;&e11;</p>")) < 1_100_000


def test_deep_html_is_read_at_once() -> None:
    page = parse_html("<div class='a'>kelp" * 100_000 + "</div>" * 100_000 + "<p>shore</p>")
    text = " ".join(getattr(block, "text", "") for block in page.blocks)
    assert text.count("kelp") == 100_000 and "shore" in text


def test_flat_html_with_unclosed_elements_stays_as_it_is() -> None:
    page = parse_html("<ul>" + "<li><b>kelp</b> gull" * 3_000 + "</ul><p>shore")
    assert len(page.blocks) == 3_001


def one_of_each(folder: Path) -> None:
    """A small file of each format that is read without LibreOffice."""
    folder.mkdir()
    docx(folder / "a.docx", paragraph("kelp"))
    opendocument(folder / "b.odt", "<text:p>kelp</text:p>")
    opendocument(folder / "c.odp", "<draw:page><draw:frame/></draw:page>", "presentation")
    row = "<table:table-row><table:table-cell><text:p>kelp</text:p></table:table-cell></table:table-row>"
    opendocument(folder / "d.ods", f'<table:table table:name="Tides">{row}</table:table>', "spreadsheet")
    epub(folder / "e.epub", {"a.xhtml": "<p>kelp</p>"})
    deck = pptx.Presentation()
    deck.slides.add_slide(deck.slide_layouts[0]).shapes.title.text = "kelp"
    deck.save(str(folder / "f.pptx"))
    book = xlsxwriter.Workbook(folder / "g.xlsx")
    book.add_worksheet("Tides").write(0, 0, "kelp")
    book.close()
    with zipfile.ZipFile(folder / "g.xlsx") as package:
        parts = {one.replace("workbook.xml", "workbook.bin"): package.read(one) for one in package.namelist()}
    listed, main = parts["[Content_Types].xml"], b"openxmlformats-officedocument.spreadsheetml.sheet.main+xml"
    binary = listed.replace(main, b"ms-excel.sheet.binary.macroEnabled.main")
    packed(folder / "h.xlsb", {**parts, "[Content_Types].xml": binary})
    (folder / "i.xls").write_bytes(ole("Workbook"))
    (folder / "j.msg").write_bytes(ole("__properties_version1.0"))
    with pymupdf.open() as pdf:
        pdf.new_page().insert_text((72, 72), "kelp")
        pdf.save(folder / "k.pdf")
    (folder / "l.png").write_bytes(pymupdf.Pixmap(pymupdf.csRGB, pymupdf.IRect(0, 0, 8, 8), False).tobytes("png"))
    packed(folder / "m.zip", {"one.txt": "kelp"})
    with tarfile.open(folder / "n.tar", "w") as archive:
        archive.add(folder / "m.zip", "m.zip")
    mail = "From a@b.c Mon Mar  2 10:00:00 2026\nFrom: a@b.c\nContent-Type: text/html; charset=utf-8\n\n<p>kelp</p>\n"
    texts = {
        "o.rtf": r"{\rtf1\ansi{\fonttbl\f0\fswiss Helvetica;}\f0\pard kelp \u8212?\'e9 \par}",
        "p.ipynb": '{"cells": [{"cell_type": "code", "source": ["kelp"], "outputs": []}]}',
        "q.eml": mail.partition("\n")[2],
        "r.mbox": mail,
        "s.html": "<html><body><p>kelp</p></body></html>",
        "t.fb2": "<FictionBook><body><section><p>kelp</p></section></body></FictionBook>",
        "u.md": "# Kelp\n\n| a | b |\n|---|---|\n| 1 | 2 |\n",
        "v.txt": "kelp and gull\n",
        "vb.rst": "Kelp\n====\n\ngull\n",
        "w.csv": 'a,b\n"kelp",2\n',
        "x.vtt": "WEBVTT\n\n00:01.000 --> 00:02.000\nkelp\n",
        "y.xml": "<article><front/><body><sec><title>Kelp</title><p>gull<xref rid='b'/></p></sec></body></article>",
        "z.json": '{"kelp": {"a": [1, 2.0, "gull"]}}',
        "za.jsonl": '{"kelp": 1}\n{"gull": [null]}\n',
        "zb.yaml": "kelp:\n  - gull: 1\n",
        "zc.toml": '[kelp]\na = "gull"\n',
        "zd.ics": "BEGIN:VCALENDAR\nBEGIN:VEVENT\nSUMMARY:kelp\nDTSTART:20260101\nEND:VEVENT\nEND:VCALENDAR\n",
        "ze.vcf": "BEGIN:VCARD\nFN:Kelp\nTEL;TYPE=work:1\nEND:VCARD\n",
        "zf.bib": "@misc{kelp, title = {The {Gull}}, year = 1999}\n",
        "zg.po": 'msgid "kelp"\nmsgstr "gull"\n',
        "zh.rss": "<rss><channel><title>Kelp</title><item><title>Gull</title></item></channel></rss>",
    }
    for name, text in texts.items():
        (folder / name).write_text(text)


@pytest.mark.parametrize("seed", range(2))
def test_no_reason_names_an_exception(tmp_path: Path, engine: Engine, seed: int) -> None:
    whole, chance = tmp_path / "whole", random.Random(seed)
    docs = tmp_path / "docs"
    docs.mkdir()
    one_of_each(whole)
    assert {one.name for one in formats()} - {format_of(file).name for file in whole.iterdir()} <= _OFFICE
    for source in sorted(whole.iterdir()):
        for at in range(2):
            file = docs / f"{source.stem}{at}{source.suffix}"
            if zipfile.is_zipfile(source) and source.suffix not in (".zip", ".tar"):
                with zipfile.ZipFile(source) as package:
                    parts = {name: package.read(name) for name in package.namelist()}
                name = chance.choice([one for one in parts if one.endswith(("xml", "opf", "rels"))])
                packed(file, {**parts, name: mutated(parts[name], chance)})
            else:
                file.write_bytes(mutated(source.read_bytes(), chance))
    report = run(engine.index(docs))
    for one in report.files:
        reason = f"{one.error or ''} {one.note or ''}"
        assert not _CLASS.search(reason), (one.path, reason)


def mutated(data: bytes, chance: random.Random) -> bytes:
    """Bytes with one place changed, cut out, doubled, or with an entity, a comment or an instruction put in."""
    at = chance.randrange(1, len(data))
    end = min(len(data), at + chance.randrange(1, 40))
    put = chance.choice([b"", b"&nope;", b"<!-- a -->", b"<?php a?>", b"\xff\x00", b"><", data[at:end] * 2])
    return data[:at] + put + data[end if chance.random() < 0.5 else at :]


@pytest.mark.parametrize(
    "noise",
    [
        "<script>" + "for(i=0;i<n;i++)a<b;" * 2_000 + "</script>",
        "<!-- " + "<div>" * 2_000 + " -->",
        "<svg>" + "<path d='M0 0'/>" * 2_000 + "</svg>",
        "<style>" + "a<b{}" * 2_000 + "</style>",
    ],
)
def test_what_opens_nothing_is_no_depth(noise: str) -> None:
    page = f"<html><body>{noise}<h1>Tides</h1><p>High at noon.</p></body></html>"
    assert flattened(page) == page


def test_elements_beyond_the_depth_are_breaks_and_keep_their_words() -> None:
    deep = "<div>" * 5_000 + "<p>Low at dusk.</p>"
    assert flattened(deep).count("<div") == 1_000 and "Low at dusk." in flattened(deep)
    assert flattened("<p>one" * 5_000) == "<p>one" * 5_000
