"""Text pages drawn: every word has its place on the picture, in any script, and nothing breaks it."""

from __future__ import annotations

import pymupdf
import pytest

from hybrid_core.types.locators import Box
from indexers.formats.format import PictureOptions
from indexers.formats.pdf.picture import draw_texts
from indexers.formats.text_drawing import drawn

PAGE = """# 1.2 Harbour 港口法

The keeper counts **ships**; 船舶应当报告。 مرحبا بالعالم

| Berth | Depth \\| m |
|---|---|
| East quay | 7.5 |
| West quay | 11 |

```python
    return depth
```
- an item"""


def test_every_word_has_its_place_where_it_is_drawn() -> None:
    pdf, layout = drawn(PAGE)
    words = [word.text for word in layout.words]
    assert words[:6] == ["1.2", "Harbour", "港", "口", "法", "The"] and {"مرحبا", "بالعالم", "|", "depth"} <= set(words)
    with pymupdf.open("pdf", pdf) as document:
        page = document[0]
        assert (page.rect.width, page.rect.height) == (layout.width, layout.height)
        for text in ("Harbour", "港", "quay", "depth"):
            x0, y0, x1, y1 = next(word.box for word in layout.words if word.text == text)
            assert text in page.get_textbox((x0 - 1, y0 - 1, x1 + 1, y1 + 1))
        arabic = {word.text: word.box for word in layout.words}
        assert arabic["مرحبا"][0] > arabic["بالعالم"][2] - 1  # from the right
        shown = page.get_pixmap(clip=pymupdf.Rect(arabic["مرحبا"]), alpha=False)
        assert not shown.is_unicolor


def test_tables_of_a_text_page_are_rows_with_a_place() -> None:
    [table] = drawn(PAGE)[1].tables
    assert table.rows == (("Berth", "Depth | m"), ("East quay", "7.5"), ("West quay", "11")) and table.heads == 1
    assert PAGE.split("\n")[slice(*table.lines)][0].startswith("| Berth")


def test_the_same_text_is_the_same_picture() -> None:
    how = PictureOptions(dpi=72)
    assert draw_texts([(1, PAGE)], how) == draw_texts([(1, PAGE)], how) != draw_texts([(1, PAGE + "s")], how)
    sheet = pymupdf.Pixmap(draw_texts([(1, PAGE), (2, ""), (3, "three")], PictureOptions(72, "jpeg", 600, 100_000)))
    assert max(sheet.width, sheet.height) <= 600


@pytest.mark.parametrize(
    "text", ["", "|", "|a|", "```", "# ", "x" * 200_000, "<script>&</b>", "|" + "a|" * 400, "| a | b |\n" * 2_000]
)
def test_no_text_breaks_it(text: str) -> None:
    pdf, layout = drawn(text)
    with pymupdf.open("pdf", pdf) as document:
        assert document.page_count == 1
    assert all(_inside(word.box, layout.width) for word in layout.words)


def _inside(box: Box, width: float) -> bool:
    return 0 <= box[0] <= box[2] <= width + 1
