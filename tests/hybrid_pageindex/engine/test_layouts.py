"""Where things stand on pages, through the engine: words, quotes, tables, whatever the format."""

from __future__ import annotations

import json
from pathlib import Path

import pptx
import pymupdf
import pytest

from hybrid_core.errors import DocumentError, NotFoundError
from hybrid_pageindex import Engine, run
from indexers.formats.pdf.page_layout import Ink
from tests import pdfs
from tests.conftest import Cli
from tests.interfaces.mcp_client import answer, stdio

ROWS = [("(in millions)", "2023", "2022"), ("Net sales", "418.2", "377.9"), ("Cost of sales", "", "144.1")]


@pytest.fixture
def shelf(tmp_path: Path) -> Path:
    folder = tmp_path / "shelf"
    folder.mkdir()
    with pymupdf.open() as made:
        page = made.new_page()
        page.insert_text((50, 60), "Results of operations", fontsize=12)
        for at, row in enumerate(ROWS):
            for x, cell in zip((50, 300, 400), row, strict=True):
                page.insert_text((x, 100 + 14 * at), cell, fontsize=9)
        made.save(folder / "report.pdf")
    (folder / "rules.html").write_text(
        "<h1>Harbour rules</h1><p>Ships report to the keeper.</p>"
        "<table><tr><th>Berth</th><th>Depth</th></tr><tr><td>East</td><td>7.5</td></tr></table>",
        encoding="utf-8",
    )
    deck = pptx.Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[1])
    slide.shapes.title.text, slide.placeholders[1].text_frame.text = "Berths", "The eastern quay is closed."
    slide.notes_slide.notes_text_frame.text = "Until the end of May."
    deck.save(str(folder / "deck.pptx"))
    (folder / "港口.txt").write_text("第一条 船舶应当在进港前向港口报告。\n", encoding="utf-8")
    return folder


@pytest.mark.parametrize(
    ("name", "quote", "lines"),
    [
        ("report.pdf", "Net sales … 418.2", 2),
        ("rules.html", "report to the KEEPER", 1),
        ("港口.txt", "进港前向港口", 1),
        ("deck.pptx", "eastern QUAY … end of May", 2),
    ],
)
def test_a_quote_has_boxes_on_the_picture_of_its_page(
    engine: Engine, shelf: Path, name: str, quote: str, lines: int
) -> None:
    run(engine.index(shelf))
    layout = run(engine.pictures.layout(name, 1))
    boxes = run(engine.pictures.boxes(name, 1, quote))
    assert len(boxes) == lines
    picture = pymupdf.Pixmap(run(engine.pictures.page(name, 1, dpi=72)))
    assert abs(picture.width - layout.width) <= 1 and abs(picture.height - layout.height) <= 1
    for x0, y0, x1, y1 in boxes:
        inside = {picture.pixel(x, y) for x in range(int(x0), int(x1)) for y in range(int(y0), int(y1))}
        assert len(inside) > 1  # words are there
    with pytest.raises(NotFoundError, match="does not contain these words"):
        run(engine.pictures.boxes(name, 1, "words of another page"))


def test_a_page_of_text_is_drawn_when_its_file_is_gone_and_one_with_a_look_is_not(engine: Engine, shelf: Path) -> None:
    run(engine.index(shelf))
    for file in shelf.iterdir():
        file.unlink()
    assert run(engine.pictures.page("rules.html", 1)).startswith(b"\x89PNG")
    assert [word.text for word in run(engine.pictures.words("rules.html", 1))][:2] == ["Harbour", "rules"]
    assert [word.text for word in run(engine.pictures.words("deck.pptx", 1))][-3:] == ["end", "of", "May."]
    assert pymupdf.Pixmap(run(engine.pictures.page("deck.pptx", 1, dpi=72))).width == 595  # drawn from its text
    with pytest.raises(DocumentError, match="original file is missing"):
        run(engine.pictures.words("report.pdf", 1))
    read = run(engine.documents.with_tables(run(engine.pages("report.pdf", 1))[0]))
    assert (
        read.text.startswith("Results of operations\n(in millions)  2023")
        and "the original file is missing" in read.note
    )


def test_a_slide_is_drawn_as_it_looks(engine: Engine, shelf: Path) -> None:
    run(engine.index(shelf))
    words = {word.text: word.box for word in run(engine.pictures.words("deck.pptx", 1))}
    assert words["Berths"][3] < words["eastern"][1] < 540 < words["Until"][1]
    picture = pymupdf.Pixmap(run(engine.pictures.page("deck.pptx", 1, dpi=72)))
    assert picture.width == 720 and picture.height > 540
    assert run(engine.pictures.contact_sheet("deck.pptx", [1]))[:2] == b"\xff\xd8"


def test_what_was_told_once_is_not_told_again(engine: Engine, shelf: Path) -> None:
    run(engine.index(shelf))
    before = run(engine.pictures.layout("report.pdf", 1))
    (shelf / "report.pdf").unlink()
    assert run(engine.pictures.layout("report.pdf", 1)) == before and before.tables


def test_tables_are_read_as_markdown(engine: Engine, shelf: Path, cli: Cli) -> None:
    run(engine.index(shelf))
    table = (
        "| (in millions) | 2023 | 2022 |\n|---|---|---|\n| Net sales | 418.2 | 377.9 |\n| Cost of sales |  | 144.1 |"
    )
    said = json.loads(cli("page", "report.pdf", "1", "--tables", "--json", home=engine.home).stdout)
    assert said["pages"][0]["text"] == f"Results of operations\n{table}" and "note" not in said["pages"][0]
    assert "418.2  377.9" in cli("page", "report.pdf", "1", home=engine.home).stdout
    engine.close()
    with stdio(engine.home, "--read-only") as served:
        assert table in answer(served.call("read", document="report.pdf", pages="1"))["pages"][0]["text"]
        text = served.call("read", document="rules.html", pages="1", format="image")["content"]
        assert [part["type"] for part in text] == ["text", "image"]


def test_words_of_a_scan_are_parted_by_its_white(tmp_path: Path) -> None:
    with pymupdf.open() as made:
        page = made.new_page()
        page.insert_text((50, 100), "Net sales of owls      1,204      988", fontsize=11)
        words = page.get_text("words")
        picture = page.get_pixmap(dpi=200)
        scan = made.new_page()
        scan.insert_image(scan.rect, pixmap=picture)
        line = ("Net sales of owls  1,204  988", (50.0, 90.0, words[-1][2], 103.0))
        found = Ink(scan).words(line)
    assert [word.text for word in found] == [word[4] for word in words]
    for word, truth in zip(found, words, strict=True):
        assert abs(word.box[0] - truth[0]) < 2 and abs(word.box[2] - truth[2]) < 2


def test_a_sheet_of_pages_may_hold_pages_of_text(engine: Engine, tmp_path: Path) -> None:
    (tmp_path / "long.md").write_text("\n\n".join(f"# Part {n}\n\n{'Reeds grow here. ' * 200}" for n in range(4)))
    pdfs.numbered(tmp_path / "a.pdf", 2, "kelp")
    run(engine.index(tmp_path))
    for name in ("long.md", "a.pdf"):
        assert run(engine.pictures.contact_sheet(name, [1, 2])).startswith(b"\xff\xd8\xff")
