"""No word of an office file is lost: what an independent reader finds stands on the pages, in the notes or in members.

Left out by a rule: deleted revisions, readings beside East Asian words, and numbers that a format shows otherwise.
"""

from __future__ import annotations

import os
import re
import zipfile
from collections import Counter
from pathlib import Path

import pptx
import pytest
import xlsxwriter
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lxml import etree
from pptx.util import Inches

from indexers.formats.limits import ParseLimits
from indexers.formats.office.ooxml import office_members
from tests.indexers.formats.packages import docx, opendocument, paragraph, read

_WORD = re.compile(r"[^\W_]{2,}")
_DROPPED = frozenset("delText instrText rPh rt ruby-text tracked-changes Fallback sequence-decls f formula1".split())
_PARTS = re.compile(
    r"word/(?:document|footnotes|endnotes|comments)\.xml|ppt/(?:slides|notesSlides|comments)/[^/]+\.xml|"
    r"xl/(?:sharedStrings|comments\d*|worksheets/[^/]+|drawings/drawing\d+)\.xml|content\.xml"
)
_TEXTS = frozenset(("t", "p", "span", "h", "a", "text"))
_WORDS = st.lists(st.text("abcdefghijklmnop", min_size=2, max_size=8), min_size=1, max_size=5).map(" ".join)
_QUICK = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def independent(path: Path) -> Counter[str]:
    """The words of all elements of text in a package, as they lie in its parts: no styles, no order."""
    words: Counter[str] = Counter()
    with zipfile.ZipFile(path) as package:
        for name in package.namelist():
            if _PARTS.fullmatch(name):
                words += Counter(_found(etree.fromstring(package.read(name), etree.XMLParser(recover=True)), name))
    return words


def _found(root: etree._Element, name: str) -> list[str]:
    found: list[str] = []
    for element in root.iter():
        tag = str(element.tag).rpartition("}")[2]
        above = {str(one.tag).rpartition("}")[2] for one in element.iterancestors()}
        if tag in _DROPPED or above & _DROPPED or not isinstance(element.tag, str):
            continue
        if tag in _TEXTS or (name == "content.xml" and tag == "note-citation"):
            found += _WORD.findall((element.text or "").lower())
    return found


def ours(path: Path) -> Counter[str]:
    info, pages = read(path)
    words = Counter(_WORD.findall("\n".join([*(page.text for page in pages), *info.warnings]).lower()))
    if path.suffix in (".docx", ".pptx", ".xlsx"):
        words += Counter(
            word for one in office_members(path, ParseLimits()) for word in _WORD.findall(one.name.lower())
        )
    return words


def lost(path: Path) -> Counter[str]:
    return independent(path) - ours(path)


@given(
    st.lists(
        st.tuples(st.sampled_from("body raised struck cell nested box note field math".split()), _WORDS), max_size=8
    )
)
@_QUICK
def test_word_loses_no_word(tmp_path: Path, said: list[tuple[str, str]]) -> None:
    look = {"raised": '<w:vertAlign w:val="superscript"/>', "struck": "<w:strike/>"}
    body, notes = "", ""
    for at, (kind, words) in enumerate(said):
        plain = paragraph(words)
        if kind in look:
            body += f"<w:p><w:r><w:t>x</w:t></w:r><w:r><w:rPr>{look[kind]}</w:rPr><w:t>{words}</w:t></w:r></w:p>"
        elif kind in ("cell", "nested"):
            inside = (
                plain
                if kind == "cell"
                else f"{plain}<w:tbl><w:tr><w:tc>{plain}</w:tc><w:tc>{plain}</w:tc></w:tr></w:tbl>"
            )
            body += f"<w:tbl><w:tr><w:tc>{inside}</w:tc><w:tc>{plain}</w:tc></w:tr></w:tbl>"
        elif kind == "box":
            body += f"<w:p><w:r><w:pict><w:txbxContent>{plain}</w:txbxContent></w:pict></w:r></w:p>"
        elif kind == "note":
            body += f'<w:p><w:r><w:t>y</w:t><w:footnoteReference w:id="{at}"/></w:r></w:p>'
            notes += f'<w:footnote w:id="{at}">{plain}</w:footnote>'
        elif kind == "math":
            space = "http://schemas.openxmlformats.org/officeDocument/2006/math"
            power = f"<m:sSup><m:e><m:r><m:t>{words}</m:t></m:r></m:e><m:sup/></m:sSup>"
            body += f'<w:p><m:oMath xmlns:m="{space}">{power}</m:oMath></w:p>'
        else:
            body += f"<w:sdt><w:sdtContent>{plain}</w:sdtContent></w:sdt>"
    assert not lost(docx(tmp_path / "a.docx", body, footnotes=notes))


@given(st.lists(st.lists(_WORDS, min_size=1, max_size=4), min_size=1, max_size=6), st.booleans(), _WORDS)
@_QUICK
def test_sheets_and_texts_lose_no_word(tmp_path: Path, rows: list[list[str]], merged: bool, beside: str) -> None:
    book = xlsxwriter.Workbook(tmp_path / "a.xlsx")
    page = book.add_worksheet()
    for at, row in enumerate(rows):
        page.write_row(at, 0, row)
    if merged:
        page.merge_range(len(rows), 0, len(rows) + 1, 2, beside)
    page.write_comment(0, 0, beside)
    page.insert_textbox(2, 2, beside)
    book.close()
    assert not lost(tmp_path / "a.xlsx")
    table = "".join(
        f"<table:table-row>{''.join(f'<table:table-cell><text:p>{words}</text:p></table:table-cell>' for words in row)}"
        "</table:table-row>" for row in rows
    )  # fmt: skip
    body = f'<table:table table:name="S">{table}</table:table>'
    assert not lost(opendocument(tmp_path / "a.ods", body, "spreadsheet"))
    assert not lost(opendocument(tmp_path / "a.odt", f"<text:p>{beside}</text:p>{body}"))


@given(st.lists(st.tuples(_WORDS, st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=6), _WORDS)
@_QUICK
def test_slides_lose_no_word(tmp_path: Path, boxes: list[tuple[str, int, int]], note: str) -> None:
    deck = pptx.Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[5])
    slide.shapes.title.text = note
    for words, left, top in boxes:
        slide.shapes.add_textbox(Inches(left), Inches(top), Inches(1), Inches(1)).text_frame.text = words
    grouped = slide.shapes.add_group_shape().shapes.add_textbox(0, 0, Inches(1), Inches(1))
    grouped.text_frame.text = note
    slide.notes_slide.notes_text_frame.text = note
    deck.save(str(tmp_path / "a.pptx"))
    assert not lost(tmp_path / "a.pptx")


@pytest.mark.slow
def test_real_files_lose_hardly_a_word() -> None:
    """Of files that people sent to makers of readers, because they are odd."""
    folder = Path(os.environ.get("PAGEINDEX_EVAL_DATA", "nowhere")) / "office"
    if not folder.exists():
        pytest.skip("the office files are not here")
    total = missing = 0
    for path in sorted(folder.rglob("*.*")):
        if path.suffix in (".docx", ".pptx", ".ods", ".odt") and zipfile.is_zipfile(path):
            try:
                words, gone = independent(path), lost(path)
            except (Exception, AssertionError):  # noqa: BLE001 - damaged and encrypted ones have tests of their own
                continue
            total, missing = total + words.total(), missing + gone.total()
    assert total > 10_000 and missing / total < 0.01
