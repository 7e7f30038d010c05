"""What a layout model calls lines is weighed with what the rules see in them; neither decides alone."""

from __future__ import annotations

from dataclasses import replace

from hybrid_core.types.documents import ParsedDocument, ParsedPage
from hybrid_core.types.locators import Region, RegionKind, RegionsByPage
from indexers.outline.tree import TreeLimits, build_tree
from tests.indexers.outline.outline_pages import Sheet

_TOPICS = (
    "Rope",
    "Tar",
    "Canvas",
    "Copper",
    "Lanterns",
    "Ballast",
    "Chain",
    "Oakum",
    "Pitch",
    "Twine",
    "Blocks",
    "Oars",
)
_STORES: dict[str, RegionKind] = {f"Stores of {topic}": "heading" for topic in _TOPICS}
_TRADE: dict[str, RegionKind] = {f"Trade in {topic}": "heading" for topic in _TOPICS}


def _pages(*, bold: bool = True, slanted: bool = False) -> list[ParsedPage]:
    """A chapter a page, each with a short line between two paragraphs."""
    pages = []
    for number, topic in enumerate(_TOPICS, 1):
        sheet = Sheet(number).head(f"Stores of {topic}", 16).prose(6)
        sheet.y += 10
        sheet.row(f"Trade in {topic}", bold=bold, step=26).prose(8)
        if slanted:
            at = next(at for at, line in enumerate(sheet.lines) if line.text.startswith("Trade"))
            sheet.lines[at] = replace(sheet.lines[at], font="Other", size=8.5)
        pages.append(sheet.page())
    return pages


def _regions(pages: list[ParsedPage], kinds: dict[str, RegionKind]) -> RegionsByPage:
    """Each line a region of its own: text, but for those that are named."""
    return {
        page.number: [Region(kinds.get(line.text, "text"), (line.x0, line.y0, line.x1, line.y1)) for line in page.lines]
        for page in pages
    }


def _titles(pages: list[ParsedPage], kinds: dict[str, RegionKind] | None) -> list[str]:
    document = ParsedDocument("pdf", tuple(pages), (), {})
    sections = build_tree(document, TreeLimits(max_pages=50), None if kinds is None else _regions(pages, kinds))
    return [section.title for section in sections if not section.synthetic]


def test_a_heading_of_the_rules_goes_where_the_model_sees_a_picture() -> None:
    assert "Trade in Tar" in _titles(_pages(), None)
    found = _titles(_pages(), _STORES | _TRADE | {"Trade in Tar": "picture"})
    assert "Trade in Tar" not in found and "Trade in Rope" in found


def test_a_table_may_begin_with_a_heading_and_holds_none() -> None:
    pages = _pages()
    for line, stays in (("Trade in Tar", True), (pages[1].lines[-1].text, False)):
        regions = dict(_regions(pages, _STORES | _TRADE))
        at = next(at for at, one in enumerate(pages[1].lines) if one.text == line)
        boxes = pages[1].lines[at:] if stays else pages[1].lines
        regions[2] = [Region("table", (0, boxes[0].y0 - 1, 595, 842))]
        document = ParsedDocument("pdf", tuple(pages), (), {})
        found = [section.title for section in build_tree(document, TreeLimits(max_pages=50), regions)]
        assert ("Trade in Tar" in found) is stays


def test_one_that_the_model_calls_text_stays_where_nearly_all_like_it_are_headings() -> None:
    assert "Trade in Rope" in _titles(_pages(), _STORES | _TRADE | {"Trade in Rope": "text"})
    assert "Trade in Rope" not in _titles(_pages(), _STORES)


def test_what_only_the_model_calls_a_heading_is_added_where_its_look_tells_it_from_text() -> None:
    plain, apart = _pages(bold=False), _pages(bold=False, slanted=True)
    assert "Trade in Rope" not in _titles(plain, None) + _titles(apart, None)
    assert "Trade in Rope" not in _titles(plain, _STORES | _TRADE)
    assert "Trade in Rope" in _titles(apart, _STORES | _TRADE)


def test_two_headings_in_one_are_cut_where_the_model_cuts() -> None:
    pages = []
    for number, topic in enumerate(_TOPICS, 1):
        sheet = Sheet(number)
        sheet.row(f"Stores of {topic}", bold=True, step=13, x=76).row(f"Trade in {topic}", bold=True, step=30).prose(12)
        pages.append(sheet.page())
    assert "Stores of Rope Trade in Rope" in _titles(pages, None)
    found = _titles(pages, _STORES | _TRADE)
    assert "Trade in Rope" in found and "Stores of Rope Trade in Rope" not in found
