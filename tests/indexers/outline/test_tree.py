"""The tree over a document: its invariants hold whatever the headings, large sections are split, nothing is lost."""

from __future__ import annotations

from pathlib import Path

import pymupdf
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hybrid_core.types.documents import Bookmark, Line, ParsedDocument, ParsedPage
from indexers.outline.tree import TreeLimits, build_tree
from tests.indexers.outline.outline_pages import FILLER, Sheet, check, document, outline_of, save, text_of
from tests.work import calls

_LINES = st.builds(
    Line,
    text=st.one_of(
        st.sampled_from(
            [
                *FILLER,
                "Chapter 1",
                "1. Rope",
                "1.1 Hemp",
                "A. Tar",
                "Contents",
                "Item 1. Rope  3",
                "Rope",
                "第一章 总则",
                "12",
                "iv",
            ]
        ),
        st.text(st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"]), min_size=1, max_size=30).filter(str.strip),
    ),
    x0=st.sampled_from([72.0, 90.0, 310.0]),
    y0=st.floats(0, 800),
    x1=st.floats(320, 560),
    y1=st.floats(0, 842),
    size=st.sampled_from([0.0, 8.0, 10.0, 10.0, 12.0, 18.0]),
    bold=st.booleans(),
    italic=st.booleans(),
    font=st.sampled_from(["Serif", "Sans", "ABCDEF+Serif"]),
)
_PAGES = st.lists(st.lists(_LINES, max_size=12), min_size=1, max_size=8)
_TITLES = st.sampled_from(["Rope", "Chapter 1", "1.1 Hemp", "Page 2", " ", "第一章 总则", "Total"])
_MARKS = st.lists(
    st.tuples(st.integers(1, 30), _TITLES, st.integers(-1, 10), st.none() | st.floats(0, 842)), max_size=12
)
_LIMITS = st.builds(TreeLimits, max_pages=st.integers(1, 4), max_tokens=st.integers(1, 60))


@pytest.mark.slow
@settings(max_examples=150)
@given(pages=_PAGES, marks=_MARKS, limits=_LIMITS)
def test_invariants_hold_over_arbitrary_pages_and_bookmarks(
    pages: list[list[Line]], marks: list[tuple[int, str, int, float | None]], limits: TreeLimits
) -> None:
    parsed = ParsedDocument(
        "pdf",
        tuple(ParsedPage(n, "", 595, 842, tuple(lines), 0) for n, lines in enumerate(pages, 1)),
        tuple(Bookmark(*mark) for mark in marks),
        {},
    )
    check(build_tree(parsed, limits), parsed.pages)


@settings(max_examples=60)
@given(
    headings=st.lists(st.tuples(st.integers(1, 6), st.integers(1, 4), st.integers(2, 12)), min_size=3, max_size=25),
    limits=_LIMITS,
)
def test_every_heading_with_text_is_found_and_no_text_is_lost(
    headings: list[tuple[int, int, int]], limits: TreeLimits
) -> None:
    """Headings (level, pages to skip to the next, lines of text) as bookmarks whose titles stand in the pages."""
    sheets, marks = [Sheet(1)], []
    for i, (level, skip, lines) in enumerate(headings):
        if sheets[-1].y > 500:
            sheets += [Sheet(len(sheets) + 1 + d).prose(3) for d in range(skip - 1)]
            sheets.append(Sheet(len(sheets) + 1))
        title = f"Heading {i} of level {level}"
        sheets[-1].head(title, 14).prose(lines)
        marks.append(Bookmark(level, title, len(sheets), None))
    parsed = document(sheets, marks)
    tree = build_tree(parsed, limits)
    check(tree, parsed.pages)
    assert [title for _, title, _ in outline_of(tree)] == [mark.title for mark in marks]
    for section in tree:
        if not section.synthetic:
            assert text_of(section, parsed.pages).startswith(section.title)
    roots = "\n".join(text_of(s, parsed.pages) for s in tree if s.parent_id is None)
    assert roots.split() == "\n".join(page.text for page in parsed.pages).split()


def test_front_matter_before_the_first_heading_is_covered() -> None:
    sheets = [
        Sheet(1).prose(20),
        Sheet(2).head("Rope", 16).prose(20),
        Sheet(3).head("Tar", 16).prose(20),
        Sheet(4).head("Oak", 16).prose(9),
    ]
    tree = build_tree(document(sheets))
    assert [(s.title, s.synthetic, s.source, s.start_page, s.end_page) for s in tree] == [
        ("Front matter", True, "synthetic", 1, 1),
        ("Rope", False, "layout", 2, 2),
        ("Tar", False, "layout", 3, 3),
        ("Oak", False, "layout", 4, 4),
    ]


def test_a_document_without_structure_is_grouped_by_pages() -> None:
    tree = build_tree(document(Sheet(n).prose(30) for n in range(1, 24)))
    assert [(s.title, s.start_page, s.end_page, s.synthetic, s.level) for s in tree] == [
        ("Pages 1–8", 1, 8, True, 1),
        ("Pages 9–16", 9, 16, True, 1),
        ("Pages 17–23", 17, 23, True, 1),
    ]


def test_a_long_section_is_split_and_so_is_a_dense_one() -> None:
    sheets = [Sheet(1).head("Long", 16).prose(20), *(Sheet(n).prose(20) for n in range(2, 13))]
    sheets += [Sheet(13).head("Dense", 16).prose(40), Sheet(14).prose(40), Sheet(15).head("Short", 16).prose(9)]
    marks = [Bookmark(1, "Long", 1, None), Bookmark(1, "Dense", 13, None), Bookmark(1, "Short", 15, None)]
    tree = build_tree(document(sheets, marks), TreeLimits(max_tokens=1200, max_pages=10))
    assert [(s.level, s.title, s.start_page, s.end_page) for s in tree] == [
        (1, "Long", 1, 12),
        *((2, f"Pages {n}–{n + 1}", n, n + 1) for n in range(1, 13, 2)),
        (1, "Dense", 13, 14),
        (2, "Page 13", 13, 13),
        (2, "Page 14", 14, 14),
        (1, "Short", 15, 15),
    ]


def test_a_long_section_is_split_by_weaker_headings_of_its_own_first() -> None:
    risks = (
        "Our ropes may fail in heavy weather and in the course of the trade.",
        "The price of tar may rise beyond what our buyers will ever pay.",
    )
    sheets = [Sheet(1).head("Risks", 16).prose(20)]
    for n in range(2, 15):
        sheet = Sheet(n)
        if n in (5, 10):
            sheet.head(risks[n // 5 - 1], 10)
        sheets.append(sheet.prose(20))
    sheets.append(Sheet(15).head("Tar", 16).prose(9))
    marks = [Bookmark(1, "Risks", 1, None), Bookmark(1, "Tar", 15, None), Bookmark(2, "Tar", 15, 80.0)]
    tree = build_tree(document(sheets, marks))
    assert outline_of(tree)[:3] == [(1, "Risks", 1), (2, risks[0], 5), (2, risks[1], 10)]


def test_headings_drawn_after_their_text_begin_where_the_text_begins() -> None:
    sheets = []
    for n in range(1, 4):
        body, head = Sheet(n), Sheet(n)
        body.y = 130
        body.prose(12)
        head.head(f"Late title {n}", 18)
        body.lines += head.lines
        sheets.append(body)
    parsed = document(sheets)
    tree = build_tree(parsed)
    check(tree, parsed.pages)
    assert [(s.title, s.start_page, s.anchor, s.end_page) for s in tree] == [
        (f"Late title {n}", n, 0, n) for n in range(1, 4)
    ]


@pytest.mark.parametrize("shape", [(595, 842), (842, 595), (200, 3000)])
def test_one_page_of_any_shape_has_a_tree(tmp_path: Path, shape: tuple[int, int]) -> None:
    pdf = pymupdf.open()
    page = pdf.new_page(width=shape[0], height=shape[1])
    page.insert_text((20, 60), "A notice", fontsize=20)
    for i in range(4):
        page.insert_text((20, 100 + 12 * i), FILLER[i][:36], fontsize=10)
    parsed = save(pdf, tmp_path / "one.pdf")
    tree = build_tree(parsed)
    check(tree, parsed.pages)
    assert [s.title for s in tree] == ["A notice"]


def test_pages_without_text_have_a_tree(tmp_path: Path) -> None:
    pdf = pymupdf.open()
    for _ in range(3):
        pdf.new_page().draw_rect((50, 50, 200, 200), fill=(0, 0, 1))
    parsed = save(pdf, tmp_path / "blank.pdf")
    tree = build_tree(parsed)
    check(tree, parsed.pages)
    assert [(s.title, s.synthetic) for s in tree] == [("Pages 1–3", True)]


def test_bookmarks_of_a_scan_are_kept_though_no_text_confirms_them() -> None:
    marks = [
        Bookmark(1, "Rope", 1, None),
        Bookmark(1, "Tar", 2, None),
        Bookmark(2, "Pitch", 2, None),
        Bookmark(1, "Oak", 2, None),
    ]
    parsed = document([Sheet(1), Sheet(2), Sheet(3)], marks)
    tree = build_tree(parsed)
    check(tree, parsed.pages)
    assert outline_of(tree) == [(1, "Rope", 1), (1, "Tar", 2), (2, "Pitch", 2), (1, "Oak", 2)]


def test_no_pages_no_tree_and_limits_are_checked() -> None:
    assert build_tree(document([])) == ()
    with pytest.raises(ValueError, match="at least 1"):
        TreeLimits(max_pages=0)


@pytest.mark.slow
def test_the_work_grows_with_the_pages_not_faster() -> None:
    def sheets(count: int) -> ParsedDocument:
        return document(
            Sheet(n).head(f"Yard number {n}", 14).prose(25).running("Yearbook", str(n)) for n in range(1, count + 1)
        )

    small, large = sheets(50), sheets(500)
    assert len(build_tree(large)) == 500
    assert calls(lambda: build_tree(large)) < 15 * calls(lambda: build_tree(small))


def test_a_heading_that_looks_like_an_open_one_stands_beside_it() -> None:
    sheets = []
    for number, topic in enumerate(("Rope", "Tar", "Canvas", "Copper"), 1):
        sheet = Sheet(number).head(f"Stores of {topic}", 16).prose(5)
        for part in ("Buying", "Keeping"):
            sheet.row(f"{part} {topic}", bold=True, step=24).prose(5)
            sheet.row(f"{part} {topic} abroad", italic=True, bold=True, step=24).prose(5)
        sheets.append(sheet)
    levels: dict[str, set[int]] = {}
    for section in build_tree(document(sheets), TreeLimits(max_pages=50)):
        if not section.synthetic:
            kind = section.title.split()[0] + ("abroad" if section.title.endswith("abroad") else "")
            levels.setdefault(kind, set()).add(section.level)
    assert levels["Buying"] == levels["Keeping"] and len(levels["Buying"]) == 1
