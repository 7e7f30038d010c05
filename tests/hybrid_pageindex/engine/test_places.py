"""Places in files: each is found again in the same bytes, and by its words after a small edit."""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Callable, Sequence
from html import escape
from pathlib import Path
from tempfile import TemporaryDirectory
from xml.etree import ElementTree

import pptx
import pytest
import xlsxwriter
from hypothesis import given, settings
from hypothesis import strategies as st
from pptx.util import Inches

from hybrid_core.types.documents import ParsedPage
from hybrid_core.types.locators import BookLocator, book_locator, place_span, shown_place
from hybrid_pageindex import Engine, run
from hybrid_pageindex.cli.documents import show_pages
from hybrid_pageindex.cli.main import main
from hybrid_pageindex.cli.search import StreamedAnswer, show_answer
from hybrid_pageindex.engine.documents.reading import PlaceFound, find, places_of
from hybrid_pageindex.mcp.payloads import page_payload, result_payload
from tests.indexers.formats import packages

_VOCABULARY = "tide harbour weir keeper lamp gull ebb flood 44 Lund café 潮汐 <fish> A&B".split()
_STYLE = '<w:style w:type="paragraph" w:styleId="H"><w:name w:val="heading 1"/></w:style>'
Write = Callable[[Path, Sequence[str]], object]


def _docx(path: Path, texts: Sequence[str]) -> None:
    body = (packages.paragraph(escape(text), "H" if at % 7 == 3 else "") for at, text in enumerate(texts))
    packages.docx(path, "".join(body), _STYLE)


def _pptx(path: Path, texts: Sequence[str]) -> None:
    deck = pptx.Presentation()
    for at, text in enumerate(texts):
        if at % 3 == 0:
            slide = deck.slides.add_slide(deck.slide_layouts[6])
        box = slide.shapes.add_textbox(Inches(1), Inches(1 + at % 3), Inches(4), Inches(0.5))
        box.text_frame.text = text
    deck.save(str(path))


def _xlsx(path: Path, texts: Sequence[str]) -> None:
    with xlsxwriter.Workbook(str(path)) as book:
        sheet = book.add_worksheet("Ships")
        for row, text in enumerate(texts):
            sheet.write_row(row, 1, [text, f"n{row % 3}"])


def _epub(path: Path, texts: Sequence[str]) -> None:
    halves = texts[: len(texts) // 2], texts[len(texts) // 2 :]
    packages.epub(path, {f"{name}.xhtml": _html(half) for name, half in zip("ab", halves, strict=True)})


def _html(texts: Sequence[str]) -> str:
    said = (
        f"<h2 id='s{at}'>{escape(text)}</h2>" if at % 5 == 1
        else f"<ul><li>{escape(text)}</li></ul>" if at % 5 == 2
        else f"<div><p><b>{escape(text[:3])}</b>{escape(text[3:])}</p></div>"
        for at, text in enumerate(texts)
    )  # fmt: skip
    return "<h1>Ports</h1><script>tide()</script>" + "\n".join(said)


def _odt(path: Path, texts: Sequence[str]) -> None:
    packages.opendocument(path, "".join(f"<text:p>{escape(text)}</text:p>" for text in texts))


def _notebook(path: Path, texts: Sequence[str]) -> None:
    path.write_text(json.dumps({"cells": [{"cell_type": "raw", "source": text} for text in texts], "nbformat": 4}))


def _subtitles(path: Path, texts: Sequence[str]) -> None:
    cues = (f"{at // 60:02}:{at % 60:02}.000 --> {at // 60:02}:{at % 60:02}.900\n{t}." for at, t in enumerate(texts))
    path.write_text("WEBVTT\n\n" + "\n\n".join(cues))


def _mail(path: Path, texts: Sequence[str]) -> None:
    head = "From: keeper@example.org\nSubject: tides\nContent-Type: text/plain; charset=utf-8\n"
    path.write_text(f"{head}Content-Transfer-Encoding: 8bit\n\n" + "\n\n".join(texts))


def _fb2(path: Path, texts: Sequence[str]) -> None:
    body = "".join(f"<p>{escape(text)}</p>" for text in texts)
    path.write_text(f"<FictionBook><body><section>{body}</section></body></FictionBook>")


KINDS: dict[str, Write] = {
    "docx": _docx, "pptx": _pptx, "xlsx": _xlsx, "epub": _epub, "odt": _odt, "ipynb": _notebook, "vtt": _subtitles,
    "eml": _mail, "fb2": _fb2,
    "html": lambda path, texts: path.write_text(f"<body>{_html(texts)}</body>"),
    "txt": lambda path, texts: path.write_text("\n\n".join(texts)),
    "md": lambda path, texts: path.write_text("# Ports\n\n" + "\n\n".join(texts)),
    "csv": lambda path, texts: path.write_text("ship,berth\n" + "".join(f'"{text}",4\n' for text in texts)),
}  # fmt: skip


def _read(kind: str, texts: Sequence[str]) -> list[ParsedPage]:
    with TemporaryDirectory() as folder:
        path = Path(folder, f"ships.{kind}")
        KINDS[kind](path, texts)
        return packages.read(path)[1]


def _told(pages: Sequence[ParsedPage]) -> list[tuple[int, int, str, str]]:
    """(page, line, place, quote) of every place, or of each line where the label counts them."""
    told = [(page.number, one.line, one.place, one.quote) for page in pages for one in places_of(page, ())]
    return told or [
        (page.number, at, f"line {int(page.label.split()[1].split('-')[0]) + at}", text[:80])
        for page in pages for at, text in enumerate(page.text.split("\n")) if text
    ]  # fmt: skip


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text.casefold()))


