"""Markdown: headings, clauses, pages of lines, metadata, encodings; and the whole way to answers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid_core.errors import DocumentError, LimitError
from hybrid_core.text.tokens import clean
from hybrid_core.types.documents import ParsedDocument, ParsedPage, Section, place_of
from hybrid_pageindex import Engine, run
from indexers.formats.format import FileInfo
from indexers.formats.limits import ParseLimits
from indexers.formats.markdown import MarkdownFile
from indexers.outline.tree import build_tree
from tests.conftest import Cli
from tests.indexers.formats.packages import text_of
from tests.indexers.outline.outline_pages import check

PROSE = "The ferry crosses the strait twice a day, and the harbour master keeps the log of every crossing in ink. "


def read(path: Path, source: str | bytes) -> tuple[FileInfo, list[ParsedPage]]:
    path.write_bytes(source if isinstance(source, bytes) else source.encode())
    file = MarkdownFile(path)
    pages = [page for page in file.read(range(1, file.pages + 1), lambda _: None) if isinstance(page, ParsedPage)]
    assert len(pages) == file.pages
    return file.info(), pages


def tree_of(path: Path, source: str | bytes) -> tuple[Section, ...]:
    info, pages = read(path, source)
    tree = build_tree(ParsedDocument("markdown", tuple(pages), (), info.metadata, info.headings))
    check(tree, pages)
    return tree


def shape(tree: tuple[Section, ...]) -> list[tuple[int, str]]:
    return [(section.level, section.title) for section in tree]


def spans(pages: list[ParsedPage]) -> list[tuple[int, int]]:
    """First and last line of each page, from its label."""
    ends = [page.label.removeprefix("lines ").removeprefix("line ").split("-") for page in pages]
    return [(int(end[0]), int(end[-1])) for end in ends]


def test_headings_by_syntax_with_their_marks_taken_off(tmp_path: Path) -> None:
    source = f"""# The **Harbour** [Guide](https://example.org) ##

{PROSE}

Tides &amp; *moons*
===================

### `ebb` <br> table {{#ebb}}

```sh
# not a heading
```

~~~
## nor this
~~~

    # nor indented code

<!--
# nor a comment
-->

> # nor a quotation

- # nor an item

#hashtag is no heading

Soundings
---
Depths.
"""
    tree = tree_of(tmp_path / "a.md", source)
    assert shape(tree) == [
        (1, "The Harbour Guide"), (1, "Tides & moons"), (2, "ebb table"), (2, "Soundings"),
    ]  # fmt: skip
    assert {section.source for section in tree} == {"markup"}


def test_text_before_the_first_heading_and_files_without_any(tmp_path: Path) -> None:
    before = tree_of(tmp_path / "a.md", PROSE * 3 + "\n\n## Piers\n\nWood.\n")
    assert [(s.title, s.synthetic, s.anchor > 0) for s in before] == [
        ("Front matter", True, False),
        ("Piers", False, True),
    ]
    without = tree_of(tmp_path / "b.md", "\n\n".join([PROSE * 5] * 100))
    assert all(section.synthetic for section in without)
    assert without[0].title.startswith("Pages 1–")


def test_clauses_of_a_statute_are_sections_under_its_chapters(tmp_path: Path) -> None:
    source = """# 港口法

## 第一章　总则

第一条　为了加强港口管理，制定本法。

依照本法第三条的规定执行。

第二条　本法适用于港口。

第二条规定的港口不包括军港。

第二条之一 【渔港】渔港另行规定。

**第三条** 国家鼓励港口建设。
第四条　港口应当安全。

## 附则

第五条　本法自公布之日起施行。
"""
    tree = tree_of(tmp_path / "a.md", source)
    assert shape(tree) == [
        (1, "港口法"), (2, "第一章 总则"), (3, "第一条"), (3, "第二条"), (3, "第二条之一 【渔港】"), (3, "第三条"),
        (3, "第四条"), (2, "附则"), (3, "第五条"),
    ]  # fmt: skip
    assert [s.source for s in tree] == ["markup", "markup", *["clause"] * 5, "markup", "clause"]


def test_plain_chapters_hold_their_clauses_and_a_list_of_contents_is_none(tmp_path: Path) -> None:
    chapters = ["第一章 总则", "第二章 船舶", "第三章 船员", "第四章 附则"]
    body = "\n\n".join(
        f"{chapter}\n\n第{2 * at + 1}条 甲。\n\n第{2 * at + 2}条 乙。" for at, chapter in enumerate(chapters)
    )
    tree = tree_of(tmp_path / "a.md", "目录\n\n" + "\n".join(chapters) + "\n\n" + body)
    assert shape(tree)[:6] == [
        (1, "第一章 总则"), (2, "第1条"), (2, "第2条"), (1, "第二章 船舶"), (2, "第3条"), (2, "第4条"),
    ]  # fmt: skip
    assert len(tree) == 12


def test_articles_and_paragraph_signs_count_where_they_run_on(tmp_path: Path) -> None:
    source = """# Berth agreement

