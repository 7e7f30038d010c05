"""DOCX: headings in any language with the numbers that Word counts, and what stands beside the body's lines."""

from __future__ import annotations

from pathlib import Path

import pytest

from hybrid_core.errors import PasswordError
from tests.indexers.formats.packages import docx, ole, paragraph, read, text_of, titles

STYLES = """
<w:style w:type="paragraph" w:styleId="U1"><w:name w:val="Überschrift 1"/><w:pPr><w:outlineLvl w:val="0"/>
  <w:numPr><w:numId w:val="1"/></w:numPr></w:pPr></w:style>
<w:style w:type="paragraph" w:styleId="U2"><w:name w:val="Überschrift 2"/><w:basedOn w:val="U1"/><w:pPr>
  <w:outlineLvl w:val="1"/><w:numPr><w:ilvl w:val="1"/></w:numPr></w:pPr></w:style>
<w:style w:type="paragraph" w:styleId="Own"><w:name w:val="Own"/><w:basedOn w:val="U2"/></w:style>
"""
NUMBERING = """
<w:abstractNum w:abstractNumId="7">
  <w:lvl w:ilvl="0"><w:start w:val="3"/><w:numFmt w:val="decimal"/><w:lvlText w:val="%1."/></w:lvl>
  <w:lvl w:ilvl="1"><w:start w:val="1"/><w:numFmt w:val="lowerLetter"/><w:lvlText w:val="%1.%2)"/></w:lvl>
</w:abstractNum>
<w:abstractNum w:abstractNumId="8">
  <w:lvl w:ilvl="0"><w:numFmt w:val="bullet"/><w:lvlText w:val="•"/></w:lvl></w:abstractNum>
<w:num w:numId="1"><w:abstractNumId w:val="7"/></w:num>
<w:num w:numId="2"><w:abstractNumId w:val="8"/></w:num>
"""
LISTED = '<w:numPr><w:ilvl w:val="0"/><w:numId w:val="2"/></w:numPr>'


def test_headings_are_told_by_outline_level_and_bear_their_counted_numbers(tmp_path: Path) -> None:
    body = (
        paragraph("Hafen", "U1") + paragraph("Kai", "U2") + paragraph("Mole", "Own") + paragraph("Ebbe", "U1")
        + paragraph("Flut", "U2") + paragraph("Plain", properties='<w:outlineLvl w:val="2"/>')
    )  # fmt: skip
    file = docx(tmp_path / "a.docx", body, STYLES, NUMBERING)
    assert titles(file) == [
        (1, "3. Hafen"), (2, "3.a) Kai"), (2, "3.b) Mole"), (1, "4. Ebbe"), (2, "4.a) Flut"), (3, "Plain"),
    ]  # fmt: skip
    assert read(file)[1][0].label == "§ 3"


def test_lists_tables_boxes_controls_and_notes_are_read(tmp_path: Path) -> None:
    cell = "<w:tc><w:p><w:r><w:t>{}</w:t></w:r></w:p></w:tc>"
    body = f"""
      {paragraph("a gull", properties=LISTED)}{paragraph("a tern", properties=LISTED)}
      <w:tbl><w:tr>{cell.format("Port")}{cell.format("Ships")}</w:tr><w:tr>{cell.format("Oban")}{cell.format("44")}</w:tr></w:tbl>
      <w:sdt><w:sdtContent>{paragraph("in a control")}</w:sdtContent></w:sdt>
      <w:p><w:r><w:t>with a note</w:t><w:footnoteReference w:id="2"/></w:r><w:r><w:pict><w:txbxContent>
      {paragraph("in a box")}</w:txbxContent></w:pict></w:r></w:p>"""
    notes = f'<w:footnote w:id="2">{paragraph("the keeper said so")}</w:footnote>'
    text = text_of(docx(tmp_path / "a.docx", body, "", NUMBERING, footnotes=notes))
    assert "- a gull\n- a tern" in text
    assert "| Port | Ships |\n|---|---|\n| Oban | 44 |" in text
    assert "in a control" in text and "in a box" in text
    assert "with a note[1]" in text and "[1] the keeper said so" in text


def test_what_was_inserted_is_kept_and_what_was_deleted_dropped(tmp_path: Path) -> None:
    body = (
        "<w:p><w:ins><w:r><w:t>written in</w:t></w:r></w:ins>"
        "<w:del><w:r><w:delText>struck out</w:delText></w:r></w:del>"
        "<w:r><w:instrText>PAGE</w:instrText></w:r></w:p>"
    )
    assert text_of(docx(tmp_path / "a.docx", body)) == "written in"


def test_a_hard_break_ends_a_page_and_printed_numbers_are_labels(tmp_path: Path) -> None:
    turned = "<w:p><w:r><w:lastRenderedPageBreak/><w:t>{}</w:t></w:r></w:p>"
    body = (
        paragraph("one") + turned.format("two") + '<w:p><w:r><w:br w:type="page"/></w:r></w:p>' + turned.format("three")
    )
    pages = read(docx(tmp_path / "a.docx", body))[1]
    assert [(page.text, page.label) for page in pages] == [("one\n\ntwo", "p. 1"), ("three", "p. 3")]


def test_an_encrypted_file_says_so(tmp_path: Path) -> None:
    """An encrypted DOCX is an OLE file with a stream of that name."""
    file = tmp_path / "a.docx"
    file.write_bytes(ole("EncryptedPackage"))
    with pytest.raises(
        PasswordError, match=r"a\.docx: the file is encrypted\. Save a copy of the file without a password"
    ):
        read(file)


def test_text_that_word_does_not_print_is_left_out_and_counted(tmp_path: Path) -> None:
    run = "<w:r><w:rPr>{}</w:rPr><w:t>{}</w:t></w:r>"
    looks = ["<w:vanish/>", '<w:vanish w:val="true"/>', '<w:vanish w:val="0"/>', "<w:b/>"]
    words = ["secret tide", "secret", "shown", "bold"]
    body = "<w:p>" + "".join(map(run.format, looks, words)) + "</w:p>"
    info, pages = read(docx(tmp_path / "a.docx", body))
    text = " ".join(line.text for page in pages for line in page.lines)
    assert "shown" in text and "bold" in text and "secret" not in text
    assert "3 words of hidden text, which is not printed, were left out" in info.warnings