_LINES = st.lists(
    st.lists(st.sampled_from(_VOCABULARY), min_size=3, max_size=40).map(" ".join), min_size=3, max_size=24
)


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=6, deadline=None)
@given(texts=_LINES, at=st.integers(0, 23))
def test_a_place_is_found_again(kind: str, texts: list[str], at: int) -> None:
    pages = _read(kind, texts)
    told = _told(pages)
    assert len({place for _, _, place, _ in told}) == len(told)
    for page, line, place, quote in told:
        assert find(lambda: pages, place, quote) == PlaceFound(page, line, moved=False)
    at = len(texts) if kind == "vtt" else at % len(texts)  # another cue does not move the times of those before it
    edited = _read(kind, [*texts[:at], "A buoy was laid out.", *texts[at:]])
    for _, _, place, quote in told:
        again = find(lambda: edited, place, quote)
        assert again is not None
        line_now = next(page for page in edited if page.number == again.page).text.split("\n")[again.line]
        assert _letters(line_now).startswith(_letters(quote))


def test_of_equal_words_the_nearest_are_taken_and_edited_ones_are_known() -> None:
    texts = [
        f"The ship number {at % 10} was counted twice." if at % 2 else f"Line {at} of the log." for at in range(40)
    ]
    pages = _read("docx", texts)
    found = find(lambda: pages, "paragraph 33", "The ship number 3 was counted")
    assert found is not None and pages[found.page - 1].places[found.line // 2] == (found.line, "paragraph 34")
    assert find(lambda: pages, "paragraph 900", "Lin 38 of thee log.") == PlaceFound(1, 76, moved=True)
    assert find(lambda: pages, "paragraph 900", "Nothing of this kind was said") is None


def test_pages_results_and_sources_of_answers_say_the_place(
    engine: Engine, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _epub(tmp_path / "a.epub", [f"The keeper of weir {at} counts the ships." for at in range(8)])
    run(engine.index(tmp_path / "a.epub"))
    [page] = run(engine.pages("a.epub", 2))
    assert page.places[1].path == ("Ports",) and page.span.startswith("OPS/b.xhtml 0/")
    told = page.to_dict()["places"][2]
    assert (told["path"], told["locator"]["id"]) == (("Ports", "The keeper of weir 5 counts the ships."), "s1")
    found = run(engine.search("weir 7")).results[0]
    assert book_locator(found.place) in [place.locator for place in page.places]
    assert [one.page for one in run(engine.pages("a.epub", found.place))] == [2]
    answer = run(engine.ask("weir 7"))
    assert answer.to_dict()["sources"][0]["place"] == found.place
    seen = result_payload(found, None, best=True)["place"], page_payload(page, "")["place"]
    assert seen == (shown_place(found.place), page.span) and not any("epubcfi" in place for place in seen)
    show_pages([page], [])
    show_answer(answer, StreamedAnswer(quiet=True))
    printed = capsys.readouterr().out
    assert page.span in printed and f"(ch. 2), {shown_place(found.place)}" in printed


def test_the_command_line_finds_a_place_by_its_words(
    engine: Engine, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "a.docx"
    _docx(file, [f"Sentence {at} of the log of Lund." for at in range(3)])
    run(engine.index(file))
    home = str(tmp_path / "home")
    asked = ["page", "a.docx", "paragraph 2", "--quote", "Sentence 1 of the log", "--home", home]
    assert main([*asked, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["found"] == {"page": 1, "line": 2, "moved": False}
    _docx(file, ["A buoy was laid out.", *(f"Sentence {at} of the log of Lund." for at in range(3))])
    run(engine.index(file))
    assert main(asked) == 0
    assert "these words have moved or changed since they were cited; they are in line 5" in capsys.readouterr().out


def _at(path: Path, cfi: str) -> str:
    """What stands at a CFI, by its definition and with a parser of its own."""
    with zipfile.ZipFile(path) as package:
        opf = ElementTree.fromstring(package.read("OPS/book.opf"))
        spine, inside = cfi.removeprefix("epubcfi(").removesuffix(")").split("!")
        node = opf
        for step in re.findall(r"/(\d+)", spine):
            node = node[int(step) // 2 - 1]
        href = next(item.get("href") for item in opf.iter() if item.get("id") == node.get("idref"))
        node = ElementTree.fromstring(package.read(f"OPS/{href}"))
    *steps, last, offset = re.findall(r"\d+", re.sub(r"\[.*?\]", "", inside))
    for step in steps:
        node = node[int(step) // 2 - 1]
    text = node.text if last == "1" else node[int(last) // 2 - 1].tail
    return "".join([(text or "")[int(offset) :], *("".join(one.itertext()) + (one.tail or "") for one in node)])


@settings(max_examples=15, deadline=None)
@given(texts=_LINES)
def test_a_books_places_are_locators(texts: list[str]) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder, "a.epub")
        _epub(path, texts)
        pages = packages.read(path)[1]
        ends = {"OPS/a.xhtml": 0.0, "OPS/b.xhtml": 0.0}
        for page in pages:
            for place in places_of(page, ()):
                locator = place.locator
                assert locator is not None
                assert _letters(_at(path, locator.cfi)).startswith(_letters(place.quote.lstrip("#- "))[:2])
                assert ends[locator.href] <= locator.progression < 1
                ends[locator.href] = locator.progression
                found = find(lambda: pages, locator.cfi, place.quote)
                assert (
                    found
                    == find(lambda: pages, shown_place(place.place), "")
                    == PlaceFound(page.number, place.line, False)
                )


def test_what_a_locator_says() -> None:
    place = "OPS/one two.xhtml#s^1 40/160 epubcfi(/6/4!/4/2[s^^1]/1:0)"
    assert book_locator(place) == BookLocator("OPS/one two.xhtml", "s^1", 40, 0.25, "epubcfi(/6/4!/4/2[s^^1]/1:0)")
    assert shown_place(place) == "OPS/one two.xhtml#s^1 40/160" and shown_place("slide 3") == "slide 3"
    assert book_locator("paragraph 3") is None
    assert place_span("paragraph 3", "paragraph 9") == "paragraphs 3-9" and place_span("line 1", "line 1") == "line 1"


def test_a_page_names_the_section_it_begins_in_and_those_that_begin_on_it(engine: Engine, tmp_path: Path) -> None:
    """A chapter's own text may fill pages before its first section, and a section may end where another begins."""
    text = " ".join(f"The keeper of lamp {number} counts the gulls at the weir." for number in range(900))
    parts = ["# Tides", text, "## Ebb", "Low water.", "## Flood", text, "# Weirs", text]
    (tmp_path / "tides.md").write_text("\n\n".join(parts))
    run(engine.index(tmp_path / "tides.md"))
    sections = [node.section for node in run(engine.outline("tides.md")).nodes if not node.section.synthetic]
    whole = [page.text for page in run(engine.pages("tides.md", f"1-{sections[-1].end_page}"))]
    for page in run(engine.pages("tides.md", f"1-{len(whole)}")):
        before = [s for s in sections if (s.start_page, s.anchor) <= (page.page, 0)]
        inside = [s for s in before if (s.end_page, s.end_anchor or 10**6) > (page.page, 0)]
        begun = [s.title for s in sections if s.start_page == page.page and s.anchor > 0]
        named = [section.path[-1] for section in page.sections]
        assert [title for title in named if "pages" not in title.lower()] == [*(s.title for s in inside[-1:]), *begun]
    result = run(engine.search("lamp 850", documents=["tides.md"], top_k=1)).results[0]
    assert result.section.path[0] in ("Tides", "Weirs")