ARTICLE I – BERTHS

Section 1. Definitions. The "Berth" means berth seven.

Section 2. The berth is let as it lies.

Section 404 of the Act applies to it.

ARTICLE II – DUES

Section 1. Dues fall due on the first day.

Section 2 describes nothing, since a small letter goes on.

Section 2. Dues may be raised.

Section 3 – Interest

ARTICLE III – END

The end.
"""
    assert shape(tree_of(tmp_path / "a.md", source)) == [
        (1, "Berth agreement"),
        (2, "ARTICLE I – BERTHS"), (3, "Section 1. Definitions"), (3, "Section 2"),
        (2, "ARTICLE II – DUES"), (3, "Section 1"), (3, "Section 2"), (3, "Section 3 – Interest"),
        (2, "ARTICLE III – END"),
    ]  # fmt: skip
    law = "\n\n".join(f"§ {n} Every pier has {n} lamps." for n in range(5, 9))
    assert [title for _, title in shape(tree_of(tmp_path / "b.md", law))] == ["§ 5", "§ 6", "§ 7", "§ 8"]
    two = tree_of(tmp_path / "c.md", "Section 2. It is so.\n\nSection 7. It is not.\n")
    assert [section.title for section in two] == ["Page 1"]  # two numbers that do not run on


BLOCKS = st.lists(
    st.one_of(
        st.sampled_from(["", " ", "# A", "## B", "Title\n===", "```\ncode  x\n```", "| a | b |\n|---|---|\n| 1 | 2 |"]),
        st.integers(1, 40).map(lambda n: f"第{n}条 " + "港口应当安全。" * (n % 9)),
        st.integers(1, 60).map(lambda n: PROSE * n),
        st.text("abc \t#*`-—é港\u200b\u3000", max_size=60),
    ),
    max_size=60,
)  # fmt: skip


@given(BLOCKS)
def test_every_line_lies_on_one_page_and_pages_give_back_the_text(
    tmp_path_factory: pytest.TempPathFactory, blocks: list[str]
) -> None:
    source = "x\n" + "\n\n".join(blocks)
    path = tmp_path_factory.mktemp("lines") / "a.md"
    info, pages = read(path, source)
    lines = source.removesuffix("\n").split("\n")
    found = spans(pages)
    assert [line for first, last in found for line in range(first, last + 1)] == list(range(1, len(lines) + 1))
    for page, (first, last) in zip(pages, found, strict=True):
        held = page.text.split("\n") if page.lines else []
        held += [""] * (last - first + 1 - len(held))  # blank lines at a page's end are left out
        for ours, theirs in zip(held, lines[first - 1 : last], strict=True):
            assert "".join(ours.split()) == "".join(clean(theirs).split())
        assert sum(map(len, held)) <= 4_000 or len([line for line in held if line]) == 1
    for heading in info.headings or ():
        assert pages[heading.page - 1].lines[heading.line].text
    check(build_tree(ParsedDocument("markdown", tuple(pages), (), {}, info.headings)), pages)


@given(BLOCKS, st.sampled_from(["## More\n\n" + PROSE * 30, "第五十条 " + "船。" * 400, "more"]))
def test_what_is_added_at_the_end_leaves_earlier_pages_as_they_were(
    tmp_path_factory: pytest.TempPathFactory, blocks: list[str], more: str
) -> None:
    folder = tmp_path_factory.mktemp("stable")
    source = "x\n" + "\n\n".join(blocks)
    _, before = read(folder / "a.md", source)
    _, after = read(folder / "b.md", source + "\n\n" + more)
    assert after[: len(before) - 1] == before[:-1]


def test_pages_end_at_sections_and_clauses(tmp_path: Path) -> None:
    chapters = [f"## 第{c}章 港\n\n" for c in "一二三四"]
    source = "# 法\n\n"
    for at, chapter in enumerate(chapters):
        source += chapter + "".join(f"第{100 + 40 * at + n}条 {'港口应当安全。' * 12}\n\n二款。\n\n" for n in range(40))
    info, pages = read(tmp_path / "a.md", source)
    assert 8 < len(pages) < 20
    starts = {(h.page, h.line) for h in info.headings or ()}
    assert all((page.number, 0) in starts for page in pages)


def test_front_matter_is_metadata_and_no_heading(tmp_path: Path) -> None:
    yaml = (
        "---\ntitle: Tide tables\nauthors: [Ada Marsh, Bo Reed]\ndate: 2024-05-01\ndraft: true\nnested: {a: 1}\n---\n"
    )
    info, pages = read(tmp_path / "a.md", yaml + "\n# Heading\n\nText.\n")
    assert info.metadata == {
        "title": "Tide tables", "author": "Ada Marsh, Bo Reed", "date": "2024-05-01", "draft": "True",
    }  # fmt: skip
    assert [h.title for h in info.headings or ()] == ["Heading"]
    assert pages[0].label == "lines 1-11"
    toml, _ = read(tmp_path / "b.md", '+++\ntitle = "Tides"\n+++\nText.\n')
    assert toml.metadata == {"title": "Tides"}
    broken, text = read(tmp_path / "c.md", "---\ntitle: [unclosed\n---\nText.\n")
    assert broken.metadata == {}
    assert broken.warnings == ("the front matter of the file is damaged, so it was read as text",)
    assert "unclosed" in text[0].text
    rules, _ = read(tmp_path / "d.md", "---\n\nA rule above.\n\n---\n\nAnd below.\n")
    assert (rules.metadata, rules.warnings) == ({}, ())


@pytest.mark.parametrize(
    ("data", "expected", "warning"),
    [
        ("\ufeff# 港口\r\n\r\n正文\r".encode(), "# 港口\n\n正文", ""),
        ("# 港口\n正文".encode("utf-16"), "# 港口\n正文", ""),
        ("# 港口管理办法\n第一条 正文".encode("gb18030"), "# 港口管理办法\n第一条 正文", "read as GB 18030"),
        ("# Café à la carte\ndéjà vu".encode("cp1252"), "# Café à la carte\ndéjà vu", "read as Windows-1252"),
        ("# Café 港口\n".encode() + b"\xff", "# Café 港口\n\ufffd", "not UTF-8 were replaced, first in line 2"),
    ],
)
def test_encodings(tmp_path: Path, data: bytes, expected: str, warning: str) -> None:
    info, pages = read(tmp_path / "a.md", data)
    assert pages[0].text == expected
    assert warning in "; ".join(info.warnings)
    assert bool(info.warnings) == bool(warning)


def test_what_is_no_text_and_what_is_over_a_limit_is_refused(tmp_path: Path) -> None:
    for data, reason in ((b"", "the file is empty"), (b"PK\x03\x04\x00\x00md", "contains binary data")):
        (tmp_path / "a.md").write_bytes(data)
        with pytest.raises(DocumentError, match=reason):
            MarkdownFile(tmp_path / "a.md")
    (tmp_path / "b.md").write_text("\n\n".join([PROSE * 20] * 10))
    with pytest.raises(LimitError, match=r"pages; the limit is 3\. Raise the setting max_pages"):
        MarkdownFile(tmp_path / "b.md", ParseLimits(max_pages=3))
    (tmp_path / "c.md").write_text("# A\n\n" + "word " * 1_000 + "\n\n# B\n\nEnd.\n")
    file = MarkdownFile(tmp_path / "c.md", ParseLimits(max_page_characters=2_000, max_bookmarks=1))
    found = list(file.read(range(1, file.pages + 1), lambda _: None))
    assert any(isinstance(page, LimitError) for page in found)
    assert any(isinstance(page, ParsedPage) for page in found)
    assert file.info().headings == ()
    assert "its headings were ignored" in file.info().warnings[0]


GUIDE = f"""---
title: Harbour guide
---

