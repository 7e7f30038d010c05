"""What LibreOffice does where it is installed, and what is said where it is not. It is the real one."""

from __future__ import annotations

import shutil
from pathlib import Path

import pptx
import pymupdf
import pytest

from hybrid_core.errors import DocumentError, UsageError
from hybrid_pageindex import Engine, run
from indexers.formats.flow.blocks import Flow, Paragraph, Part
from indexers.formats.limits import ParseLimits
from indexers.formats.office import office97
from tests.indexers.formats.packages import docx, paragraph

installed = pytest.mark.skipif(shutil.which("soffice") is None, reason="LibreOffice is not installed")


def _deck(path: Path) -> Path:
    deck = pptx.Presentation()
    for title in ("Tides", "Harbours", "Lighthouses"):
        deck.slides.add_slide(deck.slide_layouts[5]).shapes.title.text = f"{title} of Lund"
    deck.slides.add_slide(deck.slide_layouts[6])
    deck.save(str(path))
    return path


@pytest.mark.parametrize("installed_here", [True, False])
def test_a_file_of_word_97_says_which_program_read_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, installed_here: bool
) -> None:
    converted = docx(tmp_path / "a.docx", paragraph("kelp")).read_bytes()
    monkeypatch.setattr(office97, "find_libreoffice", lambda: "soffice" if installed_here else None)
    monkeypatch.setattr(office97, "convert", lambda *_: converted)
    monkeypatch.setattr(office97, "read_word97", lambda *_: Flow(iter([Part([Paragraph("kelp")])])))
    flow = office97.read_doc(tmp_path / "a.doc", ParseLimits())
    assert [block.text for part in flow.parts for block in part.blocks if isinstance(block, Paragraph)] == ["kelp"]
    assert flow.warnings[-1].startswith("read with LibreOffice" if installed_here else "read without LibreOffice")


@installed
def test_a_page_is_shown_as_libreoffice_prints_it(engine: Engine, tmp_path: Path) -> None:
    run(engine.index(_deck(tmp_path / "a.pptx")))
    before = run(engine.pages("a.pptx", 2))
    shown = [run(engine.pictures.page("a.pptx", page, dpi=72, view="office")) for page in (1, 2, 4)]
    assert len(set(shown)) == 3
    assert {(picture.width, picture.height) for picture in map(pymupdf.Pixmap, shown)} == {(720, 540)}
    assert run(engine.pages("a.pptx", 2)) == before and run(engine.documents.get("a.pptx")).pages == 4


def test_without_libreoffice_a_sentence_says_so(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    (tmp_path / "notes.md").write_text("# Tides\n")
    _deck(tmp_path / "a.pptx")
    run(engine.index(tmp_path))
    with pytest.raises(DocumentError, match="which is not installed") as told:
        run(engine.pictures.page("a.pptx", 1, view="office"))
    assert "Install LibreOffice" in told.value.advice
    with pytest.raises(UsageError, match="cannot print files of the format Markdown"):
        run(engine.pictures.page("notes.md", 1, view="office"))
