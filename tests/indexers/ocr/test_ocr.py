"""Pages whose text is only in their picture. Scans are made by drawing text; Tesseract is the real one."""

from __future__ import annotations

import os
import re
import stat
from dataclasses import replace
from pathlib import Path

import pymupdf
import pytest

from hybrid_core.system import install_command
from hybrid_core.types.documents import Line, ParsedPage
from hybrid_pageindex import Engine, run
from indexers.assembly.content import level_sizes
from indexers.ocr import engines
from tests import pdfs
from tests.ocr import reads, tesseract


@reads
def test_a_scan_is_found_by_its_words_and_says_that_it_was_read_by_ocr(engine: Engine, tmp_path: Path) -> None:
    scan = pdfs.scanned(tmp_path / "scan.pdf", 3, dpi=150)
    file = run(engine.index(scan)).files[0]
    assert file.note == "3 of 3 pages were read by OCR: 1-3"
    assert run(engine.search("delivery note 2")).results[0].page == 2
    pages = run(engine.pages("scan.pdf", "1-3"))
    assert [(page.ocr, page.needs_ocr) for page in pages] == [(True, False)] * 3
    drawn = pdfs.prose("a delivery of sand", 1, 10).split()
    assert len(set(drawn) & set(pages[0].text.split())) >= 0.9 * len(set(drawn))
    titles = [node.section.title for node in run(engine.outline("scan.pdf")).nodes]
    assert titles == ["Delivery note 1", "Delivery note 2", "Delivery note 3"]
    assert run(engine.index(scan)).files[0].status == "unchanged"


@reads
@pytest.mark.parametrize(("turn", "stamp"), [(90, ""), (180, ""), (0, "EX-00417")])
def test_scans_on_their_side_or_head_and_under_a_stamp(engine: Engine, tmp_path: Path, turn: int, stamp: str) -> None:
    file = run(engine.index(pdfs.scanned(tmp_path / "scan.pdf", 1, dpi=150, turn=turn, stamp=stamp))).files[0]
    assert file.note == "1 of 1 page was read by OCR: 1"
    text = run(engine.pages("scan.pdf", "1"))[0].text
    assert "Delivery note 1" in text and "This part deals with a delivery of sand." in text and stamp in text


@reads
def test_a_picture_without_letters_was_read_by_ocr_and_by_nobody_else(engine: Engine, tmp_path: Path) -> None:
    document = pymupdf.open(pdfs.scanned(tmp_path / "scan.pdf", 1, dpi=150))
    meadow = pymupdf.Pixmap(pymupdf.csGRAY, (0, 0, 400, 300))
    meadow.clear_with(180)
    document.new_page(width=595, height=842).insert_image((0, 0, 595, 842), pixmap=meadow)
    document.save(tmp_path / "mixed.pdf")
    file = run(engine.index(tmp_path / "mixed.pdf")).files[0]
    assert file.note == "1 of 2 pages were read by OCR: 1; 1 of 2 pages show no text that OCR could read: 2"
    assert run(engine.documents.get("mixed.pdf")).warnings == tuple(file.note.split("; "))
    empty = run(engine.pages("mixed.pdf", 2))[0]
    assert (empty.text, empty.read_by, empty.needs_ocr) == ("", "OCR", False)


def _wrongly_mapped(path: Path) -> str:
    """A page whose font says other letters than it shows; what it shows."""
    shown = pdfs.prose("an ordinary subject", 1, 8)
    document = pymupdf.open()
    pdfs.Sheet(document).text(shown, font="helv")
    characters = range(33, 127)
    pairs = " ".join(f"<{code:02x}> <{max(1, code - 29):04x}>" for code in characters)
    cmap = document.get_new_xref()
    document.update_object(cmap, "<<>>")
    space = "begincodespacerange <00> <ff> endcodespacerange"
    document.update_stream(
        cmap, f"begincmap 1 {space} {len(characters)} beginbfchar {pairs} endbfchar endcmap".encode()
    )
    document.xref_set_key(document[0].get_fonts()[0][0], "ToUnicode", f"{cmap} 0 R")
    document.save(path)
    document.close()
    return shown


