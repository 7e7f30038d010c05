"""Entities that a file declares itself are read; a reason never bears the name of an exception's class."""

from __future__ import annotations

import builtins
import random
import re
import time
import zipfile
from pathlib import Path

import pytest
from lxml import etree

from hybrid_pageindex import Engine, run
from indexers.formats.flow.entities import put_in_text
from indexers.formats.flow.safety import read_xml
from indexers.formats.web.html import flattened, parse_html
from tests.indexers.formats.packages import docx, epub, opendocument, packed, paragraph, text_of

_INTERNAL = '<!DOCTYPE d [<!ENTITY pub "Kelp &amp; Sons"><!ENTITY out SYSTEM "file:///etc/passwd">]>'
_CLASSES = "|".join(
    name for name, one in vars(builtins).items() if isinstance(one, type) and issubclass(one, BaseException)
)
_CLASS = re.compile(rf"\b(?:{_CLASSES}|\w+(?:Error|Exception)|cython_\w+)\b")


def changed(path: Path, name: str, begin: str) -> Path:
    """A package in which a part begins with something more."""
    with zipfile.ZipFile(path) as package:
        parts = {one: package.read(one) for one in package.namelist()}
    parts[name] = begin.encode() + parts[name]
    return packed(path, parts)


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
    began = time.perf_counter()
    assert len(put_in_text(f"{head}<p>{'&w;' * 100_000}&r;&e11;</p>")) < 1_100_000
    assert time.perf_counter() - began < 5


def test_deep_html_is_read_at_once() -> None:
    began = time.perf_counter()
    page = parse_html("<div class='a'>kelp" * 100_000 + "</div>" * 100_000 + "<p>shore</p>")
    assert time.perf_counter() - began < 20
    text = " ".join(getattr(block, "text", "") for block in page.blocks)
    assert text.count("kelp") == 100_000 and "shore" in text


def test_flat_html_with_unclosed_elements_stays_as_it_is() -> None:
    page = parse_html("<ul>" + "<li><b>kelp</b> gull" * 3_000 + "</ul><p>shore")
    assert len(page.blocks) == 3_001


@pytest.mark.parametrize("seed", range(3))
def test_no_reason_names_an_exception(tmp_path: Path, engine: Engine, seed: int) -> None:
    whole, chance = tmp_path / "whole", random.Random(seed)
    docs = tmp_path / "docs"
    whole.mkdir()
    docs.mkdir()
    docx(whole / "a.docx", paragraph("kelp"))
    opendocument(whole / "b.odt", "<text:p>kelp</text:p>")
    opendocument(whole / "c.odp", "<draw:page><draw:frame/></draw:page>", "presentation")
    epub(whole / "d.epub", {"a.xhtml": "<p>kelp</p>"})
    (whole / "e.rtf").write_text(r"{\rtf1\ansi{\fonttbl\f0\fswiss Helvetica;}\f0\pard kelp \u8212?\'e9 \par}")
    (whole / "f.ipynb").write_text('{"cells": [{"cell_type": "code", "source": ["kelp"], "outputs": []}]}')
    (whole / "g.eml").write_text("From: a@b.c\nContent-Type: text/html; charset=utf-8\n\n<p>kelp</p>\n")
    (whole / "h.html").write_text("<html><body><p>kelp</p></body></html>")
    for source in sorted(whole.iterdir()):
        for at in range(4):
            file = docs / f"{source.stem}{at}{source.suffix}"
            if zipfile.is_zipfile(source):
                with zipfile.ZipFile(source) as package:
                    parts = {name: package.read(name) for name in package.namelist()}
                name = chance.choice([one for one in parts if one.endswith(("xml", "opf", "rels"))])
                packed(file, {**parts, name: mutated(parts[name], chance)})
            else:
                file.write_bytes(mutated(source.read_bytes(), chance))
    report = run(engine.index(docs))
    for one in report.files:
        told = f"{one.error or ''} {one.note or ''}"
        assert not _CLASS.search(told), (one.path, told)


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
