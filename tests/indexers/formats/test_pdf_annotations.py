"""Notes that are written into copies of PDFs."""

from __future__ import annotations

from pathlib import Path

import pymupdf
import pytest

from hybrid_core.errors import LockedError
from indexers.formats.format import PageNote
from indexers.formats.limits import ParseLimits
from indexers.formats.pdf.annotations import annotate

WORDS = "The purchase of boats"


def made(path: Path, rotation: int = 0, **save: object) -> Path:
    with pymupdf.open() as document:
        page = document.new_page(width=400, height=600)
        page.insert_text((100, 300), WORDS)
        page.set_cropbox(pymupdf.Rect(50, 100, 390, 580))
        page.set_rotation(rotation)
        document.save(path, **save)
    return path


def box_of(path: Path, word: str, password: str = "") -> tuple[float, ...]:
    """The box of a word as the page is shown."""
    with pymupdf.open(path) as document:
        document.authenticate(password)
        [box] = [entry[:4] for entry in document[0].get_text("words") if entry[4] == word]
        return tuple(pymupdf.Rect(box) * document[0].rotation_matrix)


@pytest.mark.parametrize("rotation", [0, 90, 180, 270])
def test_a_highlight_lies_on_its_words_however_the_page_is_turned(tmp_path: Path, rotation: int) -> None:
    path, result = made(tmp_path / "a.pdf", rotation), tmp_path / "b.pdf"
    before = path.read_bytes()
    notes = [PageNote(1, (box_of(path, "purchase"),), "Check this", "ann"), PageNote(1, (), "On the page", "ann")]
    annotate(path, None, result, notes, ParseLimits())
    assert path.read_bytes() == before
    assert result.read_bytes().startswith(before), "what is signed stays"
    with pymupdf.open(result) as document:
        page = document[0]
        mark, sign = page.annots()
        assert (mark.type[1], mark.info["content"], mark.info["title"]) == ("Highlight", "Check this", "ann")
        assert "purchase" in page.get_textbox(mark.rect) and "boats" not in page.get_textbox(mark.rect)
        assert (sign.type[1], sign.info["content"]) == ("Text", "On the page")
        shown = sign.rect * page.rotation_matrix
        assert shown.x0 < 60 and shown.y0 < 60, "in the corner of the page as it is shown"


def test_an_encrypted_copy_stays_encrypted(tmp_path: Path) -> None:
    path, result = tmp_path / "a.pdf", tmp_path / "b.pdf"
    made(path, encryption=pymupdf.PDF_ENCRYPT_AES_256, user_pw="harbour", owner_pw="owner")
    notes = [PageNote(1, (box_of(path, "boats", "harbour"),), "", "ann")]
    with pytest.raises(LockedError):
        annotate(path, None, result, notes, ParseLimits())
    annotate(path, "harbour", result, notes, ParseLimits())
    with pymupdf.open(result) as document:
        assert document.needs_pass and document.authenticate("harbour")
        page = document[0]
        assert [one.type[1] for one in page.annots()] == ["Highlight"]


def test_a_damaged_file_is_written_anew(tmp_path: Path) -> None:
    path, result = made(tmp_path / "a.pdf"), tmp_path / "b.pdf"
    whole = path.read_bytes()
    path.write_bytes(whole[: whole.rindex(b"xref")])  # without its table of objects
    annotate(path, None, result, [PageNote(1, (), "Mended", "ann")], ParseLimits())
    with pymupdf.open(result) as document:
        page = document[0]
        assert [one.info["content"] for one in page.annots()] == ["Mended"]
        assert WORDS in page.get_text()
    assert [each.name for each in tmp_path.iterdir() if "mended" in each.name] == []