@reads
def test_text_whose_letters_are_wrong_is_replaced_by_what_is_shown(engine: Engine, tmp_path: Path) -> None:
    words = set(_wrongly_mapped(tmp_path / "moved.pdf").split())
    with_ocr = engine.settings
    engine.settings = replace(with_ocr, ocr="never")
    run(engine.index(tmp_path))
    before = run(engine.pages("moved.pdf", "1"))[0]
    assert before.needs_ocr and not words & set(before.text.split())
    engine.settings = with_ocr
    run(engine.index(tmp_path))
    after = run(engine.pages("moved.pdf", "1"))[0]
    assert after.ocr and not after.needs_ocr and len(words & set(after.text.split())) > 0.9 * len(words)


@reads
def test_once_ocr_can_be_had_only_files_that_need_it_are_read_again(engine: Engine, tmp_path: Path) -> None:
    pdfs.scanned(tmp_path / "scan.pdf", 1, dpi=150)
    pdfs.numbered(tmp_path / "text.pdf", 2, "quay")
    with_ocr, without = engine.settings, replace(engine.settings, ocr="never")

    def index(settings: object) -> dict[str, str]:
        engine.settings = settings  # type: ignore[assignment]
        return {Path(file.path).name: file.status for file in run(engine.index(tmp_path)).files}

    assert index(without) == {"scan.pdf": "indexed", "text.pdf": "indexed"}
    assert run(engine.pages("scan.pdf", "1"))[0].needs_ocr
    assert index(with_ocr) == {"scan.pdf": "indexed", "text.pdf": "unchanged"}
    assert index(with_ocr) == index(without) == {"scan.pdf": "unchanged", "text.pdf": "unchanged"}
    assert "Delivery note 1" in run(engine.pages("scan.pdf", "1"))[0].text
    (tmp_path / "scan.pdf").rename(tmp_path / "moved.pdf")
    assert "moved from" in run(engine.index(tmp_path)).files[0].note
    (tmp_path / "copy.pdf").write_bytes((tmp_path / "moved.pdf").read_bytes())
    assert index(with_ocr)["copy.pdf"] == "indexed"
    assert run(engine.pages("copy.pdf", "1"))[0].ocr


