"""The page with documents that nobody here wrote: a release, scanned slides, a book, an office file, a statute."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import pymupdf
import pytest

from tests.interfaces.http.conftest import START, Serving, serving, wait_for_jobs

_DATA = Path(os.environ.get("PAGEINDEX_EVAL_DATA", "-"))
_FILES = {
    "release.pdf": "financebench/pdfs/ULTABEAUTY_2023Q4_EARNINGS.pdf",
    "slides.pdf": "mmlongbench/pdfs/earlybird-110722143746-phpapp02_95.pdf",
    "book.epub": "epub/wasteland-woff-obf.epub",
    "statute.md": "statutes_zh/laws/刑法/刑法修正案（十一）.md",
}
_SLIDES = 1  # as many scans as are read by OCR here
# What each says on its first page, and where it is looked at: a text document, a sheet, slides.
_OFFICE = {
    "office/docling/docx/word_sample.docx": ("Don’t forget to drink water", "Swimming in the lake"),
    "office/docling/xlsx/xlsx_05_table_with_title.xlsx": ("Freshwater Ducks", "Wild Duck Observations"),
    "office/docling/pptx/powerpoint_unrecognized_shape.pptx": ("Enterprise segment led growth", "Q3 Revenue Summary"),
}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("real") / "home"


@pytest.fixture(scope="module")
def real(home: Path) -> Iterator[Serving]:
    held = {name: (_DATA / path).read_bytes() for name, path in _FILES.items() if (_DATA / path).is_file()}
    if not held:
        pytest.skip("PAGEINDEX_EVAL_DATA names no folder of real documents")
    if "slides.pdf" in held:
        with pymupdf.open(stream=held["slides.pdf"]) as whole:
            whole.select(range(_SLIDES))
            held["slides.pdf"] = whole.tobytes(garbage=3)
    with serving(home) as made:
        with made.client() as client:
            client.post("/libraries", json={"name": "real"})
            files = [("file", (name, data)) for name, data in held.items()]
            sent = client.post("/libraries/real/documents", files=files).json()["files"]
            assert {job["status"] for job in wait_for_jobs(client, [file["job"] for file in sent])} == {"done"}
        yield made


def listed(real: Serving, name: str) -> dict[str, Any]:
    with real.client() as client:
        documents = client.get("/libraries/real/documents").json()["documents"]
    found = [one for one in documents if one["name"] == name]
    if not found and name in _FILES:
        pytest.skip(f"PAGEINDEX_EVAL_DATA names no folder with {_FILES[name]}")
    return dict(found[0])


def opened(page: Any, real: Serving, name: str, number: int = 1, said: str = "") -> None:
    page.goto(f"{real.url}/#token={START}")
    page.locator("main").wait_for()
    marked, doc = f"?hl={quote(said)}" if said else "", listed(real, name)["doc_id"]
    page.evaluate("place => { location.hash = place }", f"#/doc/real/{doc}/page/{number}{marked}")
    page.locator(f".sheet[data-ready][data-page='{number}']").wait_for()


def asked(page: Any, real: Serving, name: str, question: str) -> Any:
    """The first hit of a search for what stands in a file."""
    listed(real, name)
    page.goto(f"{real.url}/#token={START}")
    page.locator("main").wait_for()
    page.evaluate("place => { location.hash = place }", f"#/search?q={quote(question)}&in=real&effort=fast")
    hit = page.locator(".hit").first
    hit.wait_for()
    return hit


def test_a_figure_of_a_release_is_marked_on_its_page_and_stands_in_a_table(real: Serving, page: Any) -> None:
    hit = asked(
        page,
        real,
        "release.pdf",
        "What was Ulta Beauty's gross profit in the fourth quarter as a percentage of net sales?",
    )
    assert "37.6%" in hit.inner_text()
    hit.locator(".hit-head a").first.click()
    page.locator(".box.mark").first.wait_for()
    word = page.locator(".text-layer span", has_text=re.compile("^37.6%$")).first.bounding_box()
    across, down = word["x"] + word["width"] / 2, word["y"] + word["height"] / 2
    marks = [one.bounding_box() for one in page.locator(".box.mark").all()]
    assert any(
        one["x"] <= across <= one["x"] + one["width"] and one["y"] <= down <= one["y"] + one["height"] for one in marks
    ), "the figure lies within what is marked"

    opened(page, real, "release.pdf", 1)
    page.keyboard.press("b")
    rows = page.locator("figure.table tr")
    rows.first.wait_for()
    assert any("Net sales" in row and "3,226.8" in row for row in rows.all_inner_texts())


def test_hits_along_a_document_are_walked(real: Serving, page: Any, home: Path) -> None:
    opened(page, real, "release.pdf", 2)
    page.keyboard.press("/")
    page.get_by_label("Find in this document").fill("net income")
    said = page.get_by_text(re.compile(r"^\d+ of \d+$"))
    said.wait_for()
    first = said.inner_text()
    assert page.locator(".rail .tick").count() > 2
    page.get_by_role("button", name=re.compile("found$")).first.wait_for()
    page.get_by_role("button", name="Next hit").click()
    page.wait_for_function("([one, first]) => one.innerText !== first", arg=[said.element_handle(), first])


def test_a_scanned_slide_is_found_by_its_words_which_can_be_selected(real: Serving, page: Any) -> None:
    hit = asked(page, real, "slides.pdf", "Turning venture capital data into wisdom")
    hit.locator(".hit-head a").first.click()
    page.locator(".sheet[data-ready][data-page='1']").wait_for()
    page.locator(".text-layer span", has_text=re.compile("Venture", re.IGNORECASE)).first.wait_for()
    page.get_by_text("Read from the picture by").wait_for()


def test_a_book_is_opened_by_its_outline(real: Serving, page: Any) -> None:
    page.goto(f"{real.url}/#token={START}")
    page.get_by_role("link", name="real", exact=True).click()
    page.get_by_role("button", name=f"Details of {listed(real, 'book.epub')['title']}").click()
    part = page.get_by_role("treeitem").nth(1)
    title = part.inner_text().splitlines()[0].strip()
    part.click()
    page.wait_for_url("**/#/doc/real/*/page/*")
    page.locator(".sheet[data-ready]").wait_for()
    page.keyboard.press("t")
    assert title[:12].lower() in page.locator(".page-text").inner_text().lower()


def test_office_files_are_given_to_the_page_and_read_in_the_same_viewer(real: Serving, page: Any) -> None:
    paths = [_DATA / name for name in _OFFICE]
    if missing := [one for one in paths if not one.is_file()]:
        pytest.skip(f"PAGEINDEX_EVAL_DATA names no folder with {missing[0].name}")
    with real.client() as client:
        client.post("/libraries", json={"name": "office"})
    page.goto(f"{real.url}/#token={START}")
    page.get_by_role("link", name="office", exact=True).click()
    page.get_by_role("heading", name="No documents yet").wait_for()
    page.get_by_label("Add files").set_input_files(paths)
    page.get_by_text("3 documents", exact=True).wait_for()
    for path, (said, title) in zip(paths, _OFFICE.values(), strict=True):
        page.get_by_role("link", name=title).click()
        page.locator(".sheet[data-ready][data-page='1'], .tables.grid tbody tr").first.wait_for()
        page.keyboard.press("/")
        page.get_by_label("Find in this document").fill(said)
        page.get_by_text(re.compile(r"^1 of \d+$")).wait_for()
        page.locator(".box.hit.now").first.wait_for()
        with page.expect_download() as got:
            page.get_by_role("link", name="Download the original").click()
        assert Path(got.value.path()).read_bytes() == path.read_bytes()
        page.evaluate("location.hash = '#/library/office'")


def test_an_article_of_a_statute_is_found_in_chinese(real: Serving, window: Any) -> None:
    context = window.new_context(locale="zh-CN", viewport={"width": 400, "height": 800})
    page = context.new_page()
    hit = asked(page, real, "statute.md", "高空抛物 建筑物 抛掷物品")
    assert "抛掷物品" in hit.locator(".passage").inner_text()
    hit.locator(".hit-head a").first.click()
    page.locator(".sheet[data-ready]").wait_for()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    context.close()


def test_all_of_it_is_there_again_after_a_restart(real: Serving, page: Any, home: Path) -> None:
    """The last test of the file: it stops the server of the others."""
    opened(page, real, "release.pdf", 2, said="gross profit of 37.6%")
    page.locator(".box.mark").first.wait_for()
    real.process.terminate()
    real.process.wait(600)
    with serving(home, "--port", str(urlsplit(real.url).port)):
        page.reload()
        page.locator(".box.mark").first.wait_for()