# Pilotage

{PROSE}

## Ordering

```console
$ pilot order --ship Merula
```

## Lamps

```yaml
lamps: on
```

| Lamp | Colour |
|------|--------|
| Pier | green |
| Mole | red |

## Chart

![The strait](strait.png)

[See the chart](https://example.org/chart) of the strait, which shows **every** sounding taken in the spring of 1911.

## Watch

The lighthouse keeper Odalric Venn lights the lamp at dusk and writes the hour into the book of the watch.
"""


def test_from_file_to_answer(engine: Engine, cli: Cli, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "guide.markdown").write_text(GUIDE)
    (folder / "港口法.md").write_text(
        "# 港口法\n\n"
        + "\n\n".join(f"第{n}条 港口应当安全。" for n in range(1, 9))
        + "\n\n第9条 渔港的泊位由渔政船管理。\n"
    )
    (folder / "bad.md").write_bytes(b"\x00\x01")
    report = run(engine.index(folder))
    assert {Path(f.path).name: (f.status, f.error) for f in report.files} == {
        "guide.markdown": ("indexed", None), "港口法.md": ("indexed", None),
        "bad.md": ("failed", "the file is not a text file, because it contains binary data."),
    }  # fmt: skip
    found = run(engine.search("Who lights the lamp at dusk?")).results[0]
    assert (found.doc_name, found.page, found.label, found.section.title) == (
        "guide.markdown",
        1,
        "lines 1-34",
        "Watch",
    )
    clause = run(engine.search("渔港的泊位由谁管理")).results[0]
    assert (clause.doc_name, clause.section.path) == ("港口法.md", ("港口法", "第9条"))

    tree = run(engine.outline("guide.markdown"))
    assert tree.document.title == "Harbour guide"
    assert {node.section.title: node.section.flags for node in tree.nodes} == {
        "Pilotage": (), "Ordering": ("has_code", "has_command"), "Lamps": ("has_table", "has_code", "has_config"),
        "Chart": ("has_figure",), "Watch": (),
    }  # fmt: skip
    chart = next(node.section for node in tree.nodes if node.section.title == "Chart")
    assert chart.summary.endswith(
        "See the chart of the strait, which shows every sounding taken in the spring of 1911."
    )
    nested = json.loads(cli("outline", "港口法.md", "--format", "pageindex", home=engine.home).stdout)
    assert [node["title"] for node in nested["structure"][0]["nodes"]] == [f"第{n}条" for n in range(1, 10)]
    assert "guide.markdown, page 1 (lines 1-34)" in cli("page", "guide.markdown", "1", home=engine.home).stdout
    assert run(engine.pictures.page("guide.markdown", 1)).startswith(b"\x89PNG")
    assert {Path(f.path).name: f.status for f in run(engine.index(folder)).files}["guide.markdown"] == "unchanged"


def test_a_number_of_thousands_of_digits_is_no_metadata(tmp_path: Path) -> None:
    file = tmp_path / "long.md"
    file.write_text("---\nauthor: A. Reed\ntitle: 0x" + "f" * 6000 + "\n---\n\n# Reeds\n\nThey grow.\n")
    info = MarkdownFile(file).info()
    assert info.metadata["author"] == "A. Reed" and "title" not in info.metadata


@pytest.mark.parametrize(
    ("source", "text", "headings"),
    [
        ("<h2>Ports</h2>\n\nkelp", "## Ports\n\n\nkelp", [(2, "Ports")]),
        ('<h3 align="center">\n  The <b>tide</b>\n</h3>\n', "### The tide", [(3, "The tide")]),
        ('<div align="center">\n<h1>Ports</h1>\nkelp\n</div>', "# Ports\n\nkelp", [(1, "Ports")]),
        ("<table>\n<tr><th>Port<th>Dues\n\n<tr><td>Oban<td>4 &amp; 5\n</table>\nend",
         "| Port | Dues |\n|---|---|\n| Oban | 4 & 5 |\n\nend", []),
        ("<table><tr><td><img src=a.png></td><td>x</td></tr></table>",
         "<img src=a.png> x", []),
        ("<table>\n<tr><td>it has no end", "it has no end", []),
        ("```html\n<h1>no</h1>\n```\n\n<!--\n<h1>no</h1>\n-->\n\n<pre>\n<h1>no</h1>\n</pre>\n\n    <h1>no</h1>",
         "```html\n<h1>no</h1>\n```\n\n<!--\n<h1>no</h1>\n-->\n\n<pre>\n<h1>no</h1>\n</pre>\n\n    <h1>no</h1>", []),
    ],
)  # fmt: skip
def test_html_headings_and_tables_are_markdown(
    tmp_path: Path, source: str, text: str, headings: list[tuple[int, str]]
) -> None:
    info, (page,) = read(tmp_path / "a.md", source)
    assert page.text.strip("\n") == text
    assert [(heading.level, heading.title) for heading in info.headings or ()] == headings


def test_lines_after_unfolded_html_are_found_in_the_file(tmp_path: Path) -> None:
    page = read(tmp_path / "a.md", "kelp\n\n<h2>Ports</h2>\ntide\n\nreef")[1][0]
    places = {line: place_of(page.label, page.places, at) for at, line in enumerate(page.text.split("\n"))}
    assert places["kelp"] == "line 1" and places["## Ports"] == "line 3" and places["reef"] == "line 6"


def test_a_long_table_has_its_heads_on_each_page(tmp_path: Path) -> None:
    rows = "\n".join(f"| port {at} | The keeper counts the ships of this port. |" for at in range(300))
    info, pages = read(tmp_path / "a.md", f"# Ports\n\n| Name | Work |\n|---|---|\n{rows}\n\n# End\n")
    assert len(pages) > 3 and all("| Name | Work |\n|---|---|" in page.text for page in pages)
    assert sum(page.text.count("| port ") for page in pages) == 300
    second = pages[1]
    lines = second.text.split("\n")
    first = int(second.label.removeprefix("lines ").split("-")[0])
    assert place_of(second.label, second.places, 0) == "line 3"
    assert place_of(second.label, second.places, 2) == f"line {first}" and f"| port {first - 5} |" in lines[2]
    end = (info.headings or ())[-1]
    assert end.title == "End" and pages[end.page - 1].text.split("\n")[end.line] == "# End"


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("Area 10<sup>6</sup> m<sup class=u>2</sup> of H<sub>2</sub>O", "Area 10^6 m^2 of H₂O"),
        ("In 1984<sup><a href='#n'>3</a></sup>, the 2<sup>nd</sup> x<sub>i+1</sub>", "In 1984[3], the 2nd x_(i+1)"),
        ("~~a~~ <del>100</del> <ins>80</ins> <s>b</s>", "~~a~~ ~~100~~ 80 ~~b~~"),
        ("<ruby>東京<rt>とう</rt></ruby>都に<ruby>行<rp>(</rp><rt>い</rt><rp>)</rp></ruby>く。",
         "東京都に行く。 (東京 とう; 行 い)"),
        ("<p><ruby>漢<rt>かん</rt>字<rt>じ</rt></ruby>の本</p>", "漢字の本 (漢字 かん じ)"),
        ("Press <kbd>Ctrl</kbd>+<b>C</b>, a<br>b <!-- no --><span style='x'>red</span>", "Press Ctrl+C, a b red"),
        ("<div align=center>\n<p>Tag &amp; line</p>\n</div>", "Tag & line"),
        ("<ul>\n<li>one</li><li>two</li>\n</ul>", "- one - two"),
        ("| a&lt;b | x<br/>y |\n|---|---|\n| caf&#233; | p\\|q |", "| a<b | x y |\n|---|---|\n| café | p\\|q |"),
        (r"snake\_case\_name 5 \< 6, A\&B \\server", r"snake_case_name 5 < 6, A&B \\server"),
        (r"1\. Not a list, \*stars\* and \#5", "1. Not a list, *stars* and #5"),
        ("`a &amp; <b>` and ``x ` <i>`` stay", "`a &amp; <b>` and ``x ` <i>`` stay"),
        (r"costs $5 and $x\_i<b$ or \(\frac\_b\) stay", r"costs $5 and $x\_i<b$ or \(\frac\_b\) stay"),
        (r"the CLI \(`a_b`, low\-level\) and \[sic\] \[x^2\]", r"the CLI (`a_b`, low-level) and [sic] \[x^2\]"),
        ("```html\n<b>a</b> &amp;\n```", "```html\n<b>a</b> &amp;\n```"),
        ("<b class=x data-a='1 > 0' hidden>bold</b>, a <b && c> d, 5 <i 6>, x &notit; y",
         "bold, a <b && c> d, 5 <i 6>, x &notit; y"),
        ("a <b <https://a.example> List<String> <Note>", "a <b <https://a.example> List<String> <Note>"),
    ],
)  # fmt: skip
def test_html_entities_and_escapes_in_lines_are_read_as_they_show(tmp_path: Path, source: str, text: str) -> None:
    assert read(tmp_path / "a.md", source)[1][0].text.strip("\n") == text
    cells = [{"cell_type": "markdown", "source": source}]
    (tmp_path / "a.ipynb").write_text(json.dumps({"cells": cells, "nbformat": 4, "metadata": {}}))
    shown = text_of(tmp_path / "a.ipynb")
    assert "```" in text or [line for line in shown.split("\n") if line] == [line for line in text.split("\n") if line]


@pytest.mark.parametrize(
    ("source", "titles"),
    [
        ("# Area in m<sup>2</sup>\n\nx", ["Area in m^2"]),
        ("# T\n\n$$\na\n# b\n$$\n\n## End", ["T", "End"]),
        ("# T\n\n$$ x = y\n---\nz $$\n\n```\n$$\n```\n\n# S\n\n```\n$$\n```", ["T", "S"]),
        ("# T\n\nA price in $$\n\n# S\n\n$$\n", ["T", "S"]),
    ],
)
def test_formulas_hold_no_headings_and_headings_keep_their_forms(
    tmp_path: Path, source: str, titles: list[str]
) -> None:
    info, _ = read(tmp_path / "a.md", source)
    assert [heading.title for heading in info.headings or ()] == titles