@reads
def test_a_page_whose_ocr_dies_costs_only_itself(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engines, "find_spec", lambda _: None)
    tools = tmp_path / "tools"
    tools.mkdir()
    wrapper = tools / "tesseract"  # the first page it is given kills it
    wrapper.write_text(
        f'#!/bin/sh\n[ "$1" = stdin ] && mkdir "{tools}/died" 2>/dev/null && kill -9 $$\n'
        f'exec "{tesseract().program}" "$@"\n'
    )
    wrapper.chmod(wrapper.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{tools}:{os.environ['PATH']}")
    file = run(engine.index(pdfs.scanned(tmp_path / "scan.pdf", 3, dpi=150), workers=1)).files[0]
    assert file.status == "indexed" and "2 of 3 pages were read by OCR: 2-3" in file.note
    assert "page 1 could not be read by OCR: Tesseract failed" in file.note
    assert [page.needs_ocr for page in run(engine.pages("scan.pdf", "1-3"))] == [True, False, False]


@pytest.mark.parametrize("lacking", ["program", "data"])
def test_without_tesseract_the_page_stays_marked_and_the_user_is_told_how_to_get_it(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lacking: str
) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    monkeypatch.setattr(engines, "find_spec", lambda _: None)
    monkeypatch.setenv(*(("PATH", str(empty)) if lacking == "program" else ("TESSDATA_PREFIX", str(empty))))
    report = run(engine.index(pdfs.scanned(tmp_path / "scan.pdf", 1)))
    (file,) = report.files
    assert file.note == "1 of 1 page has no readable text (scanned?): 1"
    (said,) = [note for note in report.notes if "only a picture" in note]
    assert said.startswith("text that is only a picture, on 1 page of 1 file, is not read: ")
    assert "apt install tesseract-ocr" in said and install_command("ocr") in said
    assert run(engine.documents.get("scan.pdf")).warnings == tuple(file.note.split("; "))
    assert run(engine.pages("scan.pdf", "1"))[0].needs_ocr
    check = next(check for check in run(engine.admin.doctor()).checks if check.name == "ocr")
    assert check.ok and "apt install tesseract-ocr" in check.detail


@reads
def test_a_language_without_data_is_an_error_that_names_its_package(engine: Engine, tmp_path: Path) -> None:
    engine.settings = replace(engine.settings, ocr_languages="eng+xx_old")
    pdfs.scanned(tmp_path / "scan.pdf", 1)
    pdfs.numbered(tmp_path / "text.pdf", 2, "quay")
    scan, text = run(engine.index(tmp_path)).files
    assert scan.status == "failed" and text.status == "indexed"
    assert re.search("'xx_old', but only for .*apt install tesseract-ocr-xx-old", scan.error or "")
    check = next(check for check in run(engine.admin.doctor()).checks if check.name == "ocr")
    assert not check.ok and "xx_old" in check.detail


def _page(number: int, ocr: bool, *lines: tuple[str, float]) -> ParsedPage:
    made = tuple(
        Line(text, 72, 20.0 * n, 400, 20.0 * n + 12, size, False, False, "") for n, (text, size) in enumerate(lines)
    )
    return ParsedPage(number, "", 595, 842, made, 0, ocr=ocr)


def test_sizes_of_a_scan_are_levelled_to_the_body_text_of_the_document() -> None:
    noisy = [("some words of body text in a row", 10.3 + 0.2 * n) for n in range(8)]
    scan = _page(1, True, ("A title above it", 15.9), *noisy, ("ab", 40.0), ("a small remark below", 8.0))
    alone = [line.size for line in level_sizes([scan])[0].lines]
    assert len(set(alone[1:9])) == 1 and alone[0] > 1.2 * alone[1] and alone[-2] <= alone[1] > alone[-1]
    printed = _page(2, False, ("much text that the file itself holds " * 9, 9.0))
    levelled, kept = level_sizes([scan, printed])
    assert {line.size for line in levelled.lines[1:9]} == {9.0} and kept is printed


def _under_text(path: Path, shown: str, spots: list[tuple[float, float, str]], turn: int = 0) -> Path:
    """A page-wide picture of some words under text at some spots."""
    source, document = pymupdf.open(), pymupdf.open()
    source.new_page(width=595, height=842).insert_textbox((60, 120, 535, 600), shown, fontsize=12)
    picture = source[0].get_pixmap(dpi=150, colorspace=pymupdf.csGRAY)
    page = document.new_page(width=595, height=842)
    page.insert_image((0, 0, 595, 842), pixmap=picture)
    for x, y, text in spots:
        page.insert_text((x, y), text, fontsize=9, rotate=turn)
    document.save(path)
    return path


_HEAD = "Exhibit 10.2 of the quarterly report of the harbour office"


@reads
@pytest.mark.parametrize(
    ("spots", "turn"),
    [([(60, 40, _HEAD)], 0), ([(60, 40, _HEAD), (60, 820, "Confidential, subject to a protective order 0417")], 0),
     ([(300, 600, _HEAD)], 90)],
)  # fmt: skip
def test_text_at_the_edges_of_a_scan_or_across_it_stays_exact_beside_what_the_scan_shows(
    engine: Engine, tmp_path: Path, spots: list[tuple[float, float, str]], turn: int
) -> None:
    path = _under_text(tmp_path / "scan.pdf", pdfs.prose("a delivery of sand", 1, 6), spots, turn)
    assert run(engine.index(path)).files[0].note == "1 of 1 page was read by OCR: 1"
    page = run(engine.pages("scan.pdf", 1))[0]
    assert "This part deals with a delivery of sand." in page.text and all(text in page.text for *_, text in spots)


@reads
def test_text_in_the_middle_of_a_picture_is_the_page_and_a_picture_without_words_changes_nothing(
    engine: Engine, tmp_path: Path
) -> None:
    _under_text(tmp_path / "slide.pdf", pdfs.prose("a delivery of sand", 1, 6), [(200, 420, _HEAD)])
    _under_text(tmp_path / "photo.pdf", "", [(60, 40, _HEAD)])
    for file in run(engine.index(tmp_path)).files:
        assert file.note == ""
    for name in ("slide.pdf", "photo.pdf"):
        page = run(engine.pages(name, 1))[0]
        assert (page.text, page.ocr, page.needs_ocr) == (_HEAD, False, False)
