"""The files of tests/pdfs are what their names say, and the PDF reader reads or refuses them so."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from pathlib import Path

import pytest

from hybrid_core.errors import DocumentError, PasswordError
from hybrid_core.types.documents import ParsedPage
from hybrid_pageindex import sample
from indexers.formats.format import FileInfo
from indexers.formats.pdf.document import open_pdf
from indexers.formats.pdf.read import read_info, read_pages
from tests import pdfs

pytestmark = pytest.mark.slow

Make = Callable[[Path], Path]


def read(path: Path, password: str | None = None) -> tuple[FileInfo, list[ParsedPage]]:
    """Information and all pages; fails where a page could not be read."""
    document = open_pdf(path, password)
    try:
        info = read_info(document)
        pages = []
        for page in read_pages(document, range(1, info.pages + 1)):
            assert isinstance(page, ParsedPage), page
            pages.append(page)
        return info, pages
    finally:
        document.close()


@pytest.mark.parametrize(
    "make",
    [
        pdfs.bookmarked, pdfs.printed_contents, pdfs.two_sections_on_a_page, pdfs.tables, pdfs.running_heads,
        pdfs.chinese, pdfs.arabic, pdfs.mixed, pdfs.scanned, pdfs.one_blank_page, pdfs.rotated,
        pdfs.cyclic_bookmarks, pdfs.outside_bookmarks, pdfs.truncated_late,
    ],
)  # fmt: skip
def test_the_same_call_writes_the_same_bytes(make: Make, tmp_path: Path) -> None:
    first = make(tmp_path / "a.pdf").read_bytes()
    assert make(tmp_path / "b.pdf").read_bytes() == first


def test_bookmarks_lead_to_their_headings(tmp_path: Path) -> None:
    info, pages = read(pdfs.bookmarked(tmp_path / "b.pdf"))
    assert tuple((b.level, b.title, b.page) for b in info.bookmarks) == pdfs.BOOKMARKED
    assert info.metadata["title"] == "Tarn Hollow Ceramics: report to the members 2024"
    for bookmark in info.bookmarks:
        (heading,) = [line for line in pages[bookmark.page - 1].lines if line.text == bookmark.title]
        assert bookmark.y is not None
        assert 0 <= heading.y0 - bookmark.y < 20
        assert heading.bold


@pytest.mark.parametrize("labels", [True, False])
def test_a_printed_contents_gives_labels_that_stand_on_the_pages(labels: bool, tmp_path: Path) -> None:
    info, pages = read(pdfs.printed_contents(tmp_path / "m.pdf", labels=labels))
    assert info.bookmarks == ()
    assert len(pages) == pdfs.PRINTED_PAGES == len(pdfs.PRINTED_LABELS)
    assert [p.label for p in pages] == (list(pdfs.PRINTED_LABELS) if labels else [""] * len(pages))
    assert [p.lines[-1].text for p in pages] == list(pdfs.PRINTED_LABELS)
    contents = " ".join(pages[2].text.split())
    for _, title, page in pdfs.PRINTED:
        end = contents[contents.index(title) + len(title) :].lstrip(" .")
        assert end.split()[0] == pdfs.PRINTED_LABELS[page - 1]
        assert title in " ".join(pages[page - 1].text.split())


def test_two_sections_share_a_page(tmp_path: Path) -> None:
    _, pages = read(pdfs.two_sections_on_a_page(tmp_path / "s.pdf"))
    for _, title, page in pdfs.SHARED_PAGE:
        assert title in pages[page - 1].text.split("\n")
    assert pages[1].lines[0].text.startswith("Licence fees, continued")


def test_a_table_row_is_one_line(tmp_path: Path) -> None:
    _, pages = read(pdfs.tables(tmp_path / "t.pdf"))
    assert f"Region North  {pdfs.TABLE_CELL}  45,870  2,345" in pages[1].text
    assert pdfs.TABLE_CELL not in pages[0].text


def test_running_heads_are_on_every_page(tmp_path: Path) -> None:
    _, pages = read(pdfs.running_heads(tmp_path / "r.pdf"))
    assert len(pages) == 6
    for page in pages:
        assert page.text.count(pdfs.RUNNING_HEAD) == 1
        assert page.text.count(pdfs.RUNNING_FOOT) == 1
        assert f"Lock number {page.number}" in page.text


def test_chinese_and_arabic_are_read_as_written(tmp_path: Path) -> None:
    _, pages = read(pdfs.chinese(tmp_path / "制度.pdf"))
    assert [tuple(p.text.replace("\n", "\t", 1).replace("\n", "").split("\t")) for p in pages] == [*pdfs.CHINESE]
    _, pages = read(pdfs.arabic(tmp_path / "تقرير.pdf"))
    for page, (title, text) in zip(pages, pdfs.ARABIC, strict=True):
        words = unicodedata.normalize("NFKC", page.text).split()
        assert words == [*title.split(), *text.split()]
    _, pages = read(pdfs.mixed(tmp_path / "m.pdf"))
    assert pages[2].text == "Larkmoor Quays 拉克摩尔码头 2024 年报"


def test_pages_without_text(tmp_path: Path) -> None:
    _, pages = read(pdfs.scanned(tmp_path / "s.pdf"))
    assert [(p.text, p.images) for p in pages] == [("", 1)] * 3
    _, pages = read(pdfs.one_blank_page(tmp_path / "b.pdf"))
    assert [(p.text, p.images) for p in pages] == [("", 0)]


def test_a_turned_page_has_level_lines(tmp_path: Path) -> None:
    _, pages = read(pdfs.rotated(tmp_path / "r.pdf"))
    assert (pages[0].width, pages[0].height) == (595, 842)
    assert (pages[1].width, pages[1].height) == (842, 595)
    (line,) = pages[1].lines
    assert line.text == "Wide schedule of pipe diameters"
    assert line.x1 - line.x0 > 5 * (line.y1 - line.y0)


def test_encryption(tmp_path: Path) -> None:
    locked = pdfs.encrypted(tmp_path / "e.pdf")
    with pytest.raises(PasswordError, match="encrypted"):
        open_pdf(locked)
    with pytest.raises(PasswordError, match="wrong"):
        open_pdf(locked, "sesame")
    _, pages = read(locked, pdfs.PASSWORD)
    assert "Wexcombe" in pages[0].text
    _, pages = read(pdfs.permissions_only(tmp_path / "p.pdf"))
    assert "Wexcombe" in pages[0].text


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (pdfs.truncated, "damaged"),
        (pdfs.not_a_pdf, "not a PDF"),
        (pdfs.empty_file, "empty"),
        (pdfs.no_pages, "no pages"),
        (lambda path: path, "cannot be read"),
    ],
)
def test_what_cannot_be_opened_is_refused_with_the_reason(make: Make, message: str, tmp_path: Path) -> None:
    path = make(tmp_path / "x.pdf")
    with pytest.raises(DocumentError, match=message) as caught:
        open_pdf(path)
    assert not isinstance(caught.value, PasswordError)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("percent", [1, 2, 3, 10, 12, 16, 30, 56, 64, 75, 84, 92, 97, 99])
def test_a_file_cut_anywhere_is_repaired_or_refused(percent: int, tmp_path: Path) -> None:
    path = pdfs.truncated(tmp_path / "t.pdf", percent / 100)
    try:
        info, pages = read(path)
    except DocumentError:
        return
    assert any("repaired" in warning for warning in info.warnings)
    assert "Tarn Hollow Ceramics" in pages[0].text


def test_a_file_without_its_end_is_repaired(tmp_path: Path) -> None:
    info, pages = read(pdfs.truncated_late(tmp_path / "t.pdf"))
    assert [p.text for p in pages] == ["Repairable page one", "Repairable page two"]
    assert any("repaired" in warning for warning in info.warnings)


@pytest.mark.parametrize("make", [pdfs.cyclic_bookmarks, pdfs.outside_bookmarks, pdfs.far_bookmarks])
def test_odd_bookmarks_cost_no_page(make: Make, tmp_path: Path) -> None:
    info, pages = read(make(tmp_path / "o.pdf"))
    assert [p.text for p in pages] == ["Alpha page", "Beta page", "Gamma page"]
    assert all(0 <= b.page <= 3 for b in info.bookmarks)


def test_bookmarks_that_lead_nowhere_have_no_page(tmp_path: Path) -> None:
    info, _ = read(pdfs.outside_bookmarks(tmp_path / "o.pdf"))
    pages = {b.title: b.page for b in info.bookmarks}
    assert pages["Beta"] == 2
    assert pages["Nowhere"] == pages["Elsewhere"] == 0


@pytest.mark.slow
def test_ten_thousand_bookmarks(tmp_path: Path) -> None:
    info, pages = read(pdfs.many_bookmarks(tmp_path / "m.pdf"))
    assert len(pages) == 50
    assert len(info.bookmarks) == 10_000
    assert [b.page for b in info.bookmarks] == sorted(b.page for b in info.bookmarks)
    assert info.bookmarks[-1].title == "Entry 10000"
    assert info.bookmarks[-1].page == 50


def test_numbered_pages_have_their_own_word(tmp_path: Path) -> None:
    _, pages = read(pdfs.numbered(tmp_path / "n.pdf", 25, "weather balloons"))
    for number in range(1, 26):
        word = pdfs.landmark("weather balloons", number)
        assert [p.number for p in pages if word in p.text] == [number]
    assert pdfs.landmark("weather balloons", 1) != pdfs.landmark("tide gauges", 1)
    assert "Part 3 of weather balloons" in pages[20].text


def test_fiscal_reports_answer_their_questions(tmp_path: Path) -> None:
    texts = {path.name: [p.text for p in read(path)[1]] for path in pdfs.fiscal_reports(tmp_path)}
    assert len(texts) == 4
    answers = ("$418.2 million", "$455.9 million", "Inventories  19.6", "$0.42 per share")
    for (_, name, page), answer in zip(pdfs.FISCAL_QUESTIONS, answers, strict=True):
        assert [n for n, text in enumerate(texts[name], start=1) if answer in text] == [page]


def test_the_sample_report_answers_its_questions(tmp_path: Path) -> None:
    path = sample.write_sample_report(tmp_path / "new folder" / "sample.pdf")
    info, pages = read(path)
    assert path.read_bytes() == sample.write_sample_report(tmp_path / "again.pdf").read_bytes()
    assert len(pages) == 24
    assert info.bookmarks == ()
    assert [p.label for p in pages] == [sample.page_label(n) for n in range(1, 25)]
    for question in sample.SAMPLE_QUESTIONS:
        holding = [p.number for p in pages if question.answer in " ".join(p.text.split())]
        assert holding == [question.page], question


def test_the_sample_report_prints_where_its_sections_are(tmp_path: Path) -> None:
    _, pages = read(sample.write_sample_report(tmp_path / "sample.pdf"))
    entries = re.findall(r"^(.+?) \.{3,}\s+(\w+)$", pages[1].text, re.M)
    assert len(entries) == 24
    for title, label in entries:
        (page,) = [p for p in pages if p.label == label]
        assert title in page.text.split("\n")


@pytest.mark.parametrize(
    ("page", "parts", "total"),
    [
        (12, ("Municipal Water", "Industrial Process", "Metering and Service"), 830_500),
        (17, ("Total current assets", "Property, plant", "Operating", "Goodwill", "Intangible", "Other as"), 933_000),
        (17, ("Total liabilities", "Shareholders' equity"), 933_000),
        (18, ("Net cash from op", "Net cash used in inv", "Net cash used in fin", "Effect of"), -14_000),
        (22, ("Term loan", "Senior notes"), 225_000),
        (24, ("Municipal", "Industrial", "Metering", "Corporate"), 116_100),
    ],
)  # fmt: skip
def test_the_figures_of_the_sample_report_add_up(page: int, parts: tuple[str, ...], total: int, tmp_path: Path) -> None:
    _, pages = read(sample.write_sample_report(tmp_path / "sample.pdf"))
    rows = pages[page - 1].text.split("\n")
    found = []
    for part in parts:
        row = next(row for row in rows if row.startswith(part) and "  " in row)
        figure = re.split(r" {2,}", row)[1].replace(",", "")
        found.append(-int(figure[1:-1]) if figure.startswith("(") else int(figure))
    assert sum(found) == total


def test_the_sample_module_says_how_it_is_used(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert sample.main([]) == 2
    assert "usage" in capsys.readouterr().err
    (tmp_path / "file").write_bytes(b"")
    assert sample.main([str(tmp_path / "file" / "sample.pdf")]) == 1
    assert "cannot be written" in capsys.readouterr().err
    assert sample.main([str(tmp_path / "sample.pdf")]) == 0
    assert "24 pages" in capsys.readouterr().out
