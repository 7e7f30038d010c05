"""No word of a text format is lost: what an independent reader finds stands in pages, members or notes."""

from __future__ import annotations

import json
import re
import unicodedata
import zipfile
from collections import Counter
from email.message import EmailMessage
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lxml import html as lxml_html

from tests.indexers.formats.packages import packed, read, text_of, titles

_WORD = re.compile(r"[^\W_]+")
_DROPPED = ("script", "style", "template", "nav", "title", "rp", "button")  # by rule, with what the page hides
_HIDDEN = "*[@hidden or contains(@style, 'display:none')]"
TAGS = ("p", "div", "li", "td", "h2", "b", "span", "sup", "sub", "del", "aside", "section", "header", "details",
        "blockquote", "pre", "ul", "ol", "table", "tr", "th", "dl", "dd", "ruby", "rt", "label")  # fmt: skip

words = st.sampled_from("tide pump Größe 1984 10 ft3 价格 лодка a1 x".split())
trees = st.recursive(
    words,
    lambda inner: st.tuples(st.sampled_from(TAGS), st.lists(inner, min_size=1, max_size=4)).map(
        lambda made: f"<{made[0]}> {' '.join(made[1])} </{made[0]}>"
    ),
    max_leaves=25,
)


def counted(text: str) -> Counter[str]:
    return Counter(_WORD.findall(unicodedata.normalize("NFKC", text)))


def independent(source: str) -> str:
    """Read HTML by lxml, without what a rule leaves out."""
    root = lxml_html.fromstring(f"<html><body>{source}</body></html>")
    for element in root.xpath(" | ".join([*(f"//{tag}" for tag in _DROPPED), f"//{_HIDDEN}"])):
        element.drop_tree()
    return " ".join(root.itertext())


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(trees, min_size=1, max_size=6))
def test_html_loses_no_word(tmp_path: Path, parts: list[str]) -> None:
    source = "<main>" + "".join(parts) + "</main>"
    (tmp_path / "a.html").write_text(f"<html><head><meta charset=utf-8></head><body>{source}</body></html>")
    assert not counted(independent(source)) - counted(text_of(tmp_path / "a.html"))


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(words, min_size=1, max_size=60), st.sampled_from([" ", "\n", "\n\n"]))
def test_texts_mails_notebooks_and_markdown_lose_no_word(tmp_path: Path, said: list[str], gap: str) -> None:
    text = gap.join(said)
    mail = EmailMessage()
    mail["Subject"] = "Port"
    mail.set_content(text)
    (tmp_path / "a.eml").write_bytes(mail.as_bytes())
    (tmp_path / "a.txt").write_text(text)
    (tmp_path / "a.md").write_text(text)
    cells = [{"cell_type": "markdown", "source": text}, {"cell_type": "raw", "source": text}]
    (tmp_path / "a.ipynb").write_text(json.dumps({"cells": cells, "metadata": {}}))
    spoken = [f"{n}n{word}" for n, word in enumerate(said[:50])]
    cues = "\n\n".join(f"{n}\n00:00:{n:02},000 --> 00:00:59,000\n{word}" for n, word in enumerate(spoken))
    (tmp_path / "a.srt").write_text(cues)
    for name in ("a.eml", "a.txt", "a.md", "a.ipynb"):
        assert not counted(text) - counted(text_of(tmp_path / name)), name
    assert not counted(" ".join(spoken)) - counted(text_of(tmp_path / "a.srt"))


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("10<sup>6</sup> m and x<sup>2</sup>, 10<sup>-6</sup> mol", "10^6 m and x^2, 10^-6 mol"),
        ("In 1984<sup><a href='#f'>3</a></sup> the 2<sup>nd</sup> try", "In 1984[3] the 2nd try"),
        ("H<sub>2</sub>O and x<sub>i</sub>", "H₂O and x_i"),
        ("<del>100</del> 90 dollars", "~~100~~ 90 dollars"),
        ("<ruby>漢字<rp>(</rp><rt>かんじ</rt><rp>)</rp></ruby>の本", "漢字の本 (漢字 かんじ)"),
        ("<input type=checkbox checked> Paid <input type=radio> Cash", "☒ Paid ☐ Cash"),
        ("<select><option>A<option selected>Bee</select> <input value='7 km'>", "Bee 7 km"),
        ("<math><mfrac><mrow><mi>x</mi><mo>+</mo><mn>1</mn></mrow><mn>2</mn></mfrac></math>", "(x+1)/2"),
        ("<math><msup><mi>y</mi><mn>3</mn></msup></math> = <math><msqrt><mi>a</mi></msqrt></math>", "y^3 = √(a)"),
        ("<table><tr><td>H<b>e</b>llo<td>m<sup>2</sup><tr><td>a<br>b<td>c</table>", "| Hello | m^2 |"),
    ],
)
def test_forms_that_carry_meaning(tmp_path: Path, source: str, expected: str) -> None:
    (tmp_path / "a.html").write_text(f"<meta charset=utf-8><body><p>{source}</p></body>")
    assert expected in text_of(tmp_path / "a.html")


