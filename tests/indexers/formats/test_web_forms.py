"""Web pages as a browser shows them: parts in their order, words apart, what opens, frames and drawings."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.indexers.formats.packages import read, text_of

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
