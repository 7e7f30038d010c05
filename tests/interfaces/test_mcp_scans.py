"""Pages without text, as agents and people meet them: said where they matter, shown small, then large."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pymupdf
import pytest

from hybrid_pageindex import Engine, Settings, run
from tests import pdfs
from tests.conftest import Cli
from tests.interfaces.mcp_client import Stdio, answer, stdio
from tests.ocr import reads, tesseract


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four filings, a scanned deck of 30 pages, and a book with one scanned page; OCR was off."""
    folder = tmp_path_factory.mktemp("scans")
    files = pdfs.fiscal_reports(folder)
    deck = pdfs.scanned(folder / "Meridian Quarry Deck 2023.pdf", 30)
    mixed = pymupdf.open(pdfs.bookmarked(folder / "book.pdf"))
    mixed.insert_pdf(pymupdf.open(deck), to_page=0)
    mixed.save(folder / "mixed.pdf")
    with closing(Engine(settings=Settings(storage_path=folder / "home", ocr="never"))) as engine:
        run(engine.index([*files, deck, folder / "mixed.pdf"]))
    return folder / "home"


@pytest.fixture(scope="module")
def served(home: Path) -> Iterator[Stdio]:
    with stdio(home, "--read-only") as client:
        yield client


def images(result: dict[str, Any]) -> list[pymupdf.Pixmap]:
    made = []
    for content in result["content"][1:]:
        assert content["mimeType"] == "image/jpeg"
        data = base64.b64decode(content["data"])
        assert len(data) <= 300_000
        made.append(pymupdf.Pixmap(data))
    return made


def test_where_nothing_is_found_a_search_says_what_it_cannot_find(served: Stdio) -> None:
    searched = answer(served.call("search", question="zyxomma quorvex"))
    assert searched["evidence"]["level"] == "none" and not searched["results"]
    (note,) = (note for note in searched["notes"] if "without text" in note)
    assert note.startswith("2 of 6 documents hold pages without text")
    assert "Meridian Quarry Deck 2023.pdf: 30 of 30, mixed.pdf: 1 of 9" in note and "OCR" in note
    hint = next(hint for hint in searched["next"] if hint["arguments"].get("format") == "sheet")
    assert "Meridian" in hint["why"] and hint["arguments"]["pages"] == "1-30"
    assert searched["next"][0] == hint, "with no page to read it comes first"


def test_a_question_that_names_a_scan_is_told_and_others_are_not(served: Stdio) -> None:
    def told(question: str, **more: Any) -> list[str]:
        said = answer(served.call("search", question=question, **more))
        return [note for note in said.get("notes", []) if "without text" in note]

    assert told("net sales of Corvane Optics in fiscal 2023") == [], "strong evidence, and the question names no scan"
    assert told("zyxomma quorvex of net sales") == [], "weak evidence, and all pages of these documents have text"
    assert "(Meridian Quarry Deck 2023.pdf" in told("what does the Meridian Quarry deck of 2023 say of sand")[0]
    (only,) = told("sand", documents=["Meridian Quarry Deck 2023.pdf"])
    assert only.startswith("1 document holds pages without text")


def test_a_scanned_deck_takes_two_calls(served: Stdio) -> None:
    found = answer(served.call("search", question="deliveries of sand", documents=["Meridian Quarry Deck 2023.pdf"]))
    hint = found["next"][0]
    sheets = served.call(hint["tool"], **hint["arguments"])
    said = answer({**sheets, "content": sheets["content"][:1]})
    assert [page["page"] for page in said["pages"]] == list(range(1, 31)) and "cursor" not in said
    drawn = images(sheets)
    assert len(drawn) == 3 and all(max(one.width, one.height) <= 1568 for one in drawn)
    assert max(drawn[0].width, drawn[0].height) > 1000
    large = said["next"][0]
    assert large["arguments"]["format"] == "image"
    (page,) = images(served.call(large["tool"], **large["arguments"]))
    assert 1500 <= max(page.width, page.height) <= 1568


def test_lists_and_pages_mark_what_has_no_text(served: Stdio) -> None:
    listed = {one["document"]: one for one in answer(served.call("list_documents"))["documents"]}
    marked = {name: one.get("pages_without_text") for name, one in listed.items()}
    assert marked.pop("Meridian Quarry Deck 2023.pdf") == 30 and marked.pop("mixed.pdf") == 1
    assert set(marked.values()) == {None}
    read = answer(served.call("read", document="mixed.pdf", pages="8-9"))
    assert read["next"][0]["arguments"] == {"document": listed["mixed.pdf"]["doc_id"], "pages": "9", "format": "image"}


def test_the_command_line_says_it_once_and_draws_jpeg(home: Path, cli: Cli, tmp_path: Path) -> None:
    printed = json.loads(cli("--home", home, "search", "zyxomma quorvex", "--json").stdout)
    assert [one["doc_name"] for one in printed["unread"]] == ["Meridian Quarry Deck 2023.pdf", "mixed.pdf"]
    assert sum("without text" in note for note in printed["notes"]) == 1
    done = cli("--home", home, "page", "mixed.pdf", "9", "--image", tmp_path / "p.jpg")
    assert done.returncode == 0 and (tmp_path / "p.jpg").read_bytes().startswith(b"\xff\xd8")


def test_a_figure_whose_caption_fits_is_proposed_as_a_picture(tmp_path: Path) -> None:
    document = pymupdf.open()
    for number in range(1, 5):
        sheet = pdfs.Sheet(document)
        sheet.text(pdfs.prose("harbours and their tides", number, 8))
        if number == 3:
            sheet.text("Figure 4: Sturgeon landings by year")
    document.save(tmp_path / "tides.pdf")
    with closing(Engine(tmp_path / "home")) as engine:
        run(engine.index(tmp_path / "tides.pdf"))
    with stdio(tmp_path / "home", "--read-only") as served:
        found = answer(served.call("search", question="sturgeon landings by year"))
        pictured = [hint["arguments"] for hint in found["next"] if hint["arguments"].get("format") == "image"]
        assert [one["pages"] for one in pictured] == ["3"]
        other = answer(served.call("search", question="harbours and tides"))
        assert not [hint for hint in other["next"] if hint["arguments"].get("format") == "image"]


@reads
def test_text_of_ten_points_can_be_read_on_a_page_picture(tmp_path: Path) -> None:
    document = pymupdf.open()
    text = pdfs.prose("the harbour", 1, 12)
    page = document.new_page(width=595, height=842)
    page.insert_textbox((60, 60, 535, 780), text, fontsize=10, fontname="tiro")
    document.save(tmp_path / "ten.pdf")
    with closing(Engine(tmp_path / "home")) as engine:
        run(engine.index(tmp_path / "ten.pdf"))
        image = run(engine.pictures.page("ten.pdf", 1, format="jpeg", side=1568, most_bytes=300_000))
    drawn = pymupdf.Pixmap(image)
    read = {word.text for line in tesseract().read(drawn.tobytes("png"), 134) for word in line.words}
    shown = set(page.get_text().split())
    assert len(read & shown) >= 0.98 * len(shown)