def test_numbers_of_lists(tmp_path: Path) -> None:
    lists = (
        "<ol start=14><li>a<li>b</ol><ol type=i><li>c<li>d</ol><ol reversed><li>e<li>f</ol>"
        "<ol type=A start=27><li>g</ol><ol><li value=7>h<li>i</ol>"
    )
    (tmp_path / "a.html").write_text(f"<body>{lists}</body>")
    marks = [line.split()[0] for line in text_of(tmp_path / "a.html").split("\n") if line]
    assert marks == ["14.", "15.", "i.", "ii.", "2.", "1.", "AA.", "7.", "8."]


def test_headers_asides_and_hidden_parts(tmp_path: Path) -> None:
    bar = "<header>BAR<nav>menu</nav></header>"
    for at, body in enumerate((
        "<main><header><h1>Title</h1><p>Lead</p></header><aside>Note</aside>Text</main>",
        "<section><header><h1>Title</h1>Lead</header>Text<footer>Note</footer></section>",
        "<header id=title-block-header><h1>Title</h1>Lead</header>Text<article><aside>Note</aside></article>",
    )):  # fmt: skip
        path = tmp_path / f"{at}.html"
        path.write_text(f"<body>{bar}{body}<div style='display: none'>GONE</div></body>")
        text = text_of(path)
        assert all(word in text for word in ("Title", "Lead", "Note", "Text")) and "BAR" not in text
        assert "GONE" not in text and ("<main" in body or "hidden" in read(path)[0].warnings[-1])
    (tmp_path / "n.html").write_text("<body><noscript><p>Post</p></noscript></body>")
    assert text_of(tmp_path / "n.html") == "Post"


@pytest.mark.parametrize(
    "numbers", [("1", "1.1", "1.2", "2"), ("1.", "2.", "2.1.", "2.2."), ("3", "3.1", "3.1.1", "3.2")]
)
def test_numbered_titles_that_stand_alone_are_a_tree(tmp_path: Path, numbers: tuple[str, ...]) -> None:
    contents = "\n".join(f"   {number} Title {number} ......... {at}" for at, number in enumerate(numbers))
    body = "\n\n".join(f"{number} Title of it\n\n   Text, see section 2.1 of it.\n   1. No title" for number in numbers)
    (tmp_path / "a.txt").write_text(f"Contents\n\n{contents}\n\n{body}\n")
    depth = [number.strip(".").count(".") for number in numbers]
    assert titles(tmp_path / "a.txt") == [
        (1 + deep - min(depth), f"{number} Title of it") for deep, number in zip(depth, numbers, strict=True)
    ]


def test_a_numbered_list_is_no_tree(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("Shopping\n\n1. Milk\n\n2. Bread\n\n3. Eggs\n\n4. Tea\n")
    assert titles(tmp_path / "a.txt") == []


def test_books_keep_raised_words_and_parts_without_a_link(tmp_path: Path) -> None:
    nav = ('<html xmlns:e="http://www.idpf.org/2007/ops"><nav e:type="toc"><ol><li><span>Part I</span><ol><li>'
           '<a href="a.xhtml#r">Rivers</a></li></ol></li></ol></nav></html>')  # fmt: skip
    files = {
        "a.opf": '<package><manifest><item id="n" properties="nav" href="n.xhtml" media-type="application/xhtml+xml"/>'
        '<item id="a" href="a.xhtml" media-type="application/xhtml+xml"/></manifest><spine><itemref idref="a"/></spine>'
        "</package>",
        "n.xhtml": nav,
        "a.xhtml": '<html xmlns="http://www.w3.org/1999/xhtml"><body>'
        '<h2 id="r">Rivers</h2><p>10<sup>6</sup> m</p></body></html>',
        "mimetype": "application/epub+zip",
    }
    packed(tmp_path / "a.epub", files)
    assert titles(tmp_path / "a.epub") == [(1, "Part I"), (2, "Rivers")] and "10^6 m" in text_of(tmp_path / "a.epub")
    assert zipfile.is_zipfile(tmp_path / "a.epub")


def test_errors_of_notebooks_and_captions_that_roll(tmp_path: Path) -> None:
    outputs = [
        {"output_type": "error", "ename": "KeyError", "evalue": "tide", "traceback": ["\x1b[31mKeyError\x1b[0m: tide"]},
        {"output_type": "display_data", "data": {"text/html": "<b>44</b> boats"}},
    ]
    cells = [{"cell_type": "code", "source": "f()", "outputs": outputs}]
    (tmp_path / "a.ipynb").write_text(json.dumps({"cells": cells, "metadata": {}}))
    text = text_of(tmp_path / "a.ipynb")
    assert "KeyError: tide" in text and "44 boats" in text and "[31m" not in text
    lines = ["the tide", "the tide\nturns at", "turns at\nnoon &amp; night"]
    cues = (f"{n}\n00:00:0{n},000 --> 00:00:0{n + 1},000\n{line}" for n, line in enumerate(lines))
    (tmp_path / "a.srt").write_text("\n\n".join(cues))
    assert text_of(tmp_path / "a.srt") == "[00:00:00] the tide turns at noon & night"
